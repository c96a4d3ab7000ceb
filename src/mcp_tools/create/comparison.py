"""Compares a tool with the promises of its docstring, on random and on invalid arguments.

Random arguments go to the tool and to a slow version that the examiner wrote from the docstring alone. Invalid
arguments come from the limits and formats in the docstring; the tool must refuse them.

The slow version is model-written code like the tool. It runs in the sandbox, never in the tool's process; the results
are compared outside.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from mcp_tools.create.documented_function import DocumentedFunction
from mcp_tools.create.examiner import exception_of, passes
from mcp_tools.create.interfaces import Notify, Origin, Test, TrialCall
from mcp_tools.create.proposal_runner import ProposalRunner, misfits
from mcp_tools.create.same_answer import same
from mcp_tools.create.trial import Draft
from mcp_tools.sandbox.inside.docstring import parse_docstring
from mcp_tools.sandbox.protocol import Outcome
from mcp_tools.tool import Json, call_text

_RANDOM_CALLS = 100
_MAX_DISPUTED = 3
"""Maximum number of disagreements on which the examiner rules, starting with the shortest arguments."""
_MAX_RELATED = 3
"""Maximum number of related calls to try for each result."""
_DRAWING = """

def _drawn_for_comparison(count):
    import random

    return [draw(random.Random(number)) for number in range(count)]
"""
_SLOW = "a slow version, written from the docstring alone, gives this"
_RELATED = "this follows from {} according to the docstring"
_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
_RAISES = re.compile(r"^Raises:\s*$", re.MULTILINE)
_NUMBER = r"(-?(?:\d{1,3}(?:[,_]\d{3})+|\d+)(?:\.\d+)?)"
_END = r"(?=\s*(?:[,.](?!\d)|[;)]|$|and\b|exclusive))"
"""Matches the text after a limit. `at most 900 before noon` is not matched, because it limits only some results."""
_RANGE = re.compile(rf"(?<![\w.-])(?<!\d,){_NUMBER} to {_NUMBER}{_END}")
_LEAST = re.compile(rf"(?<![\w.-])(?<!\d,){_NUMBER} or more{_END}|\bat least {_NUMBER}{_END}")
_EACH = re.compile(r"\b(?:each|every|all)\b(.*)", re.IGNORECASE | re.DOTALL)
"""Matches the words after which limits in the description of a list apply to its items."""
_THINGS = r"(?:items?|values?|numbers?|points?|corners?|rows?|texts?|words?|entries|elements|members|pairs|of them)\b"
_LENGTH = re.compile(
    rf"(?<![\w.-])(?<!\d,)(?:{_NUMBER} to {_NUMBER} {_THINGS}|{_NUMBER} or more {_THINGS}|at least {_NUMBER} {_THINGS})"
)
"""Matches the phrases in the description of a list that limit its length."""
_MAX_LIST_LENGTH = 1_000
_ABOVE = re.compile(rf"\b(?:above|greater than) {_NUMBER}{_END}")
_MOST = re.compile(rf"\bat most {_NUMBER}{_END}")
_BELOW = re.compile(rf"\b(?:below|less than) {_NUMBER}{_END}")
_FOREIGN_DIGITS = ("²", "٣")
_MAX_NEAR_MISSES = 12


@dataclass
class Comparison:
    """The result of a comparison."""

    agreed: list[Test] = field(default_factory=list)
    """Calls for which the tool and the slow version give the same result."""
    disputed: list[Test] = field(default_factory=list)
    """Calls for which they differ, with the slow version's result."""
    compared: int = 0
    """Number of calls with both results."""


async def random_calls(draft: Draft, reference: str, runner: ProposalRunner, notify: Notify) -> list[TrialCall]:
    """Let the examiner's `draw` function generate random calls; return those that fit the schema."""
    if "def draw(" not in reference:
        return []
    source = reference + _DRAWING
    [outcome] = await runner.run_examiner_code(source, "_drawn_for_comparison", [{"count": _RANDOM_CALLS}])
    if outcome is None or not isinstance(outcome.value, list):
        why = (
            outcome.problem.message
            if outcome is not None and outcome.problem is not None
            else "it did not return a list"
        )
        notify(f"the examiner's code generated no arguments: {why:.200}")
        return []
    calls = {(call := TrialCall(one)).key: call for one in outcome.value if isinstance(one, dict)}
    return [call for call in calls.values() if not misfits(draft.tool, call.arguments)]


