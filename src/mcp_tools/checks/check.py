"""The checks of a source: a table of rules, applied in stages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from mcp_tools.checks import names, structure
from mcp_tools.checks.source import CheckedSource, Remark
from mcp_tools.tool import Capabilities


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """A place where a source breaks a rule."""

    line: int
    """Line number, from 1; 0 for the file as a whole."""
    rule: str
    """The rule's id."""
    message: str
    """The problem, and the change that fixes it."""

    def __str__(self) -> str:
        return f"line {self.line}: {self.rule}: {self.message}"


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The findings in one source."""

    findings: tuple[Finding, ...] = ()

    @property
    def ok(self) -> bool:
        """True if there are no findings."""
        return not self.findings

    def as_json(self) -> dict[str, Any]:
        """Return the report as `alita tools check --json` prints it."""
        return {
            "ok": self.ok,
            "findings": [{"rule": f.rule, "line": f.line, "message": f.message} for f in self.findings],
        }


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of the checks, defined by a function. Its name is the id, and its docstring the description."""

    find: Callable[[CheckedSource], Iterator[Remark]]

    @property
    def id(self) -> str:
        """The id in kebab-case, such as `allowed-imports`."""
        return self.find.__name__.replace("_", "-")

    @property
    def description(self) -> str:
        """The requirement in one sentence."""
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
"""The rules in the order of their application. Each stage relies on the earlier ones."""

RULES: tuple[Rule, ...] = tuple(rule for stage in STAGES for rule in stage)


def check(
    source: str | bytes,
    *,
    capabilities: Capabilities = Capabilities(),  # noqa: B008 - frozen
    function: str | None = None,
) -> CheckReport:
    r"""Check a source without running it. No stage is applied after the first one with findings.

    Args:
        source: The source.
        capabilities: The capabilities that the tool declares.
        function: The name that the public function must have; None allows any name.

    Example:
        >>> print(check("def area(w: float, h: float) -> float:\n    return w * h").findings[0])
        line 1: docstring: 'area' has no docstring; say in one sentence what it returns, then `Args:`
    """
    checked = CheckedSource(source, capabilities, function)
    findings: set[Finding] = set()
    for stage in STAGES:
        findings |= {Finding(remark.line, rule.id, remark.message) for rule in stage for remark in rule.find(checked)}
        if findings:
            break
    return CheckReport(tuple(sorted(findings)))
