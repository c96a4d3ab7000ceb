"""Ranks a library's tools by the words that they share with a text, and by its meaning."""

from __future__ import annotations

import heapq
import json
import math
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from mcp_tools.library.meaning import nearest, similarity, word_vectors
from mcp_tools.library.vocabulary import acronyms, is_typo, joined, plain_words, search_words, stems


class Match(NamedTuple):
    """A tool found by a search."""

    name: str
    score: float
    fits: bool
    """True if the score is high enough, and not far below the best."""


class RankedSearch:
    """One search. It caches the rows that it reads, because the parts of a question are searched one by one.

    Args:
        database: The index.
        signs: The signs of each tool's vector, by row; empty without word vectors.
    """

    def __init__(self, database: sqlite3.Connection, signs: Mapping[int, int]) -> None:
        self._database = database
        self._signs = signs
        self._tools = 1 + (database.execute("SELECT max(id) FROM tools").fetchone()[0] or 0)
        self._rows: dict[str, list[int]] = {}
        self._entries: dict[int, _Entry] = {}

    def ranked(self, query: str, most: int) -> list[Match]:
        """Return the tools that share words or meaning with a text, best first.

        A score is the sum of two parts: the weight of the query's words that the tool shares, relative to the weight of
        all of them, and the similarity of meaning. Each part is at most about 1.
        """
        units = self._units(query)
        total = sum(unit.weight for unit in units if not unit.is_extra) or 1.0
        vectors = word_vectors() if self._signs else None
        vector = vectors.of(query) if vectors else None
        rows = dict.fromkeys(_best_rows(units, most))
        if vector:
            rows |= dict.fromkeys(nearest(vector, self._signs, _NEAREST))
        found = []
        for row, entry in self._read(rows).items():
            shared = sum([unit.weight * unit.share(row, entry) for unit in units]) / total
            meaning = similarity(vector, entry.vector) if vector and entry.vector else 0.0
            if shared > 0 or meaning >= _FAINT:
                found.append((entry.name, shared + meaning - entry.size * _LENGTH_WEIGHT))
        best = max((score for _, score in found), default=0.0)
        least = max(_FITS, _NEAR_BEST * best)
        return sorted(
            (Match(name, score, score >= least) for name, score in found), key=lambda one: (-one.score, one.name)
        )

    def _read(self, rows: Iterable[int]) -> dict[int, _Entry]:
        rows = list(rows)
        missing = [row for row in rows if row not in self._entries]
        sql = f"""SELECT tools.id, tools.name, vector, words.name, other, description, parameters FROM words
            JOIN tools ON tools.id = words.rowid LEFT JOIN vectors ON vectors.id = tools.id
            WHERE words.rowid IN ({_places(missing)})"""  # noqa: S608 - question marks
        for row, name, vector, *columns in self._database.execute(sql, missing):
            weights: dict[str, float] = {}
            for weight, column in zip(_FIELDS, columns, strict=True):
                for term in column.split():
                    weights.setdefault(term, weight)
            self._entries[row] = _Entry(name, weights, len(weights), vector)
        return {row: self._entries[row] for row in rows}

    def _weight(self, rows: Sequence[int]) -> float:
        return math.log(1 + self._tools / (1 + len(rows)))

    def _rows_with(self, *terms: str, most: int = -1) -> list[int]:
        match = " OR ".join(f'"{term}"' for term in terms)
        if match not in self._rows:
            found = self._database.execute(_ROWS, (match, most)).fetchone()[0]
            self._rows[match] = json.loads(f"[{found or ''}]")  # twice as fast as reading row by row
        return self._rows[match]

    def _units(self, query: str) -> list[_Unit]:
        """Return the terms of a query with the rows that contain them."""
        units = []
        wanted = list(dict.fromkeys(one for word in search_words(query) for one in stems(word)))
        for one in wanted:
            rows = self._rows_with(one, most=_COMMON)
            typos = self._similar_terms(one) if not rows and len(one) >= _MIN_TYPO_CHARS else []
            others = self._rows_with(*typos, most=_FREQUENT) if typos else []
            weight = self._weight(rows or others)
            units.append(_Unit(one, typos, rows, others if len(others) < _FREQUENT else [], weight))
        plain = plain_words(query)[:_MAX_PLAIN_WORDS]
        units += self._short(plain, "acronyms")
        return units + self._short([*joined(plain), *acronyms(plain)], "whole")

    def _short(self, terms: Sequence[str], column: str) -> list[_Unit]:
        """Return units for those terms that occur in a column of short names: acronyms or joined words."""
        if not terms:
            return []
        found: dict[str, list[int]] = {}
        quoted = " OR ".join(f'"{term}"' for term in dict.fromkeys(terms))
        match = f"{column} : ({quoted})"
        sql = f"SELECT rowid, {column} FROM short WHERE short MATCH ? LIMIT {_MOST_SHORT}"  # noqa: S608 - our names
        for row, text in self._database.execute(sql, (match,)):
            for term in {*terms}.intersection(text.split()):
                found.setdefault(term, []).append(row)
        few = {term: rows for term, rows in found.items() if len(rows) <= _FEW}
        return [_Unit(term, [], rows, [], _NAME * self._weight(rows), is_extra=True) for term, rows in few.items()]

    def _similar_terms(self, word: str) -> list[str]:
        """Return indexed words of which an unknown word may be a misspelling."""
        start = word[:_SAME_START]
        sql = "SELECT term FROM terms WHERE term >= ? AND term < ?"
        return [term for (term,) in self._database.execute(sql, (start, f"{start}\U0010ffff")) if is_typo(word, term)]


