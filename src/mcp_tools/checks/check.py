"""The checks: every rule in one table, applied in stages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from mcp_tools.checks import names, structure
from mcp_tools.checks.source import Remark, Source
from mcp_tools.tool import Capabilities


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One thing that is wrong with a source."""

    line: int
    """1 for the first line; 0 for the file as a whole."""
    rule: str
    """The id of the rule, kebab-case."""
    message: str
    """The problem, and the change that fixes it."""

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


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of the checks: what finds where a source breaks it."""

    find: Callable[[Source], Iterator[Remark]]

    @property
    def id(self) -> str:
        """Kebab-case; stands in every finding."""
        return self.find.__name__.replace("_", "-")

    @property
    def description(self) -> str:
        """One sentence that says what the rule asks for."""
        return (self.find.__doc__ or "").strip()


STAGES: tuple[tuple[Rule, ...], ...] = tuple(
    tuple(map(Rule, stage))
    for stage in (
        (structure.size, structure.encoding),
        (structure.hidden_characters,),
        (structure.parses,),
        (structure.nesting,),
        (
            structure.one_public_function,
            structure.function_name,
            structure.plain_function,
            structure.named_parameters,
            structure.typed,
            structure.docstring,
            structure.returns_value,
            names.allowed_imports,
            names.exact_hosts,
            names.undefined_name,
            names.forbidden_builtin,
            structure.nothing_on_import,
        ),
    )
)
"""Rules in the order in which they are applied. Each stage may rely on all earlier ones having passed."""

RULES: tuple[Rule, ...] = tuple(rule for stage in STAGES for rule in stage)


def check(
    source: str | bytes,
    *,
    capabilities: Capabilities = Capabilities(),  # noqa: B008 - frozen
    function: str | None = None,
) -> Report:
    """Applies every rule to a source, without running it.

    The public function must have the name of `function`, if there is one. After a stage with findings later stages are
    not applied.
    """
    checked = Source(source, capabilities, function)
    findings: set[Finding] = set()
    for stage in STAGES:
        findings |= {Finding(remark.line, rule.id, remark.message) for rule in stage for remark in rule.find(checked)}
        if findings:
            break
    return Report(tuple(sorted(findings)))
