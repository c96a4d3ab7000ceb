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
