"""Packages reach the calls that import them, and no others."""

import json
import re
from pathlib import Path

import openpyxl
import pytest

from mcp_tools.checks.header import with_header
from mcp_tools.packages import (
    BASE_PACKAGES,
    FILE_PACKAGES,
    import_name,
    installed,
    needed,
)
from mcp_tools.run import run_source, run_tool
from mcp_tools.sandbox.backends import open_sandbox
from mcp_tools.sandbox.environment import Environment
from mcp_tools.tool import Capabilities, Tool

SUM = '''
def total(path: str, column: str) -> float:
    """Sum of a column."""
    import openpyxl

    rows = list(openpyxl.load_workbook(path).active.values)
    return float(sum(row[rows[0].index(column)] for row in rows[1:]))
'''


@pytest.mark.parametrize(
    ("source", "listed"),
    [
        ("x = 1\n", None),
        ("import numpy as np\nimport pandas\n", ["numpy", "pandas"]),
        ("from yaml import safe_load\nimport dateutil.parser\n", ["python-dateutil", "pyyaml"]),
        ("import pandas as pd\npd.read_excel(p)\n", ["pandas", "openpyxl", "python-calamine"]),
        ('# /// script\n# dependencies = ["numpy==2.0"]\n# ///\nimport numpy, yaml\n', ["numpy", "pyyaml"]),
    ],
)
def test_a_header_names_what_a_source_imports(source, listed):
    whole = with_header(source, Capabilities(packages=FILE_PACKAGES))
    if listed is None:
        assert whole == source
        return
    (dependencies,) = re.findall(r"^# dependencies = (.*)$", whole, re.MULTILINE)
    assert json.loads(dependencies) == listed
    assert whole.count("# ///") == 2
    assert whole.endswith(source.splitlines(keepends=True)[-1])
    assert with_header(whole, Capabilities(packages=FILE_PACKAGES)) == whole


@pytest.mark.parametrize(
    ("declared", "sources", "found"),
    [
        ((), ["x = 1"], ()),
        ((), ["x = 1", "from dateutil.parser import parse"], ("python-dateutil",)),
        ((), ["import numpy as np", "import pandas as pd"], ("pandas",)),
        (("openpyxl",), ["import yaml"], ("openpyxl", "pyyaml")),
        ((), ["'numpy' in a text"], ()),
        ((), ["import numpy ("], ()),
    ],
)
def test_base_packages_are_there_for_who_imports_them(declared, sources, found):
    assert needed(declared, sources) == found


def test_the_base_packages_are_installed_and_documented():
    assert installed(BASE_PACKAGES) == BASE_PACKAGES
    documented = (Path(__file__).parents[2] / "docs" / "sandbox.md").read_text("utf-8")
    assert all(f"`{import_name(name)}`" in documented for name in BASE_PACKAGES)


async def test_a_source_that_reads_may_import_packages_for_files_and_one_that_does_not_may_not(tmp_path):
    path = tmp_path / "t.xlsx"
    book = openpyxl.Workbook()
    for row in (("a", "b"), (1, 2), (3, 4)):
        book.active.append(row)
    book.save(path)
    sandbox = await open_sandbox()
    try:
        outcome = await run_source(SUM, {"path": str(path), "column": "b"}, sandbox, read=[path])
        assert outcome.value == 6
        form = {"type": "object", "properties": {}}
        bare = Tool("total", "", form, {"type": "object"}, SUM, provenance={"capabilities": {"read": True}})
        outcome = await run_tool(bare, {"path": str(path), "column": "b"}, sandbox, read=[path])
        assert outcome.problem is not None
        assert "openpyxl" in outcome.problem.message
    finally:
        await sandbox.aclose()


def test_what_a_package_requires_can_be_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    about = tmp_path / "tabular-1.dist-info" / "METADATA"
    about.parent.mkdir()
    about.write_text(
        "Metadata-Version: 2.1\nName: tabular\nVersion: 1\nRequires-Dist: NumExpr (>=2)\n"
        "Requires-Dist: pyarrow; extra == 'arrow'\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert Environment(packages=("pandas",)).absent == ("bottleneck", "numexpr", "pyarrow")
    assert Environment(packages=("pandas", "tabular")).absent == ("bottleneck", "pyarrow")
    assert Environment(packages=("no-such-distribution", "pyarrow")).absent == ("bottleneck", "numexpr")
