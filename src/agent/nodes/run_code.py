"""run_code: a one-off program in the sandbox, which may import tools of the library and open the attached files."""

from __future__ import annotations

from typing import Any

from langgraph.runtime import Runtime

from agent.attached import files_text, granted
from agent.context import Context
from agent.events import Note, ToolCalled
from agent.external import SERVER
from agent.models.protocol import Message, Role
from agent.programs.opening import openable
from agent.programs.over_files import LIMITS, vote_on_files
from agent.programs.over_texts import texts_in, vote_on_texts
from agent.programs.paths import with_paths
from agent.programs.scripts import asked_part, asked_script, finding_of, run_script
from agent.programs.voting import Printed, failure_of
from agent.state import State
from agent.steps import evidence_text, step
from mcp_tools.create.assemble import extract_code
from mcp_tools.errors import LibraryError, StoppedError, UnknownToolError
from mcp_tools.packages import file_packages, imported
from mcp_tools.prompt import data_block, load_prompt
from mcp_tools.sandbox.protocol import Job
from mcp_tools.text import one_line

_ATTEMPTS = 2
_ATTEMPTS_WITH_FILES = 3
"""A file holds surprises that its preview does not show."""
_TOKENS = 900
_BEGUN: Message = {"role": "assistant", "content": "```python\n"}
"""A weak model that is not begun for gives the answer it believes instead of a program."""


async def run_code(state: State, runtime: Runtime[Context]) -> dict[str, Any]:
    """Runs the attached program that is asked about; else writes a program, and runs it."""
    context = runtime.context
    if (script := asked_script(state)) is not None and not _was_run(script["name"], state):
        outcome = await run_script(script, state, context)
        if outcome is not None:
            value = asked_part(state["question"], outcome.stdout) if outcome.ok else ""
            done = outcome.ok or bool(outcome.stdout.strip())
            return {"steps": [step(state, ok=done, finding=finding_of(script, outcome), value=value or None)]}
    if context.is_weak(Role.WRITER) and (openable(state) or texts_in(state)):
        return await _voted(state, context)
    return await _written(state, context)


def _was_run(name: str, state: State) -> bool:
    return any(done["finding"].startswith(f"Running {name} ") for done in state.get("steps", []))


async def _voted(state: State, context: Context) -> dict[str, Any]:
    """Programs over what was just read; over the files where nothing was, or where it says too little."""
    printed, over = Printed(""), "what was read"
    try:
        if _is_just_read(state):
            printed = await vote_on_texts(state, context)
        if not printed.answer and openable(state):
            printed, over = await vote_on_files(state, context), "the files"
    except StoppedError as stopped:
        return _failed(state, context, stopped.message)
    if not printed.answer:
        return _failed(state, context, printed.failure)
    finding = f"A program over {over} printed: {printed.answer}"
    return {"steps": [step(state, ok=True, finding=finding, value=printed.answer)]}


def _is_just_read(state: State) -> bool:
    texts, steps = texts_in(state), state.get("steps", [])
    return bool(texts) and (texts[-1] is steps[-1] or not openable(state))


async def _written(state: State, context: Context) -> dict[str, Any]:
    """Writes a program and runs it; after a failure again, with the failure shown."""
    messages = _messages(state)
    begun = [_BEGUN] if context.is_weak(Role.WRITER) else []
    modules = await _modules(state, context)
    finding = ""
    for _ in range(_ATTEMPTS_WITH_FILES if state.get("attached") else _ATTEMPTS):
        try:
            completion = await context.complete(Role.WRITER, [*messages, *begun], temperature=0, max_tokens=_TOKENS)
        except StoppedError as stopped:
            finding = stopped.message
            break
        outcome = await context.sandbox.run(_job(extract_code(completion.text), modules, state, context))
        printed = outcome.stdout.strip()
        context.emit(ToolCalled("program", {}, outcome.ok, one_line(printed or failure_of(outcome)), outcome.seconds))
        if outcome.ok and printed:
            return {"steps": [step(state, ok=True, finding=f"A program printed: {printed}", value=printed)]}
        finding = failure_of(outcome)
        failed = f"The program failed:\n{data_block('its error', finding)}\nGive the whole corrected program."
        messages += [{"role": "assistant", "content": completion.text}, {"role": "user", "content": failed}]
    return _failed(state, context, finding)


def _messages(state: State) -> list[Message]:
    given: dict[str, Any] = {
        "question": state["question"],
        "tools": "; ".join(f"{tool['name']}: {tool['description']}" for tool in _own(state)) or "none",
        "evidence": evidence_text(state.get("steps", [])),
    }
    attached = state.get("attached")
    if not attached:
        return load_prompt("agent", "run_code").render(**given)
    return load_prompt("agent", "run_code_files").render(**given, files=files_text(attached))


def _job(source: str, modules: dict[str, str], state: State, context: Context) -> Job:
    attached = state.get("attached")
    if not attached:
        return Job(source, None, read=context.files, modules=modules)
    source = with_paths(source, attached)
    packages = imported(source, file_packages())
    return Job(source, None, read=granted(state, context), modules=modules, packages=packages, limits=LIMITS)


def _failed(state: State, context: Context, finding: str) -> dict[str, Any]:
    context.emit(Note(f"no program: {one_line(finding)}"))
    return {"steps": [step(state, ok=False, finding=f"No program gave a result: {finding}")]}


def _own(state: State) -> list[dict[str, Any]]:
    """The shown tools of the library; those of external servers cannot be imported."""
    return [tool for tool in state.get("tools", []) if SERVER not in tool]


async def _modules(state: State, context: Context) -> dict[str, str]:
    """The sources of the library's tools that were shown, importable by name."""
    found = {}
    for shown in _own(state):
        try:
            found[str(shown["name"])] = (await context.library.get(str(shown["name"]))).source
        except (UnknownToolError, LibraryError):
            continue
    return found
