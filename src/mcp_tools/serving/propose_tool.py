"""Handle `propose_tool`: prove code that a client wrote, without using a model, and accept or reject it."""

from __future__ import annotations

import asyncio
import re
import time
from collections import deque
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Literal

from mcp_tools.errors import AlitaError, IsolationError, PolicyError
from mcp_tools.serving.catalogue import Catalogue
from mcp_tools.serving.client_call import (
    ClientCall,
    ClientReply,
    ServerLimits,
    digest,
    error_reply,
    heartbeat,
    refusal_reply,
    value_reply,
)
from mcp_tools.serving.client_proposal import (
    ClientExaminer,
    ProposalStore,
    client_may_replace,
    client_name,
    docstring_examples,
    extract_function,
    proposed_name,
    tests_of,
    unsupported_capabilities,
)
from mcp_tools.serving.code_reader import CodeReader
from mcp_tools.serving.elicitation import ask_user, can_ask
from mcp_tools.tool import Json, Status, Tool

if TYPE_CHECKING:
    from mcp_types import InputRequiredResult

    from mcp_tools.create.interfaces import Creation, Proposal, Test
    from mcp_tools.run import Carried
    from mcp_tools.sandbox.protocol import Sandbox

MAX_EXAMPLES = 50
_MAX_WAITING = 4
_MAX_RECENT, _RECENT_SECONDS = 60, 600.0
_PROOF_SECONDS = 300.0
_SENT_BACK_SECONDS = 86_400.0
"""How long we remember that a proposal was sent back because of weak examples, in seconds."""
_MAX_SHOWN_CHARS = 4000
"""Maximum length of code that is shown in a question to the user."""
_FORM: dict[str, Json] = {
    "type": "object",
    "properties": {"allow": {"type": "boolean", "title": "Keep", "description": "Keep this tool in your library."}},
    "required": ["allow"],
}


@dataclass(frozen=True, slots=True)
class ProposalRules:
    """The user's rules for tools that clients propose."""

    approval: Literal["ask", "auto", "never"] = "ask"
    carried: Carried | None = None
    """Function that checks the packages, time and memory that proposed code declares; see `mcp_tools.run.Carried`."""


class _UserInputRequiredError(Exception):
    """The client must ask its user, and repeat the call with the answer."""

    def __init__(self, question: InputRequiredResult) -> None:
        self.question = question


@dataclass(slots=True)
class _Turn:
    """One proposal's exclusive right to run a proof. While the user is asked, it is released and the clock stops."""

    lock: asyncio.Lock
    limit: asyncio.Timeout
    is_held: bool = False

    async def acquire(self) -> None:
        """Wait for earlier proposals to finish, then start the time limit."""
        await self.lock.acquire()
        self.is_held = True
        self.limit.reschedule(asyncio.get_running_loop().time() + _PROOF_SECONDS)

    def release(self) -> None:
        """Let the next proposal start."""
        if self.is_held:
            self.is_held = False
            self.limit.reschedule(None)
            self.lock.release()


