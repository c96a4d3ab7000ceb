"""browser-use, driving the browser that we started: a strong model's way of operating a site.

Its model is alita's, asked through the pipe; its browser is ours, behind our proxy. What it would do besides is off:
telemetry, a judge, extensions, files, scripts in pages.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import logging
import math
import os
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from agent.browser.launching import PORT_FILE, ThroughHost
from agent.browser.logins import TypedSecrets, hidden, login_rule, sensitive_data, without_logins
from agent.browser.tabs import LARGEST, TabInUse, Tabs, keep_picture, largest_in
from agent.browser.tasks import Ask, Outcome, Task, Tell
from agent.consent.provenance import FINE, Verdict, of_address, of_typed
from agent.errors import ModelOutputError, StoppedError
from agent.events import ActionRefused, BrowserStepped
from mcp_tools.prompt import data_block, load_prompt
from mcp_tools.text import one_line, printable

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Page

    from agent.web.proxy import GuardedProxy


_QUIET = {
    "ANONYMIZED_TELEMETRY": "false",
    "BROWSER_USE_CLOUD_SYNC": "false",
    "BROWSER_USE_VERSION_CHECK": "false",
    "BROWSER_USE_SETUP_LOGGING": "false",
    "SKIP_LLM_API_KEY_VERIFICATION": "true",
}
_WITHOUT = ["write_file", "replace_file", "read_file", "evaluate", "upload_file", "search", "save_as_pdf"]
"""What it may not do: touch files, run scripts in pages, ask a search engine of its own choice."""
_TYPING = frozenset({"input", "send_keys"})
_LINKS = "Array.from(document.links, link => link.href).slice(0, 5000)"
_FAILURES = 3
"""Answers of the model in a row that cannot be used."""
_END = r"\n</(browser_state|read_state|webpage_content)>"
_FROM_PAGES = re.compile(rf"<(agent_history|browser_state|webpage_content)>\n(.*){_END}", re.DOTALL)
"""The part of a message that pages have written in, from its first to its last mark: a page may write marks, too."""
_BETWEEN = ("\n</agent_history>", "<agent_state>", "</agent_state>", "<browser_state>")
_HISTORY_AND_PAGE = re.compile(
    r"(.*)\n</agent_history>\n\n<agent_state>(.*)</agent_state>\n<browser_state>\n(.*)", re.DOTALL
)
"""What was done, how the task stands in the agent's own words, and what the page shows."""
_PAGE = re.compile(rf"<(?:browser_state|webpage_content)>\n(.*){_END}", re.DOTALL)
"""What of it the page shows now. What was done before tells in the model's own words what is asked."""
_FILES = re.compile(r"<file_system>\n.*?</todo_contents>\n?", re.DOTALL)
"""What browser-use says of its files, which it cannot use here."""
_LOOKING = 1.0
"""Seconds between two looks at the downloads."""
_ENDING = 5.0
"""Seconds in which browser-use ends when it is told to; it may wait for what never comes."""


