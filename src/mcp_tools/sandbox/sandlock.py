"""The second back end, for machines that forbid namespaces: sandlock around the warm interpreter, no root needed.

What is left open: the metadata of files (names, sizes, times) can be seen, though no content.
"""

from __future__ import annotations

import importlib.util
import os
import tempfile
from pathlib import Path

from mcp_tools.errors import IsolationError
from mcp_tools.sandbox.environment import DEVICES, VARIABLES, Environment, GrantError
from mcp_tools.sandbox.protocol import Isolation, Level
from mcp_tools.sandbox.users import is_machine_root, reachable_by_all, unprivileged_users
from mcp_tools.sandbox.warm import WarmSandbox
from mcp_tools.sandbox.zygote import SCRATCHES, Ready, Settings, Zygote

# Runs in the fresh interpreter: sandlock is imported from where it is installed, and forgotten again.
_CONFINE = """
sys.path.append({folder!r})
import sandlock
sandlock.confine(sandlock.Sandbox(fs_readable={readable!r}, fs_writable={writable!r}))
sys.path.remove({folder!r})
for name in [name for name in sys.modules if name.split('.')[0] == 'sandlock']: del sys.modules[name]
"""


def _installed() -> Path:
    """The folder of the package.

    Raises:
        IsolationError: It is not installed.
    """
    spec = importlib.util.find_spec("sandlock")
    if spec is None or spec.origin is None:
        raise IsolationError("sandlock is not installed", remedy="pip install sandlock")
    return Path(spec.origin).parent


class SandlockSandbox(WarmSandbox):
    """Level medium: Landlock around the interpreter, and limits, Landlock and seccomp in each child."""

    def _create(self, environment: Environment) -> Zygote:
        folder = _installed()
        scratch = tempfile.mkdtemp(prefix="alita-sandbox-")
        root = os.geteuid() == 0
        settings = Settings(
            environment=environment,
            scratch=(scratch,) * SCRATCHES,
            layers=("landlock", "seccomp"),
            deny_metadata=True,
            user=unprivileged_users() if root else None,
            user_is_private=root,
            before=_CONFINE.format(
                folder=str(folder.parent),
                readable=[*environment.readable, *environment.found.folders, str(folder), "/proc"],
                writable=[scratch, *DEVICES],
            ),
        )
        return Zygote(lambda command: command, settings, dict(VARIABLES))

    def _check(self, environment: Environment) -> None:
        super()._check(environment)
        if os.geteuid() != 0:
            return
        for grant in environment.read:
            if not reachable_by_all(Path(grant.real)):
                raise GrantError(
                    f"{grant.path!r} cannot be read by the unprivileged user as whom tools run here: move it to where "
                    "every user may read, or run alita as its owner"
                )

    def _judge(self, ready: Ready) -> Isolation:
        if ready.faults:
            raise IsolationError(f"a layer of the sandbox failed: {'; '.join(ready.faults)}")
        if ready.root and is_machine_root():
            raise IsolationError("the interpreter is still root", remedy="run alita as an ordinary user")
        layers = ("sandlock", *ready.layers, "supervisor")
        return Isolation(level=Level.MEDIUM, backend="sandlock", layers=layers)
