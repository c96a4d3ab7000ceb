"""`propose_tool`: a client hands in code with examples; it is proved without any model of ours, and kept or refused."""

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
    beyond_a_client,
    client_name,
    examples_in,
    function_of,
    may_be_mended,
    part_of_module,
    tests_of,
)
from mcp_tools.serving.code_reader import CodeReader
from mcp_tools.serving.elicitation import can_ask, elicited
from mcp_tools.tool import Json, Status, Tool

if TYPE_CHECKING:
    from mcp_types import InputRequiredResult

    from mcp_tools.create.interfaces import Creation, Proposal, Test
    from mcp_tools.run import Carried
    from mcp_tools.sandbox.protocol import Sandbox

MOST_EXAMPLES = 50
_MOST_WAITING = 4
_MOST_RECENT, _RECENT_SECONDS = 60, 600.0
_PROOF_SECONDS = 300.0
_SENT_BACK_SECONDS = 86_400.0
"""Seconds for which a name with too weak examples is remembered."""
_LONGEST_SHOWN = 4000
"""Characters of code that a person can be shown in a question."""
_FORM: dict[str, Json] = {
    "type": "object",
    "properties": {"allow": {"type": "boolean", "title": "Keep", "description": "Keep this tool in your library."}},
    "required": ["allow"],
}


@dataclass(frozen=True, slots=True)
class ProposalRules:
    """The user's decisions about tools that clients propose."""

    approval: Literal["ask", "auto", "never"] = "ask"
    carried: Carried | None = None
    """Permits the packages, the time and the memory that proposed code declares; see `mcp_tools.run.Carried`."""


class _AskedError(Exception):
    """The client has to ask a person, and to call again with the answer."""

    def __init__(self, question: InputRequiredResult) -> None:
        self.question = question


@dataclass(slots=True)
class _Turn:
    """The time in which one proposal is proved; it pauses while a person is asked."""

    lock: asyncio.Lock
    limit: asyncio.Timeout
    is_held: bool = False

    async def take(self) -> None:
        """Waits for the proposals before it, and begins the time limit."""
        await self.lock.acquire()
        self.is_held = True
        self.limit.reschedule(asyncio.get_running_loop().time() + _PROOF_SECONDS)

    def give(self) -> None:
        """Let the next proposal begin."""
        if self.is_held:
            self.is_held = False
            self.limit.reschedule(None)
            self.lock.release()


