"""Conversations for Python callers: `Alita.chat()`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from agent.conversation import Conversation, Turn

if TYPE_CHECKING:
    from agent.answer import Answer
    from agent.events import Event, Listener
    from agent.question import FolderGrant


class ChatAgent(Protocol):
    """Answers the questions of a conversation. Implemented by `Alita`."""

    @property
    def newest(self) -> Answer | None:
        """The latest run's answer so far, even if the run raised an exception."""

    async def ask(
        self,
        question: str,
        *,
        files: Sequence[Path] = (),
        on_event: Listener | None = None,
        conversation: Conversation | None = None,
        schema: dict[str, Any] | None = None,
        folder: FolderGrant | None = None,
    ) -> Answer:
        """Answer a question, which may refer to the conversation."""

    def without_keys(self, text: str) -> str:
        """Return the text with known keys masked."""


class Chat:
    """One conversation: each question sees the earlier turns, their files, and the variables of their programs.

    Example:
        async with Alita.open() as alita:
            chat = alita.chat()
            await chat.ask("Which region sold most?", files=[Path("sales.csv")])
            answer = await chat.ask("and in the north?")
            async for event in chat.stream("Translate your answer into German."):
                print(event)
    """

    def __init__(self, alita: ChatAgent, conversation: Conversation | None = None) -> None:
        self._alita = alita
        self.conversation = conversation or Conversation()

    async def ask(
        self,
        question: str,
        *,
        files: Sequence[Path] = (),
        schema: dict[str, Any] | None = None,
        folder: FolderGrant | None = None,
        on_event: Listener | None = None,
    ) -> Answer:
        """Ask a question and add the turn, even if the run was stopped.

        Args:
            question: The message; it may refer to earlier turns.
            files: Files to add to the conversation.
            schema: JSON Schema that the answer's text must fit as JSON.
            folder: A folder that programs may read, or change in a copy. It also applies to later questions.
            on_event: Called with each event of the run.

        Raises:
            UsageError: The question is empty or too long.
            UserError: A model or the sandbox is not available; the run is saved and can be resumed.
        """
        before = self._alita.newest
        answer: Answer | None = None
        try:
            asked: dict[str, Any] = {"files": files, "schema": schema, "folder": folder}
            answer = await self._alita.ask(question, on_event=on_event, conversation=self.conversation, **asked)
            return answer
        finally:
            reached = answer or self._alita.newest
            if reached is not None and (answer is not None or before is None or reached.run_id != before.run_id):
                self.conversation.add(Turn.of(self._alita.without_keys(question), reached))

    async def stream(
        self, question: str, *, files: Sequence[Path] = (), schema: dict[str, Any] | None = None
    ) -> AsyncIterator[Event]:
        """Ask a question and yield the events of its run; the last one is `RunFinished`, with the answer.

        Leaving the loop early stops the run. Arguments and errors are as for `ask`.
        """
        events: asyncio.Queue[Event | None] = asyncio.Queue()
        task = asyncio.create_task(self.ask(question, files=files, schema=schema, on_event=events.put_nowait))
        task.add_done_callback(lambda _: events.put_nowait(None))
        try:
            while (event := await events.get()) is not None:
                yield event
            await task
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
