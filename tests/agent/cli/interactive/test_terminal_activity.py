"""The live line: what it says, and how it is drawn over."""

import io

import pytest

from agent import events as e
from agent.cli.screens.moving import LiveLine
from agent.cli.screens.turn import Activity
from agent.models.protocol import Usage

STORY: list[e.Event] = [
    e.RunStarted("r", "q", "m"),
    e.StepStarted(2, 12, "create_tool", "because"),
    e.ModelCalled("writer", "m", Usage(12_000, 345, 0, 1, 0.0123), 1.0),
]


def seen(events: list[e.Event], seconds: float = 0.0) -> Activity:
    times = iter([0.0])
    activity = Activity(lambda: next(times, seconds))
    for event in events:
        activity.see(event)
    return activity


def test_it_says_step_route_time_tokens_and_cost() -> None:
    said = seen(STORY, 75).text(100)
    assert said == "step 2/12 · create_tool · 1 min 15 s · 12.3k tokens · $0.0123 · Ctrl-C stops"


def test_an_unknown_price_is_told_as_unknown() -> None:
    unknown = e.ModelCalled("writer", "m", Usage(1, 1, 0, 1, None), 1.0)
    assert "cost unknown" in seen([*STORY, unknown]).text(100)


@pytest.mark.parametrize("width", [20, 30, 40, 57, 60, 100])
def test_it_never_is_wider_than_it_may_be_and_keeps_the_step(width: int) -> None:
    long = e.SpecWritten("def a_function_with_a_very_long_name_that_goes_on_and_on(n: int) -> int:", "x")
    said = seen([*STORY, long], 3000).text(width)
    assert len(said) <= width
    assert said.startswith("step 2/12")


def test_at_62_columns_everything_is_there() -> None:
    said = seen(STORY, 3000).text(62)
    assert said == "step 2/12 · create_tool · 50 min 0 s · 12.3k tokens · $0.0123"


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (e.ModelStarting("fetching", 0.25), "fetching 25%"),
        (e.SpecWritten("def area\x1b[2J(r: float) -> float:", ""), "writing area"),
        (e.TrialFinished(3, True, "1"), "create_tool, candidate 3"),
    ],
)
def test_it_says_what_is_done_now(event: e.Event, said: str) -> None:
    assert said in seen([*STORY, event]).text(100)


def drawn(width: int) -> tuple[LiveLine, io.StringIO]:
    stream = io.StringIO()
    return LiveLine(stream, lambda: width), stream


def test_it_is_removed_from_where_it_began() -> None:
    live, stream = drawn(40)
    live.draw("working")
    live.clear()
    assert stream.getvalue().endswith("working\r\x1b[J")
    before = stream.getvalue()
    live.clear()
    assert stream.getvalue() == before


def test_it_stays_within_one_row() -> None:
    live, stream = drawn(20)
    live.draw("x" * 100)
    live.draw("日本" * 50)
    from rich.cells import cell_len

    for row in stream.getvalue().split("\r\x1b[J"):
        assert cell_len(row) < 20


def test_after_the_window_became_narrower_all_of_its_rows_are_removed() -> None:
    stream = io.StringIO()
    width = [80]
    live = LiveLine(stream, lambda: width[0])
    live.draw("x" * 70)
    width[0] = 30
    live.clear()
    assert stream.getvalue().endswith("\r\x1b[2A\x1b[J")


def test_rows_above_it_are_removed_with_it() -> None:
    live, stream = drawn(40)
    live.draw("working", ["  \x1b[1mone\x1b[0m", "  two"])
    live.clear()
    assert stream.getvalue().endswith("\r\x1b[2A\x1b[J")
