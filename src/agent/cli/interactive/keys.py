"""The keys of the prompt: help and the documentation's table come from here."""

from __future__ import annotations

from typing import NamedTuple


class Key(NamedTuple):
    """One key, or what is typed like one."""

    keys: str
    does: str


KEYS: tuple[Key, ...] = (
    Key("Enter", "ask, or do the command"),
    Key("Alt-Enter", "begin a new line; so does Esc, then Enter. A pasted text keeps its lines"),
    Key("Tab", "complete commands, names of tools, ids of runs and sessions, and files"),
    Key("Shift-Tab", "the next approval mode: ask, auto, never"),
    Key("Up, Down", "earlier entries; inside a text of several lines, its lines"),
    Key("Ctrl-R", "search earlier entries"),
    Key("Ctrl-X Ctrl-E", "write the entry in your editor ($VISUAL or $EDITOR)"),
    Key("Ctrl-C", "while a question is worked on: finish the step and save; again: stop at once"),
    Key("Ctrl-C", "at the prompt: clear the line; on an empty line twice: leave"),
    Key("Ctrl-D", "on an empty line: leave"),
    Key("@file", 'attach a file to the question; @"a name" when it has blanks'),
)
