"""What needs no model: which script is meant, which part of its output, which name is a path, what is no answer."""

import pytest

from agent.material.attached import file_named, no_such_file
from agent.small.scripts import asked_part, asked_script, with_paths


def attached(name, kind="source", problem=""):
    return {
        **{"name": name, "path": f"/data/{name}", "kind": kind, "size": 10, "summary": "", "beginning": "print(1)"},
        **{"sections": 1, "facts": {}, "lost": [], "data": [], "problem": problem},
    }


@pytest.mark.parametrize(
    ("question", "names", "is_run"),
    [
        ("What does this script print?", ["a.py"], True),
        ("What is the final numeric output from the attached Python code?", ["a.py"], True),
        ("Run the script and tell me the result.", ["a.py", "in.csv"], True),
        ("What bug does the program have?", ["a.py"], False),
        ("What does this script print?", ["a.py", "b.py"], False),
        ("What does this script print?", ["a.js"], False),
    ],
)
def test_a_script_is_run_where_its_output_is_asked(question, names, is_run):
    state = {"question": question, "attached": [attached(name) for name in names]}
    assert (asked_script(state) is not None) is is_run


@pytest.mark.parametrize(
    ("question", "part"),
    [
        ("What does it print?", "start\nsum = 28\nend = 30"),
        ("What is the last line that it prints?", "end = 30"),
        ("What is the final number that it prints?", "30"),
        ("Which is the first line of the output?", "start"),
    ],
)
def test_of_the_output_the_part_counts_that_is_asked(question, part):
    assert asked_part(question, "start\nsum = 28\n\nend = 30\n") == part


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("sales.csv", "/data/sales.csv"),
        ("/data/sales.csv", "/data/sales.csv"),
        ("./sales.csv", "/data/sales.csv"),
        ("data/in.txt", "/data/pack.zip/data/in.txt"),
        ("pack.zip/data/in.txt", "/data/pack.zip/data/in.txt"),
        ("/elsewhere/sales.csv", None),
        ("old/sales.csv", None),
        ("in.csv", None),
        ("twice.txt", None),
        ("Sales.csv", None),
    ],
)
def test_a_file_is_meant_by_a_name_that_no_other_file_has(name, path):
    names = ("sales.csv", "pack.zip/data/in.txt", "pack.zip/a/twice.txt", "pack.zip/b/twice.txt")
    files = [attached(name) for name in names]
    found = file_named(name, {"attached": files})
    assert (found and found["path"]) == path
    assert with_paths(f"open({name!r})\n", files) == f"open({path or name!r})\n"
    assert "sales.csv, pack.zip/data/in.txt" in no_such_file(name, files)


def test_names_of_files_become_their_paths_and_nothing_else_changes():
    files = [attached("sales.csv"), attached("pack.zip/data/in.txt")]
    source = "open('sales.csv')  # kept\nopen('./in.txt')\nprint('sales.csv is read')\n"
    found = with_paths(source, files)
    assert "open('/data/sales.csv')" in found
    assert "open('/data/pack.zip/data/in.txt')" in found
    assert "'sales.csv is read'" in found
    untouched = "x = 1  # a comment\n"
    assert with_paths(untouched, files) == untouched
    assert with_paths("not python (", files) == "not python ("
