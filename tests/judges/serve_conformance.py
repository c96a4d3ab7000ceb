"""`alita serve --http HOST:PORT` with what the MCP conformance suite asks for by name, in place of the user's tools.

python tests/judges/serve_conformance.py --http 127.0.0.1:8765
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from conformance_extra import conformance_extra
from conformance_tools import conformance_library

from agent.cli.verbs.serve import Own, run

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--http", required=True, metavar="HOST:PORT")
    parser.add_argument("--no-token", action="store_true", help="always so")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="alita-") as folder, conformance_library(Path(folder)) as library:
        run({}, Own(library, conformance_extra()), http=arguments.http, no_token=True)
