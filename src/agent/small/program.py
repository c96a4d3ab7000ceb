"""One program for a question: written once, run in the sandbox, and mended once with its failure shown."""

from __future__ import annotations

import ast
import contextlib
import json
import re
import warnings
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from agent.answering.answer_format import answer_text, asked_of
from agent.answering.final_answer import in_asked_format
from agent.context import Context
from agent.events import ToolCalled
from agent.material.attached import TABLES, TREES, files_text, granted, is_missing, readable
from agent.models.protocol import Message, Role
from agent.small.scripts import failure_of
from agent.state import Action, AttachedFile, State
from agent.steps import failed, preview, reading_of, step, value_text
from agent.strategy import Update
from mcp_tools.errors import StoppedError
from mcp_tools.packages import file_packages, imported
from mcp_tools.prompt import DataText, data_block, data_blocks, load_prompt
from mcp_tools.sandbox.protocol import Job, Limits, Outcome
from mcp_tools.text import one_line

MODULE = "attached"
_LOADING = "attached_loading"
_IN_ORDER = re.compile(
    r"^\s*\|?(?:\s*:?-+:?\s*\|)+|(?:^\s*(?:[-*+]|\d{1,3}[.)])\s+\S.*\n\s*){3}|(?:^[^:|\n]{1,60}:\s*[-+$€£]?\d.*\n\s*){3}",
    re.MULTILINE,
)
"""The rule below a table's header in Markdown, three items of a list, or three lines of a label and a number."""
TEXTS = frozenset(["txt", "md", "source", "pdb", "cif"])
"""Kinds that a program reads as text as they are."""
_AS_TEXT = (".pages.jsonl", ".transcript.json", ".md", ".txt")
"""How the files end in which readers write a text."""


def modules_for(state: State) -> dict[str, str]:
    """The sources of the modules; the variables of `attached` are what the files hold."""
    specs = [_spec(file) for file in openable(state)]
    source = (
        f"from {_LOADING} import load, tell\n"
        f"_named = load({specs!r})\nglobals().update(_named)\n__all__ = list(_named)\n"
    )
    return {MODULE: source, _LOADING: resources.files("agent.small").joinpath("loading.py").read_text("utf-8")}


def openable(state: State) -> list[AttachedFile]:
    """The files that the module opens."""
    return [file for file in readable(state) if file["kind"] in TABLES | TREES or _text_of(file)]


def _text_of(file: AttachedFile) -> str:
    if file["kind"] in TEXTS:
        return file["path"]
    return next((path for path in file["data"] if path.endswith(_AS_TEXT)), "")


def _packages_of(files: Sequence[AttachedFile]) -> set[str]:
    kinds = {file["kind"] for file in files}
    has_tables = kinds & (TABLES | TREES) or any(map(holds_tables, files))
    has_books = kinds & {"xlsx", "xls", "xlsb", "ods"}
    return ({"pandas"} if has_tables else set()) | ({"openpyxl", "python-calamine"} if has_books else set())


def _spec(file: AttachedFile) -> dict[str, Any]:
    facts = {name: file["facts"].get(name) for name in ("delimiter", "decimal", "encoding", "header", "lines_above")}
    return {
        **{"name": file["name"], "path": file["path"], "kind": file["kind"], "text": _text_of(file)},
        "tables": holds_tables(file),
        "facts": {name: fact for name, fact in facts.items() if fact is not None},
    }


def holds_tables(file: AttachedFile) -> bool:
    """Whether the text of a file has tables, lists or labelled lines, as far as its beginning shows."""
    return bool(_text_of(file)) and _IN_ORDER.search(file["beginning"]) is not None


_LONGEST = 2_000
_EMPTY = re.compile(r"nan|NaN|NaT|None|<NA>|Empty DataFrame\n.*|Series\(\[\], .*|\[\]|\{\}|", re.DOTALL)
_NUMPY = re.compile(r"\bnp\.\w+\(([^()]*)\)")
_MIDNIGHT = re.compile(r"(\d{4}-\d{2}-\d{2}) 00:00:00")


def answer_in(printed: str, question: str) -> str:
    """The printed answer in the form that the question asks for; empty where there is none."""
    text = as_answer(printed)
    text = answer_text(text == "True", question) if text in ("True", "False") else text
    return in_asked_format(_with_commas(text, question), question)


def as_answer(printed: str) -> str:
    """What a program printed as an answer: no marks of types, no midnight after a date; empty for nothing."""
    text = _MIDNIGHT.sub(r"\1", _NUMPY.sub(r"\1", printed.strip()))
    if _EMPTY.fullmatch(text) or len(text) > _LONGEST:
        return ""
    try:
        value = ast.literal_eval(text)
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return text
    if isinstance(value, tuple):
        return value_text([*value]) if text[0] == "(" else text  # 1,234 has a comma between its thousands
    was_formatted = isinstance(value, int | float) and repr(value) != text  # 95.90 was meant so
    return text if was_formatted else value_text(value)


def _with_commas(answer: str, question: str) -> str:
    """Several values with commas between, where the form that is asked for has so many: `Rose 3` as `Rose, 3`."""
    parts = asked_of(question).parts
    if parts < 2:
        return answer
    with contextlib.suppress(ValueError):
        listed = json.loads(answer)
        if isinstance(listed, list) and len(listed) == parts:
            return ", ".join(map(value_text, listed))
    if len(answer.split(",")) == parts:
        return answer
    return ", ".join(next((of for of in (answer.splitlines(), answer.split()) if len(of) == parts), [answer]))


