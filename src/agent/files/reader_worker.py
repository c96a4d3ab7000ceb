"""The main program of the process that reads files. It confines itself, then answers requests."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import sys
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn

from agent.files.contents import Contents, FileProblem, ReadLimits, Section, Source
from agent.files.finding import find_words
from agent.files.kinds import as_file_problems, open_contents
from agent.files.media import engine_results, ocr
from agent.files.media.engine_results import AskHost
from agent.files.media.speech import Speech, use
from agent.files.previews import shortened
from mcp_tools.worker import begin

_DEVICES = ["/dev/null", "/dev/zero", "/dev/urandom", "/dev/random"]


def main(warm: str = "") -> NoReturn:
    """Import the modules in `warm` (separated by commas), then carry out the requests on stdin."""
    send = begin()
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # a Python handler would wait until a parser in C returns
    for name in filter(None, warm.split(",")):
        with contextlib.suppress(ImportError):  # reported when a request needs the module
            import_module(name)

    def receive() -> dict[str, Any]:
        """Return the next message. At the end of input the process exits, even if threads of libraries still run."""
        line = sys.stdin.buffer.readline() or os._exit(0)
        message: dict[str, Any] = json.loads(line)
        return message

    def ask(question: dict[str, Any]) -> dict[str, Any]:
        """Ask alita to do something that this process may not do."""
        send({"ask": question})
        return receive()

    is_confined = False
    while True:
        request = receive()
        limits = ReadLimits(**request["limits"])
        try:
            if not is_confined:
                confine(limits, request["granted"])
                is_confined = True
            signal.setitimer(signal.ITIMER_REAL, limits.seconds)
            reply = attempt(request, limits, ask)
        except FileProblem as problem:
            reply = {"problem": {"reason": problem.reason, "message": problem.message, "remedy": problem.remedy}}
        send(reply)
        signal.setitimer(signal.ITIMER_REAL, 0)


def confine(limits: ReadLimits, granted: dict[str, list[str]]) -> None:
    """Permanently restrict this process to the granted paths and limits.

    Raises:
        FileProblem: The kernel offers a protection but refused to apply it.
    """
    for kind, most in (
        (resource.RLIMIT_AS, limits.memory),
        (resource.RLIMIT_FSIZE, limits.unpacked),
        (resource.RLIMIT_CORE, 0),
    ):
        _, ceiling = resource.getrlimit(kind)
        most = most if ceiling == resource.RLIM_INFINITY else min(most, ceiling)
        resource.setrlimit(kind, (most, most))
    if sys.platform != "linux":
        return
    from mcp_tools.sandbox.inside import seccomp
    from mcp_tools.sandbox.inside.confinement import PathGrants, landlock_abi, platform_machine

    try:
        if len(list(Path("/proc/self/task").iterdir())) > 1:
            raise OSError("a thread was started earlier and would not be sandboxed")
        if landlock_abi() > 0:
            PathGrants(granted["read"], _DEVICES, []).confine(*granted["write"])
        if platform_machine() in seccomp.AUDIT_ARCH:
            seccomp.Filter(seccomp.template(platform_machine(), metadata=True)).install()
    except OSError as error:
        raise FileProblem(
            "unsupported",
            f"The process that reads files could not be sandboxed, so nothing was read: {error}.",
            remedy="Run `alita doctor` to check the isolation.",
        ) from error


def attempt(request: dict[str, Any], limits: ReadLimits, ask: AskHost | None = None) -> dict[str, Any]:
    """Carry out a request and return the reply.

    Raises:
        FileProblem: The file cannot be read, or has no such page.
    """
    with as_file_problems(request["name"], request["kind"], limits):
        if call := request.get("call"):
            module, _, function = call.partition(":")
            reply: dict[str, Any] = getattr(import_module(module), function)(**request["arguments"])
            return reply
        engine_results.use(ask)
        if request.get("speech"):
            use(Speech(**request["speech"]), ask)
        if not request.get("ocr", True):
            ocr.turn_off()
        source = Source(Path(request["path"]), request["kind"], request["name"])
        if request["do"] == "picture":
            from agent.files.media.image import save_shown

            return save_shown(source, request["page"], limits, Path(request["folder"]))
        with contextlib.closing(open_contents(source, limits)) as contents:
            if request["do"] == "preview":
                shown = contents.preview()
                data = contents.save_data(Path(request["folder"])) if request["folder"] else []
                return {
                    "size": source.path.stat().st_size,
                    "summary": contents.summary,
                    **shown._asdict(),
                    "sections": contents.count,
                    "facts": contents.facts,
                    "lost": list(dict.fromkeys(contents.lost)),
                    "notes": list(dict.fromkeys(contents.notes)),
                    "data": [str(path) for path in data],
                }
            page, to, limit = request["page"], request["to"], request["limit"]
            if request["find"]:
                return find_words(contents, request["find"], page, to, limit, limits)
            return _read_pages(contents, page, to, limit)


def _read_pages(contents: Contents, page: int, to: int | None, limit: int) -> dict[str, Any]:
    """Return the sections from `page` to `to` that fit into `limit` characters.

    Raises:
        FileProblem: There is no such page.
    """
    taken: list[Section] = []
    cut, following = 0, False
    sections = contents.sections(page)
    for section in islice(sections, max(to or page, page) - page + 1):
        room = limit - sum(len(one.text) + len(one.name) + 8 for one in taken)
        if following := bool(taken) and len(section.text) > room:
            break
        if len(section.text) > room:
            cut = len(section.text)
            section = Section(section.name, shortened(section.text, room))
        taken.append(section)
    if not taken:
        if contents.count == 0:
            raise FileProblem("empty", "The file is valid but has no content.")
        there = f"the last page is {contents.count:,}" if contents.count else "the file has fewer pages"
        raise FileProblem("range", f"There is no page {page:,}: {there}.")
    more = []
    if cut:
        more.append(f"Only {limit:,} of this page's {cut:,} characters are shown: use find to see the rest.")
    next_page, count = page + len(taken), contents.count
    if following or (next_page <= count if count is not None else next(sections, None)):
        more.append(f"Continue with page={next_page}" + (f" of {count:,}." if count else "."))
    return {
        "where": _where(contents, taken, page, cut),
        "text": taken[0].text if len(taken) == 1 else "\n\n".join(f"## {one.name}\n\n{one.text}" for one in taken),
        "more": " ".join(more),
        "lost": list(dict.fromkeys(contents.lost)),
        "notes": list(dict.fromkeys(contents.notes)),
        "pictures": sorted(contents.pictures),
    }


def _where(contents: Contents, taken: list[Section], page: int, cut: int) -> str:
    if contents.count == 1 and not cut:
        return "complete" if contents.is_only_text else taken[0].name
    of = f" of {contents.count:,}" if contents.count else ""
    pages = f"page {page}{of}" if len(taken) == 1 else f"pages {page}-{page + len(taken) - 1}{of}"
    names = taken[0].name if len(taken) == 1 else f"{taken[0].name} to {taken[-1].name}"
    part = f", characters 1–{len(taken[0].text):,} of {cut:,}" if cut else ""
    return f"{pages}{part}" if not names or names == f"page {page}" else f"{pages} ({names}){part}"
