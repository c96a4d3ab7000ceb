"""The action that runs a program in the run's Python session, which keeps its variables."""

from __future__ import annotations

import ast
import contextlib
import re
from typing import TYPE_CHECKING

from agent.actions.action import FINAL, TEXT, TEXTS, Action, FunctionCall, function_form, something_found_since
from agent.actions.program_functions import ProgramFunctions, function_names
from agent.actions.program_hosts import doubts_of, hosts_named
from agent.actions.program_packages import packages_of
from agent.actions.server_tools import MODULES, external_of, server_modules
from agent.answering.answer_format import answer_of, variables_in
from agent.calls.python_session import LIMITS
from agent.consent.hosts import HostToReach
from agent.consent.permission import words_of_user
from agent.context import Context, Update, kept_whole
from agent.events import ToolCalled
from agent.material.attached import granted
from agent.material.outputs import listing, with_files_of
from agent.material.pictures import seen_pictures
from agent.models.protocol import Role
from agent.state import Decision, State, Step, ToolRef
from agent.steps import decision_of, step
from mcp_tools.checks.header import declared, with_declared
from mcp_tools.errors import (
    LibraryError,
    ModelFixableError,
    NotPermittedError,
    StoppedError,
    UnknownToolError,
)
from mcp_tools.library.dependencies import Needs, needs_of, tools_imported
from mcp_tools.packages import is_provided
from mcp_tools.sandbox.protocol import BlockResult, SessionOutcome
from mcp_tools.text import middle_left_out, one_line
from mcp_tools.tool import Capabilities

if TYPE_CHECKING:
    pass


_SHOWN = 8_000
"""Maximum characters of output that an observation shows. The full output is kept in a file."""
_NO_NETWORK = "Name the hosts in `hosts`, and use urllib.request, requests or httpx."
_LOST = "The session was restarted: variables of earlier programs are gone."


class RunPython(Action):
    """Runs a program, which may import tools of the library and open attached files. Its output is the finding."""

    name = "run_code"
    function = function_form(
        "run_python",
        "Runs Python; variables stay. print() what to see.",
        {"code": TEXT, "packages": TEXTS, "hosts": TEXTS, FINAL: TEXT},
        ["code"],
    )

    def decision(self, call: FunctionCall) -> Decision:
        """See `Action`."""
        code = call.arguments["code"]
        code = with_declared(code, call.arguments.get("packages", ()), **hosts_named(code, call.arguments))
        return Decision(self.name, call.why, code=code, ending=call.ending, call=call.call_id)

    def may_repeat(self, decision: Decision, last: Step, state: State) -> bool:
        """Return True if something has been found since."""
        return something_found_since(last, decision, state)

    async def run(self, state: State, context: Context) -> Update:
        """See `Action`. If the decision has no program, the strategy writes one."""
        return await context.strategy(Role.COORDINATOR).program(state, context)


async def run_in_session(state: State, context: Context) -> Update:
    """Run the program of the decision. The finding is its output and, if it failed, the reason."""
    decision, host = decision_of(state), ProgramFunctions(state, context)
    own, servers = await modules_of(state, context), server_modules(external_of(state))
    try:
        may, needs = declared(decision.code), await _needs(decision.code, context)
        packages = needs.and_packages(packages_of(decision.code, {**own, **needs.modules, **servers}))
    except LibraryError as wrong:
        return {"steps": [step(state, ok=False, finding=f"Not run: {wrong}")]}
    if (may.memory_mb or 0) > LIMITS.memory_mb:
        refused = f"Not run: a program has {LIMITS.memory_mb:,} MiB of memory; a tool may declare more."
        return {"steps": [step(state, ok=False, finding=refused)]}
    packages = tuple(one for one in packages if not is_provided(one))
    who = HostToReach("", "", "", imports=tuple(needs.modules))
    try:
        async with context.hosts.of_code(who, may, packages, doubts_of(state, context)) as carry:
            outcome = await context.python.run(
                decision.code,
                files=granted(state, context),
                tools={**own, **needs.modules},
                servers=servers,
                functions=function_names(state, context),
                answer=host.answer,
                packages=packages,
                carry=carry,
                seconds=may.seconds,
            )
    except NotPermittedError as refused:
        context.emit(ToolCalled("program", {}, False, one_line(refused.message)))
        return {"steps": [step(state, ok=False, finding=f"Not run: {refused.message}")]}
    except (StoppedError, ModelFixableError) as stopped:
        return {"steps": [step(state, ok=False, finding=stopped.message)]}
    printed = outcome.stdout.strip()
    text = printed or _without_quotes(outcome.value)
    summary = one_line(text or (outcome.problem.message if outcome.problem else "nothing"))
    context.emit(ToolCalled("program", {}, outcome.ok, summary, outcome.seconds))
    result = outcome.result if outcome.ok else None
    value = text if outcome.ok and text else None
    value = value if result is None or result.said is None else result.said
    notes = [
        kept_whole(state, context, text),
        listing(context.python.written),
        "Of the output both ends are kept." if outcome.cut else "",
        _about_hosts(outcome.problem.message, may, needs) if outcome.problem else "",
        _LOST if outcome.fresh else "",
        "" if outcome.ok and text else _unseen(decision.code, state, context),
    ]
    note = " ".join(filter(None, notes))
    pictures, seen = await seen_pictures(host.shown, context, state["question"], is_read=False)
    finding = "\n".join(filter(None, [_finding(outcome, text), seen]))
    done = step(state, ok=outcome.ok, finding=finding, value=value, note=note, pictures=pictures)
    done = with_files_of(done, context.python.written)
    if result is not None and result.plain != result.said:
        done["plain"] = result.plain
    if outcome.ok and (found := await _of_variables(done, state, context)) is not None:
        done |= {"value": found.said, "plain": found.plain}
    await context.library.record_calls(outcome.called)
    update = host.asked.update
    used = [*update.get("used", []), *host.called, *(one.name for one in outcome.called if one.calls > one.failed)]
    return {"steps": [done | host.asked.marks], **update, "used": used}


