"""Pieces of text become lines, and texts become sections, without losing anything."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agent.files.contents import in_sections, table
from agent.files.media.ocr import Piece, has_columns, lay_out

PIECES = st.lists(
    st.builds(
        lambda left, top, text: Piece(left, top, left + 6 * len(text), top + 10, text),
        st.floats(-1e4, 1e4),
        st.floats(-1e4, 1e4),
        st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=12),
    ),
    max_size=30,
)


@given(PIECES)
def test_every_letter_stays(pieces: list[Piece]) -> None:
    has_columns(pieces)
    laid = lay_out(pieces)
    assert sorted(laid.replace(" ", "").replace("\n", "")) == sorted("".join(piece.text for piece in pieces))
    assert all(len(line) < 2000 for line in laid.splitlines())


@given(st.lists(st.text(st.sampled_from("ab |#\n"), max_size=200), max_size=30), st.integers(20, 400))
def test_sections_hold_everything_and_are_small_enough(blocks: list[str], limit: int) -> None:
    sections = in_sections(blocks, limit)
    assert all(len(section.text) <= limit for section in sections)
    there = "".join(section.text for section in sections)
    assert all(there.count(letter) >= "".join(blocks).count(letter) for letter in "ab")


def test_the_head_of_a_table_is_repeated() -> None:
    rows = [["name", "value"], *([f"row {n}", str(n)] for n in range(100))]
    sections = in_sections([table(rows)], 500)
    assert len(sections) > 3
    assert all(section.text.startswith("| name | value |\n| --- | --- |\n| row") for section in sections)
    assert [section.name for section in sections[:2]] == ["part 1", "part 2"]


def test_cells_of_a_table() -> None:
    assert table([["a|b", "c\nd"], ["e"]]) == "| a\\|b | c<br>d |\n| --- | --- |\n| e |  |"