async def compare(
    draft: Draft,
    calls: Sequence[TrialCall],
    near: Sequence[NearMiss],
    known: Sequence[Test],
    reference: str,
    runner: ProposalRunner,
    notify: Notify,
) -> Comparison:
    """Run the tool and the slow version on the same calls, and compare their results.

    Args:
        draft: The tool.
        calls: Valid calls, including the question's own.
        near: Calls that the docstring seems to refuse.
        known: Tests that the tool passes. If the slow version fails one, it is wrong and not used.
        reference: The source of the slow version, from the examiner; may be empty.
        runner: Runs both.
        notify: Gets the reason why the slow version is not used.
    """
    found, name = Comparison(), draft.tool.name
    slow: list[Outcome | None] = [None] * (len(calls) + len(near))
    every = [*calls, *(one.call for one in near)]
    if f"def {name}(" in reference:
        tests = [test for test in known if not test.files]
        asked = [test.arguments for test in tests] + [call.arguments for call in every]
        outcomes = await runner.run_examiner_code(reference, name, asked)
        wrong = next(
            (
                test
                for test, outcome in zip(tests, outcomes, strict=False)
                if outcome is not None and not passes(test, outcome)
            ),
            None,
        )
        if wrong is None:
            slow = outcomes[len(tests) :]
        else:
            notify(f"the examiner's slow version is not used: it is wrong for {wrong.shown(name)}")
    ours = await runner.run_together(draft.tool, every)
    near_by_key = dict(zip((one.call.key for one in near), near, strict=True))
    for call, own, other in zip(every, ours, slow, strict=True):
        _compare_call(found, draft, call, own, other, near_by_key.get(call.key))
    await _compare_related(found, draft, reference, runner)
    found.disputed = sorted(found.disputed, key=lambda test: len(test.call.key))[:_MAX_DISPUTED]
    return found


def _compare_call(
    found: Comparison, draft: Draft, call: TrialCall, own: Outcome | None, other: Outcome | None, near: NearMiss | None
) -> None:
    if own is None or not (own.ok or refuses(own, draft.function.docstring)):
        return  # `trial.crashes` reports crashes
    test = Test(call.arguments, own.value, "reference", raises=not own.ok, because=_SLOW)
    if near is not None and own.ok and (near.by_form or other is None):
        origin: Origin = "promise" if near.by_form else "reference"
        found.disputed.append(replace(test, expected=None, raises=True, origin=origin, because=near.quote))
        return
    if other is None or not (other.ok or refuses(other, draft.function.docstring)):
        return
    found.compared += 1
    if own.ok == other.ok and (not own.ok or same(own.value, other.value)):
        found.agreed.append(test)
    else:
        found.disputed.append(replace(test, expected=other.value, raises=not other.ok))


async def _compare_related(found: Comparison, draft: Draft, reference: str, runner: ProposalRunner) -> None:
    """Check results against each other: `relations` derives, from one result, the results of other calls."""
    if "def relations(" not in reference:
        return
    tool, bases = draft.tool, [test for test in found.agreed if not test.raises] or runner.results_of(draft.tool)
    asked: list[dict[str, Json]] = [
        {"arguments": test.arguments, "result": test.expected} for test in bases[:_RANDOM_CALLS]
    ]
    related = []
    for base, outcome in zip(bases, await runner.run_examiner_code(reference, "relations", asked), strict=False):
        problem = outcome.problem if outcome is not None else None
        if problem is not None and exception_of(problem) == "AssertionError":
            because = f"its result must satisfy this: {problem.message:.200}"
            found.disputed.append(replace(base, expected=None, because=because))
        because = _RELATED.format(call_text(tool.name, base.arguments, longest=80))
        for pair in outcome.value[:_MAX_RELATED] if outcome is not None and isinstance(outcome.value, list) else ():
            match pair:
                case [dict(arguments), expected] if not misfits(tool, arguments):
                    related.append(Test(arguments, expected, "reference", because=because))
    for test, own in zip(related, await runner.run_together(tool, [one.call for one in related]), strict=True):
        if own is not None and own.ok:
            found.compared += 1
            (found.agreed if same(own.value, test.expected) else found.disputed).append(test)


