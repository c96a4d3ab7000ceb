"""The examples in prompts are answers as they are asked for: in the schema that is sent with them, or as code."""

from __future__ import annotations

import ast
import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import agent
import agent.small
import mcp_tools.create
from agent.consent import permission
from agent.models.failures import Retry
from agent.models.ladder import TraitsCache
from agent.models.protocol import Request
from agent.small import evidence, restate
from agent.small.choice import NEEDS, choice_schema
from agent.small.keeping import description_schema
from agent.small.program import code_in
from mcp_tools.prompt import data_block, load_prompt
from support.hosted import hosted
from support.openai_server import OpenAIServer, Step

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


@pytest.mark.parametrize("rung", ["json_schema", "text"])
@pytest.mark.parametrize("name", SCHEMAS)
async def test_examples_are_sent_in_the_form_that_is_sent(
    openai_server: OpenAIServer, tmp_path: Path, name: str, rung: str
) -> None:
    """The form depends on what an endpoint can: what is no object stands in one where a schema is sent apart."""
    refused = ["json_schema", "text"]
    openai_server.refused += refused[: refused.index(rung)]
    openai_server.default = lambda body: Step(text=EXAMPLES[name][-1])
    model = hosted("m", base_url=openai_server.url, retry=Retry(base=0.01), traits=TraitsCache(tmp_path / "t"))
    prompt = PROMPTS[name]
    messages = prompt.render(
        **{name: data_block("-", "-") if name in prompt.data else "-" for name in prompt.placeholders}
    )
    schema = SCHEMAS[name]
    await model.complete(Request(messages, schema=schema))
    await model.aclose()
    body = openai_server.requests[-1]
    wanted = FORMS[rung](body, schema)
    examples = [message["content"] for message in body["messages"] if message["role"] == "assistant"]
    assert len(examples) >= len(EXAMPLES[name])
    for example in examples:
        jsonschema.validate(json.loads(example), wanted)


FORMS: dict[str, Callable[[dict[str, Any], Any], Any]] = {
    "json_schema": lambda body, _: body["response_format"]["json_schema"]["schema"],
    "text": lambda _, schema: schema,
}
