"""The tool library of a benchmark: one grows over the run unless another mode is named, and a resumed run keeps it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agent.gaia.ledger import read_ledger
from support.benchmarks import answers, asked, called, creating, question_file
from support.command import Terminal
from support.openai_server import OpenAIServer


def test_questions_that_run_at_once_grow_one_library(tmp_path: Path, openai_server: OpenAIServer) -> None:
    openai_server.default = creating
    base = [question_file(tmp_path, 4), "--output", "o.json", "--concurrency", 4]
    ended = called(*base, folder=tmp_path, url=openai_server.url)
    assert ended.code == 0, ended.err
    records = read_ledger(tmp_path / "o.ledger.jsonl")
    created = sorted(name for attempt in records.attempts for name in attempt.tools_created)
    assert created == ["scaled", "scaled_2", "scaled_3", "scaled_4"], ended.err
    assert sorted(path.stem for path in (tmp_path / "o.tools").glob("*.py")) == created
    assert len({path.read_text() for path in (tmp_path / "o.tools").glob("*.py")}) == 4
    assert not (tmp_path / "home" / "data" / "tools").exists()

    other = called(*base, "--resume", "--library", "cold", folder=tmp_path, url=openai_server.url)
    assert 'library was "warm", and is now "cold"' in other.err.replace("\n", " ")
    assert other.code != 0
    assert called(*base, "--resume", folder=tmp_path, url=openai_server.url).code == 0


@pytest.mark.parametrize(("flags", "mode"), [([], "warm"), (["--library", "cold"], "cold")])
def test_a_resumed_run_keeps_its_mode_and_the_report_names_it(
    tmp_path: Path, openai_server: OpenAIServer, flags: list[str], mode: str
) -> None:
    openai_server.default = lambda body: answers(asked(body))
    base = [question_file(tmp_path, 2), "--output", "o.json"]
    assert called(*base, *flags, "--max-questions", 1, folder=tmp_path, url=openai_server.url).code == 0
    assert called(*base, "--resume", folder=tmp_path, url=openai_server.url).code == 0
    records = read_ledger(tmp_path / "o.ledger.jsonl")
    assert (len(records.attempts), records.header and records.header.configuration["library"]) == (2, mode)
    for form, said in (("terminal", rf"library +{mode}: "), ("json", f'"library": "{mode}"'), ("html", f"{mode}: ")):
        arguments = ("report", "o.json", "--format", form, "--output", f"report.{form}")
        assert Terminal(tmp_path, tmp_path).call("gaia", *arguments).code == 0
        assert re.search(said, (tmp_path / f"report.{form}").read_text()), form
