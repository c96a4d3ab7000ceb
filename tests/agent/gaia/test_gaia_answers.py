"""The final form of answers: which text counts, how it is written, and that its meaning stays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.answering.final_answer import final_answer, in_asked_format
from agent.gaia.scorer import score
from agent.nodes.evaluate import final_form


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("FINAL ANSWER: 42", "42"),
        ("First FINAL ANSWER: 41.\nNo.\nFINAL ANSWER: 42", "42"),
        ("FINAL ANSWER: 41\n > ## **final answer:** 42", "42"),
        ("FINAL ANSWER: 41\nIs it the final answer: 42?", "41\nIs it the final answer: 42?"),
        ("I think so.\n**FINAL ANSWER:** 42", "42"),
        ("**FINAL ANSWER: 42**", "42"),
        ("FINAL ANSWER: **a** and **b**", "**a** and **b**"),
        ("Final Answer: the O'Brien", "the O'Brien"),
        ("FINAL ANSWER: The Final Answer: a novel", "The Final Answer: a novel"),
        ("FINAL ANSWER:\n- red\n- green", "- red\n- green"),
        ("FINAL ANSWER: 42\nFINAL ANSWER:", "42"),
        ("It is Paris.\nFINAL ANSWER:", "It is Paris."),
        ("FINAL ANSWER： 42", "42"),
        ("FINAL ANSWER:", ""),
        ("  just this ", "just this"),
        ("", ""),
        ("FINAL ANSWER 42", "FINAL ANSWER 42"),
        ("FINAL ANSWER: " + "x" * 50_000, "x" * 50_000),
    ],
)
def test_the_last_final_answer_counts(text: str, answer: str) -> None:
    assert final_answer(text) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("I add them.\n<answer>42</answer>", "42"),
        ("<answer>41</answer> was wrong.\n<answer>\n42\n</answer>\n", "42"),
        ("So it is <answer>New York</answer>.", "New York"),
        ("The element <answer>5</answer> stands first in it.", "The element <answer>5</answer> stands first in it."),
        ("Therefore $\\boxed{\\frac{107}{250}}$.", "107/250"),
        ("\\[\\boxed{\\text{Ard}}\\]", "Ard"),
        ("\\boxed{f(\\{1, 2\\})}", "f(\\{1, 2\\})"),
        ("\\boxed{12\\%}", "12%"),
        ("First \\boxed{1}, then more of it.", "First \\boxed{1}, then more of it."),
        ("Paris\nSources: [1]", "Paris"),
        ("Paris\n\n**Sources:**\n- https://example.org/a\n- https://example.org/b", "Paris"),
        ("Paris [1][2]", "Paris"),
        ("Paris[1].", "Paris."),
        ("3, 5, [7]", "3, 5, [7]"),
        ("[1]", "[1]"),
        ("FINAL ANSWER: Ard [3]", "Ard"),
        ("Sources: [1]", "Sources: [1]"),
    ],
)
def test_marks_around_an_answer_are_removed(text, answer):
    assert final_answer(text, "Which one is it?") == answer


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("<answer>42</answer>", "Which XML tag holds the result?"),
        ("x [1]", "Which expression gives the second element?"),
        ("\\boxed{42}", "How is 42 boxed in LaTeX?"),
        ("Paris\nSources: [1]", "Where is it? Give your sources."),
    ],
)
def test_marks_that_the_question_is_about_stay(text, question):
    assert final_answer(text, question) == text


@pytest.mark.parametrize(
    ("answer", "question", "form"),
    [
        # around the whole
        ("**Paris**", "Which city?", "Paris"),
        ('"Paris."', "Which city?", "Paris"),
        ("The answer is: Paris", "Which city?", "Paris"),
        ("\\boxed{42}", "Which one?", "42"),
        ("$\\boxed{\\text{Ard}}$", "Which town?", "Ard"),
        ("*Hamlet*", "Which play?", "Hamlet"),
        ("**Answer:** Ard", "Which town?", "Ard"),
        ("Washington D.C.", "Which city?", "Washington D.C."),
        ("Acme Inc.", "Which firm?", "Acme Inc."),
        ("[42]", "Which one?", "42"),
        ("[red, green]", "What does the program print?", "[red, green]"),
        ("The answer is blowing in the wind", "Which song?", "The answer is blowing in the wind"),
        ("rock 'n' roll", "Which music?", "rock 'n' roll"),
        ("__init__", "Which method?", "__init__"),
        ('"Stop."', "Quote the sign, with its punctuation.", '"Stop."'),
        # numbers, units, currencies
        ("88 apples", "How many apples are there?", "88"),
        ("88 apples", "How many fruits are there?", "88 apples"),
        ("3 km", "How many kilometres is it?", "3"),
        ("3 km", "How far is it? Include the unit.", "3 km"),
        ("3 km", "How long is it in km?", "3"),
        ("3 days", "How many days does it take?", "3"),
        ("3 m", "How many feet long is the metal?", "3 m"),
        ("5 s", "How many minutes is Paul's second best time?", "5 s"),
        ("2 cats", "How many of the category are there?", "2 cats"),
        ("1,234 people", "How many people live there?", "1234"),
        ("3 million people", "How many people live in the city of a million trees?", "3 million people"),
        ("$3,200", "How much is it in dollars?", "3200"),
        ("€3,200", "How much is it in dollars?", "€3200"),
        ("12%", "What percentage is red?", "12"),
        ("12%", "How much is the rate?", "12%"),
        ("Seven", "How many are red?", "7"),
        ("Seven", "How many are red? Answer in words.", "Seven"),
        ("Seven", "Which film is it?", "Seven"),
        ("Nine", "What is the title of the film with the total gross of 5?", "Nine"),
        ("Nine", "Of its films, how many won? Give the title of the first.", "Nine"),
        ("−5", "What is the sum?", "-5"),
        ("1,234", "Which two pages, the first and the last?", "1,234"),
        ("5 or 6", "How many are red?", "5 or 6"),
        # rounding
        ("3.14159", "Round to two decimal places: what is it?", "3.14"),
        ("2.665", "Give the sum rounded to 2 decimals.", "2.67"),
        ("7.5", "What is the total, with two decimal places?", "7.50"),
        ("3.5", "Give the mean to the nearest whole number.", "4"),
        ("3.456", "What does it cost, rounded to cents?", "3.46"),
        ("3.14159 m", "How long is it in feet, rounded to two decimal places?", "3.14 m"),
        ("3.14159", "Round each to two decimals; what is the sum?", "3.14159"),
        ("3.14159", "Is it 1 decimal place or 2 decimal places? What is the sum?", "3.14159"),
        # lists
        ("- red\n- green", "Give a comma-separated list.", "red, green"),
        ('["red", "green"]', "Give a comma separated list.", "red, green"),
        ("[red, green]", "Give a comma separated list.", "red, green"),
        ("red,green, and blue", "Give a comma separated list.", "red, green, blue"),
        ("salt and pepper, bread", "Give a comma separated list.", "salt and pepper, bread"),
        ("red, green", "Give a comma separated list without spaces.", "red,green"),
        ("- Paris, France\n- Rome, Italy", "Give a comma separated list.", "- Paris, France\n- Rome, Italy"),
        ("- Paris, France\n- Rome, Italy", "A semicolon-separated list.", "Paris, France; Rome, Italy"),
        ("1,234, 5,678", "Give a comma separated list.", "1,234, 5,678"),
        # order
        ("pear, Apple, fig", "A comma separated list in alphabetical order.", "Apple, fig, pear"),
        ("pear, apple, fig", "A comma separated list in reverse alphabetical order.", "pear, fig, apple"),
        ("Zoe Abel, Al Young", "Comma separated, in alphabetical order by surname.", "Zoe Abel, Al Young"),
        ("b, a", "Name both, in alphabetical order.", "b, a"),
    ],
)
def test_the_form_asked_for(answer: str, question: str, form: str) -> None:
    assert in_asked_format(answer, question) == form


@pytest.mark.parametrize(
    "answer", ["a" * 200_000, "a " * 100_000 + ".", "**" * 50_000, "answer: " * 3000, "7" * 5000, "[" * 9999]
)
def test_long_answers_take_no_time(answer: str) -> None:
    """Each of them must end within the test's time, and none is cut."""
    for question in ("How many?", "Give a comma separated list.", "each round " * 100_000):
        assert len(in_asked_format(answer, question)) >= len(answer.strip()) - 24_000


