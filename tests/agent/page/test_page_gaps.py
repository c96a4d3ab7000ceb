"""Gap records as the page lists and marks them."""

from __future__ import annotations

from contextlib import closing

import pytest

from agent.configuration.settings_sources import read_settings
from agent.learning.gap_records import GapRecord, GapRecords
from agent.page import gaps_tab as gaps

ATTACK = "<img src=x onerror=alert(1)>"


@pytest.mark.parametrize("status", ["approved", "rejected"])
def test_a_record_is_listed_shown_and_marked_and_nothing_in_it_is_markup(status: str) -> None:
    settings = read_settings({})
    assert gaps.found(settings) == ([], "There are no gap records. A benchmark with learning writes them.")
    with closing(GapRecords(settings)) as records:
        kept = records.add(GapRecord("table", f"two tables {ATTACK}", "takes the first", "read both"))
    ((label, found),), _ = gaps.found(settings)
    assert (label, found) == ("new · table · takes the first", kept.id)
    assert "read both" in gaps.described(settings, kept.id)
    shown = gaps.marked(settings, kept.id, status)
    assert "<img" not in shown
    assert f"<td>{status}</td>" in shown
    assert gaps.found(settings)[0][0][0].startswith(status)


@pytest.mark.parametrize("record", ["absent", "../x", ATTACK])
def test_a_record_that_is_not_there_is_told(record: str) -> None:
    shown = gaps.described(read_settings({}), record) + gaps.marked(read_settings({}), record, "approved")
    assert shown.count('class="bad"') == 2
    assert "<img" not in shown
