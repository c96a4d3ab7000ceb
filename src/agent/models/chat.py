"""Chat Completions over a wire: requests, answers, usage, retries; what hosted and embedded models share."""

from __future__ import annotations

import asyncio
import contextlib
import difflib
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import Any, get_args

from agent.errors import ModelDeclinedError, PicturesRefusedError
from agent.models.failures import PAUSE, Endpoint, Failure, Kind, Notify, Retry, retrying
from agent.models.functions import FunctionRequest, in_words
from agent.models.json_text import NoJsonError
from agent.models.ladder import RUNGS, Ladder, RungRequest, Traits, TraitsCache, climb, structured_request
from agent.models.openai import ask_models
from agent.models.protocol import FIRST_LISTED, Completion, Finish, Price, Request, ToolCall, Usage
from agent.models.wire import Body, OnDelta, Wire
from mcp_tools.text import one_line

_OPTIONAL = ("temperature", "seed", "stop", "stream_options", "max_tokens", "tool_choice", "max_completion_tokens")
"""Parameters that some models refuse; the request is sent again without the refused one."""
_RENAMED = {"max_tokens": "max_completion_tokens"}
_NO_PICTURES = "Do not name it as a model that sees, or name another one."


def read_completion(response: dict[str, Any], endpoint: Endpoint, price: Price | None) -> Completion:
    """The completion that a response holds.

    Raises:
        Failure: It is no response of this protocol.
        ModelDeclinedError: The model declined.
    """
    try:
        choice, counted = response["choices"][0], response.get("usage") or {}
        message, model = choice["message"], str(response.get("model") or endpoint.model)
        tokens = (int(counted.get("prompt_tokens") or 0), int(counted.get("completion_tokens") or 0))
        cached = int((counted.get("prompt_tokens_details") or {}).get("cached_tokens") or 0)
        calls = tuple(
            ToolCall.of(str(call.get("id") or f"call_{i}"), call["function"]["name"], call["function"]["arguments"])
            for i, call in enumerate(message.get("tool_calls") or [])
        )
        content = message.get("content")
        if isinstance(content, list):  # some endpoints give it in parts
            content = "".join(str(part.get("text", "")) for part in content)
        refusal = message.get("refusal")
    except (LookupError, TypeError, ValueError, AttributeError):
        raise Failure(Kind.CUT, endpoint, f"not a Chat Completions answer: {response}") from None
    if refusal:
        raise ModelDeclinedError(
            f"{model} declined: {one_line(str(refusal), 300)}",
            remedy="Rephrase the question, or choose another model with --model.",
        )
    usage = Usage(*tokens, cached, 1, price.cost(*tokens, cached) if price and counted else None)
    ended: Finish = next((f for f in get_args(Finish) if f == choice.get("finish_reason")), "stop")
    finish = ended if ended in ("length", "content_filter") else "tool_calls" if calls else "stop"
    return Completion("" if content is None else str(content), usage, None, calls, finish, model)


