"""`python src/gaia_benchmark.py questions.jsonl`: the GAIA benchmark."""

from __future__ import annotations

import sys


def main() -> int:
    """Says that the runner is not part of this version."""
    print("gaia-benchmark: the benchmark runner is not part of this version of alita yet.", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
