"""The ranking of a library's tools by the words that they share with a text, and by its meaning."""

from __future__ import annotations

import heapq
import json
import math
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from mcp_tools.library.meaning import likeness, nearest, word_vectors
from mcp_tools.library.vocabulary import acronyms, is_slip, joined, plain_words, search_words, stems


class Found(NamedTuple):
    """One match of a search."""

    name: str
    score: float
    fits: bool
    """True if it is worth showing: its score is high enough, and not far behind the best."""


class Search:
    """One search, with data that its parts share.

    Args:
        database: The index.
        signs: The signs of the tools' vectors by their rows; empty without word vectors.
    """

    def __init__(self, database: sqlite3.Connection, signs: Mapping[int, int]) -> None:
        self._database = database
        self._signs = signs
        self._tools = 1 + (database.execute("SELECT max(id) FROM tools").fetchone()[0] or 0)
        self._rows: dict[str, list[int]] = {}
        self._entries: dict[int, _Entry] = {}

    def ranked(self, query: str, most: int) -> list[Found]:
        """The tools that share words or meaning with a text, best first.

        A score is the shared part of the words' weight plus the likeness of the meaning, each at most about 1.
        """
        units = self._units(query)
        total = sum(unit.weight for unit in units if not unit.is_extra) or 1.0
        vectors = word_vectors() if self._signs else None
        vector = vectors.of(query) if vectors else None
        rows = dict.fromkeys(_telling_rows(units, most))
        if vector:
            rows |= dict.fromkeys(nearest(vector, self._signs, _NEAREST))
        found = []
        for row, entry in self._read(rows).items():
            shared = sum([unit.weight * unit.share(row, entry) for unit in units]) / total
            meaning = likeness(vector, entry.vector) if vector and entry.vector else 0.0
            if shared > 0 or meaning >= _FAINT:
                found.append((entry.name, shared + meaning - entry.size * _LENGTH_WEIGHT))
        best = max((score for _, score in found), default=0.0)
        least = max(_FITS, _NEAR_BEST * best)
        return sorted(
            (Found(name, score, score >= least) for name, score in found), key=lambda one: (-one.score, one.name)
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
            self._rows[match] = json.loads(f"[{found or ''}]")  # in half the time of reading row by row
        return self._rows[match]

    def _units(self, query: str) -> list[_Unit]:
        """The words of a query, and what stands for them in the index, with the rows that have them."""
        units = []
        wanted = list(dict.fromkeys(one for word in search_words(query) for one in stems(word)))
        for one in wanted:
            rows = self._rows_with(one, most=_COMMON)
            slips = self._near_terms(one) if not rows and len(one) >= _FEWEST_LETTERS else []
            others = self._rows_with(*slips, most=_FREQUENT) if slips else []
            weight = self._weight(rows or others)
            units.append(_Unit(one, slips, rows, others if len(others) < _FREQUENT else [], weight))
        plain = plain_words(query)[:_MOST_PLAIN]
        units += self._short(plain, "acronyms")
        return units + self._short([*joined(plain), *acronyms(plain)], "whole")

    def _short(self, terms: Sequence[str], column: str) -> list[_Unit]:
        """Acronyms, or words in one, among the terms, with the tools that have them."""
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

    def _near_terms(self, word: str) -> list[str]:
        """Words of the index that are written like one that it has not."""
        start = word[:_SAME_START]
        sql = "SELECT term FROM terms WHERE term >= ? AND term < ?"
        return [term for (term,) in self._database.execute(sql, (start, f"{start}\U0010ffff")) if is_slip(word, term)]


class _Entry(NamedTuple):
    """A tool in the index."""

    name: str
    weights: dict[str, float]
    """Weight of its words: the highest of the fields that have it."""
    size: int
    vector: bytes | None


class _Unit(NamedTuple):
    """A word of a query."""

    term: str
    slips: list[str]
    """Words of the index that are written nearly like it, if none is written like it."""
    rows: list[int]
    others: list[int]
    """The rows that have one of these."""
    weight: float
    is_extra: bool = False
    """Derived from several words of the query, which count by themselves."""

    def share(self, row: int, entry: _Entry) -> float:
        """The part of its weight that a tool has."""
        if self.is_extra:
            return 1.0 if row in self.rows else 0.0
        share = entry.weights.get(self.term, 0.0)
        return (
            max([share, *(_SLIP_WEIGHT * entry.weights.get(term, 0.0) for term in self.slips)]) if self.slips else share
        )


RANKED = 30
RANKED_OF_A_PART = 15
OF_A_PART = 2
_FREQUENT = 1000
"""Once there are enough candidates, a word that this many tools have adds no more."""
_COMMON = 1500
"""No more tools with a word are looked at."""
_ROWS = "SELECT group_concat(rowid) FROM (SELECT rowid FROM words WHERE words MATCH ? LIMIT ?)"
_MOST_SHORT = 300
_FEW = 30
"""Joined words and acronyms that more tools have tell nothing."""
_MOST_PLAIN = 40
_FEWEST_LETTERS = 5
_SAME_START = 3
_NAME = 1.3
_FIELDS = (_NAME, _NAME, 1.0, 0.8)
"""The weights of a name, of other names, of a description, of parameters."""
_SLIP_WEIGHT = 0.8
_LENGTH_WEIGHT = 0.0001
"""Per word: it only decides between equals."""
_NEAREST = 24
"""Number of tools compared by meaning, besides those that share words."""
_FITS = 0.3
_FAINT = 0.15
"""Texts that share no word and are less alike have nothing to do with each other."""
_NEAR_BEST = 0.5


def _telling_rows(units: list[_Unit], most: int) -> list[int]:
    """The rows that share the most telling words. The rarest word comes first."""
    weights: dict[int, float] = {}
    for unit in sorted(units, key=lambda unit: len(unit.rows)):
        for rows, weight in ((unit.rows, unit.weight), (unit.others, unit.weight * _SLIP_WEIGHT)):
            is_telling = len(rows) <= _FREQUENT or len(weights) < most
            for row in rows if is_telling else weights.keys() & rows:
                weights[row] = weights.get(row, 0.0) + weight
    return heapq.nlargest(most, weights, key=weights.__getitem__)


def _places(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
