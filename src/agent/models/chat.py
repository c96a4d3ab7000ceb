"""Chat Completions over a wire: requests, answers, usage, retries; what hosted and embedded models share."""

from __future__ import annotations

import asyncio
import contextlib
import difflib
import json
from dataclasses import replace
from typing import Any

from agent.errors import ModelDeclinedError, PicturesRefusedError
from agent.models.failures import PAUSE, Endpoint, Failure, Kind, Notify, Retry, retrying
from agent.models.functions import FunctionRequest, in_words
from agent.models.ladder import RUNGS, Step, Traits, TraitsCache, climb, structured_step
from agent.models.protocol import FIRST_LISTED, Completion, Finish, Message, Price, Request, ToolCall, Usage
from agent.models.wire import Body, OnDelta, Wire
from mcp_tools.text import one_line


def read_completion(response: dict[str, Any], endpoint: Endpoint, price: Price | None) -> Completion:
    """The completion that a response holds.

    Raises:
        Failure: It is no response of this protocol.
        ModelRefusedError: The model declined.
    """
    try:
        usage = _usage(response.get("usage") or {}, price)
        model = str(response.get("model") or endpoint.model)
        return _completion(response["choices"][0], usage, model)
    except (LookupError, TypeError, ValueError, AttributeError):
        raise Failure(Kind.CUT, endpoint, f"no Chat Completions answer: {response}") from None


def _usage(counted: dict[str, Any], price: Price | None) -> Usage:
    tokens = (int(counted.get("prompt_tokens") or 0), int(counted.get("completion_tokens") or 0))
    cached = int((counted.get("prompt_tokens_details") or {}).get("cached_tokens") or 0)
    cost = price.cost(*tokens, cached) if price and counted else None
    return Usage(*tokens, cached, 1, cost)


def _completion(choice: dict[str, Any], usage: Usage, model: str) -> Completion:
    message = choice["message"]
    if message.get("refusal"):
        raise ModelDeclinedError(
            f"{model} declined: {one_line(str(message['refusal']), 300)}",
            remedy="Put the question differently, or name another model with --model.",
        )
    calls = tuple(_tool_call(call, i) for i, call in enumerate(message.get("tool_calls") or []))
    return Completion(_text(message.get("content")), usage, None, calls, _finish(choice, calls), model)


def _tool_call(call: dict[str, Any], i: int) -> ToolCall:
    function = call["function"]
    arguments = function["arguments"]
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return ToolCall(str(call.get("id") or f"call_{i}"), str(function["name"]), text)


def _text(content: Any) -> str:
    """The text of a message, which some endpoints give in parts."""
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content)
    return "" if content is None else str(content)


def _finish(choice: dict[str, Any], calls: tuple[ToolCall, ...]) -> Finish:
    match choice.get("finish_reason"):
        case "length":
            return "length"
        case "content_filter":
            return "content_filter"
        case _:
            return "tool_calls" if calls else "stop"


_OPTIONAL = ("temperature", "seed", "stop", "stream_options", "max_tokens", "tool_choice")
"""Parameters that some models refuse; the request is sent again without the refused one."""

_NO_PICTURES = "Do not name it as a model that sees, or name another one."

_RENAMED = {"max_tokens": "max_completion_tokens"}


