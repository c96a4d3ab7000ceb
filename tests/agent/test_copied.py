"""A weak model's answer counts when it stands in what the model was shown."""

import pytest

from agent.copied import stands_there

READ = "read_file lease.docx (page 1): The rent is **845.50** euros."
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