class ToolProposals:
    """Proves the tools that clients propose, one at a time, and keeps them if the user's settings allow it."""

    def __init__(
        self, catalogue: Catalogue, sandbox: Sandbox, limits: ServerLimits, rules: ProposalRules, reader: CodeReader
    ) -> None:
        self._catalogue = catalogue
        self._sandbox = sandbox
        self._limits = limits
        self._rules = rules
        self._reader = reader
        self._lock = asyncio.Lock()
        self._waiting = 0
        self._recent: deque[float] = deque()

    async def propose(self, call: ClientCall) -> ClientReply | InputRequiredResult:
        """Handle one `propose_tool` call. The reply names the registered tool or lists the problems to fix."""
        if self._rules.approval == "never":
            return self._refused(["no tools can be added, because the user of this server set `approval` to never"])
        if self._waiting > _MAX_WAITING or self._is_too_frequent():
            message = "too many tools are being proposed"
            return error_reply("busy", message, remedy="Propose one tool at a time, and try again in a minute.")
        self._waiting += 1
        try:
            async with heartbeat(call, "the proof", _PROOF_SECONDS), asyncio.timeout(None) as limit:
                turn = _Turn(self._lock, limit)
                try:
                    await turn.acquire()
                    return await self._prove(call, turn)
                finally:
                    turn.release()
        except TimeoutError:
            message = f"the proof did not finish within {_PROOF_SECONDS:.0f} s"
            return error_reply("wall_time", message, remedy="Propose faster code, or examples with smaller values.")
        except _UserInputRequiredError as required:
            return required.question
        except PolicyError as error:
            return refusal_reply(error)
        except IsolationError:
            raise
        except AlitaError as error:
            return self._refused([str(error)])
        finally:
            self._waiting -= 1

    def _is_too_frequent(self) -> bool:
        now = time.monotonic()
        while self._recent and self._recent[0] < now - _RECENT_SECONDS:
            self._recent.popleft()
        if len(self._recent) >= _MAX_RECENT:
            return True
        self._recent.append(now)
        return False

    async def _prove(self, call: ClientCall, turn: _Turn) -> ClientReply:
        from mcp_tools.create.prove import prove

        who = client_name(call)
        code, name, given = call.arguments["code"], call.arguments.get("name", ""), call.arguments.get("examples")
        await self._reader.require_quick(code)
        code = await asyncio.to_thread(extract_function, code, name)
        if given is None:
            given = (await asyncio.to_thread(docstring_examples, code, name))[:MAX_EXAMPLES]
        tests, problems = tests_of(given)
        if problems:
            return self._refused(problems)
        was_sent_back = await call.markers.has(_sent_back_marker(proposed_name(code, name)))
        proposal = await self._proposal(code, name, tests, who, attempt=2 if was_sent_back else 1)
        if problems := unsupported_capabilities(proposal):
            return self._refused(problems)
        name = proposed_name(proposal.code, proposal.name)
        store = ProposalStore(
            self._catalogue, self._rules.approval, who, name, lambda tool: self._ask_to_keep(tool, call, who, turn)
        )
        # nameless, so that the permissions of a library tool with the same name do not apply
        may = {"capabilities": asdict(proposal.capabilities)}
        program = Tool("", "", {}, {}, proposal.code, status=Status.VERIFIED, provenance=may)
        carried = self._rules.carried
        async with carried(program, proposal.needs) if carried else nullcontext():
            if problems := await self._misfits(proposal, tests):
                return self._refused(problems)
            creation = await prove(
                proposal,
                examiner=ClientExaminer(who, tests),
                sandbox=self._sandbox,
                library=store,
                notify=lambda _: None,
            )
        return await self._reply_for(creation, store, proposal, call)

    async def _proposal(self, code: str, name: str, tests: Sequence[Test], who: str, *, attempt: int) -> Proposal:
        """Return the proposal to prove. The first example that has a result becomes its main call.

        Raises:
            LibraryError: The header is invalid, or an imported tool is missing.
        """
        from mcp_tools.checks.header import declared
        from mcp_tools.create.interfaces import Proposal
        from mcp_tools.library.dependencies import needs_of, tools_imported

        wanted, found = declared(code), self._catalogue.library.get_async
        names = await tools_imported(code, found, declared=wanted.tools, packages=wanted.packages)
        return Proposal(
            question="",  # empty, so that the tool is never used to answer a repeated question from the user
            code=code,
            name=name,
            arguments=next(test.arguments for test in tests if not test.raises),
            compared=tuple(test.call for test in tests if not test.raises),
            attempt=attempt,
            model=who,
            capabilities=replace(wanted, tools=tuple(names)),
            needs=await needs_of(names, found),
            mends=client_may_replace(self._catalogue.library, proposed_name(code, name)),
        )

    async def _misfits(self, proposal: Proposal, tests: Sequence[Test]) -> list[str]:
        """Return a message for each example that does not match the signature.

        The list is empty if the code has other faults, which the proof reports.
        """
        from mcp_tools.checks.check import check
        from mcp_tools.create.documented_function import read_function
        from mcp_tools.create.proposal_runner import ProposalRunner, misfits
        from mcp_tools.library.arguments import validate_result

        code, name, may = proposal.code, proposal.name, proposal.capabilities
        if not (await asyncio.to_thread(check, code, capabilities=may, function=name or None)).ok:
            return []
        function = await asyncio.to_thread(read_function, code, name, may)
        tool = await ProposalRunner(proposal, self._sandbox).describe(function) if function is not None else None
        if not isinstance(tool, Tool):
            return []
        problems = []
        for number, test in enumerate(tests):
            found = misfits(tool, test.arguments)
            if found and test.raises:
                found = [f"{found[0]}; the signature already refuses this: remove the example"]
            found += [] if test.raises else validate_result(tool, test.expected)
            problems += [f"examples[{number}]: {one}" for one in found]
        return problems

    async def _ask_to_keep(self, tool: Tool, call: ClientCall, who: str, turn: _Turn) -> bool | None:
        """Ask whether to keep the tool. Return None if the user could not be asked. Other proposals proceed meanwhile.

        Raises:
            _UserInputRequiredError: The client must repeat the call with the answer.
        """
        from mcp_types import InputRequiredResult

        if not can_ask(call.context) or len(tool.source) > _MAX_SHOWN_CHARS:
            return None
        question = (
            f"May {tool.name} be added to your tool library? {who} wrote it and its tests; nobody else tested it. "
            f"It runs in the sandbox.\n\n{tool.source}"
        )
        turn.release()
        answer = await ask_user(call, question, _FORM, self._limits.consent_seconds)
        await turn.acquire()
        if isinstance(answer, InputRequiredResult):
            raise _UserInputRequiredError(answer)
        if answer is None or answer.action == "cancel":
            return None
        return answer.action == "accept" and bool((answer.content or {}).get("allow"))

    async def _reply_for(
        self, creation: Creation, store: ProposalStore, proposal: Proposal, call: ClientCall
    ) -> ClientReply:
        if creation.choice == "reuse" and (same := creation.tool) is not None:
            note = f"The library tool {same.name} gives the same results: call it instead. Nothing was added."
            return self._reply("same", same, note=note)
        kept = store.kept
        if kept is None:
            problems = [one.removeprefix("- ") for one in re.split(r"\n(?=- )", creation.reason)]
            if any(one.startswith("Weak tests") for one in problems):
                await call.markers.put(
                    _sent_back_marker(proposed_name(proposal.code, proposal.name)), _SENT_BACK_SECONDS
                )
            return self._refused(problems)
        if store.is_draft:
            note = (
                f"{store.why}; the user can review it with: alita tools approve {kept.name}. {store.kept_apart}".strip()
            )
            return self._reply("draft", kept, note=note, survivors=creation.survivors)
        await self._catalogue.renew()
        note = f"{kept.name} can be called now. The tests are the client's own: no examiner tested it independently."
        if kept.name not in self._catalogue:
            note = f"{kept.name} is kept, but this server offers only other tools (--tools)."
        # omit the failing test, because another client may have written it
        remark = re.sub(r"(one of its tests fails).*", r"\1.", creation.remark, flags=re.DOTALL)
        note = f"{note} {store.kept_apart or remark}".strip()
        return self._reply("registered", kept, note=note, survivors=creation.survivors)

    def _refused(self, problems: Sequence[str]) -> ClientReply:
        return self._reply("refused", None, problems)

    def _reply(
        self,
        status: str,
        tool: Tool | None,
        problems: Sequence[str] = (),
        *,
        note: str = "Nothing was kept. Fix the listed problems, and propose it again.",
        survivors: Sequence[str] = (),
    ) -> ClientReply:
        record = tool.provenance if tool is not None else {}
        evidence = record.get("evidence") or {}
        return value_reply(
            {
                "status": status,
                "tool": tool.name if tool is not None else None,
                "problems": [*problems],
                "tests": len(record.get("tests") or []),
                "mutants": {
                    "tried": evidence.get("mutants", 0),
                    "killed": evidence.get("killed", 0),
                    "survivors": [*survivors],
                }
                if evidence
                else None,
                "examiner": record.get("examiner"),
                "note": note,
            },
            limit=self._limits.result_bytes,
        )


def _sent_back_marker(name: str) -> str:
    return f"sent back {digest(name)}"
