"""Which questions are asked, and in which order."""

import pytest

from agent.errors import UsageError
from agent.gaia.attempt import Attempt, Task
from agent.gaia.configuration import Selection
from agent.gaia.runner import newest, still_to_do

TASKS = [Task(name, "?", level) for name, level in [("a", 1), ("b", 2), ("c", 1), ("d", None)]]


def todo(selection, *attempts):
    left = still_to_do(selection, selection.tasks(TASKS), newest(attempts))
    return [(one.task.task_id, one.epoch) for one in left]


def had(task_id, status, epoch=1):
    return Attempt(task_id, epoch, status=status)


@pytest.mark.parametrize(
    ("selection", "wanted"),
    [
        (Selection(), ["a", "b", "c", "d"]),
        (Selection(levels=(1,)), ["a", "c"]),
        (Selection(levels=(1, 2)), ["a", "b", "c"]),
        (Selection(ids=("d", "b")), ["b", "d"]),
        (Selection(levels=(1,), ids=("b", "c")), ["c"]),
        (Selection(max_questions=2), ["a", "b"]),
    ],
)
def test_levels_and_ids_choose(selection, wanted):
    assert [name for name, _ in todo(selection)] == wanted


def test_max_questions_counts_those_still_to_do():
    """A cap before the finished ones are skipped would never get past the first N."""
    assert todo(Selection(max_questions=2), had("a", "ok"), had("b", "limit")) == [("c", 1), ("d", 1)]


def test_each_epoch_is_asked_once():
    made = [had("a", "ok", 1)]
    assert todo(Selection(ids=("a",), epochs=3), *made) == [("a", 2), ("a", 3)]
    assert todo(Selection(epochs=2, max_questions=1), *made) == [("b", 1), ("b", 2)]


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        (Selection(ids=("aa",)), "no question 'aa'.*Did you mean a?"),
        (Selection(levels=(3,)), r"no level 3.*It has: 1, 2\."),
    ],
)
def test_what_is_not_in_the_set_is_told(selection, message):
    with pytest.raises(UsageError) as refused:
        selection.tasks(TASKS)
    assert pytest.importorskip("re").search(message, str(refused.value), 16)
