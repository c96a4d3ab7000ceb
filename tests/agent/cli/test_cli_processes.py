"""The real `alita` command: exit code, stdout and stderr together."""

import json
import tomllib
from pathlib import Path

import pytest

from agent.cli.command_registry import COMMANDS
from agent.cli.exits import EXIT_CODES
from mcp_tools.sandbox import backends
from support.fibonacci import decide, write_script
from support.openai_server import Step

FIBONACCI = '''
def fibonacci(n: int) -> int:
    """Computes the n-th Fibonacci number."""
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a
'''


def test_help_names_every_command_and_exit_code(quick):
    ended = quick("--help")
    assert (ended.code, ended.err) == (0, "")
    assert all(f"\n  {command.name} " in ended.out for command in COMMANDS)
    assert all(f"\n  {code:>3}  {meaning}\n" in ended.out for code, _, meaning in EXIT_CODES)
    assert max(map(len, ended.out.splitlines())) <= 80


def test_a_line_that_cannot_be_understood_is_an_object_too(quick):
    """Who reads JSON reads it also when an option does not exist."""
    ended = quick("tools", "list", "--bogus", "--json")
    assert ended.code == 2
    assert ended.json["error"]["kind"] == "UsageError"
    assert "--bogus" in ended.json["error"]["message"]
    ended = quick("--json", "--max-steps", "x", "how many?")
    assert ended.code == 2
    assert ended.json["status"] == "failed"
    assert "--max-steps" in ended.json["error"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--max-steps", "many", "q"), "--max-steps"),
        (("--max-steps", "0", "q"), "max_steps has the invalid value 0 (flag --max-steps)"),
        (("--base-url", "nonsense", "q"), "base_url has the invalid value 'nonsense'"),
        (("tool", "list"), "Did you mean: alita tools list"),
        (("runs", "show", "nothing"), "There is no run 'nothing'"),
        (("tools", "run", "x.py", "{}"), "There is no file x.py"),
        (("resume",), "There is no unfinished run"),
    ],
)
def test_bad_usage_is_told_without_a_traceback_and_exits_2(quick, arguments, said):
    ended = quick(*arguments)
    assert said in ended.err
    assert (ended.code, ended.out) == (2, "")


def test_config_show_tells_values_and_sources_and_no_key(quick):
    ended = quick("config", "show", "--json", OPENAI_API_KEY="sk-0123456789abcdefghijklmnop", ALITA_MAX_STEPS="3")
    assert ended.json["max_steps"] == {"value": "3", "source": "variable ALITA_MAX_STEPS"}
    assert ended.json["model"] == {"value": "gpt-5-mini", "source": "default with a key"}
    assert "0123456789" not in ended.out
    assert "sk-0123" not in quick("config", "show", OPENAI_API_KEY="sk-0123456789abcdefghijklmnop").out


def test_a_file_is_checked(quick, tmp_path):
    good, bad = tmp_path / "good.py", tmp_path / "bad.py"
    good.write_text(FIBONACCI)
    bad.write_text(FIBONACCI.replace("n: int", "n"))
    assert (quick("tools", "check", str(good), "--json").json, quick("tools", "check", str(good)).code) == (
        {"ok": True, "findings": [], "passed_tests": 0, "failed_tests": []},
        0,
    )
    ended = quick("tools", "check", str(bad), "--json")
    assert ended.code == 1
    assert {"rule", "line", "message"} == set(ended.json["findings"][0])


def register(folder: Path, source: str = FIBONACCI) -> None:
    from mcp_tools.library.library import Library
    from mcp_tools.tool import Tool

    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    Library(folder, folder.parent / "data").register(
        Tool("fibonacci", "Computes Fibonacci numbers.", schema, {}, source)
    )


def test_the_library_from_the_command_line(quick, tmp_path):
    folder = str(tmp_path / "tools")
    register(Path(folder))
    assert [tool["name"] for tool in quick("tools", "list", "--tools-dir", folder, "--json").json] == ["fibonacci"]
    shown = quick("tools", "show", "fibonacci", "--tools-dir", folder, "--json").json
    assert shown["inputSchema"]["required"] == ["n"]
    assert shown["source"] == FIBONACCI
    assert "def fibonacci" in quick("tools", "show", "fibonacci", "--tools-dir", folder).out
    assert quick("tools", "search", "fibonacci", "numbers", "--tools-dir", folder, "--json").json[0]["score"] > 0
    assert quick("tools", "delete", "fibonacci", "--tools-dir", folder, "--json").json["ok"]
    assert quick("tools", "list", "--tools-dir", folder, "--json").json == []
    ended = quick("tools", "delete", "fibonacci", "--tools-dir", folder, "--json")
    assert (ended.code, ended.json["error"]["kind"]) == (2, "UnknownToolError")


