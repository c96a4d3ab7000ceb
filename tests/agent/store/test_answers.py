"""Answers and programs that are given again, in both databases, and those of the version before."""

from __future__ import annotations

import json
from contextlib import closing

import pytest

from agent.answer import Answer
from agent.learning.gap_records import GapRecord, GapRecords
from agent.store.answer_cache import AnswerCache, AnsweredPrograms, _key, _name, hits_since, note_hit
from agent.store.databases import has_store, open_store
from agent.store.signature import Signer


def same(tools):
    return dict.fromkeys(tools, "v1")


def test_an_answer_is_given_again_while_its_tools_are_the_same(settings):
    answers = AnswerCache(settings)
    answers.put("q", (), {"model": "m"}, Answer("first", "answered"), {"tool": "v1"})
    answers.put("q", (), {"model": "m"}, Answer("4 \ud800\0", "answered"), {"tool": "v1"})
    assert answers.get("q", (), {"model": "m"}, same).text == "4 \ud800\0"
    assert answers.get("q", (), {"model": "m"}, lambda _: {"tool": "v2"}) is None
    assert answers.get("q", (), {"model": "other"}, same) is None
    assert [(one.question, one.counts) for one in answers.all()] == [("q", True)]
    assert (answers.clear(older=60), answers.clear(), answers.all()) == (0, 1, [])


def test_no_key_is_written_down(settings):
    key = "sk-" + "a1B2" * 8
    AnswerCache(settings).put(f"with {key}", (), {}, Answer(f"it is {key}", "answered"), {})
    AnsweredPrograms(settings).put("q", f"print('{key}')")
    with closing(GapRecords(settings)) as records:
        records.add(GapRecord("lookup", f"a key {key}", f"pattern {key}", f"advice {key}"))
    with open_store(settings) as store:
        for table in ("answers", "programs", "gap_records"):
            rows = str([tuple(row) for row in store.rows(f"SELECT * FROM {table}")])
            assert ("[redacted]" in rows, "a1B2a1B2" in rows.lower() or "a1b2a1b2" in rows.lower()) == (True, False)
    assert AnswerCache(settings).get(f"with {key}", (), {}, same).text == "it is [redacted]"


def test_a_program_is_given_for_the_same_form_of_question(settings):
    programs = AnsweredPrograms(settings)
    assert programs.get("What is 3 plus 4?") == ""
    programs.put("What is 3 plus 4?", "print(3 + 4)")
    assert programs.get("What is 30 plus 41?") == "print(3 + 4)"


def test_asking_makes_no_store(settings):
    assert AnswerCache(settings).get("q", (), {}, same) is None
    assert AnsweredPrograms(settings).get("q") == ""
    assert has_store(settings) == (settings.database_url is not None)


def test_what_the_version_before_left_is_taken(settings):
    signer = Signer(settings.data_dir)
    name = _name(_key("q", (), {}))
    record = {"question": "q", "answer": Answer("old", "answered", run_id="r").as_json(), "tools": {}}
    for table, kept in (("answers", record), ("programs", {"program": "print(1)"})):
        folder = settings.cache_dir / table
        folder.mkdir(parents=True)
        (folder / f"{name}.json").write_text(json.dumps(signer.signed(f"{name}.json", kept)))
        (folder / "foreign.json").write_text(json.dumps(kept))
    (settings.data_dir / "cache-hits").write_text("1000000000\n2000000000\n")
    assert AnswerCache(settings).get("q", (), {}, same).text == "old"
    assert len(AnswerCache(settings).all()) == 1
    assert AnsweredPrograms(settings).clear() == 1
    assert [*settings.cache_dir.glob("*/*.json")] == []
    note_hit(settings)
    assert (hits_since(settings, 0), hits_since(settings, 1_500_000_000)) == (3, 2)
    assert not (settings.data_dir / "cache-hits").exists()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"answer": 1}'])
def test_a_damaged_file_is_no_answer(settings, text):
    folder = settings.cache_dir / "answers"
    folder.mkdir(parents=True)
    (folder / f"{_name(_key('q', (), {}))}.json").write_text(text)
    assert AnswerCache(settings).get("q", (), {}, same) is None
