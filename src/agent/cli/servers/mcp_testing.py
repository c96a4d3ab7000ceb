"""What `alita mcp test` does: one server, connected, listed and timed."""

from __future__ import annotations

import os
import time
from typing import Any

from agent.cli.output import print_note, print_rows
from mcp_tools.clients.definitions import listing_of, suspicions_of
from mcp_tools.clients.reconnect import Link
from mcp_tools.clients.server_status import Standing
from mcp_tools.errors import ServerError
from mcp_tools.text import one_line


async def tested(standing: Standing) -> dict[str, Any]:
    """Connects to a server and lists its tools.

    Returns:
        What `--json` prints: ok, name, protocol, seconds, tools, notes, error.
    """
    assert standing.expanded is not None, "only a server that is ready can be tested"
    entry = standing.entry
    link = Link(standing.expanded, os.environ)
    report: dict[str, Any] = {"ok": False, "name": entry.name, "starts": entry.shown, "tools": [], "notes": []}
    started = time.perf_counter()
    try:
        definitions = await link.definitions()
        listing = listing_of(entry.name, definitions, entry.limits.tools)
        listed = definitions[: entry.limits.tools]
        suspicions = [f"{each.get('name')}: {said}" for each in listed for said in suspicions_of(each)]
        report |= {
            "ok": True,
            "protocol": link.protocol,
            "tools": [{"name": tool.name, "description": tool.description} for tool in listing.tools],
            "notes": [*listing.notes, *(f"suspicious: {one_line(said, 200)}" for said in suspicions)],
        }
    except ServerError as failure:
        report["error"] = {"kind": failure.kind, "message": failure.message, "remedy": failure.remedy}
    finally:
        report["seconds"] = round(time.perf_counter() - started, 3)
        await link.aclose()
    return report


def show(report: dict[str, Any]) -> None:
    """Prints a report for people: tools on stdout, everything else on stderr."""
    if error := report.get("error"):
        print_note(f"{report['name']} cannot be used: {error['message']}")
        print_note(f"  It starts: {report['starts']}")
        if error["remedy"]:
            print_note(f"  {error['remedy']}")
        return
    print_rows([(tool["name"], one_line(tool["description"], 90)) for tool in report["tools"]])
    for note in report["notes"]:
        print_note(note)
    count = len(report["tools"])
    print_note(
        f"{report['name']} speaks MCP {report['protocol']} and has {count} tool{'' if count == 1 else 's'} "
        f"({report['seconds']:.2f} s)."
    )
