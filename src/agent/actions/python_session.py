"""The Python session of a run: its programs share variables, and may call the run's own functions."""

from __future__ import annotations

import ast
import asyncio
import base64
import contextlib
import json
import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.actions.hand_over import HandOvers
from agent.actions.server_tools import CALL_SERVER_TOOL, MODULES, external_named, external_of, server_modules
from agent.actions.tools import DRAFT, call_external, ruling_on
from agent.answer import OutputFile
from agent.answering.answer_format import answer_of, variables_in
from agent.configuration.specialists import SPECIALISTS
from agent.consent.carried import arguments_in_parts, leaves, member_names, parts
from agent.consent.external_tools import SERVER
from agent.consent.hosts import HostToReach
from agent.consent.origins import Origins
from agent.consent.permission import refusal_of_action, words_of_user
from agent.consent.program import ProgramText
from agent.consent.provenance import FINE, Verdict, of_address, of_program, of_query, of_typed
from agent.context import Context
from agent.events import PictureShown, ToolCalled
from agent.material.attached import file_in_folder, file_named, file_of_run, granted, no_such_file, path_made
from agent.material.origins import origins_of
from agent.material.outputs import Outputs, listing, with_files_of
from agent.material.pages import text_for_program
from agent.material.pictures import MOST_OF_ONE, Place, page_watched, prepared, seen_pictures, watched
from agent.records import as_plain, from_plain
from agent.state import State, Step
from agent.steps import decision_of, kept_whole, step, step_number
from agent.store.journal import Journal, made_by
from agent.strategy import Update
from agent.web.address import is_address
from agent.web.page import SOURCES, WebProblem
from mcp_tools.errors import (
    AlitaError,
    LibraryError,
    ModelFixableError,
    NotPermittedError,
    StoppedError,
    UnknownToolError,
)
from mcp_tools.header import declared
from mcp_tools.hosts import Carry, HostRequest
from mcp_tools.library.dependencies import Needs, needs_of, tools_imported
from mcp_tools.packages import import_name, is_provided
from mcp_tools.sandbox.inside.scratch import is_full
from mcp_tools.sandbox.protocol import Limits, Result, Sandbox, Session, SessionOutcome, Writable
from mcp_tools.text import middle_left_out, one_line
from mcp_tools.tool import Capabilities, Json, Status, call_text, signature_of

if TYPE_CHECKING:
    from agent.budget import Budget
    from mcp_tools.environments.store import Environments


KIND = "session"
FETCH = "fetch"
"""The function of the host that the requests of a program to declared hosts become."""
LIMITS = Limits(wall_seconds=120, memory_mb=2048, output_bytes=400_000, file_bytes=256_000_000)

Answering = Callable[[str, dict[str, Json]], Awaitable[Json]]


@dataclass(eq=False)
class LivePython:
    """The Python process of a conversation. It outlives the runs of single turns."""

    session: Session | None = None
    host: Answering | None = None
    """Answers the calls of the program that is running."""
    tools: set[str] = field(default_factory=set)
    """The tools of the library that it was ever given."""

    async def answer(self, name: str, arguments: dict[str, Json]) -> Json:
        """Answer a call of the running program."""
        assert self.host is not None, "a program runs in a turn, which answers it"
        return await self.host(name, arguments)

    async def aclose(self) -> None:
        """End the process."""
        if self.session is not None:
            await asyncio.shield(self.session.aclose())


