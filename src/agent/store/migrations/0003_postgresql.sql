-- Approvals of tools and counts of their calls, which several machines share.
CREATE TABLE tool_approvals (
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
