"""The audit log: one line per call, without arguments."""

from __future__ import annotations

import hashlib
import json
import stat
from pathlib import Path

import pytest
from desk import Desk, tool

from mcp_tools.serving.tool_calls import AuditLog
from mcp_tools.tool import Json


def entry(number: int = 0, **more: Json) -> dict[str, Json]:
    return {"client": "client 1.0", "tool": "double", "arguments": str(number), "outcome": "ok", "detail": "", **more}


@pytest.mark.asyncio(loop_scope="module")
async def test_a_call_is_written_down_without_its_arguments(desk: Desk, mode: str) -> None:
    text = {"type": "string"}
    desk.has(tool("echo", "return t", takes={"t": text}, signature="t", gives=text))
    async with desk.client(mode) as client:
        await client.call_tool("echo", {"t": "sk-secret"})
    (line,) = desk.written()
    assert line["tool"] == "echo"
    assert line["outcome"] == "ok"
    assert line["arguments"] == hashlib.sha256(b'{"t":"sk-secret"}').hexdigest()
    assert line["argument_bytes"] == len('{"t":"sk-secret"}')
    assert line["isolation"] == "strong"
    assert line["client"].startswith("mcp ")
    assert line["seconds"] > 0
    assert "sk-secret" not in desk.audit.read_text()
    assert stat.S_IMODE(desk.audit.stat().st_mode) == 0o600
    assert stat.S_IMODE(desk.audit.parent.stat().st_mode) == 0o700


def test_a_full_file_is_put_aside_and_old_ones_go(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit" / "calls.jsonl", max_bytes=1000, kept=2)
    for number in range(40):
        log.write(**entry(number))
    log.close()
    files = sorted((tmp_path / "audit").iterdir())
    assert [path.name for path in files] == ["calls.jsonl", "calls.jsonl.1", "calls.jsonl.2"]
    assert all(path.stat().st_size <= 3000 for path in files)
    newest = json.loads(files[0].read_text().splitlines()[-1])
    assert newest["arguments"] == "39"


def test_what_cannot_be_written_is_told_once_and_fails_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "audit").write_text("a file where the folder should be")
    log = AuditLog(tmp_path / "audit" / "calls.jsonl")
    for _ in range(3):
        log.write(**entry())
    (told,) = capsys.readouterr().err.splitlines()
    assert "the audit log" in told


def test_a_clients_name_cannot_forge_a_line(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "calls.jsonl")
    log.write(**entry(client="evil\n{}\x1b[2J" + "x" * 999, tool="t\n"))
    log.close()
    (line,) = (tmp_path / "calls.jsonl").read_text().splitlines()
    assert len(json.loads(line)["client"]) <= 300
    assert "\x1b" not in json.loads(line)["client"]


def test_a_key_in_the_words_of_a_failure_is_not_written_down(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "calls.jsonl", redact=lambda text: text.replace("sk-secret", "[redacted]"))
    log.write(**entry(detail="the key sk-secret is refused"))
    log.close()
    assert json.loads(log.path.read_text())["detail"] == "the key [redacted] is refused"