class Driven:
    """Does one task in a browser that the caller opened with a port.

    Args:
        context: The browser.
        profile: Its folder, which names the port, and may hold what browser-use writes.
        task: What to do.
        ask: Asks the model.
        tell: Told of each step.
        blocked: Asked before a page is shown to the model.
        proxy: Tells why hosts were not connected to.
        sees: Whether the model reads pictures.
    """

    def __init__(
        self,
        context: BrowserContext,
        profile: Path,
        task: Task,
        ask: Ask,
        tell: Tell,
        blocked: Callable[[str, str], Awaitable[bool]],
        proxy: GuardedProxy,
        *,
        sees: bool = False,
    ) -> None:
        self._context = context
        self._profile = profile
        self._downloads = profile / "downloads"
        self._task = task
        self._ask = ask
        self._tell = tell
        self._blocked = blocked
        self._proxy = proxy
        self._sees = sees
        self._tabs = Tabs(context, task.folder, task.files, may_give=task.origins().names_site)
        self._seen: dict[str, None] = {}
        self._refused: list[ActionRefused] = []
        self._tab = TabInUse(context)
        self._steps: list[BrowserStepped] = []
        self._stopped = ""

    async def run(self) -> Outcome:
        """Goes on until the model is done, or a limit is reached."""
        os.environ.update(_QUIET, BROWSER_USE_CONFIG_DIR=str(self._profile / "browser-use"))
        logging.getLogger("browser_use").setLevel(logging.CRITICAL)
        agent = self._agent()
        self._tab.session = agent.browser_session
        running = asyncio.create_task(agent.run(max_steps=self._task.steps, on_step_end=self._stepped))
        problem = await self._ended(running)
        if problem:
            running.cancel()
            await asyncio.wait({running}, timeout=_ENDING)
        else:
            await running
        await asyncio.to_thread(self._tabs.take_from, self._downloads)
        return await self._outcome(agent.history, problem)

    async def _ended(self, running: asyncio.Task[Any]) -> str:
        """Waits for the end; says why it must be brought about, where it does not come by itself."""
        ends = time.monotonic() + self._task.seconds
        while not running.done():
            if (left := ends - time.monotonic()) <= 0:
                return f"the limit of {self._task.seconds:g} seconds for the browser is reached"
            await asyncio.wait({running}, timeout=min(left, _LOOKING))
            if await asyncio.to_thread(largest_in, self._downloads) > LARGEST:
                return f"a download has more than {LARGEST:,} bytes"
        return ""

    def _agent(self) -> Any:
        from browser_use import Agent, BrowserProfile, BrowserSession, Tools

        task, seconds = self._task, math.ceil(self._task.seconds)
        profile = BrowserProfile(
            headless=True,
            keep_alive=True,  # the browser is the caller's, who closes it
            enable_default_extensions=False,
            highlight_elements=False,
            allowed_domains=[pattern for host in task.hosts for pattern in (host, f"*.{host}")] or None,
            cross_origin_iframes=not task.logins,  # a frame of another host must not be typed a password into
            user_data_dir=str(self._profile),
            downloads_path=str(self._downloads),
        )
        _keep_short_texts()
        tools: Tools[Any] = Tools(exclude_actions=_WITHOUT)
        for name in ("find_elements", "search_page"):
            _show_findings(tools, name)
        secrets = TypedSecrets(self._tab, task.logins)
        port = (self._profile / PORT_FILE).read_text().split()[0]
        return Agent(
            task=task.question,
            llm=cast(Any, ThroughHost(self._ask, self._showable, self._stop, partial(self._safe, secrets))),
            browser_session=BrowserSession(browser_profile=profile, cdp_url=f"http://127.0.0.1:{port}"),
            tools=tools,
            initial_actions=[{"navigate": {"url": task.url, "new_tab": False}}],
            sensitive_data=sensitive_data(task.logins),
            override_system_message=self._system_message(),
            use_vision=self._sees,
            use_judge=False,
            use_thinking=False,
            enable_planning=False,
            max_failures=_FAILURES,
            step_timeout=seconds,
            llm_timeout=seconds,  # the models have limits of their own; one that runs here takes long
            directly_open_url=False,
            enable_signal_handler=False,
            calculate_cost=False,
            display_files_in_done_text=False,
            final_response_after_failure=False,
            file_system_path=str(self._profile),
            generate_gif=False,
            message_compaction=False,
            register_should_stop_callback=self._should_stop,
        )

    def _system_message(self) -> str:
        screen = ", and a screenshot of it" if self._sees else ""
        rules = login_rule(self._task.logins)
        [message] = load_prompt("agent", "browser").render(screen=screen, rules=f"- {rules}" if rules else "")
        return str(message["content"]).strip()

    async def _safe(self, secrets: TypedSecrets, action: Any) -> Any:
        """An action without secrets that do not belong where they stand.

        Raises:
            ModelOutputError: Only a page wants it, or it carries away what is the user's.
        """
        for name, given in action.items() if isinstance(action, dict) else ():
            if (ruled := await self._ruled(name, given or {})) != FINE:
                refused = ActionRefused(hidden(one_line(_told(action), 200), self._task.logins), ruled.why)
                self._refused.append(refused)
                raise ModelOutputError(str(refused))
        return await secrets.safe(action)

    async def _ruled(self, name: str, given: Any) -> Verdict:
        url = given.get("url") if isinstance(given, dict) else None
        typed = (given.get("text") or given.get("keys")) if isinstance(given, dict) else None
        if name in _TYPING and isinstance(typed, str):
            return of_typed(typed, await self._tab.url(self._task.url), self._task.origins())
        if not isinstance(url, str) or name == "done":
            return FINE
        page = await self._tab.page()
        links = await page.evaluate(_LINKS) if page is not None else []
        return of_address(url, self._task.origins(list(self._seen), links))

    def _stop(self, why: str) -> None:
        self._stopped = why

    async def _should_stop(self) -> bool:
        return bool(self._stopped)

    async def _showable(self, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The messages as the model may see them: without secrets, and without pages that are kept from it.

        Raises:
            StoppedError: There is no use in going on.
        """
        if self._stopped:
            raise StoppedError(self._stopped)
        url, text = await self._tab.url(""), _page_text(messages[-1])
        self._seen.setdefault(text)
        messages = [*messages[:-1], _with_marked_page(messages[-1])]
        if url and await self._is_kept(url, text):
            messages = [*messages[:-1], {"role": "user", "content": "This page must not be read. Go back."}]
        return [self._with_places(without_logins(message, self._task.logins)) for message in messages]

    async def _is_kept(self, url: str, text: str) -> bool:
        """Whether a page must not be shown."""
        return not self._task.allows(url) or await self._blocked(url, text)

    def _with_places(self, message: dict[str, Any]) -> dict[str, Any]:
        """The message with the places of its pictures, which become data when they are sent."""
        content, folder = message.get("content"), self._task.folder
        if not isinstance(content, list) or folder is None:
            return message
        return {**message, "content": [_placed(part, folder) for part in content]}

    async def _stepped(self, agent: Any) -> None:
        """Tells of the step that just ended."""
        item = agent.history.history[-1]
        output, results = item.model_output, item.result
        errors = "; ".join(one_line(result.error, 200) for result in results if result.error)
        actions = [one_line(_told(action), 200) for action in output.action] if output else []
        page = await self._tab.page()
        url = page.url if page is not None else item.state.url
        step = BrowserStepped(
            len(self._steps) + 1,
            hidden(url, self._task.logins),
            hidden("; ".join(actions), self._task.logins) or "no action",
            one_line((output.next_goal if output else "") or "", 200),
            ok=not errors,
            message=hidden(errors, self._task.logins),
        )
        if page is not None and self._task.folder is not None and not await self._is_kept(url, await _words_on(page)):
            step = replace(step, picture=await keep_picture(page, self._task.folder, step.step))
        self._steps.append(step)
        self._tell(step)

    async def _outcome(self, history: Any, problem: str) -> Outcome:
        url = await self._tab.url(self._task.url)
        text = hidden(printable(history.final_result() or ""), self._task.logins)
        done = bool(history.is_done())
        if not problem and not done:
            problem = self._why_not(history)
        elif not problem and not history.is_successful():
            problem = "the model says that the task could not be done"
        url = hidden(url, self._task.logins)
        downloads, apart = tuple(self._tabs.downloads), tuple(self._refused)
        return Outcome(text, done and not problem, url, tuple(self._steps), problem, downloads, apart=apart)

    def _why_not(self, history: Any) -> str:
        errors = [hidden(one_line(error, 300), self._task.logins) for error in history.errors() if error]
        if len(self._steps) >= self._task.steps:
            return f"the limit of {self._task.steps} steps of the browser is reached"
        refusal = self._proxy.refusal_of(self._task.url)
        return next(filter(None, [self._stopped, refusal, *errors[-1:]]), "it ended without an answer")


def _keep_short_texts() -> None:
    """Has texts of one character shown, as digits in tables are: browser-use leaves out what is not longer.

    Another character makes each longer, which nobody sees, and which no model is sent.
    """
    from browser_use.dom.serializer.serializer import DOMTreeSerializer
    from browser_use.dom.views import NodeType

    if (begin := DOMTreeSerializer.__init__).__name__ == "begin_longer":
        return

    def begin_longer(serializer: Any, root: Any, *rest: Any, **more: Any) -> None:
        waiting = [root]
        while waiting:
            node = waiting.pop()
            if node.node_type == NodeType.TEXT_NODE and len(node.node_value.strip()) == 1:
                node.node_value += "\u2060"
            waiting += [*(node.children_nodes or ()), *(node.shadow_roots or ())]
            waiting += [node.content_document] if node.content_document else []
        begin(serializer, root, *rest, **more)

    setattr(DOMTreeSerializer, "__init__", begin_longer)  # noqa: B010 - a method cannot be assigned for the checker


def _show_findings(tools: Any, name: str) -> None:
    """Has what an action found shown once: browser-use keeps only how much it was."""
    action = tools.registry.registry.actions[name]
    act = action.function

    async def shown(*arguments: Any, **more: Any) -> Any:
        result = await act(*arguments, **more)
        result.include_extracted_content_only_once = True
        return result

    action.function = shown


def _with_marked_page(message: dict[str, Any]) -> dict[str, Any]:
    """The message, in which what the page shows is marked as data."""
    content = message.get("content")
    if isinstance(content, str):
        return {**message, "content": _marked(content)}
    if not isinstance(content, list):
        return message
    return {**message, "content": [{**p, "text": _marked(p["text"])} if "text" in p else p for p in content]}


def _placed(part: dict[str, Any], folder: Path) -> dict[str, Any]:
    if part.get("type") != "image_url":
        return part
    kind, _, data = part["image_url"]["url"].removeprefix("data:").partition(";base64,")
    target = folder / f"shown-{hashlib.sha256(data.encode()).hexdigest()[:16]}.{kind.rpartition('/')[2]}"
    target.write_bytes(base64.b64decode(data))
    return {"type": "image_url", "image_url": {"url": f"{target.as_uri()}#{kind}"}}


def _marked(text: str) -> str:
    def marked(found: re.Match[str]) -> str:
        parts = _HISTORY_AND_PAGE.fullmatch(found[2])
        if parts and all(found[0].count(mark) == 1 for mark in _BETWEEN):  # no page wrote any of them
            history, state, page = parts.groups()
            return (
                f"<agent_history>\n{data_block('history', history)}\n</agent_history>\n\n<agent_state>{state}"
                f"</agent_state>\n<browser_state>\n{data_block('page', page)}\n</{found[3]}>"
            )
        return f"<{found[1]}>\n{data_block('page', found[2])}\n</{found[3]}>"

    return _FROM_PAGES.sub(marked, _FILES.sub("", text, count=1))


def _page_text(message: dict[str, Any]) -> str:
    """What of a message is of pages: the task and what the model said before are not."""
    content = message.get("content")
    parts = [part.get("text", "") for part in content] if isinstance(content, list) else [str(content or "")]
    return "\n".join(found[1] for part in parts for found in _PAGE.finditer(part))


async def _words_on(page: Page) -> str:
    """The text of a page; empty for one that is gone."""
    from playwright.async_api import Error

    try:
        return str(await page.evaluate("document.body ? document.body.innerText : ''"))
    except Error:
        return ""


def _told(action: Any) -> str:
    """An action as a line."""
    with contextlib.suppress(AttributeError):
        action = action.model_dump(exclude_none=True)
    if not isinstance(action, dict):
        return str(action)
    parts = []
    for name, given in action.items():
        values = given.items() if isinstance(given, dict) else ()
        parts.append(f"{name}({', '.join(f'{key}={value!r}' for key, value in values)})")
    return "; ".join(parts)
