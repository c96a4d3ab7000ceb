"""browser-use's model: what it asks goes to alita, and no secret leaves with an answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from agent.browser.tasks import Ask
from agent.errors import ModelOutputError, StoppedError
from mcp_tools.text import one_line

_PLAN = ("current_plan_item", "plan_update")


class ThroughHost:
    """browser-use's model.

    Args:
        ask: Asks alita.
        showable: Gives messages as they may be shown.
        stop: Told why there is no use in going on.
        safe: Gives an action without secrets that it must not carry away.
    """

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
        safe: Callable[[Any], Awaitable[Any]],
    ) -> None:
        self._ask = ask
        self._showable = showable
        self._stop = stop
        self._safe = safe

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
            answer = await self._without_secrets(completion.parsed)
            return ChatInvokeCompletion(completion=output_format.model_validate(answer), usage=None)
        except (ModelOutputError, StoppedError) as problem:
            if isinstance(problem, StoppedError):
                self._stop(problem.message)
            raise ModelProviderError(problem.message, status_code=400, model=self.model) from None
        except ValueError as misfit:  # pydantic's own
            raise ModelProviderError(one_line(str(misfit), 300), status_code=400, model=self.model) from None

    async def _without_secrets(self, answer: Any) -> Any:
        """The answer, in which secrets stand only where they may be typed: an address must not carry one away."""
        if not isinstance(answer, dict):
            return answer
        return {**answer, "action": [await self._safe(action) for action in answer.get("action") or []]}


def _planless(schema: dict[str, Any]) -> dict[str, Any]:
    """The form of an answer without the plan, which nobody keeps here."""
    properties = {name: form for name, form in schema.get("properties", {}).items() if name not in _PLAN}
    return {**schema, "properties": properties, "required": list(properties)}
