"""What a check says: findings with a rule, a line and a message that tells the model what to change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One thing that is wrong with a source."""

    line: int
    """1 for the first line; 0 for the file as a whole."""
    rule: str
    """The id of the rule, kebab-case."""
    message: str
    """What is wrong and what to change."""
    severity: Literal["error", "warning"] = "error"


@dataclass(frozen=True, slots=True)
class Report:
    """All that the checks found in one source."""

    findings: tuple[Finding, ...] = ()

    @property
    def ok(self) -> bool:
        """True when nothing of severity `error` was found."""
        return not any(finding.severity == "error" for finding in self.findings)

    def as_json(self) -> dict[str, Any]:
        """The form that `alita tools check --json` prints."""
        return {
            "ok": self.ok,
            "findings": [
                {"rule": f.rule, "line": f.line, "message": f.message, "severity": f.severity} for f in self.findings
            ],
        }
