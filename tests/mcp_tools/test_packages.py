"""Packages reach the calls that import them, and no others."""

import pytest

from mcp_tools.packages import FILE_PACKAGES, file_packages, imported
from mcp_tools.run import run_source, run_tool
from mcp_tools.sandbox import open_sandbox
from mcp_tools.tool import Tool

SUM = '''
def total(path: str, column: str) -> float:
    """Sum of a column."""
    import pandas as pd

    return float(pd.read_csv(path)[column].sum())
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


async def test_a_source_that_reads_may_import_pandas_and_one_that_does_not_may_not(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n3,4\n")
    sandbox = await open_sandbox()
    try:
        outcome = await run_source(SUM, {"path": str(path), "column": "b"}, sandbox, read=[path])
        assert outcome.value == 6
        form = {"type": "object", "properties": {}}
        bare = Tool("total", "", form, {"type": "object"}, SUM, provenance={"capabilities": {"read": True}})
        outcome = await run_tool(bare, {"path": str(path), "column": "b"}, sandbox, read=[path])
        assert outcome.problem is not None
        assert "pandas" in outcome.problem.message
    finally:
        await sandbox.aclose()
