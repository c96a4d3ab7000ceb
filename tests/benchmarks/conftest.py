"""Put the folder of the benchmarks on the path, since they are scripts and not a package."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
