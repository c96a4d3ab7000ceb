"""Writes a program for a question, runs it in the sandbox, and repairs it once if it fails."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from agent.answering.answer_format import answer_text
from agent.answering.final_answer import in_asked_format
from agent.context import Context, Update, failed
from agent.events import ToolCalled
from agent.material.attached import TABLES_AND_DATA, TEXTS, file_named, files_text, granted, is_missing, readable
from agent.models.protocol import Message, Role
from agent.state import LOOKING_ACTIONS, AttachedFile, State
from agent.steps import decision_of, preview, reading_of, step, value_text
from mcp_tools.errors import StoppedError
from mcp_tools.packages import file_packages, imported
from mcp_tools.prompt import DataText, data_block, data_blocks, load_prompt
from mcp_tools.sandbox.protocol import Job, Limits, Outcome
from mcp_tools.text import one_line

MODULE = "attached"
"""Name of the module whose variables hold the contents of the attached files."""
_TEXT_COPIES = (".pages.jsonl", ".transcript.json", ".md", ".txt")
_LIMITS = Limits(wall_seconds=60, cpu_seconds=60, memory_mb=2048)
"""Limits of a program. They are higher than for a tool, because a large table takes longer."""
MAX_TOKENS = 600
STOP = ["\n```"]
"""Stops the model after the program, because it would only add an explanation."""
_ATTEMPTS = 2
_FENCE = re.compile(r"^[ \t]*```\w*[ \t]*\n(.*?)(?:^[ \t]*```|\Z)", re.DOTALL | re.MULTILINE)
_NOTHING = re.compile(r"nan|NaN|NaT|None|<NA>|Empty DataFrame\n.*|Series\(\[\], .*|\[\]|\{\}|", re.DOTALL)
_NUMPY = re.compile(r"\bnp\.\w+\(([^()]*)\)")
_EXCEPTION = re.compile(r"[\w.]*(?:Error|Exception)[:(]|Traceback \(")
_MAX_ANSWER_CHARS = 2_000
_MAX_TEXT_CHARS = 6_000
"""Maximum characters of all texts together."""


def openable(state: State) -> list[AttachedFile]:
    """Return the files whose contents programs get as variables."""
    return [file for file in readable(state) if file["kind"] in TABLES_AND_DATA or _text_of(file)]


def _text_of(file: AttachedFile) -> str:
    if file["kind"] in TEXTS:
        return file["path"]
    return next((path for path in file["data"] if path.endswith(_TEXT_COPIES)), "")


def _modules(files: list[AttachedFile]) -> dict[str, str]:
    names = ("delimiter", "decimal", "encoding", "header", "lines_above")
    specs = [
        {
            **{"name": file["name"], "path": file["path"], "kind": file["kind"], "text": _text_of(file)},
            "facts": {name: file["facts"][name] for name in names if file["facts"].get(name) is not None},
        }
        for file in files
    ]
    source = (
        f"from attached_loading import load, tell\n_named = load({specs!r})\n"
        "globals().update(_named)\n__all__ = list(_named)\n"
    )
    loading = resources.files("agent.small").joinpath("loading.py").read_text("utf-8")
    return {MODULE: source, "attached_loading": loading}


def answer_in(printed: str, question: str) -> str:
    """Return the printed answer in the form that the question asks for; empty for nothing and for exceptions."""
    text = _NUMPY.sub(r"\1", printed.strip())
    if _NOTHING.fullmatch(text) or _EXCEPTION.match(text) or len(text) > _MAX_ANSWER_CHARS:
        return ""
    try:
        value = ast.literal_eval(text)
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return in_asked_format(text, question)
    if isinstance(value, bool):
        text = answer_text(value, question)
    elif isinstance(value, tuple):
        text = value_text([*value]) if text[0] == "(" else text  # 1,234 has a thousands separator
    elif not isinstance(value, int | float) or repr(value) == text:  # the program chose the format, as in 95.90
        text = value_text(value)
    return in_asked_format(text, question)


@dataclass(frozen=True, slots=True)
class ProgramTask:
    """A request for a program."""

    messages: list[Message]
    """Messages to the model. The last one is the beginning of the reply."""
    run: Callable[[str], Awaitable[Outcome]]
    is_general: bool
    """True if the program computes with values from the question, so that it could also be used with other values."""
    head: str = ""
    """Code at the beginning of the program."""

    def source_in(self, reply: str) -> str:
        """Return the program in a reply, with its head. Exceptions that it would print are raised instead."""
        source = code_in(reply)
        return raising(source if source.startswith(self.head) else self.head + source)


async def answer_by_program(state: State, context: Context) -> Update:
    """Run a program by the model. Its output is the finding."""
    failure = ""
    try:
        task = await program_task(state, context)
        messages = task.messages
        for _ in range(_ATTEMPTS):
            completion = await context.complete(Role.WRITER, messages, temperature=0, max_tokens=MAX_TOKENS, stop=STOP)
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


async def run_script(state: State, context: Context) -> Update:
    """Run the chosen attached program. Its output is the finding, and the result if it is a single line."""
    file = file_named(decision_of(state).file, state)
    source = await context.reader.script(Path(file["path"])) if file is not None else ""
    packages = imported(source, file_packages())
    outcome = await context.sandbox.run(
        Job(source, None, read=granted(state, context), packages=packages, limits=_LIMITS)
    )
    printed = outcome.stdout.strip()
    context.emit(ToolCalled("program", {}, outcome.ok, one_line(printed or _failure_of(outcome)), outcome.seconds))
    finding = printed if outcome.ok and printed else f"{printed}\n{_failure_of(outcome)}".strip()
    value = printed if outcome.ok and printed and "\n" not in printed else None
    return {"steps": [step(state, ok=outcome.ok and bool(printed), finding=finding, value=value)]}


async def program_task(state: State, context: Context) -> ProgramTask:
    """Return the task for the attached files, the texts that were read, or only the question."""
    texts = [done for done in state.get("steps", []) if done["ok"] and done["action"] in LOOKING_ACTIONS]
    room = _MAX_TEXT_CHARS // max(len(texts), 1)
    shown = [data_block(done["input"], preview(reading_of(done), room)) for done in texts]
    opened = openable(state)
    others = [file for file in state.get("attached", []) if file["problem"] and not is_missing(file)]
    others += [file for file in readable(state) if file not in opened]
    if not opened and not others:

        async def run(source: str) -> Outcome:
            return await context.sandbox.run(Job(source, None))

        prompt = "program_over_texts" if texts else "program"
        return ProgramTask(_messages(prompt, shown, state), run, is_general=not texts)
    read, modules, installed = granted(state, context), _modules(opened), file_packages()

    async def run_with(source: str) -> Outcome:
        used = {*imported(source, installed), *(("pandas", "openpyxl", "python-calamine") if opened else ())}
        packages = tuple(sorted(used & {*installed}))
        return await context.sandbox.run(
            Job(source, None, read=read, modules=modules, packages=packages, limits=_LIMITS)
        )

    outcome = await run_with(
        f"import {MODULE}\nprint(', '.join({MODULE}._named))\nprint({MODULE}.tell({MODULE}._named))\n"
    )
    names, _, described = outcome.stdout.strip().partition("\n")
    material = [data_block("variables", described if outcome.ok else _failure_of(outcome))] if opened else []
    material += [files_text(others, context.strategy(Role.WRITER).limits.files)] if others else []
    *messages, last = _messages("program_over_files", [*material, *shown], state)
    head = f"from {MODULE} import {names}\n" if names else ""
    begun = {**last, "content": f"{last['content']}\n{head}"}
    return ProgramTask([*messages, begun], run_with, is_general=False, head=head)


def _messages(prompt: str, material: list[DataText], state: State) -> list[Message]:
    shown = DataText(f"{data_blocks(material)}\n") if material else DataText("")
    return load_prompt("agent.small", prompt).render(material=shown, question=state["question"])


def with_failure(messages: list[Message], source: str, failure: str) -> list[Message]:
    """Return the messages that ask for a corrected program."""
    asked = f"The program failed:\n{data_block('its failure', failure)}\nGive the whole program, written another way."
    written: Message = {"role": "assistant", "content": f"```python\n{source}```"}
    return [*messages[:-1], written, {"role": "user", "content": asked}, messages[-1]]


def why_nothing(outcome: Outcome) -> str:
    """Return why a program gave no answer."""
    printed = outcome.stdout.strip()
    return f"It printed only: {printed[:200]}" if outcome.ok and printed else _failure_of(outcome)


def _failure_of(outcome: Outcome) -> str:
    problem = outcome.problem
    return f"{problem.message}\n{problem.traceback}".strip() if problem else "it printed nothing"


def code_in(reply: str) -> str:
    """Return the program in a reply that continues an open code block or begins a new one."""
    text = reply.replace("\r\n", "\n")
    blocks = _FENCE.findall(text)
    before = text.partition("```")[0]
    tree = _tree(before.strip())
    code = max(blocks, key=len) if blocks and not (tree and tree.body) else before
    return code.strip() + "\n"


def raising(source: str) -> str:
    """Add `raise` to each handler that uses its exception, because the exception's text is not an answer."""
    tree = _tree(source)
    handlers = [node for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler)] if tree else []
    swallowing = [handler for handler in handlers if _uses_exception(handler)]
    if tree is None or not swallowing:
        return source
    for handler in swallowing:
        handler.body = [ast.Raise()]
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _uses_exception(handler: ast.ExceptHandler) -> bool:
    """Return True if a handler uses its exception for anything but raising."""
    raised = {id(node) for part in ast.walk(handler) if isinstance(part, ast.Raise) for node in ast.walk(part)}
    names = {handler.name, "traceback", "exc_info", "exception", "format_exc", "print_exc"}
    used: list[Any] = [node for node in ast.walk(handler) if id(node) not in raised]
    return any(getattr(node, "id", getattr(node, "attr", None)) in names - {None} for node in used)


def _tree(source: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
