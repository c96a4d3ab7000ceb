"""Drives our browser with browser-use.

browser-use asks alita's model through a pipe, and the browser runs behind our proxy. These features of browser-use are
off: telemetry, the judge, extensions, files, and scripts in pages.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from agent.browser.browser_use_model import PASSWORD_SECRET, USER_SECRET, GuardedModel, action_line
from agent.browser.driver_process import DriverHost, drive_with
from agent.browser.logins import hidden
from agent.browser.tabs import LARGEST, TabInUse, Tabs, keep_picture, largest_in, text_on
from agent.browser.tasks import BrowserOutcome, BrowserTask
from agent.events import BrowserStepped
from agent.web.browser_process import PORT_FILE
from mcp_tools.prompt import load_prompt
from mcp_tools.text import one_line, printable

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext

    from agent.web.proxy import GuardedProxy


_QUIET = {
    "ANONYMIZED_TELEMETRY": "false",
    "BROWSER_USE_CLOUD_SYNC": "false",
    "BROWSER_USE_VERSION_CHECK": "false",
    "BROWSER_USE_SETUP_LOGGING": "false",
    "SKIP_LLM_API_KEY_VERIFICATION": "true",
}
_WITHOUT = ["write_file", "replace_file", "read_file", "evaluate", "upload_file", "search", "save_as_pdf"]
"""Disabled actions of browser-use: those that use files, run scripts in pages, or search the web."""
_LOGINS = (
    f"At {{hosts}}, sign in with <secret>{USER_SECRET}</secret> and <secret>{PASSWORD_SECRET}</secret>: both are "
    "filled in."
)
_MAX_FAILURES = 3
"""Maximum number of consecutive unusable replies from the model."""
_DOWNLOAD_CHECK_SECONDS = 1.0
_STOP_SECONDS = 5.0
"""Seconds that browser-use gets to stop. Without a limit, it may wait for an event forever."""


def main() -> None:
    """Carry out the task on stdin."""

    async def drive(
        context: BrowserContext, task: BrowserTask, host: DriverHost, proxy: GuardedProxy
    ) -> BrowserOutcome:
        return await BrowserUse(context, task, host, proxy).run()

    drive_with(drive, args=["--remote-debugging-port=0"])  # browser-use connects to it


class BrowserUse:
    """Carries out one task in a browser that the caller opened with a debugging port."""

    def __init__(self, context: BrowserContext, task: BrowserTask, host: DriverHost, proxy: GuardedProxy) -> None:
        self._task = task
        self._profile = Path.cwd()
        self._downloads = self._profile / "downloads"
        self._host = host
        self._proxy = proxy
        self._tabs = Tabs(context, task.folder, task.files, may_give=task.origins().names_site)
        self._tab = TabInUse(context)
        self._model = GuardedModel(task, host, self._tab)
        self._steps: list[BrowserStepped] = []

    async def run(self) -> BrowserOutcome:
        """Run until the model is done or a limit is reached."""
        os.environ.update(_QUIET, BROWSER_USE_CONFIG_DIR=str(self._profile / "browser-use"))
        logging.getLogger("browser_use").setLevel(logging.CRITICAL)
        agent = self._agent()
        self._tab.session = agent.browser_session
        running = asyncio.create_task(agent.run(max_steps=self._task.steps, on_step_end=self._stepped))
        problem = await self._ended(running)
        if problem:
            running.cancel()
            await asyncio.wait({running}, timeout=_STOP_SECONDS)
        else:
            await running
        await asyncio.to_thread(self._tabs.take_from, self._downloads)
        history = agent.history
        problem = problem or self._why_not(history)
        text, url = history.final_result() or "", await self._tab.url(self._task.url)
        return BrowserOutcome(
            self._hidden(printable(text)),
            not problem,
            self._hidden(url),
            tuple(self._steps),
            problem,
            tuple(self._tabs.downloads),
            apart=tuple(self._model.refused),
        )

    async def _ended(self, running: asyncio.Task[Any]) -> str:
        """Wait until the run ends or must be stopped. Return the reason for stopping it; empty if it has ended."""
        ends = time.monotonic() + self._task.seconds
        while not running.done():
            if (left := ends - time.monotonic()) <= 0:
                return f"the browser reached its limit of {self._task.seconds:g} seconds"
            await asyncio.wait({running}, timeout=min(left, _DOWNLOAD_CHECK_SECONDS))
            if await asyncio.to_thread(largest_in, self._downloads) > LARGEST:
                return f"a download is larger than {LARGEST:,} bytes"
        return ""

    def _agent(self) -> Any:
        from browser_use import Agent, BrowserProfile, BrowserSession, Tools

        task, seconds = self._task, math.ceil(self._task.seconds)
        profile = BrowserProfile(
            headless=True,
            keep_alive=True,  # the caller closes the browser
            enable_default_extensions=False,
            highlight_elements=False,
            allowed_domains=[pattern for host in task.hosts for pattern in (host, f"*.{host}")] or None,
            cross_origin_iframes=not task.logins,  # no passwords in frames of other hosts
            user_data_dir=str(self._profile),
            downloads_path=str(self._downloads),
        )
        _keep_short_texts()
        tools: Tools[Any] = Tools(exclude_actions=_WITHOUT)
        for name in ("find_elements", "search_page"):
            _show_findings(tools, name)
        port = (self._profile / PORT_FILE).read_text().split()[0]
        logins = {f"http*://{one.host}": {USER_SECRET: one.user, PASSWORD_SECRET: one.password} for one in task.logins}
        return Agent(
            task=task.question,
            llm=cast(Any, self._model),
            browser_session=BrowserSession(browser_profile=profile, cdp_url=f"http://127.0.0.1:{port}"),
            tools=tools,
            initial_actions=[{"navigate": {"url": task.url, "new_tab": False}}],
            sensitive_data=cast(Any, logins or None),
            override_system_message=self._system_message(),
            use_vision=task.sees,
            use_judge=False,
            use_thinking=False,
            enable_planning=False,
            max_failures=_MAX_FAILURES,
            step_timeout=seconds,
            llm_timeout=seconds,  # models have their own limits, and local ones are slow
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
        screen = ", and its screenshot" if self._task.sees else ""
        rules = f"- {_LOGINS.format(hosts=', '.join(one.host for one in self._task.logins))}"
        [message] = load_prompt("agent", "browser").render(screen=screen, rules=rules if self._task.logins else "")
        return str(message["content"]).strip()

    async def _should_stop(self) -> bool:
        return bool(self._model.stopped)

    def _hidden(self, text: str) -> str:
        return hidden(text, self._task.logins)

    async def _stepped(self, agent: Any) -> None:
        item = agent.history.history[-1]
        output = item.model_output
        errors = "; ".join(one_line(result.error, 200) for result in item.result if result.error)
        actions = [one_line(action_line(action), 200) for action in output.action] if output else []
        page = await self._tab.page()
        url = page.url if page is not None else item.state.url
        step = BrowserStepped(
            len(self._steps) + 1,
            self._hidden(url),
            self._hidden("; ".join(actions)) or "no action",
            one_line((output.next_goal if output else "") or "", 200),
            ok=not errors,
            message=self._hidden(errors),
        )
        is_shown = page is not None and not await self._model.is_kept(url, await text_on(page))
        if page is not None and is_shown and self._task.folder is not None:
            step = replace(step, picture=await keep_picture(page, self._task.folder, step.step))
        self._steps.append(step)
        self._host.tell(step)

    def _why_not(self, history: Any) -> str:
        if history.is_done():
            return "" if history.is_successful() else "the model says that the task could not be done"
        if len(self._steps) >= self._task.steps:
            return f"the browser reached its limit of {self._task.steps} steps"
        errors = [self._hidden(one_line(error, 300)) for error in history.errors() if error]
        refusal = self._proxy.refusal_of(self._task.url)
        return next(filter(None, [self._model.stopped, refusal, *errors[-1:]]), "the browser stopped without an answer")


def _keep_short_texts() -> None:
    """Make browser-use show texts of one character, such as digits in tables, which it otherwise leaves out.

    An invisible second character is appended to each of these texts.
    """
    from browser_use.dom.serializer.serializer import DOMTreeSerializer
    from browser_use.dom.views import NodeType

    begin = DOMTreeSerializer.__init__

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
    """Make browser-use show the result of an action once. By default, it shows only the length of the result."""
    action = tools.registry.registry.actions[name]
    act = action.function

    async def shown(*arguments: Any, **more: Any) -> Any:
        result = await act(*arguments, **more)
        result.include_extracted_content_only_once = True
        return result

    action.function = shown