class PythonSession:
    """Runs blocks of code one after the other in one process, or gives what was recorded.

    What a block asks of the run's functions is recorded call by call. A replay makes the same calls, so that the run
    knows afterwards what it knew then; its sandbox is None. Programs may read the folders, and write into the copy of
    the user's folder. A `live` process belongs to
    the conversation and stays open.

    Attributes:
        text: The programs so far: what they ask for is held against it.
        results: What external servers gave to programs, by the server's name.
        sent: What programs asked with, in parts.
        written: Files that the last block wrote for the user.
    """

    def __init__(
        self,
        sandbox: Sandbox | None,
        journal: Journal,
        budget: Budget,
        folders: Sequence[Path],
        live: LivePython | None = None,
        environments: Environments | None = None,
        outputs: Outputs | None = None,
        copy: Writable | None = None,
    ) -> None:
        self._sandbox = sandbox
        self._journal = journal
        self._budget = budget
        self._folders = tuple(folders)
        self._live = live or LivePython()
        self._is_own = live is None
        self._environments = environments
        self._outputs = outputs
        self._copy = copy
        self.written: list[OutputFile] = []
        self._answer: Answering | None = None
        self._carry: Carry | None = None
        self._asked: list[list[Json]] = []
        self._was_replayed = False
        self._room = 0
        self.text = ProgramText()
        self.results: defaultdict[str, list[str]] = defaultdict(list)
        self.sent: list[dict[str, str]] = []

    def another(self) -> PythonSession:
        """A session of the same run with variables of its own."""
        return PythonSession(
            self._sandbox,
            self._journal,
            self._budget,
            self._folders,
            environments=self._environments,
            outputs=self._outputs,
            copy=self._copy,
        )

    async def run(
        self,
        code: str,
        *,
        files: Sequence[Path],
        tools: Mapping[str, str],
        functions: Sequence[str],
        answer: Answering,
        servers: Mapping[str, str] | None = None,
        packages: Sequence[str] = (),
        carry: Carry | None = None,
        seconds: float | None = None,
    ) -> SessionOutcome:
        """Runs a block, with packages that the user allowed; `carry` answers its requests to hosts.

        `seconds`: the time that it declares, if that is more than usual.

        It may import the tools, and the modules of servers, whose functions are no tools of the library.

        Raises:
            ModelFixableError: The packages cannot be had.
            StoppedError: The run's time is over.
            IsolationError: The sandbox is broken.
        """
        self._answer, self._asked, self._room, self._carry = answer, [], _MOST_REQUESTED, carry
        modules = {**tools, **(servers or {})}
        self.text.add(code, modules, packages)

        async def work() -> Json:
            was_there = self._live.session is not None
            session = self._opened(files, modules, functions)
            for name, source in modules.items():
                session.offer(name, source)
            self._live.tools |= tools.keys()
            if packages and self._environments is not None:
                session.import_from(await self._built(self._environments, packages))
            before = self._outputs.snapshot() if self._outputs is not None else {}
            of_copy = {}
            if self._copy is not None:  # many files may be in it
                of_copy = await asyncio.to_thread(Outputs(self._copy.folder).snapshot)
            async with self._budget.within():
                left = self._budget.seconds_left
                most = max(LIMITS.wall_seconds, seconds or 0)
                limits = replace(LIMITS, wall_seconds=most if left is None else max(0.5, min(most, left)))
                outcome = await session.run(code, limits=limits, hosts=carry is not None)
            if self._was_replayed:
                outcome, self._was_replayed = replace(outcome, fresh=outcome.fresh or not was_there), False
            outcome = replace(outcome, called=tuple(one for one in outcome.called if one.name in self._live.tools))
            written = self._outputs.kept_since(before) if self._outputs is not None else []
            if self._outputs is not None and outcome.problem is not None and outcome.problem.kind == "quota":
                # a folder that cannot be looked through would end every further program
                self._outputs.remove_new_folders({*before, *(file.name for file in written)})
            await asyncio.to_thread(self._remove_new_in_copy, of_copy)
            return {
                "outcome": as_plain(outcome),
                "asked": list(self._asked),
                "written": [as_plain(file) for file in written],
            }

        request: dict[str, Json] = {"code": code, "modules": sorted(modules)}
        request |= {"packages": [*packages]} if packages else {}
        recorded, live = await self._journal.recorded(KIND, request, dict[str, Any], work)
        if not live:
            self._was_replayed = True
            for name, arguments in recorded["asked"]:
                with contextlib.suppress(AlitaError):  # the block met it, too
                    await answer(name, arguments)
        self.written = [OutputFile(**file) for file in recorded.get("written", [])]
        return from_plain(SessionOutcome, recorded["outcome"])

    async def _built(self, environments: Environments, packages: Sequence[str]) -> Path:
        try:
            return await environments.ready(packages)
        except AlitaError as error:  # it ends the step, not the run
            raise ModelFixableError(f"The packages are not there: {error}") from error

    def _opened(self, files: Sequence[Path], modules: Mapping[str, str], functions: Sequence[str]) -> Session:
        self._live.host = self._host
        if self._live.session is None:
            for folder in self._folders:
                folder.mkdir(mode=0o755, parents=True, exist_ok=True)
            built = () if self._environments is None else (self._environments.open_built(),)
            read = (*files, *self._folders, *built)
            sandbox = made_by(self._sandbox)
            self._live.session = sandbox.session(
                read=read,
                write=self._writable(),
                modules=modules,
                functions=functions,
                host=self._live.answer,
            )
        return self._live.session

    def _remove_new_in_copy(self, before: dict[str, tuple[int, int]]) -> None:
        """Remove the files that a program added to a copy that is full: the next program could write nothing."""
        copy = self._copy
        if copy is not None and is_full(str(copy.folder), copy.bytes, copy.entries):
            place = Outputs(copy.folder)
            place.remove([file for file in place.written_since(before) if file.name not in before])
            place.remove_new_folders(before)

    def _writable(self) -> list[Writable]:
        outputs = [Writable(self._outputs.make())] if self._outputs is not None else []
        return [*outputs, *([self._copy] if self._copy is not None else [])]

    async def variables(self, names: Sequence[str]) -> Result | None:
        """Return variables of the programs as an object; None if one is missing or is no value.

        Raises:
            StoppedError: The run's time is over.
        """
        code = f"{{name: globals()[name] for name in {list(names)!r}}}"
        request: dict[str, Json] = {"code": code, "modules": []}
        if self._live.session is None and not self._journal.holds(KIND, request):  # a run of an earlier version
            return None
        assert self._answer is not None
        return (await self.run(code, files=(), tools={}, functions=(), answer=self._answer)).result

    async def _host(self, name: str, arguments: dict[str, Json]) -> Json:
        assert self._answer is not None
        if name == FETCH:  # the carrier has limits and records of its own
            if self._carry is None:
                raise HostError("This program declares no hosts.")
            return await self._carry(HostRequest.read(arguments))
        if len(self._asked) >= _MOST_CALLS:
            raise HostError(f"A program may call the run's functions {_MOST_CALLS} times.")
        if name != "show":  # which keeps the picture in a file
            self._room -= (size := len(json.dumps(arguments)))
            if size > _LONGEST_REQUEST or self._room < 0:
                most = f"{_LONGEST_REQUEST:,} in one call, {_MOST_REQUESTED:,} in all"
                raise HostError(f"{name}(): the arguments of calls may take {most} characters.")
        self._asked.append([name, arguments])
        return await self._answer(name, arguments)

    async def aclose(self) -> None:
        """End the process, unless it belongs to a conversation."""
        if self._is_own:
            await self._live.aclose()


