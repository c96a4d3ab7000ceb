"""Data inside a question is found as a block, and prompts show enough of it."""

from hypothesis import given
from hypothesis import strategies as st

from mcp_tools.create.passages import in_brief, named, passages, shown, with_names

TABLE = "name,units\nAnn,3\nBo,\nCy,7"


def test_a_table_between_sentences_is_a_passage() -> None:
    assert passages(f"Here is a table:\n{TABLE}\nHow many units are there?") == [TABLE]


def test_what_stands_in_a_fence_is_a_passage_whatever_it_is() -> None:
    assert passages("Count the lines.\n```csv\nOne sentence.\n\nAnother.\n```") == ["One sentence.\n\nAnother."]


def test_passages_come_in_the_order_of_the_question() -> None:
    question = f"First:\n{TABLE}\nThen:\n```\na\nb\n```\nThen:\nx y\nz\nWhat now?"
    assert passages(question) == [TABLE, "a\nb", "x y\nz"]


def test_sentences_and_single_lines_are_none() -> None:
    for question in ("", "What is 2 + 2?", "One line.\nAnother line.\nWhy?", "A title\n\nWhat is it?", "```\n\n```"):
        assert passages(question) == []


def test_a_short_passage_is_shown_whole() -> None:
    assert shown(TABLE) == TABLE
    assert in_brief(f"A table:\n{TABLE}\nHow many?") == f"A table:\n{TABLE}\nHow many?"


def test_of_a_long_passage_the_beginning_and_the_end_are_shown() -> None:
    lines = [f"{n};{'x' * 300}" for n in range(10_000)]
    brief = in_brief("How many rows?\n```\n" + "\n".join(lines) + "\n```")
    assert len(brief) < 2_000
    assert brief.startswith("How many rows?\n```\n0;xxx")
    assert "… 9993 lines more …\n9999;x" in brief


@given(st.text(max_size=300))
def test_no_text_raises_and_each_passage_stands_in_it(text: str) -> None:
    for passage in passages(text):
        assert passage.splitlines()[0] in text
    in_brief(text)


def test_passages_have_names_that_stand_for_them() -> None:
    question = f"First:\n{TABLE}\nThen:\n```\na\nb\n```\nWhat now?"
    assert named(question) == {"TEXT1": TABLE, "TEXT2": "a\nb"}
    assert with_names(question) == (
        f"First:\nTEXT1 =\n{TABLE}\n(end of TEXT1)\nThen:\n```\nTEXT2 =\na\nb\n(end of TEXT2)\n```\nWhat now?"
    )
    assert named("What is 2 + 2?") == {}
    assert with_names("What is 2 + 2?") == "What is 2 + 2?"
