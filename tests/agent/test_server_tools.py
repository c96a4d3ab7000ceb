"""Tools of connected servers before a capable model: all are named, some are functions, programs import every one."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from test_conversation import Chat
from test_program_channel import calls, server

from agent.consent.external_tools import GRANTS_FILE, Grants
from agent.consent.questions import CallProposal, UserReply
from agent.consent.rulings import judge_call
from agent.consent.text_origins import Origins
from support.external import ends, plain, starts, write_servers
from support.openai_server import Step

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}


def tools(count: int, size: int) -> list[dict[str, Any]]:
    hints = {"readOnlyHint": True}
    described = f"Gives an entry. {'More about it. ' * size}"
    names = (f"entry-{number}" for number in range(count))
    return [{"name": name, "description": described, "inputSchema": TEXT, "annotations": hints} for name in names]


class Model:
    """A model that makes these calls, then answers."""

    def __init__(self, *made: tuple[str, Any]) -> None:
        self.made = made
        self.bodies: list[dict[str, Any]] = []

    def __call__(self, body: dict[str, Any]) -> Step:
        self.bodies.append(body)
        done = sum(one["role"] == "tool" for one in body["messages"])
        return Step(tools=[self.made[done]]) if done < len(self.made) else Step(text="done")

    @property
    def functions(self) -> list[str]:
        return [one["function"]["name"] for one in self.bodies[0]["tools"]]

    @property
    def question(self) -> str:
        return str(self.bodies[0]["messages"][-1]["content"])

    @property
    def told(self) -> list[str]:
        return [one["content"] for one in self.bodies[-1]["messages"] if one["role"] == "tool"]


@pytest.fixture
def ask(desk, openai_server, tmp_path):
    """Asks a model at an endpoint, with a server of these tools."""

    async def asked(offered: list[dict[str, Any]], *made: tuple[str, Any]) -> Model:
        model = openai_server.default = Model(*made)
        desk.flags |= {"model": "gpt-test", "base_url": openai_server.url, "api_key": "k", "allow_private": True}
        if offered:
            write_servers(desk.home / "config" / "mcp.json", notes=server(tmp_path, *offered))
        await desk.ask("What is the weather like?", use_cache=False)
        return model

    return asked


async def test_every_tool_of_a_small_server_is_a_function_also_if_no_word_fits(ask, tmp_path):
    model = await ask(tools(14, 1), ("notes__entry-13", {"text": "weather"}))
    assert {f"notes__entry-{number}" for number in range(14)} <= set(model.functions)
    assert "server_tool" not in model.functions
    assert "`from servers.notes import entry_" in model.question
    assert calls(tmp_path) == [["entry-13", {"text": "weather"}]]


async def test_a_large_server_is_listed_looked_up_and_called(ask, tmp_path):
    looks_up = ("server_tool", {"name": "notes__entry-59"})
    uses = ("server_tool", {"name": "notes__entry-59", "arguments": {"text": "weather"}})
    model = await ask(tools(60, 30), looks_up, uses, ("server_tool", {"name": "notes__none", "arguments": {}}))
    assert all(f"- notes__entry-{number}: Gives an entry." in model.question for number in range(60))
    assert 1 < sum(name.startswith("notes__") for name in model.functions) < 59
    assert len(model.question) + len(json.dumps(model.bodies[0]["tools"])) < 28_000
    found, given, missing = model.told
    assert "Arguments: " in found
    assert "A-1001" in given
    assert "there is no tool 'notes__none'" in missing
    assert calls(tmp_path) == [["entry-59", {"text": "weather"}]]


async def test_programs_import_every_tool(ask, tmp_path):
    code = (
        "from servers.notes import entry_59\nimport servers.notes\n"
        "print(entry_59(text='weather').split()[0], servers.notes.entry_3.__doc__[:15])"
    )
    model = await ask(tools(60, 30), ("run_python", {"code": code}))
    assert "A-1001 notes__entry-3:" in model.told[0]
    assert calls(tmp_path) == [["entry-59", {"text": "weather"}]]


@pytest.mark.parametrize(
    ("wording", "path", "below"),
    [
        ("List {}/My Notes, please.", "My Notes/a.txt", "a.txt"),
        ('List "{}/My Notes".', "My Notes/2027/new.csv", "2027/new.csv"),
        ("List {}/My\\ Notes and tell me", "My Notes/a.txt", "a.txt"),
        ("List {}/My Notes.", "My/a.txt", ""),
        ("List {}/My, and more", "My/new.txt", "new.txt"),
        ("List {}/notes-that-are-not-there now", "notes-that-are-not-there/a.txt", "a.txt"),
        ("List {}/My Notes", "My Notes", ""),
        ("List {}/My Notes", "My Notes/link/new.txt", ""),
    ],
    ids=["spaces", "quoted", "escaped", "not its beginning", "comma", "none yet", "itself", "link"],
)
def test_a_path_below_a_named_folder_is_named(tmp_path: Path, wording: str, path: str, below: str):
    for name in ("My Notes", "My", "other"):
        (tmp_path / name).mkdir()
    (tmp_path / "My Notes/link").symlink_to(tmp_path / "other")
    origins = Origins(wording.format(tmp_path))
    assert origins.paths.below(f"{tmp_path}/{path}") == below
    verdict = judge_call("files__write", {"path": f"{tmp_path}/{path}"}, origins, read_only=True)
    assert verdict.ruling == ("fine" if below or path == "My Notes" else "asked")


def test_a_new_file_of_a_named_folder_carries_no_data_away(tmp_path: Path):
    origins = Origins(f"List {tmp_path}", private=["The vault opens with the words seven brown horses in the rain."])
    path = f"{tmp_path}/the vault opens with the words seven brown horses.txt"
    assert judge_call("files__write", {"path": path}, origins, read_only=True).ruling == "doubtful"


@pytest.mark.parametrize("allowed", [True, False], ids=["allowed", "not allowed"])
async def test_the_user_decides_about_a_path_that_was_not_named(desk, ask, tmp_path, allowed: bool):
    asked = []

    async def confirm(call: Any) -> bool:
        asked.append(call)
        return allowed

    desk.confirm = confirm
    model = await ask(tools(1, 1), ("notes__entry-0", {"text": "/etc/hostname"}))
    assert ["/etc/hostname" in str(call.arguments) for call in asked] == [True]
    assert bool(calls(tmp_path)) is allowed
    assert ("the user was asked and does not allow it" in model.told[0]) is not allowed


class User:
    """Replies in turn; remembers what it was asked."""

    def __init__(self, *replies: UserReply) -> None:
        self.replies = list(replies)
        self.asked: list[CallProposal] = []

    async def __call__(self, call: CallProposal) -> UserReply:
        self.asked.append(call)
        return self.replies.pop(0)


async def test_the_reason_of_a_refusal_goes_to_the_model_which_goes_on(desk, ask, tmp_path):
    desk.confirm = User(UserReply(False, "read weather instead"))
    model = await ask(
        tools(1, 1), ("notes__entry-0", {"text": "/etc/hostname"}), ("notes__entry-0", {"text": "weather"})
    )
    assert "the user was asked and does not allow it" in model.told[0]
    messages = [str(one["content"]) for one in model.bodies[1]["messages"] if one["role"] == "user"]
    assert "No, because: read weather instead" in messages[-1], "it is the user's word, not data"
    assert calls(tmp_path) == [["entry-0", {"text": "weather"}]]


async def test_the_reason_of_a_refusal_names_no_file(desk, ask, tmp_path):
    """Nor does a folder that one server may use open it to another."""
    (tmp_path / "other").mkdir()
    desk.confirm = user = User(UserReply(False, f"{tmp_path}/other is private"), UserReply(True, scope="folder"))
    first, second = (("notes__entry-0", {"text": f"{tmp_path}/other/{name}.txt"}) for name in "ab")
    await ask(tools(1, 1), first, second)
    assert len(user.asked) == 2
    write_servers(desk.home / "config" / "mcp.json", again=server(tmp_path, *tools(1, 1)))
    desk.confirm = other = User(UserReply(False))
    await ask([], ("again__entry-0", first[1]))
    assert len(other.asked) == 1


async def test_a_tool_or_a_folder_is_allowed_for_good_until_that_is_taken_back(desk, ask, tmp_path):
    folder = tmp_path / "My Notes"
    (folder / "deep").mkdir(parents=True)
    grants = Grants(desk.home / "data" / GRANTS_FILE)

    async def asks_about(tool: str, path: Any, *replies: UserReply) -> bool:
        desk.confirm = user = User(*replies)
        before = len(calls(tmp_path))
        await ask(tools(2, 1), (tool, {"text": str(path)}))
        assert len(calls(tmp_path)) == before + 1
        return bool(user.asked)

    yes, no_end = UserReply(True), [UserReply(True, scope="always"), UserReply(True, scope="folder")]
    assert await asks_about("notes__entry-0", "/etc/hostname", no_end[0])
    assert not await asks_about("notes__entry-0", "/etc/passwd")
    assert await asks_about("notes__entry-1", folder / "a.txt", no_end[1])
    assert not await asks_about("notes__entry-1", folder / "deep/new.txt")
    assert await asks_about("notes__entry-1", folder.parent / "b.txt", yes)
    assert [(one.tool, one.reason) for one in grants.tools] == [("notes__entry-0", "the user did not name this file")]
    assert [(one.folder, one.name) for one in grants.folders] == [(str(folder), "notes")]
    assert grants.path.stat().st_mode & 0o777 == 0o600
    assert (grants.forget("notes__entry-0"), grants.forget(str(folder)), grants.forget("x")) == (1, 1, 0)
    assert await asks_about("notes__entry-1", folder / "a.txt", yes)


async def test_all_requests_of_a_run_and_the_next_have_the_same_functions(desk, openai_server, tmp_path):
    offered = [
        {"name": f"{name}-it", "description": f"About {name}.", "inputSchema": TEXT} for name in ("zebra", "yak", "ape")
    ]
    write_servers(desk.home / "config" / "mcp.json", notes=server(tmp_path, *offered))
    chat = Chat(desk, openai_server)
    program = ("run_python", {"code": "print(1)"})
    async with chat.opened():
        await chat.ask("Tell me about the zebra.", Step(tools=[program]), Step(text="Fine."))
        await chat.ask("Tell me about the yak, and the ape.", Step(tools=[program]), Step(text="Fine."))
    shown = {json.dumps(request["tools"]) for request in openai_server.requests[-4:]}
    assert len(shown) == 1


async def test_a_server_that_dies_between_turns_is_started_again(desk, openai_server, tmp_path, monkeypatch):
    monkeypatch.setenv("MCP_LOG", str(tmp_path / "starts"))
    write_servers(desk.home / "config" / "mcp.json", calc=plain(env={"MCP_LOG": str(tmp_path / "starts")}))
    chat = Chat(desk, openai_server)
    async with chat.opened():
        await chat.ask("Add 40 and 2.", Step(tools=[("calc__add", {"a": 40, "b": 2})]), Step(text="42"))
        (first,) = starts(tmp_path / "starts")
        os.kill(first, signal.SIGKILL)
        assert ends(first)
        answer = await chat.ask("Add 2 and 1 now.", Step(tools=[("calc__add", {"a": 2, "b": 1})]), Step(text="3"))
    assert [message["content"] for message in chat.messages if message["role"] == "tool"] == ["42", "3"]
    assert (answer.text, len(starts(tmp_path / "starts"))) == ("3", 2)


async def test_a_program_that_finds_nothing_in_a_folder_of_a_server_is_told_why(desk, openai_server, tmp_path):
    (folder := tmp_path / "notes").mkdir()
    (folder / "a.txt").write_text("a")
    write_servers(desk.home / "config" / "mcp.json", notes=server(tmp_path, *tools(1, 1)))
    chat = Chat(desk, openai_server)
    walk = f"import os\nfor place, _, names in os.walk('{folder}'):\n    print(place, names)"
    async with chat.opened():
        await chat.ask(
            f"Which files are in {folder}?", Step(tools=[("run_python", {"code": walk})]), Step(text="a.txt")
        )
    (told,) = [message["content"] for message in chat.messages if message["role"] == "tool"]
    assert f"Programs cannot see {folder}: call a server's function" in told
