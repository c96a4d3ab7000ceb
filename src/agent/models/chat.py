"""Chat Completions over a wire: requests, answers, usage, retries; what hosted and embedded models share."""

from __future__ import annotations

import asyncio
import contextlib
import difflib
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import Any

from agent.errors import ModelDeclinedError, PicturesRefusedError
from agent.models.failures import PAUSE, Endpoint, Failure, Kind, Notify, Retry, Slots, retrying
from agent.models.functions import FunctionRequest, in_words
from agent.models.json_text import NoJsonError
from agent.models.ladder import RUNGS, Ladder, RungRequest, Traits, TraitsCache, climb, structured_request
from agent.models.openai import ask_models
from agent.models.protocol import FIRST_LISTED, Completion, Finish, Price, Request, ToolCall, Usage
from agent.models.refusals import Changes, change_for, fitted_body
from agent.models.thoughts import ShownText, answer_of
from agent.models.wire import Body, Wire, calls_of, first_choice, text_of
from mcp_tools.text import one_line

_NO_PICTURES = "Do not name it as a model that sees, or name another one."


def read_completion(response: dict[str, Any], endpoint: Endpoint, price: Price | None) -> Completion:
    """The completion that a response holds.

    Raises:
        Failure: It is no response of this protocol.
        ModelDeclinedError: The model declined.
    """
    try:
        choice, counted = first_choice(response), response.get("usage") or {}
        message, model = choice.get("message") or choice.get("delta"), str(response.get("model") or endpoint.model)
        if message is None:
            message = {"content": choice["text"]}
        tokens = (int(counted.get("prompt_tokens") or 0), int(counted.get("completion_tokens") or 0))
        cached = int((counted.get("prompt_tokens_details") or {}).get("cached_tokens") or 0)
        functions = [(call, call.get("function") or call) for call in calls_of(message)]
        calls = tuple(
            ToolCall.of(str(call.get("id") or f"call_{i}"), function["name"], function.get("arguments") or {})
            for i, (call, function) in enumerate(functions)
        )
        content = answer_of(text_of(message.get("content")))
        refusal = message.get("refusal")
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError):
        raise Failure(Kind.CUT, endpoint, f"not a Chat Completions answer: {str(response)[:1_000]}") from None
    if refusal:
        raise ModelDeclinedError(
            f"{model} declined: {one_line(str(refusal), 300)}",
            remedy="Rephrase the question, or choose another model with --model.",
        )
    usage = Usage(*tokens, cached, 1, price.cost(*tokens, cached) if price and counted else None)
    ended = _FINISHES.get(str(choice.get("finish_reason")).lower(), "stop")
    finish: Finish = ended if ended != "stop" else "tool_calls" if calls else "stop"
    return Completion(content, usage, None, calls, finish, model)


_FINISHES: dict[str, Finish] = {
    **dict.fromkeys(("length", "max_tokens", "model_length", "length_limit", "max_output_tokens"), "length"),
    **dict.fromkeys(("content_filter", "safety", "content_filtered"), "content_filter"),
}  # fmt: skip


@dataclass(eq=False)
class ChatModel:
    """A model that speaks Chat Completions."""

    called: str
    """The user's name for it."""
    wire: Wire
    """Carries the requests."""
    _: KW_ONLY
    price: Price | None = None
    """US dollars per million tokens; None when unknown."""
    temperature: float | None = None
    """Sent with every call, instead of what the call wants."""
    slots: Slots = field(default_factory=lambda: asyncio.Semaphore(8))
    """Limits the calls in flight; models at one endpoint share it."""
    retry: Retry = field(default_factory=Retry)
    """Number of times that a failed call is repeated."""
    traits: TraitsCache = field(default_factory=TraitsCache)
    """The endpoint's known traits, shared and stored."""
    notify: Notify | None = None
    """Told when a call waits."""
    suspected: list[Changes] = field(default_factory=list)
    """Changes that helped once, though the endpoint did not say what it refused."""
    enforced: bool = False
    """The endpoint holds answers to a JSON schema by a grammar."""

    @property
    def name(self) -> str:
        """The user's name for it; for `auto`, what it turned out to be."""
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
        """Return the ways to ask the endpoint, by its known traits."""
        messages, schema, known = request.messages, request.schema, self.known
        if request.tools:
            return (
                RUNGS,
                FunctionRequest(messages, request.tools, request.tool_choice).step,
                known.tools,
                # An endpoint that ignores functions also replies without calls.
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
        shown = ShownText(request.on_delta, functions=bool(request.tools)) if request.on_delta else None
        try:
            body = {"messages": list(step.messages), **options, **step.extra}
            response = await self._send(body, None if step.tells_whole else shown)
        except Failure as failure:
            if not (has_pictures and failure.is_about_pictures):
                raise
            self._learn(is_blind=True)
            raise PicturesRefusedError(failure.error().message, remedy=_NO_PICTURES) from None
        completion = read_completion(response, self.wire.endpoint, self.price)
        if shown:
            with contextlib.suppress(NoJsonError):  # the caller gets it, too
                shown.end(completion.text if request.schema is not None else step.read(completion).text)
        return completion

    async def aclose(self) -> None:
        """Closes connections."""
        await self.wire.aclose()

    @property
    def known(self) -> Traits:
        """What was learned about the endpoint, for example that it has a grammar for schemas."""
        known = self.traits.get(self.wire.endpoint)
        return replace(known, rung="schema") if self.enforced else known

    def forget(self) -> None:
        """Test again what the endpoint supports."""
        self.traits.set(self.wire.endpoint, Traits())

    def _learn(self, **changes: Any) -> None:
        endpoint = self.wire.endpoint
        self.traits.set(endpoint, replace(self.traits.get(endpoint), **changes))

    async def _send(self, body: Body, shown: ShownText | None) -> dict[str, Any]:
        """Sends with retries; what the endpoint refuses is left out, and the request sent again."""
        changes, tried = Changes(), Changes()

        def call() -> Any:
            if shown is not None:
                shown.begin()
            return self.wire.send(fitted, shown)

        while True:
            known = self.known
            fitted = fitted_body(
                {"model": self.wire.endpoint.model, **body},
                changes | Changes(frozenset(known.without), known.most_output),
                streamed=shown is not None,
            )
            with PAUSE.get()() if self.slots.locked() else contextlib.nullcontext():
                await self.slots.acquire()
            try:
                response: dict[str, Any] = await retrying(call, self.retry, self.notify)
            except Failure as failure:
                change = change_for(failure, fitted)
                if change is None or changes | change.changes == changes:
                    raise
                changes, tried = changes | change.changes, tried | (Changes() if change.is_clear else change.changes)
                if change.is_clear:
                    self._learn_changes(change.changes)
                continue
            finally:
                self.slots.release()
            if tried != Changes():  # it worked without; remembered once that repeats
                if tried in self.suspected:
                    self._learn_changes(tried)
                self.suspected.append(tried)
            return response

    def _learn_changes(self, changes: Changes) -> None:
        known = self.traits.get(self.wire.endpoint)
        without = tuple(dict.fromkeys([*known.without, *sorted(changes.without)]))
        self._learn(without=without, most_output=changes.most_output or known.most_output)


async def _known_models(failure: Failure) -> list[str]:
    """A few names that the endpoint offers, those like the unknown one first."""
    if failure.kind is not Kind.UNKNOWN_MODEL:
        return []
    names = (await asyncio.to_thread(ask_models, failure.endpoint)).names
    alike = difflib.get_close_matches(failure.endpoint.model, names, n=5, cutoff=0.4)
    return [*dict.fromkeys([*alike, *names])][:5]
