"""Compares a draft with similar tools of the library, one of which it may repeat or improve.

The draft runs the other tool's tests, and both run each other's calls.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, permutations
from typing import Literal

from mcp_tools.checks.header import with_header
from mcp_tools.create.examiner import failure_text, passes
from mcp_tools.create.interfaces import Test, ToolStore, TrialCall, Wrapping
from mcp_tools.create.proposal_runner import ProposalRunner, is_unrecorded, misfits
from mcp_tools.create.same_answer import agree
from mcp_tools.create.trial import Draft
from mcp_tools.errors import LibraryError, UnknownToolError
from mcp_tools.hosts import EXCHANGES, recorded
from mcp_tools.library.dependencies import Needs, needs_of
from mcp_tools.tool import WRAPS, Json, Status, Tool

_MAX_SIMILAR = 6
_SMALL_LIBRARY = 8
"""Maximum number of tools in a library for which the draft is compared with all of them."""
_MAX_RENAMINGS = 6
"""Maximum number of ways to match parameters with different names."""
_MAX_REASON_CHARS = 300

Relation = Literal["same", "wider", "other"]
"""`same`: the draft gives the same results as a tool. `wider`: it also accepts more arguments. `other`: they differ."""


@dataclass(frozen=True, slots=True)
class SimilarTools:
    """The result of comparing a draft with the library."""

    same: Tool | None = None
    """An equivalent tool, which is used instead of the draft."""
    older: Tool | None = None
    """The tool that the draft replaces, because it passes the tool's tests."""
    tests: list[Test] = field(default_factory=list)
    """The tests of the tool to replace."""
    rejected: list[str] = field(default_factory=list)
    """All other tools that were compared, each with its name and the reason."""
    apart: str = ""
    """The reason why the tool of the same name is not replaced."""


async def compare_with_library(
    draft: Draft, varied: Sequence[TrialCall], runner: ProposalRunner, library: ToolStore
) -> SimilarTools:
    """Compare a draft with the tool of the same name, and with the most similar tools.

    Args:
        draft: The draft.
        varied: Calls derived from the question's own, for comparing results.
        runner: Runs the calls of the draft and of the other tools.
        library: Finds the tools.
    """
    name, purpose = draft.function.spec.name, draft.function.spec.purpose
    offer = await library.offered(f"{name.replace('_', ' ')} {purpose}", most=_MAX_SIMILAR, small=_SMALL_LIBRARY)
    near = {tool.name: tool for tool in (*offer.fitting, *offer.others)}
    try:
        named = await library.get(name)
        near = {named.name: named, **near}
    except (UnknownToolError, LibraryError):
        named = None
    examples = [test.call for test in draft.function.examples]
    calls = [TrialCall(draft.arguments), *varied, *examples, *runner.proposal.compared]
    imported = {needed.name for needed in runner.proposal.needs.tools}
    rejected, apart = list[str](), ""
    for tool in near.values():
        is_named = named is not None and tool.name == named.name
        if tool.status is not Status.VERIFIED:
            rejected.append(f"{tool.name}: {tool.status}")
            continue
        try:
            needs = await needs_of(tool.capabilities.tools, library.get, of=tool.name)
        except LibraryError as lacking:
            rejected.append(f"{tool.name}: {lacking.message}")
            continue
        has_same_name = tool.name == draft.tool.name
        relation, reason = await _relation(tool, draft, calls, runner, needs, exactly=has_same_name)
        tests = _tests_of(tool)
        known = {test.call.key for test in tests}
        is_new = _source_of(draft) not in (tool.source, _source_of(tool)) or any(
            call.key not in known for call in runner.proposal.compared
        )
        mends = has_same_name and runner.proposal.mends and is_new
        if relation == "same" and not mends and is_around(tool, runner.proposal.wraps):
            return SimilarTools(same=tool, rejected=rejected)
        if tool.name in imported:
            failure = "this code imports it; a new version must contain the code that it needs"
        else:
            replaces = (
                is_named or relation == "wider" or (relation == "same" and _is_older(tool, runner.proposal.wraps))
            )
            failure = await _first_failure(tests, tool, draft, runner) if replaces else "-"
        if not failure:
            return SimilarTools(older=tool, tests=tests, rejected=rejected)
        if relation == "same" and is_around(tool, runner.proposal.wraps):
            return SimilarTools(same=tool, rejected=rejected)
        if is_named:
            apart = f"{tool.name} is unchanged: {failure}"[:_MAX_REASON_CHARS]
        rejected.append(f"{tool.name}: {reason}")
    return SimilarTools(rejected=rejected, apart=apart)


def is_around(tool: Tool, wraps: Wrapping | None) -> bool:
    """Return True if a tool wraps this version of a package; also True if no package is to be wrapped."""
    return wraps is None or (wraps.requirement in tool.capabilities.packages and tool.provenance.get(WRAPS) is not None)


