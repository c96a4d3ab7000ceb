"""A user's small repository, with a relative import and a data file, and a tool around it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support.fibonacci import Line, decide

TASK = "How thick is a hypodermic needle of gauge 21, in millimetres?"
FILES = {
    "pyproject.toml": '[project]\nname = "gauge"\nversion = "0.3.1"\ndependencies = []\n',
    "setup.py": "raise SystemExit('nobody runs this')\n",
    "conftest.py": "raise SystemExit('nobody runs this')\n",
    "tests/test_gauge.py": "import gauge\n",
    "src/gauge/__init__.py": '"""Gauges in millimetres."""\n\nfrom .needle import needle_diameter\n',
    "src/gauge/needle.py": '''"""Medical needles."""

import csv
from importlib.resources import files

from ._rounding import rounded


def needle_diameter(gauge: int) -> float:
    """Return the outer diameter of a hypodermic needle in millimetres."""
    with (files("gauge") / "data" / "needles.csv").open() as table:
        for row in csv.DictReader(table):
            if int(row["gauge"]) == gauge:
                return rounded(float(row["mm"]))
    raise ValueError(f"no needle has the gauge {gauge}")
''',
    "src/gauge/_rounding.py": "def rounded(number):\n    return round(number, 4)\n",
    "src/gauge/data/needles.csv": "gauge,mm\n18,1.27\n21,0.82\n23,0.64\n25,0.51\n27,0.41\n",
}
CODE = '''from gauge import needle_diameter


def hypodermic_needle_diameter(gauge: int) -> float:
    """Look up the outer diameter of a hypodermic needle.

    Args:
        gauge: Its gauge: 18, 21, 23, 25 or 27.

    Returns:
        The diameter in millimetres, above 0.

    Raises:
        ValueError: There is no such needle.

    >>> hypodermic_needle_diameter(18)
    1.27
    >>> hypodermic_needle_diameter(27)
    0.41
    """
    return needle_diameter(gauge)
'''
TESTS = {
    "tests": [
        {"call": f"hypodermic_needle_diameter({gauge})", "because": "the table", "result": result}
        for gauge, result in ((18, "1.27"), (21, "0.82"), (23, "0.64"), (25, "0.51"), (26, "error"))
    ]
}
NAME, CALL = "hypodermic_needle_diameter", {"gauge": 21}


def write_repository(folder: Path, **changed: str) -> Path:
    """Write the repository; `changed` replaces the text of some files."""
    for name, text in {**FILES, **changed}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def made_by(code: str = CODE, arguments: dict[str, Any] | None = None, tests: Any = None) -> list[Line]:
    """Return the script of a model that proposes a tool first, and of its examiner."""
    proposal = decide("create_tool", code=code, arguments=arguments or CALL, final_answer="{}")
    return [proposal, {"role": "examiner", "text": json.dumps(tests or TESTS), "repeat": True}]
