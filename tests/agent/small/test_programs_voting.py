"""Which printed values can be the answer, and how they are written."""

import pytest

from agent.small.programs.voting import as_answer, in_asked_form, in_asked_kind


@pytest.mark.parametrize(
    ("question", "kept"),
    [
        ("How many plants?", ["3"]),
        ("What is the total price?", ["3", "three", "Rose, 3"]),
        ("Which plants are in bed A?", ["3", "three", "Rose\nMint", "Rose, 3"]),
        ("Which plant is first in the list? Give only the number.", ["3"]),
        ("Which plant stands most often, and how many times? Answer as: plant, times", ["Rose, 3"]),
        ("Which plant stands most often, and how many times?", ["3", "three", "Rose, 3"]),
    ],
)
def test_what_can_be_an_answer(question, kept):
    assert in_asked_kind(["3", "three", "Rose\nMint", "Rose, 3"], question) == kept


@pytest.mark.parametrize(
    ("answer", "written"),
    [
        ("Rose 3", "Rose, 3"),
        ("Rose\n3", "Rose, 3"),
        ('["Rose", 3]', "Rose, 3"),
        ("Rose, 3", "Rose, 3"),
        ("Wild Rose 3", "Wild Rose 3"),
        ("3", "3"),
    ],
)
def test_several_values_have_commas_between(answer, written):
    assert in_asked_form(answer, "Which plant, and how many? Answer as: plant, number") == written
    assert in_asked_form(answer, "Which plant is it?") == answer


@pytest.mark.parametrize(
    ("printed", "answer"),
    [
        ("194.78000000000003\n", "194.78"),
        ("np.float64(2.5)", "2.5"),
        ("['Iris', 'Sage']", "Iris, Sage"),
        ("2024-05-01 00:00:00", "2024-05-01"),
        ("Bergen", "Bergen"),
        ("nan", ""),
        ("None", ""),
        ("Empty DataFrame\nColumns: [a]\nIndex: []", ""),
        ("Empty Quarter", "Empty Quarter"),
        ("NONE", "NONE"),
        ("null", "null"),
        ("Series([], Name: x)", ""),
        ("[]", ""),
    ],
)
def test_printed_values_become_answers(printed, answer):
    assert as_answer(printed) == answer