_MOST_CALLS = 100
_LONGEST_REQUEST = 400_000
_MOST_REQUESTED = 2_000_000
"""Characters of JSON that a program asks with; they are kept in the journal."""
_LONGEST_QUESTION = 20_000
"""Of a search and of a question to a specialist."""
_SHOWN = 8_000
"""Characters of output that an observation shows; the whole is kept in a file."""
_FOUND_TOOLS = 10
_SEARCHED_TOOLS = 3 * _FOUND_TOOLS
"""Drafts may be among them."""
_LONGEST_TEXT = 2_000_000
_LONGEST_PATH = 1_000
_USUAL = frozenset({"accept", "authorization", "content-type", "cookie", "user-agent"})
"""Headers that clients name themselves."""
_OF_CLIENTS = re.compile(
    r"user-agent: (?:Python-urllib|python-requests|python-httpx)/[\d.]{1,10}|accept: (?:\*/\*|application/json)|"
    r"content-type: (?:application/json|application/x-www-form-urlencoded|text/plain)(?:; ?charset=utf-8)?"
)
_NO_NETWORK = "Name the hosts in `hosts`, and use urllib.request, requests or httpx."
_LOST = "The session was started anew: variables of earlier programs are gone."


class HostError(ModelFixableError):
    """Why a call of a program to the run's functions gives nothing; it becomes an exception in the program."""


