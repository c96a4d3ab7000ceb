"""Tools of external servers in a run: found, chosen, called, replayed without a server, not cached."""

from __future__ import annotations

import json
import os
from typing import ClassVar

import pytest

from agent.calls.recorder import Recorder
from agent.configuration.project_choice import ProjectChoice
from agent.configuration.settings_sources import read_settings
from agent.consent.consent import Consent
from agent.events import ToolCalled, ToolFound, Warned
from agent.store.journal import Journal
from mcp_tools.child import INHERITED
from mcp_tools.clients.config_parser import ServerEntry, parse
from mcp_tools.clients.trust import FILE, ChangedTool, Decisions
from mcp_tools.clients.trust import PINS_FILE as SEEN
from support.external import ends, plain, starts, write_servers
from support.fibonacci import decide

QUESTION = "Please add the whole numbers 20 and 22 at the server."
USE = decide("use_tool", tool="calc__add", arguments={"a": 20, "b": 22})
FOUND = decide("answer", answer="42", when="42")


@pytest.fixture
def log(tmp_path, monkeypatch):
    """Where servers note that they were started."""
    monkeypatch.chdir(tmp_path)
    return tmp_path / "starts"


def serve(desk, log, *flags, name="calc", **more):
    env = {"MCP_LOG": str(log), **more.pop("env", {})}
    write_servers(desk.home / "config" / "mcp.json", **{name: plain(*flags, env=env, **more)})


async def test_an_external_tool_is_shown_chosen_called_and_counts_as_evidence(desk, log):
    serve(desk, log)
    answer = await desk.plays(FOUND, USE).ask(QUESTION)
    assert (answer.text, answer.tools_used, answer.steps) == ("42", ("calc__add",), 1)
    assert ("calc__add", "calc") in [(event.name, event.server) for event in desk.of(ToolFound)]
    (call,) = desk.of(ToolCalled)
    assert (call.name, call.ok, call.preview) == ("calc__add", True, "42")
    assert all(ends(pid, 10) for pid in starts(log)), "the server outlives the process that asked"


async def test_a_replay_needs_no_server(desk, log):
    serve(desk, log)
    answer = await desk.plays(FOUND, USE).ask(QUESTION)
    (desk.home / "config" / "mcp.json").unlink()
    journal = desk.runs / answer.run_id / "journal.jsonl"  # of another version, which knew more of a reply
    assert '"reply":{' in journal.read_text()
    journal.write_text(journal.read_text().replace('"reply":{', '"reply":{"more":1,'))
    again = await desk.replay(answer.run_id)
    assert (again.text, again.tools_used) == ("42", ("calc__add",))
    assert len(starts(log)) == 1


async def test_an_answer_from_a_server_is_asked_for_again(desk, log):
    serve(desk, log)
    first = await desk.plays(FOUND, USE).ask(QUESTION)
    assert (await desk.plays(FOUND, USE).ask(QUESTION)).run_id != first.run_id


async def test_a_tool_that_fails_is_an_observation(desk, log):
    serve(desk, log)
    use = decide("use_tool", tool="calc__fail", arguments={})
    tell = decide("answer", answer="It burns.", when="calc__fail() failed: the disk is on fire")
    answer = await desk.plays(tell, use).ask("Please let the disk fail always.")
    assert (answer.text, answer.tools_used) == ("It burns.", ())


async def test_a_server_that_cannot_be_started_is_noted_and_the_question_answered(desk, log):
    serve(desk, log, "die")
    answer = await desk.plays(decide("answer", answer="Paris", when="capital")).ask("The capital of France?")
    assert answer.text == "Paris"
    assert "the server calc is unavailable: " in desk.notes
    assert "no licence found" in desk.notes


async def test_a_secret_reaches_the_server_and_no_file(desk, log, monkeypatch):
    monkeypatch.setenv("WEATHER_KEY", "correct-horse-battery")
    serve(desk, log, env={"KEY": "${WEATHER_KEY}"})
    use = decide("use_tool", tool="calc__env", arguments={})
    tell = decide("answer", answer="told", when='"KEY": "[hidden]"')
    question = "Tell the environment, with correct-horse-battery in it."
    assert (await desk.plays(tell, use).ask(question)).text == "told"
    found = [path for path in desk.home.rglob("*") if path.is_file() and b"correct-horse" in path.read_bytes()]
    assert found == []


