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
from agent.configuration.settings_sources import read_settings
from mcp_tools.serving.http import listen_options

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--http", required=True, metavar="HOST:PORT")
    parser.add_argument("--no-token", action="store_true", help="always so")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="alita-") as folder, conformance_library(Path(folder)) as library:
        listen = listen_options(arguments.http, token="", token_file=None, no_token=True, host_names=())
        run(read_settings(), "all", listen, Own(library, conformance_extra()))
