"""Phrases of definitions that were written to misuse a model. They only warn: honest texts may need such words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache

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
        rf"\b{_USER} (?:must|should|need|does|do|will) (?:not|never) (?:know|see|notice|be told|find out)\b",
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
_WORD = re.compile(r"[^\W\d_]+")


def suspicious_phrases(text: str) -> Iterator[tuple[str, str]]:
    """The rule that each suspicious phrase breaks, with the phrase; one of a rule is enough."""
    folded = _folded(text)
    for rule, pattern in _compiled().items():
        if found := pattern.search(folded):
            yield rule, found[0]
    if not text.isascii():
        yield from (("look-alike", word) for word in _WORD.findall(text) if _mixes_scripts(word))


@cache
def _compiled() -> dict[str, re.Pattern[str]]:
    """Only where warnings are wanted: compiling takes longer than importing all the rest."""
    return {rule: re.compile("|".join(f"(?:{phrase})" for phrase in found)) for rule, found in _PHRASES.items()}


def _folded(text: str) -> str:
    """The text as it reads: compatible letters, small, on one line, without what cannot be seen."""
    if not text.isascii():
        text = "".join(c for c in unicodedata.normalize("NFKC", text) if unicodedata.category(c) not in {"Cf", "Mn"})
    return " ".join(text.replace("’", "'").casefold().split())


def _mixes_scripts(word: str) -> bool:
    scripts = {unicodedata.name(letter, "").partition(" ")[0] for letter in word}
    return {"LATIN", "CYRILLIC"} <= scripts
