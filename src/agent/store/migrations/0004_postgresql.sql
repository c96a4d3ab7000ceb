ALTER TABLE gap_records ADD COLUMN words TSVECTOR;
CREATE INDEX gap_records_by_words ON gap_records USING GIN (words);
