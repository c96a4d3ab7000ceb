"""The rules that a definition is held to: one table, which the linter and the documentation share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class LintRule:
    """One rule of the linter."""

    id: str
    severity: Severity
    """An error is never served; a warning is shown when a person approves."""
    description: str
    """What it asks for."""


@dataclass(frozen=True, slots=True)
class Flag:
    """One place of a definition that breaks a rule."""

    rule: str
    where: str
    """The path to the text, `inputSchema.properties.city.description`; a key is marked `(key)`."""
    message: str
    severity: Severity

    def __str__(self) -> str:
        return f"{self.severity}: {self.rule}: {self.where}: {self.message}"


LINT_RULES: tuple[LintRule, ...] = (
    LintRule("shape", "error", "a definition is an object of JSON values with texts where MCP wants texts"),
    LintRule("name", "error", "a tool's name is 1 to 128 of the characters A–Z a–z 0–9 . _ -"),
    LintRule("parameter-name", "error", "a parameter's name has no letters beyond ASCII: they pass for others"),
    LintRule("schema-root", "error", 'the root of a schema says "type": "object"'),
    LintRule("reference", "error", "a $ref stays inside its schema"),
    LintRule("length", "error", "no text is longer than a reader would read"),
    LintRule("depth", "error", "nothing is nested deeper than 60 levels"),
    LintRule("control", "error", "no control characters and no line separators but line feeds and tabs"),
    LintRule("ansi", "error", "no escape sequences, which steer a terminal"),
    LintRule("bidi", "error", "no characters that turn the direction of writing"),
    LintRule("tag", "error", "no tag characters, which spell out hidden text"),
    LintRule("zero-width", "error", "nothing that takes no room; joiners stay inside emoji, Arabic and Indic writing"),
    LintRule("variation-selector", "error", "no variation selector but one after an emoji: a chain of them hides data"),
    LintRule("private-use", "error", "no characters without an agreed meaning"),
    LintRule("surrogate", "error", "no half characters, which UTF-8 cannot carry"),
    LintRule("instruction", "warning", "no orders to the model that reads it"),
    LintRule("concealment", "warning", "nothing that is to be kept from the user"),
    LintRule("markup", "warning", "no tags and markers that speak to a model, such as <IMPORTANT>"),
    LintRule("other-tools", "warning", "nothing that steers the use of other tools"),
    LintRule("secret-path", "warning", "no files in which secrets are kept"),
    LintRule(
        "look-alike",
        "warning",
        "no words that mix Latin letters with Cyrillic ones, no names that pass for another tool's",
    ),
)
"""The one registry of rules."""

SEVERITIES: dict[str, Severity] = {rule.id: rule.severity for rule in LINT_RULES}


def flag(rule: str, where: str, message: str) -> Flag:
    """A flag with the severity of its rule."""
    return Flag(rule, where, message, SEVERITIES[rule])
