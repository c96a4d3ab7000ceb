"""Rules on imports: only what the tool's capabilities allow, only what exists."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator

from mcp_tools.checks.source import Remark, Source
from mcp_tools.packages import BASE_PACKAGES, header_values, import_name, script_header
from mcp_tools.text import words

_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(.*)", re.DOTALL)

_REFUSED = {
    "a tool has no network; take the data as a parameter": words(
        """
        socket ssl socketserver http.client http.server urllib.request ftplib smtplib imaplib poplib telnetlib nntplib
        xmlrpc webbrowser requests httpx aiohttp urllib3 selenium playwright
        """
    ),
    "a tool starts no process; compute it here, in threads if that helps": words("subprocess multiprocessing pty"),
    "a tool calls no native code of its own": words("ctypes cffi"),
    "a tool does not load code; use json for data": words(
        "pickle marshal shelve dill importlib imp runpy code codeop builtins pkgutil zipimport"
    ),
    "a tool has no terminal; take input as parameters and return the result": words(
        "getpass readline curses tkinter turtle cmd pdb termios tty"
    ),
}


def refusal(module: str) -> str:
    """Why a module may not be imported; empty for one that may."""
    parts = module.split(".")
    names = {".".join(parts[: length + 1]) for length in range(len(parts))}
    return next((reason for reason, refused in _REFUSED.items() if names & refused), "")


def _imports(source: Source) -> Iterator[tuple[int, str, list[str]]]:
    """The line, the module, and what is taken from it."""
    for plain in source.all_of(ast.Import):
        yield from ((plain.lineno, alias.name, []) for alias in plain.names)
    for node in source.all_of(ast.ImportFrom):
        yield node.lineno, "." * node.level + (node.module or ""), [alias.name for alias in node.names]


def allowed_imports(source: Source) -> Iterator[Remark]:
    """Imports come from the standard library, the base and the declared packages; none is for network or processes."""
    packages = {import_name(requirement) for requirement in (*BASE_PACKAGES, *source.capabilities.packages)}
    for line, module, names in _imports(source):
        meant = [module, *(f"{module}.{name}" for name in names)]
        refused = next(((name, why) for name in meant if (why := refusal(name))), None)
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
        for statement in attempt.body
        for node in ast.walk(statement)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names])
    }


def _distribution(requirement: str) -> str:
    """The normalised name in a PEP 508 requirement; empty where there is none."""
    match = _REQUIREMENT.match(requirement)
    return re.sub(r"[-_.]+", "-", match[1]).lower() if match else ""


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
    declared = {_distribution(requirement) for requirement in (*BASE_PACKAGES, *source.capabilities.packages)}
    for requirement in wanted:
        if not isinstance(requirement, str) or not _distribution(requirement):
            yield Remark(line, f"{requirement!r} in the `# /// script` block is no requirement")
        elif "@" in requirement:
            yield Remark(line, f"{requirement!r} comes from an address; name a package of the index")
        elif _distribution(requirement) not in declared:
            yield Remark(line, f"the `# /// script` block asks for {requirement!r}, which is not declared; remove it")


def no_hosts(source: Source) -> Iterator[Remark]:
    """The tool asks for no host: no sandbox grants any yet."""
    if source.capabilities.hosts:
        hosts = ", ".join(source.capabilities.hosts)
        message = f"the tool wants to reach {hosts}, and no sandbox grants hosts yet; take the data as a parameter"
        yield Remark(0, message)


def _line(source: Source, offset: int) -> int:
    return source.text.count("\n", 0, offset) + 1
