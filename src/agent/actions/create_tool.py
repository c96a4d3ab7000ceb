"""The action that creates a tool: it runs, proves and keeps the proposed code. The tool's result is the finding."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from agent.actions.action import FINAL, TEXT, TEXTS, Action, FunctionCall, function_form, something_found_since
from agent.actions.creation import short_path, show_creation
from agent.actions.program_hosts import doubts_of, hosts_named
from agent.actions.program_packages import packages_of
from agent.actions.tools import shown_tool
from agent.answer import OutputFile
from agent.consent.capabilities import needs_in, use_of
from agent.consent.consent import USER_SAID
from agent.consent.hosts import NEW_TOOL, HostToReach
from agent.context import Context, Update, failed
from agent.errors import ModelError, ModelOutputError
from agent.events import Note, ToolCalled, ToolRegistered
from agent.material.attached import granted, present, with_paths
from agent.material.outputs import listing, with_files_of, with_outputs
from agent.models.protocol import Role
from agent.state import LOOK, RESULT, Decision, Reply, State, Step
from agent.steps import decision_of, step, value_text
from mcp_tools.checks.header import declared, with_declared
from mcp_tools.create.interfaces import Creation, Proposal, Wrapping
from mcp_tools.errors import LibraryError, NotPermittedError, StoppedError
from mcp_tools.hosts import HostError
from mcp_tools.library.dependencies import needs_of, tools_imported
from mcp_tools.packages import file_packages
from mcp_tools.text import one_line

_MEND = "Mend code or docstring, or say as objection why a test is wrong, and propose it again; or answer."


class CreateTool(Action):
    """Writes a tool, proves it and keeps it. The tool's result is the finding, even if the tool is not kept.

    A capable model passes the code in its decision. A small model writes a program here, and the node `keep` turns it
    into a tool.
    """

    name = "create_tool"
    function = function_form(
        "create_tool",
        "Calls a new general tool with `arguments`, tests and keeps it. `code`: a module, one typed public function, "
        "its Google docstring with Args (meaning, unit, limits), Returns, Raises and an example that runs; Literal for "
        "a choice; ValueError naming each bad input. Without it, the last one.",
        {
            "code": TEXT,
            "arguments": {"type": "object"},
            "hosts": TEXTS,
            "writes_files": {"type": "boolean"},
            "objection": TEXT,
            FINAL: TEXT,
        },
        ["arguments"],
    )

    def decision(self, call: FunctionCall) -> Decision:
        """See `Action`. A call without code means the tool that was proposed last."""
        given = call.arguments
        code = given.get("code") or _proposed(call.replies)
        code = with_declared(code, **hosts_named(code, given), write=given.get("writes_files", False))
        objection = given.get("objection", "")
        return Decision(
            self.name,
            call.why,
            arguments=given["arguments"],
            code=code,
            objection=objection,
            ending=call.ending,
            call=call.call_id,
        )

    def may_repeat(self, decision: Decision, last: Step, state: State) -> bool:
        """Return True if another action has found something since."""
        return something_found_since(last, decision, state)

    async def run(self, state: State, context: Context) -> Update:
        """See `Action`."""
        return await context.strategy(Role.COORDINATOR).create(state, context)


async def propose_tool(state: State, context: Context) -> Update:
    """Prove the proposed tool, and keep it if the proof succeeds. Its result is used in either case."""
    assert context.examiner is not None
    decision = decision_of(state)
    files, wraps = present(state, context), state.get("wraps")
    code, brought = decision.code, [wraps["module"]] if wraps else []
    if wraps:
        code = with_declared(code, [wraps["requirement"]])
    try:
        wanted = declared(code)
        get = context.library.get
        names = await tools_imported(code, get, declared=wanted.tools, packages=wanted.packages)
        needs, own = await needs_of(names, get), packages_of(code, [*names, *brought])
    except LibraryError as wrong:
        return failed(state, context, f"No tool could be created: {wrong}", f"no tool: {wrong}")
    packages = (*(file_packages() if files else ()), *own)
    proposal = Proposal(
        question=state["question"],
        code=code,
        arguments=with_paths(decision.arguments, state),
        objection=decision.objection,
        final=decision.ending.form,
        files=files,
        data=granted(state, context),
        attempt=1 + sum(one["action"] == "create_tool" for one in state.get("steps", [])),
        run_id=context.run_id,
        model=context.models.for_role(Role.COORDINATOR).name,
        capabilities=replace(wanted, read=bool(files), packages=tuple(dict.fromkeys(packages)), tools=tuple(names)),
        needs=needs,
        wraps=None if wraps is None else Wrapping(wraps["requirement"], wraps["label"]),
    )
    try:
        creation, outputs = await with_outputs(
            context.outputs, context.calls, wanted.write, lambda folder: _prove(proposal, state, context, folder)
        )
    except (ModelError, ModelOutputError, StoppedError, HostError, NotPermittedError) as failure:
        return failed(state, context, f"No tool could be created: {failure.message}", f"no tool: {failure.message}")
    if creation.tool is None:
        return _not_kept(state, context, creation, outputs)
    tool = creation.tool
    if creation.choice == "create":
        context.emit(ToolRegistered(tool.name, short_path(context.library.folder / f"{tool.name}.py"), tool.status))
        if uses := needs_in(tool.capabilities, tool.capabilities.packages):
            context.emit(Note(f"{tool.name} may {'; '.join(map(use_of, uses))}"))
    else:
        context.emit(Note(f"the library already has this tool: {tool.name}"))
    shown = value_text(creation.value)
    await context.library.record_call(tool, ok=True, kind=None)
    context.emit(
        ToolCalled(
            tool.name, creation.arguments, True, one_line(shown), creation.outcome.seconds if creation.outcome else 0.0
        )
    )
    kept = f"Kept as {tool.name}." if creation.choice == "create" else f"The library has it: {tool.name}."
    if creation.remark:
        kept = f"{kept} {creation.remark}"
        context.emit(Note(one_line(creation.remark, 300)))
    known = {shown.name for shown in state["tools"]}
    done = step(state, ok=True, finding=shown, value=creation.value, note=f"{listing(outputs)} {kept}".strip())
    return {
        "steps": [with_files_of(done, outputs)],
        "created": [tool.name] if creation.choice == "create" else [],
        "used": [tool.name],
        "tools": state["tools"] if tool.name in known else [*state["tools"], shown_tool(tool)],
    }


async def _prove(proposal: Proposal, state: State, context: Context, folder: Path | None) -> Creation:
    from mcp_tools.create.prove import prove  # slow to import

    assert context.examiner is not None
    who = HostToReach(NEW_TOOL, "", "", imports=tuple(proposal.needs.modules))
    doubts = doubts_of(state, context, programs=False)
    packages = proposal.needs.and_packages(proposal.capabilities.packages)
    async with context.hosts.of_code(who, proposal.capabilities, packages, doubts) as carry:
        return await prove(
            replace(proposal, write=folder),
            examiner=context.examiner,
            sandbox=context.sandbox,
            library=context.library,
            notify=partial(show_creation, context),
            carry=carry,
        )


def _not_kept(state: State, context: Context, creation: Creation, outputs: Sequence[OutputFile]) -> Update:
    """Return the result of a tool that is not kept. After the first failure, the model may fix the tool."""
    refused = creation.choice == "refused"
    kept = "not kept as a tool" if creation.choice != "draft" else "kept as a draft"
    if not refused:
        context.emit(Note(f"{kept}: {one_line(creation.headline, 300)}"))
    ok = creation.answered
    shown = f"Its result here: {value_text(creation.value)}\n{listing(outputs)}\n" if ok else ""
    done = step(state, ok=ok, finding=f"{shown}{kept.capitalize()}:\n{creation.reason}", value=creation.value)
    if USER_SAID in creation.reason:
        done["ending"] = LOOK  # the model continues with the user's words
    elif refused and state["purpose"].wants_tool:
        done["ending"] = RESULT  # the user does not want a corrected version either
    elif creation.choice == "not_kept" and all(one["action"] != "create_tool" for one in state.get("steps", [])):
        done |= {"ending": LOOK, "note": _MEND}
    return {"steps": [with_files_of(done, outputs)]}


def _proposed(replies: Sequence[Reply]) -> str:
    """Return the code of the last proposed tool; empty without one."""
    for reply in reversed(replies):
        for call in reply["message"].get("tool_calls", []):
            if call["function"]["name"] == "create_tool" and (code := _code_in(call["function"]["arguments"])):
                return code
    return ""


def _code_in(arguments: str) -> str:
    try:
        return str(json.loads(arguments).get("code") or "")
    except (ValueError, AttributeError):  # a call that could not be read
        return ""
