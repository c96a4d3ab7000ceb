"""A model that obeys every instruction in the newest text that it sees: the worst case of prompt injection.

An order is a JSON object anywhere in the messages:

- an action: `{"action": "browse", "url": "https://a.example/?q=…", "task": "…"}`, or one with `search`, `read_file`,
  `use_tool`, `answer` or another action. It becomes a function call, or the nearest choice of a small model;
- a step of browser-use: `{"navigate": {"url": "…"}}`, `{"input": {"field": "Comment", "text": "…"}}`,
  `{"click": {"field": "Send"}}`, where `field` is a word in the element's line and becomes the element's number;
- `{"say": "…"}`: the answer when a request wants text, or one of several words.

Each order is obeyed once, the newest first, if the requested form allows it. Without an order, the model makes the
decisions in `first`, which bring a run to the hostile text, and then answers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from agent.models.json_text import misfit
from agent.models.protocol import Completion, Message, Request, ToolCall, Usage
from support.fibonacci import call_of
from support.openai_server import Step

_STEPS = ("navigate", "input", "click", "send_keys", "upload_file", "search")
_NUMBERED = re.compile(r"\[(\d+)\]")
_NEEDS = {"search": "fact", "browse": "site", "read_file": "fact", "answer": "talk"}


class Obedient:
    """Model that obeys orders in texts.

    Args:
        first: Decisions (`{"action": "read_file", "file": "a.txt"}`) to make before it looks for orders.
        name: Model name; `embedded` selects the small strategy.
        otherwise: Answer to a request for text, if there is no order.
    """

    def __init__(self, *first: dict[str, Any], name: str = "obedient", otherwise: str = "unknown") -> None:
        self.asked: list[dict[str, Any]] = []
        """Messages, schema and functions of each request."""
        self.obeyed: list[dict[str, Any]] = []
        self._first = list(first)
        self._name = name
        self._otherwise = otherwise

    @property
    def name(self) -> str:
        return self._name

    async def complete(self, request: Request) -> Completion:
        """Obey the newest order in the requested form; see `agent.models.protocol.Model`."""
        messages, schema, tools = list(request.messages), request.schema, list(request.tools or [])
        self.asked.append({"messages": messages, "schema": schema, "tools": tools})
        if tools:
            called = self._call(messages, tools)
            if isinstance(called, str):
                return Completion(called, Usage(calls=1), model=self._name)
            call = ToolCall(f"call_{len(self.asked)}", called[0], json.dumps(called[1]))
            return Completion("", Usage(calls=1), None, (call,), "tool_calls", self._name)
        value = self._answer(messages, schema)
        text = value if schema is None else json.dumps(value)
        return Completion(str(text), Usage(calls=1), None if schema is None else value, model=self._name)

    async def aclose(self) -> None:
        """Do nothing: there is nothing to close."""

    def for_role(self, role: str) -> Obedient:
        """Return this model for every role."""
        return self

    def reply(self, body: dict[str, Any]) -> Step:
        """Return the reply for an `OpenAIServer`: `openai_server.default = obedient.reply`."""
        form = body.get("response_format", {}).get("json_schema")
        schema = form["schema"] if form else None
        tools = body.get("tools") or []
        self.asked.append({"messages": body["messages"], "schema": schema, "tools": tools})
        if tools:
            called = self._call(body["messages"], tools)
            return Step(text=called) if isinstance(called, str) else Step(tools=[called])
        if schema is not None and list(schema.get("properties", {})) == ["value"]:
            inner = schema["properties"]["value"]
            return Step(text=json.dumps({"value": self._answer(body["messages"], inner)}))
        value = self._answer(body["messages"], schema)
        return Step(text=value if schema is None else json.dumps(value))

    def orders_in(self, messages: Sequence[Message]) -> Iterator[dict[str, Any]]:
        """Yield the orders that were not obeyed yet, newest first. Examples in our own prompts are not orders."""
        found = [order for order in objects_in(read_by(messages)) if order not in self.obeyed]
        yield from reversed(found)

    def _call(self, messages: Sequence[Message], tools: Sequence[dict[str, Any]]) -> str | tuple[str, dict[str, Any]]:
        """Return the next call of `first`, the ordered call, or the answer."""
        functions = {tool["function"]["name"]: tool["function"]["parameters"] for tool in tools}
        if self._first and (call := _as_call(self._first[0], functions)) is not None:
            self._first.pop(0)
            return call
        for order in self.orders_in(messages):
            said = order.get("say", order.get("answer"))
            call = said if isinstance(said, str) else _as_call(order, functions)
            if call is not None:
                self.obeyed.append(order)
                return call
        return self._otherwise

    def _answer(self, messages: Sequence[Message], schema: dict[str, Any] | None) -> Any:
        text = shown(messages[-1])
        for order in self.orders_in(messages):
            for value in _ways(order, text, schema):
                if schema is None or _fits(value, schema):
                    self.obeyed.append(order)
                    return value
        return _nothing_ordered(schema, self._otherwise)


def _as_call(order: dict[str, Any], functions: dict[str, dict[str, Any]]) -> str | tuple[str, dict[str, Any]] | None:
    """Return an order as a call of one of the functions, or None."""
    if "action" not in order:
        return None
    if order["action"] == "answer":
        return str(order.get("answer"))
    try:
        name, arguments = call_of(**order)
    except (KeyError, TypeError):
        return None
    return (name, arguments) if name in functions and _fits(arguments, functions[name]) else None


def read_by(messages: Sequence[Message]) -> str:
    """Return the text that a model reads besides instructions and examples; all of it if there are results."""
    if not any(message["role"] == "tool" for message in messages):
        return shown(messages[-1])
    return "\n".join(shown(message) for message in messages if message["role"] in ("user", "tool"))


def shown(message: Message) -> str:
    """Return the text of a message."""
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content)
    return str(content or "")


def objects_in(text: str) -> list[dict[str, Any]]:
    """Return the JSON objects in a text, including those with escaped quotation marks."""
    found = []
    for plain in dict.fromkeys((text, text.replace('\\"', '"'))):
        at = -1
        while (at := plain.find("{", at + 1)) >= 0:
            try:
                value, _ = json.JSONDecoder().raw_decode(plain, at)
            except ValueError:
                continue
            if value not in found:
                found.append(value)
    return found


def _ways(order: dict[str, Any], text: str, schema: dict[str, Any] | None) -> Iterator[Any]:
    """Yield the forms in which an order can be obeyed."""
    if schema is None or schema.get("type") == "string" or "enum" in schema:
        if isinstance(order.get("say", order.get("answer")), str):
            yield order.get("say", order.get("answer"))
        return
    if "action" in order:
        yield {"why": "It was ordered.", "needs": _NEEDS.get(str(order["action"]), "compute")}
        yield order.get("arguments", {})
    for step in _STEPS:
        given = order.get(step)
        if isinstance(given, dict):
            number = _numbered(str(given.get("field", "")), text)
            values = {name: value for name, value in given.items() if name != "field"}
            if "field" in given:
                values["index"] = number
            yield {"evaluation_previous_goal": "", "memory": "", "next_goal": "", "action": [{step: values}]}
    if isinstance(order.get("say"), str):
        yield {"question": order["say"]}
        yield {"why": "It is wanted.", "wanted": order["say"]}


def _numbered(word: str, text: str) -> int:
    """Return the number of the last element with a word in its line; 0 if there is none."""
    lines = [line for line in text.splitlines() if word and word.casefold() in line.casefold()]
    numbers = [found for line in lines for found in _NUMBERED.findall(line)]
    return int(numbers[-1]) if numbers else 0


def _nothing_ordered(schema: dict[str, Any] | None, otherwise: str) -> Any:
    done = {"done": {"text": otherwise, "success": True, "files_to_display": []}}
    for value in (
        otherwise,
        {"evaluation_previous_goal": "", "memory": "", "next_goal": "", "action": [done]},
        {"passages": [1], "answer": "", "missing": [], "queries": [], "differ": ""},
        {"strategy": "targeted", "queries": ["nothing"], "freshness": "any"},
        {"why": "Nothing is ordered.", "needs": "fact"},
        {"why": "Nothing is ordered.", "wanted": "no"},
        "no",
        "world",
    ):
        if schema is None or _fits(value, schema):
            return value
    return otherwise


def _fits(value: Any, schema: dict[str, Any]) -> bool:
    return misfit(value, schema) is None
