"""The checks: every rule in one table, applied in stages."""

from __future__ import annotations

from mcp_tools.checks import annotated, effects, imports, names, parsing, structure
from mcp_tools.checks.findings import Finding, Report
from mcp_tools.checks.rule import Rule
from mcp_tools.checks.source import Source
from mcp_tools.tool import Capabilities

STAGES: tuple[tuple[Rule, ...], ...] = (
    (
        Rule("size", "The source has at most 64 kB.", parsing.size),
        Rule(
            "encoding",
            "The source is UTF-8 without a byte-order mark or another declared encoding.",
            parsing.encoding,
        ),
    ),
    (
        Rule(
            "hidden-characters",
            "No null, control, bidirectional, zero-width or tag character.",
            parsing.hidden_characters,
        ),
    ),
    (Rule("parses", "Python can parse and compile it.", parsing.parses),),
    (Rule("nesting", "The syntax tree is at most 150 levels deep.", parsing.nesting),),
    (
        Rule(
            "one-public-function",
            "One public function is the tool: the one of the wanted name, else the one that uses the others.",
            structure.one_public_function,
        ),
        Rule(
            "function-name",
            "The name is snake_case and hides no keyword or builtin.",
            structure.function_name,
        ),
        Rule("plain-function", "The function is not async.", structure.plain_function),
        Rule("named-parameters", "No `*args` and no `**kwargs`.", structure.named_parameters),
        Rule("typed", "Each parameter and the return of the public function is annotated.", annotated.typed),
        Rule("json-types", "No annotation is of a kind that JSON cannot carry.", annotated.json_types),
        Rule("docstring", "The public function has a docstring.", structure.docstring),
        Rule(
            "returns-value",
            "The function returns its result instead of printing it.",
            structure.returns_value,
        ),
        Rule(
            "allowed-imports",
            "Imports come from the standard library and from packages that are there, none for network or processes.",
            imports.allowed_imports,
        ),
        Rule("known-imports", "What is taken from a standard module exists there.", imports.known_imports),
        Rule(
            "declared-packages", "The PEP 723 header names only base and declared packages.", imports.declared_packages
        ),
        Rule("no-hosts", "The tool asks for no network host.", imports.no_hosts),
        Rule("undefined-name", "Each name is a builtin, imported, or bound in its scope.", names.undefined_name),
        Rule("forbidden-builtin", "No `eval`, `exec`, `compile`, `__import__` or `input`.", names.forbidden_builtin),
        Rule(
            "nothing-on-import",
            "Importing the file defines things and computes constants; it does not print, ask, open, or call the tool.",
            effects.nothing_on_import,
        ),
        Rule(
            "only-computes",
            "No process, no exit, no change of the interpreter, no use of the environment.",
            effects.only_computes,
        ),
    ),
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

    Args:
        source: The whole file.
        capabilities: What the tool may touch.
        function: The name that the public function must have.

    Returns:
        The findings in the order of lines. After a stage with findings later stages are not applied.
    """
    checked = Source(source, capabilities, function)
    findings: set[Finding] = set()
    for stage in STAGES:
        findings |= {Finding(remark.line, rule.id, remark.message) for rule in stage for remark in rule.find(checked)}
        if findings:
            break
    return Report(tuple(sorted(findings)))