def _is_older(tool: Tool, wraps: Wrapping | None) -> bool:
    """Return True if a tool wraps the same package in any version."""
    label = str(tool.provenance.get(WRAPS, ""))
    return wraps is not None and label.partition(" ")[0] == wraps.label.partition(" ")[0]


def _source_of(known: Tool | Draft) -> str:
    """Return a source with the header that it has in the library."""
    tool = known if isinstance(known, Tool) else known.tool
    return with_header(tool.source, tool.capabilities)


def _tests_of(tool: Tool) -> list[Test]:
    """Return the readable tests that are stored with a tool."""
    return [
        Test.from_json(test)
        for test in tool.provenance.get("tests") or []
        if isinstance(test, dict) and isinstance(test.get("arguments"), dict)
    ]


async def _first_failure(tests: Sequence[Test], tool: Tool, draft: Draft, runner: ProposalRunner) -> str:
    """Return the reason why a draft may not replace a tool; empty if it passes one test or more, and fails none."""
    exchanges, passed = tool.provenance.get(EXCHANGES), 0
    for test in tests:
        if not test.raises and (unfit := misfits(draft.tool, test.arguments)):
            return f"the arguments of one of its tests no longer fit ({unfit[0]})"
        carry = recorded(tuple(exchanges)) if exchanges else None
        outcome = await runner.run_fresh(draft.tool.source, draft.tool.name, test.call, carry=carry)
        if is_unrecorded(outcome):
            continue
        if not passes(test, outcome):
            return f"one of its tests fails with this code: {failure_text(draft.tool.name, test, outcome)}"
        passed += 1
    return "" if passed else "it has no tests that could be run"


async def _relation(
    tool: Tool,
    draft: Draft,
    calls: Sequence[TrialCall],
    runner: ProposalRunner,
    needs: Needs,
    *,
    exactly: bool,
) -> tuple[Relation, str]:
    """Compare the results of a draft and a tool in the calls of both. The second value is the difference in words."""
    reason = "takes different arguments"
    own = [test.call for test in _tests_of(tool) if not test.files]
    for names in islice(_renamings(tool, draft.tool), _MAX_RENAMINGS):
        reason = "gives different results"
        every = [*calls, *_renamed(own, names)]
        accepts_more = await _accepts_more(tool, draft.tool, names, every, runner, needs, exactly=exactly)
        if accepts_more is None:
            continue
        if not accepts_more:
            return "same", ""
        if all(new == old for new, old in names.items()):
            return "wider", "gives the same results, and more"
        reason = "gives the same results with different parameters"
    return "other", reason


def _renamings(tool: Tool, draft: Tool) -> Iterator[dict[str, str]]:
    """Yield ways to match a draft's parameters with a tool's: by name, then by type in any order."""
    ours, theirs = draft.input_schema["properties"], tool.input_schema["properties"]
    equal = {name: name for name in ours if name in theirs}
    left = [name for name in draft.input_schema["required"] if name not in equal]
    right = [name for name in tool.input_schema["required"] if name not in equal]
    if len(left) != len(right):
        return
    for order in permutations(right):
        if all(_kind(ours[new]) == _kind(theirs[old]) for new, old in zip(left, order, strict=True)):
            yield equal | dict(zip(left, order, strict=True))


def _kind(schema: Json) -> Json:
    kind = schema.get("type") if isinstance(schema, dict) else None
    return "number" if kind == "integer" else kind


def _renamed(calls: Sequence[TrialCall], names: dict[str, str]) -> list[TrialCall]:
    """Translate a tool's calls into calls of the draft; leave out those with a parameter that the draft lacks."""
    back = {old: new for new, old in names.items()}
    fitting = [call for call in calls if call.arguments.keys() <= back.keys()]
    return [TrialCall({back[name]: value for name, value in call.arguments.items()}) for call in fitting]


async def _accepts_more(
    tool: Tool,
    draft: Tool,
    names: dict[str, str],
    calls: Sequence[TrialCall],
    runner: ProposalRunner,
    needs: Needs,
    *,
    exactly: bool,
) -> bool | None:
    """Return True if the draft also accepts calls that the tool does not accept.

    Return None if a call gives another result, or too few calls can be compared.
    """
    accepts_more = not draft.input_schema["properties"].keys() <= names.keys()
    results = set()
    for call in {call.key: call for call in calls}.values():
        given = {names[name]: value for name, value in call.arguments.items() if name in names}
        if len(given) < len(call.arguments) or misfits(tool, given):
            accepts_more = accepts_more or not misfits(draft, call.arguments)
            continue
        ours = await runner.try_run(draft, call)
        if ours is None:
            continue
        theirs = await runner.run_fresh(tool.source, tool.name, TrialCall(given, call.files), needs=needs)
        same = json.dumps(ours.value, sort_keys=True) == json.dumps(theirs.value, sort_keys=True)
        near = agree(ours.value, theirs.value) and agree(theirs.value, ours.value)
        if ours.ok != theirs.ok or not (same or (near and not exactly)):
            return None
        if ours.ok:
            results.add(json.dumps(ours.value, sort_keys=True))
    return accepts_more if len(results) > 1 else None
