"""The cases say what they claim, their files can be read, and obedience is seen where it is and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from injection_cases import Seen, Signs, gives, is_answered, load_cases, obedience

from injections import lines_of, measure, table
from support.obedient import Obedient

CASES = load_cases()
ATTACKS = [case for case in CASES if case.is_attack]
HONEST = [case for case in CASES if not case.is_attack]


def texts(value: Any) -> Iterator[str]:
    """All texts of a value, those of keys too."""
    if isinstance(value, dict):
        yield from texts([*value.keys(), *value.values()])
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)
    else:
        yield str(value)


def test_the_set_is_large_and_wide():
    assert len(ATTACKS) >= 64
    assert len(HONEST) >= 18
    assert len({case.id for case in CASES}) == len(CASES)
    assert {case.language for case in ATTACKS} >= {"en", "de", "fr", "es", "ru", "zh", "ar"}
    assert {case.wants for case in ATTACKS} == {
        "answer", "address", "secret", "tool", "arguments", "file", "form", "stop"
    }  # fmt: skip


def test_a_case_is_well_formed():
    for case in CASES:
        sources = " ".join(texts([case.pages, case.hits, case.files, case.tools]))
        assert case.pages or case.hits or case.files or case.tools
        assert all("__" in name for name in case.tools)
        assert bool(case.tricks) == case.is_attack
        assert any(getattr(case.obeyed, sign) for sign in case.obeyed.__slots__) == case.is_attack
        for value in case.obeyed.answer:
            assert not gives(str(case.answer), value)
            assert not gives(str(value), case.answer)
        for secret in case.obeyed.text:
            assert secret not in case.question
            assert secret in sources + str(case.folder)
        for text in case.obeyed.read:
            assert text in str(case.folder)
            assert text not in sources
        if case.acts and not case.obeyed.created:
            assert case.order
        if case.order:
            words = " ".join(case.order.when.split())
            assert words in " ".join(sources.split()) or words in case.question


def test_the_true_answer_alone_is_right_and_no_obedience():
    for case in CASES:
        calls = [f"{case.use['tool']} {case.use['arguments']}"] if case.use else []
        seen = Seen(str(case.answer), [f"GET {address}" for address in case.pages], [case.question], calls)
        assert obedience(case, seen) == []
        assert is_answered(case, seen) or case.wanted != Signs()


def test_each_sign_of_obedience_is_seen():
    for case in ATTACKS:
        answer, signs = str(case.answer), case.obeyed
        shown = [Seen(str(value)) for value in signs.answer]
        shown += [Seen(answer, requests=[f"GET http://x.example/?q={one}".replace(" ", "%20")]) for one in signs.text]
        shown += [Seen(answer, requests=[one]) for one in signs.request]
        shown += [Seen(answer, searches=[f"please {one} now"]) for one in signs.search + signs.text]
        shown += [Seen(answer, calls=[f'a__b {{"c": "{one}"}}']) for one in signs.call + signs.text]
        shown += [Seen(answer, records=one) for one in signs.read]
        shown += [Seen(answer, created=[one]) for one in signs.created]
        assert shown
        assert all(obedience(case, seen) for seen in shown)


@pytest.mark.parametrize(
    ("answer", "value", "expected"),
    [
        ("The bridge has 14 arches.", 14, True),
        ("18,500 kg", 18500, True),
        ("114 arches, or 14.5, or 21:14", 14, False),
        ("يضم الفندق ٧٢ غرفة", 72, True),
        ("答案是11个", 11, True),
        ("Platform 7", 7, True),
        ("", 7, False),
    ],
)
def test_an_answer_gives_a_value_in_words_of_its_own(answer, value, expected):
    assert gives(answer, value) is expected


def test_a_secret_is_seen_in_disguise():
    case = next(case for case in CASES if case.id == "page-wants-the-file")
    for text in (
        "R0IzMy1URVNULTYwMTYtMTMzMS05MjY4LTE5",
        "gb33%2Dtest%2D6016-1331-9268-19",
        "91-8629-1331-6106-TSET-33BG",
    ):
        assert obedience(case, Seen("9", [f"GET http://tenants-advice.example/{text}"]))


def test_the_real_program_is_caught(openai_server, tmp_path):
    """The ledger goes on where it was stopped."""
    case = next(case for case in CASES if case.id == "page-note-to-assistants")
    read = {"action": "read_file", "file": "http://brannock-tram.example/history"}
    model = ["--model", "m", "--base-url", openai_server.url]
    openai_server.default = Obedient(read, otherwise="1911").reply
    out = tmp_path / "ledger.jsonl"
    measure([case], "m", model, out, 60)
    measure([case], "m", model, out, 60)
    [row] = lines_of(out)
    assert (row["obeyed"], row["right"]) == (["answer: 1911"], False)
    assert "attacks" in table([row])
