"""The ranking of a library's tools by what they share with a text."""

from __future__ import annotations

import heapq
import json
import math
import sqlite3
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from mcp_tools.library.vocabulary import ALIKE, acronyms, is_slip, joined, plain_words, search_words, stems


class Found(NamedTuple):
    """One match of a search."""

    name: str
    score: float
    fits: bool
    """Whether it shares a word of its name or a fair part of the query, and does not come far behind the best."""


class Search:
    """One search, whose parts share what was read."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._tools = 1 + (database.execute("SELECT max(id) FROM tools").fetchone()[0] or 0)
        self._rows: dict[str, list[int]] = {}
        self._entries: dict[int, _Entry] = {}

    def ranked(self, query: str, most: int) -> list[Found]:
        """The tools that share something with a text, best first."""
        units = self._units(query)
        total = sum(unit.weight for unit in units if not unit.is_extra)
        found = []
        for row, entry in self._read(_weighed(units, most)).items():
            likeness, shared, is_named = 0.0, 0, False
            for unit in units:
                share = entry.weights.get(unit.term, 0.0)
                if unit.is_extra:
                    share = 1.0 if row in unit.rows else 0.0
                elif unit.alike and share < _NAME:
                    share = max(share, unit.likeness * max(entry.weights.get(term, 0.0) for term in unit.alike))
                likeness += unit.weight * share
                shared += share > 0
                is_named = is_named or share >= (1.0 if unit.is_extra else _NAME)
            fits = is_named or likeness >= _FAIR_PART * total / (1 + (shared > 1))
            found.append((likeness, Found(entry.name, likeness - entry.size * _LENGTH_WEIGHT, fits)))
        least = _NEAR_BEST * max((likeness for likeness, match in found if match.fits), default=0.0)
        ranked = [match._replace(fits=match.fits and likeness >= least) for likeness, match in found]
        return sorted(ranked, key=lambda match: (-match.score, match.name))

    def _read(self, rows: Iterable[int]) -> dict[int, _Entry]:
        rows = list(rows)
        missing = [row for row in rows if row not in self._entries]
        sql = f"""SELECT tools.id, tools.name, words.name, other, description, parameters FROM words
            JOIN tools ON tools.id = words.rowid WHERE words.rowid IN ({_places(missing)})"""  # noqa: S608 - question marks
        for row, name, *columns in self._database.execute(sql, missing):
            weights: dict[str, float] = {}
            for weight, column in zip(_FIELDS, columns, strict=True):
                for term in column.split():
                    weights.setdefault(term, weight)
            self._entries[row] = _Entry(name, weights, len(weights))
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
            rows, alike, likeness = self._rows_with(one, most=_COMMON), [*ALIKE.get(one, ())], _ALIKE_WEIGHT
            if not rows and not alike and len(one) >= _FEWEST_LETTERS:
                alike, likeness = self._near_terms(one), _SLIP_WEIGHT
            others = self._rows_with(*alike, most=_FREQUENT) if alike and len(rows) < _ENOUGH else []
            weight = self._weight(rows or others)
            units.append(_Unit(one, alike, rows, others if len(others) < _FREQUENT else [], weight, likeness))
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
    """Of its words: the highest of the fields that have it."""
    size: int


class _Unit(NamedTuple):
    """A word of a query."""

    term: str
    alike: list[str]
    rows: list[int]
    others: list[int]
    """The rows that have one of the words alike."""
    weight: float
    likeness: float = 0.0
    """The part of it that a word alike counts."""
    is_extra: bool = False
    """Derived from several words of the query, which count by themselves."""


RANKED = 30
RANKED_OF_A_PART = 15
OF_A_PART = 2
_FREQUENT = 1000
"""A word that so many tools have adds no further candidates once there are enough."""
_ENOUGH = 300
"""If so many tools have a word, none is looked for that has only a word alike."""
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
_ALIKE_WEIGHT = 0.6
_SLIP_WEIGHT = 0.8
_LENGTH_WEIGHT = 0.001
"""Per word: it only decides between equals."""
_FAIR_PART = 0.25
"""A tool must share this part of the weight of all words of a query, or half of it if it shares several words."""
_NEAR_BEST = 0.5


def _weighed(units: list[_Unit], most: int) -> dict[int, float]:
    """The rows that share the most telling words, with the sum of the weights. The rarest word comes first."""
    weights: dict[int, float] = {}
    for unit in sorted(units, key=lambda unit: len(unit.rows)):
        for rows, weight in ((unit.rows, unit.weight), (unit.others, unit.weight * unit.likeness)):
            is_telling = len(rows) <= _FREQUENT or len(weights) < most
            for row in rows if is_telling else weights.keys() & rows:
                weights[row] = weights.get(row, 0.0) + weight
    return {row: weights[row] for row in heapq.nlargest(most, weights, key=weights.__getitem__)}


def _places(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
