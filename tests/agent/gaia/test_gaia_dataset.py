"""Question files and the dataset of the hub: what is read, what is told, and what nobody may see."""

from __future__ import annotations

import json
import logging
import pickle
import sys
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from agent.configuration.settings_sources import read_settings
from agent.errors import DatasetError
from agent.gaia.attachments import usual_attachments
from agent.gaia.attempt import Dataset, Task, dataset_of
from agent.gaia.dataset import REVISION, Hub, NoAccess, load_hub, load_jsonl, load_questions, revision_of
from support.gaia_records import CANARY, record
from support.hub_server import COMMIT, OTHER_TOKEN, TOKEN, HubServer


def write(folder: Path, *lines: Any, end: str = "\n") -> Path:
    path = folder / "questions.jsonl"
    texts = (line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines)
    path.write_bytes(end.encode().join(texts) + end.encode())
    return path


def test_official_and_lower_case_names_are_the_same(tmp_path: Path) -> None:
    official = record("a1", 2, "red", "a1.csv")
    lower = {"task_id": "b2", "question": "Which one?", "level": 3, "final_answer": 7, "file_name": None}
    dataset = load_jsonl(write(tmp_path, official, lower, {"task_id": 3, "Question": "Who?"}))
    assert dataset.tasks == (
        Task("a1", official["Question"], 2, "a1.csv"),
        Task("b2", "Which one?", 3, ""),
        Task("3", "Who?", None, ""),
    )
    assert dict(dataset.truths) == {"a1": "red", "b2": "7"}
    assert (dataset.origin, dataset.problems) == (str(tmp_path / "questions.jsonl"), ())


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
def test_a_mark_carriage_returns_and_empty_lines_do_no_harm(tmp_path: Path, start: bytes, end: str) -> None:
    path = write(tmp_path, record("a1"), b"", record("b2"), end=end)
    path.write_bytes(start + path.read_bytes().rstrip())
    dataset = load_jsonl(path)
    assert [task.task_id for task in dataset.tasks] == ["a1", "b2"]
    assert dataset.problems == ()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b'{"task_id": "1", "Question"', "it is not JSON (Expecting ':' delimiter, character 28)"),
        (b"\xff\xfe\x00", "it is not UTF-8 (byte 1)"),
        (b"[1, 2]", "it is not a JSON object"),
        (b'{"task_id": ' + b"1" * 5000 + b"}", "its JSON is nested too deeply or contains a number that is too long"),
        ({"Question": "Who?"}, "task_id is missing"),
        ({"task_id": "1"}, "question is missing"),
        ({"task_id": "1", "Question": ["Who?"]}, "question is not text"),
        ({"task_id": True, "Question": "Who?"}, "task_id is not text"),
        ({"task_id": "x" * 201, "Question": "Who?"}, "the task_id must be one line of at most 200 characters"),
        ({"task_id": "1", "Question": "\ud800"}, "question contains a lone surrogate, which is not a valid character"),
        ({"task_id": "a1", "Question": "Who?"}, "the task_id 'a1' is already used in line 1"),
    ],
)
def test_a_line_that_cannot_be_used_is_told_and_left_out(tmp_path: Path, line: Any, told: str) -> None:
    dataset = load_jsonl(write(tmp_path, record("a1"), line, record("b2")))
    assert [task.task_id for task in dataset.tasks] == ["a1", "b2"]
    assert dataset.problems == (f"line 2: {told}; this question is skipped",)


@pytest.mark.parametrize("level", ["hard", -1, True])
def test_a_level_that_is_none_is_unknown(tmp_path: Path, level: Any) -> None:
    dataset = load_jsonl(write(tmp_path, {**record("a1"), "Level": level}))
    assert dataset.tasks[0].level is None
    assert dataset.problems == ("line 1: level is not a whole number; treated as unknown",)


def test_a_question_whose_answer_is_not_published_has_no_truth(tmp_path: Path) -> None:
    dataset = load_jsonl(write(tmp_path, record("a1", answer="?"), record("b2", answer="")))
    assert len(dataset.tasks) == 2
    assert dict(dataset.truths) == {}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "contains no questions. It is empty."),
        (b"\n\n", "contains no questions. It is empty."),
        (b"task_id,question\n1,Who?\n", "contains no questions. line 1: it is not JSON"),
        (b"\xff\xfe{\x00}\x00", "contains no questions. line 1: it is not UTF-8"),
    ],
)
def test_a_file_without_questions_is_an_error(tmp_path: Path, content: bytes, told: str) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_bytes(content)
    with pytest.raises(DatasetError) as caught:
        load_jsonl(path)
    assert told in caught.value.message
    assert caught.value.remedy


@pytest.mark.parametrize("name", ["missing.jsonl", "."])
def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(DatasetError, match=r"cannot be read: (No such file|Is a directory)"):
        load_jsonl(tmp_path / name)


