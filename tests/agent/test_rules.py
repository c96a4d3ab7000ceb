"""What rules are sure of, whatever a weak model decided."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.rules import described_tool, has_data, named_tool, possible_actions, second_opinion, shares_words, unread
from agent.state import ACTIONS, Action, Decision, Step

FOUND = Step(number=1, action="search", input="search", ok=True, finding="a page", value=None)
FIBONACCI = {"name": "nth_fibonacci", "description": "Return the n-th Fibonacci number."}
PRIME = {"name": "is_prime", "description": "Tell whether an integer is prime."}
VOWELS = {"name": "count_vowels", "description": "Count the vowels of a text."}


def done(action: Action) -> Step:
    return Step(number=1, action=action, input=action, ok=True, finding="f", value=None)


AT_THE_START: dict[str, tuple[Action, str, list[dict[str, Any]], Action]] = {
    "nothing to compute with": ("create_tool", "How high is Mount Everest?", [], "search"),
    "a lone year is no data": ("create_tool", "Which films of Ida Kern appeared in 1998?", [], "search"),
    "a fact about the world": ("run_code", "Who won 3 medals in 2004?", [], "search"),
    "ages are computed": (
        "create_tool",
        "Tom is currently 12, Ida 19. When is she 30?",
        [],
        "create_tool",
    ),
    "a basket of fruit is no site": (
        "create_tool",
        "A basket holds 12 apples, 3 pears. How many?",
        [],
        "create_tool",
    ),
    "a name in quotes is data": ("create_tool", "Who comes first by alphabet in 'Zoe, Ann, Bob'?", [], "create_tool"),
    "minus five is no quote": ("create_tool", "When is it colder than -5 degrees?", [], "search"),
    "a tool for something else": ("use_tool", "Reverse the text 'abc'.", [PRIME], "create_tool"),
    "a tool that fits": ("use_tool", "Is 97 a prime?", [PRIME], "use_tool"),
    "a tool that is named": ("create_tool", "Count the vowels in 'sky'.", [PRIME, VOWELS], "use_tool"),
    "a tool that is described": (
        "run_code",
        "Tell the vowels of the text 'sky', and count.",
        [PRIME, VOWELS],
        "use_tool",
    ),
    "nothing to combine": ("run_code", "Sort 3, 1 and 2.", [], "create_tool"),
    "code in the question": ("run_code", "What does print(3 * 'ab') show?", [], "run_code"),
    "an address to open": ("search", "Open https://shop.example.com and list the prices.", [], "browse"),
    "a form": ("create_tool", "Fill in the form with 3 names.", [], "browse"),
    "an address to parse": ("create_tool", "How many dots has 'www.example.com'?", [], "create_tool"),
    "words that sound like operating": ("create_tool", "How many letters has 'sign in'?", [], "create_tool"),
    "a search stays": ("search", "How high is Mount Everest?", [], "search"),
    "a greeting stays": ("answer", "Good morning!", [], "answer"),
}


@pytest.mark.parametrize(("action", "question", "tools", "expected"), AT_THE_START.values(), ids=AT_THE_START.keys())
def test_at_the_start(action: Action, question: str, tools: list[dict[str, Any]], expected: Action) -> None:
    decision = Decision(action, tool=tools[-1]["name"] if tools and action == "use_tool" else "")
    assert second_opinion(decision, question, [], tools, []).action == expected


def test_a_named_tool_is_the_one_to_use() -> None:
    decision = second_opinion(Decision("create_tool"), "Count the vowels in 'sky'.", [], [PRIME, VOWELS], [])
    assert (decision.action, decision.tool) == ("use_tool", "count_vowels")


def test_an_attached_file_is_read_first_and_once() -> None:
    assert second_opinion(Decision("answer", answer="7"), "Sum 1 and 2", ["a.csv"], [], []).action == "read_file"
    after = second_opinion(Decision("answer", answer="7"), "Sum 1 and 2", ["a.csv"], [], [done("read_file")])
    assert after.action == "answer"


def test_a_site_is_operated_once() -> None:
    question = "Log in at https://example.com: which balance?"
    assert second_opinion(Decision("answer", answer="x"), question, [], [], []).action == "browse"
    assert second_opinion(Decision("answer", answer="x"), question, [], [], [done("browse")]).action == "answer"


def test_with_evidence_the_model_decides() -> None:
    for action in ACTIONS:
        decision = Decision(action, tool="t", answer="a")
        assert second_opinion(decision, "Who is it?", [], [], [done("search")]) is decision


def test_an_agreeing_decision_keeps_its_own_reason() -> None:
    decision = Decision("read_file", "I want to read it.")
    assert second_opinion(decision, "Sum it", ["a.csv"], [], []) is decision


DATA = ["12 apples", "'abc'", "2024-01-05", "at 10:30", "in 1998 and 57", "x = [1", "()(()", "in MCMXCIV"]
NO_DATA = ["Who wrote Faust?", "in 1998", "", "the capital of Peru, please"]


@pytest.mark.parametrize("question", DATA)
def test_questions_with_data(question: str) -> None:
    assert has_data(question)


@pytest.mark.parametrize("question", NO_DATA)
def test_questions_without_data(question: str) -> None:
    assert not has_data(question)


def test_words_in_common_carry_meaning() -> None:
    assert shares_words("Which Fibonacci numbers are even?", "nth fibonacci: return the n-th number")
    assert not shares_words("Which number is it?", "return the number that is given")


def test_a_tool_is_named_by_most_of_its_name() -> None:
    assert named_tool("What vowels should I count?", [PRIME, VOWELS]) == "count_vowels"
    assert named_tool("Is it prime?", [PRIME]) is None
    assert named_tool("", [PRIME, VOWELS]) is None


@given(st.text(), st.sampled_from(ACTIONS), st.lists(st.text(), max_size=1), st.booleans())
def test_any_question_gets_an_action(question: str, action: Action, files: list[str], with_tools: bool) -> None:
    tools = [FIBONACCI, PRIME] if with_tools else []
    decision = second_opinion(Decision(action, tool="is_prime", answer="x"), question, files, tools, [])
    assert decision.action in ACTIONS
    assert decision.action != "use_tool" or decision.tool


POSSIBLE: dict[str, tuple[str, list[str], list[dict[str, Any]], list[Step], set[str]]] = {
    "words alone": ("Who built it?", [], [], [], {"answer", "search", "create_tool"}),
    "data": ("What is 6 in base 2?", [], [], [], {"search", "create_tool"}),
    "a tool": ("Is 97 a prime?", [], [PRIME], [], {"search", "create_tool", "use_tool", "run_code"}),
    "code": ("What does print(3) show?", [], [], [], {"search", "create_tool", "run_code"}),
    "a site": ("Log in and look.", [], [], [], {"answer", "search", "create_tool", "browse"}),
    "a file": ("Sum it.", ["a.csv"], [], [], {"answer", "search", "create_tool", "read_file"}),
    "evidence": ("What is 6?", [], [], [FOUND], {"answer", "search", "create_tool", "run_code", "browse"}),
}


@pytest.mark.parametrize(("question", "files", "tools", "steps", "actions"), POSSIBLE.values(), ids=POSSIBLE.keys())
def test_a_weak_model_chooses_among_what_makes_sense(
    question: str, files: list[str], tools: list[dict[str, Any]], steps: list[Step], actions: set[str]
) -> None:
    assert possible_actions(question, files, tools, steps) == actions


@pytest.mark.parametrize(
    ("files", "reads", "left"),
    [
        ([], [], False),
        (["a"], [], True),
        (["a"], [True], False),
        (["a", "b"], [True], True),
        (["a", "b"], [False], False),
    ],
)
def test_each_file_is_read_unless_reading_fails(files: list[str], reads: list[bool], left: bool) -> None:
    steps = [Step(number=n, action="read_file", input="", ok=ok, finding="", value=None) for n, ok in enumerate(reads)]
    assert unread(files, steps) == left


def test_a_tool_is_described_by_half_of_its_words() -> None:
    days = {"name": "count_weekdays", "description": "Count the days from Monday to Friday between two dates."}
    question = "How many days from Monday to Friday are there between 2023-12-29 and 2024-01-02?"
    assert described_tool(question, [PRIME, days]) == "count_weekdays"
    assert described_tool("How many days has a year?", [days]) is None
    assert described_tool("", [days]) is None
