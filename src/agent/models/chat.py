"""Chat Completions: `ChatModel` sends requests with retries and reads the replies, hosted or embedded."""

from __future__ import annotations

import asyncio
import contextlib
import difflib
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import Any

from agent.errors import ModelDeclinedError, PicturesRefusedError
from agent.models.failures import PAUSE, Endpoint, Failure, Kind, Notify, Retry, Slots, retrying
from agent.models.functions import FunctionRequest, without_native_calls
from agent.models.json_text import NoJsonError
from agent.models.ladder import RUNGS, Ladder, ModelTraits, RungRequest, TraitsCache, climb, structured_request
from agent.models.openai import list_models
from agent.models.protocol import FIRST_LISTED, Completion, Finish, Price, Request, ToolCall, Usage
from agent.models.refusals import Restrictions, fitted_body, restrictions_after
from agent.models.thoughts import ShownText, without_thoughts
from agent.models.wire import Body, Wire, calls_of, first_choice, text_of
from mcp_tools.text import one_line

_NO_PICTURES = "Choose a model that accepts pictures for the role that reads them."


def read_completion(response: dict[str, Any], endpoint: Endpoint, price: Price | None) -> Completion:
    """Return the completion in a response.

    Raises:
        Failure: The response does not follow the Chat Completions format.
        ModelDeclinedError: The model refused to answer.
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
        content = without_thoughts(text_of(message.get("content")))
        refusal = message.get("refusal")
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError):
        raise Failure(Kind.INVALID, endpoint, f"not a Chat Completions answer: {str(response)[:1_000]}") from None
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

    configured_name: str
    wire: Wire
    _: KW_ONLY
    price: Price | None = None
    """US dollars per million tokens; None if unknown."""
    temperature: float | None = None
    """Overrides the temperature of every request."""
    slots: Slots = field(default_factory=lambda: asyncio.Semaphore(8))
    """Limits parallel calls; shared by all models at one endpoint."""
    retry: Retry = field(default_factory=Retry)
    traits: TraitsCache = field(default_factory=TraitsCache)
    notify: Notify | None = None
    """Called with a line of text when a call has to wait."""
    suspected: list[Restrictions] = field(default_factory=list)
    """Guessed restrictions that worked once. A guess that works twice is stored in `traits`."""
    enforced: bool = False
    """True if the endpoint enforces JSON schemas with a grammar."""

    @property
    def name(self) -> str:
        """The configured name; for `auto`, the name of the model that was chosen."""
        return self.wire.endpoint.model if self.configured_name == FIRST_LISTED else self.configured_name

    async def complete(self, request: Request) -> Completion:
        """Return the model's reply; see `agent.models.protocol.Model`."""
        if request.tools and request.schema is not None:
            raise ValueError("a reply fits a schema or calls functions, not both")
        parts = [part for m in request.messages if isinstance(content := m.get("content"), list) for part in content]
        has_pictures = any(part.get("type") == "image_url" for part in parts)
        if has_pictures and self.known.is_blind:
            raise PicturesRefusedError(f"{self.name} does not accept pictures", remedy=_NO_PICTURES)
        try:
            return await climb(partial(self._ask, request, has_pictures=has_pictures), *self._ladder(request))
        except Failure as failure:
            error = failure.error(models=await _known_models(failure))
            if has_pictures and (failure.kind is Kind.REFUSED or failure.status == 413):
                # The pictures may be the cause. The caller tries again without them, and that shows if they were.
                raise PicturesRefusedError(error.message, remedy=error.remedy) from None
            raise error from None

    def _ladder(self, request: Request) -> Ladder:
        """Return the arguments of `climb` for this request."""
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
            messages = without_native_calls(messages)
        if schema is None:
            return RUNGS[:1], lambda _: RungRequest(messages), RUNGS[0], lambda *_: None
        return (
            RUNGS[1:],
            lambda rung: structured_request(messages, schema, rung, enforced=self.enforced),
            known.rung,
            lambda rung, _: self._learn(rung=rung),
        )

    async def _ask(self, request: Request, step: RungRequest, *, has_pictures: bool) -> Completion:
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
            response = await self._send(body, shown if step.streams else None)
        except Failure as failure:
            if not (has_pictures and failure.is_about_pictures):
                raise
            self._learn(is_blind=True)
            raise PicturesRefusedError(failure.error().message, remedy=_NO_PICTURES) from None
        completion = read_completion(response, self.wire.endpoint, self.price)
        if shown:
            with contextlib.suppress(NoJsonError):  # the caller reads the reply again, and gets the error
                shown.end(completion.text if request.schema is not None else step.read(completion).text)
        return completion

    async def aclose(self) -> None:
        """Close all connections."""
        await self.wire.aclose()

    @property
    def known(self) -> ModelTraits:
        """Known features and limits of the endpoint."""
        known = self.traits.get(self.wire.endpoint)
        return replace(known, rung="schema") if self.enforced else known

    def forget(self) -> None:
        """Forget the endpoint's traits, so that they are tested again."""
        self.traits.set(self.wire.endpoint, ModelTraits())

    def _learn(self, **changes: Any) -> None:
        endpoint = self.wire.endpoint
        self.traits.set(endpoint, replace(self.traits.get(endpoint), **changes))

    async def _send(self, body: Body, shown: ShownText | None) -> dict[str, Any]:
        """Send a request with retries. If the endpoint refuses a part of it, send it again without that part."""
        applied, guessed = Restrictions(), Restrictions()

        def call() -> Any:
            if shown is not None:
                shown.begin()
            return self.wire.send(fitted, shown)

        while True:
            known = self.known
            fitted = fitted_body(
                {"model": self.wire.endpoint.model, **body},
                applied | Restrictions(frozenset(known.without), known.most_output),
                streamed=shown is not None,
            )
            with PAUSE.get()() if self.slots.locked() else contextlib.nullcontext():
                await self.slots.acquire()
            try:
                response: dict[str, Any] = await retrying(call, self.retry, self.notify)
            except Failure as failure:
                refused = restrictions_after(failure, fitted)
                if refused is None or applied | refused.restrictions == applied:
                    raise
                applied |= refused.restrictions
                if refused.is_explicit:
                    self._learn_restrictions(refused.restrictions)
                else:
                    guessed |= refused.restrictions
                continue
            finally:
                self.slots.release()
            if guessed != Restrictions():
                if guessed in self.suspected:
                    self._learn_restrictions(guessed)
                self.suspected.append(guessed)
            return response

    def _learn_restrictions(self, restrictions: Restrictions) -> None:
        known = self.traits.get(self.wire.endpoint)
        without = tuple(dict.fromkeys([*known.without, *sorted(restrictions.without)]))
        self._learn(without=without, most_output=restrictions.most_output or known.most_output)


async def _known_models(failure: Failure) -> list[str]:
    """Return up to five models of the endpoint, those with similar names first."""
    if failure.kind is not Kind.UNKNOWN_MODEL:
        return []
    names = (await asyncio.to_thread(list_models, failure.endpoint)).names
    alike = difflib.get_close_matches(failure.endpoint.model, names, n=5, cutoff=0.4)
    return [*dict.fromkeys([*alike, *names])][:5]
