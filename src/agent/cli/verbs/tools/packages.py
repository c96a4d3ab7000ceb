"""`alita packages list|allow|forget|prune`: packages for programs and tools, kept separate from alita's own."""

from __future__ import annotations

from typing import Annotated

import typer

from agent.cli import exits, options
from agent.cli.options import opt
from agent.cli.output import Result, done, listing, print_note
from agent.errors import UsageError
from agent.resources import environments_of
from mcp_tools.environments.store import Environments
from mcp_tools.text import count_of, one_line

app = options.App("Packages that programs and tools may use; they are never installed into your own Python.")

Names = Annotated[list[str], typer.Argument(metavar="PACKAGE...", help="Package names, with versions if they matter.")]


@app.command("list")
def list_(as_json: options.AsJson = False) -> Result:
    """Lists the packages that you allowed, and which of them are installed."""
    environments = _environments()
    built = environments.installed()
    rows = [*((name, "allowed") for name in environments.allowed)]
    rows += [(", ".join(one.releases), f"{one.size / 1e6:.0f} MB, used {one.used:%Y-%m-%d}") for one in built]
    form = {
        "allowed": environments.allowed,
        "installed": [
            {"packages": one.releases, "bytes": one.size, "used": one.used.isoformat(), "path": str(one.path)}
            for one in built
        ],
    }
    return listing(form, rows, "No packages are allowed yet. You are asked when a program or tool needs one.")


@app.command()
def allow(names: Names, as_json: options.AsJson = False) -> Result:
    """Allows packages and their dependencies, and installs them for programs and tools."""
    environments = _environments()
    plan = exits.run(environments.plan(names))
    environments.allow(plan)
    place = exits.run(environments.ready(names))
    releases = [str(release) for release in plan.lock.releases]
    return done(f"Programs and tools may use {', '.join(releases)}.", allowed=releases, path=str(place))


@app.command()
def forget(names: Names, as_json: options.AsJson = False) -> Result:
    """Revokes the permission for packages. You are asked again when a program or tool needs them."""
    environments = _environments()
    if missing := [name for name in names if name not in environments.allowed]:
        raise UsageError(
            f"The package {one_line(missing[0])} is not on the allowed list.",
            remedy="`alita packages list` lists the allowed packages.",
        )
    environments.forget(names)
    return done(f"No longer allowed: {', '.join(names)}.", forgotten=names)


@app.command()
def prune(
    days: Annotated[float, opt("--days N", "Keep packages used in the last N days (default 30).", min=0)] = 30,
    as_json: options.AsJson = False,
) -> Result:
    """Removes installed packages that have not been used for a while. They are reinstalled when needed."""
    removed = exits.run(_environments().remove_unused(days))
    return done(f"Removed {count_of(len(removed), 'environment')}.", removed=[str(path) for path in removed])


def _environments() -> Environments:
    return environments_of(options.settings(), print_note)
