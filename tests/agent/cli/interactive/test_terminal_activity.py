"""The live line: what it says."""

import pytest

from agent import events as e
from agent.cli import turn
from agent.models.protocol import Usage

STORY: list[e.Event] = [
    e.RunStarted("r", "q", "m"),
    e.StepStarted(2, 12, "create_tool", "because"),
    e.ModelCalled("writer", "m", Usage(12_000, 345, 0, 1, 0.0123), 1.0),
]


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The clock."""
    seconds = [0.0]
    monkeypatch.setattr(turn.time, "monotonic", lambda: seconds[0])
    return seconds


def seen(events: list[e.Event]) -> turn.Activity:
    activity = turn.Activity()
    for event in events:
        activity.see(event)
    return activity


def test_it_says_step_route_time_tokens_and_cost(now: list[float]) -> None:
    activity = seen(STORY)
    now[0] = 75.0
    said = activity.text(100)
    assert said == "step 2/12 · create_tool · 1 min 15 s · 12.3k tokens · $0.0123 · Ctrl-C stops"
    unknown = e.ModelCalled("writer", "m", Usage(1, 1, 0, 1, None), 1.0)
    assert "cost unknown" in seen([*STORY, unknown]).text(100)


@pytest.mark.parametrize("width", [20, 57, 100])
def test_it_never_is_wider_than_it_may_be_and_keeps_the_step(now: list[float], width: int) -> None:
    long = e.SpecWritten("a_function_with_a_very_long_name_that_goes_on_and_on(n: int) -> int", "x")
    said = seen([*STORY, long]).text(width)
    assert len(said) <= width
    assert said.startswith("step 2/12")


def test_a_download_shows_its_size_and_the_time_left_at_80_columns(now: list[float]) -> None:
    activity = seen([e.ModelStarting("fetching the model", 0.41, "of 1.1 GB, 2 min left")])
    now[0] = 174.0
    assert activity.text(73) == "fetching the model 41% of 1.1 GB, 2 min left · 2 min 54 s · Ctrl-C stops"
    activity.see(e.Note("loading the embedded model"))
    assert activity.text(73) == "thinking · 2 min 54 s · Ctrl-C stops"


def test_once_a_step_is_done_the_model_is_awaited(now: list[float]) -> None:
    begun = e.StepStarted(3, 12, "run_code", "")
    read = e.ToolCalled("read", preview="page")
    assert "run_code" in seen([begun, read]).text(100)
    assert "thinking" in seen([begun, read, e.ToolCalled("program", preview="4")]).text(100)


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (e.ModelStarting("fetching", 0.25), "fetching 25%"),
        (e.SpecWritten("area\x1b[2J(r: float) -> float", ""), "writing area"),
        (e.TrialFinished(True, "1"), "create_tool, proving the tool"),
    ],
)
def test_it_says_what_is_done_now(now: list[float], event: e.Event, said: str) -> None:
    assert said in seen([*STORY, event]).text(100)
