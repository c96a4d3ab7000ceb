"""A model that plays a list of actions on pages: for tests and demonstrations of the browser specialist.

An action names its element by role and name: `{"do": "click", "role": "button", "name": "Send"}`; `text` is what is
typed, `option` what is selected, `answer` what `done` answers. The model is asked the specialist's own small questions,
and answers them in their form. What a rule did already, or what is not possible, is passed over.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from agent.errors import ModelError
from agent.models.protocol import Completion, Message, Request, Usage

_ELEMENT = re.compile(r'\[(\d+)\] ([\w-]+)(?: "([^"]*)")?')


class PlayedModel:
    """Plays actions, one for each step that it is asked for."""

    def __init__(self, actions: Sequence[dict[str, str]]) -> None:
        self._left = list(actions)
        self._text = ""
        self._played: Counter[str] = Counter()

    @property
    def name(self) -> str:
        """`played`."""
        return "played"

    async def complete(self, request: Request) -> Completion:
        """The next action, or the text of the last one; see `agent.models.protocol.Model`.

        Raises:
            ModelError: The actions are used up.
        """
        schema = request.schema
        value: Any = "fact" if schema is not None and "fact" in schema.get("enum", ()) else self._text
        if schema is not None and "properties" in schema:
            following = self._next(str(request.messages[-1]["content"]), schema)
            value = {"found": self._text if following == "done" else "", "next": following}
        return Completion(json.dumps(value), Usage(calls=1), value, model=self.name)

    async def ask(self, messages: Sequence[Message], schema: dict[str, Any] | None = None, **_: object) -> Completion:
        """Asks it as a run asks, which counts the call."""
        return await self.complete(Request(messages, schema))

    async def aclose(self) -> None:
        """Nothing is open."""

    def _next(self, shown: str, schema: dict[str, Any]) -> str:
        possible: list[str] = schema["properties"]["next"]["enum"]
        told = shown.partition("\nDone: ")[2].partition("\n")[0]
        while self._left:
            action = self._left.pop(0)
            if (described := _described(action)) and told.count(described) > self._played[described]:
                self._played[described] += 1
                continue  # a rule did it
            self._text = next((action[name] for name in ("text", "option", "answer") if name in action), "")
            for number in _numbers(shown, action):
                if (wanted := f"{action['do']} {number}".strip()) in possible:
                    self._played[described] += 1
                    return wanted
        raise ModelError(f"no action is left to play on {shown[-800:]!r}")


def _described(action: dict[str, str]) -> str:
    """How the specialist tells the model of it; empty for what has no element."""
    if "name" not in action:
        return ""
    before = {"type": "into", "select": "in"}.get(action["do"], action["do"])
    return f'{before} {action["role"]} "{action["name"]}"'


def _numbers(shown: str, action: dict[str, str]) -> list[str]:
    """The numbers of the elements that an action may mean, the best first; an empty one for what needs none."""
    if "name" not in action:
        return [""]
    wanted, page = action["name"].casefold(), shown.rpartition("<data")[2]
    found = [
        (name.casefold() != wanted, number)
        for number, role, name in _ELEMENT.findall(page)
        if role == action.get("role", role) and wanted in name.casefold()
    ]
    return [number for _, number in sorted(found)]
