"""The model that browser-use asks: alita's, with checks of what it sees and what it does."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.browser.logins import hidden, login_for
from agent.browser.tabs import TabInUse
from agent.consent.rulings import FINE, Verdict, judge_address, judge_typed
from agent.errors import ModelOutputError, StoppedError
from agent.events import ActionRefused
from mcp_tools.prompt import data_block
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from agent.browser.driver_process import DriverHost
    from agent.browser.tasks import BrowserTask

USER_SECRET, PASSWORD_SECRET = "login_user", "login_password"
_SECRETS = re.compile(rf"</?secret>|{USER_SECRET}|{PASSWORD_SECRET}")
_PASSWORD = re.compile(rf"<secret>\s*{PASSWORD_SECRET}\s*</secret>|{PASSWORD_SECRET}")
_TYPING = frozenset({"input", "send_keys"})
_PLAN = frozenset({"current_plan_item", "plan_update"})
"""Fields of a reply that alita ignores."""
_LINKS = "Array.from(document.links, link => link.href).slice(0, 5000)"
_END = r"\n</(browser_state|read_state|webpage_content)>"
_FROM_PAGES = re.compile(rf"<(agent_history|browser_state|webpage_content)>\n(.*){_END}", re.DOTALL)
"""Matches the page text in a message, from the first tag to the last one, since a page may itself contain such tags."""
_BETWEEN = ("\n</agent_history>", "<agent_state>", "</agent_state>", "<browser_state>")
_HISTORY_AND_PAGE = re.compile(
    r"(.*)\n</agent_history>\n\n<agent_state>(.*)</agent_state>\n<browser_state>\n(.*)", re.DOTALL
)
"""Matches the actions so far, the agent's summary, and the page."""
_PAGE = re.compile(rf"<(?:browser_state|webpage_content)>\n(.*){_END}", re.DOTALL)
"""Matches only the current page, not the earlier actions, which repeat the request in the model's words."""
_FILES = re.compile(r"<file_system>\n.*?</todo_contents>\n?", re.DOTALL)
"""Matches browser-use's text about files, which are disabled here."""


