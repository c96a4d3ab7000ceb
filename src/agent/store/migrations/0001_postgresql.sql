ALTER TABLE runs ADD COLUMN words TSVECTOR;
CREATE INDEX runs_by_words ON runs USING GIN (words);
CREATE VIEW run_texts AS
    SELECT number, question, answer, (
        SELECT string_agg(why || E'\n' || input || E'\n' || found, E'\n' ORDER BY step) FROM steps WHERE run = number
    ) AS steps FROM runs;
ALTER TABLE gap_records ADD COLUMN words TSVECTOR;
CREATE INDEX gap_records_by_words ON gap_records USING GIN (words);
-- Approvals of tools, drafts that alita wrote, and counts of their calls, which several machines share.
CREATE TABLE tool_approvals (
    library TEXT NOT NULL,
    name TEXT NOT NULL,
    entry TEXT NOT NULL,
    PRIMARY KEY (library, name)
);
CREATE TABLE tool_drafts (
    library TEXT NOT NULL,
    name TEXT NOT NULL,
    entry TEXT NOT NULL,
    PRIMARY KEY (library, name)
);
CREATE TABLE tool_calls (
    library TEXT NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    count BIGINT NOT NULL,
    last DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (library, name, kind)
);
CREATE TABLE tool_questions (
    library TEXT NOT NULL,
    name TEXT NOT NULL,
    question TEXT NOT NULL,
    PRIMARY KEY (library, name, question)
);
CREATE TABLE tool_lately (
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    library TEXT NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    call TEXT NOT NULL
);
CREATE INDEX tool_lately_by_name ON tool_lately (library, name, number);
