"""Export tools as a skill: a folder with a `SKILL.md`, in the Agent Skills format."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from mcp_tools.exchange.members import Members
from mcp_tools.exchange.parcel import Parcel, json_of
from mcp_tools.exchange.server_file import header, standalone
from mcp_tools.text import one_line
from mcp_tools.tool import Json, signature_of

FILE = "SKILL.md"
NAME = re.compile(r"(?=.{1,64}\Z)[a-z0-9]+(?:-[a-z0-9]+)*")
"""Pattern for the name of a skill and its folder."""
_CALLER = "_call.py"
_MAX_DESCRIPTION_CHARS = 1024
_MAX_DETAILED_TOOLS = 30
"""Maximum number of tools that are described in detail. In a larger skill, each tool gets one line."""
_MAX_EXAMPLE_CHARS = 300


def files(parcels: Sequence[Parcel], target: str) -> Members:
    """Return the files of the skill: `SKILL.md`, the sources, a script that calls them, and the JSON files."""
    packages = dict.fromkeys(("pydantic>=2", *(name for one in parcels for name in one.packages)))
    caller = f'''{header(packages)}
"""Calls a tool of this skill: `_call.py NAME '{{"argument": 1}}'` prints its result as JSON."""

from __future__ import annotations

import os
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [one for one in sys.path if os.path.abspath(one) != here]  # a tool may be called like a module of Python

from pathlib import Path

{standalone("calling")}


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: _call.py NAME JSON")
    found = {{path.stem: path.read_text("utf-8") for path in Path(here).glob("[a-z]*.py")}}
    if sys.argv[1] not in found:
        sys.exit(f"There is no tool {{sys.argv[1]!r}}; there are: {{', '.join(sorted(found))}}")
    try:
        print(json.dumps(call(Sources(found).function(sys.argv[1]), json.loads(sys.argv[2])), ensure_ascii=False))
    except Exception as error:
        sys.exit(f"{{type(error).__name__}}: {{error}}")
'''
    return {
        FILE: _skill_page(parcels, target).encode(),
        f"scripts/{_CALLER}": caller.encode(),
        **{f"scripts/{one.name}.py": one.source for one in parcels},
        **{f"references/{one.name}.json": one.document for one in parcels},
    }


def _skill_page(parcels: Sequence[Parcel], name: str) -> str:
    purposes = "; ".join(f"{one.name}: {one_line(one.tool.summary, 160)}" for one in parcels)
    description = one_line(f"Computes with tested tools. Use it for these tasks. {purposes}", _MAX_DESCRIPTION_CHARS)
    if len(parcels) <= _MAX_DETAILED_TOOLS:
        sections = "\n\n".join(map(_section, parcels))
    else:
        sections = "\n".join(f"- `{one.name}`: {one_line(one.tool.summary, 160)}" for one in parcels)
    return f"""---
name: {name}
description: {json.dumps(description, ensure_ascii=False)}
compatibility: Requires Python 3.11 or newer; uv fetches the packages that tools import.
metadata:
  made-with: alita
---

# {name}

Each tool is one function. Call it with a JSON object of arguments; the result is printed as JSON:

    uv run scripts/{_CALLER} NAME '{{"argument": 1}}'

Without uv, `python3 scripts/{_CALLER}` does the same where the packages are installed. An error ends with
exit code 1 and says what was wrong. The schemas of arguments and result are in `references/NAME.json`.

The scripts run without a sandbox, with your permissions.

{sections}
"""


def _section(one: Parcel) -> str:
    lines = [f"## {one.name}", "", f"    {signature_of(one.tool)}", "", one.tool.description.strip()]
    about = json_of(one)
    properties = about["inputSchema"].get("properties")
    taken = properties.items() if isinstance(properties, dict) else ()
    lines += ["", *(f"- `{name}`: {_description(schema)}".rstrip(": ") for name, schema in taken)] if taken else []
    if returns := _description(about.get("outputSchema", {}).get("properties", {}).get("result")):
        lines += ["", f"Returns: {returns}"]
    if uses := one.freedoms:
        lines += ["", f"It {'; it '.join(uses)}."]
    tests = one.tool.provenance.get("tests")
    for test in tests if isinstance(tests, list) else ():
        if isinstance(test, dict) and "arguments" in test and not any(map(test.get, ("raises", "files", "part"))):
            given, wanted = (json.dumps(test.get(key), ensure_ascii=False) for key in ("arguments", "expected"))
            shown = f"{given}{wanted}"
            if len(shown) <= _MAX_EXAMPLE_CHARS and shown.isprintable() and "'" not in given:
                lines += ["", f"    uv run scripts/{_CALLER} {one.name} '{given}'", f"    {wanted}"]
                break
    return "\n".join(lines)


def _description(schema: Json) -> str:
    return one_line(str(schema.get("description", "")), 600) if isinstance(schema, dict) else ""
