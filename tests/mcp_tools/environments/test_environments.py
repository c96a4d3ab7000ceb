"""Locked environments: what is resolved, what is refused, what is built once, and what survives."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_tools.checks.header import declared, with_declared
from mcp_tools.environments.lock import PackageError, PackageIndexError, normalised
from mcp_tools.environments.store import Environments, NotAllowedError
from mcp_tools.errors import IsolationError, LibraryError, UserError
from mcp_tools.sandbox.backends import open_sandbox
from mcp_tools.sandbox.call import outcomes
from mcp_tools.sandbox.protocol import Job, Limits
from support.wheels import OFFLINE, write_wheel


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "wheels"
    write_wheel(folder, "shouting", requires=["loud-words>=1"])
    write_wheel(folder, "loud-words")
    write_wheel(folder, "quiet-words", requires=["loud-words>=2"])
    for name, value in {**OFFLINE, "UV_FIND_LINKS": str(folder)}.items():
        monkeypatch.setenv(name, value)
    return folder


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def environments(wheels: Path, tmp_path: Path, told: list[str]) -> Environments:
    return Environments(tmp_path / "environments", told.append)


@pytest.mark.parametrize("text", ["a" + "!b" * 90 + "@", "a" + "!" * 190 + "@", "a" + " " * 10**6 + "@", "a>1" * 60])
def test_what_is_no_requirement_is_refused_at_once(text: str) -> None:
    started = time.monotonic()
    with pytest.raises(PackageError, match="is not a valid package"):
        normalised(text)
    assert time.monotonic() - started < 1


@pytest.mark.parametrize(
    "text",
    [
        "tool = 1",
        "dependencies = 5",
        "tool.alita = 3",
        "dependencies = [1]",
        "a = " + "[" * 20_000,
        ".".join("a" * 30_000) + " = 1",  # which takes tomllib minutes
        "tool.alita.write = 1",
    ],
)
def test_a_block_that_declares_nonsense_is_an_error_of_its_author(text: str) -> None:
    source = f"# /// script\n# {text}\n# ///\n"
    with pytest.raises(LibraryError, match="the `# /// script` block is"):
        declared(source)
    with pytest.raises(LibraryError, match="more than 10 `# /// script` blocks"):
        declared("# /// script\n" * 80_000)
    with pytest.raises(LibraryError, match="the `# /// script` block is"):
        declared(with_declared(source, ["sympy"], write=True) if text != "tool.alita.write = 1" else source)


async def test_nothing_is_built_that_the_user_has_not_allowed(environments: Environments, told: list[str]) -> None:
    with pytest.raises(PackageError, match="the user has not allowed shouting"):
        await environments.ready(["shouting"])
    assert told == [], "the index was asked of a name that few people use"
    both = await environments.plan(["shouting"])
    assert both.unknown == ("loud-words", "shouting")
    environments.allow(replace(both, new=both.new[1:]))
    with pytest.raises(NotAllowedError, match=r"not allowed loud-words 1\.0$"):
        await environments.ready(["shouting"])
    assert not environments.make_built_folder().exists() or not list(environments.make_built_folder().iterdir())


async def test_what_is_allowed_is_built_once_and_shared(environments: Environments, told: list[str]) -> None:
    environments.allow(await environments.plan(["shouting"]))
    places = await asyncio.gather(*(environments.ready(["Shouting"]) for _ in range(4)))
    assert len({*places}) == 1
    assert (places[0] / "shouting.py").exists()
    assert (places[0] / "loud_words.py").exists()
    assert told == ["resolving shouting", "fetching loud-words 1.0, shouting 1.0"]
    other = Environments(environments.folder, told.append)
    assert await other.ready(["shouting"]) == places[0]
    assert len(told) == 2


async def test_a_lock_keeps_its_releases_when_newer_ones_come(environments: Environments, wheels: Path) -> None:
    first = await environments.plan(["loud-words"])
    write_wheel(wheels, "loud-words", "1.1")
    assert (await environments.plan(["loud-words"])).lock == first.lock
    assert str((await environments.plan(["loud-words>=1.1"])).lock.releases[0]) == "loud-words 1.1"


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (["sympyy"], "'sympyy' is not a known package: did you mean sympy?"),
        (["no-such-words"], "there is no package 'no-such-words'"),
        (["loud-words==9"], "cannot be installed together"),
        (["loud-words<2", "quiet-words"], "cannot be installed together"),
        (["git+https://example.org/a.git"], "is not a valid package: write its name"),
        (["loud-words @ file:///tmp/a.whl"], "is not a valid package"),
        (["../loud-words"], "is not a valid package"),
        (["-r /etc/passwd"], "is not a valid package"),
        (["--index-url=http://x"], "is not a valid package"),
        ([""], "is not a valid package"),
        (["a" * 300], "is not a valid package"),
        (["loud-words\nother"], "is not a valid package"),
    ],
    ids=lambda value: str(value)[:30],
)
async def test_what_cannot_be_had_is_said(environments: Environments, wanted: list[str], said: str) -> None:
    with pytest.raises(PackageError) as refused:
        await environments.plan(wanted)
    assert said in str(refused.value)


async def test_a_package_that_has_to_be_built_is_refused(environments: Environments, wheels: Path) -> None:
    import tarfile

    with tarfile.open(wheels / "built_words-1.0.tar.gz", "w:gz") as source:
        setup = wheels / "setup.py"
        setup.write_text("raise SystemExit('built')")
        source.add(setup, "built_words-1.0/setup.py")
    with pytest.raises(PackageError, match="would have to be built"):
        await environments.plan(["built-words"])


async def test_an_index_that_is_down_is_said(environments: Environments, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in OFFLINE:
        monkeypatch.delenv(name)
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    with pytest.raises(PackageIndexError, match="index cannot be reached"):
        await environments.plan(["loud-words"])


async def test_a_module_name_is_its_package(environments: Environments, wheels: Path) -> None:
    write_wheel(wheels, "beautifulsoup4", files={"bs4.py": ""})
    assert (await environments.plan(["bs4"])).wanted == ("beautifulsoup4",)


async def test_what_a_killed_build_left_is_built_anew(environments: Environments) -> None:
    plan = await environments.plan(["loud-words"])
    environments.allow(plan)
    left = environments.make_built_folder() / plan.lock.id
    (left / "packages").mkdir(parents=True)
    place = await environments.ready(["loud-words"])
    assert place.parent == left
    assert (place / "loud_words.py").exists()


async def test_a_wheel_with_another_hash_is_refused_and_leaves_nothing(environments: Environments) -> None:
    environments.allow(await environments.plan(["loud-words"]))
    [lock] = (environments.folder / "locks").glob("*.toml")
    lock.write_text(re.sub(r'sha256 = "[^"]*"', f'sha256 = "{"0" * 64}"', lock.read_text()))
    with pytest.raises(UserError, match="cannot be fetched"):
        await environments.ready(["loud-words"])
    assert list(environments.make_built_folder().iterdir()) == []


async def test_unused_environments_are_removed(environments: Environments) -> None:
    environments.allow(await environments.plan(["loud-words"]))
    place = await environments.ready(["loud-words"])
    assert await environments.remove_unused(days=1) == []
    assert [*(environments.folder / "cache").rglob("*.whl"), *(environments.folder / "cache").rglob("*.py")] == []
    assert (place / "loud_words.py").exists()  # what was built does not need what was fetched
    assert await environments.remove_unused(days=0) == [place.parent]
    assert (await environments.ready(["loud-words"])).exists()


async def test_a_call_imports_what_was_built_and_nothing_of_it_runs_outside(
    environments: Environments, wheels: Path, tmp_path: Path
) -> None:
    mark = tmp_path / "ran"
    evil = f"open({str(mark)!r}, 'w').close()\n"
    write_wheel(
        wheels,
        "loud-words",
        "2.0",
        files={
            "loud_words.py": "import os\nPID = os.getpid()\ndef shout(text):\n    return text.upper()\n",
            "evil.pth": f"import os; {evil}",
            "sitecustomize.py": evil,
            "usercustomize.py": evil,
        },
    )
    environments.allow(await environments.plan(["loud-words>=2"]))
    sandbox = await open_sandbox(environments=environments)
    try:
        source = "import loud_words\ndef f(text: str) -> str:\n    return loud_words.shout(text)\n"
        job = Job(source, "f", {"text": "hey"}, packages=("loud-words>=2",), limits=Limits(wall_seconds=30))
        outcome = await sandbox.run(job)
        assert (outcome.value, outcome.problem) == ("HEY", None)
        assert not mark.exists()
        where = "import os, loud_words\ndef f() -> bool:\n    return loud_words.PID == os.getpid()\n"
        own = await sandbox.run(Job(where, "f", packages=("loud-words>=2",), limits=Limits(wall_seconds=30)))
        assert own.value is True, "its code ran in the interpreter that calls are forked from"
        without = await sandbox.run(Job(source, "f", {"text": "hey"}))
        assert "No module named 'loud_words'" in str(without.problem)
        denied = await sandbox.run(Job("def f() -> int:\n    return 1\n", "f", packages=("shouting",)))
        assert denied.problem is not None
        assert denied.problem.message == "the user has not allowed shouting"
        session = sandbox.session(read=[environments.make_built_folder()])
        session.import_from(await environments.ready(["loud-words>=2"]))
        shown = await session.run("import loud_words\nloud_words.shout('ho')", limits=Limits(wall_seconds=30))
        assert (shown.value, shown.problem) == ("'HO'", None)
        await session.aclose()
    finally:
        await sandbox.aclose()


async def test_of_many_calls_none_pays_for_loading_a_package(environments: Environments, wheels: Path) -> None:
    busy = "import time\nwhile time.process_time() < 1:\n    pass\ndef shout(text):\n    return text.upper()\n"
    write_wheel(wheels, "loud-words", "5.0", files={"loud_words.py": busy})
    environments.allow(await environments.plan(["loud-words>=5"]))
    sandbox = await open_sandbox(environments=environments)
    try:
        source = "def f(text: str) -> str:\n    import loud_words\n    return loud_words.shout(text)\n"
        calls = ({"text": "a"}, {"text": "b"})
        outcome = await sandbox.run(Job(source, "f", packages=("loud-words>=5",), calls=calls, call_seconds=0.5))
        assert [one.value if one else None for one in outcomes(outcome, 2)] == ["A", "B"]
    finally:
        await sandbox.aclose()


@pytest.mark.parametrize("backend", ["bubblewrap", "sandlock"])
async def test_what_the_interpreter_tries_to_import_is_not_looked_for_in_packages(
    environments: Environments, wheels: Path, tmp_path: Path, backend: str
) -> None:
    mark = tmp_path / "ran"
    evil = f"import os\nPID = os.getpid()\ntry:\n    open({str(mark)!r}, 'w').close()\nexcept OSError:\n    pass\n"
    evil += "class PyStringMap:\n    copy = None\n"
    files = {"loud_words.py": "", "sandlock.py": evil, "sandlock/__init__.py": evil, "numpy/__init__.py": evil}
    files |= {"org/__init__.py": "", "org/python/__init__.py": "", "org/python/core.py": evil}  # `copy` imports it
    write_wheel(wheels, "loud-words", "3.0", files=files)
    environments.allow(await environments.plan(["loud-words>=3"]))
    try:
        sandbox = await open_sandbox(backend=backend, environments=environments)
    except IsolationError as error:
        pytest.skip(str(error))
    try:
        source = "import sys, loud_words\ndef f() -> list:\n    return sorted({'org', 'sandlock'} & {*sys.modules})\n"
        job = Job(source, "f", packages=("loud-words>=3",), limits=Limits(wall_seconds=30))
        outcome = await sandbox.run(job)
        assert (outcome.value, outcome.problem) == ([], None)
        assert not mark.exists()
    finally:
        await sandbox.aclose()


async def test_no_package_takes_the_place_of_a_module_of_python(environments: Environments, wheels: Path) -> None:
    write_wheel(wheels, "loud-words", "4.0", files=dict.fromkeys(("loud_words.py", "wave.py", "yaml.py"), "MINE = 1\n"))
    environments.allow(await environments.plan(["loud-words>=4"]))
    sandbox = await open_sandbox(environments=environments)
    code = "import loud_words, wave, yaml\n[hasattr(one, 'MINE') for one in (loud_words, wave, yaml)]"
    tool = "import loud_words, wave\ndef f() -> list:\n    return [hasattr(x, 'MINE') for x in (loud_words, wave)]\n"
    try:
        session = sandbox.session(read=[environments.make_built_folder()])
        session.import_from(await environments.ready(["loud-words>=4"]))
        shown = await session.run(code, limits=Limits(wall_seconds=30))
        assert (shown.value, shown.problem) == ("[True, False, True]", None)
        await session.aclose()
        outcome = await sandbox.run(Job(tool, "f", packages=("loud-words>=4",), limits=Limits(wall_seconds=30)))
        assert (outcome.value, outcome.problem) == ([True, False], None)
    finally:
        await sandbox.aclose()


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "x = [",
        lambda text: "packages = [1]",
        lambda text: text.replace("name =", "nome ="),
    ],
    ids=["no TOML", "other form", "no name"],
)
async def test_a_damaged_lock_is_made_anew(environments: Environments, change: Callable[[str], str]) -> None:
    environments.allow(await environments.plan(["loud-words"]))
    (file,) = (environments.folder / "locks").iterdir()
    whole = file.read_text()
    file.write_text(change(whole))
    assert (await environments.ready(["loud-words"]) / "loud_words.py").exists()
    assert file.read_text() == whole


async def test_an_environment_that_is_half_removed_is_built_anew(environments: Environments) -> None:
    environments.allow(await environments.plan(["loud-words"]))
    place = await environments.ready(["loud-words"])
    (place / "loud_words.py").unlink()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shutil.rmtree", lambda *_, **__: None)  # as if it was killed here
        await environments.remove_unused(days=0)
    assert (await environments.ready(["loud-words"]) / "loud_words.py").exists()


def test_a_requirement_keeps_its_extras_and_versions() -> None:
    assert normalised("Scikit_Learn >= 1") == "scikit-learn>=1"
    assert normalised("qrcode [PIL] >=7, <8") == "qrcode[pil]>=7,<8"