def test_a_tool_runs_in_the_sandbox(alita, quick, tmp_path):
    path = tmp_path / "fib.py"
    path.write_text(FIBONACCI)
    ended = alita("tools", "run", str(path), '{"n": 57}', "--json")
    assert ended.code == 0
    assert set(ended.json) == {"ok", "value", "error", "seconds", "isolation"}
    assert (ended.json["ok"], ended.json["value"], ended.json["error"]) == (True, 365435296162, None)
    assert ended.json["isolation"] in {"strong", "medium"}
    assert quick("tools", "run", str(path), '{"n": 57}').out == "365435296162\n"


COUNT_LINES = '''def count_lines(paths: list[str]) -> int:
    """Count the lines of files."""
    return sum(len(open(path).readlines()) for path in paths)
'''


def test_a_tool_opens_granted_files_by_relative_paths(quick, tmp_path):
    here = tmp_path / "here"
    (here / "count.py").write_text(COUNT_LINES)
    (here / "data" / "north").mkdir(parents=True)
    for file in ("a.csv", "data/b.csv"):
        (here / file).write_text("x\n1\n")
    run = ("tools", "run", "count.py")
    assert (
        quick(*run, '{"paths": ["a.csv", "./data/b.csv"]}', "--grant-read", "a.csv", "--grant-read", "data").out
        == "4\n"
    )
    assert quick(*run, '{"paths": ["data/../a.csv"]}', "--grant-read", ".").out == "2\n"
    ended = quick(*run, '{"paths": ["a.csv", "data/b.csv"]}', "--grant-read", "a.csv")
    assert "To let the tool read it: --grant-read data/b.csv" in ended.err
    absolute = str(here / "a.csv")
    ended = quick(*run, json.dumps({"paths": [absolute]}), "--json")
    assert (ended.json["error"]["kind"], ended.json["remedy"]) == (
        "denied",
        f"To let the tool read it: --grant-read {absolute}",
    )


def test_text_that_is_also_the_name_of_a_folder_stays_text(quick, tmp_path):
    here = tmp_path / "here"
    (here / "north").mkdir()
    (here / "echo.py").write_text('def echo(text: str) -> str:\n    """Return the text."""\n    return text\n')
    assert quick("tools", "run", "echo.py", '{"text": "north"}', "--grant-read", ".").out == "north\n"


def test_a_user_without_a_name_and_a_home(alita, tmp_path):
    """As in containers that run as any user id."""
    (tmp_path / "here" / "f.py").write_text(FIBONACCI)
    user = ("--unshare-user", "--uid", "1234567", "--gid", "1234567")
    nameless = [str(backends.find_bwrap()), "--dev-bind", "/", "/", *user]
    ended = alita("tools", "run", "f.py", '{"n": 9}', "--json", leading=nameless)
    assert ended.json["value"] == 34, ended.err
    ended = alita("config", "show", leading=nameless, ALITA_HOME="")
    assert (ended.code, "Traceback" in ended.err, "ALITA_HOME" in ended.err) == (2, False, True)


@pytest.mark.parametrize(
    ("source", "arguments", "kind"),
    [
        (FIBONACCI, '{"m": 1}', "arguments"),
        (FIBONACCI.replace("n: int", "n"), '{"n": 1}', "checks"),
        (FIBONACCI.replace("a, b = 0, 1", "a, b = 0, 1 // (n - 1)"), '{"n": 1}', "exception"),
    ],
    ids=["arguments", "checks", "exception"],
)
def test_what_a_tool_or_its_caller_did_wrong_is_in_the_object(quick, tmp_path, source, arguments, kind):
    path = tmp_path / "tool.py"
    path.write_text(source)
    ended = quick("tools", "run", str(path), arguments, "--json")
    assert ended.code == 1
    assert (ended.json["ok"], ended.json["value"], ended.json["error"]["kind"]) == (False, None, kind)
    assert quick("tools", "run", str(path), arguments).out == ""


def test_the_doctor_names_a_remedy_for_everything_that_is_missing(quick):
    ended = quick("doctor", "--json", PATH="")
    assert all(check["ok"] or check["remedy"] for check in ended.json["checks"])
    assert ended.code == 1
    assert {"python", "packages", "model", "isolation", "browser", "tools"} <= {
        check["name"] for check in ended.json["checks"]
    }
    model = next(check for check in ended.json["checks"] if check["name"] == "model")
    assert "alita model pull" in model["remedy"]


