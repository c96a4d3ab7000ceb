"""The prompt of a full terminal: editing, history, completion, several lines."""

from __future__ import annotations

import re
import sys
import termios
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from prompt_toolkit import PromptSession
from prompt_toolkit.application import run_in_terminal
from prompt_toolkit.completion import Completer, Completion
from prompt_toolkit.filters import Condition, completion_is_selected
from prompt_toolkit.history import History as PromptHistory
from prompt_toolkit.input.typeahead import clear_typeahead
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.keys import Keys
from prompt_toolkit.styles import Style

from agent.cli.interactive.completion import NOTHING
from agent.cli.interactive.desktop import edit
from agent.cli.interactive.reader import Interrupted, Prompt, choices_text
from mcp_tools.errors import AlitaError
from mcp_tools.text import one_line, printable

if TYPE_CHECKING:
    from prompt_toolkit.buffer import Buffer
    from prompt_toolkit.document import Document
    from prompt_toolkit.formatted_text import StyleAndTextTuples
    from prompt_toolkit.input import Input
    from prompt_toolkit.key_binding import KeyPressEvent as Press
    from prompt_toolkit.output import Output

    from agent.cli.interactive.completion import Completion as Finder
    from agent.cli.interactive.reader import History

STYLE = Style.from_dict(
    {
        "mode.ask": "ansigreen",
        "mode.auto": "ansiyellow bold",
        "mode.never": "ansicyan",
        "bottom-toolbar": "noreverse ansibrightblack",
    }
)


def _is_quick(document: Document) -> bool:
    """Whether choices show themselves while typing: commands and files; for ids and names of tools, Tab asks."""
    before = document.text_before_cursor
    return not before.startswith("/") or not re.search(r"\s", before)


class PromptReader:
    """See `agent.cli.interactive.reader.Reader`.

    Args:
        prompt: What is shown while something is typed, and what its keys do.
        finder: What may come next.
        history: What was typed before.
        source: The keyboard, for tests; standard input when not given.
        output: The terminal, for tests and where standard output is none.
    """

    def __init__(
        self,
        prompt: Prompt,
        finder: Finder,
        history: History,
        *,
        source: Input | None = None,
        output: Output | None = None,
    ) -> None:
        self._prompt = prompt
        self.touched = False
        self._finder = finder
        self._history = history
        self._session: PromptSession[str] = PromptSession(
            self._message,
            multiline=True,
            prompt_continuation=lambda width, *_: "·".rjust(max(width - 1, 0)) + " ",
            history=_Entries(history),
            completer=_Choices(finder),
            complete_in_thread=True,
            complete_while_typing=Condition(lambda: _is_quick(self._session.default_buffer.document)),
            bottom_toolbar=lambda: one_line(prompt.status(), max(self._session.output.get_size().columns - 1, 10)),
            key_bindings=self._bindings(),
            reserve_space_for_menu=6,
            enable_suspend=True,
            style=STYLE,
            interrupt_exception=Interrupted,
            input=source,
            output=output,
        )

        def on_change(_: object) -> None:
            self.touched = True

        self._session.default_buffer.on_text_changed += on_change

    async def read(self, default: str = "") -> str:
        """See `Reader.read`."""
        self.touched = False
        text: str = await self._session.prompt_async(default=default)
        self._history.tell(self._prompt.tell)
        return text

    async def choose(self, question: str, choices: Mapping[str, str]) -> str:
        """See `Reader.choose`."""
        clear_typeahead(self._session.input)  # an approval is an answer to what was seen
        if sys.stdin.isatty():
            termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
        asking: PromptSession[str] = PromptSession(
            f"{printable(question)} {choices_text(choices)} › ",
            key_bindings=_letters(choices),
            style=STYLE,
            interrupt_exception=Interrupted,
            input=self._session.input,
            output=self._session.output,
        )
        chosen: str = await asking.prompt_async()
        return chosen

    def _message(self) -> StyleAndTextTuples:
        mode = self._prompt.mode()
        return [("bold", "alita"), ("", " ("), (f"class:mode.{mode}", mode), ("", ") "), ("bold", "› ")]

    def _bindings(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add("enter", filter=completion_is_selected)
        def take(event: Press) -> None:
            event.current_buffer.complete_state = None

        @keys.add("enter", filter=~completion_is_selected)
        def accept(event: Press) -> None:
            if event.current_buffer.text.strip():
                event.current_buffer.validate_and_handle()

        @keys.add("escape", "enter")
        def new_line(event: Press) -> None:
            event.current_buffer.insert_text("\n")

        @keys.add("tab")
        def complete(event: Press) -> None:
            self._complete(event.current_buffer)

        @keys.add("s-tab", filter=~completion_is_selected)
        def next_mode(event: Press) -> None:
            self._prompt.next_mode()

        @keys.add("c-c", filter=Condition(lambda: bool(self._session.default_buffer.text)))
        def clear(event: Press) -> None:
            event.current_buffer.reset()
            self.touched = True

        @keys.add("c-x", "c-e")
        async def in_editor(event: Press) -> None:
            await self._edit(event)

        return keys

    def _complete(self, buffer: Buffer) -> None:
        """The only choice at once; of several, what they share, then one after the other."""
        state = buffer.complete_state
        if state is not None and state.current_completion is not None:
            buffer.complete_next()
            return
        found = self._finder.find(buffer.document.text_before_cursor) if _is_quick(buffer.document) else NOTHING
        if len(found.choices) == 1:
            buffer.delete_before_cursor(found.replaced)
            buffer.insert_text(found.choices[0].text)
        elif state is not None:
            buffer.complete_next()
        else:
            buffer.start_completion(insert_common_part=True)

    async def _edit(self, event: Press) -> None:
        buffer = event.current_buffer

        def edited() -> str | AlitaError:
            try:
                return edit(buffer.text)
            except AlitaError as error:
                return error

        result = await run_in_terminal(edited, in_executor=True)
        if isinstance(result, str):
            buffer.text = result
            buffer.cursor_position = len(result)
        else:
            await run_in_terminal(lambda: self._prompt.tell(result))


class _Choices(Completer):
    """The finder as the prompt wants it."""

    def __init__(self, finder: Finder) -> None:
        self._finder = finder

    def get_completions(self, document: Document, complete_event: object) -> Iterable[Completion]:
        found = self._finder.find(document.text_before_cursor)
        for choice in found.choices:
            shown, meta = one_line(choice.text, 40), one_line(choice.summary, 60)
            yield Completion(choice.text, -found.replaced, display=shown, display_meta=meta)


class _Entries(PromptHistory):
    """The history as the prompt wants it."""

    def __init__(self, history: History) -> None:
        super().__init__()
        self._history = history

    def load_history_strings(self) -> Iterable[str]:
        return reversed(self._history.load())

    def store_string(self, string: str) -> None:
        self._history.add(string)


def _letters(choices: Mapping[str, str]) -> KeyBindings:
    """One key is the answer; every other key does nothing."""
    keys = KeyBindings()

    @keys.add(Keys.Any)
    @keys.add("enter")
    def nothing(event: Press) -> None:
        pass

    def bind(letter: str) -> None:
        def take(event: Press) -> Any:
            event.current_buffer.insert_text(letter)
            event.app.exit(result=letter)

        keys.add(letter)(take)
        keys.add(letter.upper())(take)

    for letter in choices:
        bind(letter)
    return keys
