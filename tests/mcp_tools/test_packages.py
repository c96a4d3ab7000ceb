"""Packages reach the calls that import them, and no others."""

from pathlib import Path

import openpyxl
import pytest

from mcp_tools.packages import BASE_PACKAGES, FILE_PACKAGES, file_packages, import_name, imported, installed, needed
from mcp_tools.run import run_source, run_tool
from mcp_tools.sandbox import open_sandbox
from mcp_tools.tool import Tool

SUM = '''
def total(path: str, column: str) -> float:
    """Sum of a column."""
    import openpyxl

    rows = list(openpyxl.load_workbook(path).active.values)
    return float(sum(row[rows[0].index(column)] for row in rows[1:]))
'''


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("x = 1", ()),
        ("import pandas as pd", ("pandas",)),
        ("from PIL import Image", ("pillow",)),
        ("import pandas as pd\npd.read_excel(p)", ("pandas", "openpyxl", "python-calamine")),
        ("import numpy", ()),
        ("not python (", ()),
    ],
)
def test_only_what_is_imported_is_given(source, found):
    assert imported(source, FILE_PACKAGES) == found
    assert imported(source, ()) == ()


def test_a_requirement_is_known_by_its_name():
    assert imported("import numpy as np", ("numpy>=2", "pandas")) == ("numpy>=2",)


def test_the_packages_for_files_are_installed_here():
    assert file_packages() == FILE_PACKAGES


@pytest.mark.parametrize(
    ("declared", "sources", "found"),
    [
        ((), ["x = 1"], ()),
        ((), ["import numpy as np"], ("numpy",)),
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
    documented = (Path(__file__).parents[2] / "docs" / "tools.md").read_text("utf-8")
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
