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