def test_the_doctor_lists_every_extra():
    from agent.cli.verbs.doctor import EXTRAS

    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    assert {*EXTRAS, "all"} == {*project["optional-dependencies"]}


@pytest.fixture
async def recorded(tmp_path):
    """A finished run with one call in its journal."""
    from dataclasses import replace

    from agent.answer import Answer
    from agent.store.journal import Journal
    from agent.store.runs import create_run, journal_path, save_run

    runs = tmp_path / "home" / "data" / "runs"
    run = create_run(runs, "What is \x1b[31mred?", model="m")
    journal = Journal.create(journal_path(runs, run.run_id))

    async def perform():
        return {"text": "a colour"}

    await journal.call("model", {"messages": [{"role": "user", "content": "x"}]}, perform)
    await journal.aclose()
    save_run(runs, replace(run, status="answered", answer=Answer("a colour", "answered")))
    return run.run_id


def test_runs_are_listed_and_shown(quick, recorded):
    listed = quick("runs", "list")
    assert listed.out.startswith(recorded)
    assert "\x1b" not in listed.out
    assert quick("runs", "list", "--json").json[0]["run_id"] == recorded
    shown = quick("runs", "show", recorded[-4:], "--json").json
    assert shown["calls"][0]["request"]["messages"] == [{"role": "user", "content": "x"}]
    assert shown["answer"]["answer"] == "a colour"
    shown = quick("runs", "show")
    assert "answer    a colour" in shown.out
    assert "usage     0 model calls, 0 tokens" in shown.out
    assert shown.err.startswith(f"To see every step and call: alita traces show {recorded}\n")
    assert quick("resume", recorded).code == 2


KEY = "sk-the-key-of-the-user-0123456789abcdef"


def test_no_stream_of_a_run_shows_a_key(quick, openai_server, tmp_path):
    text = f"The key is {KEY}, says the file."
    openai_server.default = lambda _: Step(text=text)
    arguments = ("--base-url", openai_server.url, "--model", "gpt-test", "Which key does the file name?")
    for flag in ("--json-stream", "--json", "-v"):
        ended = quick(*arguments, flag, "--no-cache", OPENAI_API_KEY=KEY)
        assert ended.code == 0, ended.err
        assert "[redacted]" in ended.out
        assert KEY not in ended.out + ended.err
        if flag == "--json-stream":
            events = [json.loads(line) for line in ended.out.splitlines()]
            pieces = [event["text"] for event in events if event["event"] == "answer_written"]
            assert len(pieces) > 3
            assert KEY not in "".join(pieces)
    kept = [path for path in (tmp_path / "home").rglob("*") if path.is_file()]
    assert not [path for path in kept if KEY.encode() in path.read_bytes()]


def test_a_level_below_the_one_before_is_told_in_every_run(quick, tmp_path, monkeypatch):
    register(tmp_path / "tools")
    run = ("tools", "run", "fibonacci", '{"n": 7}', "--tools-dir", str(tmp_path / "tools"))
    assert quick(*run).code == 0
    kept = tmp_path / "home" / "data" / "isolation.json"
    if json.loads(kept.read_text())["level"] != "strong":
        pytest.skip("this machine has no stronger level to lose")
    with monkeypatch.context() as lost:
        lost.setattr(backends, "find_bwrap", lambda: None)
        for _ in range(2):
            ended = quick(*run)
            assert ended.code == 0
            assert "tools are less isolated than before: medium (sandlock) instead of strong" in ended.err
        script = write_script(tmp_path / "script.jsonl", [decide("answer", answer="Paris", when="capital")])
        told = quick("--model", script, "--json", "The capital of France?")
        assert ["less isolated than before" in warning for warning in told.json["warnings"]] == [True]
        assert "less isolated than before" in told.err
        checks = quick("doctor", "--json").json["checks"]
        assert any(check["name"] == "isolation" and "less isolated than before" in check["detail"] for check in checks)
        assert "less isolated than before" not in quick(*run, ALITA_ISOLATION="sandlock").err, (
            "who names it has accepted it"
        )
    assert "less isolated than before" not in quick(*run).err


def test_the_model_without_weights(quick):
    listed = quick("model", "list", "--json").json
    assert [model["name"] for model in listed["models"]] == ["embedded"]
    assert listed["weights"] == []
    assert quick("model", "status", "--json").json == {"running": False, "servers": []}
    assert not quick("model", "path", "--json").json["exists"]
    assert quick("model", "rm", "--json").json == {"ok": True, "removed": False}
