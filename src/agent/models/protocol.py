"""The seam of models: messages in, a completion with usage out; what usage costs, and the names that models have."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, Protocol

Message = dict[str, Any]
"""One Chat Completions message: role, content, and what the role allows besides."""


Finish = Literal["stop", "length", "tool_calls", "content_filter"]
ToolChoice = Literal["auto", "required"]
"""True if a model may reply without a call, or must call at least one function."""
StrategyName = Literal["auto", "standard", "small"]
"""`auto`: small for the embedded model, standard for every other one."""
EMBEDDED = "embedded"
FIRST_LISTED = "auto"
"""The first model that the endpoint lists."""
OPENAI_URL = "https://api.openai.com/v1"
GEMINI_URL = "https://generativelanguage.googleapis.com/v1beta/openai"
SCRIPTED = "scripted:"
_UNREADABLE = 2_000


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and cost of a call. Adding two gives the sum; an unknown price stays unknown."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    """Input tokens served from the provider's prompt cache."""
    calls: int = 0
    cost: float | None = 0.0
    """US dollars; None when the model's price is unknown."""

    def __add__(self, other: Usage) -> Usage:
        known = self.cost is not None and other.cost is not None
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            self.calls + other.calls,
            (self.cost or 0.0) + (other.cost or 0.0) if known else None,
        )

    @property
    def cost_text(self) -> str:
        """Money in words; an unknown price is shown as unknown, never as nothing."""
        if self.cost is None:
            return "cost unknown"
        return f"${self.cost:.4f}" if self.cost else "no cost"


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens."""

    input: float
    output: float
    cached: float | None = None
    """Price of input tokens read from the provider's cache; None if they cost like others."""

    def cost(self, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> float:
        """US dollars for one call; `cached_tokens` are among `input_tokens`."""
        cached = min(cached_tokens, input_tokens)
        cached_price = self.input if self.cached is None else self.cached
        return ((input_tokens - cached) * self.input + cached * cached_price + output_tokens * self.output) / 1_000_000


FREE = Price(0.0, 0.0)
_DATED = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{8}|latest|preview(-[\d-]+)?)$")


@cache
def price_of(model: str) -> Price | None:
    """The list price of a well-known model; None if it is unknown, which does not mean free.

    The name may have a provider and a date: `openai/gpt-4o-2024-08-06`.
    """
    table = json.loads(Path(__file__).with_name("prices.json").read_text())["models"]
    name = model.rpartition("/")[2].lower()
    found = table.get(name) or table.get(_DATED.sub("", name))
    return Price(**found) if found else None


@dataclass(frozen=True, slots=True)
class Request:
    """A request to a model."""

    messages: Sequence[Message]
    """Oldest first, with earlier calls and their results in native form."""
    schema: dict[str, Any] | None = None
    """JSON Schema that `parsed` must fit; the implementation climbs down its ladder to get it."""
    tools: Sequence[dict[str, Any]] | None = None
    """Chat Completions definitions of functions.

    `tool_calls` holds the calls on every kind of endpoint; a reply without calls is `text`. Not together with a
    schema.
    """
    tool_choice: ToolChoice = "auto"
    max_tokens: int | None = None
    temperature: float | None = None
    """0 for the likeliest answer."""
    seed: int | None = None
    """For a repeatable sample."""
    stop: Sequence[str] | None = None
    """Texts that end the output."""
    on_delta: Callable[[str], None] | None = None
    """Called with each piece of text as it arrives; with a schema, of its JSON; of calls nothing."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that the model asks for."""

    id: str
    """Unique in its conversation; the message with the result names it."""
    name: str
    arguments: str
    """JSON text of an object that fits the function's schema; if there is a problem, the model's text."""
    problem: str = ""
    """Why the call cannot be made, for the model to read: no such function, no JSON, arguments that do not fit."""

    @classmethod
    def of(cls, own: str, name: object, arguments: object) -> ToolCall:
        """A call as an endpoint or a text gives it: its arguments are JSON text, or the object itself."""
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        return cls(own, str(name), text)

    @property
    def values(self) -> dict[str, Any]:
        """The arguments by name, of a call without a problem."""
        values: dict[str, Any] = json.loads(self.arguments)
        return values


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's reply."""

    text: str
    usage: Usage = field(default_factory=Usage)
    parsed: Any = None
    """The JSON value, when a schema was asked for; it fits the schema."""
    tool_calls: tuple[ToolCall, ...] = ()
    finish: Finish = "stop"
    model: str = ""
    """The endpoint's name for it."""
    by: str = ""
    """The user's name for the model that answered; empty if only one was asked."""

    def as_message(self) -> Message:
        """Return the reply as a message of the conversation; the next messages answer its calls."""
        message: Message = {"role": "assistant", "content": self.text or (None if self.tool_calls else "")}
        for call in self.tool_calls:
            arguments = call.arguments
            try:
                readable = isinstance(json.loads(arguments), dict)
            except (ValueError, RecursionError):
                readable = False
            if not readable:  # templates read them: what is no JSON would make every later request fail
                arguments = json.dumps({"not_json": arguments[:_UNREADABLE]})
            function = {"name": call.name, "arguments": arguments}
            message.setdefault("tool_calls", []).append({"id": call.id, "type": "function", "function": function})
        return message


class Model(Protocol):
    """Anything that completes messages."""

    @property
    def name(self) -> str:
        """The user's name for it: `gpt-5-mini`, `embedded`, `scripted:FILE`."""

    async def complete(self, request: Request) -> Completion:
        """Completes messages.

        Raises:
                agent.errors.ModelError: The endpoint failed after its retries, or no rung of the ladder held.
                agent.errors.ModelOutputError: The output does not fit the schema, or a required call is missing.
        """

    async def aclose(self) -> None:
        """Closes connections."""


class Role:
    """Names of the roles that may use different models."""

    CONVERSATION = "conversation"
    PLANNER = "planner"
    COORDINATOR = "coordinator"
    WRITER = "writer"
    EXAMINER = "examiner"
    VISION = "vision"
    MEDIA = "media"
    BROWSER = "browser"
    OVERSEER = "overseer"


ROLES: tuple[str, ...] = tuple(value for name, value in vars(Role).items() if name.isupper())
