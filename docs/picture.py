"""Draws docs/terminal.svg from a real session: `make picture`. It needs tmux.

The session is typed into a terminal, a tool is written, seen and kept, and a second question uses it; what then stands
on the screen is the picture. Unless another model is named, docs/picture.jsonl holds what the model says, so that the
picture can be drawn again; everything else, the proof, the sandbox and the library, is at work as always.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from agent.configuration.settings_sources import read_settings

DOCS = Path(__file__).parent
STORY = "picture.jsonl"
sys.path.insert(0, str(DOCS.parent / "tests"))

from support.tmux import Terminal  # noqa: E402 - tests are no package

COLUMNS, ROWS = 92, 60
QUESTIONS = ("What is the 57th Fibonacci number?", "And the 90th?")
PATIENCE = 60.0
_HUES = [(224, 108, 117), (152, 195, 121), (229, 192, 123), (97, 175, 239), (198, 120, 221), (86, 182, 194)]
THEME = TerminalTheme(
    (24, 26, 31),
    (205, 208, 214),
    [(60, 64, 72), *_HUES, (205, 208, 214)],
    [(110, 116, 128), *_HUES, (255, 255, 255)],
)


def session(model: str | None) -> str:
    """What stands on the screen after both questions, with its colours."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "generated_tools").mkdir()
        shutil.copy(DOCS / STORY, folder)
        command = [str(Path(sys.executable).with_name("alita")), "--model", model or f"scripted:{STORY}"]
        kept = {name: os.environ[name] for name in ("PATH", "OPENAI_API_KEY", "OPENAI_BASE_URL") if name in os.environ}
        home = {"ALITA_HOME": str(folder / "home"), "ALITA_MODELS_DIR": str(read_settings().models_dir)}
        variables = {"LANG": "C.UTF-8", "TERM": "screen-256color", **kept, **home}
        with Terminal(folder, command, variables, columns=COLUMNS, rows=ROWS) as terminal:
            terminal.wait_for("alita (ask) ›")
            terminal.enter(QUESTIONS[0])
            terminal.wait_for("Keep this tool?", patience=PATIENCE)
            terminal.press("y")
            terminal.wait_for("1 turn ·", patience=PATIENCE)
            terminal.enter(QUESTIONS[1])
            terminal.wait_for("2 turns ·", patience=PATIENCE)
            return terminal.screen(colour=True)


def drawn(screen: str) -> str:
    """The screen as SVG, without the empty rows above the status line and without fonts from elsewhere."""
    rows = re.sub(r"\n{3,}", "\n\n", screen.rstrip()).split("\n")
    console = Console(record=True, width=COLUMNS, file=Path("/dev/null").open("w"), force_terminal=True)  # noqa: SIM115
    for row in rows:
        console.print(Text.from_ansi(row), soft_wrap=True)
    svg = console.export_svg(title="alita", theme=THEME)
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)


def main() -> int:
    """Draws the picture."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", help="the model that is asked; docs/picture.jsonl if not given")
    options = parser.parse_args()
    target = DOCS / "terminal.svg"
    target.write_text(drawn(session(options.model)), encoding="utf-8")
    print(f"written: {target.relative_to(Path.cwd())}" if target.is_relative_to(Path.cwd()) else f"written: {target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