class ChatModel:
    """A model that speaks Chat Completions.

    Args:
        name: What the user calls it.
        wire: Carries the requests.
        price: US dollars per million tokens; None when unknown.
        temperature: Sent with every call, instead of what the call wants.
        slots: Limits the calls in flight; models at one endpoint share it.
        retry: How often a failed call is repeated.
        traits: What is known of the endpoint, shared and kept.
        notify: Told when a call waits.
        enforced: The endpoint holds answers to a JSON schema by a grammar.
    """

    def __init__(
        self,
        name: str,
        wire: Wire,
        *,
        price: Price | None = None,
        temperature: float | None = None,
        slots: asyncio.Semaphore | None = None,
        retry: Retry | None = None,
        traits: TraitsCache | None = None,
        notify: Notify | None = None,
        enforced: bool = False,
    ) -> None:
        self._name = name
        self._wire = wire
        self._price = price
        self._temperature = temperature
        self._slots = slots or asyncio.Semaphore(8)
        self._retry = retry or Retry()
        self._traits = traits or TraitsCache()
        self._notify = notify
        self._enforced = enforced

    @property
    def name(self) -> str:
        """What the user calls it; of `auto`, what it turned out to be."""
        resolved = self._wire.endpoint.model
        return resolved if self._name == FIRST_LISTED else self._name

    async def complete(self, request: Request) -> Completion:
        """Completes messages; see `agent.models.protocol.Model`."""
        if request.tools and request.schema is not None:
            raise ValueError("a reply fits a schema or calls functions, not both")
        messages, on_delta = request.messages, request.on_delta
        options = self._options(request)
        has_pictures = any(_has_pictures(message) for message in messages)
        if has_pictures and self._known().is_blind:
            raise PicturesRefusedError(f"{self.name} takes no pictures", remedy=_NO_PICTURES)

        async def ask(step: Step) -> Completion:
            hear = None if on_delta is None else step.hear(on_delta)
            try:
                response = await self._send({"messages": list(step.messages), **options, **step.extra}, hear)
            except Failure as failure:
                if has_pictures and failure.is_about_pictures:
                    self._learn(is_blind=True)
                    raise PicturesRefusedError(failure.error().message, remedy=_NO_PICTURES) from None
                raise
            return read_completion(response, self._wire.endpoint, self._price)

        try:
            if request.tools:
                wanted = FunctionRequest(messages, request.tools, request.tool_choice)
                held = self._known().tools
                return await climb(
                    ask,
                    wanted.rungs,
                    wanted.step,
                    held=wanted.rungs[0] if held and held not in wanted.rungs else held,
                    # A reply without calls comes from an endpoint that does not heed functions, too.
                    hold=lambda rung, completion: self._learn(tools=rung) if completion.tool_calls else None,
                )
            if self._known().tools in ("schema", "text") and any(m["role"] == "tool" for m in messages):
                messages = in_words(messages)
            if request.schema is None:
                return await ask(Step(messages))
            schema = request.schema
            return await climb(
                ask,
                RUNGS,
                lambda rung: structured_step(messages, schema, rung, enforced=self._enforced),
                held=self.known.rung,
                hold=lambda rung, _: None if self._enforced else self._learn(rung=rung),
            )
        except Failure as failure:
            error = failure.error(models=await self._known_models(failure))
            if has_pictures and (failure.kind is Kind.REFUSED or failure.status == 413):
                # It may be the pictures, and what is wrong with them: without them it will show.
                raise PicturesRefusedError(error.message, remedy=error.remedy) from None
            raise error from None

    async def aclose(self) -> None:
        """Closes connections."""
        await self._wire.aclose()

    @property
    def known(self) -> Traits:
        """What was learned of the endpoint; of one with a grammar, that it holds answers to a schema."""
        known = self._known()
        return replace(known, rung="schema") if self._enforced else known

    def forget(self) -> None:
        """Asks the endpoint anew what it can do."""
        endpoint = self._wire.endpoint
        self._traits.set(endpoint.shown_url, endpoint.model, Traits())

    def _options(self, request: Request) -> dict[str, Any]:
        given = {
            "max_tokens": request.max_tokens,
            "temperature": request.temperature if self._temperature is None else self._temperature,
            "seed": request.seed,
            "stop": list(request.stop or ()) or None,
        }
        return {key: value for key, value in given.items() if value is not None}

    def _known(self) -> Traits:
        return self._traits.get(self._wire.endpoint.shown_url, self._wire.endpoint.model)

    def _learn(self, **changes: Any) -> None:
        endpoint = self._wire.endpoint
        self._traits.set(endpoint.shown_url, endpoint.model, replace(self._known(), **changes))

    async def _send(self, body: Body, on_delta: OnDelta | None) -> dict[str, Any]:
        """Sends with retries; a parameter that the endpoint refuses is left out from then on."""
        shown = False

        def show(text: str) -> None:
            nonlocal shown
            shown = True
            if on_delta:
                on_delta(text)

        def call() -> Any:
            # After a cut the pieces are not shown a second time; the completion has the whole text.
            return self._wire.send(fitted, None if on_delta is None else ((lambda _: None) if shown else show))

        while True:
            fitted = self._fitted(body, streamed=on_delta is not None)
            with PAUSE.get()() if self._slots.locked() else contextlib.nullcontext():
                await self._slots.acquire()
            try:
                return await retrying(call, self._retry, self._notify)
            except Failure as failure:
                refused = _refused_parameter(failure, fitted)
                if refused is None:
                    raise
                self._learn(without=(*self._known().without, refused))
            finally:
                self._slots.release()

    def _fitted(self, body: Body, *, streamed: bool) -> Body:
        """The request as this endpoint takes it."""
        without = self._known().without
        fitted: Body = {"model": self._wire.endpoint.model, **body}
        if streamed:
            fitted |= {"stream": True, "stream_options": {"include_usage": True}}
        for parameter in without:
            value = fitted.pop(parameter, None)
            renamed = _RENAMED.get(parameter)
            if renamed and value is not None and renamed not in without:
                fitted[renamed] = value
        return fitted

    async def _known_models(self, failure: Failure) -> list[str]:
        """A few names that the endpoint offers, those like the unknown one first."""
        if failure.kind is not Kind.UNKNOWN_MODEL:
            return []
        names = await self._wire.models()
        alike = difflib.get_close_matches(failure.endpoint.model, names, n=5, cutoff=0.4)
        return (alike + [name for name in names if name not in alike])[:5]


def _has_pictures(message: Message) -> bool:
    content = message.get("content")
    return isinstance(content, list) and any(part.get("type") == "image_url" for part in content)


def _refused_parameter(failure: Failure, body: Body) -> str | None:
    """The optional parameter that the endpoint objects to, if the request had it."""
    if failure.kind is not Kind.REFUSED and failure.status != 400:
        return None
    sent = [name for name in (*_OPTIONAL, *_RENAMED.values()) if name in body]
    named = [name for name in sent if failure.parameter == name or f"'{name}'" in failure.detail]
    return named[0] if named else None
