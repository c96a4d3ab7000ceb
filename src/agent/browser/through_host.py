"""browser-use's model: what it asks goes to alita, and no secret leaves with an answer."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from typing import Any

from agent.browser.protocol import Ask
from agent.errors import ModelOutputError, StoppedError
from mcp_tools.text import one_line

_PLAN = ("current_plan_item", "plan_update")
_SECRET = re.compile(r"</?secret>|login_(?:user|password)")


class ThroughHost:
    """browser-use's model: what it asks goes to alita."""

    _verified_api_keys = True
    model = "alita"
    provider = "alita"
    name = "alita"
    model_name = "alita"

    def __init__(
        self,
        ask: Ask,
        showable: Callable[[list[dict[str, Any]]], Awaitable[list[dict[str, Any]]]],
        stop: Callable[[str], None],
        may_log_in: Callable[[], bool],
    ) -> None:
        self._ask = ask
        self._showable = showable
        self._stop = stop
        self._may_log_in = may_log_in

    async def ainvoke(self, messages: list[Any], output_format: Any = None, **_: Any) -> Any:
        """Asks; see `browser_use.llm.base.BaseChatModel`."""
        from browser_use.llm.exceptions import ModelProviderError
        from browser_use.llm.openai.serializer import OpenAIMessageSerializer
        from browser_use.llm.schema import SchemaOptimizer
        from browser_use.llm.views import ChatInvokeCompletion

        told = [dict(message) for message in OpenAIMessageSerializer.serialize_messages(messages)]
        schema = _planless(SchemaOptimizer.create_optimized_json_schema(output_format)) if output_format else None
        try:
            completion = await self._ask(await self._showable(told), schema=schema, temperature=0)
            if output_format is None:
                return ChatInvokeCompletion(completion=completion.text, usage=None)
            answer = _safe(completion.parsed, may_log_in=self._may_log_in())
            return ChatInvokeCompletion(completion=output_format.model_validate(answer), usage=None)
        except (ModelOutputError, StoppedError) as problem:
            if isinstance(problem, StoppedError):
                self._stop(problem.message)
            raise ModelProviderError(problem.message, status_code=400, model=self.model) from None
        except ValueError as misfit:  # pydantic's own
            raise ModelProviderError(one_line(str(misfit), 300), status_code=400, model=self.model) from None


def _planless(schema: dict[str, Any]) -> dict[str, Any]:
    """The form of an answer without the plan, which nobody keeps here."""
    properties = {name: form for name, form in schema.get("properties", {}).items() if name not in _PLAN}
    return {**schema, "properties": properties, "required": list(properties)}


def _safe(answer: Any, *, may_log_in: bool) -> Any:
    """The answer, in which secrets stand in what is typed and nowhere else: an address must not carry one away.

    Where nobody may log in they stand in nothing.
    """
    if not isinstance(answer, dict):
        return answer
    actions = [
        action
        if may_log_in and isinstance(action, dict) and "input" in action
        else json.loads(_SECRET.sub("", json.dumps(action)))
        for action in answer.get("action") or []
    ]
    return {**answer, "action": actions}
