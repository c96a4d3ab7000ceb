"""The checks: every rule in one table, applied in stages."""

from __future__ import annotations

from mcp_tools.checks import annotated, effects, generality, imports, names, structure, text
from mcp_tools.checks.protocol import Finding, Report
from mcp_tools.checks.rule import Rule
from mcp_tools.checks.source import Source
from mcp_tools.tool import Capabilities

STAGES: tuple[tuple[Rule, ...], ...] = (
    (
        Rule("size", "The source has at most 64 kB.", text.size),
        Rule(
            "encoding",
            "The source is UTF-8 without a byte-order mark or another declared encoding.",
            text.encoding,
        ),
    ),
    (
        Rule(
            "hidden-characters",
            "No null, control, bidirectional, zero-width or tag character.",
            text.hidden_characters,
        ),
    ),
    (Rule("parses", "Python can parse and compile it.", text.parses),),
    (Rule("nesting", "The syntax tree is at most 150 levels deep.", text.nesting),),
    (
        Rule(
            "one-public-function",
            "Exactly one public function at the top level, of the wanted name.",
            structure.one_public_function,
        ),
        Rule(
            "function-name",
            "The name is snake_case and hides no keyword or builtin.",
            structure.function_name,
        ),
        Rule("plain-function", "The function is neither async nor a generator.", structure.plain_function),
        Rule("named-parameters", "No `*args`, no `**kwargs`, nothing positional-only.", structure.named_parameters),
        Rule("takes-parameters", "The function takes at least one parameter.", structure.takes_parameters),
        Rule("typed", "Each parameter and the return of the public function is annotated.", annotated.typed),
        Rule("json-types", "Annotations are of kinds that JSON can carry.", annotated.json_types),
        Rule("docstring", "The public function has a docstring.", structure.docstring),
        Rule(
            "returns-value",
            "The function returns its result instead of printing it.",
            structure.returns_value,
        ),
        Rule(
            "allowed-imports",
            "Imports come from the computing part of the standard library, and from base and declared packages.",
            imports.allowed_imports,
        ),
        Rule("known-imports", "What is taken from a standard module exists there.", imports.known_imports),
        Rule(
            "declared-packages", "The PEP 723 header names only base and declared packages.", imports.declared_packages
        ),
        Rule("no-hosts", "The tool asks for no network host.", imports.no_hosts),
        Rule("undefined-name", "Each name is a builtin, imported, or bound in its scope.", names.undefined_name),
        Rule("forbidden-builtin", "No `eval`, `exec`, `compile` or `__import__`.", names.forbidden_builtin),
        Rule("no-input", "No `input()`.", names.no_input),
        Rule(
            "reads-only-with-grant",
            "`open()` only with the read capability, only to read.",
            names.reads_only_with_grant,
        ),
        Rule(
            "nothing-on-import",
            "The top level holds only imports, definitions, constants and the `__main__` guard.",
            effects.nothing_on_import,
        ),
        Rule(
            "only-computes",
            "No process, no exit, no change of a file or of the interpreter.",
            effects.only_computes,
        ),
        Rule(
            "endless-loop",
            "A `while True` holds a break, a return, a raise or a yield.",
            effects.endless_loop,
            "warning",
        ),
        Rule(
            "parameters-reach-result",
            "Every parameter can change what the function returns.",
            generality.parameters_reach_result,
        ),
        Rule(
            "question-literal",
            "No number, name or quoted text of the question stands in the code.",
            generality.no_question_literal,
        ),
        Rule(
            "common-question-literal",
            "A common number, or a word that is an outcome, is in the question and the code: perhaps by chance.",
            generality.no_common_question_literal,
            "warning",
        ),
    ),
)
"""Rules in the order in which they are applied. Each stage may rely on all earlier ones having passed."""

RULES: tuple[Rule, ...] = tuple(rule for stage in STAGES for rule in stage)


def check(
    source: str | bytes,
    *,
    capabilities: Capabilities = Capabilities(),  # noqa: B008 - frozen
    question: str | None = None,
    function: str | None = None,
) -> Report:
    """Applies every rule to a source, without running it.

    Args:
        source: The whole file.
        capabilities: What the tool may touch.
        question: The question the tool was written for, whose numbers and names must not stand in the code.
        function: The name that the public function must have.

    Returns:
        The findings in the order of lines. After a stage with errors later stages are not applied.
    """
    checked = Source(source, capabilities, question, function)
    findings: set[Finding] = set()
    for stage in STAGES:
        findings |= {
            Finding(remark.line, rule.id, remark.message, rule.severity)
            for rule in stage
            for remark in rule.find(checked)
        }
        if any(finding.severity == "error" for finding in findings):
            break
    return Report(tuple(sorted(findings)))
