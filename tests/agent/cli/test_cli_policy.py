"""The policy file by command, and the same over MCP."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

from mcp_tools.library.library import Library
from mcp_tools.tool import Status, Tool, object_schema
from support.command import Terminal, clean
from support.web_server import Answer, WebServer
from support.wheels import OFFLINE, write_wheel

BODIES = {
    "warmth": "from urllib.request import urlopen\n    return urlopen('{url}/t').read().decode()",
    "shout_text": "import emoji\n    return emoji.shout('hey')",
    "noted": "from pathlib import Path\n    Path('note.txt').write_text('x')\n    return 'noted'",
    "slow": "return 'slow'",
    "plain": "return 'plain'",
    "importing": "from shout_text import shout_text\n    return shout_text('x')",
}
SOURCE = '''def {name}(place: str) -> str:
    """Say something about a place.

    Args:
        place: Its name in words.

    Returns:
        What is said.

    >>> {name}("x")
    '{name}'
    """
    {body}
'''


def source_of(name: str, url: str = "") -> str:
    return SOURCE.format(name=name, body=BODIES[name].replace("{url}", url))


def rule(decision: str, tools: str = "*", **uses: object) -> str:
    lines = [f"{name} = {json.dumps(value)}" for name, value in uses.items()]
    return "\n".join(["[[rules]]", f'tools = "{tools}"', f'decision = "{decision}"', *lines, ""])


@pytest.fixture
def web() -> Iterator[WebServer]:
    with WebServer() as server:
        server.route("/t", lambda _: Answer(200, "warm"))
        yield server


class House:
    """A library of approved tools, and commands that run them."""

    def __init__(self, terminal: Terminal, web: WebServer, wheels: Path) -> None:
        self.terminal, self.web = terminal, web
        self.variables = {"ALITA_ALLOW_ADDRESSES": web.url, "UV_FIND_LINKS": str(wheels), **OFFLINE}
        self.variables |= {"ALITA_TOOLS_DIR": str(terminal.here / "generated_tools")}

    def keep(self, name: str, **capabilities: Any) -> None:
        text = {"type": "string"}
        library = Library(self.terminal.here / "generated_tools", self.terminal.home / "data")
        library.register(
            Tool(
                name,
                "Say something about a place.",
                object_schema({"place": text}),
                object_schema({"result": text}),
                source_of(name, self.web.url),
                status=Status.VERIFIED,
                provenance={"capabilities": capabilities},
            )
        )
        library.close()

    def policy(self, *rules: str) -> Path:
        path = self.terminal.home / "config" / "policy.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(rules))
        return path

    def run(self, *words: str) -> tuple[int, str]:
        ended = self.terminal.run("tools", *words, **self.variables)
        return ended.code, ended.out + ended.err

    def call(self, name: str) -> tuple[int, str]:
        return self.run("run", name, '{"place": "x"}')

    def client(self) -> Client:
        alita = str(Path(sys.executable).with_name("alita"))
        env = clean(self.terminal.home, **self.variables)
        return Client(StdioServerParameters(command=alita, args=["serve"], env=env, cwd=str(self.terminal.here)))


@pytest.fixture
def house(terminal: Terminal, web: WebServer, tmp_path: Path) -> House:
    write_wheel(tmp_path / "wheels", "emoji")
    return House(terminal, web, tmp_path / "wheels")


def test_hosts_follow_the_policy_at_every_call(house: House) -> None:
    house.keep("warmth", hosts=[house.web.url])
    assert house.call("warmth")[0] == 1
    house.policy(rule("allow", "war*", hosts=["http://127.0.0.1:*"]))
    assert house.call("warmth") == (0, "warm\n")
    assert house.run("hosts", "warmth", "--allow")[0] == 0
    house.policy(rule("deny", "war*", hosts=["127.*"]))
    code, said = house.call("warmth")
    assert (code, "rule 1 of policy.toml denies it" in said, len(house.web.requests)) == (1, True, 1), said
    house.policy(rule("deny", "other*", hosts=["*"]))
    assert house.call("warmth") == (0, "warm\n")
    path = house.terminal.here / "generated_tools" / "warmth.py"
    path.write_text(path.read_text() + "\n# changed\n")
    house.policy(rule("allow", hosts=["*", "http://127.0.0.1:*"]))
    assert house.call("warmth")[0] != 0, "a draft is not covered"
    assert len(house.web.requests) == 2


def test_packages_follow_the_policy_for_the_tools_that_it_names(house: House) -> None:
    house.keep("shout_text", packages=["emoji"])
    house.keep("importing", tools=["shout_text"])
    code, said = house.call("shout_text")
    assert (code, "you have not allowed emoji" in said) == (1, True), said
    house.policy(rule("allow", "shout_*", packages=["emoji"]))
    assert house.call("shout_text")[:1] == (0,)
    assert house.call("importing")[0] == 1, "a call is its caller's"
    assert json.loads(house.terminal.call("packages", "list", "--json").out)["allowed"] == []
    assert house.terminal.run("packages", "allow", "emoji", **house.variables).code == 0
    house.policy(rule("deny", "shout_*", packages=["emoji"]))
    for name in ("shout_text", "importing"):
        code, said = house.call(name)
        assert (code, f"{name} may not import emoji: rule 1 of policy.toml denies it" in said) == (1, True), said


def test_files_out_are_denied_by_rule(house: House, tmp_path: Path) -> None:
    house.keep("noted", write=True)
    assert house.run("run", "noted", '{"place": "x"}', "--out", str(tmp_path / "out"))[0] == 0
    assert "To keep them, add --out DIR." in house.run("run", "noted", '{"place": "x"}')[1]
    assert (tmp_path / "out" / "note.txt").exists()
    for decision, said in (("deny", "rule 1 of policy.toml denies it"), ("ask", "nobody can be asked here")):
        house.policy(rule(decision, write=True))
        code, told = house.run("run", "noted", '{"place": "x"}', "--out", str(tmp_path / decision))
        assert (code, f"noted may not leave files for you: {said}" in told) == (1, True), told
        assert not (tmp_path / decision).exists()


def test_much_time_is_decided_about_when_a_tool_is_approved_and_at_every_call(house: House) -> None:
    folder = house.terminal.here / "generated_tools"
    (folder / "slow.py").write_text(source_of("slow"))
    (folder / "slow.json").write_text(json.dumps({"capabilities": {"seconds": 300, "memory_mb": 3000}}))
    code, said = house.run("approve", "slow")
    assert code == 1
    assert (
        "slow may not take 300 seconds and use 3000 MiB of memory: nobody can be asked here; "
        "to allow it, add to policy.toml: " in said
    )
    assert '[[rules]] tools = "slow", seconds = 300, memory_mb' in said
    house.policy(rule("allow", "slow", seconds=300, memory_mb=4096))
    code, said = house.run("approve", "slow")
    assert (code, "slow may take 300 seconds (allowed by rule 1 of policy.toml)" in said) == (0, True), said
    assert house.call("slow") == (0, "slow\n")
    house.policy(rule("deny", seconds=100))
    code, said = house.call("slow")
    assert (code, "slow may not take 300 seconds: rule 1 of policy.toml denies it" in said) == (1, True), said
    (folder / "slow.json").write_text(json.dumps({"capabilities": {"seconds": 4000}}))
    code, said = house.run("approve", "slow")
    assert (code, "capabilities.seconds must be a number above 0 and up to 3600" in said) == (1, True), said


def test_no_rule_lends_a_key_to_a_tool_that_is_about_to_be_approved(house: House) -> None:
    """A folder may hold a tool with a name that fits a rule: its tests run before anybody has approved it."""
    kept = house.terminal.call("keys", "set", "WEATHER", "--host", house.web.url, stdin="weather-4711-s3cret\n")
    assert kept.code == 0
    source = source_of("warmth", house.web.url).replace("/t'", "/t?k={key:WEATHER}'")
    block = f'# /// script\n# [tool.alita]\n# hosts = ["{house.web.url}"]\n# keys = ["WEATHER"]\n# ///\n\n'
    path = house.terminal.here / "generated_tools" / "warmth.py"
    path.write_text(block + source)
    house.policy(rule("allow", "warm*", hosts=[house.web.url], keys=["*"]))
    code, said = house.run("approve", "warmth")
    assert (code, "with the key WEATHER is not allowed: nobody can be asked" in said) == (1, True), said
    assert house.web.requests == []
    for words in (("run", "warmth"), ("run", str(path))):
        assert house.run(*words, '{"place": "x"}')[0] != 0
    assert house.web.requests == [], "neither a draft nor a file is covered"


@pytest.mark.parametrize("by", ["rule", "setting"])
def test_nobody_is_reached_by_a_tool_that_is_only_looked_at(house: House, by: str) -> None:
    """Neither a rule nor `auto` covers a tool before it is approved, although its file says that it is."""
    house.keep("warmth", hosts=[house.web.url])
    folder, elsewhere = (house.terminal.here / name for name in ("generated_tools", "elsewhere"))
    record = json.loads((folder / "warmth.json").read_text())
    record["_meta"]["alita/provenance"]["tests"] = [{"arguments": {"place": "x"}, "expected": "warm"}]
    elsewhere.mkdir()
    (elsewhere / "warmth.json").write_text(json.dumps(record))
    (elsewhere / "warmth.py").write_text((folder / "warmth.py").read_text())
    house.policy(rule("allow", "warm*", hosts=[house.web.url]) if by == "rule" else "")
    house.variables |= {"ALITA_TOOLS_DIR": str(elsewhere), "ALITA_HOSTS": "auto" if by == "setting" else "ask"}
    for words in (("check", "warmth"), ("review", "warmth"), ("review",)):
        house.run(*words)
        assert house.web.requests == [], words
    assert house.run("approve", "warmth")[0] == 0
    assert len(house.web.requests) == 1


def test_a_denied_package_is_not_imported_to_look_at_a_file(house: House) -> None:
    path = house.terminal.here / "shout_text.py"
    block = '# /// script\n# dependencies = ["emoji"]\n# ///\n\n'
    path.write_text(block + source_of("shout_text"))
    assert house.terminal.run("packages", "allow", "emoji", **house.variables).code == 0
    assert house.call(str(path)) == (0, "HEY\n")
    house.policy(rule("deny", packages=["emoji"]))
    code, said = house.call(str(path))
    assert (code, "shout_text may not import emoji: rule 1 of policy.toml denies it" in said) == (1, True), said


def test_what_decides_is_shown(house: House) -> None:
    house.keep("warmth", hosts=[house.web.url], keys=["WEATHER"], packages=["emoji"], write=True, seconds=90)
    path = house.policy(rule("allow", "war*", packages=["emo*", "emoji"]), rule("deny", "w?rmth", keys=["*"]))
    listed = house.terminal.run("policy", "--json", **house.variables).json
    assert listed["path"] == str(path)
    assert listed["rules"][1] == {"tools": "w?rmth", "decision": "deny", "keys": ["*"]}
    assert "2  deny   w?rmth  keys = ['*']" in house.terminal.run("policy", **house.variables).out
    expected = [
        ("import emoji", "allowed by rule 1 of policy.toml"),
        (f"send requests to {house.web.url}", "the setting hosts (ask)"),
        ("send the key WEATHER", "denied by rule 2 of policy.toml"),
        ("leave files for you", "allowed"),
        ("take 90 seconds", "allowed"),
    ]
    told = house.terminal.run("policy", "warmth", "--json", **house.variables).json
    assert [(one["use"], one["decided_by"]) for one in told] == expected
    assert house.run("hosts", "warmth", "--allow")[0] == 0
    shown = house.run("show", "warmth")[1]
    assert "may      import emoji (allowed by rule 1 of policy.toml)" in shown
    assert f"send requests to {house.web.url} (always allowed)" in shown


def test_a_wrong_file_stops_what_needs_a_capability_and_nothing_else(house: House) -> None:
    house.keep("warmth", hosts=[house.web.url])
    house.keep("plain")
    assert house.run("hosts", "warmth", "--allow")[0] == 0
    path = house.policy(rule("allow", hosts=["a"]), rule("deny", hosts=[1]))
    wrong = f"{path} is invalid: rule 2: hosts: Input should be a valid string"
    code, said = house.call("warmth")
    assert (code, wrong in said, house.web.requests) == (2, True, []), said
    assert house.call("plain") == (0, "plain\n")
    assert house.run("list")[0] == 0
    code, said = house.run("show", "warmth")
    assert (code, wrong in said) == (0, True)
    ended = house.terminal.run("policy", **house.variables)
    assert (ended.code, wrong in ended.err) == (2, True)
    assert wrong in house.terminal.run("doctor", **house.variables).out
    path.unlink()
    assert house.call("warmth") == (0, "warm\n"), "nothing is lost"


async def test_over_mcp_the_same_holds_and_a_change_counts_at_once(house: House) -> None:
    house.keep("warmth", hosts=[house.web.url])
    house.keep("shout_text", packages=["emoji"])
    house.keep("slow", seconds=200)
    house.keep("plain")
    program = {"source": "import emoji\nprint(emoji.shout('hey'))", "packages": ["emoji"]}

    async def call(called: str, **arguments: Any) -> str:
        got = await client.call_tool(called, arguments or {"place": "x"})
        return str(got.content) if got.is_error else str(got.structured_content)

    async with house.client() as client:
        assert "nobody can be asked here" in await call("warmth")
        assert "has not allowed emoji" in await call("run_code", **program)
        assert "slow" in await call("slow")
        house.policy(
            rule("allow", "warmth", hosts=[house.web.url]),
            rule("allow", "program", packages=["emoji"]),
            rule("deny", seconds=100),
            rule("deny", write=True),
        )
        assert await call("warmth") == "{'result': 'warm'}"
        assert "HEY" in await call("run_code", **program)
        assert "has not allowed emoji" in await call("shout_text")
        assert "slow may not take 200 seconds: rule 3 of policy.toml denies it" in await call("slow")
        assert "a program may not leave files for you" in await call("run_code", source="print(1)", writes_files=True)
        house.policy(rule("deny", packages=["emo*"]), rule("deny", hosts=["*"]))
        assert "a program may not import emoji: rule 1 of policy.toml denies it" in await call("run_code", **program)
        assert "rule 2 of policy.toml denies it" in await call("call_tool", name="warmth", arguments={"place": "x"})
        house.policy("[[rules]")
        for said in (await call("warmth"), await call("run_code", **program)):
            assert "the policy file of this server has an error, so nothing is permitted" in said
            assert str(house.terminal.home) not in said
        assert await call("plain") == "{'result': 'plain'}"
    assert len(house.web.requests) == 1
