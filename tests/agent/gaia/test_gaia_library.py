"""The tool library of a benchmark: one grows over the run unless another mode is named, and a resumed run keeps it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from agent.gaia.ledger import read_ledger
from support.benchmarks import answers, asked, called, question_file
from support.command import Terminal
from support.openai_server import OpenAIServer, Step

CODE = '''def scaled(n: int) -> int:
    """Multiply a number by FACTOR and add one.

    Args:
        n: Any integer that is to be multiplied.

    Returns:
        The product plus one.

    >>> scaled(2)
    EXAMPLE
    """
    return n * FACTOR + 1
'''


def reply(body: dict[str, Any]) -> Step:
    """A tool of the same name for each question, each with another factor; the examiner's tests of it."""
    if not body.get("tools"):
        factor = int(re.findall(r"number by (\d+)", json.dumps(body["messages"]))[-1])
        tests = [
            {"call": f"scaled(n={n})", "because": "plus one", "result": str(n * factor + 1)} for n in (1, 5, 8, -4)
        ]
        return Step(text=json.dumps({"tests": tests}))
    if body["messages"][-1]["role"] == "tool":
        return answers(asked(body))
    factor = 70 + int(asked(body))
    code = CODE.replace("FACTOR", str(factor)).replace("EXAMPLE", str(2 * factor + 1))
    return Step(tools=[("create_tool", {"code": code, "arguments": {"n": int(asked(body)) + 30}})])


def test_questions_that_run_at_once_grow_one_library(tmp_path: Path, openai_server: OpenAIServer) -> None:
    openai_server.default = reply
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
    assert 'library: "warm", now "cold"' in other.err.replace("\n", " ")
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
