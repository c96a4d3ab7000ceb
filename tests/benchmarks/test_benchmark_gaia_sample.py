"""What the benchmark of the sample set keeps, counts and starts; the models themselves are measured, not tested."""

import asyncio
import json
import sys
from dataclasses import asdict, replace
from pathlib import Path
from urllib.parse import urlsplit

import gaia_sample
import pytest
from gaia_sample import Finished, Measured, attempt_of, chosen, line_of, measured, table

from agent.models.embedded.local_server import ServerFiles
from agent.models.scripted import ScriptedModel

ROWS = {row["task_id"]: row for row in gaia_sample.questions()}
RIGHT = Measured("alita", "digit-sum", 1, "dev", True, 10.0, "360", tokens=100)


def test_without_a_part_all_questions_but_those_for_the_web_are_asked():
    asked = chosen(list(ROWS.values()), None, None)
    parts = gaia_sample.parts_of_split()
    assert {parts[row["task_id"]] for row in asked} == {"dev", "test"}
    assert len(asked) + len(chosen(list(ROWS.values()), None, "web")) == len(ROWS)
    assert [row["task_id"] for row in chosen(list(ROWS.values()), "digit-sum,bird-count", None)] == [
        "bird-count",
        "digit-sum",
    ]


async def test_the_model_alone_sees_the_text_of_the_file_and_its_last_line_counts():
    model = ScriptedModel(["FINAL ANSWER: 1\nNo.\nFINAL ANSWER: 15"])
    row = ROWS["library-loans"]
    assert (await gaia_sample.ask_alone(row, model))["answer"] == "15"
    prompt = str(model.requests)
    assert "loan_id" in prompt
    assert row["Question"] in prompt
    assert len(prompt) < gaia_sample.FITS + 2_000
    assert "Count those" not in prompt  # the steps


def test_every_answer_is_brought_into_form_and_scored_alike():
    right = line_of("alone", ROWS["orchard-harvest"], "test", {"answer": "**1683**"}, 1.234)
    assert (right.right, right.answer, right.seconds, right.level) == (True, "1683", 1.23, 1)
    assert not line_of("alone", ROWS["orchard-harvest"], "test", {"answer": ""}, 1).right


def test_the_last_attempt_of_the_ledger_counts(tmp_path):
    ledger = tmp_path / "x.ledger.jsonl"
    nothing = Finished(2, "", "Traceback\nno such model\n")
    assert attempt_of(ledger, nothing)["status"] == "no attempt: no such model"
    attempt = {"kind": "attempt", "answer": "4", "status": "error", "input_tokens": 1, "output_tokens": 2}
    lines = [{"kind": "header"}, attempt, attempt | {"answer": "5", "status": "ok"}]
    ledger.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert attempt_of(ledger, nothing) == {"answer": "5", "status": "ok", "tokens": 3}


async def test_a_process_that_hangs_is_killed_with_its_children(tmp_path):
    source = (
        "import subprocess, sys, time\n"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(2); open(\"alive\", \"w\")'])\n"
        "time.sleep(60)"
    )
    done = await gaia_sample._finished([sys.executable, "-c", source], b"", 1.0, tmp_path)
    assert done.code is None
    await asyncio.sleep(2.2)
    assert not (tmp_path / "alive").exists()


async def test_what_a_process_says_last_tells_why_it_broke():
    done = await gaia_sample._finished([sys.executable, "-c", "import sys; sys.exit('no server')"], b"", 30)
    assert (done.code, done.complaint) == (1, "no server")


def test_a_torn_line_is_measured_again(tmp_path):
    out = tmp_path / "out.jsonl"
    line = json.dumps(asdict(RIGHT))
    out.write_text(f"{line}\n{line[:30]}", encoding="utf-8")
    assert measured(out) == [RIGHT]
    assert measured(tmp_path / "none.jsonl") == []


async def test_what_is_measured_is_not_asked_again(tmp_path, monkeypatch):
    """Nothing is left to ask: no model is opened, whose weights are not even there."""
    out = tmp_path / "out.jsonl"
    out.write_text(json.dumps(asdict(RIGHT)) + "\n", encoding="utf-8")
    monkeypatch.setattr(gaia_sample, "ask_alita", None)
    await gaia_sample.measure([ROWS["digit-sum"]], ["alita"], out, 1.0)
    assert measured(out) == [RIGHT]


def test_a_question_for_the_web_counts_apart_and_what_broke_is_wrong():
    lines = [
        RIGHT,
        replace(RIGHT, id="bird-count", part="test", right=False, status="timeout", answer=""),
        replace(RIGHT, id="two-proposals", level=2, part="web"),
        replace(RIGHT, arm="alone", right=False),
    ]
    head, alita, alone = table(lines)
    told = dict(zip(head, alita, strict=True))
    assert (told["without web"], told["level 1"], told["level 2"], told["web"]) == (
        "1 of 2",
        "1 of 2",
        "0 of 0",
        "1 of 1",
    )
    assert (told["test"], told["dev"], told["too long or broke"], told["95 %"]) == (
        "0 of 1",
        "1 of 1",
        "1",
        "9% to 91%",
    )
    assert alone[:2] == ["alone", "0 of 1"]


def test_the_code_agent_is_given_imports_that_this_installation_has():
    pytest.importorskip("smolagents", reason="group bench")
    import gaia_sample_smolagents as peer

    assert "pandas" in peer.IMPORTS
    assert not {"os", "subprocess", "sys"} & set(peer.IMPORTS)
    text = peer.read_file(str(Path(gaia_sample.SAMPLE) / "library-loans.csv"))
    assert "loan_id" in text
    assert peer.read_file("/nowhere.csv")


class Found:
    """A server of the model that is there already."""

    def __init__(self, port, folder):
        self.port, self.token = port, "token"
        self.files = ServerFiles(folder / "server")

    async def find(self):
        return self


async def test_the_code_agent_reads_a_copy_of_the_file_in_a_process_of_its_own(openai_server, tmp_path):
    pytest.importorskip("smolagents", reason="group bench")
    program = (
        "import pandas\nloans = pandas.read_csv('library-loans.csv')\nshown = read_file('library-loans.csv')\n"
        "lines = len(open('library-loans.csv').readlines())\n"
        "final_answer(f'{len(loans)} {lines} {\"loan_id\" in shown}')"
    )
    openai_server.answer(f"Thought: I count.\n<code>\n{program}\n</code>")
    server = Found(urlsplit(openai_server.url).port, tmp_path)
    found = await gaia_sample.ask_smolagents(ROWS["library-loans"], server, 50)
    assert found["answer"] == "140 141 True"
    assert found["steps"] == 1
    assert found["tokens"] > 0
