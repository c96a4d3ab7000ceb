"""Rules on imports: only what the tool's capabilities allow, only what exists."""

from __future__ import annotations

import ast
import importlib
import re
import sys
import tomllib
from collections.abc import Iterator
from types import ModuleType
from typing import NamedTuple

from mcp_tools.checks import modules
from mcp_tools.checks.rule import Remark
from mcp_tools.checks.source import Source
from mcp_tools.checks.syntax import walk
from mcp_tools.packages import BASE_PACKAGES, header_values, import_name, script_header
from mcp_tools.tool import Capabilities

_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(.*)", re.DOTALL)


class _Import(NamedTuple):
    line: int
    module: str
    names: tuple[str, ...]
    """What is taken from the module; empty for `import module`."""


def _imports(source: Source) -> Iterator[_Import]:
    for plain in source.all_of(ast.Import):
        yield from (_Import(plain.lineno, alias.name, ()) for alias in plain.names)
    for node in source.all_of(ast.ImportFrom):
        module = "." * node.level + (node.module or "")
        yield _Import(node.lineno, module, tuple(alias.name for alias in node.names))


def allowed_imports(source: Source) -> Iterator[Remark]:
    """Imports come from the standard library, the base and the declared packages; none is for network or processes."""
    packages = _importable(source.capabilities)
    for line, module, names in _imports(source):
        meant = [module, *(f"{module}.{name}" for name in names)]
        refused = next(((name, why) for name in meant if (why := modules.refusal(name))), None)
        top = module.partition(".")[0]
        if refused:
            yield Remark(line, f"{refused[0]!r} may not be imported: {refused[1]}")
        elif not top:
            yield Remark(line, f"{module!r} may not be imported: the file stands alone; define what you need in it")
        elif top not in sys.stdlib_module_names and top not in packages and (line, top) not in _with_fallback(source):
            others = ", ".join(sorted(packages))
            yield Remark(line, f"{module!r} is not available; a tool may import the standard library, {others}")


def _with_fallback(source: Source) -> set[tuple[int, str]]:
    """The line and top module of imports whose failing the source provides for."""
    return {
        (node.lineno, name.partition(".")[0])
        for attempt in source.all_of(ast.Try)
        if any(handler.type is None or "Error" in ast.unparse(handler.type) for handler in attempt.handlers)
        for node in walk(*attempt.body)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names])
    }


def _importable(capabilities: Capabilities) -> set[str]:
    return {import_name(requirement) for requirement in (*BASE_PACKAGES, *capabilities.packages)}


def _distribution(requirement: str) -> str:
    """The normalised name in a PEP 508 requirement; empty where there is none."""
    match = _REQUIREMENT.match(requirement)
    return re.sub(r"[-_.]+", "-", match[1]).lower() if match else ""


def known_imports(source: Source) -> Iterator[Remark]:
    """What is taken from a module of the standard library exists there."""
    for line, module, names in _imports(source):
        loaded = _loaded(module)
        for name in names if loaded else ():
            if name != "*" and not _has(loaded, name):
                yield Remark(line, f"{module!r} has no {name!r}; {_nearest(module, name)}")
    aliases = _module_aliases(source)
    for node in source.all_of(ast.Attribute):
        match node:
            case ast.Attribute(value=ast.Name(id=alias), attr=name) if alias in aliases:
                loaded = _loaded(aliases[alias])
                if loaded and not _has(loaded, name):
                    yield Remark(node.lineno, f"{aliases[alias]!r} has no {name!r}; {_nearest(aliases[alias], name)}")


def _module_aliases(source: Source) -> dict[str, str]:
    """The names that stand for a module throughout: imported so, and never bound to anything else."""
    found: dict[str, str] = {}
    for plain in source.all_of(ast.Import):
        for alias in plain.names:
            top = alias.name.partition(".")[0]
            found[alias.asname or top] = alias.name if alias.asname else top
    bound = {node.id for node in source.all_of(ast.Name) if not isinstance(node.ctx, ast.Load)}
    bound |= {node.arg for node in source.all_of(ast.arg)}
    bound |= {alias.asname or alias.name for node in source.all_of(ast.ImportFrom) for alias in node.names}
    return {alias: module for alias, module in found.items() if alias not in bound}


def _loaded(module: str) -> ModuleType | None:
    """The module itself, if it is one that computes: importing it does nothing else."""
    return importlib.import_module(module) if module in modules.KNOWN else None


def _has(module: ModuleType | None, name: str) -> bool:
    return hasattr(module, name) or f"{module.__name__ if module else ''}.{name}" in modules.KNOWN


def _nearest(module: str, name: str) -> str:
    home = modules.MODULE_OF.get(name)
    return f"it is in {home!r}" if home and home != module else "define it yourself"


def declared_packages(source: Source) -> Iterator[Remark]:
    """The PEP 723 header names only base packages and those that the capabilities declare."""
    header = script_header(source.text)
    if header is None:
        return
    if script_header(source.text[header.end() :]):
        yield Remark(_line(source, header.end()), "there is a second `# /// script` block; keep one")
    line = _line(source, header.start())
    try:
        wanted = header_values(header).get("dependencies", [])
    except tomllib.TOMLDecodeError as error:
        yield Remark(line, f"the `# /// script` block is not TOML: {error}")
        return
    if not isinstance(wanted, list):
        yield Remark(line, "`dependencies` of the `# /// script` block is no list")
        return
    yield from (Remark(line, message) for message in _undeclared(wanted, source.capabilities))


def _undeclared(wanted: list[object], capabilities: Capabilities) -> Iterator[str]:
    declared = {_distribution(requirement) for requirement in (*BASE_PACKAGES, *capabilities.packages)}
    for requirement in wanted:
        if not isinstance(requirement, str) or not _distribution(requirement):
            yield f"{requirement!r} in the `# /// script` block is no requirement"
        elif "@" in requirement:
            yield f"{requirement!r} comes from an address; name a package of the index"
        elif _distribution(requirement) not in declared:
            yield f"the `# /// script` block asks for {requirement!r}, which is not declared; remove it"


def no_hosts(source: Source) -> Iterator[Remark]:
    """The tool asks for no host: no sandbox grants any yet."""
    if source.capabilities.hosts:
        hosts = ", ".join(source.capabilities.hosts)
        yield Remark(
            0,
            f"the tool wants to reach {hosts}, and no sandbox grants hosts yet; take the data as a parameter",
        )


def _line(source: Source, offset: int) -> int:
    return source.text.count("\n", 0, offset) + 1
