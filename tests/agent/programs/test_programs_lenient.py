"""Programs that would fail and have one sense: in processes of their own, as what is changed is changed for all."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

BEFORE = """
import pandas as pd
from agent.programs.inside.lenient import be_lenient
shops = pd.DataFrame({"Rent": [3, 4]})
named = {"shops": shops, "text": "sea\\n", **more}
be_lenient(named)
"""


def run(source, folder, more="{}"):
    program = f"more = {more}\n{BEFORE}\n{textwrap.dedent(source)}"
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=folder, check=False)


@pytest.mark.parametrize(
    ("source", "printed"),
    [
        ("print(pd.read_csv('made-up.csv')['Rent'].sum())", "7"),
        ("print(pd.read_excel('/data/made-up.xlsx', sheet_name='Rent')['Rent'].sum())", "7"),
        ("print(pd.read_html(text, header=0)[0]['Rent'].sum() if 0 else pd.read_html('')[0]['Rent'].sum())", "7"),
        ("with open('made-up.txt', encoding='utf-8') as file: print(len(file.readlines()))", "1"),
        ("table = pd.read_csv('x.csv'); table['Rent'] = 0; print(shops['Rent'].sum())", "7"),
    ],
)
def test_a_made_up_name_gives_what_is_attached(tmp_path, source, printed):
    assert run(source, tmp_path).stdout.strip() == printed


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("f'{shops[\"Rent\"] * 2:.2f}'", "14.00"),
        ("format(shops['Rent'], '03d')", "007"),
        ("f'{shops[\"Rent\"]}'.splitlines()[0].split()", "['0', '3']"),
        ("f'{shops[\"Rent\"].sum():.1f}'", "7.0"),
    ],
)
def test_a_column_that_is_formatted_as_one_number_is_its_sum(tmp_path, printed, expected):
    assert run(f"print({printed})", tmp_path).stdout.strip() == expected


def test_a_file_that_is_there_is_opened(tmp_path):
    (tmp_path / "there.csv").write_text("Rent\n20\n")
    done = run("print(pd.read_csv('there.csv')['Rent'].sum(), open('there.csv').readline())", tmp_path)
    assert done.stdout.split() == ["20", "Rent"]


def test_a_new_file_is_written(tmp_path):
    done = run("with open('new.txt', 'w') as file: file.write('mine')\nprint(open('new.txt').read())", tmp_path)
    assert (done.stdout.strip(), (tmp_path / "new.txt").read_text()) == ("mine", "mine")


def test_of_several_the_one_of_that_name_is_meant(tmp_path):
    more = "{'fees': __import__('pandas').DataFrame({'Rent': [50]})}"
    assert run("print(pd.read_csv('fees.csv')['Rent'].sum())", tmp_path, more).stdout.strip() == "50"
    assert "FileNotFoundError" in run("pd.read_csv('other.csv')", tmp_path, more).stderr