async def run_in_session(state: State, context: Context) -> Update:
    """Runs the program of the decision; the step's finding is what it printed, and why it failed if it did."""
    decision, host = decision_of(state), _Host(state, context)
    own, servers = await modules_of(state, context), server_modules(external_of(state))
    try:
        may, needs = declared(decision.code), await _needs(decision.code, context)
        packages = needs.and_packages(packages_of(decision.code, {**own, **needs.modules, **servers}))
    except LibraryError as wrong:
        return {"steps": [step(state, ok=False, finding=f"Not run: {wrong}")]}
    if (may.memory_mb or 0) > LIMITS.memory_mb:
        refused = f"Not run: a program has {LIMITS.memory_mb:,} MiB of memory; a tool may declare more."
        return {"steps": [step(state, ok=False, finding=refused)]}
    packages = tuple(one for one in packages if not is_provided(one))
    who = HostToReach("", "", "", imports=tuple(needs.modules))
    try:
        async with context.hosts.of_code(who, may, packages, doubts_of(state, context)) as carry:
            outcome = await context.python.run(
                decision.code,
                files=granted(state, context),
                tools={**own, **needs.modules},
                servers=servers,
                functions=_functions(state, context),
                answer=host.answer,
                packages=packages,
                carry=carry,
                seconds=may.seconds,
            )
    except NotPermittedError as refused:
        context.emit(ToolCalled("program", {}, False, one_line(refused.message)))
        return {"steps": [step(state, ok=False, finding=f"Not run: {refused.message}")]}
    except (StoppedError, ModelFixableError) as stopped:
        return {"steps": [step(state, ok=False, finding=stopped.message)]}
    printed = outcome.stdout.strip()
    text = printed or _plain(outcome.value)
    told = one_line(text or (outcome.problem.message if outcome.problem else "nothing"))
    context.emit(ToolCalled("program", {}, outcome.ok, told, outcome.seconds))
    result = outcome.result if outcome.ok else None
    value = text if outcome.ok and text else None
    value = value if result is None or result.said is None else result.said
    notes = [
        kept_whole(state, context, text),
        listing(context.python.written),
        "Of the output both ends are kept." if outcome.cut else "",
        _about_hosts(outcome.problem.message, may, needs) if outcome.problem else "",
        _LOST if outcome.fresh else "",
        "" if outcome.ok and text else _unseen(decision.code, state, context),
    ]
    note = " ".join(filter(None, notes))
    pictures, seen = await seen_pictures(host.shown, context, state["question"], is_read=False)
    finding = "\n".join(filter(None, [_finding(outcome, text), seen]))
    done = step(state, ok=outcome.ok, finding=finding, value=value, note=note, pictures=pictures)
    done = with_files_of(done, context.python.written)
    if result is not None and result.plain != result.said:
        done["plain"] = result.plain
    if outcome.ok and (found := await _of_variables(done, state, context)) is not None:
        done |= {"value": found.said, "plain": found.plain}
    await context.library.record_calls(outcome.called)
    update = host.asked.update
    used = [*update.get("used", []), *host.called, *(one.name for one in outcome.called if one.calls > one.failed)]
    return {"steps": [done | host.asked.marks], **update, "used": used}


def packages_of(code: str, modules: Collection[str] = ()) -> tuple[str, ...]:
    """The packages that code declares or imports and that do not come with alita.

    Raises:
        LibraryError: Its header is wrong.
    """
    from mcp_tools.environments.known import imported_packages

    named = declared(code).packages
    known = {import_name(one) for one in named}
    found = [*named, *(one for one in imported_packages(code, modules) if import_name(one) not in known)]
    return tuple(one for one in found if not is_provided(one))


def packages_behind(code: str) -> tuple[str, ...]:
    """The packages of a program of an earlier turn; none if its header was wrong, since it did not run."""
    try:
        return packages_of(code)
    except LibraryError:
        return ()


def _about_hosts(failure: str, may: Capabilities, needs: Needs) -> str:
    """A note for a program that failed, perhaps because it does not declare hosts that an imported tool needs."""
    lacking = []
    for tool in needs.tools:
        hosts = [one for one in tool.capabilities.hosts if one not in may.hosts]
        keys = [f"{{key:{one}}}" for one in tool.capabilities.keys if one not in may.keys]
        lacking += [f"{tool.name} needs {', '.join(hosts)} in `hosts`."] if hosts else []
        lacking += [f"{tool.name} needs {', '.join(keys)} in the program's text."] if keys else []
    return " ".join(lacking) or (_NO_NETWORK if failure.startswith("network is not granted") else "")


