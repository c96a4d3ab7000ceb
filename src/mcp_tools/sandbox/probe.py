"""What this machine offers for isolation, found by trying each mechanism in a throw-away process."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mcp_tools.errors import IsolationError

_TRIAL_SECONDS = 10.0

# Runs in a fresh interpreter; what it prints is the error.
_TRIALS = {
    "user namespaces": """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
if libc.unshare(0x10000000) != 0: print(os.strerror(ctypes.get_errno()))
""",
    "landlock": """
from inside.confinement import Confinement
c = Confinement([], [], ["landlock"], metadata=False, capped=False)
if not c.errors: c.enter("/tmp")
print(c.errors.get("landlock") or "".join(c.gaps()))
""",
    "seccomp": """
from inside.confinement import Confinement
c = Confinement([], [], ["seccomp"], metadata=True, capped=False)
if not c.errors: c.filter()
print(c.errors.get("seccomp") or ", ".join(c.gaps()))
""",
}
_REMEDIES = {
    "landlock": "a kernel of 5.13 or later with `landlock` in its lsm= list; in a container, its seccomp profile",
    "seccomp": "a kernel with CONFIG_SECCOMP_FILTER, on x86_64 or aarch64",
    "sandlock": "Linux 6.7 or later with Landlock",
}


@dataclass(frozen=True, slots=True)
class Mechanism:
    """One thing that isolation is made of."""

    name: str
    works: bool
    detail: str
    """What was found, or the exact error."""
    remedy: str = ""
    """What to do where it does not work."""


async def probe() -> list[Mechanism]:
    """Tries the kernel's mechanisms and each back end. Never raises for what it finds."""
    import asyncio

    trials = [_tried(name, source) for name, source in _TRIALS.items()]
    backends = [_opened(name) for name in ("bubblewrap", "sandlock")]
    return list(await asyncio.gather(*trials, *backends))


async def _tried(name: str, source: str) -> Mechanism:
    import asyncio

    from mcp_tools import child
    from mcp_tools.sandbox.environment import inside_source
    from mcp_tools.sandbox.inside.confinement import landlock_abi

    start = f"import sys; sys.path.insert(0, {str(Path(inside_source()).parent)!r})\n{source}"
    command = [child.executable(), "-I", "-S", "-c", start]
    process = await child.start(command, env={}, stdout=child.PIPE, stderr=child.PIPE)
    try:
        output, errors = await asyncio.wait_for(process.communicate(), _TRIAL_SECONDS)
    except TimeoutError:
        process.kill()
        await process.wait()
        return Mechanism(name, False, f"no answer within {_TRIAL_SECONDS:.0f} s")
    said = output.decode(errors="replace").strip()
    if process.returncode != 0 and not said:
        said = (errors.decode(errors="replace").strip().splitlines() or [f"status {process.returncode}"])[-1]
    if said:
        return Mechanism(name, False, said, _remedy(name, said))
    return Mechanism(name, True, f"version {landlock_abi()} of the interface" if name == "landlock" else "works")


async def _opened(name: str) -> Mechanism:
    from mcp_tools.sandbox.backends import create

    sandbox = create(name)
    try:
        await sandbox.open()
    except IsolationError as error:
        return Mechanism(name, False, error.message, error.remedy or _remedy(name, error.message))
    isolation = sandbox.isolation
    await sandbox.aclose()
    return Mechanism(name, True, f"level {isolation.level}: {', '.join(isolation.layers)}")


def _remedy(name: str, said: str) -> str:
    if name in _REMEDIES:
        return _REMEDIES[name]
    for setting, restricts, remedy in (
        ("apparmor_restrict_unprivileged_userns", "1", "AppArmor restricts user namespaces: sudo sysctl {}=0"),
        ("unprivileged_userns_clone", "0", "user namespaces are switched off: sudo sysctl {}=1"),
    ):
        try:
            if Path(f"/proc/sys/kernel/{setting}").read_text().strip() == restricts:
                return remedy.format(f"kernel.{setting}")
        except OSError:
            continue
    if Path("/.dockerenv").exists():
        return "the container forbids namespaces: docker run --security-opt seccomp=unconfined, or use sandlock"
    if "No space left" in said:
        return "no further user namespace is allowed here: sudo sysctl user.max_user_namespaces=15000"
    return "allow user namespaces on this machine, or install sandlock"
