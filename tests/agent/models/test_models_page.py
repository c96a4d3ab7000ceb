"""docs/models.md says what is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agent.models.protocol import ROLES
from agent.models.scripted import _ERRORS, _LINE, Script, ScriptedModel

PAGE = Path(__file__).parents[3] / "docs" / "models.md"


@pytest.fixture
def page() -> str:
    return PAGE.read_text()


def test_every_role_error_and_field_of_scripts_is_on_the_page(page: str) -> None:
    for name in (*ROLES, *_ERRORS, *_LINE["properties"].keys() - {"message"}):
        assert f"`{name}`" in page, name


def test_the_script_on_the_page_is_a_script(page: str, tmp_path: Path) -> None:
    match = re.search(r"```json\n(.*?)```", page, re.DOTALL)
    assert match is not None
    path = tmp_path / "script"
    path.write_text(match[1])
    assert ScriptedModel(Script.read(path)).name == f"scripted:{path}"
