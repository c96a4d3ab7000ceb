"""Connects to a Ray cluster and checks its nodes before the first question."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent import alita_version
from agent.errors import RunError, UsageError
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from agent.configuration.settings import Settings

_REACH_SECONDS = 5.0
_SETTINGS = bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""The first HTTP/2 frame of each side; its fourth byte is the type. Ray speaks HTTP/2."""
_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + _SETTINGS
_FRAME = len(_SETTINGS)
_CHECK_SECONDS = 120.0
"""Time limit for checking a node, which has to start a worker and import alita."""
_INSTALL = "Install it with pip install 'alita[ray]'."
_NODE_PACKAGES = (
    "Install the same version of alita on each node, with the same extras and `ray`, and start Ray with that Python."
)


def require_ray() -> None:
    """Check that Ray can be imported.

    Raises:
        UsageError: Ray is not installed.
    """
    try:
        import ray  # noqa: F401 - checks that it is installed
    except ImportError as problem:
        raise UsageError(f"--executor ray needs Ray, which cannot be imported: {problem}.", remedy=_INSTALL) from None


@contextlib.contextmanager
def private_ray_folder() -> Iterator[str]:
    """Yield a private folder for a local Ray.

    Anyone who can reach Ray's sockets or read its token can run code as this user. By default, Ray keeps its sockets in
    a folder that every user may change, and a token that every user may read.
    """
    home = Path.home() / ".ray"
    with contextlib.suppress(OSError):
        home.mkdir(mode=0o700)
    with contextlib.suppress(OSError):
        (home / "auth_token").chmod(0o600)
    with tempfile.TemporaryDirectory(prefix="alita-ray-", ignore_cleanup_errors=True) as folder:
        yield f"{folder}/ray"  # a subfolder, because Ray makes its own folder accessible to everyone


def connect(address: str, cpus: int, folder: str) -> None:
    """Connect this process to a cluster, or start Ray on this machine.

    Args:
        address: HOST:PORT of the cluster's head; `auto` for a cluster on this machine; empty to start Ray here.
        cpus: Questions to run in parallel if Ray is started here.
        folder: Ray's folder if it is started here; see `private_ray_folder`.

    Raises:
        UsageError: The address is invalid.
        RunError: Nothing answers at the address, or the cluster cannot be used.
    """
    import ray

    if address and address != "auto":
        _require_reachable(address)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    logging.getLogger("ray").setLevel(logging.ERROR)
    own: dict[str, Any] = {"address": address}
    if not address:
        own = {"num_cpus": cpus, "include_dashboard": False, "_temp_dir": folder}
    try:
        with _outside_the_project():
            ray.init(
                **({"address": "local"} | own),
                log_to_driver=False,
                configure_logging=False,
                logging_level=logging.ERROR,
            )
    except (Exception, SystemExit) as problem:  # noqa: BLE001 - Ray names its errors RuntimeError, ValueError, Exception
        where = f"The Ray cluster at {address}" if address else "Ray on this machine"
        raise RunError(
            f"{where} cannot be used: {one_line(str(problem), 400)}.",
            remedy="Run the benchmark on a machine of the cluster (ray start --address=HEAD:PORT), with the cluster's "
            "versions of Ray and Python."
            if address
            else "Run without Ray: --executor local",
        ) from None


def _require_reachable(address: str) -> None:
    host, _, port = address.rpartition(":")
    if "://" in address or not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise UsageError(
            f"--ray-address {one_line(address, 80)!r} does not have the form HOST:PORT.",
            remedy="Give the address of the head node, such as 10.0.0.1:6379, or auto.",
        )
    reply = b""
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=_REACH_SECONDS) as link:
            if os.environ.get("RAY_USE_TLS", "0") in ("", "0"):
                link.sendall(_GREETING)
                reply = link.recv(_FRAME, socket.MSG_WAITALL)
            else:
                reply = _SETTINGS
    except TimeoutError:
        pass
    except OSError as problem:
        raise RunError(
            f"Cannot connect to the Ray address {address}: {problem.strerror or problem}.",
            remedy="Start the cluster (ray start --head), or correct --ray-address.",
        ) from None
    if reply[3:4] != _SETTINGS[3:4]:  # otherwise Ray would retry for minutes
        raise RunError(
            f"The server at {address} is not a Ray cluster.",
            remedy="Use the port that `ray start --head` printed (usually 6379).",
        )


@contextlib.contextmanager
def _outside_the_project() -> Iterator[None]:
    """Leave the current folder while Ray starts, because its workers would import untrusted project files from it."""
    before = Path.cwd()
    os.chdir("/")
    try:
        yield
    finally:
        os.chdir(before)


def check_nodes(settings: Settings) -> int:
    """Check that every node can answer questions in the same way as this machine.

    Args:
        settings: The settings of the questions.

    Returns:
        The number of CPUs in the cluster, which is the number of questions to run in parallel.

    Raises:
        RunError: A node lacks alita or a key, or has a different version of alita, or no node has a CPU.
    """
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    from agent.gaia.cluster.worker import code_hash, keys_of, portable

    nodes = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU", 0) >= 1]
    if not nodes:
        raise RunError(
            "No node of the Ray cluster has a CPU that can run questions.",
            remedy="Add a node: ray start --address=HEAD:PORT --num-cpus=N",
        )
    probe = ray.remote(num_cpus=0, max_retries=1)(_probe())
    values = portable(settings)
    asked = {}
    for node in nodes:
        pinned = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        asked[probe.options(scheduling_strategy=pinned).remote(values, list(sys.version_info[:2]))] = node
    ready, late = ray.wait([*asked], num_returns=len(asked), timeout=_CHECK_SECONDS)
    problems = [f"{_label(asked[one])} did not answer within {_CHECK_SECONDS:.0f} s" for one in late]
    for one in ready:
        label = _label(asked[one])
        try:
            found = ray.get(one)
        except ray.exceptions.RayError as problem:
            problems.append(f"{label} cannot run tasks: {one_line(str(problem), 300)}")
            continue
        if why := found.get("problem"):
            problems.append(f"{label} cannot run alita: {why}")
            continue
        if found["alita"] != alita_version() or found["code"] != code_hash():
            own = f"this machine has alita {alita_version()}"
            problems.append(f"{label} has alita {found['alita']} with different code; {own}")
        if missing := sorted(keys_of(settings) - found["keys"]):
            problems.append(
                f"{label} lacks {', '.join(missing)}, which this machine has (keys are not sent to nodes: set it "
                "there with "
                "`alita keys set`, or in the environment of `ray start`)"
            )
    if problems:
        raise RunError(f"The Ray cluster cannot run these questions: {'; '.join(problems)}.", remedy=_NODE_PACKAGES)
    return int(sum(node["Resources"]["CPU"] for node in nodes))


def _probe() -> Callable[..., dict[str, Any]]:
    """Return a task that works on nodes without alita: it is sent by value and imports alita only when it runs."""

    def probe(values: dict[str, Any], python: list[int]) -> dict[str, Any]:
        import os
        import sys

        os.chdir("/")
        try:
            if list(sys.version_info[:2]) != python:
                return {"problem": f"it has Python {sys.version_info[0]}.{sys.version_info[1]}"}
            from agent.gaia.cluster.worker import describe

            return describe(values)
        except Exception as problem:  # noqa: BLE001 - an ImportError, or invalid settings on the node
            return {"problem": f"{type(problem).__name__}: {problem}"}

    return probe


def _label(node: dict[str, Any]) -> str:
    return f"node {node['NodeManagerAddress']} ({node['NodeID'][:8]})"
