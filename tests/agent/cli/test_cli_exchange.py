"""`alita tools export|import|backup|restore`: round trips, what stays private, and what is refused."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml
from mcp import StdioServerParameters
from mcp.client.session import ClientSession
from mcp.client.stdio import stdio_client

from mcp_tools.library.library import Library
from mcp_tools.tool import Status, Tool
from support.command import Ended, Terminal
from support.wheels import OFFLINE, write_wheel

Run = Callable[..., Ended]
FORMS = {
    "zip": "tools.zip",
    "folder": "tools",
    "skill": "town-tools",
    "server": "town_tools.py",
    "wheel": "town_tools-1.0-py3-none-any.whl",
}
BASE = '''def triangle_number(n: int) -> int:
    """The sum of the whole numbers from 1 to n; r'\\\\n' and \'\'\' and "" are no trouble.

    Args:
        n: The last number.
    """
    return n * (n + 1) // 2
'''
SUM = '''# /// script
# dependencies = []
#
# [tool.alita]
# tools = ["triangle_number"]
# ///
from triangle_number import triangle_number


def sum_of_triangles(numbers: list[int]) -> int:
    """Add the triangle numbers of a list."""
    return sum(triangle_number(n) for n in numbers)
'''
PRIVATE = {
    "asked": {"text": "what did my doctor say about {n}?"},
    "run": "20261128-secret-run",
    "exchanges": [{"host": "api.example.com", "response": "secret response"}],
    "rejected": ["my_other_tool: gives other results"],
}


def integers(name: str, kind: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {name: kind}, "required": [name], "additionalProperties": False}


def tool(name: str, source: str, properties: dict[str, Any], tests: list[Any], **record: Any) -> Tool:
    output = integers("result", {"type": "integer"})
    record = {"tests": tests, "model": "m", **record}
    return Tool(name, f"Compute {name}.", properties, output, source, {"title": name}, Status.VERIFIED, record)


def base(**record: Any) -> Tool:
    tests = [
        {"arguments": {"n": 4}, "expected": 10, "origin": "examiner"},
        {"arguments": {"n": 77}, "expected": 3003, "origin": "recorded"},
    ]
    return tool("triangle_number", BASE, integers("n", {"type": "integer"}), tests, **record)


@pytest.fixture
def library(terminal: Terminal) -> Library:
    """Two approved tools, of which one imports the other and has a private record."""
    library = Library(terminal.here / "generated_tools", terminal.home / "data")
    library.register(base(**PRIVATE))
    listed = integers("numbers", {"type": "array", "items": {"type": "integer"}})
    tests = [{"arguments": {"numbers": [2, 3]}, "expected": 9}]
    library.register(tool("sum_of_triangles", SUM, listed, tests, capabilities={"tools": ["triangle_number"]}))
    return library


@pytest.fixture
def alita(terminal: Terminal) -> Run:
    return lambda *arguments, **more: terminal.call("tools", *arguments, **more)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.*") if path.is_file()}


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("form", FORMS)
def test_a_round_trip_changes_nothing(alita: Run, terminal: Terminal, form: str) -> None:
    """Out in any form, in elsewhere, and out again: the same bytes, and drafts there."""
    assert alita("export", "--all", "-o", "before.zip").code == 0
    done = alita("export", "sum_of_triangles", "-o", FORMS[form], "--as", form, UV_NO_INDEX="1", UV_OFFLINE="1")
    assert done.code == 0, done.err
    done = alita("import", FORMS[form], "--tools-dir", "elsewhere", "--json")
    assert done.code == 0, done.out
    verdicts = {one["name"]: one["verdict"] for one in json.loads(done.out)["tools"]}
    assert verdicts == {"sum_of_triangles": "imported", "triangle_number": "imported"}
    listed = json.loads(alita("list", "--tools-dir", "elsewhere", "--json").out)
    assert {one["status"] for one in listed} == {"draft"}
    assert alita("export", "--all", "-o", "after.zip", "--tools-dir", "elsewhere").code == 0
    here = terminal.here
    assert (here / "before.zip").read_bytes() == (here / "after.zip").read_bytes()
    assert (here / "elsewhere" / "triangle_number.py").read_text() == BASE
    again = alita("import", FORMS[form], "--tools-dir", "elsewhere", "--json")
    assert {one["verdict"] for one in json.loads(again.out)["tools"]} == {"already there"}


def test_an_imported_tool_is_approved_by_its_tests(library: Library, alita: Run, terminal: Terminal) -> None:
    assert alita("export", "sum_of_triangles", "-o", "tools.zip").code == 0
    assert alita("import", "tools.zip", "--tools-dir", "elsewhere").code == 0
    done = alita("approve", "--all", "--tools-dir", "elsewhere")
    assert (done.code, done.out) == (0, "Approved triangle_number.\nApproved sum_of_triangles.\n")


def test_the_tools_that_come_with_alita_are_imported_as_drafts_and_approved(alita: Run, terminal: Terminal) -> None:
    """A folder of the same name is another thing: it is named by its path."""
    (terminal.here / "starter").mkdir()
    done = alita("import", "starter", "--json")
    assert done.code == 0, done.out
    assert {one["verdict"] for one in json.loads(done.out)["tools"]} == {"imported"}
    listed = alita("list")
    assert (
        "tools are not served to MCP clients: they were never approved here\n  alita tools approve --all" in listed.err
    )
    done = alita("approve", "convert_roman_numeral")
    assert (done.code, "def convert_roman_numeral" in done.err) == (0, True)
    many = alita("approve", "calendar_difference", "convert_units", "check_digits", "slugify_text")
    assert "lines, shown by: alita tools show slugify_text" in many.err
    assert "def slugify_text" not in many.err
    assert "convert_roman_numeral" in alita("search", "what year is MCMXCIV").out
    assert alita("import", "./starter").code == 2


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("form", FORMS)
def test_what_is_private_stays_here_and_is_told(alita: Run, terminal: Terminal, form: str) -> None:
    done = alita("export", "triangle_number", "-o", FORMS[form], "--as", form, **OFFLINE)
    told = (
        "triangle_number: the export leaves out the question, the run, recorded responses of hosts, rejected, "
        "1 recorded test"
    )
    assert told in done.err
    path = terminal.here / FORMS[form]
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            everything = b"".join(map(archive.read, archive.namelist()))
    else:
        files = [path] if path.is_file() else [one for one in path.rglob("*") if one.is_file()]
        everything = b"".join(one.read_bytes() for one in files)
    for secret in (
        b"doctor",
        b"secret-run",
        b"secret response",
        b"my_other_tool",
        b"3003",
        str(terminal.here).encode(),
    ):
        assert secret not in everything


def test_a_missing_file_is_named_with_what_can_be_imported(alita: Run) -> None:
    for path, shown in (("nofile.zip", "nofile.zip"), ("", "''")):
        done = alita("import", path)
        assert (done.code, f"There is no file {shown}.\n       Import a file that " in done.err) == (2, True)


def test_a_backup_brings_all_back_and_what_was_approved_stays_so(
    library: Library, alita: Run, terminal: Terminal
) -> None:
    before = contents(library.folder)
    done = alita("backup", "all.zip")
    assert (done.code, (terminal.here / "all.zip").stat().st_mode & 0o777) == (0, 0o600)
    assert "leaves out" not in done.err
    for path in library.folder.glob("*.*"):
        path.unlink(missing_ok=True) if path.is_file() else None
    done = alita("restore", "all.zip")
    assert done.code == 0
    assert "Imported 2 of 2 tools.\n" in done.err
    assert contents(library.folder) == before
    assert {one["status"] for one in json.loads(alita("list", "--json").out)} == {"verified"}


def test_a_backup_names_what_it_leaves_out(library: Library, alita: Run) -> None:
    (library.folder / "triangle_number.py").write_text(BASE + "# edited\n")
    (library.folder / "sum_of_triangles.json").unlink()
    done = alita("backup", "all.zip")
    assert done.code == 1  # nothing whole is left, and nothing is written
    library.register(tool("other", BASE.replace("triangle_number", "other"), integers("n", {"type": "integer"}), []))
    done = alita("backup", "all.zip")
    assert done.code == 1
    assert "triangle_number is not exported: triangle_number.py has changed since it was checked" in done.err
    assert "sum_of_triangles is not exported: there is sum_of_triangles.py, but no sum_of_triangles.json" in done.err


def test_a_taken_name_is_refused_unless_it_is_to_be_replaced(library: Library, alita: Run) -> None:
    assert alita("export", "triangle_number", "-o", "tools.zip").code == 0
    library.register(base(model="n", capabilities={"seconds": 20}), replace=True)
    before = contents(library.folder)
    done = alita("import", "tools.zip", "--json")
    assert done.code == 1
    [told] = json.loads(done.out)["tools"]
    assert (told["verdict"], told["reason"]) == ("refused", "another tool with this name already exists")
    assert "--replace" in told["remedy"]
    assert contents(library.folder) == before
    done = alita("import", "tools.zip", "--replace")
    assert (done.code, done.out.split()) == (0, ["triangle_number", "replaced"])
    assert library.get("triangle_number").status == "draft"
    assert len(list((library.folder / ".alita" / "versions" / "triangle_number").iterdir())) >= 2


@pytest.mark.parametrize("form", ["skill", "server", "wheel"])
def test_what_runs_without_a_sandbox_takes_no_draft_and_no_keys(
    library: Library, alita: Run, terminal: Terminal, form: str
) -> None:
    library.register(base(capabilities={"hosts": ["api.example.com"], "keys": ["WEATHER"]}), replace=True)
    done = alita("export", "triangle_number", "-o", FORMS[form], "--as", form)
    assert done.code == 1
    assert "triangle_number sends the keys WEATHER, which only alita fills in" in done.err
    path = library.folder / "triangle_number.json"
    path.write_text(path.read_text().replace('"m"', '"another"'))
    done = alita("export", "triangle_number", "-o", FORMS[form], "--as", form)
    assert done.code == 1
    assert "triangle_number is a draft" in done.err
    assert not (terminal.here / FORMS[form]).exists()


def test_what_a_tool_may_do_outside_is_told(library: Library, alita: Run) -> None:
    library.register(base(capabilities={"hosts": ["api.example.com"], "read": True, "write": True}), replace=True)
    done = alita("export", "triangle_number", "-o", "town-tools", "--as", "skill")
    assert done.code == 0
    for told in (
        "sends requests to api.example.com without asking",
        "opens any file",
        "leaves files",
        "nothing isolates",
    ):
        assert told in done.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param(["-o", "a.zip"], "Give either the names of the tools to export or --all.", id="no name"),
        pytest.param(["nothing", "-o", "a.zip"], "no tool 'nothing'", id="unknown"),
        pytest.param(["--all", "-o", "generated_tools"], "generated_tools already exists", id="there"),
        pytest.param(["--all", "-o", "nowhere/a.zip"], "There is no folder nowhere.", id="no folder"),
        pytest.param(["--all", "-o", "Tools", "--as", "skill"], "Use a name such as town-tools.", id="skill's name"),
        pytest.param(["--all", "-o", "a.whl"], "such as town_tools-1.0-py3-none-any.whl.", id="wheel's name"),
        pytest.param(
            ["--all", "-o", "tools.json"],
            "The file extension of 'tools.json' belongs to no export format.",
            id="no form",
        ),
        pytest.param(["--all", "-o", "a.txt", "--as", "zip"], "Use a name such as tools.zip.", id="ending"),
    ],
)
@pytest.mark.usefixtures("library")
def test_an_export_that_cannot_be_says_why(alita: Run, arguments: list[str], told: str) -> None:
    done = alita("export", *arguments)
    assert done.code in {1, 2}
    assert told in done.err


@pytest.mark.usefixtures("library")
def test_an_export_touches_no_lock_that_is_there(alita: Run, terminal: Terminal) -> None:
    """A foreign lock would decide which packages the server gets; a link would lead elsewhere."""
    own = terminal.here / "own.txt"
    own.write_text("")
    (terminal.here / "town.py.lock").symlink_to(own)
    done = alita("export", "--all", "-o", "town.py", UV_NO_INDEX="1", UV_OFFLINE="1")
    assert (done.code, own.read_text()) == (2, "")
    assert "town.py.lock already exists" in done.err
    assert not (terminal.here / "town.py").exists()


@pytest.mark.parametrize(
    ("form", "place"),
    [*((form, "code") for form in FORMS), ("zip", "description"), ("zip", "tests"), ("skill", "imported tool")],
)
def test_a_tool_with_a_key_of_the_user_is_not_exported(alita: Run, terminal: Terminal, form: str, place: str) -> None:
    key = 'my-very-"own"-endpoint-key'
    library = Library(terminal.here / "generated_tools", terminal.home / "data")
    keyed = base()
    if place == "description":
        keyed = replace(keyed, description=f"Compute with {key}.")
    elif place == "tests":
        test = {"arguments": {"n": 4}, "expected": 10, "origin": "examiner", "about": key}
        keyed = replace(keyed, provenance={"tests": [test], "model": "m"})
    else:
        keyed = replace(keyed, source=BASE.replace("return", f"# {key}\n    return"))
    library.register(keyed)
    name = keyed.name
    if place == "imported tool":
        listed = integers("numbers", {"type": "array", "items": {"type": "integer"}})
        tests = [{"arguments": {"numbers": [2, 3]}, "expected": 9}]
        library.register(tool("sum_of_triangles", SUM, listed, tests, capabilities={"tools": ["triangle_number"]}))
        name = "sum_of_triangles"
    done = alita("export", name, "-o", FORMS[form], "--as", form, OPENAI_API_KEY=key)
    assert done.code == 1
    assert "triangle_number contains the key of your setting api_key" in done.err
    assert key not in done.out + done.err
    assert not (terminal.here / FORMS[form]).exists()


def test_a_skill_shows_no_example_that_cannot_be_read(library: Library, alita: Run, terminal: Terminal) -> None:
    given = {"type": "string"}
    takes = {"type": "object", "properties": {"text": given}, "required": ["text"], "additionalProperties": False}
    source = 'def length(text: str) -> int:\n    """Count characters."""\n    return len(text)\n'
    hidden = [{"arguments": {"text": text}, "expected": 1} for text in ("\u200b", "\u202e")]
    library.register(tool("length", source, takes, [*hidden, {"arguments": {"text": "ox"}, "expected": 2}]))
    assert alita("export", "length", "-o", "town-tools", "--as", "skill").code == 0
    shown = (terminal.here / "town-tools" / "SKILL.md").read_text()
    assert """_call.py length '{"text": "ox"}'""" in shown


def test_an_import_into_a_library_that_cannot_be_written_says_so_of_each_tool(alita: Run, terminal: Terminal) -> None:
    """So does one whose disk is full in the middle: the verdicts on the tools before are not lost."""
    said = {"args": "width (float), height (float)", "returns": "area (float)", "description": "Area"}
    entries = [entry(name, GOOD.format(name=name), metadata=said) for name in ("first_area", "other_area")]
    (terminal.here / "registry.json").write_text(json.dumps(entries))
    (terminal.here / "generated_tools").mkdir(exist_ok=True)
    (terminal.here / "generated_tools" / ".alita").touch()  # no folder can be made in its place
    done = alita("import", "registry.json", "--json")
    told = {
        one["name"]: (one["verdict"], "cannot be written" in one["reason"]) for one in json.loads(done.out)["tools"]
    }
    assert (done.code, told) == (1, dict.fromkeys(("first_area", "other_area"), ("refused", True)))


def test_packages_go_along_as_requirements_and_are_not_installed(
    library: Library, alita: Run, terminal: Terminal
) -> None:
    source = BASE.replace("    return n", "    import numpy\n    import scipy\n\n    return n")
    library.register(replace(base(capabilities={"packages": ["scipy>=1.11"]}), source=source), replace=True)
    for form in FORMS:
        done = alita("export", "triangle_number", "-o", FORMS[form], "--as", form, **OFFLINE)
        assert done.code == 0
    assert '# dependencies = ["mcp>=2.1,<3", "numpy", "scipy>=1.11"]' in (terminal.here / FORMS["server"]).read_text()
    assert '"numpy", "scipy>=1.11"]' in (terminal.here / FORMS["skill"] / "scripts" / "_call.py").read_text()
    with zipfile.ZipFile(terminal.here / FORMS["wheel"]) as wheel:
        metadata = wheel.read("town_tools-1.0.dist-info/METADATA").decode()
    assert "Requires-Dist: numpy\nRequires-Dist: scipy>=1.11\n" in metadata
    done = alita("import", FORMS["zip"], "--tools-dir", "elsewhere")
    assert (done.code, "before you use it, allow its packages: alita packages allow 'scipy>=1.11'" in done.out) == (
        0,
        True,
    )
    done = alita("approve", "triangle_number", "--tools-dir", "elsewhere", ALITA_PACKAGES="never", **OFFLINE)
    assert done.code == 1
    assert ("its tests cannot be run" in done.err, "a test fails" in done.err) == (True, False)
    evil = {"packages": ["scipy\nRequires-Dist: evil"]}
    library.register(replace(base(capabilities=evil), source=source), replace=True)
    done = alita("export", "triangle_number", "-o", "evil_tools-1.0-py3-none-any.whl")
    assert (done.code, "is not a valid package" in done.err) == (1, True)


def test_a_folder_of_this_machine_is_told(library: Library, alita: Run) -> None:
    library.register(base(evidence={"file": "/home/jo/x.csv"}), replace=True)
    assert (
        "contains the path of a folder on this machine: /home/jo"
        in alita("export", "triangle_number", "-o", "a.zip").err
    )


@pytest.mark.usefixtures("library")
def test_a_skill_has_its_form_and_its_script_calls_the_tools(alita: Run, terminal: Terminal) -> None:
    assert alita("export", "--all", "-o", "town-tools", "--as", "skill").code == 0
    folder = terminal.here / "town-tools"
    _, head, body = (folder / "SKILL.md").read_text().split("---\n", 2)
    front = yaml.safe_load(head)
    assert front["name"] == folder.name
    assert 0 < len(front["description"]) <= 1024
    assert "without a sandbox" in body
    assert "    sum_of_triangles(numbers: list[int]) -> int\n" in body
    (folder / "scripts" / "json.py").write_text("raise SystemExit('a tool called like a module of Python')\n")
    command = [sys.executable, folder / "scripts" / "_call.py", "sum_of_triangles"]
    done = subprocess.run([*command, '{"numbers": [2, 3]}'], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "9\n"), done.stderr
    done = subprocess.run([*command, '{"numbers": 2}'], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "TypeError: 'int' object is not iterable\n")


@pytest.mark.usefixtures("library")
def test_a_wheel_installs_offline_and_its_functions_are_imported(alita: Run, terminal: Terminal) -> None:
    wheel = FORMS["wheel"]
    assert alita("export", "--all", "-o", wheel).code == 0
    uv, place = Path(sys.executable).with_name("uv"), terminal.here / "place"
    command = [uv, "pip", "install", "-q", "--offline", "--no-index", "--target", place, terminal.here / wheel]
    cache = {"UV_CACHE_DIR": str(terminal.here / "cache")}
    subprocess.run([*command, "--python", sys.executable], check=True, env={**os.environ, **cache})
    code = "from town_tools import *; print(sum_of_triangles([2, 3]), triangle_number(4))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=place)
    assert done.stdout == "9 10\n"
    assert (place / "bin" / "town-tools-server").exists()


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("form", ["server", "wheel"])
def test_an_exported_server_answers_the_sdks_client(alita: Run, terminal: Terminal, form: str) -> None:
    path = terminal.here / FORMS[form]
    assert alita("export", "sum_of_triangles", "-o", str(path), **OFFLINE).code == 0
    start = [str(path)]
    (terminal.here / "unpacked").mkdir()
    if form == "wheel":
        start = ["-c", "from town_tools._serving import main; main()"]
        with zipfile.ZipFile(path) as archive:
            archive.extractall(terminal.here / "unpacked")

    async def asked() -> None:
        async with (
            stdio_client(StdioServerParameters(command=sys.executable, args=start, cwd=terminal.here / "unpacked")) as (
                source,
                sink,
            ),
            ClientSession(source, sink) as session,
        ):
            await session.initialize()
            listed = {one.name: one for one in (await session.list_tools()).tools}
            assert listed.keys() == {"sum_of_triangles", "triangle_number"}
            assert listed["triangle_number"].annotations is None  # nothing enforces a hint here
            good = await session.call_tool("sum_of_triangles", {"numbers": [2, 3]})
            assert (good.is_error, good.structured_content) == (False, {"result": 9})
            bad = await session.call_tool("triangle_number", {"n": "x"})
            assert bad.is_error

    asyncio.run(asked())


@pytest.fixture
def index(tmp_path: Path) -> Iterator[str]:
    """The address of a package index that has one release of mcp."""
    wheel = write_wheel(tmp_path / "index" / "files", "mcp", "2.1.7")
    page = tmp_path / "index" / "simple" / "mcp" / "index.html"
    page.parent.mkdir(parents=True)
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    page.write_text(f'<a href="/files/{wheel.name}#sha256={digest}">{wheel.name}</a>')

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=tmp_path / "index")) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/simple"
        server.shutdown()


@pytest.mark.usefixtures("library")
def test_a_server_gets_a_lock_with_hashes_where_uv_can_write_one(alita: Run, terminal: Terminal, index: str) -> None:
    done = alita("export", "--all", "-o", "town_tools.py", UV_DEFAULT_INDEX=index)
    assert done.code == 0
    assert "could not lock" not in done.err
    lock = (terminal.here / "town_tools.py.lock").read_text()
    assert 'version = "2.1.7"' in lock
    assert 'hash = "sha256:' in lock
    done = alita("export", "--all", "-o", "other.py", **OFFLINE)
    assert (done.code, "To lock them later: uv lock --script" in done.err) == (0, True)


def entry(name: str, code: str, **more: str) -> dict[str, Any]:
    return {"name": name, "script_content": code, "function": None, "usage_count": 1, "metadata": {}, **more}


GOOD = '''def {name}(width, height):
    """Area {name}.

    >>> {name}(2.0, 3.0)
    6.0
    """
    return width * height
'''
TYPED = 'def {name}(a: int) -> int:\n    """x"""\n'
ENTRIES = {
    "good": (GOOD, "repaired", "width annotated as float"),
    "syntax": ("def {name}(:\n", "refused", "parses"),
    "network": (
        'import requests\ndef {name}(u: str) -> str:\n    """x"""\n    return requests.get(u).text\n',
        "refused",
        "network",
    ),
    "process": (
        f'import subprocess\nsubprocess.run(["touch", "owned"])\n{TYPED}    return a\n',
        "refused",
        "cannot start processes",
    ),
    "unread": ('def {name}(query=""):\n    return 17 + 4 * int("1")\n', "refused", "takes no parameters"),
    "package": (
        'import scipy\ndef {name}(a: float) -> float:\n    """x"""\n    return scipy.sqrt(a)\n',
        "refused",
        "packages that you have not allowed: scipy",
    ),
    "wrong example": (GOOD.replace("    6.0", "    7.0"), "refused", "its own example fails"),
    "fails": (
        'def {name}(a: int) -> int:\n    """x"""\n    return a + missing_[0]\nmissing_ = []\n',
        "refused",
        "all calls that were tried failed",
    ),
    "no code": ("", "refused", "no script_content"),
    "same": (
        'def {name}(a: int) -> int:\n    """x"""\n    return len(str(a)[:0])\n',
        "refused",
        "give the same result: 0",
    ),
}


def test_a_registry_with_half_of_it_broken_leaves_the_library_whole(alita: Run, terminal: Terminal) -> None:
    """Each good one is a draft, each other one has its reason, and nothing of them ran outside."""
    broken, entries, wanted = [kind for kind in ENTRIES if kind != "good"], [], {}
    for number in range(40):
        kind = "good" if number % 2 else broken[number // 2 % len(broken)]
        code, verdict, reason = ENTRIES[kind]
        name = f"tool_{number}"
        wanted[name] = (verdict, reason)
        said = {"args": "width (float), height (float)", "returns": "area (float)", "description": f"Area {number}"}
        entries.append(entry(name, code.format(name=name) if kind != "no code" else "", metadata=said))
    (terminal.here / "mcp_tools_registry.json").write_text(
        json.dumps([*entries, 5, {"name": 7}, entry("../../up", GOOD.format(name="up"))])
    )
    done = alita("import", "mcp_tools_registry.json", "--json")
    assert done.code == 1
    told = {one["name"]: one for one in json.loads(done.out)["tools"]}
    assert len(told) == 43
    assert told["../../up"]["reason"].startswith("'../../up' is not a valid tool name")
    assert told["entry 41"]["reason"] == told["entry 42"]["reason"] == "it has no name"
    for name, (verdict, reason) in wanted.items():
        one = told[name]
        assert one["verdict"] == verdict, one
        assert reason in " ".join([one["reason"], *one["repairs"]]), one
    listed = json.loads(alita("list", "--json").out)
    assert len(listed) == 20
    assert {one["status"] for one in listed} == {"draft"}
    assert not (terminal.here / "owned").exists()
    assert alita("approve", "tool_1").code == 0  # its example is its test


def test_a_module_and_a_folder_bring_their_functions(alita: Run, terminal: Terminal) -> None:
    (terminal.here / "shapes.py").write_text(
        "import math\n\n\n"
        'def circle(radius: float) -> float:\n    """A circle\'s area."""\n    return math.pi * radius**2\n\n\n'
        'def square(side: float) -> float:\n    """A square\'s area."""\n    return side * side\n\n\n'
        "def untold(a):\n    return a\n"
    )
    done = alita("import", "shapes.py")
    assert done.code == 1
    assert [line.split()[:2] for line in done.out.splitlines()] == [
        ["circle", "imported"],
        ["square", "imported"],
        ["untold", "refused"],
    ]
    folder = terminal.here / "mine"
    folder.mkdir()
    (folder / "cube.py").write_text('def cube(side: float) -> float:\n    """A volume."""\n    return side**3\n')
    (folder / "cube.json").write_text('{"capabilities": {"seconds": 20}}')
    (folder / "other.json").write_text('{"name": "no tool"}')
    done = alita("import", "mine")
    assert (done.code, done.out.split()[:2]) == (0, ["cube", "imported"])
    assert json.loads(alita("show", "cube", "--json").out)["_meta"]["alita/provenance"]["capabilities"]["seconds"] == 20


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        pytest.param(lambda s, d: (s + "#", d), "does not match the hash in its JSON file", id="another source"),
        pytest.param(lambda s, d: (s, d.replace('"n"', '"m"')), "have different parameters", id="other parameters"),
        pytest.param(lambda s, d: (s, d.replace("Compute", "\u202eCompute")), "cannot be served", id="hidden"),
        pytest.param(lambda s, d: (s, d.replace('"verified"', '["verified"]')), "is invalid", id="odd status"),
        pytest.param(
            lambda s, d: (s, d.replace('"properties": {', '"properties": [], "p": {')),
            "different parameters",
            id="list",
        ),
        pytest.param(lambda s, d: (s, d[:-20]), "is invalid", id="torn"),
        pytest.param(lambda s, d: (s, d.replace("verified", "blessed")), "is invalid", id="status"),
        pytest.param(
            lambda s, d: (s, d.replace('{"tests"', '{"capabilities": {"root": true}, "tests"')), "is invalid", id="cap"
        ),
    ],
)
def test_a_pair_that_is_no_tool_is_refused(
    library: Library, alita: Run, terminal: Terminal, change: Callable[[str, str], tuple[str, str]], reason: str
) -> None:
    folder = terminal.here / "in"
    folder.mkdir()
    source = (library.folder / "triangle_number.py").read_text()
    document = json.dumps(json.loads((library.folder / "triangle_number.json").read_text()), ensure_ascii=False)
    source, document = change(source, document.replace('"alita/provenance": {"', '"alita/provenance": {"'))
    (folder / "triangle_number.py").write_text(source)
    (folder / "triangle_number.json").write_text(document)
    done = alita("import", "in", "--tools-dir", "elsewhere", "--json")
    assert done.code == 1
    [told] = json.loads(done.out)["tools"]
    assert told["verdict"] == "refused"
    assert reason in told["reason"]
    assert not list((terminal.here / "elsewhere").glob("*.*"))
