"""The sample set: its folder, its rows, and its maker as a module."""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "gaia_files" / "sample"


@pytest.fixture(scope="session")
def sample() -> Path:
    """The folder of the set."""
    return FOLDER


@pytest.fixture(scope="session")
def rows() -> list[dict[str, Any]]:
    """The questions, as committed."""
    return [json.loads(line) for line in (FOLDER / "questions.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="session")
def make() -> ModuleType:
    """`make.py`, loaded once: each import enters its questions."""
    spec = importlib.util.spec_from_file_location("make_sample", FOLDER / "make.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["make_sample"] = module
    spec.loader.exec_module(module)
    return module
