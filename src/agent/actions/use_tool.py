"""The action that calls a tool of the library or of an external server."""

from __future__ import annotations

from dataclasses import replace

from agent.actions.action import FINAL, TEXT, Action, function_form
from agent.actions.program_hosts import doubts_of
from agent.actions.server_tools import SERVER_TOOL, definition, external_named
from agent.actions.tools import call_external, call_tool, ruling_on
from agent.consent.permission import refused_step
from agent.context import Context, Update, failed, kept_whole
from agent.material.attached import granted, with_paths
from agent.material.outputs import listing, with_files_of
from agent.material.pictures import seen_pictures
from agent.state import Decision, State
from agent.steps import decision_of, step
from mcp_tools.errors import LibraryError, UnknownToolError


class UseTool(Action):
    """Calls a tool. The finding is the tool's result, or a description of the problem.

    Each offered tool has its own function. This action's function calls the listed tools of servers.
    """

    name = "use_tool"
    function = function_form(
        SERVER_TOOL,
        "Calls a listed tool of a connected server; without `arguments` shows its definition.",
        {"name": TEXT, "arguments": {"type": "object"}, FINAL: TEXT},
        ["name"],
    )

    def refusal(self, decision: Decision, state: State) -> str:
        """See `Action`."""
        tool = decision.arguments.get("name") if decision.tool == SERVER_TOOL else decision.tool
        if tool in {one.name for one in state["tools"]}:
            return ""
        known = ", ".join(one.name for one in state["tools"]) or "none"
        return f"there is no tool {tool!r:.80}; the tools are: {known}."

    async def run(self, state: State, context: Context) -> Update:
        """See `Action`."""
        decision = decision_of(state)
        listed = external_named(decision.arguments["name"], state) if decision.tool == SERVER_TOOL else None
        if listed is not None:
            return {"steps": [step(state, ok=True, finding=definition(replace(listed, is_folded=True)))]}
        external = external_named(decision.tool, state)
        if external is not None:
            ruling = ruling_on(external, decision.arguments, state, context)
            if (refused := await refused_step(ruling, state, context)) is not None:
                return refused
            result = await call_external(context, decision.tool, decision.arguments, state["question"])
        else:
            try:
                tool = await context.library.get(decision.tool)
            except (UnknownToolError, LibraryError) as gone:
                return failed(state, context, str(gone), gone.message)
            arguments, doubts = with_paths(decision.arguments, state), doubts_of(state, context, programs=False)
            result = await call_tool(context, tool, arguments, read=granted(state, context), doubts=doubts)
        pictures, description = await seen_pictures(result.places, context, state["question"], is_read=False)
        note = " ".join(filter(None, [kept_whole(state, context, result.text), listing(result.files)]))
        finding = f"{result.finding}\n{description}" if description else result.finding
        done = step(state, ok=result.ok, finding=finding, value=result.value, note=note, pictures=pictures)
        done = with_files_of(done, result.files)
        text = f"{result.text}\n{description}" if description else result.text
        return {"steps": [done | {"result": text}], "used": [*(result.called or [decision.tool])] if result.ok else []}
