"""The user's files between turns: a remark names what changed, with the hashes of both versions."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from agent.conversation import Transcript, UserFile
from agent.store.runs import InputFile
from agent.store.transcripts import compare_files


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("attached_again", [False, True], ids=["changed", "attached again"])
def test_a_changed_file_is_named_with_both_hashes(tmp_path: Path, attached_again: bool):
    path = tmp_path / "sales.csv"
    path.write_text("new")
    transcript = Transcript(given=[UserFile(str(path), sha256("old"), str(path))])
    compare_files(transcript, [InputFile(str(path), sha256("new"), 3)] if attached_again else [])
    done = "attached" if attached_again else "read"
    hashes = f"SHA-256 {sha256('old')[:12]} then, {sha256('new')[:12]} now"
    remark = f"sales.csv has changed since it was attached: {hashes}; it is {done} again."
    assert transcript.remarks == [remark]


def test_an_unchanged_file_needs_no_remark(tmp_path: Path):
    path = tmp_path / "sales.csv"
    path.write_text("same")
    transcript = Transcript(given=[UserFile(str(path), sha256("same"), str(path))])
    compare_files(transcript, [])
    assert (transcript.remarks, len(transcript.given)) == ([], 1)
