"""`alita mcp` as a command: exit code, stdout and stderr together; and the question about a project's servers."""

from __future__ import annotations

import json
import signal
import sys
import time

import pytest

from mcp_tools.clients.config_parser import parse
from support.command import Tty, clean
from support.external import PLAIN_SERVER, ends, odd, plain, starts, write_servers
from support.fibonacci import decide, write_script
from support.odd_mcp_server import LOOKUP
from support.openai_server import Step

PLAIN = [sys.executable, "-S", "-E", str(PLAIN_SERVER)]
KEY = "correct-horse-battery"


@pytest.fixture
def here(terminal):
    return terminal.here


@pytest.fixture
def environment(home, tmp_path):
    return clean(home, MCP_LOG=str(tmp_path / "starts"))


@pytest.fixture
def alita(terminal, home, tmp_path):
    """Runs `alita …` in an empty folder, without a terminal."""
    terminal.home = home

    def run(*arguments, **variables):
        return terminal.call(*arguments, MCP_LOG=str(tmp_path / "starts"), **variables)

    return run


@pytest.fixture
def on_terminal(here, home, tmp_path):
    """Runs `alita …` on a terminal of its own, answers its first question, and gives code and screen."""

    def run(*arguments, answer):
        tty = Tty(here, home, *arguments, MCP_LOG=str(tmp_path / "starts"))
        tty.wait_for("[y/n/Enter] ")
        tty.type(f"{answer}\n")
        code, _ = tty.ended()
        return code, tty.seen.replace("\r\n", "\n")

    return run


def test_a_server_is_added_listed_and_tested(alita, home):
    added = alita("mcp", "add", "calc", "--env", "KEY=${CALC_KEY}", *PLAIN, "banner", "--json", "-y")
    assert (added.code, added.out) == (0, "")
    assert "Try it: alita mcp test calc" in added.err
    form = json.loads((home / "config/mcp.json").read_text())["mcpServers"]["calc"]
    assert form["args"][-3:] == ["banner", "--json", "-y"], "its own options are its own"
    listed = alita("mcp", "list", "--json", CALC_KEY=KEY).json
    assert [(s["name"], s["state"], s["variables"]) for s in listed["servers"]] == [("calc", "ready", ["KEY"])]
    tested = alita("mcp", "test", "calc", "--json", CALC_KEY=KEY)
    assert tested.code == 0
    assert (tested.json["ok"], tested.json["protocol"], len(tested.json["tools"])) == (True, "2025-11-25", 14)
    assert tested.json["seconds"] > 0


def test_a_list_says_how_servers_were_found_when_they_were_last_spoken_to(alita, home):
    bad = {"name": "bad", "inputSchema": "x"}
    servers = {"good": odd(tools=[LOOKUP, bad]), "broken": plain("die"), "new": plain()}
    write_servers(home / "config" / "mcp.json", **servers)

    def states():
        return {row.split()[0]: row.split()[1] for row in alita("mcp", "list").out.splitlines()}

    assert states() == dict.fromkeys(servers, "untried")
    reason = "the tool good__bad of the server good is ignored: inputSchema: it is text"
    assert reason in alita("mcp", "test", "good").err
    assert alita("mcp", "test", "broken").code == 1
    assert states() == {"good": "ready", "broken": "failed", "new": "untried"}
    listed = alita("mcp", "list")
    assert reason in listed.err
    assert "broken could not be used: it closed the connection (exit code 1; stderr: no licence found)" in listed.err
    found = {server["name"]: server["contact"] for server in alita("mcp", "list", "--json").json["servers"]}
    assert found["good"] == {"ok": True, "notes": [reason]}
    assert (found["broken"]["ok"], found["new"]) == (False, None)
    assert reason in (told := alita("doctor")).out + told.err


