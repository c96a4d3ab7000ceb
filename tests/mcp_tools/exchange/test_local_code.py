"""The user's own code is packed into a wheel; unsuitable code and foreign wheels are refused."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_tools.environments.lock import PackageError
from mcp_tools.environments.store import Environments
from mcp_tools.environments.wrapped import is_wrapped, wheel_name
from mcp_tools.errors import UsageError
from mcp_tools.exchange import local_code
from mcp_tools.exchange.local_code import read_code, verified_wheel
from support.gauge import FILES, write_repository

Change = Callable[[Path], object]


def write(folder: Path, name: str, text: str | bytes = "x = 1\n") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_a_repository_brings_its_modules_and_their_data_alone(tmp_path: Path) -> None:
    repository = write_repository(tmp_path / "needles")
    write(repository, "src/gauge/__pycache__/needle.cpython-311.pyc", b"\0")
    write(repository, "src/gauge/.env", "KEY=secret")
    write(repository, "src/gauge/tests/test_x.py")
    write(repository, "src/gauge/first.pth", "import os; os.abort()")
    code = read_code(repository)
    assert sorted(code.files) == sorted(name.removeprefix("src/") for name in FILES if name.startswith("src/"))
    assert (code.name, code.version, code.requires, code.modules) == ("gauge", "0.3.1", (), ("gauge",))
    assert is_wrapped(code.requirement)
    assert code.wheel() == read_code(repository).wheel()
    write(repository, "src/gauge/data/needles.csv", "gauge,mm\n18,1.28\n")
    assert read_code(repository).requirement != code.requirement


@pytest.mark.parametrize(
    ("files", "path", "name", "version", "requires", "modules"),
    [
        ({"roman.py": "import six\n"}, "roman.py", "roman", "0", ("six",), ("roman",)),
        ({"pkg/__init__.py": "", "pkg/a/b.py": "import numpy, attr_x\n"}, "pkg", "pkg", "0", ("numpy",), ("pkg",)),
        (
            {
                "core/__init__.py": "import helper",
                "helper.py": "import six",
                "other.py": "",
                "setup.py": "",
                "test_a.py": "",
                "docs/conf.py": "",
                "x/y.py": "",
            },
            "",
            "core",
            "0",
            ("six",),
            ("core", "helper"),
        ),
        (
            {
                "pyproject.toml": '[project]\nname = "My.Tool"\nversion = "1!2.0-beta"\ndependencies = ["Six >= 1 ; '
                'python_version > \'3\'", "gone; sys_platform == \'win32\'", "requests[socks]~=2.0"]',
                "other/__init__.py": "",
                "other/more.py": "",
                "my_tool/__init__.py": "",
            },
            "",
            "my-tool",
            "2.0b0",
            ("six>=1", "requests[socks]~=2.0"),
            ("my_tool",),
        ),
        ({"pkg/__init__.py": "import _near", "_near.py": ""}, "pkg/x/..", "pkg", "0", (), ("pkg", "_near")),
        ({"pkg/__init__.py": ""}, "pkg/__init__.py", "pkg", "0", (), ("pkg",)),
        ({"stdnum/__init__.py": ""}, "stdnum", "python-stdnum", "0", (), ("stdnum",)),
    ],
    ids=["module", "package", "flat", "project", "dots", "init", "known module"],
)
def test_name_version_and_needs_are_read_from_the_files(
    tmp_path: Path,
    files: dict[str, str],
    path: str,
    name: str,
    version: str,
    requires: tuple[str, ...],
    modules: tuple[str, ...],
) -> None:
    for file, text in files.items():
        write(tmp_path / "here", file, text)
    code = read_code(tmp_path / "here" / path)
    assert (code.name, code.version, code.requires, code.modules) == (name, version, requires, modules)


def linked(folder: Path) -> None:
    (folder / "pyproject.toml").unlink()
    (folder / "pyproject.toml").symlink_to("/etc/passwd")


def shadowing(folder: Path) -> None:
    write(folder, "src/numpy/__init__.py")
    write(folder, "src/gauge/more.py", "import numpy\n")


def ambiguous(folder: Path) -> None:
    (folder / "src").rename(folder / "other")
    for name in ("one.py", "two.py"):
        write(folder, name)


def large(folder: Path) -> None:
    for number in range(6):
        with write(folder, f"src/gauge/data/{number}.bin", b"").open("r+b") as file:
            file.truncate(3_500_000)


def enormous(folder: Path) -> None:
    with write(folder, "src/gauge/data/video.bin", b"").open("r+b") as file:
        file.truncate(2_000_000_000)  # of which nothing is on the disk


def many(folder: Path) -> None:
    for number in range(60):
        write(folder, f"src/gauge/data/{number}.txt")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda here: write(here, "src/gauge/fast.pyx"), "gauge/fast.pyx has to be built"),
        (lambda here: write(here, "src/gauge/_fast.cpython-311-x86_64-linux-gnu.so"), "has to be built"),
        (lambda here: (here / "src/gauge/key").symlink_to("/etc/passwd"), "gauge/key is a link"),
        (lambda here: (here / "src/gauge/more").symlink_to("/etc"), "gauge/more is a link"),
        (lambda here: (here / "src/linked.py").symlink_to("/etc/passwd"), "linked.py is a link"),
        (lambda here: os.mkfifo(here / "src/gauge/pipe"), "gauge/pipe is not a regular file"),
        (lambda here: write(here, "src/gauge/a\u202eb.py"), "contains forbidden characters"),
        (lambda here: write(here, "src/gauge/a\nb.py"), "contains forbidden characters"),
        (lambda here: write(here, "src/gauge/" + "d/" * 14 + "a.py"), "is too long or is nested too deeply"),
        (lambda here: write(here, "pyproject.toml", "[project"), "its pyproject.toml cannot be read"),
        (
            lambda here: write(here, "pyproject.toml", '[project]\ndependencies=["a @ file:///etc"]'),
            "its dependency 'a @",
        ),
        (lambda here: write(here, "pyproject.toml", '[project]\ndependencies=["-r x"]'), "its dependency '-r x'"),
        (lambda here: write(here, "pyproject.toml", "[project]\ndependencies=[[1]]"), "its dependency '[1]'"),
        (linked, "is a link"),
        (shadowing, "Python or alita already has a module named numpy"),
        (lambda here: write(here, "src/gauge/a.py", "import near") and (here / "src/near.py").symlink_to("x"), "link"),
        (ambiguous, "contains several modules: one.py, two.py"),
        (lambda here: (here / "src/gauge/needle.py").chmod(0), "Permission denied"),
        (large, "exceed 16 MB"),
        (enormous, "video.bin has 2,000,000,000 bytes"),
        (many, "contains more than 50 files"),
    ],
)
def test_what_is_no_plain_python_is_refused_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Change, reason: str
) -> None:
    monkeypatch.setattr(local_code, "MAX_CODE_FILES", 50)
    if reason == "Permission denied" and os.geteuid() == 0:
        pytest.skip("root may read all files")
    change(write_repository(tmp_path / "needles"))
    with pytest.raises(UsageError) as refused:
        read_code(tmp_path / "needles")
    assert reason in str(refused.value)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("empty", "contains a Python package or module"),
        ("note.txt", "it is not a Python file"),
        ("try.py", "'try' is not a valid module name"),
        ("a-b.py", "'a-b' is not a valid module name"),
        ("linked", "it is a link"),
        ("pipe", "neither a file nor a folder"),
        ("gone", "No such file"),
        ("os.py", "Python or alita already has a module named os"),
    ],
)
def test_a_path_that_is_no_code_is_refused(tmp_path: Path, name: str, reason: str) -> None:
    write(tmp_path, "empty/README.md")
    for file in ("note.txt", "a-b.py", "os.py", "try.py"):
        write(tmp_path, file)
    (tmp_path / "linked").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match=reason):
        read_code(tmp_path / name)


def test_a_wheel_from_elsewhere_is_taken_only_if_it_is_what_its_name_says(tmp_path: Path) -> None:
    code = read_code(write_repository(tmp_path / "needles"))
    wheel = code.wheel()
    assert verified_wheel(wheel, code.requirement) == wheel

    def changed(**files: bytes) -> bytes:
        made = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(wheel)) as old, zipfile.ZipFile(made, "w") as new:
            kept = {name: old.read(name) for name in old.namelist()}
            for name, content in {**kept, **files}.items():
                new.writestr(name, content)
        return made.getvalue()

    about = wheel_name(code.requirement).removesuffix("-py3-none-any.whl") + ".dist-info"
    attacks = [
        changed(**{"gauge/needle.py": b"import os"}),
        changed(**{"gauge/more.py": b""}),
        changed(**{"evil.pth": b"import os"}),
        changed(**{"gauge-0.data/scripts/x": b""}),
        changed(**{"../x.py": b""}),
        changed(**{f"{about}/METADATA": b"Name: gauge\nVersion: 0.3.1\nRequires-Dist: a @ http://h/a.whl\n"}),
        changed(**{f"{about}/top_level.txt": b"gauge\nnumpy"}),
        wheel[:-30],
        b"",
        b"PK\x03\x04",
    ]
    for attack in attacks:
        with pytest.raises(UsageError):
            verified_wheel(attack, code.requirement)
    # its record is ignored, and written anew
    assert (
        verified_wheel(changed(**{f"{about}/RECORD": b"x", f"{about}/entry_points.txt": b"x"}), code.requirement)
        == wheel
    )


def test_a_wheel_that_names_an_address_is_refused_although_its_name_fits(tmp_path: Path) -> None:
    for need in ("a @ http://h/a.whl", "Six >=1", "-r x"):
        code = local_code.LocalCode("gauge", "1", (need,), ("gauge",), {"gauge.py": b""})
        with pytest.raises(UsageError, match="not given by name and version"):
            verified_wheel(code.wheel(), code.requirement)


async def test_code_that_is_not_here_and_its_needs_are_told_before_anything_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_OFFLINE", "1")
    environments = Environments(tmp_path / "environments", lambda _: None)
    code = read_code(write(tmp_path, "gauge.py", "import six\n"))
    with pytest.raises(PackageError, match="is not on this machine"):
        await environments.ready([code.requirement])
    unknown = local_code.LocalCode("gauge", "1", ("made-up-name-x",), ("gauge",), {"gauge.py": b""})
    environments.wrapped.keep(unknown.requirement, unknown.wheel())
    with pytest.raises(PackageError, match="the user has not allowed made-up-name-x"):
        await environments.ready([unknown.requirement])
    assert environments.unknown([unknown.requirement]) == ("made-up-name-x",)
