"""The interface of every model: a request goes in, a completion with its token usage comes out.

Also prices per model and the reserved model names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, Protocol

Message = dict[str, Any]
"""One Chat Completions message: `role`, `content`, and the role's other keys."""


Finish = Literal["stop", "length", "tool_calls", "content_filter"]
ToolChoice = Literal["auto", "required"]
"""`auto` also allows a reply without calls; `required` demands at least one call."""
StrategyName = Literal["auto", "standard", "small"]
"""`auto` picks `small` for the embedded model and `standard` for all others."""
EMBEDDED = "embedded"
FIRST_LISTED = "auto"
"""Model name that stands for the first model in the endpoint's list."""
OPENAI_URL = "https://api.openai.com/v1"
GEMINI_URL = "https://generativelanguage.googleapis.com/v1beta/openai"
SCRIPTED = "scripted:"
_MAX_INVALID_CHARS = 2_000


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and cost of one call or several.

    Usages can be added. If the cost of one is unknown, the cost of the sum is unknown too.

    Example:
        >>> Usage(100, 20, calls=1, cost=0.5) + Usage(50, 5, calls=1, cost=None)
        Usage(input_tokens=150, output_tokens=25, cached_tokens=0, calls=2, cost=None)
    """

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
        """The cost for display: `$0.0123`, `no cost` or `cost unknown`."""
        if self.cost is None:
            return "cost unknown"
        return f"${self.cost:.4f}" if self.cost else "no cost"


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens."""

    input: float
    output: float
    cached: float | None = None
    """Price of input tokens read from the provider's cache; None if there is no discount."""

    def cost(self, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> float:
        """Return the cost of one call in US dollars. `input_tokens` includes `cached_tokens`."""
        cached = min(cached_tokens, input_tokens)
        cached_price = self.input if self.cached is None else self.cached
        return ((input_tokens - cached) * self.input + cached * cached_price + output_tokens * self.output) / 1_000_000


FREE = Price(0.0, 0.0)
_DATED = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{8}|latest|preview(-[\d-]+)?)$")


@cache
def price_of(model: str) -> Price | None:
    """Return the list price of a well-known model, or None if the price is unknown.

    The name may include a provider and a date: `openai/gpt-4o-2024-08-06`.
    """
    table = json.loads(Path(__file__).with_name("prices.json").read_text())["models"]
    name = model.rpartition("/")[2].lower()
    found = table.get(name) or table.get(_DATED.sub("", name))
    return Price(**found) if found else None


@dataclass(frozen=True, slots=True)
class Request:
    """A request to a model."""

    messages: Sequence[Message]
    """Oldest first. Earlier calls and their results use `tool_calls` and `tool` messages."""
    schema: dict[str, Any] | None = None
    """JSON Schema that `Completion.parsed` must match."""
    tools: Sequence[dict[str, Any]] | None = None
    """Functions that the model may call, as Chat Completions definitions. Cannot be combined with a schema.

    The calls arrive in `Completion.tool_calls`, even if the endpoint does not support functions.
    """
    tool_choice: ToolChoice = "auto"
    max_tokens: int | None = None
    temperature: float | None = None
    seed: int | None = None
    stop: Sequence[str] | None = None
    """The output ends before any of these texts."""
    on_delta: Callable[[str], None] | None = None
    """Called with each piece of text (with a schema: of JSON) as it arrives. Function calls are left out."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A function call in a model's reply."""

    id: str
    """Unique in its conversation. The message with the result repeats it."""
    name: str
    arguments: str
    """A JSON object that matches the function's schema. If `problem` is set, the text as the model wrote it."""
    problem: str = ""
    """The reason why the call cannot be made, written for the model. Empty for a valid call."""

    @classmethod
    def of(cls, call_id: str, name: object, arguments: object) -> ToolCall:
        """Build a call. `arguments` is JSON text, or the object itself."""
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        return cls(call_id, str(name), text)

    @property
    def values(self) -> dict[str, Any]:
        """The arguments by name. Only valid if `problem` is empty."""
        values: dict[str, Any] = json.loads(self.arguments)
        return values


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's reply."""

    text: str
    usage: Usage = field(default_factory=Usage)
    parsed: Any = None
    """The JSON value that matches the request's schema; None without a schema."""
    tool_calls: tuple[ToolCall, ...] = ()
    finish: Finish = "stop"
    model: str = ""
    """The endpoint's name of the model."""
    by: str = ""
    """The configured name of the model that answered; empty if there are no fallbacks."""

    def as_message(self) -> Message:
        """Return the reply as an assistant message. If it has calls, their results must follow it."""
        message: Message = {"role": "assistant", "content": self.text or (None if self.tool_calls else "")}
        for call in self.tool_calls:
            arguments = call.arguments
            try:
                readable = isinstance(json.loads(arguments), dict)
            except (ValueError, RecursionError):
                readable = False
            if not readable:  # chat templates parse the arguments: invalid JSON would break every later request
                arguments = json.dumps({"not_json": arguments[:_MAX_INVALID_CHARS]})
            function = {"name": call.name, "arguments": arguments}
            message.setdefault("tool_calls", []).append({"id": call.id, "type": "function", "function": function})
        return message


class Model(Protocol):
    """Anything that completes messages."""

    @property
    def name(self) -> str:
        """The configured name: `gpt-5-mini`, `embedded`, `scripted:FILE`."""

    async def complete(self, request: Request) -> Completion:
        """Return the model's reply.

        Example:
            >>> model = ScriptedModel(["4"])
            >>> completion = await model.complete(Request([{"role": "user", "content": "What is 2 + 2?"}]))
            >>> completion.text
            '4'

        Raises:
            agent.errors.ModelError: The endpoint still failed after all retries.
            agent.errors.ModelOutputError: The output does not match the schema, or a required call is missing.
        """

    async def aclose(self) -> None:
        """Close all connections."""


class Role:
    """The parts of a run that can each use a different model."""

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