QUESTIONS = st.sampled_from(
    [
        "",
        "Which city?",
        "How many apples?",
        "How much in dollars, rounded to two decimal places?",
        "What is the total, to the nearest hundred?",
        "What is the mean, to 3 significant figures?",
        "Give a comma-separated list in alphabetical order.",
        "A semicolon-separated list in descending order.",
        "Quote it exactly as it stands.",
    ]
)
ANSWERS = st.one_of(
    st.text(),
    st.text(alphabet="0123456789.,$%-− apes*`\"'[];\n"),
    st.lists(st.text(alphabet="abcO'. "), min_size=2).map(", ".join),
    st.decimals(allow_nan=False, allow_infinity=False).map(lambda d: f"{d:f} apples"),
)


@given(ANSWERS, QUESTIONS)
def test_the_form_of_a_form_is_itself(answer: str, question: str) -> None:
    once = in_asked_format(answer, question)
    assert in_asked_format(once, question) == once


@given(ANSWERS, QUESTIONS)
def test_an_answer_never_becomes_nothing(answer: str, question: str) -> None:
    assert bool(in_asked_format(answer, question)) is bool(answer.strip())


@pytest.mark.parametrize(
    ("said", "question", "form"),
    [
        ('{"answer": "Oslo"}', "Which city?", "Oslo"),
        ('{"why": "x", "next": {"action": "answer", "answer": "Oslo"}}', "Which city?", "Oslo"),
        ('{"answer": ["Oslo", "Bergen"]}', "Which cities?", "Oslo, Bergen"),
        ('{"Ann": 3, "Bo": [1, 2]}', "Who has what?", "Ann: 3, Bo: 1, 2"),
        ('["Oslo", "Bergen"]', "Which cities?", "Oslo, Bergen"),
        ("[1, 2]", "Which numbers?", "[1, 2]"),
        ('{"answer": ""}', "Which city?", ""),
        ('{"a": 1}', "What does the program print?", '{"a": 1}'),
        ('{"a": 1}', "Give it as JSON.", '{"a": 1}'),
        ("{x, y}", "Which set?", "{x, y}"),
        ("Answer:", "Which word?", "Answer:"),
        ("```\n```", "Which sign?", "```\n```"),
    ],
)
def test_the_answer_inside_of_json(said: str, question: str, form: str) -> None:
    assert final_form(said, question) == form


