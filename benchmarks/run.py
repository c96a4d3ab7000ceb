"""Run all benchmarks, and print one table of figures with their baselines. `make bench` calls this.

    python benchmarks/run.py                       # speed; a few minutes
    python benchmarks/run.py --json bench.json     # also write the figures to a file
    python benchmarks/run.py --with-model          # also the benchmarks that need the configured model; hours

The benchmarks run one at a time, each in its own process. The machine should be idle; its load at the start and at the
end is printed with the figures.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from machine import REFERENCE_MS, bare_python_ms
from table import Figure, as_text, at_most, ratio_at_most

HERE = Path(__file__).parent
Result = dict[str, Any]


def own_rows(result: Result) -> list[Figure]:
    """Return the figures of a benchmark that already reports rows."""
    return [Figure(**row) for row in result["rows"]]


def sandbox_rows(result: Result) -> list[Figure]:
    """P10: sandbox calls, compared with a new interpreter in bubblewrap for each call."""
    from sandbox import TARGETS, is_met, shown_target

    return [
        Figure(
            "P10",
            f"{words}, {unit}",
            result[name],
            result["bwrap_python_ms"] if name == "stdlib_ms" else None,
            shown_target(name),
            is_met(name, result[name]),
        )
        for name, (words, unit, _, _) in TARGETS.items()
    ]


def library_rows(result: Result) -> list[Figure]:
    """Search in the library, compared with one pass over all descriptions."""
    rows = []
    for row in result["rows"]:
        size, p50 = row["tools"], row["search_p50_ms"]
        rows.append(Figure("", f"search among {size:,} tools, ms", p50, row["scan_p50_ms"]))
    few, many = result["rows"][0], result["rows"][-1]
    beside = f"with {many['tools']:,} tools, beside {few['tools']:,}"
    for name, words, limit in (("request_bytes", "request, bytes", 1.1), ("run_ms", "a run, ms", 1.2)):
        rows.append(ratio_at_most("P8", f"{words}, {beside}", many[name], few[name], limit))
    more = max(0.0, many["start_ms"] - few["start_ms"])
    return [*rows, at_most("P8", f"start, more ms {beside}", more, 200)]


BENCHMARKS: dict[str, Callable[[Result], list[Figure]]] = {
    "overhead": own_rows,
    "startup": own_rows,
    "store": own_rows,
    "proof": own_rows,
    "sandbox": sandbox_rows,
    "library": library_rows,
    "serving": own_rows,
    "replicas": own_rows,
    "files": own_rows,
    "gaia_runner": own_rows,
    "scale": own_rows,
    "kills": own_rows,
    "reader": own_rows,
    "browser": own_rows,
    "page": own_rows,
}
WITH_MODEL = ("routing", "accuracy")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures into a file too")
    parser.add_argument("--with-model", action="store_true", help="measure what needs the model too; hours")
    parser.add_argument("--only", metavar="NAMES", help=f"some of {', '.join(BENCHMARKS)}, separated by commas")
    options = parser.parse_args()
    names = options.only.split(",") if options.only else list(BENCHMARKS)
    if unknown := set(names) - set(BENCHMARKS):
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are: {', '.join(BENCHMARKS)}")
    loads = [os.getloadavg()[0]]
    results = {name: measured(name) for name in names}
    loads.append(os.getloadavg()[0])
    figures = [figure for name, result in results.items() if result for figure in BENCHMARKS[name](result)]
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    print(as_text(figures))
    print(f"\n{machine}; load {loads[0]:.1f} before, {loads[1]:.1f} after")
    print(
        f"a bare interpreter starts in {bare_python_ms():.1f} ms;"
        f" where the targets of time were set, it did in {REFERENCE_MS}"
    )
    if options.json:
        told = {"machine": machine, "load": loads, "rows": [figure._asdict() for figure in figures], "results": results}
        options.json.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    failed = [name for name, result in results.items() if result is None]
    if options.with_model:
        failed += [name for name in WITH_MODEL if not shown(name)]
    for figure in figures:
        if figure.met is False:
            print(f"target missed: {figure.id} {figure.name}")
    for name in failed:
        print(f"failed: {name}")
    return 1 if failed else 0


def measured(name: str) -> Result | None:
    """Run one benchmark and return its result. If it fails, print its output and return None."""
    print(f"measuring: {name} …", file=sys.stderr, flush=True)
    done = subprocess.run([sys.executable, str(HERE / f"{name}.py"), "--json"], stdout=subprocess.PIPE, text=True)
    try:
        result: Result = json.loads(done.stdout)
    except ValueError:
        print(f"{name}.py ended with status {done.returncode} and no figures", file=sys.stderr)
        return None
    return result


def shown(name: str) -> bool:
    """Run a benchmark of the model, which prints its own table. Returns True if it succeeds."""
    print(f"\n{name}, with the configured model; this takes long\n", flush=True)
    return subprocess.run([sys.executable, str(HERE / f"{name}.py")]).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
