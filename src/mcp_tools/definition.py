"""The MCP definition of a tool: the object that clients see, its hash, and a linter for dangerous definitions."""

from __future__ import annotations

import hashlib
import json
import math
import re
import sys
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal, NamedTuple

from mcp_tools.text import joiners_in_place, one_line
from mcp_tools.tool import Capabilities, Json, Tool


def definition_of(tool: Tool) -> dict[str, Json]:
    """Return the MCP tool object of a tool, without `_meta`.

    The hints describe what the sandbox enforces, not what the tool's file claims.
    """
    definition: dict[str, Json] = {
        "name": tool.name,
        "title": tool.annotations.get("title") or tool.name.replace("_", " ").capitalize(),
        "description": tool.description,
        "inputSchema": tool.input_schema,
    }
    if tool.output_schema:
        definition["outputSchema"] = tool.output_schema
    return definition | {"annotations": _hints(tool.capabilities)}


def _hints(capabilities: Capabilities) -> dict[str, bool]:
    """Return all four hints, because MCP treats a missing `destructiveHint` as true and `idempotentHint` as false.

    A tool is read-only unless it sends requests or writes files. A tool can add files but not change existing ones.
    """
    return {
        "readOnlyHint": not (capabilities.hosts or capabilities.write),
        "destructiveHint": bool(capabilities.hosts),
        "idempotentHint": not capabilities.hosts,
        "openWorldHint": bool(capabilities.hosts),
    }


def definition_hash(tool: Tool) -> str:
    """Return the SHA-256 of the definition's canonical JSON, in hexadecimal.

    The `write` capability is left out, because the hash of the capabilities covers it.
    """
    hashed = definition_of(tool) | {"annotations": _hints(replace(tool.capabilities, write=False))}
    return sys.intern(hashlib.sha256(canonical(hashed)).hexdigest())


