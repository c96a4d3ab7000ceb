"""Tools: their specification, capabilities and stored form."""

from __future__ import annotations

import ast
import hashlib
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, Self

Json = Any
"""A JSON value: None, bool, int, float, str, list or dict with string keys."""


def object_schema(properties: dict[str, Json], required: Iterable[str] | None = None) -> dict[str, Json]:
    """Return the JSON Schema of an object with exactly these properties; all are required by default."""
    needed = list(properties if required is None else required)
    return {"type": "object", "properties": properties, "required": needed, "additionalProperties": False}


ALIASES = "aliases"
WRAPS = "wraps"
"""Key in a tool's record for the name and version of the package that it wraps."""


class Status(StrEnum):
    """Status of a created tool. `verified` means that its tests pass. Only verified tools are served."""

    DRAFT = "draft"
    VERIFIED = "verified"


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a tool may use. By default, it can only compute."""

    read: bool = False
    """True if the tool may open the input files of its call."""
    write: bool = False
    """True if the tool may create files for the user in its working folder."""
    hosts: tuple[str, ...] = ()
    """Hosts that the tool may send requests to: `api.example.com`, `api.example.com:8443`, `http://localhost:8000`."""
    packages: tuple[str, ...] = ()
    """Packages outside the standard library, as PEP 508 requirements."""
    tools: tuple[str, ...] = ()
    """Names of library tools that the tool imports. Their own imports need not be listed."""
    seconds: float | None = None
    """Time limit of a call, in seconds, if the default is too short."""
    memory_mb: int | None = None
    """Memory limit of a call, in MiB, if the default is too small."""
    keys: tuple[str, ...] = ()
    """Names of stored API keys that the tool's requests may use. Each key is sent only to its own host."""

    @classmethod
    def from_json(cls, declared: Json) -> Self:
        """Parse the capabilities in a tool's file. A capability that is missing is not granted.

        Raises:
            ValueError: A name is unknown, or a value has the wrong type.
        """
        if not isinstance(declared, dict):
            raise ValueError(f"capabilities must be an object, not {declared!r:.60}")
        known = [field.name for field in fields(cls)]
        for name, value in declared.items():
            if name not in known:
                raise ValueError(f"capabilities has no key {name!r:.60}; its keys are {', '.join(known)}")
            if not _fits_capability(name, value):
                raise ValueError(f"capabilities.{name} must be {_CAPABILITY_FORMS[name]}, not {value!r:.60}")
        given: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in declared.items()
        }
        return cls(**given)


_MAX_SECONDS = 3600
_MAX_MEMORY_MB = 65_536
_CAPABILITY_FORMS = {
    "read": "true or false",
    "write": "true or false",
    "hosts": "a list of strings",
    "packages": "a list of strings",
    "tools": "a list of strings",
    "seconds": f"a number above 0 and up to {_MAX_SECONDS}, or null",
    "memory_mb": f"a whole number from 1 to {_MAX_MEMORY_MB}, or null",
    "keys": "a list of strings",
}


def _fits_capability(name: str, value: Json) -> bool:
    if name in {"read", "write"}:
        return isinstance(value, bool)
    if name in {"hosts", "packages", "tools", "keys"}:
        return isinstance(value, list | tuple) and all(isinstance(part, str) for part in value)
    if value is None:
        return True
    if isinstance(value, bool):
        return False
    if name == "seconds":
        return isinstance(value, int | float) and 0 < value <= _MAX_SECONDS
    return isinstance(value, int) and 1 <= value <= _MAX_MEMORY_MB


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a tool's spec."""

    name: str
    type: str
    """A Python annotation for JSON values: `int`, `list[str]`, `dict[str, float]` …"""
    description: str = ""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """The specification of a tool, written before its code."""

    name: str
    purpose: str
    parameters: tuple[Parameter, ...]
    returns: str
    """The Python annotation of the result, which is a JSON value."""
    capabilities: Capabilities = field(default_factory=Capabilities)

    @property
    def signature(self) -> str:
        """The function's first line without `def`: `name(a: int, b: str) -> float`."""
        parameters = ", ".join(f"{p.name}: {p.type}" for p in self.parameters)
        return f"{self.name}({parameters}) -> {self.returns}"


_AFTER_SUMMARY = re.compile(r"\n\s*\n|^\s*[A-Z][a-z]*( [A-Z][a-z]*)?:\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Tool:
    """A created tool: its MCP tool object, source and provenance."""

    name: str
    description: str
    input_schema: dict[str, Json]
    """JSON Schema 2020-12 of the arguments, derived from the signature."""
    output_schema: dict[str, Json]
    """JSON Schema 2020-12 of `{"result": value}`, because MCP requires an object."""
    source: str
    """Text of the whole source file: one public function called `name`, and a runner."""
    annotations: dict[str, Json] = field(default_factory=dict)
    """MCP hints: title, readOnlyHint, idempotentHint, openWorldHint."""
    status: Status = Status.DRAFT
    provenance: dict[str, Json] = field(default_factory=dict)
    """The tool's record, stored in `_meta`: spec, tests, model, prompt hash, run, parent version, creation time."""

    @property
    def source_hash(self) -> str:
        """SHA-256 of the source, in hexadecimal. Interned, because a large library has many equal hashes."""
        return sys.intern(hashlib.sha256(self.source.encode()).hexdigest())

    @property
    def summary(self) -> str:
        """The first paragraph of the description on one line, without a section such as `Raises:`."""
        return " ".join(_AFTER_SUMMARY.split(self.description.strip(), maxsplit=1)[0].split())

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities in the tool's provenance."""
        return Capabilities.from_json(self.provenance.get("capabilities", {}))

    @property
    def aliases(self) -> list[str]:
        """Names of equivalent tools that were merged into this one."""
        kept = self.provenance.get(ALIASES)
        return [name for name in kept if isinstance(name, str)] if isinstance(kept, list) else []


@dataclass(frozen=True, slots=True)
class CallCount:
    """How often a program or tool called an imported tool."""

    name: str
    calls: int
    failed: int = 0


def signature_of(tool: Tool) -> str:
    """Return the first line of the tool's function, without `def`."""
    for node in ast.parse(tool.source).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == tool.name:
            returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
            return f"{tool.name}({ast.unparse(node.args)}){returns}"
    return tool.name


def call_text(name: str, arguments: dict[str, Json], *, longest: int | None = None) -> str:
    """Return a call as Python code, `name(a=1, b='x')`. Each argument is truncated to `longest` characters."""
    shown = ((key, repr(value)) for key, value in arguments.items())
    return f"{name}({', '.join(f'{key}={text if longest is None else _cut(text, longest)}' for key, text in shown)})"


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]}…"
