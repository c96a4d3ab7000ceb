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
from mcp_tools.packages import BASE_PACKAGES, import_name
from mcp_tools.tool import Capabilities

_HEADER = re.compile(r"(?m)^# /// script[ \t]*\n(?P<body>(?:^#(?:| .*)\n)*?)^# ///[ \t]*$")
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
    """Imports come from the computing part of the standard library and from base and declared packages."""
    packages = _importable(source.capabilities)
    for line, module, names in _imports(source):
        if "*" in names:
            yield Remark(line, f"`from {module} import *` hides what is used; name each thing")
        for meant in _meant(module, names):
            if not _is_allowed(meant, source.capabilities, packages):
                yield Remark(line, f"{meant!r} may not be imported: {_why_not(meant)}")


def _meant(module: str, names: tuple[str, ...]) -> Iterator[str]:
    """The modules that one import may mean: `from urllib import parse` means urllib.parse."""
    if module == "urllib" and names:
        yield from (f"{module}.{name}" for name in names)
    else:
        yield module


def _is_allowed(module: str, capabilities: Capabilities, packages: set[str]) -> bool:
    if module in modules.COMPUTING or module.partition(".")[0] in packages:
        return True
    return capabilities.read and module in modules.READING


def _why_not(module: str) -> str:
    top = module.partition(".")[0]
    known = {module, top}
    if module.startswith("."):
        return "the file stands alone; define what you need in it"
    if known & modules.READING:
        return "it works on files, and the tool has no read capability; take the content as a parameter"
    if known & modules.NETWORK:
        return "a tool has no network; take the data as a parameter"
    if known & modules.PROCESSES:
        return "a tool is one process and one thread; compute it directly"
    if known & modules.CODE:
        return "a tool does not load or inspect code; use json for data"
    if known & modules.TERMINAL:
        return "a tool has no terminal; take input as parameters and return the result"
    if top in sys.stdlib_module_names:
        return "it is not in the computing part of the standard library; use math, re, itertools, datetime …"
    return "it is no declared package and not in the standard library; write it with the standard library"


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
    if module not in modules.COMPUTING or module not in modules.PURE_ON_IMPORT | {
        "random",
        "heapq",
        "copy",
        "unicodedata",
    }:
        return None
    return importlib.import_module(module)


def _has(module: ModuleType | None, name: str) -> bool:
    return (
        hasattr(module, name)
        or f"{module.__name__ if module else ''}.{name}" in sys.stdlib_module_names | modules.COMPUTING
    )


def _nearest(module: str, name: str) -> str:
    home = modules.MODULE_OF.get(name)
    return f"it is in {home!r}" if home and home != module else "define it yourself"


def declared_packages(source: Source) -> Iterator[Remark]:
    """The PEP 723 header names only base packages and those that the capabilities declare."""
    headers = list(_HEADER.finditer(source.text))
    if len(headers) > 1:
        yield Remark(_line(source, headers[1].start()), "a second `# /// script` block; keep one")
    if not headers:
        return
    line = _line(source, headers[0].start())
    text = "".join(part[2:] if part.startswith("# ") else part[1:] for part in headers[0]["body"].splitlines(True))
    try:
        wanted = tomllib.loads(text).get("dependencies", [])
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