def canonical(value: Json) -> bytes:
    """Return canonical JSON (sorted keys, no spaces, ASCII), so that equal values give equal bytes."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


_NAME = re.compile(r"[A-Za-z0-9._-]{1,128}")
_MAX_TITLE_CHARS = 200
Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class LintRule:
    """A linter rule."""

    id: str
    severity: Severity
    """A tool with an error is never served. Warnings are shown to the person who approves it."""
    description: str


@dataclass(frozen=True, slots=True)
class Flag:
    """A violation of a rule."""

    rule: str
    where: str
    """Path of the text, such as `inputSchema.properties.city.description`. `(key)` marks a key."""
    message: str
    severity: Severity

    def __str__(self) -> str:
        return f"{self.severity}: {self.rule}: {self.where}: {self.message}"


LINT_RULES: tuple[LintRule, ...] = (
    LintRule("shape", "error", "a definition is a JSON object with text wherever MCP requires text"),
    LintRule("name", "error", "a tool's name has 1 to 128 characters of A–Z a–z 0–9 . _ -"),
    LintRule("parameter-name", "error", "a parameter's name is ASCII: other letters can pass for ASCII ones"),
    LintRule("schema-root", "error", 'the root of a schema has "type": "object"'),
    LintRule("reference", "error", "every $ref points into its own schema"),
    LintRule("length", "error", "no name or text exceeds its length limit"),
    LintRule("depth", "error", "nothing is nested deeper than 60 levels"),
    LintRule("hidden", "error", "no characters that are invisible, control a terminal, or have no standard meaning"),
    LintRule("instruction", "warning", "no instructions to the model"),
    LintRule("concealment", "warning", "no requests to hide something from the user"),
    LintRule("markup", "warning", "no tags or markers aimed at a model, such as <IMPORTANT>"),
    LintRule("other-tools", "warning", "no advice on using other tools"),
    LintRule("secret-path", "warning", "no paths of files that contain secrets"),
)

SEVERITIES: dict[str, Severity] = {rule.id: rule.severity for rule in LINT_RULES}


def flag(rule: str, where: str, message: str) -> Flag:
    """Return a flag with the severity of its rule."""
    return Flag(rule, where, message, SEVERITIES[rule])


_FILLERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2065\u2800\u3164\uffa0")
"""Letters and marks that have no visible glyph, although Unicode does not classify them as format characters."""
_SELECTORS = re.compile("[\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_EMOJI = re.compile(
    "[0-9#*\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
)
_INVISIBLE_CATEGORIES = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})
_UNASSIGNED = ((0xE0000, 0xE0FFF), (0xFFF0, 0xFFF8), (0xFDD0, 0xFDEF))


def find_hidden(text: str, *, lines: bool) -> Iterator[str]:
    """Yield invisible characters, such as `U+200B`, except joiners that the script needs.

    With `lines`, line breaks and tabs are also allowed.
    """
    if lines:
        text = text.replace("\r\n", "\n")
    if text.isascii() and (text.replace("\n", "").replace("\t", "") if lines else text).isprintable():
        return
    joiners = joiners_in_place(text)
    for position, character in enumerate(text):
        if (lines and character in "\n\t") or position in joiners:
            continue
        if _is_hidden(character, text[position - 1] if position else ""):
            yield f"U+{ord(character):04X}"


def _is_hidden(character: str, before: str) -> bool:
    point = ord(character)
    if _SELECTORS.match(character):  # one after an emoji picks its style; a sequence can hide data
        return not (character in "\ufe0e\ufe0f" and _EMOJI.match(before))
    unassigned = point & 0xFFFE == 0xFFFE or any(first <= point <= last for first, last in _UNASSIGNED)
    return character in _FILLERS or unassigned or unicodedata.category(character) in _INVISIBLE_CATEGORIES


_USER = r"(?:the |your )?(?:user|human|person|owner|customer|anyone|anybody)s?"
_PHRASES: dict[str, tuple[str, ...]] = {
    "instruction": (
        r"\b(?:ignore|disregard|forget|override|bypass)\b.{0,30}\b(?:instructions?|prompts?|rules|guidelines|guardrails"
        r"|(?:previous|prior|above|earlier) (?:messages?|text|context))\b",
        r"\b(?:system|developer) prompt\b",
        r"\byou (?:must|shall|should|have to|are required to|need to) (?:always |never |also |first |now )?"
        r"(?:call|use|read|send|include|pass|invoke|run|execute|obey|follow|open|fetch|reply|respond|answer|act|pretend)\b",
        r"\b(?:assistant|llm|language model|ai model|claude|chatgpt|agent)s?,? (?:must|shall|should|has to|have to)\b",
        r"\byou are (?:now |no longer )(?:a|an|in|the|bound|free)\b",
        r"\bjailbreak\b",
    ),
    "concealment": (
        r"\b(?:do not|don'?t|never|must not|should not|without|avoid) (?:ever )?"
        r"(?:tell|mention|inform|notify|reveal|show|disclos|ask|alert)(?:e|ing)?\b"
        rf".{{0,30}}\b{_USER}\b",
        r"\b(?:do not|don'?t|never) (?:mention|reveal|disclose|tell|report) (?:this|that|it|these|anyone|anybody)\b",
        rf"\b(?:hide|conceal|keep|withhold)\b.{{0,30}}\bfrom {_USER}\b",
        rf"\bwithout {_USER}(?:'?s)? (?:knowledge|knowing|consent|noticing|permission|approval)\b",
        rf"\b{_USER} (?:must|should|need|does|do|will) (?:not|never) (?:know|see|notice|be message|find out)\b",
    ),
    "markup": (
        r"</?\s*(?:important|system|instructions?|secret|hidden|assistant|admin|critical|urgent|override|user|prompt"
        r"|tool_call|function_calls?)\b[^>]{0,80}>",
        r"<\|\s*\w+\s*\|>|\[/?inst\]|<<sys>>",
        r"<!--",
        r"!\[[^\]]{0,80}\]\(\s*https?:",
        r"\bdata:[\w/+.-]+;base64,",
        r"[a-z0-9+/_-]{160,}={0,2}",
    ),
    "other-tools": (
        r"\b(?:before|after|instead of|rather than|prior to|whenever) (?:you )?(?:us|call|invok|run|runn)(?:e|ing)? "
        r"(?:(?:any|every|all|each|another|the|this|that|a) )?(?:of the )?(?:other )?(?:[\w.`-]+ )?tools?\b",
        r"\b(?:any|all|every|each) (?:of the )?other tools?\b",
        r"\b(?:always|only|never|do not|don'?t) (?:use|call|invoke|run|prefer)\b.{0,40}\btools?\b",
        r"\bthis tool (?:replaces|supersedes|overrides|must be (?:called|used|run)|takes precedence)\b",
        r"\b(?:when|whenever|if) (?:the )?[\w`-]+ tool is (?:called|used|invoked|available|present)\b",
        r"\btools? (?:is|are) (?:deprecated|broken|unsafe|insecure|disabled|obsolete)\b.{0,60}\b(?:use|call)\b",
    ),
    "secret-path": (
        r"(?<![\w])\.ssh\b|\bid[_ ](?:rsa|dsa|ecdsa|ed25519)\b|\bauthorized[_ ]keys\b",
        r"\.aws[/\\]|\.netrc\b|\.pgpass\b|\.npmrc\b|\.pypirc\b|\.kube[/\\]|\.gnupg\b|\.docker[/\\]config|\.git-credentials\b",
        r"/etc/(?:passwd|shadow|sudoers)\b|/proc/self/environ\b",
        r"(?:^|[\s/\\'\"`(])\.env\b(?!\w)",
        r"\b(?:mcp|claude_desktop_config)\.json\b|\.cursor[/\\]|\.bash_history\b",
        r"\b(?:wallet\.dat|login data|keychain(?:s)?[/\\])",
    ),
}


def _suspicious_phrases(text: str) -> Iterator[tuple[str, str]]:
    """Yield a (rule, phrase) pair for each rule that the text breaks, with the first matching phrase."""
    folded = _folded(text)
    for rule, pattern in _compiled().items():
        if found := pattern.search(folded):
            yield rule, found[0]


def reads_like_orders(text: str) -> bool:
    """Return True if a text seems to give orders to a model instead of describing a tool."""
    return next(_suspicious_phrases(text[:_MAX_TEXT_CHARS]), None) is not None


@cache
def _compiled() -> dict[str, re.Pattern[str]]:
    """Compile the patterns on first use, because compiling takes longer than all imports of this module."""
    return {rule: re.compile("|".join(f"(?:{phrase})" for phrase in found)) for rule, found in _PHRASES.items()}


def _folded(text: str) -> str:
    """Normalise a text for matching: compatibility forms and case folded, one line, no invisible characters."""
    if not text.isascii():
        text = "".join(c for c in unicodedata.normalize("NFKC", text) if unicodedata.category(c) not in {"Cf", "Mn"})
    return " ".join(text.replace("’", "'").casefold().split())


_MAX_KEY_CHARS = 128
_MAX_TEXT_CHARS = 8_000
_MAX_TOTAL_CHARS = 100_000
_MAX_DEPTH = 60
_MAX_FLAGS = 100
_WIDTH = 80
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


class _Text(NamedTuple):
    text: str
    where: str
    is_key: bool


def lint(definition: dict[str, Json], *, warnings: bool = True) -> list[Flag]:
    """Return up to a hundred problems in a tool's definition, errors first. External tools are linted as well.

    Without `warnings`, the linter is much faster, because most of its time goes into finding suspicious phrases.
    """
    flags = [*_shape(definition)]
    total = 0
    for found in _walk(definition):
        if isinstance(found, Flag):
            flags.append(found)
            continue
        flags += _errors(found)
        if warnings:
            text = found.text[:_MAX_TEXT_CHARS]
            text = (
                text.replace("_", " ") if found.is_key or " " not in text else text
            )  # names may contain instructions too
            flags += [flag(rule, found.where, f"it contains {_shown(p)}") for rule, p in _suspicious_phrases(text)]
        total += len(found.text)
        if total > _MAX_TOTAL_CHARS:
            message = f"its texts have more than {_MAX_TOTAL_CHARS:,} characters in total"
            flags.append(flag("length", "definition", message))
            break
    return sorted(dict.fromkeys(flags), key=lambda found: found.severity)[:_MAX_FLAGS]


def _shape(definition: dict[str, Json]) -> Iterator[Flag]:
    name = definition.get("name")
    if not isinstance(name, str):
        yield flag("shape", "name", "it must be text")
    elif not _NAME.fullmatch(name):
        yield flag(
            "name", "name", f"{_shown(name)} is not a valid tool name; use 1 to 128 characters from A-Z a-z 0-9 . _ -"
        )
    for key in ("title", "description"):
        if not isinstance(definition.get(key) or "", str):
            yield flag("shape", key, "it must be text")
    if not isinstance(definition.get("annotations") or {}, dict):
        yield flag("shape", "annotations", "they must be an object")
    given, promised = definition.get("inputSchema"), definition.get("outputSchema")
    for key, schema in (("inputSchema", given), ("outputSchema", {"type": "object"} if promised is None else promised)):
        if not isinstance(schema, dict) or schema.get("type") != "object":
            yield flag("schema-root", key, 'its root must have "type": "object"')
    properties = given.get("properties") if isinstance(given, dict) else None
    for parameter in properties if isinstance(properties, dict) else ():
        if isinstance(parameter, str) and not parameter.isascii():
            where = f"inputSchema.properties.{_shown(parameter)} (key)"
            yield flag("parameter-name", where, f"{parameter!a} contains non-ASCII characters")


def _errors(found: _Text) -> Iterator[Flag]:
    text, where, is_key = found
    longest = _MAX_KEY_CHARS if is_key else _MAX_TITLE_CHARS if where == "title" else _MAX_TEXT_CHARS
    if len(text) > longest:
        yield flag("length", where, f"it has {len(text):,} characters; the limit is {longest:,}")
    is_one_line = is_key or where in {"name", "title"}
    for character in dict.fromkeys(find_hidden(text[:longest], lines=not is_one_line)):
        yield flag("hidden", where, f"it contains {character}")
    if where.rpartition(".")[2] in _REFERENCES and not is_key and not text.startswith("#"):
        yield flag("reference", where, f"{_shown(text)} points outside the schema")


def _walk(definition: Json) -> Iterator[_Text | Flag]:
    """Yield every string in a definition, including keys. Iterative, because deep nesting would overflow the stack."""
    waiting: list[tuple[Json, str, int]] = [(definition, "", 0)]
    while waiting:
        value, where, depth = waiting.pop()
        if isinstance(value, str):
            yield _Text(value, where, False)
        elif isinstance(value, dict | list) and depth >= _MAX_DEPTH:
            yield flag("depth", where[:200], f"it is nested deeper than {_MAX_DEPTH} levels")
        elif isinstance(value, dict):
            for key, inner in value.items():
                if not isinstance(key, str):
                    yield flag("shape", where, f"the key {key!r} is not text")
                    continue
                place = f"{where}.{_shown(key)}" if where else _shown(key)
                yield _Text(key, f"{place} (key)", True)
                waiting.append((inner, place, depth + 1))
        elif isinstance(value, list):
            waiting.extend((inner, f"{where}[{index}]", depth + 1) for index, inner in enumerate(value))
        elif isinstance(value, float) and not math.isfinite(value):
            yield flag("shape", where, f"{value} is not valid JSON")
        elif value is not None and not isinstance(value, bool | int | float):
            yield flag("shape", where, f"a value of type {type(value).__name__} is not valid JSON")


def _shown(text: str) -> str:
    is_plain = len(text) <= _WIDTH and text.isascii() and text.isprintable()
    return text if is_plain else one_line(text, _WIDTH)
