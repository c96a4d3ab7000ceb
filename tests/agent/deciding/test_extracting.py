"""A weak model's answer from a file counts when it stands there."""

import pytest

from agent.deciding.extracting import from_reading, stands_there
from support.decisions import Weak, context_with, done, state_of

READ = done("read_file", "read_file lease.docx", finding="read_file lease.docx (page 1): The rent is **845.50** euros.")
QUESTION = "What is the rent of the boathouse?"


@pytest.mark.parametrize(
    ("answer", "question", "stands"),
    [
        ("845.50", QUESTION, True),
        ("845.50 euros", QUESTION, True),
        ("845.5 dollars", QUESTION, False),
        ("unknown", QUESTION, False),
        ("", QUESTION, False),
        ("the rent", QUESTION, False),
        ("euros", "Is the rent paid in euros or in pounds?", True),
        ("yes", "Is the rent above 800 euros?", True),
        ("no", QUESTION, False),
    ],
)
def test_what_was_copied_is_told_from_what_was_made_up(answer, question, stands):
    assert stands_there(answer, READ, question) is stands


async def test_the_model_sees_the_newest_reading_as_data():
    model = Weak([{"json": "845.50"}])
    decision = await from_reading({**state_of(QUESTION, steps=[READ])}, context_with(model))
    assert (decision.action, decision.answer) == ("answer", "845.50")
    assert model.requests[0][-1]["content"].startswith('<data source="read_file lease.docx">\n')


async def test_an_answer_that_does_not_stand_there_is_none():
    assert await from_reading({**state_of(QUESTION, steps=[READ])}, context_with(Weak([{"json": "900"}]))) is None
