CREATE VIEW run_texts AS
    SELECT number, question, answer, (
        SELECT group_concat(part, char(10)) FROM (
            SELECT why || char(10) || input || char(10) || found AS part FROM steps WHERE run = number ORDER BY step
        )
    ) AS steps FROM runs;
CREATE VIRTUAL TABLE run_words USING fts5(
    question, answer, steps,
    content = 'run_texts', content_rowid = 'number', detail = none,
    tokenize = 'unicode61 remove_diacritics 2', prefix = '3 4 5'
);
CREATE VIRTUAL TABLE gap_words
    USING fts5(id UNINDEXED, situation, pattern, advice, tokenize = 'porter unicode61 remove_diacritics 2');
