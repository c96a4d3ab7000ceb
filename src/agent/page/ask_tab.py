"""The tab for questions, with the conversation, files, live steps, answers and permission requests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from agent.configuration.specialists import SPECIALISTS
from agent.page.html import with_request

if TYPE_CHECKING:
    from agent.consent.questions import Scope
    from agent.page.visits import Visit, Visits

_EMPTY = '<p class="empty">Ask a question, with files if you like. Steps are shown as they happen.</p>'
_SCOPES: tuple[Scope, ...] = ("once", "always", "folder")
_STORE = "key => { sessionStorage.setItem('alita', key) }"
_READ = "() => [sessionStorage.getItem('alita') || '']"
"""Browser script that reads the key of the tab's conversation, which the tab stores so as to find it after a reload."""


class AskTab:
    """The components of the tab, added to the page in the order of their creation."""

    def __init__(self, gr: Any, visits: Visits) -> None:
        settings = visits.settings
        self._gr, self._visits = gr, visits
        self.shown = gr.HTML(_EMPTY, elem_id="conversation", padding=False)
        self.key = gr.Textbox(visible="hidden", label="Conversation")
        with gr.Column(visible=False) as self.asking:
            self.asked = gr.HTML(padding=False)
            self.reason = gr.Textbox(label="Reason for refusing (the model sees it)", max_lines=3)
            with gr.Row():
                self.allow = {scope: gr.Button(scope, visible=False) for scope in _SCOPES}
                self.refuse = gr.Button("Do not allow")
        self.message = gr.MultimodalTextbox(
            label="Question", show_label=False, placeholder="Ask a question", file_count="multiple", sources=["upload"]
        )
        self.stop = gr.Button("Stop", variant="stop", size="sm", visible=False)
        with gr.Accordion("Model, specialist and conversations", open=False):
            with gr.Row():
                self.model = gr.Dropdown(label="Model", allow_custom_value=visits.is_local, **_models(visits))
                self.agent = gr.Dropdown(
                    [("alita", ""), *((f"{name}: {one.summary}", name) for name, one in SPECIALISTS.items())],
                    value=settings.agent,
                    label="Specialist",
                )
            with gr.Row():
                self.earlier = gr.Dropdown([], value=None, label="Earlier conversations")
                self.new = gr.Button("New conversation")

    def connect(self, blocks: Any) -> None:
        """Connect the components to their handlers."""
        parts = [self.shown, self.asking, self.asked, self.stop, self.message, self.reason, self.key]
        parts += [self.earlier, *self.allow.values()]
        happens: list[tuple[Any, Any, list[Any], dict[str, Any]]] = [
            (self.message.submit, self._ask, [self.message, self.model, self.agent], {"outputs": parts}),
            (self.stop.click, self._end, [], {}),
            (self.new.click, self._begin, [], {"outputs": parts}),
            (self.earlier.input, self._enter, [self.earlier], {"outputs": parts}),
            (blocks.load, self._load, [self.key], {"outputs": [*parts, self.model], "js": _READ}),
        ]
        said = [self.asked, self.reason]
        happens += [(button.click, self._reply_with(scope), said, {}) for scope, button in self.allow.items()]
        happens += [(self.refuse.click, self._reply_with(""), said, {})]
        for event, handler, inputs, more in happens:
            event(with_request(self._gr, handler), inputs, show_progress="hidden", **more)
        self.key.change(None, [self.key], js=_STORE)

    def _view(self, visit: Visit) -> dict[Any, Any]:
        gr, scopes = self._gr, visit.scopes()
        buttons = {
            button: gr.update(visible=scope in scopes, value=scopes.get(scope, scope))
            for scope, button in self.allow.items()
        }
        return buttons | {
            self.shown: visit.html or _EMPTY,
            self.asking: gr.update(visible=bool(visit.asking)),
            self.asked: visit.asking,
            self.stop: gr.update(visible=visit.is_busy),
            self.message: gr.update(interactive=not visit.is_busy),
        }

    async def _watch(self, visit: Visit, tab: str | None) -> AsyncIterator[dict[Any, Any]]:
        async for _ in visit.watch():
            yield self._view(visit)
        choices = self._visits.conversations(tab)
        is_kept = visit.key in [key for _, key in choices]
        earlier = self._gr.update(choices=choices, value=visit.key if is_kept else None)
        yield self._view(visit) | {self.reason: "", self.key: visit.key, self.earlier: earlier}

    async def _ask(
        self, message: dict[str, Any], model: str | None, agent: str, request: Any
    ) -> AsyncIterator[dict[Any, Any]]:
        words, sent = (message.get("text") or "").strip(), [Path(path) for path in message.get("files") or ()]
        visit = await self._visits.of(request.session_hash)
        if words and not visit.is_busy:
            visit.ask(words, sent, model=model or "", agent=agent)
            yield {self.message: self._gr.update(value={"text": "", "files": []}, interactive=False)}
        async for update in self._watch(visit, request.session_hash):
            yield update

    async def _enter(self, key: str | None, request: Any) -> AsyncIterator[dict[Any, Any]]:
        visit = await self._visits.enter(request.session_hash, key or "")
        yield {self.key: visit.key}
        async for update in self._watch(visit, request.session_hash):
            yield update

    async def _load(self, key: str | None, request: Any) -> AsyncIterator[dict[Any, Any]]:
        yield {self.model: self._gr.update(**_models(self._visits))}
        async for update in self._enter(key, request):
            yield update

    async def _begin(self, request: Any) -> AsyncIterator[dict[Any, Any]]:
        async for update in self._enter("", request):
            yield update

    def _reply_with(self, scope: Scope | Literal[""]) -> Callable[..., Any]:
        async def reply(asked: str, why: str, request: Any) -> None:
            (await self._visits.of(request.session_hash)).reply(asked, scope=scope, reason=why)

        return reply

    async def _end(self, request: Any) -> None:
        await (await self._visits.of(request.session_hash)).stop()


def _models(visits: Visits) -> dict[str, Any]:
    return {"choices": visits.models, "value": visits.settings.model or None}
