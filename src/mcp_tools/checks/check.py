"""The checks: every rule in one table, applied in stages."""

from __future__ import annotations

import builtins
import difflib
import sys
from collections.abc import Iterator

from mcp_tools.checks import annotated, effects, imports, modules, structure
from mcp_tools.checks.findings import Finding, Report
from mcp_tools.checks.rule import Remark, Rule
from mcp_tools.checks.scopes import FreeName
from mcp_tools.checks.source import Source
from mcp_tools.packages import BASE_PACKAGES, import_name
from mcp_tools.tool import Capabilities

_BUILTINS = frozenset(dir(builtins)) | {
    "__name__",
    "__file__",
    "__class__",
    "__annotations__",
    "__builtins__",
}
_FORBIDDEN = {
    "eval": "it runs text as code; parse the text, or use ast.literal_eval",
    "exec": "it runs text as code; write the code itself",
    "compile": "it makes code from text; write the code itself",
    "__import__": "use an `import` line",
    "__builtins__": "use the builtin itself",
    "__loader__": "use an `import` line",
    "__spec__": "use an `import` line",
    "input": "it waits for a person; make what it asks for a parameter",
    "breakpoint": "remove it",
    "help": "remove it",
    "exit": "a tool returns; raise ValueError for bad input",
    "quit": "a tool returns; raise ValueError for bad input",
}


def undefined_name(source: Source) -> Iterator[Remark]:
    """Each name is a builtin, imported, or bound somewhere in its scope."""
    if source.has_star_import:
        return  # it may bind anything; `allowed-imports` speaks of it
    seen: set[str] = set()
    for free in source.free_names:
        if free.name not in _BUILTINS and free.name not in seen:
            seen.add(free.name)
            yield Remark(free.node.lineno, f"name {free.name!r} is not defined; {_remedy(free)}")


def _remedy(free: FreeName) -> str:
    name = free.name
    if name in modules.MODULE_OF:
        return f"add `from {modules.MODULE_OF[name]} import {name}`"
    if name in sys.stdlib_module_names and not modules.refusal(name):
        return f"add `import {name}`"
    if name in modules.USUAL_ALIASES:
        module = modules.USUAL_ALIASES[name]
        if module in sys.stdlib_module_names or module in map(import_name, BASE_PACKAGES):
            return f"add `import {module} as {name}`"
        return f"{module} is not available; a tool may import {', '.join(map(import_name, BASE_PACKAGES))}"
    near = difflib.get_close_matches(name, [*free.visible, *dir(builtins)], n=1, cutoff=0.75)
    return f"did you mean {near[0]!r}? Else import it or define it" if near else "import it or define it"


def forbidden_builtin(source: Source) -> Iterator[Remark]:
    """No eval, exec, compile, __import__, input: a tool makes no code and asks nobody."""
    for free in source.free_names:
        if free.name in _FORBIDDEN and free.node not in source.guard:
            yield Remark(free.node.lineno, f"{free.name!r} may not be used: {_FORBIDDEN[free.name]}")


STAGES: tuple[tuple[Rule, ...], ...] = (
    (
        Rule("size", "The source has at most 64 kB.", structure.size),
        Rule(
            "encoding",
            "The source is UTF-8 without a byte-order mark or another declared encoding.",
            structure.encoding,
        ),
    ),
    (
        Rule(
            "hidden-characters",
            "No null, control, bidirectional, zero-width or tag character.",
            structure.hidden_characters,
        ),
    ),
    (Rule("parses", "Python can parse and compile it.", structure.parses),),
    (Rule("nesting", "The syntax tree is at most 150 levels deep.", structure.nesting),),
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
        Rule("undefined-name", "Each name is a builtin, imported, or bound in its scope.", undefined_name),
        Rule("forbidden-builtin", "No `eval`, `exec`, `compile`, `__import__` or `input`.", forbidden_builtin),
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
