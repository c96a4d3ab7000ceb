"""P7: a benchmark on a Ray cluster, two nodes with one worker each against one, with a model that takes 500 ms.

    python benchmarks/scale.py [--json] [--questions 40]

The cluster runs on this machine; each node has its own processes and its own home. The runner of `alita gaia --executor
ray` asks one node, then both nodes, the same questions. Wall time runs from the start of the first question to the last
line in the ledger, without connecting to the nodes and checking them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import gaia_runner
from table import as_text, ratio_at_least

DELAY = 0.5


def asked(url: str, address: str, folder: Path, count: int, nodes: int) -> dict[str, Any]:
    """Run the benchmark on the cluster from this process."""
    os.environ["ALITA_HOME"] = str(folder / "home")
    from agent.configuration.settings_sources import read_settings
    from agent.gaia.attachments import usual_attachments
    from agent.gaia.configuration import RunOptions, with_limit
    from agent.gaia.dataset import load_jsonl
    from agent.gaia.progress import Display
    from agent.gaia.runner import Benchmark

    settings = with_limit(read_settings({"model": "m", "base_url": url, "use_cache": False}))
    dataset = load_jsonl(gaia_runner.question_file(folder, count))
    options = RunOptions(output=folder / f"{nodes}.json", executor="ray", ray_address=address)
    outcome = asyncio.run(Benchmark(options, dataset, settings, usual_attachments(settings), Display()).run())
    return {"wall": outcome.wall, "right": sum(attempt.correct is True for attempt in outcome.attempts)}


def in_a_process(*arguments: object) -> dict[str, Any]:
    """Return the figures that a new process measured."""
    command = [sys.executable, __file__, "--part", "asked", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{arguments[-1]} nodes failed:\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def figures(count: int) -> dict[str, Any]:
    """Measure one node, then two nodes of the same cluster."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster

    server = subprocess.Popen([sys.executable, __file__, "--part", "serve"], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    url = f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
    cluster = Cluster()
    try:
        with tempfile.TemporaryDirectory() as name:
            folder, found = Path(name), {}
            for nodes in (1, 2):
                cluster.add_node(
                    num_cpus=1, include_dashboard=False, env_vars={"ALITA_HOME": str(folder / f"node-{nodes}")}
                )
                found[str(nodes)] = in_a_process(url, cluster.address, folder, count, nodes)
    finally:
        cluster.shutdown()
        server.kill()
        server.wait()
    return found


def main() -> int:
    if "--part" in sys.argv:
        what, *arguments = sys.argv[sys.argv.index("--part") + 1 :]
        if what == "serve":
            gaia_runner.DELAY = DELAY
            asyncio.run(gaia_runner.serve())
        else:
            url, address, folder, count, nodes = arguments
            print(json.dumps(asked(url, address, Path(folder), int(count), int(nodes))))
        return 0
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--questions", type=int, default=40)
    options = parser.parse_args()
    found = figures(options.questions)
    one, two = (options.questions / found[nodes]["wall"] for nodes in ("1", "2"))
    rows = [ratio_at_least("P7", "questions a second on 2 nodes × 1 worker, against 1 × 1", two, one, 1.8)]
    print(json.dumps({**found, "rows": [row._asdict() for row in rows]}) if options.json else as_text(rows))
    return 0 if all(part["right"] == options.questions for part in found.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