def test_a_server_is_disabled_enabled_and_removed(alita, home):
    file = write_servers(home / "config/mcp.json", calc=plain())
    assert alita("mcp", "disable", "calc").code == 0
    assert alita("mcp", "list", "--json").json["servers"][0]["state"] == "off"
    assert alita("mcp", "enable", "calc").code == 0
    assert "disabled" not in file.read_text()
    assert alita("mcp", "remove", "calc").code == 0
    assert alita("mcp", "list", "--json").json == {"servers": [], "problems": []}


def test_a_test_says_what_failed_without_the_secret(alita):
    alita("mcp", "add", "calc", "--env", "KEY=${CALC_KEY}", *PLAIN, "die")
    ended = alita("mcp", "test", "calc", "--json", CALC_KEY=KEY)
    assert ended.code == 1
    assert "no licence found" in ended.json["error"]["message"]
    assert KEY not in ended.out + ended.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("add",), "No server name was given"),
        (("add", "x"), "The server 'x' needs a command or --url"),
        (("add", "x", "--url", "ftp://a"), "not a valid address"),
        (("add", "x", "--env", "KEY", "run"), "--env 'KEY' does not have the form NAME=VALUE"),
        (("add", "x", "--timeout", "0", "run"), "`alita.callSeconds`: Input should be greater than 0"),
        (("test", "x"), "There is no server 'x'"),
    ],
)
def test_bad_usage_is_told_and_exits_2(alita, arguments, said):
    ended = alita("mcp", *arguments)
    assert said in ended.err
    assert "Traceback" not in ended.err
    assert ended.code == 2


def test_what_is_added_to_a_project_is_trusted_here_and_warns_of_keys(alita, here):
    added = alita("mcp", "add", "calc", "--scope", "project", "--env", "API_KEY=abc", *PLAIN)
    assert "is shared and now contains the value of API_KEY; use ${NAME} instead" in added.err
    assert (here / ".mcp.json").is_file()
    assert alita("mcp", "list", "--json").json["servers"][0]["state"] == "ready"


def test_a_project_s_server_is_not_started_without_consent(alita, here, environment, tmp_path):
    write_servers(here / ".mcp.json", calc=plain(env={"MCP_LOG": environment["MCP_LOG"]}))
    refused = alita("mcp", "test", "calc")
    assert refused.code == 2
    assert "which you have not allowed; it would start: " in refused.err
    assert str(PLAIN_SERVER) in refused.err
    assert "alita mcp enable calc --yes" in refused.err
    assert alita("mcp", "enable", "calc").code == 2
    assert starts(tmp_path / "starts") == []


def test_a_project_s_server_is_allowed_and_disabled_for_this_user_alone(alita, here, environment, tmp_path):
    write_servers(here / ".mcp.json", calc=plain(env={"MCP_LOG": environment["MCP_LOG"]}))
    assert alita("mcp", "enable", "calc", "--yes").code == 0
    assert alita("mcp", "test", "calc").code == 0
    assert len(starts(tmp_path / "starts")) == 1
    assert alita("mcp", "disable", "calc", "--json").json == {"ok": True, "disabled": "calc"}
    assert alita("mcp", "list", "--json").json["servers"][0]["state"] == "off"
    assert "disabled" not in (here / ".mcp.json").read_text(), "the project's file is not touched"


def test_on_a_terminal_a_question_asks_first_and_shows_the_command(alita, on_terminal, here, tmp_path):
    """What comes of a no, and of no answer, is seen where a session begins."""
    entry = plain("banner\x1b[2Jx", env={"MCP_LOG": str(tmp_path / "starts"), "A": "${HOME:-x}"})
    write_servers(here / ".mcp.json", calc=entry)
    script = write_script(here / "script.jsonl", [decide("answer", answer="Paris", when="capital")])
    code, screen = on_terminal("--model", script, "The capital of France?", answer="y")
    assert code == 0, screen
    assert "It would run:" in screen
    assert str(PLAIN_SERVER) in screen
    assert "banner\\x1b[2Jx" in screen, "what steers the terminal is written out"
    assert "A=${HOME:-x}" in screen
    assert len(starts(tmp_path / "starts")) == 1
    assert alita("mcp", "list", "--json").json["servers"][0]["state"] == "ready"


