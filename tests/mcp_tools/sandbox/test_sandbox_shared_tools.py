"""Definitions contain everything that the docstrings and annotations of well-written tools say."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from mcp_tools.checks.check import check
from mcp_tools.sandbox.protocol import Description, Job
from mcp_tools.sandbox.warm import WarmSandbox

pytestmark = pytest.mark.asyncio(loop_scope="module")

_TEXT = Path(__file__).with_name("shared_tools.md").read_text()
_CASE = re.compile(r"^## ([^\n]+)\n\n```python\n(.*?)^```\n\n```json\n(.*?)^```", re.M | re.S)
CASES: dict[str, tuple[str, dict[str, Any]]] = {m[1]: (m[2], json.loads(m[3])) for m in _CASE.finditer(_TEXT)}


@pytest.mark.parametrize(("source", "case"), CASES.values(), ids=CASES.keys())
async def test_a_shared_tool_is_described_and_works(sandbox: WarmSandbox, source: str, case: dict[str, Any]) -> None:
    assert check(source).findings == ()
    name = re.findall(r"^def (\w+)", source, re.M)[-1]
    described = await sandbox.describe(source, name)
    assert isinstance(described, Description), described
    outcome = await sandbox.run(Job(source, name, case["call"]))
    assert outcome.value == case["result"], (outcome.value, outcome.problem)
    jsonschema.validate(case["call"], described.input_schema)
    jsonschema.validate({"result": outcome.value}, described.output_schema)
    told = {
        "description": described.description,
        "parameters": described.input_schema["properties"],
        "required": described.input_schema["required"],
        "result": described.output_schema["properties"]["result"],
    }
    assert told == case.get("told"), json.dumps(told, ensure_ascii=False)