class GuardedModel:
    """Implements `browser_use.llm.base.BaseChatModel` with checks."""

    _verified_api_keys = True
    model = provider = name = model_name = "alita"

    def __init__(self, task: BrowserTask, host: DriverHost, tab: TabInUse) -> None:
        self.stopped = ""
        """The reason why the task must stop; empty while it may continue."""
        self.refused: list[ActionRefused] = []
        self._task = task
        self._host = host
        self._tab = tab
        self._seen: dict[str, None] = {}

    async def ainvoke(self, messages: list[Any], output_format: Any = None, **_: Any) -> Any:
        """Ask the model. Placeholders for logins become secrets only in fields where they may be typed."""
        from browser_use.llm.exceptions import ModelProviderError
        from browser_use.llm.openai.serializer import OpenAIMessageSerializer
        from browser_use.llm.schema import SchemaOptimizer
        from browser_use.llm.views import ChatInvokeCompletion

        plain = [dict(message) for message in OpenAIMessageSerializer.serialize_messages(messages)]
        schema = _planless(SchemaOptimizer.create_optimized_json_schema(output_format)) if output_format else None
        try:
            completion = await self._host.ask(await self._showable(plain), schema=schema, temperature=0)
            if output_format is None:
                return ChatInvokeCompletion(completion=completion.text, usage=None)
            answer = completion.parsed
            if isinstance(answer, dict):
                answer = {**answer, "action": [await self._checked(one) for one in answer.get("action") or []]}
            return ChatInvokeCompletion(completion=output_format.model_validate(answer), usage=None)
        except StoppedError as stopped:
            self.stopped = why = stopped.message
        except ModelOutputError as unusable:
            why = unusable.message
        except ValueError as misfit:  # pydantic's ValidationError
            why = one_line(str(misfit), 300)
        raise ModelProviderError(why, status_code=400, model=self.model)

    async def is_kept(self, url: str, text: str) -> bool:
        """Return True if a page must not be shown."""
        return not self._task.allows(url) or await self._host.blocked(url, text)

    async def _showable(self, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the messages without secrets and blocked pages.

        Raises:
            StoppedError: The task must stop.
        """
        if self.stopped:
            raise StoppedError(self.stopped)
        url, text = await self._tab.url(""), "\n".join(filter(None, map(_page_text, messages)))
        self._seen.setdefault(text)
        if url and await self.is_kept(url, text):
            messages = [message for message in messages if message["role"] != "user"]
            messages.append({"role": "user", "content": "This page must not be read. Go back."})
        return [_with_parts(with_marked_page(message), self._shown) for message in messages]

    def _shown(self, part: dict[str, Any]) -> dict[str, Any]:
        """Return a message part with logins hidden. A picture is saved, and replaced by the URL of its file."""
        if "text" in part:
            return part | {"text": hidden(part["text"], self._task.logins)}
        if part.get("type") != "image_url" or self._task.folder is None:
            return part
        kind, _, data = part["image_url"]["url"].removeprefix("data:").partition(";base64,")
        name = f"shown-{hashlib.sha256(data.encode()).hexdigest()[:16]}.{kind.rpartition('/')[2]}"
        target = Path(self._task.folder, name)
        target.write_bytes(base64.b64decode(data))
        return {"type": "image_url", "image_url": {"url": f"{target.as_uri()}#{kind}"}}

    async def _checked(self, action: Any) -> Any:
        """Return an action if it is allowed, with secrets only where they may be typed.

        Raises:
            ModelOutputError: Only a page asks for the action, or the action would leak private data.
        """
        if not isinstance(action, dict):
            return action
        for name, given in action.items():
            if isinstance(given, dict) and (ruled := await self._ruled(name, given)) != FINE:
                refused = ActionRefused(hidden(one_line(action_line(action), 200), self._task.logins), ruled.why)
                self.refused.append(refused)
                raise ModelOutputError(str(refused))
        return await self._without_secrets(action)

    async def _ruled(self, name: str, given: dict[str, Any]) -> Verdict:
        typed, url = given.get("text") or given.get("keys"), given.get("url")
        if name in _TYPING and isinstance(typed, str):
            return judge_typed(typed, await self._tab.url(self._task.url), self._task.origins())
        if not isinstance(url, str) or name == "done":
            return FINE
        page = await self._tab.page()
        links = await page.evaluate(_LINKS) if page is not None else []
        return judge_address(url, self._task.origins(list(self._seen), links))

    async def _without_secrets(self, action: dict[str, Any]) -> Any:
        """Return the action with logins filled in where they are allowed.

        A user name may be typed only at the host and port of its login, and a password only in password fields there.
        In any other field, the password would be visible, or could be posted as a comment.
        """
        secrets = _SECRETS
        names = [name for name, given in action.items() if given is not None]
        if names == ["input"] and login_for(await self._tab.url(""), self._task.logins) is not None:
            field = await self._tab.session.get_element_by_index(action["input"].get("index"))
            if field is not None and str(field.attributes.get("type", "")).lower() == "password":
                return action
            secrets = _PASSWORD
        return json.loads(secrets.sub("", json.dumps(action)))


def _planless(schema: dict[str, Any]) -> dict[str, Any]:
    properties = {name: form for name, form in schema.get("properties", {}).items() if name not in _PLAN}
    return {**schema, "properties": properties, "required": list(properties)}


def _with_parts(message: dict[str, Any], change: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
    content = message.get("content")
    if isinstance(content, str):
        return {**message, "content": change({"text": content})["text"]}
    return {**message, "content": [change(part) for part in content]} if isinstance(content, list) else message


def with_marked_page(message: dict[str, Any]) -> dict[str, Any]:
    """Return the message with the page's content in a data block. browser-use's own text may follow the block."""
    if message["role"] != "user":
        return message
    return _with_parts(message, lambda part: part | {"text": _marked(part["text"])} if "text" in part else part)


def _marked(text: str) -> str:
    def marked(found: re.Match[str]) -> str:
        parts = _HISTORY_AND_PAGE.fullmatch(found[2])
        if parts and all(found[0].count(mark) == 1 for mark in _BETWEEN):  # the page does not contain marks
            history, state, page = parts.groups()
            return (
                f"<agent_history>\n{data_block('history', history)}\n</agent_history>\n\n<agent_state>{state}"
                f"</agent_state>\n<browser_state>\n{data_block('page', page)}\n</{found[3]}>"
            )
        return f"<{found[1]}>\n{data_block('page', found[2])}\n</{found[3]}>"

    return _FROM_PAGES.sub(marked, _FILES.sub("", text, count=1))


def _page_text(message: dict[str, Any]) -> str:
    """Return the page text in a message, without the task and the model's earlier text."""
    content = message.get("content") if message["role"] == "user" else ""
    parts = [part.get("text", "") for part in content] if isinstance(content, list) else [str(content or "")]
    return "\n".join(found[1] for part in parts for found in _PAGE.finditer(part))


def action_line(action: Any) -> str:
    """Return an action on one line."""
    with contextlib.suppress(AttributeError):
        action = action.model_dump(exclude_none=True)
    if not isinstance(action, dict):
        return str(action)
    given = {name: values.items() if isinstance(values, dict) else () for name, values in action.items()}
    return "; ".join(f"{name}({', '.join(f'{key}={value!r}' for key, value in of)})" for name, of in given.items())
