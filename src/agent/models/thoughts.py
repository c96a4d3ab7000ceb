"""Reasoning that a model writes into its text: removed from the answer, and hidden while the text is streamed."""

from __future__ import annotations

import re
from collections.abc import Callable

_NAMES = r"(?:[a-z]+:)?(?:think|thinking|thought|thoughts|reasoning|reflection|antthinking|scratchpad)"
_OPEN = re.compile(
    rf"<{_NAMES}(?:\s[^<>]*)?>|◁think▷|\[THINK\]|<\|begin_of_thought\|>|<unused94>|<\|START_THINKING\|>", re.IGNORECASE
)
_CLOSE = re.compile(
    rf"</\s*{_NAMES}\s*>|◁/think▷|\[/THINK\]|<\|end_of_thought\|>|<unused95>|<\|END_THINKING\|>", re.IGNORECASE
)
_CODE = re.compile(r"^ {0,3}(```+|~~~+).*?^ {0,3}\1|``.+?``|`[^`\n]+`", re.DOTALL | re.MULTILINE)
_CHANNEL = re.compile(r"<\|channel\|>\s*(\w+)([^<]*)(?:<\|constrain\|>\s*\w*\s*)?<\|message\|>")
_CHANNEL_END = re.compile(r"<\|(?:end|return|call|start|channel)\|>")
_CHANNELS_BARE = re.compile(r"\A\s*analysis\S.*?(?:assistant|\n)(?:commentary.*?assistant)?final(?=\S)", re.DOTALL)
_END_TOKENS = re.compile(
    r"(?:\s*(?:<\|(?:im_end|eot_id|eom_id|end|return|endoftext|end_of_text|end_of_turn)\|>|</s>|<end_of_turn>|<｜end▁of▁sentence｜>))+\s*\Z"
)
_WRAPPED = re.compile(
    r"\A\s*<\|(?:begin_of_solution|START_RESPONSE)\|>(.*?)(?:<\|(?:end_of_solution|END_RESPONSE)\|>|\Z)", re.DOTALL
)


def code_spans(text: str) -> list[tuple[int, int]]:
    """Return the start and end of each fenced block and inline code span."""
    return [found.span() for found in _CODE.finditer(text)] if "`" in text or "~~~" in text else []


def is_within(position: int, spans: list[tuple[int, int]]) -> bool:
    """Return True if the position is inside one of the spans."""
    return any(start <= position < end for start, end in spans)


def without_thoughts(text: str) -> str:
    """Return the text without reasoning blocks; empty if the reasoning never ended.

    Tags inside code or within a sentence are left alone, because the text may be about such tags.

    Example:
        >>> without_thoughts("<think>6 times 7</think>42")
        '42'
    """
    if "<|channel|>" in text:
        text = _final_channels(text)
    elif bare := _CHANNELS_BARE.match(text):
        text = text[bare.end() :]
    text = _END_TOKENS.sub("", text)
    if not (_CLOSE.search(text) or _OPEN.search(text)):
        return text
    while opened := _OPEN.match(text.lstrip()):
        rest = text.lstrip()[opened.end() :]
        if (end := _end_of_thoughts(rest)) is None:
            return ""
        text = rest[end:]
    spans = code_spans(text)
    for ending in reversed(list(_CLOSE.finditer(text))):
        if not is_within(ending.start(), spans) and not _is_mentioned(text, ending):
            text = text[ending.end() :]
            break
    spans = code_spans(text)
    for opened in _OPEN.finditer(text):  # reasoning that starts after the answer and never ends
        before = text[: opened.start()].rpartition("\n")[2]
        if not before.strip() and not is_within(opened.start(), spans) and text[opened.end() :][:1] in ("", "\n"):
            text = text[: opened.start()]
            break
    if wrapped := _WRAPPED.match(text):
        text = wrapped[1]
    return text.strip("\n") if text.strip() else ""


def _end_of_thoughts(rest: str) -> int | None:
    """Return the end of the closing tag. A closing tag in quotes is skipped if another one follows."""
    found = list(_CLOSE.finditer(rest))
    for position, closed in enumerate(found):
        around = rest[closed.start() - 1 : closed.start()], rest[closed.end() : closed.end() + 1]
        quoted = all(sign in ("`", '"', "'") for sign in around)
        if not quoted or position == len(found) - 1:
            return closed.end()
    return None