def test_ctrl_c_ends_the_call_and_the_server_with_its_children(terminal, here, home, tmp_path):
    write_servers(home / "config/mcp.json", calc=plain(env={"MCP_LOG": str(tmp_path / "starts")}))
    spawn = decide("use_tool", tool="calc__spawn", arguments={}, when="- calc__spawn: ")
    hang = decide("use_tool", tool="calc__hang", arguments={})
    script = write_script(here / "script.jsonl", [spawn, hang])
    terminal.home = home
    process = terminal.start("--model", script, "-v", "Spawn a child that stays, then hang.")
    lines = []
    for line in process.stderr:
        lines.append(line)
        if "decide" in line and sum("decide" in line for line in lines) == 2:
            break
    child = next(int(line.partition("→")[2].split()[0]) for line in lines if "→" in line)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == 130
    assert ends(child)
    assert all(ends(pid) for pid in starts(tmp_path / "starts"))


@pytest.fixture
def stranger(here, openai_server):
    """A folder whose `.env` names an endpoint, where the user has no key."""
    openai_server.default = lambda _: Step(status=401, body={"error": {"message": "no"}})
    (here / ".env").write_text(f"OPENAI_BASE_URL={openai_server.url}\nOPENAI_API_KEY=the-key-of-a-stranger\n")
    return openai_server


def test_without_a_terminal_no_question_goes_to_an_endpoint_that_a_project_chose(alita, stranger):
    ended = alita("What is the colour of my notes?")
    assert (ended.code, ended.out) == (2, "")
    assert f"base_url = {stranger.url}" in ended.err
    assert "alita config trust" in ended.err
    assert "the-key-of-a-stranger" not in ended.err
    doctor = {c["name"]: c for c in alita("doctor", "--json").json["checks"]}
    assert "you have not allowed that" in doctor["model"]["detail"]
    assert alita("config", "trust").code == 2
    assert stranger.requests == []


def test_what_a_project_chose_is_used_once_it_is_allowed_and_told_in_every_run(alita, stranger, here):
    stranger.models = ["gpt-5-mini"]
    assert alita("config", "trust", "--yes").code == 0
    for _ in range(2):
        ended = alita("-q", "--no-cache", "What is the colour of my notes?")
        assert "this folder's settings choose which model answers: model = auto (default with an endpoint)" in ended.err
        assert f"base_url = {stranger.url}" in ended.err
    asked = len(stranger.requests)
    assert asked > 0
    (here / ".env").write_text((here / ".env").read_text() + "LLM_MODEL_NAME=another\n")
    assert alita("--no-cache", "What is the colour of my notes?").code == 2
    assert len(stranger.requests) == asked


def test_on_a_terminal_it_is_asked_about_in_full(on_terminal, stranger):
    code, screen = on_terminal("What is the colour of my notes?", answer="n")
    assert f" base_url = {stranger.url} (" in " ".join(screen.split())  # wherever the lines break
    assert "you refused that" in screen
    assert code == 2
    assert stranger.requests == []


def test_a_redefined_tool_is_shown_and_allowed_by_a_command(alita, home):
    entry = write_servers(home / "config/mcp.json", calc=plain())
    (server,) = parse(entry.read_text(), entry, "user").entries
    now = {"trusted": "what it said before", "now": '{"description": "Send it home."}'}
    document = {"schema": 2, "servers": {server.digest: {"add": now}}}
    (home / "data").mkdir(parents=True, exist_ok=True)
    (home / "data" / "mcp-seen.json").write_text(json.dumps(document))
    refused = alita("mcp", "enable", "calc")
    assert refused.code == 2
    assert 'calc now defines add as: {"description": "Send it home."}' in refused.err
    assert alita("mcp", "enable", "calc", "--yes").code == 0
    assert "Send it home" not in (home / "data" / "mcp-seen.json").read_text()
    assert alita("mcp", "enable", "calc").code == 0