def refuses(outcome: Outcome, docstring: str) -> bool:
    """Return True if the code rejected its arguments, with ValueError or an exception that its docstring names."""
    if outcome.problem is None or outcome.problem.kind != "exception":
        return outcome.problem is not None and outcome.problem.kind == "arguments"
    name = exception_of(outcome.problem)
    return name == "ValueError" or bool(name and re.search(rf"\b{re.escape(name)}\b", docstring))


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A nearly valid call, and the part of the docstring that seems to rule it out."""

    call: TrialCall
    quote: str
    by_form: bool
    """True if a text breaks the promised format. Then it does not matter whether the slow version accepts it."""


def near_misses(function: DocumentedFunction, arguments: dict[str, Json]) -> list[NearMiss]:
    """Derive calls from the question's own that the docstring seems to refuse.

    A docstring without a Raises section refuses nothing, so this returns an empty list.
    """
    if not _RAISES.search(function.docstring):
        return []
    found = []
    for parameter in function.spec.parameters:
        if parameter.name in arguments:
            words, value = parameter.description, arguments[parameter.name]
            quote = f"{parameter.name}: {words:.150}"
            for other, by_form in _near(words, value):
                found.append(NearMiss(TrialCall({**arguments, parameter.name: other}), quote, by_form))
    return found[:_MAX_NEAR_MISSES]


def _near(words: str, value: Json) -> Iterator[tuple[Json, bool]]:
    if isinstance(value, str):
        yield from ((other, True) for other in _other_forms(words, value) if other != value)
    elif isinstance(value, list) and value:
        yield from ((other, False) for other in _other_lengths(words, value))
        each = _EACH.search(words)
        is_text = isinstance(value[-1], str)
        for other, by_form in _near(words if is_text else each[1] if each else "", value[-1]):
            yield [*value[:-1], other], by_form
    elif isinstance(value, int | float) and not isinstance(value, bool):
        whole = isinstance(value, int)
        for limit in _outside(words):
            yield (int(limit) if whole and limit == int(limit) else limit), False


def _other_forms(words: str, text: str) -> Iterator[str]:
    if "YYYY-MM-DD" in words and (date := _DATE.fullmatch(text)):
        yield "".join(date.groups())
        yield f"{date[1]}-W05-3"
    digit = re.search(r"[0-9]", text)
    if digit and re.search(r"\b0-9\b|\b(?:only|decimal) digits\b", words, re.IGNORECASE):
        yield from (text[: digit.start()] + foreign + text[digit.end() :] for foreign in _FOREIGN_DIGITS)
    letter = re.search(r"[A-Za-z]", text)
    if letter and re.search(r"\bA-Z\b|\ba-z\b", words):
        yield f"{text[: letter.start()]}ß{text[letter.end() :]}"


def _other_lengths(words: str, value: list[Json]) -> Iterator[list[Json]]:
    """Yield lists that are just too short or too long for the limits in a description."""
    limits = _LENGTH.search(_EACH.sub("", words))
    if limits is None:
        return
    least, most = int(_first(limits)), _value(limits[2]) if limits[2] else 0
    if 0 < least <= len(value):
        yield value[: least - 1]
    if len(value) <= most < _MAX_LIST_LENGTH:
        yield (value * (int(most) // len(value) + 2))[: int(most) + 1]


def _outside(words: str) -> Iterator[float]:
    """Yield numbers just outside the limits in a description."""
    if limits := _RANGE.search(words):
        yield from (_value(limits[1]) - 1, _value(limits[2]) + 1)
    elif least := _LEAST.search(words):
        yield _first(least) - 1
    elif above := _ABOVE.search(words):
        yield _first(above)
    if most := _MOST.search(words):
        yield _first(most) + 1


def _first(match: re.Match[str]) -> float:
    return _value(next(group for group in match.groups() if group is not None))


def _value(written: str) -> float:
    return float(re.sub("[,_]", "", written))


def outside_of_returns(function: DocumentedFunction, value: Json) -> str:
    """Return the docstring's Returns section if a number breaks a limit in it; otherwise an empty string."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    words = parse_docstring(function.docstring).returns
    limits = _RANGE.search(words)
    broken = limits is not None and not _value(limits[1]) <= value <= _value(limits[2])
    for form, compare in ((_LEAST, operator.lt), (_ABOVE, operator.le), (_BELOW, operator.ge), (_MOST, operator.gt)):
        match = form.search(words)
        broken = broken or (match is not None and bool(compare(value, _first(match))))
    return f"Returns: {words:.150}" if broken else ""
