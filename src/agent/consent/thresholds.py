"""Minimum sizes for text to count as private data or as an order. Characters are counted after `normalized`."""

SNIPPET_CHARS = 24
"""A run of characters this long that also occurs in private text was copied from it: "the vault opens at half past
nine"."""
HIDDEN_SNIPPET_CHARS = 10
"""The same for encoded or reversed text, for which there is no honest reason: "brown horses" in base64."""
PASSAGE_CHARS = 48
"""The same for a search query, which may contain a title from a private file but no whole sentence."""
WORDING_CHARS = 12
"""A browser task that shares words of this many characters with untrusted text repeats it: "delete account"."""
ORDER_WORDS = 4
"""A harmless task with this many new words from untrusted text repeats an order. Fewer words are a label: "Opening
hours"."""
DISTINCTIVE_CHARS = 8
"""A host name or query this long does not occur in other text by chance: "rivers.example"."""
KEY_DIGITS = 14
"""A run of this many digits is a card or account number: "4111 1111 1111 1111"."""
KEY_CHARS = 16
"""A word this long with letters and digits is a key: "b7Kq2zz19Lm04xyz"."""
ANYWHERE_CHARS = 6
"""A secret this long also counts inside longer words. A shorter one only counts as a whole word: "zw9" does not match
"zw912"."""
PARTIAL_CHARS = 8
"""A part of a longer secret counts if it has this many characters and at least three fifths of the secret."""
SMALL_VALUE_CHARS = 3
"""A value this short reveals nothing by itself: "en", "10", "yes"."""
MAX_SMALL_VALUES = 16
"""A call with more of these values may spell out private data: ["s", "e", "v", "e", "n", …]."""
MAX_KEYS = 10_000
"""If there are more than twice this many private keys, none is looked for, and every text that may carry one is
doubtful."""
MAX_ENCODED_KEYS = 200
"""Number of private keys that are also looked for in encoded form."""
