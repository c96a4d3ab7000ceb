CREATE VIRTUAL TABLE gap_words
    USING fts5(id UNINDEXED, situation, pattern, advice, tokenize = 'porter unicode61 remove_diacritics 2');
