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