def _about_hosts(failure: str, may: Capabilities, needs: Needs) -> str:
    """Return a note for a program that failed because it does not declare the hosts of an imported tool."""
    lacking = []
    for tool in needs.tools:
        hosts = [one for one in tool.capabilities.hosts if one not in may.hosts]
        keys = [f"{{key:{one}}}" for one in tool.capabilities.keys if one not in may.keys]
        lacking += [f"{tool.name} needs {', '.join(hosts)} in `hosts`."] if hosts else []
        lacking += [f"{tool.name} needs {', '.join(keys)} in the program's text."] if keys else []
    return " ".join(lacking) or (_NO_NETWORK if failure.startswith("network access is not granted") else "")


def _unseen(code: str, state: State, context: Context) -> str:
    """Return a note if the program uses a path from the user's text that only a connected server can open."""
    seen = {str(path) for path in granted(state, context)}
    paths = re.findall(r"""["'](/[^"'\n]+)["']""", code) if external_of(state) else []
    unseen = next((path for path in paths if path not in seen and path.rstrip("/") in words_of_user(state)), "")
    return f"Programs cannot see {unseen}: call a server's function for it." if unseen else ""


async def _of_variables(done: Step, state: State, context: Context) -> BlockResult | None:
    """Return the variables named in the form of the answer, if the result lacks them."""
    if not (names := variables_in(done["ending"].form)):
        return None
    if done["value"] is not None:
        with contextlib.suppress(ValueError):
            answer_of(done, state["question"])
            return None
    with contextlib.suppress(StoppedError):
        return await context.python.variables(names)
    return None


def _finding(outcome: SessionOutcome, text: str) -> str:
    problem = outcome.problem
    parts = [
        middle_left_out(text, _SHOWN),
        f"stderr:\n{outcome.stderr.strip()[-2_000:]}" if outcome.stderr.strip() else "",
        f"It failed: {problem.message}\n{problem.traceback}".strip() if problem else "",
    ]
    return "\n".join(part for part in parts if part) or "It printed nothing."


def _without_quotes(shown: str) -> str:
    """Return a quoted text without its quotes, and anything else unchanged."""
    try:
        value = ast.literal_eval(shown)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return shown
    return value if isinstance(value, str) else shown


def own_tools(state: State) -> list[ToolRef]:
    """Return the approved tools of the library that programs can import."""
    return [tool for tool in state.get("tools", []) if not tool.is_external and not tool.is_draft]


async def _needs(code: str, context: Context) -> Needs:
    """Return the library's tools that a program imports, with everything that they import.

    Raises:
        LibraryError: A tool is missing, damaged or not approved, or the header of the program is wrong.
    """
    get = context.library.get
    names = await tools_imported(code, get, packages=declared(code).packages)
    return await needs_of([name for name in names if name != MODULES], get)


async def modules_of(state: State, context: Context) -> dict[str, str]:
    """Return the sources of the tools that programs can import, by name."""
    found = {}
    for shown in own_tools(state):
        try:
            found[shown.name] = (await context.library.get(shown.name)).source
        except (UnknownToolError, LibraryError):
            continue
    return found
