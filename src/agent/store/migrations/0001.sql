-- One row for each folder of a run; see docs/store.md.
CREATE TABLE runs (
    number BIGINT NOT NULL PRIMARY KEY,
    place TEXT NOT NULL,
    run_id TEXT NOT NULL,
    status TEXT NOT NULL,
    started DOUBLE PRECISION NOT NULL,
    seconds DOUBLE PRECISION,
    model TEXT NOT NULL,
    question TEXT NOT NULL,
    answer TEXT NOT NULL,
    cost DOUBLE PRECISION,
    parent TEXT,
    follows TEXT,
    record TEXT NOT NULL,
    UNIQUE (place, run_id)
);
CREATE TABLE steps (
    run BIGINT NOT NULL,
    step INTEGER NOT NULL,
    action TEXT NOT NULL,
    why TEXT NOT NULL,
    input TEXT NOT NULL,
    ok INTEGER,
    found TEXT NOT NULL,
    PRIMARY KEY (run, step)
);
CREATE TABLE places (
    place TEXT NOT NULL PRIMARY KEY,
    seen BIGINT NOT NULL
);
-- Conversations with their turns, and answers and programs that are given again.
CREATE TABLE conversations (
    id TEXT NOT NULL PRIMARY KEY,
    title TEXT NOT NULL,
    model TEXT NOT NULL,
    started DOUBLE PRECISION NOT NULL,
    changed DOUBLE PRECISION NOT NULL,
    revision INTEGER NOT NULL,
    parent TEXT,
    record TEXT NOT NULL
);
CREATE TABLE turns (
    conversation TEXT NOT NULL,
    number INTEGER NOT NULL,
    run_id TEXT NOT NULL,
    question TEXT NOT NULL,
    answer TEXT NOT NULL,
    status TEXT NOT NULL,
    PRIMARY KEY (conversation, number)
);
CREATE INDEX turns_by_run ON turns (run_id);
CREATE TABLE answers (
    key TEXT NOT NULL PRIMARY KEY,
    question TEXT NOT NULL,
    answer TEXT NOT NULL,
    run_id TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    record TEXT NOT NULL
);
CREATE TABLE programs (
    key TEXT NOT NULL PRIMARY KEY,
    at DOUBLE PRECISION NOT NULL,
    record TEXT NOT NULL
);
CREATE TABLE answered_again (
    at DOUBLE PRECISION NOT NULL
);
-- Gap records, with the questions that they came from and how the questions went that were planned with them.
CREATE TABLE gap_records (
    id TEXT NOT NULL PRIMARY KEY,
    kind TEXT NOT NULL,
    situation TEXT NOT NULL,
    pattern TEXT NOT NULL,
    advice TEXT NOT NULL,
    status TEXT NOT NULL,
    seen INTEGER NOT NULL,
    created DOUBLE PRECISION NOT NULL,
    updated DOUBLE PRECISION NOT NULL
);
CREATE INDEX gap_records_of_kind ON gap_records (kind, updated);
CREATE TABLE gap_origins (record TEXT NOT NULL, question TEXT NOT NULL, PRIMARY KEY (record, question));
CREATE TABLE gap_shown (record TEXT NOT NULL, run TEXT NOT NULL, PRIMARY KEY (record, run));
CREATE TABLE gap_scored (run TEXT NOT NULL PRIMARY KEY, kind TEXT NOT NULL, correct INTEGER NOT NULL);