def doubts_of(state: State, context: Context, *, programs: bool = True) -> Callable[[HostRequest], bool]:
    """Says whether foreign text may be what asks for a request, or the request may carry the user's own away."""

    def doubts(request: HostRequest) -> bool:
        origins, text = origins_of(state, context), context.python.text
        sent = [request.body.decode("utf-8", "replace"), *_own_in_headers(request, text)]
        typed = (of_typed(one, request.url, origins) for one in sent)
        verdict = next((one for one in (of_address(request.url, origins), *typed) if one != FINE), FINE)
        if programs:
            verdict = of_program(verdict, [request.url, *filter(None, sent)], text, origins)
        return verdict != FINE

    return doubts


def _own_in_headers(request: HostRequest, text: ProgramText) -> list[str]:
    """What a program puts into headers: values, and names that do not stand in its text; not what clients send."""
    own = [pair for pair in request.headers if not _OF_CLIENTS.fullmatch(": ".join(pair))]
    return [value for _, value in own] + [name for name, _ in own if name not in _USUAL and not text.holds_name(name)]


def _unseen(code: str, state: State, context: Context) -> str:
    """A note about a path that the user named and that only a connected server can open."""
    seen = {str(path) for path in granted(state, context)}
    paths = re.findall(r"""["'](/[^"'\n]+)["']""", code) if external_of(state) else []
    unseen = next((path for path in paths if path not in seen and path.rstrip("/") in words_of_user(state)), "")
    return f"Programs cannot see {unseen}: call a server's function for it." if unseen else ""


async def _of_variables(done: Step, state: State, context: Context) -> Result | None:
    """The variables that the form of the answer names, if the result lacks them."""
    if not (names := variables_in(done.get("final", ""))):
        return None
    if done["value"] is not None:
        with contextlib.suppress(ValueError):
            answer_of(done, state["question"])
            return None
    with contextlib.suppress(StoppedError):
        return await context.python.variables(names)
    return None


def _finding(outcome: SessionOutcome, text: str) -> str:
    problem = outcome.problem
    parts = [
        middle_left_out(text, _SHOWN),
        f"stderr:\n{outcome.stderr.strip()[-2_000:]}" if outcome.stderr.strip() else "",
        f"It failed: {problem.message}\n{problem.traceback}".strip() if problem else "",
    ]
    return "\n".join(part for part in parts if part) or "It printed nothing."


def _plain(shown: str) -> str:
    """A value as people write it: a text without its quotes."""
    try:
        value = ast.literal_eval(shown)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return shown
    return value if isinstance(value, str) else shown


def _functions(state: State, context: Context) -> list[str]:
    without = state.get("without", [])
    names = ["read(source, page=1, find='')", "show(picture)", "find_tools(words)"]
    if "search" not in without:
        names.append("search(query, source='web')")
    if "ask" not in without:
        names.append("ask(question, agent='')")
    return [*names, f"{CALL_SERVER_TOOL}(name, arguments)", f"{FETCH}(method, url, headers, body)"]


