"""Resources and prompts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from desk import Desk, tool
from mcp.shared.exceptions import MCPError
from mcp_types import PromptReference, ResourceTemplateReference

pytestmark = pytest.mark.asyncio(loop_scope="module")


def made() -> Any:
    return tool(
        tests=[{"arguments": {"n": 2}, "expected": 4}],
        evidence={"support": 3, "voters": 3},
        model="some-model",
        asked="what is twice my salary",
    )


async def test_source_tests_and_evidence_of_a_tool_can_be_read(desk: Desk, era: str) -> None:
    desk.has(made())
    async with desk.client(era) as client:
        await client.call_tool("double", {"n": 1})
        listed = (await client.list_resources()).resources
        found = {str(one.uri): (await client.read_resource(str(one.uri))).contents[0] for one in listed}
    texts = {uri.rpartition("/")[2]: getattr(content, "text", "") for uri, content in found.items()}
    assert list(found) == [f"alita://tools/double/{kind}" for kind in ("source", "tests", "evidence")]
    assert texts["source"] == desk.library.get("double").source
    assert json.loads(texts["tests"]) == [{"arguments": {"n": 2}, "expected": 4}]
    evidence = json.loads(texts["evidence"])
    assert evidence["evidence"] == {"support": 3, "voters": 3}
    assert evidence["calls"]["successes"] == 1
    assert evidence["model"] == "some-model"
    assert "salary" not in texts["evidence"]


@pytest.mark.parametrize(
    "address",
    [
        "alita://tools/nothing/source",
        "alita://tools/hidden/source",
        "file:///etc/passwd",
        "alita://tools/double/source/../../../etc/passwd",
    ],
)
async def test_nothing_else_can_be_read(desk: Desk, mode: str, address: str) -> None:
    desk.has(tool(), tool("hidden"))
    desk.library.approvals.drop("hidden")
    async with desk.client(mode) as client:
        with pytest.raises(MCPError, match="no resource") as failure:
            await client.read_resource(address)
    assert failure.value.code in {-32002, -32602}


async def test_prompts_are_filled_in(desk: Desk, era: str) -> None:
    async with desk.client(era) as client:
        prompts = (await client.list_prompts()).prompts
        for prompt in prompts[:2]:
            (argument,) = prompt.arguments or []
            got = await client.get_prompt(prompt.name, {argument.name: "convert_miles {x} \x1b[2J"})
            text = got.messages[0].content
            assert "convert_miles {x}" in getattr(text, "text", "")
            assert "\x1b" not in getattr(text, "text", "")
    assert [prompt.name for prompt in prompts] == ["make_tool", "find_tool", "explain_tool"]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("nothing", {}), ("make_tool", {}), ("make_tool", {"task": "  "}), ("make_tool", {"task": "x" * 30_000})],
)
async def test_a_prompt_without_its_argument_is_refused(
    desk: Desk, mode: str, name: str, arguments: dict[str, str]
) -> None:
    async with desk.client(mode) as client:
        with pytest.raises(MCPError) as failure:
            await client.get_prompt(name, arguments)
    assert failure.value.code == -32602


async def test_a_tool_is_explained_from_its_own_documents(desk: Desk, mode: str) -> None:
    desk.has(made())
    async with desk.client(mode) as client:
        contents = [
            message.content for message in (await client.get_prompt("explain_tool", {"name": "double"})).messages
        ]
        with pytest.raises(MCPError, match="no tool other"):
            await client.get_prompt("explain_tool", {"name": "other"})
        with pytest.raises(MCPError, match="no resource"):
            await client.get_prompt("explain_tool", {"name": "../double"})
    *documents, words = contents
    assert [content.resource.uri.rpartition("/")[2] for content in documents] == ["source", "tests", "evidence"]
    assert documents[0].resource.text == made().source
    assert "the tool double" in words.text


PROMPT = PromptReference(type="ref/prompt", name="explain_tool")
ADDRESS = ResourceTemplateReference(type="ref/resource", uri="alita://tools/{name}/source")


async def test_names_of_tools_are_completed(desk: Desk, mode: str) -> None:
    """This holds for prompts and resources."""
    desk.has(tool("is_even"), tool("made_even"), tool("odd_one"), tool("even_more"))
    async with desk.client(mode) as client:
        for reference in (PROMPT, ADDRESS):
            found = (await client.complete(reference, {"name": "name", "value": "Even"})).completion
            assert (found.values, found.total, found.has_more) == (["even_more", "is_even", "made_even"], 3, False)