class ToolProposals:
    """Proves the tools that clients propose, one after the other, and keeps them as the user's setting says."""

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
        """One proposal, from its code to the registered tool or to what is wrong with it."""
        if self._rules.approval == "never":
            return self._refused(["no tool is kept: the user of this server set `approval` to never"])
        if self._waiting > _MOST_WAITING or self._is_too_often():
            message = "too many tools are proposed at once"
            return error_reply("busy", message, remedy="Propose one tool at a time, and try again in a minute.")
        self._waiting += 1
        try:
            async with heartbeat(call, "the proof", _PROOF_SECONDS), asyncio.timeout(None) as limit:
                turn = _Turn(self._lock, limit)
                try:
                    await turn.take()
                    return await self._proved(call, turn)
                finally:
                    turn.give()
        except TimeoutError:
            message = f"the proof did not end within {_PROOF_SECONDS:.0f} s"
            return error_reply("wall_time", message, remedy="Propose faster code, or examples with smaller values.")
        except _AskedError as asked:
            return asked.question
        except PolicyError as error:
            return refusal_reply(error)
        except IsolationError:
            raise
        except AlitaError as error:
            return self._refused([str(error)])
        finally:
            self._waiting -= 1

    def _is_too_often(self) -> bool:
        now = time.monotonic()
        while self._recent and self._recent[0] < now - _RECENT_SECONDS:
            self._recent.popleft()
        if len(self._recent) >= _MOST_RECENT:
            return True
        self._recent.append(now)
        return False

    async def _proved(self, call: ClientCall, turn: _Turn) -> ClientReply:
        from mcp_tools.create.prove import prove

        who = client_name(call)
        code, name, given = call.arguments["code"], call.arguments.get("name", ""), call.arguments.get("examples")
        await self._reader.require_quick(code)
        code = await asyncio.to_thread(part_of_module, code, name)
        if given is None:
            given = (await asyncio.to_thread(examples_in, code, name))[:MOST_EXAMPLES]
        tests, problems = tests_of(given)
        if problems:
            return self._refused(problems)
        is_sent_back = await call.markers.has(_sent_back(function_of(code, name)))
        proposal = await self._proposal(code, name, tests, who, attempt=2 if is_sent_back else 1)
        if problems := beyond_a_client(proposal):
            return self._refused(problems)
        name = function_of(proposal.code, proposal.name)
        store = ProposalStore(
            self._catalogue, self._rules.approval, who, name, lambda tool: self._reply_of(tool, call, who, turn)
        )
        # a program until it is kept: what the user allowed a tool of the same name is not allowed to this code
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
        return await self._told(creation, store, proposal, call)

    async def _proposal(self, code: str, name: str, tests: Sequence[Test], who: str, *, attempt: int) -> Proposal:
        """Return the client's code as the proof takes it; the first example with a result is the question's call.

        Raises:
            LibraryError: The header is wrong, or a tool that the code imports is lacking.
        """
        from mcp_tools.create.interfaces import Proposal
        from mcp_tools.header import declared
        from mcp_tools.library.dependencies import needs_of, tools_imported

        wanted, found = declared(code), self._catalogue.library.get_async
        names = await tools_imported(code, found, declared=wanted.tools, packages=wanted.packages)
        return Proposal(
            question="",  # no question of the user's is answered by it unasked
            code=code,
            name=name,
            arguments=next(test.arguments for test in tests if not test.raises),
            compared=tuple(test.call for test in tests if not test.raises),
            attempt=attempt,
            model=who,
            capabilities=replace(wanted, tools=tuple(names)),
            needs=await needs_of(names, found),
            mends=may_be_mended(self._catalogue.library, function_of(code, name)),
        )

    async def _misfits(self, proposal: Proposal, tests: Sequence[Test]) -> list[str]:
        """The examples that do not fit the signature. Empty for code with other faults, which the proof reports."""
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
                found = [f"{found[0]}; the signature refuses it already: leave this example out"]
            found += [] if test.raises else validate_result(tool, test.expected)
            problems += [f"examples[{number}]: {one}" for one in found]
        return problems

    async def _reply_of(self, tool: Tool, call: ClientCall, who: str, turn: _Turn) -> bool | None:
        """Ask a person if a tool may be kept; None if nobody could be asked. Other proposals continue in the meantime.

        Raises:
            _AskedError: The client has to call again with the answer.
        """
        from mcp_types import InputRequiredResult

        if not can_ask(call.context) or len(tool.source) > _LONGEST_SHOWN:
            return None
        question = (
            f"May {tool.name} be added to your tool library? {who} wrote it and its tests; nobody else tested it. "
            f"It runs in the sandbox.\n\n{tool.source}"
        )
        turn.give()
        answer = await elicited(call, question, _FORM, self._limits.consent_seconds)
        await turn.take()
        if isinstance(answer, InputRequiredResult):
            raise _AskedError(answer)
        if answer is None or answer.action == "cancel":
            return None
        return answer.action == "accept" and bool((answer.content or {}).get("allow"))

    async def _told(
        self, creation: Creation, store: ProposalStore, proposal: Proposal, call: ClientCall
    ) -> ClientReply:
        if creation.choice == "reuse" and (same := creation.tool) is not None:
            note = f"{same.name} of the library gives the same results: call it. Nothing was added."
            return self._reply("same", same, note=note)
        kept = store.kept
        if kept is None:
            problems = [one.removeprefix("- ") for one in re.split(r"\n(?=- )", creation.reason)]
            if any(one.startswith("Weak tests") for one in problems):
                await call.markers.put(_sent_back(function_of(proposal.code, proposal.name)), _SENT_BACK_SECONDS)
            return self._refused(problems)
        if store.is_draft:
            note = f"{store.why}; the user looks at it with: alita tools approve {kept.name}. {store.apart}".strip()
            return self._reply("draft", kept, note=note, survivors=creation.survivors)
        await self._catalogue.renew()
        note = f"{kept.name} can be called now. The tests are the client's own: no examiner tested it independently."
        if kept.name not in self._catalogue:
            note = f"{kept.name} is kept, but this server offers other tools only (--tools)."
        # the failing test may be another client's, with foreign texts
        remark = re.sub(r"(one of its tests fails).*", r"\1.", creation.remark, flags=re.DOTALL)
        note = f"{note} {store.apart or remark}".strip()
        return self._reply("registered", kept, note=note, survivors=creation.survivors)

    def _refused(self, problems: Sequence[str]) -> ClientReply:
        return self._reply("refused", None, problems)

    def _reply(
        self,
        status: str,
        tool: Tool | None,
        problems: Sequence[str] = (),
        *,
        note: str = "Nothing was kept. Mend what problems names, and propose it again.",
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


def _sent_back(name: str) -> str:
    return f"sent back {digest(name)}"
