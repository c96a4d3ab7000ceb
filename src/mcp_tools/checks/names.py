"""Rules about names: imports that the capabilities allow, exact hosts, and no undefined or forbidden names."""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Iterator

from mcp_tools.checks.source import CheckedSource, Remark
from mcp_tools.hosts import read_host, read_key_name
from mcp_tools.packages import BASE_PACKAGES, import_name, imports, unplaced
from mcp_tools.text import words

_NO_NETWORK = "tools have no network access; take the data as a parameter, or declare hosts and use urllib.request"
_FOR_HOSTS = frozenset({"urllib.request", "requests", "httpx"})
"""Modules that a tool with declared hosts may import."""
_REFUSED = {
    _NO_NETWORK: words(
        """
        socket ssl socketserver http.client http.server urllib.request ftplib smtplib imaplib poplib telnetlib nntplib
        xmlrpc webbrowser requests httpx aiohttp urllib3 selenium playwright
        """
    ),
    "tools cannot start processes; compute the result here, in threads if that helps": words(
        "subprocess multiprocessing pty"
    ),
    "tools cannot call native code directly": words("ctypes cffi"),
    "tools cannot load code; use json for data": words(
        "pickle marshal shelve dill importlib imp runpy code codeop builtins pkgutil zipimport"
    ),
    "tools have no terminal; take input as parameters and return the result": words(
        "getpass readline curses tkinter turtle cmd pdb termios tty"
    ),
}


def refusal(module: str) -> str:
    """Return the reason why a module may not be imported; empty if it may."""
    parts = module.split(".")
    names = {".".join(parts[: length + 1]) for length in range(len(parts))}
    return next((reason for reason, refused in _REFUSED.items() if names & refused), "")


def allowed_imports(source: CheckedSource) -> Iterator[Remark]:
    """Imports only the standard library, base packages, and declared packages and tools; no network or processes."""
    packages = {import_name(requirement) for requirement in (*BASE_PACKAGES, *source.capabilities.packages)}
    packages |= {*source.capabilities.tools} - {source.entry.name if source.entry else ""}
    reported: set[str] = set()
    known, fallbacks = {*sys.stdlib_module_names, *packages}, _with_fallback(source)
    for line, module, names in imports(source.tree):
        meant = [module, *(f"{module}.{name}" for name in names)]
        if source.capabilities.hosts:
            meant = [name for name in meant if not any(f"{name}.".startswith(f"{own}.") for own in _FOR_HOSTS)]
        refused = next(((name, why) for name in meant if (why := refusal(name))), None)
        top = module.partition(".")[0]
        if refused:
            yield Remark(line, f"{refused[0]!r} cannot be imported: {refused[1]}")
        elif not top:
            yield Remark(line, f"{module!r} cannot be imported: a tool is a single file; define what you need in it")
        elif not (top in known or top in reported or (line, top) in fallbacks):
            reported.add(top)
            others = ", ".join(sorted(packages))
            if not unplaced([top], source.capabilities.packages):
                yield Remark(
                    line,
                    f"{module!r} is not available: declare its package in three lines at the top, with its NAME on the "
                    'index: `# /// script`, `# dependencies = ["NAME"]`, `# ///`; otherwise import only the standard '
                    f"library, tools of the library, {others}",
                )


def _with_fallback(source: CheckedSource) -> set[tuple[int, str]]:
    """Return the line and the top-level module of each import inside a `try` that handles its failure."""
    return {
        (line, module.partition(".")[0])
        for attempt in source.all_of(ast.Try)
        if any(handler.type is None or "Error" in ast.unparse(handler.type) for handler in attempt.handlers)
        for statement in attempt.body
        for line, module, _ in imports(statement)
    }


def exact_hosts(source: CheckedSource) -> Iterator[Remark]:
    """Each declared host is one exact name, if necessary with a port or `http://`; keys require a host."""
    capabilities = source.capabilities
    for read, names in ((read_host, capabilities.hosts), (read_key_name, capabilities.keys)):
        for name in names:
            try:
                read(name)
            except ValueError as error:
                yield Remark(0, str(error))
    if capabilities.keys and not capabilities.hosts:
        yield Remark(0, "the code declares keys but no hosts; declare the hosts that need the keys")


_BUILTINS = frozenset(dir(builtins)) | {
    "__name__", "__file__", "__annotations__", "__builtins__", "__qualname__", "__module__",
}  # fmt: skip
_FORBIDDEN = {
    "eval": "it runs text as code; parse the text, or use ast.literal_eval",
    "exec": "it runs text as code; write the code itself",
    "compile": "it compiles text to code; write the code itself",
    "__import__": "use an `import` statement",
    "input": "it waits for a person; take the value as a parameter",
}


def undefined_name(source: CheckedSource) -> Iterator[Remark]:
    """Each name is a builtin, imported, or defined."""
    if "*" in source.origins:
        return  # `import *` may define anything
    undefined = source.free_names - _BUILTINS
    lines: dict[str, int] = {}
    for node in source.all_of(ast.Name):
        if node.id in undefined:
            lines[node.id] = min(node.lineno, lines.get(node.id, node.lineno))
    for name, line in lines.items():
        is_module = name in sys.stdlib_module_names and not refusal(name)
        remedy = f"add `import {name}`" if is_module else "import it or define it"
        yield Remark(line, f"name {name!r} is not defined; {remedy}")


def forbidden_builtin(source: CheckedSource) -> Iterator[Remark]:
    """Does not use `eval`, `exec`, `compile`, `__import__` or `input`."""
    for node in source.all_of(ast.Name):
        if node.id in _FORBIDDEN and node.id in source.free_names:
            yield Remark(node.lineno, f"{node.id!r} cannot be used: {_FORBIDDEN[node.id]}")