def _is_mentioned(text: str, closed: re.Match[str]) -> bool:
    """Return True if a closing tag is part of a sentence: after an opening tag, in quotation marks, between words."""
    line = text[: closed.start()].rpartition("\n")[2]
    opened = _OPEN.search(line)
    if opened and line[: opened.start()].strip():
        return True
    before, after = text[: closed.start()], text[closed.end() :]
    if before[-1:] in ("'", '"', "(", "“", "«"):
        return True
    return before[-1:] == " " and before.rstrip()[-1:] not in ".!?:;…" and after[:1] in (*" .,;:)", "")


def _final_channels(text: str) -> str:
    """Return the final messages of a reply in the harmony format of gpt-oss, and its calls as `<tool_call>`."""
    first = text.find("<|channel|>")
    if is_within(first, code_spans(text)):
        return text
    final, calls = [], []
    for found in _CHANNEL.finditer(text):
        ended = _CHANNEL_END.search(text, found.end())
        content = text[found.end() : ended.start() if ended else len(text)]
        recipient = text[max(0, found.start() - 80) : found.start()].rpartition("<|start|>")[2] + found[2]
        if "to=" in recipient:
            name = recipient.partition("to=")[2].split()[0].partition("<")[0].removeprefix("functions.")
            calls.append(f'<tool_call>{{"name": "{name}", "arguments": {content}}}</tool_call>')
        elif found[1] == "final":
            final.append(content)
    return "\n".join([*final, *calls])


_THOUGHTS = re.compile(
    rf"</?{_NAMES}|◁/?think▷|\[/?THINK\]|<\|(?:channel|start|begin_of|end_of)|<unused9|<\|START_", re.IGNORECASE
)
_MARKUP = re.compile(
    rf"{_THOUGHTS.pattern}|<\|?(?:antml:|minimax:)?(?:tool|function|invoke|python_tag)|<[｜|]|\[TOOL_CALLS\]|functools\["
    r'|\{\s*"(?:name|function|tool|tool_calls|tool_name|say|calls|type)"',
    re.IGNORECASE,
)
_MAX_MARK_CHARS = 24


class ShownText:
    """Streams an answer to `show`, without reasoning and, if the model has functions, without calls.

    If the request is retried, no text is shown twice.
    """

    def __init__(self, show: Callable[[str], None], *, functions: bool = False) -> None:
        self._markup = _MARKUP if functions else _THOUGHTS
        self._beginnings = re.compile(r"[<◁\[{f]" if functions else r"[<◁\[]")
        self._show = show
        self._shown = ""
        self._now = ""
        self._waiting = ""
        self._held = False
        self._again = False
        self._is_fresh = False
        """True between the end of reasoning and the next text. White space in between is dropped."""

    def begin(self) -> None:
        """Start a request, or a retry of it."""
        self._now, self._waiting, self._held, self._again = "", "", False, bool(self._shown)

    def __call__(self, piece: str) -> None:
        """Add a piece of the reply."""
        searched = max(0, len(self._waiting) - _MAX_MARK_CHARS)
        self._waiting += piece
        if self._held:
            if (closed := _CLOSE.search(self._waiting, searched)) is None:
                return
            self._waiting, self._held = self._waiting[closed.end() :], False
            self._is_fresh = True
        while found := self._beginnings.search(self._waiting):
            self._pass(self._waiting[: found.start()])
            self._waiting = self._waiting[found.start() :]
            if self._markup.match(self._waiting):
                self._held = True
                return
            if len(self._waiting) < _MAX_MARK_CHARS and "\n\n" not in self._waiting:
                return
            self._pass(self._waiting[0])
            self._waiting = self._waiting[1:]
        self._pass(self._waiting)
        self._waiting = ""

    def end(self, text: str) -> None:
        """Show the rest of the complete answer, `text`."""
        if text.startswith(self._shown):
            self._add(text[len(self._shown) :])

    def _pass(self, text: str) -> None:
        text = text.lstrip() if self._is_fresh else text
        if not text:
            return
        self._is_fresh = False
        if not self._again:
            self._add(text)
            return
        self._now += text
        if self._now.startswith(self._shown):
            self._add(self._now[len(self._shown) :])

    def _add(self, text: str) -> None:
        if text:
            self._shown += text
            self._show(text)
