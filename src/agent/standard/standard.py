"""The standard strategy: a capable model decides by calling functions in a growing conversation."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from mimetypes import guess_type
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from agent.actions.create_tool import propose_tool
from agent.actions.registry import refusal_of
from agent.actions.run_python import run_in_session
from agent.actions.tools import asked_before
from agent.answering.answer_format import answer_text, problem_of
from agent.browser.tasks import BrowserOutcome
from agent.consent.permission import is_asked_for
from agent.consent.rulings import FINE, judge_address
from agent.consent.text_origins import Origins
from agent.context import Context, NextActions, PromptLimits, Strategy, Update
from agent.conversation import programs_in
from agent.errors import ModelError, ModelOutputError, ModelTooLongError, PicturesRefusedError
from agent.events import Note
from agent.learning.planner import brief, replan, why_replan
from agent.material.attached import ROOM_OF_ALL, unread_files
from agent.material.origins import origins_of
from agent.material.picture_messages import without_pictures
from agent.material.pictures import tell_instead
from agent.models.protocol import Completion, Message, Role, ToolCall
from agent.standard.functions import decision_of_call, functions_for
from agent.standard.messages import messages_for
from agent.state import Decision, Interjection, Reply, State
from agent.steps import preview, step_number
from agent.web.address import addresses_in
from mcp_tools.prompt import data_block, data_blocks
from mcp_tools.text import count_of, one_line

if TYPE_CHECKING:
    from agent.material.research_request import ResearchRequest
    from agent.web.evidence import Evidence

ATTEMPTS = 3
"""Number of attempts to get a reply with a usable call. Each retry shows the reasons for the failure."""
_MOST_CALLS = 8
"""Maximum number of calls in a reply."""
_INCOMPLETE = re.compile(r"[?&][^=&]*=$|…|[{}]")  # an address with a placeholder: `…/search?q=`, `/boats/{name}`
_MOST_PAGES = 4
"""Maximum number of pages read before the model is asked."""
_TOKENS = 8_000
"""Maximum tokens of a reply, which may contain a whole module."""
_EMPTY = "Your reply was empty. Call a function, or reply with the answer."
_NO_CALL = "A tool is wanted and not an answer: call a function."
_GIVES_UP = "no tool could be created, as the model says"
_CUT = "Your reply was cut off at {} tokens. Write less at once."
_LAST = "No more calls are possible: {}. Reply with the best answer that the above allows, and say where it is unsure."
_DOUBT = (
    "This answer is doubtful: {}. Make one more attempt in another way. If nothing better can be had, reply with the "
    "best answer all the same."
)
_SUMMARISE = (
    "There is no room for all of this. Sum it up in at most 300 words for going on with the question: what was done, "
    "what was found, with values, sources and the paths of files, and what failed. Call nothing."
)
_SUMMARY_TOKENS = 1_000
_CUT_TURNS = 2_000
"""Maximum characters kept of turns or calls that cannot be summarised."""
LIMITS = PromptLimits(
    reading=8_000,
    section=8_000,
    files=ROOM_OF_ALL,
    addresses=3_000,
    evidence=8_000,
    history=16_000,
    thoughts=12_000,
    tools=5,
    small_library=8,
)


class Standard(Strategy):
    """The strategy for capable models: a conversation with function calls."""

    limits = LIMITS

    async def decide(self, state: State, context: Context) -> NextActions:
        """Return the next actions: a rule's call, else the model's calls or answer."""
        if not state.get("steps"):
            if (known := asked_before(state)) is not None:
                return _by_rule([known], state)
            if pages := _pages_named(state, context):
                return _by_rule(pages, state, is_free=True)
        if state["purpose"].wants_tool and (end := _tool_wanted(state)) is not None:
            return NextActions([end])
        why = why_replan(state, context.replan_steps)
        plans = [await replan(state, context, _names(state), why)] if why else []
        sent = await context.new_messages(state.get("turns", 0)) if state["purpose"].is_users else []
        interjections = [Interjection(replies=len(state.get("replies", [])), text=text) for text in sent]
        state = {
            **state,
            "plans": [*state.get("plans", []), *plans],
            "interjections": [*state.get("interjections", []), *interjections],
        }
        replies: list[Reply] = []
        problem = ""
        for _ in range(ATTEMPTS):
            try:
                choice = _chosen(await self._ask(state, context, replies), state, replies)
            except ModelOutputError as unusable:
                message = Completion(unusable.text).as_message()
                choice = NextActions([], [*replies, Reply(message=message, refused={}, remark=unusable.message)])
            replies = choice.replies
            if choice.decisions:
                if choice.decisions[0].why.startswith(_GIVES_UP):
                    context.emit(Note(choice.decisions[0].why))
                return replace(choice, plans=plans, interjections=interjections)
            refusals = (refusal.partition("\n")[0] for refusal in replies[-1]["refused"].values())
            remark = replies[-1]["remark"].partition(". ")[0].replace("Your reply", "its reply")
            problem = remark or "; ".join(refusals)  # the user does not need the advice that follows for the model
        if (rule := _fallback(state)) is not None:
            chosen = _by_rule([rule], state)
            return NextActions(chosen.decisions, [*replies, *chosen.replies], plans, interjections)
        raise ModelOutputError(f"the model gave no valid action in {ATTEMPTS} attempts: {one_line(problem, 200)}")

    async def brief(self, state: State, context: Context) -> Update:
        """Return the planner's brief, based on the gap records that fit."""
        return await brief(state, context, _names(state))

    async def _ask(self, state: State, context: Context, replies: list[Reply], closing: str = "") -> Completion:
        room = context.room
        if room.earlier_size > room.characters and room.shorten_earlier() and room.earlier_size > room.characters:
            await self._fold_earlier(state, context)
        messages = self._messages(state, [*state.get("replies", []), *replies], context)
        messages += [{"role": "user", "content": closing}] if closing else []
        try:
            return await context.complete(
                Role.COORDINATOR, messages, tools=functions_for(state), max_tokens=_TOKENS, on_delta=context.on_answer
            )
        except PicturesRefusedError as refused:
            if not context.sight.is_shown:
                raise
            await tell_instead(state, context, refused.message)
        except ModelTooLongError:
            if not await self._make_room(state, context):
                raise
        return await self._ask(state, context, replies, closing)

    def _messages(self, state: State, replies: Sequence[Reply], context: Context) -> list[Message]:
        most, room, sight = context.most_steps(state), context.room, context.sight
        return messages_for(state, replies, most_steps=most, room=room, sight=sight)

    async def _make_room(self, state: State, context: Context) -> bool:
        """Shorten results, then summarise turns and calls. Return False if nothing more can be shortened."""
        room = context.room
        if room.shorten_earlier():
            return True
        if room.earlier_size > room.characters // 4 and await self._fold_earlier(state, context):
            return True
        return room.shrink() or await self._fold(state, context) or await self._fold_earlier(state, context)

    async def _fold_earlier(self, state: State, context: Context) -> bool:
        """Summarise the older half of the earlier turns. Return False if there are too few."""
        room = context.room
        if not (count := room.foldable):
            return False
        older = [message for turn in room.earlier[:count] for message in turn]
        system = self._messages(state, [], context)[0]
        asked = [system, *older, {"role": "user", "content": _SUMMARISE}]
        try:
            completion = await context.complete(Role.COORDINATOR, asked, max_tokens=_SUMMARY_TOKENS)
            summary = completion.text.strip()
        except (ModelError, ModelOutputError):
            summary = ""
        how = "summarised" if summary else "cut to their beginnings and ends"
        context.emit(Note(f"{count_of(count, 'earlier turn')} {how} to make room"))
        summary = summary or preview(
            "\n".join(str(m.get("content") or "") for m in older if m["role"] != "tool"), _CUT_TURNS
        )
        files = "\n".join(f"{file['name']}: {file['path']}" for file in state.get("attached", []) if file["path"])
        if programs := programs_in(older):
            path = context.workspace.keep_text("earlier_programs.py", "\n\n\n".join(programs))
            files = f"{files}\nThe programs of these turns: {path}".strip()
        blocks = [data_block("summary", summary), *([data_block("files", files)] if files else [])]
        room.fold_earlier(count, data_blocks(blocks))
        return True

    async def _fold(self, state: State, context: Context) -> bool:
        """Summarise the older half of the calls. Return False if there are too few."""
        room, replies = context.room, state.get("replies", [])
        if (half := (len(replies) - room.folded) // 2) == 0:
            return False
        older = messages_for(state, replies[: room.folded + half], most_steps=context.most_steps(state), room=room)
        asked = [*older, {"role": "user", "content": _SUMMARISE}]
        try:
            summary = (await context.complete(Role.COORDINATOR, asked, max_tokens=_SUMMARY_TOKENS)).text.strip()
        except (ModelError, ModelOutputError) as problem:
            context.emit(Note(f"the older calls are omitted, because they could not be summarised: {problem.message}"))
            summary = ""
        results = "\n".join(str(m.get("content") or "") for m in older if m["role"] in ("assistant", "tool"))
        room.folded, room.summary = room.folded + half, summary or preview(results, _CUT_TURNS)
        return bool(room.summary)

    async def best_guess(self, state: State, context: Context) -> str:
        """Ask the model for its best answer. Return an empty text if it gives none."""
        limit = state.get("limit")
        why = f"the limit of {limit} is reached" if limit else "the calls so far could not be carried out"
        return (await self._ask(state, context, [], _LAST.format(why))).text.strip()

    async def research(self, wanted: ResearchRequest, context: Context) -> Evidence:
        """Return quotations from the best pages, by rules."""
        from agent.material.research import research
        from agent.web.queries import usable

        return await research(wanted, context, usable([wanted.aim]), quotes=8, follow_ups=0)

    async def operate(
        self, task: str, url: str, files: tuple[Path, ...], origins: Origins, context: Context
    ) -> BrowserOutcome:
        """Do a task on a website with browser-use."""

        async def ask(messages: Sequence[Message], **options: Any) -> Any:
            try:
                return await context.complete(Role.BROWSER, messages, **options)
            except PicturesRefusedError:
                return await context.complete(Role.BROWSER, without_pictures(messages), **options)

        return await context.browser.do(task, url, files, ask, origins=origins)

    async def program(self, state: State, context: Context) -> Update:
        """Run the model's program in the run's session."""
        return await run_in_session(state, context)

    async def create(self, state: State, context: Context) -> Update:
        """Prove the model's tool with tests that an examiner writes from the tool's definition."""
        return await propose_tool(state, context)

    def transcript(self, state: State, context: Context) -> list[Message]:
        """Return the question, and each call with its result."""
        if "tools" not in state:
            return []
        sent = self._messages(state, state.get("replies", []), context)
        return sent[1 + sum(map(len, context.room.earlier)) :]

    async def is_wanted(self, action: str, wanted: str, context: Context) -> bool:
        """Ask the model if the user's own words ask for the action."""
        return await is_asked_for(action, wanted, context)

    def doubt(self, text: str, why: str) -> list[Reply]:
        """Return the answer with the reason for the doubt, as a message to the model."""
        return [Reply(message=Completion(text).as_message(), refused={}, remark=_DOUBT.format(why))]


def _names(state: State) -> list[str]:
    return [form["function"]["name"] for form in functions_for(state)]


def _chosen(completion: Completion, state: State, replies: list[Reply]) -> NextActions:
    """Return the valid actions in a model's reply."""
    message = completion.as_message()
    if not completion.tool_calls:
        text, is_cut = completion.text.strip(), completion.finish == "length"
        if text and not is_cut and (not state["purpose"].wants_tool or "wraps" in state):
            return NextActions([Decision("answer", answer=text)], replies)
        if text and not is_cut and any(step["action"] == "create_tool" for step in state.get("steps", [])):
            return NextActions([Decision("answer", f"{_GIVES_UP}: {one_line(text, 300)}")], replies)
        remark = _CUT.format(completion.usage.output_tokens) if is_cut else _NO_CALL if text else _EMPTY
        return NextActions([], [*replies, Reply(message=message, refused={}, remark=remark)])
    decisions: list[Decision] = []
    refused: dict[str, str] = {}
    for call in completion.tool_calls:
        earlier = [*state.get("replies", []), *replies]
        decision = None if call.problem else decision_of_call(call, completion.text, earlier, state["tools"])
        reason = call.problem if decision is None else _refusal_of(decision, decisions, state)
        if decision is None or reason:
            refused[call.id] = reason
        else:
            decisions.append(decision)
    return NextActions(decisions, [*replies, Reply(message=message, refused=refused, remark="")])


def _refusal_of(decision: Decision, before: Sequence[Decision], state: State) -> str:
    """Return why a call is not carried out; empty if it is."""
    if len(before) == _MOST_CALLS:
        return f"More than {_MOST_CALLS} calls at once."
    if any(decision.input == other.input for other in before):
        return "The same call comes before it."
    if decision.action == "create_tool" and not decision.code.strip():
        return "There is no code: no tool was proposed before."
    form = decision.ending.form
    if form and (problem := problem_of(form, may_be_plain=decision.action == "run_code")):
        return problem
    return refusal_of(decision, state) or ""


def _pages_named(state: State, context: Context) -> list[Decision]:
    """Return decisions to read the pages in the question, except films and sounds."""
    named = [url for url in addresses_in(state["question"]) if not _INCOMPLETE.search(url)]
    pages = [Decision("read_file", "The question names it.", file=url) for url in named]
    if not pages or state["purpose"].wants_tool or state.get("agent") == "browser":
        return []
    origins = origins_of(state, context)
    return [
        page
        for page in pages
        if refusal_of(page, state) is None
        and judge_address(page.file, origins) == FINE
        and not (guess_type(urlsplit(page.file).path)[0] or "").startswith(("video/", "audio/"))
    ][:_MOST_PAGES]


def _by_rule(decisions: Sequence[Decision], state: State, *, is_free: bool = False) -> NextActions:
    """Return decisions by rule as function calls, so that the conversation shows them."""
    calls = []
    for number, decision in enumerate(decisions, step_number(state)):
        name, arguments = decision.tool, decision.arguments
        if decision.action == "read_file":
            name, arguments = "read", {"source": decision.file}
        elif decision.action == "search":
            name, arguments = "search", {"query": decision.query}
        calls.append(ToolCall(f"rule_{number}", name, json.dumps(arguments)))
    reply = Reply(message=Completion("", tool_calls=tuple(calls)).as_message(), refused={}, remark="")
    if is_free:
        reply["is_free"] = True
    return NextActions([replace(one, call=call.id) for one, call in zip(decisions, calls, strict=True)], [reply])


def _tool_wanted(state: State) -> Decision | None:
    """Return the last decision of a run for a tool, once the tool exists or several attempts failed; else None."""
    steps = state.get("steps", [])
    if steps and (state.get("created") or state.get("used") or steps[-1]["ending"].ends_run):
        value = steps[-1]["value"]
        return Decision(
            "answer", "The tool is there.", answer="" if value is None else answer_text(value, state["question"])
        )
    tries = sum(step["action"] == "create_tool" for step in steps)
    return Decision("answer", "No tool could be created.") if tries >= ATTEMPTS else None


def _fallback(state: State) -> Decision | None:
    """Return a rule's action if the model failed: read an unread file, else search for the question once."""
    if state["purpose"].wants_tool:
        return None
    why = "The model chose nothing that can be done."
    if files := unread_files(state):
        return Decision("read_file", why, file=files[0]["name"])
    searched = any(step["action"] == "search" for step in state.get("steps", []))
    if searched or "search" in state.get("without", []) or state.get("files") or state.get("folder"):
        return None
    return Decision("search", why, query=one_line(state["question"], 200))