@dataclass(eq=False)
class ChatModel:
    """A model that speaks Chat Completions."""

    called: str
    """What the user calls it."""
    wire: Wire
    """Carries the requests."""
    _: KW_ONLY
    price: Price | None = None
    """US dollars per million tokens; None when unknown."""
    temperature: float | None = None
    """Sent with every call, instead of what the call wants."""
    slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(8))
    """Limits the calls in flight; models at one endpoint share it."""
    retry: Retry = field(default_factory=Retry)
    """How often a failed call is repeated."""
    traits: TraitsCache = field(default_factory=TraitsCache)
    """What is known of the endpoint, shared and kept."""
    notify: Notify | None = None
    """Told when a call waits."""
    enforced: bool = False
    """The endpoint holds answers to a JSON schema by a grammar."""

    @property
    def name(self) -> str:
        """What the user calls it; of `auto`, what it turned out to be."""
        return self.wire.endpoint.model if self.called == FIRST_LISTED else self.called

    async def complete(self, request: Request) -> Completion:
        """Completes messages; see `agent.models.protocol.Model`."""
        if request.tools and request.schema is not None:
            raise ValueError("a reply fits a schema or calls functions, not both")
        parts = [part for m in request.messages if isinstance(content := m.get("content"), list) for part in content]
        has_pictures = any(part.get("type") == "image_url" for part in parts)
        if has_pictures and self.known.is_blind:
            raise PicturesRefusedError(f"{self.name} takes no pictures", remedy=_NO_PICTURES)
        try:
            return await climb(partial(self._ask, request, has_pictures=has_pictures), *self._ladder(request))
        except Failure as failure:
            error = failure.error(models=await _known_models(failure))
            if has_pictures and (failure.kind is Kind.REFUSED or failure.status == 413):
                # It may be the pictures, and what is wrong with them: without them it will show.
                raise PicturesRefusedError(error.message, remedy=error.remedy) from None
            raise error from None

    def _ladder(self, request: Request) -> Ladder:
        """The ways in which the endpoint may be asked, from what is known of it."""
        messages, schema, known = request.messages, request.schema, self.known
        if request.tools:
            return (
                RUNGS,
                FunctionRequest(messages, request.tools, request.tool_choice).step,
                known.tools,
                # A reply without calls comes from an endpoint that does not heed functions, too.
                lambda rung, completion: self._learn(tools=rung) if completion.tool_calls else None,
            )
        if known.tools in ("schema", "text") and any(m["role"] == "tool" for m in messages):
            messages = in_words(messages)
        if schema is None:
            return RUNGS[:1], lambda _: RungRequest(messages), RUNGS[0], lambda *_: None
        return (
            RUNGS[1:],
            lambda rung: structured_request(messages, schema, rung, enforced=self.enforced),
            known.rung,
            lambda rung, _: self._learn(rung=rung),
        )

    async def _ask(self, request: Request, step: RungRequest, *, has_pictures: bool) -> Completion:
        """Sends one request, as a rung of the ladder wants it."""
        wanted = {
            "max_tokens": request.max_tokens,
            "temperature": request.temperature if self.temperature is None else self.temperature,
            "seed": request.seed,
            "stop": list(request.stop or ()) or None,
        }
        options = {key: value for key, value in wanted.items() if value is not None}
        on_delta = request.on_delta
        try:
            body = {"messages": list(step.messages), **options, **step.extra}
            response = await self._send(body, None if step.tells_whole else on_delta)
        except Failure as failure:
            if not (has_pictures and failure.is_about_pictures):
                raise
            self._learn(is_blind=True)
            raise PicturesRefusedError(failure.error().message, remedy=_NO_PICTURES) from None
        completion = read_completion(response, self.wire.endpoint, self.price)
        if on_delta and step.tells_whole:
            with contextlib.suppress(NoJsonError):  # whoever asked hears of it, too
                on_delta(step.read(completion).text)
        return completion

    async def aclose(self) -> None:
        """Closes connections."""
        await self.wire.aclose()

    @property
    def known(self) -> Traits:
        """What was learned of the endpoint; of one with a grammar, that it holds answers to a schema."""
        known = self.traits.get(self.wire.endpoint)
        return replace(known, rung="schema") if self.enforced else known

    def forget(self) -> None:
        """Asks the endpoint anew what it can do."""
        self.traits.set(self.wire.endpoint, Traits())

    def _learn(self, **changes: Any) -> None:
        endpoint = self.wire.endpoint
        self.traits.set(endpoint, replace(self.traits.get(endpoint), **changes))

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
            return self.wire.send(fitted, None if on_delta is None else ((lambda _: None) if shown else show))

        while True:
            fitted = self._fitted(body, streamed=on_delta is not None)
            with PAUSE.get()() if self.slots.locked() else contextlib.nullcontext():
                await self.slots.acquire()
            try:
                return await retrying(call, self.retry, self.notify)
            except Failure as failure:
                refused = _refused_parameter(failure, fitted)
                if refused is None:
                    raise
                self._learn(without=(*self.known.without, refused))
            finally:
                self.slots.release()

    def _fitted(self, body: Body, *, streamed: bool) -> Body:
        """The request as this endpoint takes it."""
        without = self.known.without
        fitted: Body = {"model": self.wire.endpoint.model, **body}
        if streamed:
            fitted |= {"stream": True, "stream_options": {"include_usage": True}}
        for parameter in without:
            value = fitted.pop(parameter, None)
            renamed = _RENAMED.get(parameter)
            if renamed and value is not None and renamed not in without:
                fitted[renamed] = value
        return fitted


async def _known_models(failure: Failure) -> list[str]:
    """A few names that the endpoint offers, those like the unknown one first."""
    if failure.kind is not Kind.UNKNOWN_MODEL:
        return []
    names = (await asyncio.to_thread(ask_models, failure.endpoint)).names
    alike = difflib.get_close_matches(failure.endpoint.model, names, n=5, cutoff=0.4)
    return [*dict.fromkeys([*alike, *names])][:5]


def _refused_parameter(failure: Failure, body: Body) -> str | None:
    """The optional parameter that the endpoint objects to, if the request had it."""
    if failure.kind is not Kind.REFUSED and failure.status != 400:
        return None
    named = (n for n in _OPTIONAL if n in body and (failure.parameter == n or f"'{n}'" in failure.detail))
    return next(named, None)
