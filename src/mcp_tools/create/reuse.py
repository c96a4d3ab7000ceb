"""Look first: a tool of the library that gives the same results as the proposed one."""

from __future__ import annotations

import json
from collections.abc import Sequence

from mcp_tools.create.bench import TrialCall, misfits
from mcp_tools.create.interfaces import Shelf
from mcp_tools.create.same_answer import agree
from mcp_tools.create.trial import Trial
from mcp_tools.library.approvals import SERVED
from mcp_tools.tool import Json, Tool

_NEIGHBOURS = 4


async def equivalent(
    trial: Trial, draft: Tool, varied: Sequence[dict[str, Json]], library: Shelf
) -> tuple[Tool | None, list[str]]:
    """A tool that takes the same arguments and gives the same results, also in its own tests; why others do not."""
    spec = trial.written.spec
    rejected = []
    for tool in await library.search(f"{spec.name.replace('_', ' ')} {spec.purpose}", _NEIGHBOURS):
        if tool.status not in SERVED:
            rejected.append(f"{tool.name}: {tool.status}")
            continue
        if unfit := misfits(tool, trial.arguments):
            rejected.append(f"{tool.name}: takes other arguments ({unfit[0]:.80})")
            continue
        tests = tool.provenance.get("tests") or []
        own = [test["arguments"] for test in tests if "arguments" in test and "files" not in test]
        if await _same(trial, tool, draft, [trial.arguments, *varied, *own]):
            return tool, rejected
        rejected.append(f"{tool.name}: gives other results")
    return None, rejected


async def _same(trial: Trial, tool: Tool, draft: Tool, sets: Sequence[dict[str, Json]]) -> bool:
    results = set()
    for arguments in sets:
        ours = await trial.bench.run(draft, TrialCall(arguments))
        if ours is None:
            return False
        theirs = await trial.bench.call_anew(tool, arguments)
        if ours.ok != theirs.ok or not (agree(ours.value, theirs.value) and agree(theirs.value, ours.value)):
            return False
        if ours.ok:
            results.add(json.dumps(ours.value, sort_keys=True))
    return len(results) > 1
