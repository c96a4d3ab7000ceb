"""A hub with synthetic questions, and no token but those that a test gives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.bench import Bench
from support.benchmarks import answers, asked
from support.course_server import CourseServer
from support.gaia_records import record
from support.hub_server import HubServer
from support.openai_server import OpenAIServer


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[HubServer]:
    """A hub with a validation and a test split."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "no-token"))
    with HubServer() as server:
        rows = [record("a1", 1), record("b2", 2, file_name="b2.txt"), record("c3", 3)]
        server.add_table("2023/validation/metadata.parquet", rows)
        server.add_table("2023/validation/metadata.level2.parquet", rows[1:2])
        server.files["2023/validation/b2.txt"] = b"card b2"
        server.files["2023/test/d4.txt"] = b"card d4"
        server.add_table(
            "2023/test/metadata.parquet",
            [record("0-0-0-0-0", answer="?"), record("d4", answer="?", file_name="d4.txt")],
        )
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


@pytest.fixture
def course() -> Iterator[CourseServer]:
    """The course's server."""
    with CourseServer() as server:
        yield server


@pytest.fixture
def bench(tmp_path: Path, openai_server: OpenAIServer) -> Bench:
    """Four questions, which are answered right."""
    openai_server.default = lambda body: answers(asked(body))
    return Bench(tmp_path, openai_server.url, 4)
