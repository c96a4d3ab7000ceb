"""create_tool of a capable model: the code it proposes is tried, proved and kept, and its result is the finding."""

from __future__ import annotations

from functools import partial

from agent.actions.creation import short_path, tell_creation
from agent.actions.tools import shown_tool
from agent.consent.consent import USER_SAID
from agent.context import Context
from agent.errors import ModelError, ModelOutputError
from agent.events import Note, ToolCalled, ToolRegistered
from agent.material.attached import granted, present, with_paths
from agent.models.protocol import Role
from agent.state import State
from agent.steps import decision_of, failed, step, value_text
from agent.strategy import Update
from mcp_tools.create.interfaces import Creation, Proposal
from mcp_tools.create.prove import prove
from mcp_tools.errors import StoppedError
from mcp_tools.packages import file_packages
from mcp_tools.text import one_line
from mcp_tools.tool import Capabilities

_MEND = "Mend code or docstring, or say as objection why a test is wrong, and propose it again; or answer."


async def propose_tool(state: State, context: Context) -> Update:
    """Proves the tool of the decision, and keeps it where that succeeds; it answers the question either way."""
    assert context.examiner is not None
    decision = decision_of(state)
    files = present(state, context)
    proposal = Proposal(
        question=state["question"],
        code=decision.code,
        arguments=with_paths(decision.arguments, state),
        objection=decision.objection,
        final=decision.final,
        files=files,
        data=granted(state, context),
        run_id=context.run_id,
        model=context.models.for_role(Role.COORDINATOR).name,
        capabilities=Capabilities(read=True, packages=file_packages()) if files else Capabilities(),
    )
    try:
        creation = await prove(
            proposal,
            examiner=context.examiner,
            sandbox=context.sandbox,
            library=context.library,
            tell=partial(tell_creation, context),
        )
    except (ModelError, ModelOutputError, StoppedError) as failure:
        return failed(state, context, f"No tool could be created: {failure.message}", f"no tool: {failure.message}")
    if creation.tool is None:
        return _not_kept(state, context, creation)
    tool = creation.tool
    if creation.choice == "create":
        context.emit(ToolRegistered(tool.name, short_path(context.library.folder / f"{tool.name}.py"), tool.status))
    else:
        context.emit(Note(f"the library already has it: {tool.name}"))
    shown = value_text(creation.value)
    await context.library.record_call(tool.name, ok=True, kind=None)
    context.emit(
        ToolCalled(
            tool.name, creation.arguments, True, one_line(shown), creation.outcome.seconds if creation.outcome else 0.0
        )
    )
    kept = f"Kept as {tool.name}." if creation.choice == "create" else f"The library has it: {tool.name}."
    known = {tool["name"] for tool in state["tools"]}
    return {
        "steps": [step(state, ok=True, finding=shown, value=creation.value, note=kept)],
        "created": [tool.name] if creation.choice == "create" else [],
        "used": [tool.name],
        "tools": state["tools"] if tool.name in known else [*state["tools"], shown_tool(tool)],
    }


def _not_kept(state: State, context: Context, creation: Creation) -> Update:
    """The value without a tool. The first time, the model may mend the tool before the run ends with the value."""
    refused = creation.choice == "refused"
    if not refused:
        context.emit(Note(f"not kept as a tool: {one_line(creation.headline, 300)}"))
    ok = creation.answered
    shown = f"Its result here: {value_text(creation.value)}\n" if ok else ""
    done = step(state, ok=ok, finding=f"{shown}Not kept as a tool:\n{creation.reason}", value=creation.value)
    if USER_SAID in creation.reason:
        done |= {"final": ""}  # the model goes on with what the user says
    elif refused and state.get("wish") == "create":
        done["final"] = "{}"  # another version is not wanted either
    elif creation.choice == "not_kept" and all(one["action"] != "create_tool" for one in state.get("steps", [])):
        done |= {"final": "", "note": _MEND}
    return {"steps": [done]}
