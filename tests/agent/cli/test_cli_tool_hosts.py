"""Keys for hosts, and the hosts that tools may reach unasked, as commands; and the same tools over MCP."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

from agent.cli import confirmations
from agent.consent.capabilities import CapabilityToUse
from agent.consent.hosts import NEW_TOOL, HostGrant, HostGrants, HostToReach
from mcp_tools.library.library import Library
from mcp_tools.tool import Status, Tool
from support.command import Terminal, clean
from support.web_server import Answer, WebServer

VALUE = "weather-4711-s3cret"
SOURCE = '''def warmth(place: str) -> str:
    """Look up how warm a place is.

    Args:
        place: Its name.

    Returns:
        What the service says.

    >>> warmth("Oxmere")
    'warm'
    """
    from urllib.request import Request, urlopen

    asked = Request("{url}/t?q=" + place, headers={{"X-Key": "{{key:WEATHER}}"}})
    return urlopen(asked).read().decode()
'''


@pytest.fixture
def web() -> Iterator[WebServer]:
    with WebServer() as server:
        server.route("/t", lambda asked: Answer(200, f"warm {asked.headers['x-key']}"))
        yield server


@pytest.fixture
def variables(web: WebServer, terminal: Terminal) -> dict[str, str]:
    """What commands run with: a library with the tool, and leave to reach the server."""
    text = {"type": "string"}
    source = SOURCE.format(url=web.url)
    tool = Tool(
        "warmth",
        "Look up how warm a place is.",
        {"type": "object", "properties": {"place": text}, "required": ["place"], "additionalProperties": False},
        {"type": "object", "properties": {"result": text}, "required": ["result"]},
        source,
        status=Status.VERIFIED,
        provenance={"capabilities": {"hosts": [web.url], "keys": ["WEATHER"]}},
    )
    library = Library(terminal.here / "generated_tools", terminal.home / "data")
    library.register(tool)
    library.close()
    return {"ALITA_ALLOW_ADDRESSES": web.url}


def test_a_key_of_a_host_is_kept_for_it_and_never_shown(terminal: Terminal) -> None:
    def keep(*words: str, value: str = VALUE) -> tuple[int, str]:
        ended = terminal.call("keys", "set", *words, stdin=f"{value}\n")
        return ended.code, ended.err

    assert keep("WEATHER", "--host", "API.example.com")[0] == 0
    assert keep("WEATHER", "--host", "other.example:8443")[0] == 0
    assert keep("NEAR", "--host", "http://localhost:8000")[0] == 0
    kept = terminal.home / "config" / "keys.json"
    assert kept.stat().st_mode & 0o777 == 0o600
    listed = terminal.call("keys", "list", "--json").json
    assert [(one["variable"], one["host"]) for one in listed] == [
        ("WEATHER", "other.example:8443"),
        ("NEAR", "http://localhost:8000"),
    ]
    shown = terminal.call("keys", "list").out + terminal.call("config", "show").out
    assert "other.example:8443" in shown
    assert VALUE not in shown
    for words, value, said in (
        (("W", "--host", "http://api.example.com"), VALUE, "only over HTTPS"),
        (("W", "--host", "*.example.com"), VALUE, "exact name"),
        (("W{", "--host", "a.example"), VALUE, "not a valid key name"),
        (("W", "--host", "a.example"), "short", "at least 8 characters"),
        (("W", "--host", "a.example"), "", "empty"),
        (("W", "--host", "a.example"), "two\tparts here", "not a valid key"),
    ):
        code, told = keep(*words, value=value)
        assert (code, said in told) == (2, True), told
    assert terminal.call("keys", "delete", "WEATHER").code == 0
    assert VALUE in kept.read_text()
    assert terminal.call("keys", "delete", "NEAR").code == 0
    assert VALUE not in kept.read_text()
    assert terminal.call("keys", "delete", "NEAR").code == 2


def test_a_tool_reaches_its_hosts_once_that_is_allowed(
    terminal: Terminal, variables: dict[str, str], web: WebServer
) -> None:
    assert terminal.call("keys", "set", "WEATHER", "--host", web.url, stdin=f"{VALUE}\n").code == 0
    call = ("tools", "run", "warmth", '{"place": "Oxmere"}')
    assert f"reaches  {web.url}" in terminal.call("tools", "show", "warmth").out
    refused = terminal.run(*call, **variables)
    assert refused.code == 1
    assert f"GET {web.url} with the key WEATHER is not allowed: nobody can be asked here" in refused.err
    assert "alita tools hosts warmth --allow" in refused.err
    assert web.requests == []
    assert terminal.call("tools", "hosts", "warmth", "--allow").code == 0
    got = terminal.run(*call, **variables)
    assert (got.code, got.out) == (0, "warm {key:WEATHER}\n"), got.err
    assert web.requests[0].headers["x-key"] == VALUE
    listed = terminal.call("tools", "hosts", "--json").json
    assert [(one["tool"], one["host"], one["keys"], one["writes"]) for one in listed] == [
        ("warmth", web.url, ["WEATHER"], True)
    ]
    assert terminal.call("tools", "hosts", "warmth", "--forget").code == 0
    assert "No tool may reach" in terminal.call("tools", "hosts").err
    assert terminal.run(*call, **variables).code == 1
    for wrong in (("--allow",), ("warmth", "--allow", "--forget"), ("nothing", "--allow")):
        assert terminal.call("tools", "hosts", *wrong).code == 2


def test_what_an_allowed_host_covers(tmp_path: Path) -> None:
    """The same version of the tool, no more keys, and writing only if that was asked about."""
    grants = HostGrants(tmp_path)
    grants.keep([HostGrant(tool="t", source="1", host="a.example", keys=("K",))])
    asked = HostToReach("t", "a.example", "GET", ("K",), "1")
    assert grants.cover(asked)
    assert grants.cover(replace(asked, keys=()))
    others = (
        {"tool": "u"},
        {"source": "2"},
        {"source": ""},
        {"host": "b.example"},
        {"keys": ("L",)},
        {"method": "PUT"},
    )
    for other in others:
        assert not grants.cover(replace(asked, **other)), other
    grants.keep([HostGrant(tool="t", source="1", host="a.example", writes=True)])
    assert grants.cover(replace(asked, method="PUT", keys=()))
    assert not grants.cover(replace(asked, method="PUT"))
    (tmp_path / "hosts.json").write_text("damaged")
    assert not grants.cover(asked)


async def test_over_mcp_only_what_was_allowed_before_is_reached(
    terminal: Terminal, variables: dict[str, str], web: WebServer
) -> None:
    assert terminal.call("keys", "set", "WEATHER", "--host", web.url, stdin=f"{VALUE}\n").code == 0
    alita = str(Path(sys.executable).with_name("alita"))
    variables |= {"ALITA_TOOLS_DIR": str(terminal.here / "generated_tools")}
    server = StdioServerParameters(command=alita, args=["serve"], env=clean(terminal.home, **variables))
    async with Client(server) as client:
        listed = {one.name: one for one in (await client.list_tools()).tools}["warmth"].annotations
        refused = await client.call_tool("warmth", {"place": "Oxmere"})
        assert web.requests == []
        assert terminal.run("tools", "hosts", "warmth", "--allow").code == 0
        got = await client.call_tool("warmth", {"place": "Oxmere"})
        assert terminal.call("tools", "hosts", "warmth", "--forget").code == 0
        again = await client.call_tool("warmth", {"place": "Oxmere"})
    assert listed is not None
    assert (listed.open_world_hint, listed.read_only_hint) == (True, False)
    assert got.structured_content == {"result": "warm {key:WEATHER}"}
    assert [asked.headers["x-key"] for asked in web.requests] == [VALUE]
    for each in (refused, again):
        assert each.is_error
        assert "nobody can be asked here" in str(each.content)


def test_a_tool_written_by_hand_is_approved_with_what_its_hosts_answer_then(terminal: Terminal, web: WebServer) -> None:
    """Its examples are recorded, so that the next approval needs no network; they are not exported."""
    web.route("/t", lambda _: Answer(200, "warm"))
    block = f'# /// script\n# [tool.alita]\n# hosts = ["{web.url}"]\n# ///\n\n'
    path = terminal.here / "generated_tools" / "warmth.py"
    path.write_text(block + SOURCE.format(url=web.url).replace(', headers={"X-Key": "{key:WEATHER}"}', ""))
    refused = terminal.run("tools", "approve", "warmth", ALITA_ALLOW_ADDRESSES=web.url)
    assert refused.code == 1
    assert "nobody can be asked here" in refused.err
    approved = terminal.run("tools", "approve", "warmth", ALITA_ALLOW_ADDRESSES=web.url, ALITA_HOSTS="auto")
    assert approved.code == 0, approved.err
    assert len(web.requests) == 1
    kept = json.loads(path.with_suffix(".json").read_text())["_meta"]["alita/provenance"]
    assert [one["response"]["body"] for one in kept["exchanges"]] == ["warm"]
    (terminal.home / "data" / "approvals.json").unlink()
    again = terminal.run("tools", "approve", "warmth")
    assert (again.code, len(web.requests)) == (0, 1), again.err
    assert terminal.call("tools", "export", "warmth", "-o", "out.zip").code == 0
    assert terminal.call("tools", "import", "out.zip", "--tools-dir", "there").code == 0
    there = ("tools", "approve", "warmth", "--tools-dir", "there")
    assert terminal.run(*there, ALITA_ALLOW_ADDRESSES=web.url, ALITA_HOSTS="never").code == 1
    approved = terminal.run(*there, ALITA_ALLOW_ADDRESSES=web.url, ALITA_HOSTS="auto")
    assert (approved.code, len(web.requests)) == (0, 2), approved.err
    assert "warm" in (terminal.here / "there" / "warmth.json").read_text()


@pytest.mark.parametrize(
    ("asked", "chosen", "said", "reply"),
    [
        (
            HostToReach("", "a.example", "GET"),
            "y",
            "A program wants to send a request to a.example (GET).",
            (True, "once"),
        ),
        (
            HostToReach("warmth", "a.example", "POST", ("K",), "hash"),
            "a",
            "The tool warmth wants to send a request to a.example (POST, with the key K).\n  The request may "
            "change data",
            (True, "always"),
        ),
        (
            HostToReach("odd\x1b[2J", "a.example", "GET", is_doubtful=True),
            "n",
            "The tool odd\\x1b[2J, which you did not approve, wants",
            (False, "once"),
        ),
        (HostToReach(NEW_TOOL, "a.example", "GET"), "n", "The new tool wants", (False, "once")),
        (
            CapabilityToUse(NEW_TOOL, ("take 300 seconds", "use 4096 MiB of memory")),
            "y",
            "The new tool wants to take 300 seconds and use 4096 MiB of memory.",
            (True, "once"),
        ),
    ],
    ids=["program", "always", "draft", "new", "time"],
)
async def test_what_is_asked_at_the_terminal(
    monkeypatch: pytest.MonkeyPatch,
    asked: HostToReach | CapabilityToUse,
    chosen: str,
    said: str,
    reply: tuple[bool, str],
) -> None:
    offered: list[str] = []

    async def choose(_: str, choices: dict[str, str], **__: object) -> str:
        offered.extend(choices)
        return chosen

    monkeypatch.setattr(confirmations, "choose", choose)
    notes: list[str] = []
    got = await confirmations.ask_about_call(asked, notes.append)
    assert (got.allowed, got.scope) == reply
    assert said in "\n".join(notes)
    assert offered == ["y", "n", "b", *(["a"] if getattr(asked, "source", "") else [])]
