"""A ladder: one wish, put to an endpoint in several ways, the best first.

An endpoint that is new to us is asked at the top; where it refuses the request or the reply does not fit, one rung
lower. The rung that gave a fitting reply is remembered and used from then on.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from agent.errors import ModelOutputError
from agent.models.failures import Failure, Kind
from agent.models.json_text import NoJsonError
from agent.models.protocol import Completion, Message, Usage
from agent.models.wire import RESPOND, OnDelta

R = TypeVar("R", bound=str)


@dataclass(frozen=True, slots=True)
class Step:
    """How one rung asks, and how it reads the reply."""

    messages: Sequence[Message]
    extra: dict[str, Any] = field(default_factory=dict)
    """Fields of the request besides its messages."""
    read: Callable[[Completion], Completion] = lambda completion: completion
    """Gives the completion as the caller wants it; raises `NoJsonError` where the reply does not fit."""
    hear: Callable[[OnDelta], OnDelta] = lambda tell: tell
    """What is told of the pieces of the text as they arrive."""
    again: str = "Answer again, with the whole JSON and nothing else."
    """What a model is told whose reply does not fit."""


Ask = Callable[[Step], Awaitable[Completion]]
"""Sends one request, repeats what can be repeated, raises Failure."""


async def climb(
    ask: Ask,
    rungs: Sequence[R],
    step: Callable[[R], Step],
    *,
    held: R | None,
    hold: Callable[[R, Completion], None],
) -> Completion:
    """The completion of the first rung that holds; its usage is what all attempts cost.

    Args:
        ask: Sends one request.
        rungs: The best first.
        step: What each of them asks.
        held: The rung that gave a fitting reply before; there, a model is shown once what does not fit.
        hold: Remembers a rung, given its first fitting reply.

    Raises:
        Failure: The endpoint failed for another reason than the way it was asked.
        ModelOutputError: The reply did not fit, and neither did its repair.
    """
    spent = Usage()
    lasting = True
    for rung in rungs[rungs.index(held) if held in rungs else 0 :]:
        asked = step(rung)
        try:
            completion = await ask(asked)
        except Failure as failure:
            if failure.kind is not Kind.REFUSED or rung == rungs[-1]:
                raise
            lasting = lasting and not failure.is_about_one_function
            continue
        spent += completion.usage
        try:
            answer = asked.read(completion)
        except NoJsonError as problem:
            _raise_if_cut(completion, spent)
            if rung != held and rung != rungs[-1]:
                continue
            answer = await _repair(ask, asked, completion, problem, spent)
            spent = answer.usage
        if rung != held and lasting:
            hold(rung, answer)
        return replace(answer, usage=spent)
    raise AssertionError("the last rung returns or raises")


async def _repair(ask: Ask, asked: Step, completion: Completion, problem: NoJsonError, spent: Usage) -> Completion:
    """Shows the model once what does not fit; the usage of the result includes what was spent before."""
    again = [
        *asked.messages,
        {"role": "assistant", "content": answer_text(completion) or "(nothing)"},
        {"role": "user", "content": f"That does not fit: {problem}. {asked.again}"},
    ]
    repaired = await ask(replace(asked, messages=again))
    spent += repaired.usage
    try:
        return replace(asked.read(repaired), usage=spent)
    except NoJsonError as still:
        _raise_if_cut(repaired, spent)
        raise ModelOutputError(
            f"the model's answer does not fit what was asked: {still}",
            remedy="Answer with JSON that fits the schema.",
            text=answer_text(repaired),
            usage=spent,
        ) from None


def _raise_if_cut(completion: Completion, spent: Usage) -> None:
    if completion.finish == "length":
        raise ModelOutputError(
            f"the model's JSON was cut off at {completion.usage.output_tokens} tokens",
            remedy="Answer shorter.",
            text=answer_text(completion),
            usage=spent,
        )


def answer_text(completion: Completion) -> str:
    """What the model gave as its answer, be it as text or as the arguments of the call that gives answers."""
    return next((call.arguments for call in completion.tool_calls if call.name == RESPOND), completion.text)
