"""Good proposals from many fields become tools; for bad ones the author learns what to fix."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from creating import LibraryStore, Memory

from mcp_tools.checks.header import with_header
from mcp_tools.create.examiner import ModelExaminer
from mcp_tools.create.interfaces import Creation, Proposal
from mcp_tools.create.prove import prove
from mcp_tools.sandbox.protocol import Sandbox
from mcp_tools.tool import Capabilities, Json

pytestmark = pytest.mark.asyncio(loop_scope="module")
_CASE = re.compile(
    r"^## (?P<title>[^\n]+)\n\n(?:reason: (?P<reason>[^\n]+)\n\n)?"
    r"```python\n(?P<source>.*?)^```\n\n```json\n(?P<asked>.*?)^```",
    re.M | re.S,
)


def cases(name: str) -> dict[str, re.Match[str]]:
    """Return the cases in a file by title."""
    text = Path(__file__).with_name(name).read_text()
    found = {match["title"]: match for match in _CASE.finditer(text)}
    assert len(found) == len(re.findall(r"^## ", text, re.M)) >= 12
    return found


SOUND = cases("sound_proposals.md")
UNSOUND = cases("unsound_proposals.md")


async def proved(case: re.Match[str], sandbox: Sandbox, store: LibraryStore) -> Creation:
    """Prove a proposal with the case's tests and rulings."""
    asked = json.loads(case["asked"])
    tests = [{"call": call, "because": "?", "result": result} for call, result in asked.get("tests", [])]
    rulings = [{"because": "?", "result": result} for result in asked.get("again", [])]
    replies: list[Any] = [{"tests": tests}] if tests else []
    replies += [{"results": rulings}] if rulings else []

    async def fill(messages: Sequence[dict[str, Any]], schema: dict[str, Json]) -> Json:
        assert replies, f"nobody expected to be asked: {messages[-1]['content']}"
        return replies.pop(0)

    proposal = Proposal(asked["question"], case["source"], asked["arguments"])
    examiner = ModelExaminer(fill, "examiner-1")
    creation = await prove(proposal, examiner=examiner, sandbox=sandbox, library=store, notify=Memory())
    assert creation.answered, creation.reason
    return creation


@pytest.mark.parametrize("case", SOUND.values(), ids=SOUND.keys())
async def test_a_sound_proposal_is_kept(case: re.Match[str], sandbox: Sandbox, store: LibraryStore) -> None:
    creation = await proved(case, sandbox, store)
    assert creation.tool is not None, creation.reason
    assert creation.tool.source == with_header(case["source"], Capabilities())


@pytest.mark.parametrize("case", UNSOUND.values(), ids=UNSOUND.keys())
async def test_an_unsound_proposal_says_what_to_mend(
    case: re.Match[str], sandbox: Sandbox, store: LibraryStore
) -> None:
    creation = await proved(case, sandbox, store)
    assert (creation.tool, creation.choice) == (None, "not_kept")
    assert case["reason"] in creation.reason
    assert creation.reason.count("\n") < 4, "one thing to mend, not many"
    assert store.library.list() == []