async def test_a_server_gets_no_key_of_ours(desk, log, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-servers-0123456789")
    monkeypatch.setenv("SSH_AUTH_SOCK", "/tmp/agent")
    serve(desk, log)
    use = decide("use_tool", tool="calc__env", arguments={})
    answer = await desk.plays(decide("answer", answer="told", when="MCP_LOG"), use).ask("Tell the environment.")
    journal = (desk.runs / answer.run_id / "journal.jsonl").read_text()
    (reply,) = [r["output"]["reply"] for r in map(json.loads, journal.splitlines()) if "call" in r.get("request", {})]
    assert set(json.loads(reply["text"])) - {"LC_CTYPE"} == {"MCP_LOG"} | (set(INHERITED) & set(os.environ))


async def test_a_project_starts_nothing_that_was_not_allowed(desk, log):
    path = write_servers(desk.folder / ".mcp.json", calc=plain(env={"MCP_LOG": str(log)}))
    say = decide("answer", answer="no", when=QUESTION)
    await desk.plays(say).ask(QUESTION)
    assert "the server calc is not started: this project defines it, and you have not allowed it" in desk.notes
    assert starts(log) == []
    (entry,) = parse(path.read_text(), path, "project").entries
    assert isinstance(entry, ServerEntry)
    Decisions(desk.home / "data" / FILE).decide(entry.digest, desk.folder, "trusted")
    assert (await desk.plays(FOUND, USE).ask(QUESTION)).text == "42"
    changed = write_servers(desk.folder / ".mcp.json", calc=plain("banner", env={"MCP_LOG": str(log)}))
    await desk.plays(say).ask(QUESTION, use_cache=False)
    assert len(starts(log)) == 1, f"{changed} was changed, and started without asking"


async def test_a_killed_run_goes_on_with_what_its_server_said(desk, log):
    """The journal has the call: it is not made again, though no server is there any more."""
    serve(desk, log)
    answer = await desk.plays(USE).ask(QUESTION, max_steps=1)
    assert answer.limit == "steps"
    (desk.home / "config" / "mcp.json").unlink()
    desk.plays(FOUND)
    again = await desk.resume(answer.run_id, max_steps=5)
    assert (again.text, len(starts(log))) == ("42", 1)


REFUSED = decide("answer", answer="not called", when="was not called")


def allows(desk, answer):
    """Somebody who is asked, and says so; what they were asked."""
    asked = []

    async def confirm(call):
        asked.append(call)
        return answer

    desk.confirm = confirm
    return asked


async def test_where_a_project_chose_the_model_each_call_is_asked_about(desk, log):
    serve(desk, log)
    (desk.folder / "alita.toml").write_text('fallback = ["theirs"]')
    settings = read_settings({}, environment={"ALITA_HOME": str(desk.home)}, current=desk.folder)
    choice = ProjectChoice.of(settings)
    Decisions(desk.home / "data" / FILE).decide(choice.digest, desk.folder, "trusted")
    assert (await desk.plays(REFUSED, USE).ask(QUESTION)).text == "not called"
    assert "this folder's settings chose the model that asks for it, and nobody can be asked here" in desk.notes
    assert ["this folder's settings choose which model answers" in warning.text for warning in desk.of(Warned)] == [
        True
    ]
    asked = allows(desk, False)
    assert (await desk.plays(REFUSED, USE).ask(QUESTION, use_cache=False)).text == "not called"
    assert [(call.name, call.arguments) for call in asked] == [("calc__add", {"a": 20, "b": 22})]
    asked = allows(desk, True)
    assert (await desk.plays(FOUND, USE).ask(QUESTION, use_cache=False)).text == "42"
    assert len(asked) == 1


async def test_what_a_server_changes_while_the_user_is_asked_is_not_trusted(tmp_path):
    class Changing:
        """The tool is gone when it is looked at again."""

        said: ClassVar[list[ChangedTool | None]] = [ChangedTool("calc", "add", "{}"), None]

        async def changed(self, _):
            return self.said.pop(0)

    async def yes(_):
        return True

    journal = Journal.create(tmp_path / "run" / "journal.jsonl")
    reason = await Consent(yes, Recorder(journal)).refusal_of_call("calc__add", {}, Changing())
    await journal.aclose()
    assert reason == "calc__add was not called: its server changed it again while you were being asked"


async def test_a_tool_that_its_server_redefined_is_called_once_that_is_allowed(desk, log):
    serve(desk, log)
    assert (await desk.plays(FOUND, USE).ask(QUESTION)).text == "42"
    seen = desk.home / "data" / SEEN
    document = json.loads(seen.read_text())
    for tools in document["servers"].values():
        tools["add"] = {"trusted": "what it said before"}
    seen.write_text(json.dumps(document))
    assert (await desk.plays(REFUSED, USE).ask(QUESTION, use_cache=False)).text == "not called"
    assert "To allow it: alita mcp enable calc" in desk.notes
    asked = allows(desk, True)
    assert (await desk.plays(FOUND, USE).ask(QUESTION, use_cache=False)).text == "42"
    assert "Add two whole numbers" in asked[0].definition
    assert (await desk.plays(FOUND, USE).ask(QUESTION, use_cache=False)).text == "42"
    assert len(asked) == 1, "what was allowed is trusted from then on"
