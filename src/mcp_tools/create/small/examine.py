"""Tests from the spec alone, by an examiner who never sees code."""

from __future__ import annotations

from typing import Any

from mcp_tools.create.protocol import Test, Writer
from mcp_tools.create.small.spec import LONGEST_SHOWN, Wanted
from mcp_tools.create.small.spec_values import type_schema
from mcp_tools.prompt import load_prompt
from mcp_tools.tool import call_text


def examples_schema(wanted: Wanted) -> dict[str, Any]:
    """What the examiner fills in: a few calls with their results, typed as the spec says."""
    arguments = {p.name: type_schema(p.type) for p in wanted.spec.parameters}
    return {
        "type": "array",
        "minItems": 2,
        "maxItems": 2,
        "items": {
            "type": "object",
            "properties": {
                "arguments": {
                    "type": "object",
                    "properties": arguments,
                    "required": list(arguments),
                    "additionalProperties": False,
                },
                "expected": type_schema(wanted.spec.returns),
            },
            "required": ["arguments", "expected"],
            "additionalProperties": False,
        },
    }


async def write_tests(wanted: Wanted, writer: Writer) -> list[Test]:
    """Examples with expected results, none of them the question's own call."""
    spec = wanted.spec
    messages = load_prompt("mcp_tools.create.small", "examine").render(
        purpose=spec.purpose,
        signature=spec.signature,
        call=call_text(spec.name, wanted.arguments, longest=LONGEST_SHOWN),
    )
    forms = await writer.fill(messages, examples_schema(wanted), part="examiner")
    tests = [Test(form["arguments"], form["expected"], "examiner") for form in forms]
    return [test for test in tests if test.arguments != wanted.arguments]
