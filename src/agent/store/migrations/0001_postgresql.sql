ALTER TABLE runs ADD COLUMN words TSVECTOR;
CREATE INDEX runs_by_words ON runs USING GIN (words);
CREATE VIEW run_texts AS
    SELECT number, question, answer, (
        SELECT string_agg(why || E'\n' || input || E'\n' || found, E'\n' ORDER BY step) FROM steps WHERE run = number
    ) AS steps FROM runs;
