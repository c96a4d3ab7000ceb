"""The functions that a program may call: the actions of its run, under the same rules."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agent.actions.ask import HandOvers
from agent.actions.read import Read
from agent.actions.search import Search
from agent.actions.server_tools import CALL_SERVER_TOOL, external_named
from agent.actions.tools import call_external, ruling_on
from agent.calls.python_session import FETCH, MOST_CALLS, FunctionCallError
from agent.configuration.specialists import SPECIALISTS
from agent.consent.encodings import address_parts, argument_parts, member_names, values_in
from agent.consent.permission import refusal_of_action, words_of_user
from agent.consent.rulings import FINE, Verdict, judge_program
from agent.consent.text_origins import Origins
from agent.context import Context
from agent.events import PictureShown
from agent.material.attached import file_in_folder, file_named, file_of_run, no_such_file, path_made
from agent.material.origins import origins_of
from agent.material.pages import text_for_program
from agent.material.pictures import MOST_OF_ONE, Place, page_watched, prepared, watched
from agent.state import State
from agent.steps import step_number
from agent.web.address import is_address
from agent.web.page import SOURCES, WebProblem
from mcp_tools.tool import Json, Status, call_text, signature_of

_SEARCH, _READ = Search(), Read()
_LONGEST_QUESTION = 20_000
"""Maximum characters of a query or of a question to a specialist."""
_FOUND_TOOLS = 10
_SEARCHED_TOOLS = 3 * _FOUND_TOOLS
"""Number of tools to search for, since some results may be drafts."""
_LONGEST_TEXT = 2_000_000
_LONGEST_PATH = 1_000


def function_names(state: State, context: Context) -> list[str]:
    """Return the signatures of the functions that programs of this run may call."""
    without = state.get("without", [])
    names = ["read(source, page=1, find='')", "show(picture)", "find_tools(words)"]
    if "search" not in without:
        names.append("search(query, source='web')")
    if "ask" not in without:
        names.append("ask(question, agent='')")
    return [*names, f"{CALL_SERVER_TOOL}(name, arguments)", f"{FETCH}(method, url, headers, body)"]


class ProgramFunctions:
    """Answers a program's calls under the same rules as the model's own calls."""

    def __init__(self, state: State, context: Context) -> None:
        self._state = state
        self._context = context
        self._asking = asyncio.Lock()
        self.asked = HandOvers(state)
        self.shown: list[Place] = []
        self.called: list[str] = []
        """Tools of connected servers that returned a result."""

    async def answer(self, name: str, arguments: dict[str, Json]) -> Json:
        """Return the result of a call.

        Raises:
            FunctionCallError: The call is not allowed, or failed.
        """
        try:
            if name == "search":
                return await self._search(_text_argument(arguments, "query"), arguments.get("source", "web"))
            if name == "ask":
                return await self._ask(_text_argument(arguments, "question"), arguments.get("agent", ""))
            if name == "show":
                return await self._show(arguments)
            if name == "read":
                return await self._read(arguments)
            if name == "find_tools":
                return await self._find_tools(_text_argument(arguments, "words"))
            if name == CALL_SERVER_TOOL:
                return await self._external(arguments)
            raise FunctionCallError(f"There is no function {name[:80]!r}.")
        except WebProblem as problem:
            raise FunctionCallError(f"{problem.message} {problem.remedy}".strip()) from None

    async def _search(self, query: str, source: Json) -> Json:
        if not isinstance(source, str) or source not in SOURCES:
            raise FunctionCallError(
                f"search(query, source='web'): source is one of {', '.join(SOURCES)}, not {source!r:.80}."
            )
        origins = origins_of(self._state, self._context)
        await self._allowed(_SEARCH.ruling(query, origins), [query], "search", f"search {query}", origins)
        found = await self._context.web.search(query, source=SOURCES[source])
        return [{"title": hit.title, "url": hit.url, "snippet": hit.snippet} for hit in found]

    async def _ask(self, question: str, agent: Json) -> Json:
        if agent not in ("", *SPECIALISTS):
            raise FunctionCallError(f"There is no agent {str(agent)[:80]!r}; there are: {', '.join(SPECIALISTS)}.")
        origins = origins_of(self._state, self._context)
        await self._allowed(FINE, [question], "ask", f"ask {agent} {question}", origins)
        async with self._asking:  # one call at a time, even from several threads of the program
            ok, text = await self.asked.ask(question, str(agent), self._context)
        if not ok:
            raise FunctionCallError(text)
        return text

    async def _read(self, arguments: dict[str, Json]) -> Json:
        source, context = _text_argument(arguments, "source"), self._context
        if is_address(source):
            if "search" in self._state.get("without", []):
                raise FunctionCallError("Pages of the web are not read in this run.")
            origins = origins_of(self._state, context)
            source = origins.known_link_for(source)
            await self._allowed(_READ.ruling(source, origins), [source], "read_file", f"read {source}", origins)
            page = await page_watched(source, context, self._state["question"])
            return text_for_program(page)
        file = await file_of_run(source, self._state, context) if len(source) <= _LONGEST_PATH else None
        if file is None:
            is_alone = "folder" not in self._state
            missing = f"There is no attached file {source[:200]!r}."
            raise FunctionCallError(missing if is_alone else no_such_file(source[:200], self._state))
        page, find = arguments.get("page", 1), arguments.get("find", "")
        if not isinstance(page, int) or page < 1 or not isinstance(find, str):
            raise FunctionCallError("read(source, page=1, find=''): page is a number from 1, find is a text.")
        place = Path(file["path"])
        part = await context.reader.read(place, file["name"], page=page, find=find, limit=_LONGEST_TEXT)
        if problem := part.get("problem"):
            raise FunctionCallError(str(problem))
        seen = await watched(place, file["kind"], context, self._state["question"])
        more = "" if "page" in arguments or not part.get("more") else f"[Not all of {file['name']}: {part['more']}]"
        return "\n\n".join(filter(None, [seen, str(part["text"]), more]))

    async def _find_tools(self, words: str) -> Json:
        """Return approved tools of the library, which the program may import."""
        found = await self._context.library.search(words, _SEARCHED_TOOLS)
        approved = [tool for tool in found if tool.status is Status.VERIFIED][:_FOUND_TOOLS]
        return [
            {"name": tool.name, "signature": signature_of(tool), "description": tool.description}
            | ({"hosts": [*tool.capabilities.hosts]} if tool.capabilities.hosts else {})
            for tool in approved
        ]

    async def _show(self, arguments: dict[str, Json]) -> Json:
        """Show the model a picture, given as base64 text or the name of a file."""
        picture, number = _text_argument(arguments, "picture"), len(self.shown) + 1
        arguments["picture"] = picture[:_LONGEST_PATH]  # an invalid picture must not fill the journal
        if number > MOST_OF_ONE:
            raise FunctionCallError(f"A program may show {MOST_OF_ONE} pictures.")
        path = self._picture_file(picture)
        if path is None and len(picture) <= _LONGEST_PATH and "." in picture:
            path = await file_in_folder(picture, self._state, self._context)
        if path is None:
            try:
                content = base64.b64decode(picture, validate=True)
            except ValueError:
                raise FunctionCallError(
                    "show(picture) takes a PIL image, the bytes of a picture, or a file's path."
                ) from None
            suffix = "png" if content.startswith(b"\x89PNG") else "jpg"
            name = f"step_{step_number(self._state)}_picture_{number}.{suffix}"
            path = self._context.workspace.keep_bytes(name, content)
            arguments["picture"] = str(path)  # the journal keeps the path, not the bytes
        place = Place(path.name, path)
        if (copy := await prepared(place, self._context)) is None:
            raise FunctionCallError("This is not a picture that can be shown: use PNG or JPEG.")
        self.shown.append(place)
        self._context.emit(PictureShown(str(path), copy["path"]))
        return None

    def _picture_file(self, name: str) -> Path | None:
        """Return the run's file with this name, or None if the run has no such file."""
        if len(name) > _LONGEST_PATH:
            return None
        holders = [*self._state.get("attached", []), *self._state.get("steps", [])]
        shown = {picture["path"] for holder in holders for picture in holder.get("pictures", [])}
        file = file_named(name, self._state)
        path = Path(file["path"]) if file is not None else path_made(name, self._state, self._context)
        return Path(name) if name in shown else path

    async def _external(self, asked: dict[str, Json]) -> Json:
        name, arguments = _text_argument(asked, "name"), asked.get("arguments")
        tool = external_named(name, self._state)
        if tool is None:
            raise FunctionCallError(f"No connected server has a tool {name[:80]!r}.")
        if not isinstance(arguments, dict):
            raise FunctionCallError(f"{CALL_SERVER_TOOL}(name, arguments): arguments is a dict.")
        verdict = ruling_on(tool, arguments, self._state, self._context)
        origins, server = origins_of(self._state, self._context), tool.server
        values = [*values_in(arguments), *(set(member_names(arguments)) - set(member_names(tool.input_schema)))]
        await self._allowed(verdict, values, "use_tool", call_text(name, arguments), origins, server)
        result = await call_external(self._context, name, arguments, self._state["question"])
        self.shown += result.places[: MOST_OF_ONE - len(self.shown)]
        self.asked.is_private = True
        if not result.ok:
            raise FunctionCallError(result.finding)
        self.called.append(name)
        self._context.python.results[server].append(result.text)
        return result.returned[0] if result.returned else result.text

    async def _allowed(
        self, verdict: Verdict, values: Sequence[str], kind: str, action: str, origins: Origins, server: str = ""
    ) -> None:
        """Check a call against the text of the programs, since any code in the process may have made it.

        Raises:
            FunctionCallError: The call is not allowed.
        """
        python = self._context.python
        verdict = judge_program(verdict, values, python.text, origins, python.results.get(server, ()))
        if why := await refusal_of_action(verdict, kind, action, words_of_user(self._state), self._context):
            raise FunctionCallError(f"This was not done: {why}")
        if kind != "ask":
            asked = address_parts(values[0]) if kind == "read_file" else argument_parts(values)
            python.sent = [*python.sent, {name: value[:_LONGEST_PATH] for name, value in asked.items()}][-MOST_CALLS:]


def _text_argument(arguments: dict[str, Any], name: str) -> str:
    value = arguments.get(name)
    if not isinstance(value, str) or not value.strip():
        raise FunctionCallError(f"{name} must be a text that is not empty.")
    if name in ("query", "question", "words") and len(value) > _LONGEST_QUESTION:
        raise FunctionCallError(f"{name} has {len(value):,} characters; the limit is {_LONGEST_QUESTION:,}.")
    return value.strip()
