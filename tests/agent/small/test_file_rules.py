"""What a weak model does with attached files before it is asked anything."""

import pytest

from agent.material.attached import was_read
from agent.small.rules import by_files, read_on, words_to_find
from agent.state import Decision
from support.decisions import done


def attached(name, kind, *, sections=1, size=500, data=(), problem=""):
    return {
        **{"name": name, "path": f"/data/{name}", "kind": kind, "size": size, "summary": "", "beginning": "b"},
        **{"sections": sections, "facts": {}, "lost": [], "data": list(data), "problem": problem},
    }


CSV, TXT = attached("a.csv", "csv"), attached("a.txt", "txt")
PDF = attached("a.pdf", "pdf", sections=9, data=["/run/a.pages.jsonl"])
BROKEN = attached("a.pdf", "", problem="It is encrypted.")
PNG = attached("a.png", "png")
CASES = {
    "a table": ("What is the total?", [CSV], "run_code"),
    "two tables": ("Which month had more?", [CSV, CSV], "run_code"),
    "lines of a text": ("How many lines speak of the sea?", [TXT], "run_code"),
    "a word in a book": ("How often does the word whale occur?", [PDF], "run_code"),
    "a fact in a text": ("Who is the tenant?", [TXT], "read_file a.txt"),
    "a fact in a long document": ("Who is the Tenant of Mill Lane?", [PDF], "read_file a.pdf find 'Tenant Mill Lane'"),
    "a table and a text": ("Does the letter quote the right total?", [CSV, TXT], "run_code"),
    "a picture": ("How many people are there?", [PNG], "read_file a.png"),
    "what cannot be read": ("Who is the tenant?", [BROKEN], "read_file a.pdf"),
}


@pytest.mark.parametrize(("question", "files", "wanted"), CASES.values(), ids=CASES.keys())
def test_the_first_action(question, files, wanted):
    decision = by_files({"question": question, "files": ["f"], "attached": files, "steps": []})
    assert decision is not None
    assert decision.input == wanted


def test_of_several_files_the_one_with_the_rarest_words_of_the_question_is_read_first():
    notes = {"mon.txt": "Camp at the river, 387 metres.", "tue.txt": "The sledge broke. Camp at 1238 metres."}
    files = [{**attached(name, "txt"), "beginning": text} for name, text in notes.items()]
    question = "How high was the camp when the sledge broke?"
    state = {"question": question, "files": ["notes.zip"], "attached": files, "steps": []}
    assert by_files(state).input == "read_file tue.txt"
    state["steps"] = [done("read_file", "read_file tue.txt")]
    assert by_files(state).input == "read_file mon.txt"
    state["question"] = "Who?"
    assert by_files({**state, "steps": []}).input == "read_file mon.txt"


def test_a_document_with_a_table_is_computed_where_rows_are_counted_or_compared():
    prices = {**attached("p.docx", "docx", data=["/run/text.md"]), "beginning": "| Lamp | Price |\n| --- | --- |\n"}
    for question, action in {
        "How much do all lamps cost?": "run_code",
        "Which lamp is the cheapest?": "run_code",
        "Who sells the lamps?": "read_file",
    }.items():
        assert by_files({"question": question, "files": ["f"], "attached": [prices], "steps": []}).action == action


def test_what_failed_is_read_instead_and_then_left_to_the_model():
    ran = done("run_code", ok=False)
    state = {"question": "What is the total?", "files": ["a.csv"], "attached": [CSV], "steps": [ran]}
    assert by_files(state).input == "read_file a.csv"
    state["steps"] = [ran, done("read_file", "read_file a.csv", number=2)]
    assert by_files(state) is None


def test_a_file_is_not_taken_for_one_whose_name_begins_like_its_own():
    steps = [done("read_file", "read_file a.csv notes.txt")]
    assert not was_read(CSV, steps)
    assert was_read(CSV, [done("read_file", "read_file a.csv find 'x' page 2")])


def test_a_file_that_cannot_be_read_ends_in_the_best_answer():
    state = {"question": "Who?", "files": ["a.pdf"], "attached": [BROKEN]}
    state["steps"] = [done("read_file", "read_file a.pdf", ok=False)]
    assert by_files(state) == Decision("answer", "The attached file cannot be read.")


def test_a_long_document_is_read_on_from_its_beginning_a_few_times():
    steps = [done("read_file", "read_file a.pdf find 'x'")]
    pages = []
    while (on := read_on({"question": "Who?", "files": ["a.pdf"], "attached": [PDF], "steps": steps})) is not None:
        pages.append(on.page)
        steps.append(done("read_file", on.input, number=len(steps) + 1))
    assert pages == [1, 2, 3]


def test_without_files_that_were_looked_at_rules_say_nothing():
    assert by_files({"question": "Who?", "files": ["a.txt"], "steps": []}) is None


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("What is the deposit of the 'North Pier' lease?", "North Pier deposit lease"),
        ("On which page is photosynthesis mentioned first?", "photosynthesis first"),
        ("In which year did Marta Holm join?", "Marta Holm join"),
    ],
)
def test_names_and_quotes_are_looked_for_first(question, words):
    assert words_to_find(question) == words
