"""The JSON of answers and events."""

import json
from dataclasses import replace

from agent.answer import Answer, Citation
from agent.events import ModelCalled, RunFinished, ToolCalled
from agent.models.protocol import Usage

ANSWER = Answer(
    "365435296162",
    "answered",
    ("fibonacci",),
    ("fibonacci",),
    3,
    Usage(10, 5, 0, 2, None),
    1.23456,
    "id",
    "m",
    sources=(Citation(1, "https://a.example/", "A", "It says so."),),
    plans=({"steps": ["look"]},),
)


def test_an_answer_survives_json_and_an_unknown_price_is_null():
    data = json.loads(json.dumps(ANSWER.as_json()))
    assert data["cost"] is None
    assert data["schema"] == 1
    assert Answer.from_json(data) == replace(ANSWER, seconds=1.235)


def test_an_event_is_one_json_line_that_names_its_kind():
    event = ToolCalled("fibonacci", {"n": 57}, True, "365435296162", 0.002)
    assert json.loads(json.dumps(event.as_json()))["event"] == "tool_called"
    assert ModelCalled("writer", "m", Usage(1, 2), 0.5).as_json()["usage"]["output_tokens"] == 2


def test_the_last_event_is_the_answer_object():
    line = RunFinished(ANSWER).as_json()
    assert line.pop("event") == "run_finished"
    assert line == ANSWER.as_json()