def test_the_fingerprint_is_that_of_the_tasks_alone(tmp_path: Path) -> None:
    one = load_jsonl(write(tmp_path, record("a1"), record("b2")))
    assert one.fingerprint == dataset_of(one.tasks, {}, "").fingerprint
    assert load_jsonl(write(tmp_path, record("a1", answer="other"), record("b2"))).fingerprint == one.fingerprint
    for changed in ([record("b2"), record("a1")], [record("a1")], [record("a1", 2), record("b2")]):
        assert load_jsonl(write(tmp_path, *changed)).fingerprint != one.fingerprint


def canary_nowhere(dataset: Dataset, caplog: pytest.LogCaptureFixture) -> None:
    """No text that is made of a dataset holds what the agent may not see; the scorer still gets it."""
    assert any(CANARY in truth for truth in dataset.truths.values())
    shown = [repr(dataset), str(dataset), f"{dataset.truths}", f"{dataset.truths!r}", *map(repr, dataset.tasks)]
    shown += [dataset.origin, dataset.fingerprint, *dataset.problems, caplog.text]
    shown += [pickle.dumps(dataset.tasks).decode("latin-1")]
    assert [text for text in shown if CANARY in text] == []
    assert set(Task.__slots__) == {"task_id", "question", "level", "file_name"}


