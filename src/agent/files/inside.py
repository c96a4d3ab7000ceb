"""What happens in the process that reads a file: its limits, then one request and one reply, both JSON."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.files.contents import ReadLimits, Source
from agent.files.finding import find_words
from agent.files.media.speech import Speech, use
from agent.files.paging import read_pages
from agent.files.problem import FileProblem, damaged, too_large
from agent.files.registry import reader_of

if TYPE_CHECKING:
    from agent.files.contents import Contents

BEGINNING = 1_500
"""Characters of a preview's beginning."""
_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Carries out the request on stdin, and replies on what was stdout: libraries may print there."""
    reply = os.dup(1)
    os.dup2(2, 1)
    request = json.loads(sys.stdin.buffer.read())
    limits = ReadLimits(**request["limits"])
    confine(limits)
    try:
        told = attempt(request, limits)
    except FileProblem as problem:
        told = {"problem": {"reason": problem.reason, "message": problem.message, "remedy": problem.remedy}}
    with os.fdopen(reply, "wb") as stream:
        stream.write(json.dumps(told, default=str).encode())
    os._exit(0)  # threads of libraries have nothing left to say


def confine(limits: ReadLimits) -> None:
    """Ties the process to its parent's life, and to its limits."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # a parser in C never returns to hear of a Python handler
    signal.setitimer(signal.ITIMER_REAL, limits.seconds)
    for kind, most in (
        (resource.RLIMIT_AS, limits.memory),
        (resource.RLIMIT_FSIZE, limits.unpacked),
        (resource.RLIMIT_CORE, 0),
    ):
        _, ceiling = resource.getrlimit(kind)
        most = most if ceiling == resource.RLIM_INFINITY else min(most, ceiling)
        resource.setrlimit(kind, (most, most))


def attempt(request: dict[str, Any], limits: ReadLimits) -> dict[str, Any]:
    """The reply to a request.

    Raises:
        FileProblem: The file cannot be read, or has no such page.
    """
    try:
        return _carried_out(request, limits)
    except FileProblem:
        raise
    except MemoryError as error:
        raise too_large(request["name"], limits) from error
    except Exception as error:  # a foreign parser may raise anything at a damaged file
        raise damaged(request["name"], request["kind"], error) from error


def _carried_out(request: dict[str, Any], limits: ReadLimits) -> dict[str, Any]:
    if request.get("speech"):
        use(Speech(**request["speech"]))
    source = Source(Path(request["path"]), request["kind"], request["name"])
    contents = reader_of(source.kind, request.get("reader", "")).open(source, limits)
    try:
        if request["do"] == "preview":
            return {"size": source.path.stat().st_size, **_preview(contents, request["folder"])}
        if request["find"]:
            return find_words(contents, request["find"], request["page"], request["to"], request["limit"], limits)
        return read_pages(contents, request["page"], request["to"], request["limit"])
    finally:
        contents.close()


def _preview(contents: Contents, folder: str) -> dict[str, Any]:
    beginning = ""
    for section in contents.sections():
        beginning += f"{section.text}\n\n"
        if len(beginning) >= BEGINNING:
            break
    data = contents.save_data(Path(folder)) if folder else []
    return {
        "summary": contents.summary,
        "beginning": beginning.rstrip()[:BEGINNING],
        "sections": contents.count,
        "facts": contents.facts,
        "lost": list(dict.fromkeys(contents.lost)),
        "data": [str(path) for path in data],
    }