class _Entry(NamedTuple):
    name: str
    weights: dict[str, float]
    """The weight of each word in the tool: the highest weight among the fields with this word."""
    size: int
    vector: bytes | None


class _Unit(NamedTuple):
    """A term of a query: a stem, an acronym or two joined words."""

    term: str
    typos: list[str]
    """Indexed words that are spelled similarly, if the term itself is not in the index."""
    rows: list[int]
    others: list[int]
    """The rows that contain one of `typos`."""
    weight: float
    is_extra: bool = False
    """True for a term derived from several words of the query, which are also counted themselves."""

    def share(self, row: int, entry: _Entry) -> float:
        """Return the share of the term's weight that a tool gets."""
        if self.is_extra:
            return 1.0 if row in self.rows else 0.0
        share = entry.weights.get(self.term, 0.0)
        return (
            max([share, *(_TYPO_WEIGHT * entry.weights.get(term, 0.0) for term in self.typos)]) if self.typos else share
        )


MAX_RANKED = 30
MAX_RANKED_PER_PART = 15
SHOWN_PER_PART = 2
_FREQUENT = 1000
"""A word that occurs in more tools than this adds no candidates once there are enough."""
_COMMON = 1500
"""Maximum number of tools that are looked up for one word."""
_ROWS = "SELECT group_concat(rowid) FROM (SELECT rowid FROM words WHERE words MATCH ? LIMIT ?)"
_MOST_SHORT = 300
_FEW = 30
"""Acronyms and joined words that occur in more tools than this are ignored."""
_MAX_PLAIN_WORDS = 40
_MIN_TYPO_CHARS = 5
_SAME_START = 3
_NAME = 1.3
_FIELDS = (_NAME, _NAME, 1.0, 0.8)
"""Weights of a word in the name, in other names, in the description, and in parameters."""
_TYPO_WEIGHT = 0.8
_LENGTH_WEIGHT = 0.0001
"""Penalty per word, so small that it only breaks ties."""
_NEAREST = 24
"""Number of tools compared by meaning, in addition to those that share words."""
_FITS = 0.3
_FAINT = 0.15
"""Similarity below which texts without a common word count as unrelated."""
_NEAR_BEST = 0.5


def _best_rows(units: list[_Unit], most: int) -> list[int]:
    """Return the rows with the highest total weight of shared words, taking rare words first."""
    weights: dict[int, float] = {}
    for unit in sorted(units, key=lambda unit: len(unit.rows)):
        for rows, weight in ((unit.rows, unit.weight), (unit.others, unit.weight * _TYPO_WEIGHT)):
            adds_rows = len(rows) <= _FREQUENT or len(weights) < most
            for row in rows if adds_rows else weights.keys() & rows:
                weights[row] = weights.get(row, 0.0) + weight
    return heapq.nlargest(most, weights, key=weights.__getitem__)


def _places(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