def test_the_canary_of_a_question_file_is_seen_nowhere(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    broken = json.dumps(record("b2")).encode()[:-1]
    odd = {**record("c3"), "Level": CANARY, "Question": [CANARY]}
    twice = record("a1")
    surrogate = {**record("d4"), "Final answer": f"{CANARY}\ud800"}
    dataset = load_jsonl(
        write(tmp_path, record("a1"), broken, odd, twice, surrogate, {**record("e5"), "Level": CANARY})
    )
    assert len(dataset.problems) == 5
    canary_nowhere(dataset, caplog)


def test_the_hub_is_read_by_split(
    hub: HubServer, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A test split without its dummy; what was fetched at a commit needs no hub."""
    caplog.set_level(logging.DEBUG)
    cache = tmp_path / "hub"
    validation = load_hub("validation", Hub(cache, TOKEN, COMMIT))
    canary_nowhere(validation, caplog)
    assert [(task.task_id, task.level) for task in validation.tasks] == [("a1", 1), ("b2", 2), ("c3", 3)]
    assert validation.truths["b2"] == f"{CANARY}-b2"
    assert validation.origin == f"gaia-benchmark/GAIA validation at {COMMIT}"
    assert load_hub("validation", Hub(cache, TOKEN, "main")).origin == validation.origin
    test = load_hub("test", Hub(cache, TOKEN, COMMIT))
    assert ([task.task_id for task in test.tasks], dict(test.truths), test.problems) == (["d4"], {}, ())
    asked = len(hub.asked)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert load_hub("validation", Hub(cache, None, COMMIT)) == validation
    assert len(hub.asked) == asked


def test_a_command_line_names_the_hub_or_a_file(
    hub: HubServer, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = read_settings(environment={"ALITA_HOME": str(home), "HF_TOKEN": TOKEN})
    source = Path(f"gaia-test@{COMMIT}")
    named = load_questions(source, settings)
    assert usual_attachments(settings, revision=revision_of(source)).resolve(named.tasks[0]).status == "found"
    assert [task.task_id for task in named.tasks] == ["d4"]
    with pytest.raises(DatasetError, match=f"has no revision '{REVISION}'"):
        load_questions(Path("gaia-validation"), settings)
    with pytest.raises(DatasetError, match="cannot be read") as caught:
        load_questions(Path("gaia-train"), settings)
    assert "gaia-validation or gaia-test" in caught.value.remedy
    write(tmp_path, record("own")).rename(tmp_path / "gaia-validation")
    assert [task.task_id for task in load_questions(Path("gaia-validation"), settings).tasks] == ["own"]


@pytest.mark.parametrize("token", [None, "hf_" + "w" * 30, OTHER_TOKEN], ids=["none", "unknown", "without access"])
def test_who_may_not_read_is_told_what_to_do(hub: HubServer, tmp_path: Path, token: str | None) -> None:
    with pytest.raises(NoAccess, match=r"The hub returned status 40[13] for gaia-benchmark/GAIA") as caught:
        load_hub("validation", Hub(tmp_path / "hub", token, COMMIT))
    for told in (
        "HF_TOKEN",
        "https://huggingface.co/settings/tokens",
        "https://huggingface.co/datasets/gaia-benchmark",
    ):
        assert told in caught.value.remedy
    assert token is None or token not in str(caught.value)


def test_a_hub_that_cannot_be_reached_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(DatasetError, match=r"The hub 127\.0\.0\.1:9 cannot be reached") as caught:
        load_hub("validation", Hub(tmp_path / "hub", TOKEN))
    assert "use a question file" in caught.value.remedy


def test_a_damaged_table_is_told(hub: HubServer, tmp_path: Path) -> None:
    hub.files["2023/validation/metadata.parquet"] = b"no table"
    with pytest.raises(DatasetError, match=r"cannot be read") as caught:
        load_hub("validation", Hub(tmp_path / "hub", TOKEN, COMMIT))
    assert "Delete the file" in caught.value.remedy


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A local copy in the layout of the hub, with two questions for validation, one of them of level 1."""
    rows = [record("a1", 1), record("b2", 2, file_name="b2.txt")]
    dummy = record("0-0-0-0-0", answer="?")
    tables = {"validation/metadata": rows, "validation/metadata.level1": rows[:1], "test/metadata": [dummy]}
    for name, table in tables.items():
        path = tmp_path / "copy" / "2023" / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        parquet.write_table(pyarrow.Table.from_pylist(table), path)
    (tmp_path / "copy" / "2023" / "validation" / "b2.txt").write_text("card b2")
    return tmp_path / "copy"


def ids_of(source: object, home: Path) -> list[str]:
    settings = read_settings(environment={"ALITA_HOME": str(home)})
    return [task.task_id for task in load_questions(Path(str(source)), settings).tasks]


def test_a_local_copy_is_read_in_each_form_that_datasets_knows(
    copy: Path, tmp_path: Path, home: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    settings = read_settings(environment={"ALITA_HOME": str(home)})
    whole = load_questions(copy, settings)
    canary_nowhere(whole, caplog)
    assert whole.tasks[1] == Task("b2", "Which word is written on card b2?", 2, "b2.txt")
    assert usual_attachments(settings, beside=copy).resolve(whole.tasks[1]).status == "found"
    assert ids_of(f"{copy}:2023_level1:validation", home) == ["a1"]
    with pytest.raises(DatasetError, match=r"contains no questions\. It is empty"):  # but for the dummy
        ids_of(f"{copy}:test", home)

    with pytest.raises(DatasetError, match=r"copy has no 2023/test/metadata\.level1\.parquet\. It has: 2023/test/meta"):
        ids_of(f"{copy}:2023_level1:test", home)

    import datasets

    (saved := datasets.Dataset.from_list([record("s1")])).save_to_disk(tmp_path / "saved")
    datasets.DatasetDict({"validation": saved, "test": saved}).save_to_disk(tmp_path / "splits")
    for source in ("saved", "saved:validation", "splits", "splits:test"):
        assert ids_of(tmp_path / source, home) == ["s1"], source
    with pytest.raises(DatasetError, match=r"Bad split: train\. Available splits: \['validation', 'test'\]"):
        ids_of(tmp_path / "splits:train", home)

    table = next(copy.rglob("metadata.level1.parquet")).rename(copy / "questions.parquet")
    (copy / "2023/validation/metadata.parquet").unlink()
    configs = [{"config_name": name, "data_files": [{"split": "validation", "path": table.name}]} for name in CONFIGS]
    (copy / "README.md").write_text(f"---\n{json.dumps({'configs': configs})}\n---\n")
    for source in (copy, *(f"{copy}:{name}:validation" for name in CONFIGS)):
        assert ids_of(source, home) == ["a1"]
    assert [path for path in home.rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()] == []
    assert "Failed" not in capfd.readouterr().err


CONFIGS = ("2023_all", "2023_level1", "2023_level2", "2023_level3")


@pytest.mark.parametrize(
    ("files", "source", "told"),
    [
        ({}, "other", "cannot be read as a dataset: The directory at"),
        (
            {"x.jsonl": '{"a": 1}\n'},
            "other:default:train",
            "contains no questions. row 1: task_id is missing; this question is skipped.",
        ),
        ({"other.py": "1 / 0"}, "other", "Dataset scripts are no longer supported"),
        ({"2023/validation/metadata.parquet": "no table"}, "other", "cannot be read as a dataset: Parquet magic bytes"),
        ({"x.jsonl": f'{{"a": 1}}\n{{"a": "{CANARY}\n'}, "other:default:train", "The rows of"),
        ({}, "gone", "The question file"),
    ],
)
def test_a_folder_in_another_form_is_told(
    tmp_path: Path, home: Path, files: dict[str, str], source: str, told: str
) -> None:
    (tmp_path / "other").mkdir()
    for name, text in files.items():
        (tmp_path / "other" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "other" / name).write_text(text)
    with pytest.raises(DatasetError) as caught:
        ids_of(tmp_path / source, home)
    assert told in caught.value.message
    assert caught.value.remedy
    assert CANARY not in str(caught.value)


def test_without_the_package_what_to_install_is_told(copy: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(DatasetError, match="The package `datasets` is not installed") as caught:
        ids_of(copy, home)
    assert caught.value.remedy == "`alita doctor` shows how to install the extra [gaia]."
