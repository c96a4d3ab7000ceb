"""The examples in prompts are answers as they are asked for: in the schema that is sent with them, or as code."""

from __future__ import annotations

import ast
import json
import textwrap
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import agent
import agent.small
import mcp_tools.create
from agent.consent import permission
from agent.small import evidence, restate
from agent.small.choice import NEEDS, choice_schema
from agent.small.keeping import description_schema
from agent.small.program import code_in
from mcp_tools.prompt import load_prompt

SCHEMAS: dict[str, Any] = {
    "choice": choice_schema([*NEEDS, "use convert_temperature", "read programme.txt"]),
    "extract": evidence._ANSWER_FORM,
    "restate": restate._SCHEMA,
    "describe": description_schema(["summary", "km", "speed", "departure", "returns"]),
    "states": evidence._VERDICT_FORM,
    "wanted": permission._FORM,
}
"""What the caller of each prompt sends with it."""
CODE = {"program", "program_over_files", "program_over_texts"}
"""Prompts whose examples are programs."""

PROMPTS = {
    path.stem: load_prompt(package.__name__, path.stem)
    for package in (agent, agent.small, mcp_tools.create)
    for path in (Path(str(package.__file__)).parent / "prompts").glob("*.md")
}
EXAMPLES = {name: [text for role, text in p.turns if role == "assistant"] for name, p in PROMPTS.items()}


def test_every_prompt_with_examples_is_looked_at_here() -> None:
    assert {name for name, examples in EXAMPLES.items() if examples} == SCHEMAS.keys() | CODE


@pytest.mark.parametrize("name", SCHEMAS)
def test_examples_fit_what_is_asked(name: str) -> None:
    for example in EXAMPLES[name]:
        jsonschema.validate(json.loads(example), SCHEMAS[name])


@pytest.mark.parametrize("name", sorted(CODE))
def test_examples_are_code(name: str) -> None:
    *whole, last = EXAMPLES[name]
    for example in whole:
        ast.parse(textwrap.dedent(code_in(example)))
    assert last.startswith("```python")