class _Host:
    """Answers a program's calls under the same rules as the model's own."""

    def __init__(self, state: State, context: Context) -> None:
        self._state = state
        self._context = context
        self._asking = asyncio.Lock()
        self.asked = HandOvers(state)
        self.shown: list[Place] = []
        self.called: list[str] = []
        """Tools of connected servers that gave something."""

    async def answer(self, name: str, arguments: dict[str, Json]) -> Json:
        """The result of a call.

        Raises:
            HostError: It is not allowed, or gives nothing.
        """
        try:
            if name == "search":
                return await self._search(_text(arguments, "query"), arguments.get("source", "web"))
            if name == "ask":
                return await self._ask(_text(arguments, "question"), arguments.get("agent", ""))
            if name == "show":
                return await self._show(arguments)
            if name == "read":
                return await self._read(arguments)
            if name == "find_tools":
                return await self._find_tools(_text(arguments, "words"))
            if name == CALL_SERVER_TOOL:
                return await self._external(arguments)
            raise HostError(f"There is no function {name[:80]!r}.")
        except WebProblem as problem:
            raise HostError(f"{problem.message} {problem.remedy}".strip()) from None

    async def _search(self, query: str, source: Json) -> Json:
        if not isinstance(source, str) or source not in SOURCES:
            raise HostError(f"search(query, source='web'): source is one of {', '.join(SOURCES)}, not {source!r:.80}.")
        origins = origins_of(self._state, self._context)
        await self._allowed(of_query(query, origins), [query], "search", f"search {query}", origins)
        found = await self._context.web.search(query, source=SOURCES[source])
        return [{"title": hit.title, "url": hit.url, "snippet": hit.snippet} for hit in found]

    async def _ask(self, question: str, agent: Json) -> Json:
        if agent not in ("", *SPECIALISTS):
            raise HostError(f"There is no agent {str(agent)[:80]!r}; there are: {', '.join(SPECIALISTS)}.")
        origins = origins_of(self._state, self._context)
        await self._allowed(FINE, [question], "ask", f"ask {agent} {question}", origins)
        async with self._asking:  # threads of a program ask one after the other, too
            ok, text = await self.asked.ask(question, str(agent), self._context)
        if not ok:
            raise HostError(text)
        return text

    async def _read(self, arguments: dict[str, Json]) -> Json:
        source, context = _text(arguments, "source"), self._context
        if is_address(source):
            if "search" in self._state.get("without", []):
                raise HostError("Pages of the web are not read in this run.")
            origins = origins_of(self._state, context)
            source = origins.meant(source)
            verdict = of_address(source, origins)
            await self._allowed(verdict, [source], "read_file", f"read {source}", origins)
            page = await page_watched(source, context, self._state["question"])
            return text_for_program(page)
        file = await file_of_run(source, self._state, context) if len(source) <= _LONGEST_PATH else None
        if file is None:
            is_alone = "folder" not in self._state
            missing = f"There is no attached file {source[:200]!r}."
            raise HostError(missing if is_alone else no_such_file(source[:200], self._state))
        page, find = arguments.get("page", 1), arguments.get("find", "")
        if not isinstance(page, int) or page < 1 or not isinstance(find, str):
            raise HostError("read(source, page=1, find=''): page is a number from 1, find is a text.")
        place = Path(file["path"])
        part = await context.reader.read(place, file["name"], page=page, find=find, limit=_LONGEST_TEXT)
        if problem := part.get("problem"):
            raise HostError(str(problem))
        said = await watched(place, file["kind"], context, self._state["question"])
        more = "" if "page" in arguments or not part.get("more") else f"[Not all of {file['name']}: {part['more']}]"
        return "\n\n".join(filter(None, [said, str(part["text"]), more]))

    async def _find_tools(self, words: str) -> Json:
        """Approved tools of the library, which the program may import."""
        found = await self._context.library.search(words, _SEARCHED_TOOLS)
        approved = [tool for tool in found if tool.status is Status.VERIFIED][:_FOUND_TOOLS]
        return [
            {"name": tool.name, "signature": signature_of(tool), "description": tool.description}
            | ({"hosts": [*tool.capabilities.hosts]} if tool.capabilities.hosts else {})
            for tool in approved
        ]

    async def _show(self, arguments: dict[str, Json]) -> Json:
        """Keeps a picture, which is text in base64 or the name of a file, for the model to see."""
        picture, number = _text(arguments, "picture"), len(self.shown) + 1
        arguments["picture"] = picture[:_LONGEST_PATH]  # of what is no picture the journal keeps no more
        if number > MOST_OF_ONE:
            raise HostError(f"A program may show {MOST_OF_ONE} pictures.")
        path = self._picture_file(picture)
        if path is None and len(picture) <= _LONGEST_PATH and "." in picture:
            path = await file_in_folder(picture, self._state, self._context)
        if path is None:
            try:
                content = base64.b64decode(picture, validate=True)
            except ValueError:
                raise HostError("show(picture) takes a PIL image, the bytes of a picture, or a file's path.") from None
            suffix = "png" if content.startswith(b"\x89PNG") else "jpg"
            name = f"step_{step_number(self._state)}_picture_{number}.{suffix}"
            path = self._context.workspace.keep_bytes(name, content)
            arguments["picture"] = str(path)  # so that the journal holds its name, and not its bytes
        place = Place(path.name, path)
        if (copy := await prepared(place, self._context)) is None:
            raise HostError("This is not a picture that can be shown: use PNG or JPEG.")
        self.shown.append(place)
        self._context.emit(PictureShown(str(path), copy["path"]))
        return None

    def _picture_file(self, name: str) -> Path | None:
        """The file that a name means, if this run knows it."""
        if len(name) > _LONGEST_PATH:
            return None
        holders = [*self._state.get("attached", []), *self._state.get("steps", [])]
        shown = {picture["path"] for holder in holders for picture in holder.get("pictures", [])}
        file = file_named(name, self._state)
        path = Path(file["path"]) if file is not None else path_made(name, self._state, self._context)
        return Path(name) if name in shown else path

    async def _external(self, asked: dict[str, Json]) -> Json:
        name, arguments = _text(asked, "name"), asked.get("arguments")
        tool = external_named(name, self._state)
        if tool is None:
            raise HostError(f"No connected server has a tool {name[:80]!r}.")
        if not isinstance(arguments, dict):
            raise HostError(f"{CALL_SERVER_TOOL}(name, arguments): arguments is a dict.")
        verdict = ruling_on(tool, arguments, self._state, self._context)
        origins, server = origins_of(self._state, self._context), tool[SERVER]
        values = [*leaves(arguments), *(set(member_names(arguments)) - set(member_names(tool["inputSchema"])))]
        await self._allowed(verdict, values, "use_tool", call_text(name, arguments), origins, server)
        result = await call_external(self._context, name, arguments, self._state["question"])
        self.shown += result.places[: MOST_OF_ONE - len(self.shown)]
        self.asked.is_private = True
        if not result.ok:
            raise HostError(result.finding)
        self.called.append(name)
        self._context.python.results[server].append(result.text)
        return result.returned[0] if result.returned else result.text

    async def _allowed(
        self, verdict: Verdict, values: Sequence[str], kind: str, action: str, origins: Origins, server: str = ""
    ) -> None:
        """Holds a call against the text of the programs: whatever runs inside may have made it.

        Raises:
            HostError: It is not allowed.
        """
        python = self._context.python
        verdict = of_program(verdict, values, python.text, origins, python.results.get(server, ()))
        if why := await refusal_of_action(verdict, kind, action, words_of_user(self._state), self._context):
            raise HostError(f"This was not done: {why}")
        if kind != "ask":
            asked = parts(values[0]) if kind == "read_file" else arguments_in_parts(values)
            python.sent = [*python.sent, {name: value[:_LONGEST_PATH] for name, value in asked.items()}][-_MOST_CALLS:]


