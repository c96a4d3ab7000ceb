"""The tools that the MCP conformance suite calls by name. They lie in a real library and run in the real sandbox.

`serve_conformance.py` serves them from a folder that is gone afterwards. What the suite asks for and no
tool in a sandbox can do has no fixture: the baselines in tests/judges say why.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mcp_tools.library.library import Library
from mcp_tools.tool import Json, Status, Tool

_TRIGGER = "test_trigger_tool_change"
_TRIGGERED = "test_triggered"

_TEXT: dict[str, Json] = {"type": "string"}

_PERSON: dict[str, Json] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": _TEXT, "city": _TEXT},
        }
    },
    "properties": {
        "name": _TEXT,
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": _TEXT,
        "email": _TEXT,
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
_REGION: dict[str, Json] = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    "required": ["region"],
    "additionalProperties": False,
}
_NOTHING: dict[str, Json] = {"type": "object", "properties": {}, "additionalProperties": False}


def _fixture(
    name: str,
    description: str,
    body: str,
    *,
    parameters: str = "",
    takes: dict[str, Json] = _NOTHING,
    gives: dict[str, Json] = _TEXT,
) -> Tool:
    source = f'def {name}({parameters}) -> object:\n    """{description}"""\n    {body}\n'
    result = {"type": "object", "properties": {"result": gives}, "required": ["result"]}
    return Tool(name, description, takes, result, source, status=Status.VERIFIED)


FIXTURES: tuple[Tool, ...] = (
    _fixture("test_simple_text", "Gives a text.", 'return "This is a simple text response for testing."'),
    _fixture(
        "test_error_handling", "Fails.", 'raise RuntimeError("This tool intentionally returns an error for testing")'
    ),
    _fixture(
        "test_tool_with_progress", "Takes a while.", 'import time\n\n    time.sleep(3.5)\n    return "It took a while."'
    ),
    _fixture("test_logging_tool", "Prints a line.", 'print("a line")\n    return "A line was printed."'),
    _fixture(
        "json_schema_2020_12_tool",
        "Takes arguments of a schema with much of JSON Schema 2020-12.",
        "return str(sorted(given))",
        parameters="**given: object",
        takes=_PERSON,
    ),
    _fixture(
        "test_custom_header",
        "Takes an argument that a header of the request repeats.",
        "return region",
        parameters="region: str",
        takes=_REGION,
    ),
    _fixture(_TRIGGER, "After each call of it the library has one tool more, or one less.", 'return "Look again."'),
)


class ConformanceLibrary(Library):
    """The library of the fixtures: it changes when one of them was called."""

    def record_call(self, name: str, ok: bool, kind: str | None = None, **more: Any) -> None:
        """Counts one call, and changes the library after the call that asks for it."""
        super().record_call(name, ok, kind, **more)
        if name == _TRIGGER and ok:
            self._change()

    def _change(self) -> None:
        if self.path(_TRIGGERED).exists():
            self.delete(_TRIGGERED)
        else:
            self.register(_fixture(_TRIGGERED, "Is there, or is not.", 'return "It is there."'))


@contextlib.contextmanager
def conformance_library(folder: Path) -> Iterator[Library]:
    """The fixtures in a library in this folder."""
    library = ConformanceLibrary(folder / "tools", folder / "data")
    try:
        for tool in FIXTURES:
            library.register(tool)
        yield library
    finally:
        library.close()