TOKENS = 600
STOP = ["\n```"]
"""What follows a program is an explanation that nobody reads."""
_ATTEMPTS = 2
_FENCE = re.compile(r"^[ \t]*```\w*[ \t]*\n(.*?)(?:^[ \t]*```|\Z)", re.DOTALL | re.MULTILINE)
_LIMITS = Limits(wall_seconds=60, cpu_seconds=60, memory_mb=2048)
"""A program over a large table takes longer than a tool."""
_TEXTS: frozenset[Action] = frozenset({"read_file", "search", "browse"})
_ROOM = 6_000
"""Characters of all texts together: a small model reads slowly, and loses itself in more."""


@dataclass(frozen=True, slots=True)
class Task:
    """What a program is asked for with, and how it is run."""

    messages: list[Message]
    """The last one is the beginning of the reply."""
    run: Callable[[str], Awaitable[Outcome]]
    is_general: bool
    """Whether the program computes with the question's own values, so that others would make sense, too."""
    head: str = ""
    """How the program begins, if the model is to go on from there."""

    def source_in(self, reply: str) -> str:
        """The program that a reply is, with its head."""
        source = code_in(reply)
        return source if source.startswith(self.head) else self.head + source


async def answer_by_program(state: State, context: Context) -> Update:
    """What a program prints that the model writes for the question."""
    failure = ""
    try:
        task = await program_task(state, context)
        messages = task.messages
        for _ in range(_ATTEMPTS):
            completion = await context.complete(Role.WRITER, messages, temperature=0, max_tokens=TOKENS, stop=STOP)
            source = task.source_in(completion.text)
            outcome = await task.run(source)
            answer = answer_in(outcome.stdout, state["question"]) if outcome.ok else ""
            failure = "" if answer else why_nothing(outcome)
            context.emit(ToolCalled("program", {}, bool(answer), one_line(answer or failure), outcome.seconds))
            if answer:
                done = step(state, ok=True, finding=f"A program printed: {answer}", value=answer)
                return {"steps": [done], **({"program": source} if task.is_general else {})}
            messages = with_failure(task.messages, source, failure)
    except StoppedError as stopped:
        failure = stopped.message
    return failed(state, context, f"No program gave a result: {failure}", f"no program: {failure}")


async def program_task(state: State, context: Context) -> Task:
    """How a program is asked for: over the attached files, with what was read, or with the question alone."""
    texts = [done for done in state.get("steps", []) if done["ok"] and done["action"] in _TEXTS]
    room = _ROOM // max(len(texts), 1)
    shown = [data_block(done["input"], preview(reading_of(done), room)) for done in texts]
    opened = openable(state)
    others = [file for file in state.get("attached", []) if file["problem"] and not is_missing(file)]
    others += [file for file in readable(state) if file not in opened]
    if not opened and not others:

        async def run(source: str) -> Outcome:
            return await context.sandbox.run(Job(source, None))

        prompt = "program_over_texts" if texts else "program"
        return Task(_messages(prompt, shown, state), run, is_general=not texts)
    read, modules, installed = granted(state, context), modules_for(state), file_packages()

    async def run_with(source: str) -> Outcome:
        packages = (_packages_of(opened) | {*imported(source, installed)}) & {*installed}
        job = Job(source, None, read=read, modules=modules, packages=tuple(sorted(packages)), limits=_LIMITS)
        return await context.sandbox.run(job)

    told = await run_with(
        f"import {MODULE}\nprint(', '.join({MODULE}._named))\nprint({MODULE}.tell({MODULE}._named))\n"
    )
    names, _, described = told.stdout.strip().partition("\n")
    material = [data_block("variables", described if told.ok else failure_of(told))] if opened else []
    material += [files_text(others, context.strategy(Role.WRITER).limits.files)] if others else []
    *messages, last = _messages("program_over_files", [*material, *shown], state)
    head = f"from {MODULE} import {names}\n" if names else ""
    begun = {**last, "content": f"{last['content']}\n{head}"}
    return Task([*messages, begun], run_with, is_general=False, head=head)


def _messages(prompt: str, material: list[DataText], state: State) -> list[Message]:
    shown = DataText(f"{data_blocks(material)}\n") if material else DataText("")
    return load_prompt("agent.small", prompt).render(material=shown, question=state["question"])


def with_failure(messages: list[Message], source: str, failure: str) -> list[Message]:
    """The messages that ask for a program once more."""
    asked = f"The program failed:\n{data_block('its failure', failure)}\nGive the whole program, written another way."
    written: Message = {"role": "assistant", "content": f"```python\n{source}```"}
    return [*messages[:-1], written, {"role": "user", "content": asked}, messages[-1]]


def why_nothing(outcome: Outcome) -> str:
    """Why a program gave no answer."""
    printed = outcome.stdout.strip()
    return f"It printed only: {printed[:200]}" if outcome.ok and printed else failure_of(outcome)


def code_in(reply: str) -> str:
    """The program in a reply that goes on with a block that its prompt has opened, or opens one itself."""
    text = reply.replace("\r\n", "\n")
    blocks = _FENCE.findall(text)
    before = text.partition("```")[0]
    code = max(blocks, key=len) if blocks and not _is_code(before) else before
    return code.strip() + "\n"


def _is_code(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return bool(ast.parse(text.strip()).body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
