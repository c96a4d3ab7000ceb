"""What a check says: findings with a rule, a line and a message that tells the model what to change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One thing that is wrong with a source."""

    line: int
    """1 for the first line; 0 for the file as a whole."""
    rule: str
    """The id of the rule, kebab-case."""
    message: str
    """What is wrong and what to change."""

    def __str__(self) -> str:
        return f"line {self.line}: {self.rule}: {self.message}"


@dataclass(frozen=True, slots=True)
class Report:
    """All that the checks found in one source."""

    findings: tuple[Finding, ...] = ()

    @property
    def ok(self) -> bool:
        """True when nothing was found."""
        return not self.findings

    def as_json(self) -> dict[str, Any]:
        """The form that `alita tools check --json` prints."""
        return {
            "ok": self.ok,
            "findings": [{"rule": f.rule, "line": f.line, "message": f.message} for f in self.findings],
        }