@given(st.integers(), st.sampled_from(["{}", "{:,}", "{} apples", "**{:,} apples.**", "$ {}"]))
def test_a_right_number_stays_right(number: int, form: str) -> None:
    written = in_asked_format(form.format(number), "How many apples, or dollars?")
    assert score(written, str(number)).correct
    assert score(written, str(number), "course").correct


@pytest.mark.parametrize(
    ("question", "said", "form"),
    [
        ("When does it leave? Answer with the time as HH:MM.", "The ferry leaves at 14:20 from pier 3.", "14:20"),
        ("When does it leave? Answer with the time as HH:MM.", "It leaves at 14:20 or 15:20", None),
        ("When does it leave? Answer with the time as HH:MM.", "It leaves at 02:20 pm", None),
        ("When does it leave? Answer with the time as HH:MM.", "From 14:20 to 15:20", None),
        ("When was it built? Give the date as YYYY-MM-DD.", "Built on 1931-05-04, it has 2 lanes", "1931-05-04"),
        ("Which pier is it? Give only the number.", "The ferry leaves from pier 3 today", "3"),
        ("Which pier is it? Give only the number.", "Pier 3, and later pier 4", None),
        ("Which pier is it? Give only the number.", "The 2 plans do not say it", None),
        ("Which pier is it? Give only the number.", "Built in 1931-05-04 by hand", None),
        ("How many people is that? Give only the number.", "about 3 thousand people", None),
        ("How cold is it? Give only the number.", "It is −5 °C", "-5"),
        ("How cold is it? Give only the number.", "It is –5 °C", "-5"),
        ("How cold is it? Give only the number.", "−5 °C", "-5"),
        ("How cold is it? Give only the number.", "It is minus 5 degrees", None),
        ("How cold is it? Give only the number.", "It is 5 degrees below zero", None),
        ("How many eggs? Give only the number.", "3 dozen", None),
        ("How long is it? Give only the number.", "5 and a half km", None),
        ("How many people? Give only the number.", "more than 5 people", None),
        ("How many people? Give only the number.", "up to about 5 people", None),
        ("How many people? Give only the number.", "one third of 60", None),
        ("How many lanes? Give only the number.", "The bridge over the wide river has 3 lanes", "3"),
        ("When does it leave? Answer with the time as HH:MM.", "ten minutes before 12:30", None),
        ("Which pier is it?", "The ferry leaves from pier 3 today", None),
        ("Where is it warmest? Answer as: city, degrees", "Kell, 23 degrees", "Kell, 23"),
        ("Where is it warmest? Answer as: city, temperature", "Kell, 23 degrees", None),
        ("Who won, and in which time? Answer as: name, minutes", "Moss, 4 min", "Moss, 4"),
    ],
)
def test_a_sentence_is_the_value_where_only_that_is_asked_for(question, said, form):
    assert in_asked_format(said, question) == (said if form is None else form)
