"""`alita policy [TOOL]`: shows the rules of the policy file, or their effect on a tool."""

from __future__ import annotations

from typing import Annotated

import typer

from agent.calls.host_requests import uses_of
from agent.cli import exits, options
from agent.cli.output import Result, listing
from agent.cli.verbs.completion import tool_names
from agent.cli.verbs.tools.review import consent_of
from agent.consent.policy import Policy
from agent.store.tool_records import open_library
from mcp_tools.tool import Status

app = options.App("Rules for what tools and programs may use, in policy.toml next to your settings.")


@app.command()
def policy(
    tool: Annotated[
        str | None, typer.Argument(metavar="[TOOL]", help="A tool's name.", autocompletion=tool_names)
    ] = None,
    tools_dir: options.ToolsDir = None,
    as_json: options.AsJson = False,
) -> Result:
    """Checks your policy file and lists its rules; for a tool, shows what decides each capability."""
    settings = options.settings()
    found = Policy.read(settings.config_dir)
    if tool is None:
        rows = [
            (str(number), rule.decision, rule.tools, "; ".join(f"{use} = {value}" for use, value in rule.uses.items()))
            for number, rule in enumerate(found.rules, 1)
        ]
        form = {"path": str(found.path), "rules": [rule.model_dump(exclude_defaults=True) for rule in found.rules]}
        return Result(form, rows, note=f"{found.path} {'is valid' if rows else 'has no rules'}.")
    library = open_library(settings)
    kept = library.get(tool)
    is_new = kept.status is not Status.VERIFIED
    uses = exits.run(uses_of(library, kept, consent_of(settings), is_new=is_new))
    return listing(
        [{"use": use, "decided_by": decider} for use, decider in uses], uses, f"{tool} declares no capability."
    )
