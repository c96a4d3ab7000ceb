"""Chromium, started by Playwright with a profile of its own, and ended with whoever started it.

Playwright speaks to it through a pipe: when either end dies, however it dies, so does the other.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.browser.tasks import Ask
from agent.errors import ModelOutputError, StoppedError
from agent.web.chromium import FLAGS, SANDBOXES, UNSANDBOXED
from agent.web.page import WebProblem
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext


PORT_FILE = "DevToolsActivePort"
_START_SECONDS = 60
_PREFERENCES: dict[str, Any] = {
    "signin": {"allowed": False, "allowed_on_next_startup": False},
    "autofill": {"enabled": False, "profile_enabled": False, "credit_card_enabled": False},
    "credentials_enable_service": False,
    "safebrowsing": {"enabled": False},
    "search": {"suggest_enabled": False},
    "net": {"network_prediction_options": 2},
    "translate": {"enabled": False},
    "plugins": {"always_open_pdf_externally": True},
}
ARRIVING = "arriving"
"""The folder in the profile into which downloads come."""
_LONGEST_FOR_SOCKETS = 60
"""Characters of a folder in which Chromium can make its socket, whose path has at most 107."""
_SIZE = {"width": 1280, "height": 900}


@asynccontextmanager
async def launched(
    chrome: Path,
    profile: Path,
    *,
    proxy: str = "",
    port: bool = False,
    note: Callable[[str], None] = lambda _: None,
) -> AsyncIterator[BrowserContext]:
    """A browser with an empty profile.

    Args:
        chrome: The program.
        profile: A folder of its own, which the caller removes.
        proxy: Through which every request goes, those to this machine too.
        port: Let others drive it too, through a port of this machine; the profile's `DevToolsActivePort` names it.
        note: Told what the user should know of it.

    Raises:
        WebProblem: It does not start.
    """
    from playwright.async_api import Error, async_playwright

    preferences = profile / "Default" / "Preferences"  # which the browser reads when it starts
    preferences.parent.mkdir(parents=True, exist_ok=True)
    preferences.write_text(json.dumps(_PREFERENCES))
    async with async_playwright() as playwright:
        options: dict[str, Any] = {
            "executable_path": str(chrome),
            "headless": True,
            "args": [*FLAGS, *(["--remote-debugging-port=0"] if port else [])],
            "env": _environment(profile),
            "viewport": _SIZE,
            "timeout": _START_SECONDS * 1000,
            "accept_downloads": True,
            "downloads_path": str(profile / ARRIVING),
            **({"proxy": {"server": proxy, "bypass": "<-loopback>"}} if proxy else {}),
        }
        for has_sandbox in SANDBOXES:
            try:
                context = await playwright.chromium.launch_persistent_context(
                    profile, chromium_sandbox=has_sandbox, **options
                )
                break
            except Error as error:
                if has_sandbox == SANDBOXES[-1]:
                    raise not_started(chrome, error.message) from None
        if not has_sandbox:
            note(UNSANDBOXED)
        try:
            yield context
        finally:
            with contextlib.suppress(Error, TimeoutError):
                await asyncio.wait_for(context.close(), 5)


def not_started(chrome: Path, why: str) -> WebProblem:
    """The problem of a browser that does not start."""
    lines = [line for line in why.splitlines() if line.strip() and not line.startswith(("Call log", "╔", "║", "╚"))]
    return WebProblem(
        "browser",
        f"the browser {chrome} does not start: {one_line(' '.join(lines[:2]), 200)}",
        remedy="Name another Chromium with ALITA_CHROME, or install one: apt-get install chromium",
    )


def _environment(profile: Path) -> dict[str, str | float | bool]:
    """Without keys, and with a home that goes with the profile."""
    kept: dict[str, str | float | bool] = {
        name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "TZ") if name in os.environ
    }
    temporary = {"TMPDIR": str(profile)} if len(str(profile)) <= _LONGEST_FOR_SOCKETS else {}
    return {**kept, "HOME": str(profile), **temporary}


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