def _text(arguments: dict[str, Any], name: str) -> str:
    value = arguments.get(name)
    if not isinstance(value, str) or not value.strip():
        raise HostError(f"{name} must be a text that is not empty.")
    if name in ("query", "question", "words") and len(value) > _LONGEST_QUESTION:
        raise HostError(f"{name} may have {_LONGEST_QUESTION:,} characters, not {len(value):,}.")
    return value.strip()


def own_tools(state: State) -> list[dict[str, Any]]:
    """The shown tools of the library that the user approved; drafts and those of external servers are no modules."""
    return [tool for tool in state.get("tools", []) if SERVER not in tool and DRAFT not in tool]


async def _needs(code: str, context: Context) -> Needs:
    """The library's tools that a program imports, with all that these import.

    Raises:
        LibraryError: A tool is missing, damaged or not approved, or the header of the program is wrong.
    """
    get = context.library.get
    names = await tools_imported(code, get, packages=declared(code).packages)
    return await needs_of([name for name in names if name != MODULES], get)


async def modules_of(state: State, context: Context) -> dict[str, str]:
    """The sources of the library's tools that were shown, importable by name."""
    found = {}
    for shown in own_tools(state):
        try:
            found[str(shown["name"])] = (await context.library.get(str(shown["name"]))).source
        except (UnknownToolError, LibraryError):
            continue
    return found
