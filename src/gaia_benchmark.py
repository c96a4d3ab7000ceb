"""The GAIA benchmark as a script: `python src/gaia_benchmark.py questions.jsonl`. The same as `alita gaia`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_CHECKOUT = Path(__file__).resolve().parents[1]


def main() -> int:
    """Run the benchmark. If packages are missing, restart it with the checkout's own interpreter."""
    try:
        import typer  # noqa: F401 - checks that it is installed
    except ModuleNotFoundError:
        return _elsewhere()
    from agent.cli.main import main_of

    main_of("gaia", "gaia-benchmark")
    return 0


def _elsewhere() -> int:
    """Restart in the environment that `make` created in the checkout."""
    interpreter = _CHECKOUT / ".venv" / "bin" / "python"
    if interpreter.exists() and Path(sys.prefix).resolve() != interpreter.parents[1].resolve():
        os.execv(interpreter, [str(interpreter), __file__, *sys.argv[1:]])  # noqa: S606 - our own interpreter
    print("gaia-benchmark: the packages that it needs are not installed.", file=sys.stderr)
    print(f"       Install them with: python -m pip install {_CHECKOUT}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
