"""The action run_python: a program in the run's Python session, and the functions that it may call."""

from __future__ import annotations

import ast
import asyncio
import base64
import contextlib
import re
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.actions.hand_over import HandOvers
from agent.actions.server_tools import CALL_SERVER_TOOL, MODULES, external_named, external_of, server_modules
from agent.actions.tools import DRAFT, call_external, ruling_on
from agent.answering.answer_format import answer_of, variables_in
from agent.configuration.specialists import SPECIALISTS
from agent.consent.carried import arguments_in_parts, leaves, member_names, parts
from agent.consent.consent import signature_of
from agent.consent.external_tools import SERVER
from agent.consent.hosts import HostToReach
from agent.consent.origins import Origins
from agent.consent.permission import refusal_of_action, words_of_user
from agent.consent.program import ProgramText
from agent.consent.provenance import FINE, Verdict, of_address, of_program, of_query, of_typed
from agent.context import Context, Update, kept_whole
from agent.events import PictureShown, ToolCalled
from agent.material.attached import file_in_folder, file_named, file_of_run, granted, no_such_file, path_made
from agent.material.origins import origins_of
from agent.material.outputs import listing, with_files_of
from agent.material.pages import text_for_program
from agent.material.pictures import MOST_OF_ONE, Place, page_watched, prepared, seen_pictures, watched
from agent.recorders.journaled_python import FETCH, LIMITS, MOST_CALLS, HostError
from agent.state import State, Step
from agent.steps import decision_of, step, step_number
from agent.web.address import is_address
from agent.web.page import SOURCES, WebProblem
from mcp_tools.errors import (
    LibraryError,
    ModelFixableError,
    NotPermittedError,
    StoppedError,
    UnknownToolError,
)
from mcp_tools.header import declared
from mcp_tools.hosts import HostRequest
from mcp_tools.library.dependencies import Needs, needs_of, tools_imported
from mcp_tools.packages import import_name, is_provided
from mcp_tools.sandbox.protocol import Result, SessionOutcome
from mcp_tools.text import middle_left_out, one_line
from mcp_tools.tool import Capabilities, Json, Status, call_text

if TYPE_CHECKING:
    pass


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
            python.sent = [*python.sent, {name: value[:_LONGEST_PATH] for name, value in asked.items()}][-MOST_CALLS:]


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
