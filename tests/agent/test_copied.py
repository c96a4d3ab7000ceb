"""A weak model's answer counts when it stands in what the model was shown."""

import pytest

from agent.answer import stands_there

READ = "read_file lease.docx (page 1): The rent is **845.50** euros."
QUESTION = "What is the rent of the boathouse?"


@pytest.mark.parametrize(
    ("answer", "text", "question", "stands"),
    [
        ("7", "It was built in 1976.", "How many towers?", False),
        ("5", "It cost 5,000 euros.", "How many towers?", False),
        ("5", "He had 5 children.", "How many children did he have in 2015?", True),
        ("art", "The party was late.", "What did they show?", False),
    ],
)
def test_words_and_numbers_are_compared_whole(answer, text, question, stands):
    assert stands_there(answer, text, question) is stands


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
