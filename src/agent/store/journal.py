"""The journal of a run: its model, tool and web calls, keyed by a hash of their input, for replay and resume."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

from agent.errors import AlitaError, ModelOutputError, RunError, StoppedError
from agent.models.protocol import Usage
from agent.records import as_plain, from_plain
from agent.store.jsonl_log import AppendedLines, read_lines
from agent.store.redact import Redactor
from agent.store.signature import Signer
from agent.web.page import WebProblem
from mcp_tools.tool import Json

T = TypeVar("T")

LONG = 200


def canonical(value: Json) -> str:
    """Return the canonical JSON text of a value: sorted keys, no spaces."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def digest(text: str) -> str:
    """Return the first 96 bits of the SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]


class KeyedText(str):
    """A text that the journal refers to by a fixed key instead of its hash, so that it can be reworded."""

    key: ClassVar[str]


class Blobs:
    """A store of values keyed by hash, so that repeated parts of requests are stored only once.

    In a request, each list item (messages, tools), each object and each long string is replaced by a reference.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._values: dict[str, Json] = {}

    def put(self, request: dict[str, Json]) -> tuple[dict[str, Json], list[dict[str, Json]]]:
        """Return the request with references, and the blob lines that must be written before it."""
        fresh: list[dict[str, Json]] = []
        return {name: self._refer(value, fresh) for name, value in request.items()}, fresh

    def expand(self, request: dict[str, Json]) -> dict[str, Json]:
        """Return the original request, with keys redacted."""
        return {name: self._resolve(value) for name, value in request.items()}

    def load(self, line: dict[str, Json]) -> None:
        """Load a line that `put` returned."""
        self._values[line["blob"]] = line["value"]

    def _refer(self, value: Json, fresh: list[dict[str, Json]]) -> Json:
        if isinstance(value, list | tuple):
            return {"$list": [self._store(item, fresh) for item in value]}
        if isinstance(value, dict) or (isinstance(value, str) and len(value) > LONG):
            return {"$": self._store(value, fresh)}
        return value

    def _store(self, value: Json, fresh: list[dict[str, Json]]) -> str:
        name = value.key if isinstance(value, KeyedText) else digest(canonical(value))
        if name not in self._values:
            clean = self._redactor.json(value)
            fresh.append({"blob": name, "value": clean})
            self._values[name] = dict(clean) if isinstance(clean, dict) else clean
        return name

    def _resolve(self, value: Json) -> Json:
        if isinstance(value, dict) and "$list" in value:
            return [self._values[name] for name in value["$list"]]
        if isinstance(value, dict) and "$" in value:
            return self._values[value["$"]]
        return value


SCHEMA = 1
_SHORT = 1_000
FILE = "journal.jsonl"
_STEP: ContextVar[int] = ContextVar("_STEP", default=0)
"""The step that the current task is assigned to by `ahead`; 0 for the journal's current step."""

RUN_ID = re.compile(r"\d{6}-\d{6}-[0-9a-z]{4}")


@dataclass(frozen=True, slots=True)
class Record:
    """A recorded call."""

    seq: int
    step: int
    kind: str
    """`model`, `sandbox`, `web` …"""
    key: str
    nth: int
    """Number of earlier calls with the same request."""
    request: dict[str, Json]
    """The request, with references to the journal's blobs."""
    seconds: float
    output: Json = None
    error: dict[str, Json] | None = None
    """For a failed call: type, message, remedy and cost."""
    at: float | None = None
    """Time of the call in seconds since 1970; None in journals of earlier versions."""


@dataclass(frozen=True, slots=True)
class Mark:
    """The action that the coordinator chose for a step. A replay ignores it."""

    step: int
    action: str
    why: str


@dataclass(frozen=True, slots=True)
class StepFinding:
    """The shortened input and result of a step. A replay ignores it."""

    step: int
    input: str
    ok: bool
    found: str


class Journal:
    """Performs calls and records them, or returns recorded results.

    `call` always returns the recorded output, with keys redacted, so that a replay makes the same next request as the
    run. Open a journal with `create`, `resume`, `replay` or `fork`.
    """

    def __init__(
        self, path: Path, redactor: Redactor, recorded: list[dict[str, Json]], signer: Signer | None = None
    ) -> None:
        self.path = path
        self._signer = signer
        self.step = 0
        """Number of the current step; see `begin`."""
        self.is_live = False
        """True if the most recent call was performed rather than replayed."""
        origin = str(recorded[0].get("run_id")) if recorded else ""
        self.home = path.absolute().parent.parent / (origin if RUN_ID.fullmatch(origin) else path.parent.name)
        """The folder of the run that created the journal (for a fork, the first run). Recorded paths refer to it."""
        self._redactor = redactor
        self._blobs = Blobs(redactor)
        self._asked: defaultdict[str, int] = defaultdict(int)
        self._file: AppendedLines | None = None
        records = list(_load(recorded, self._blobs))
        self.marks = {
            line["step"]: Mark(line["step"], line["mark"], line["why"]) for line in recorded if "mark" in line
        }
        self.found = {line["step"]: from_plain(StepFinding, line) for line in recorded if "found" in line}
        self._transcript = next((line["transcript"] for line in reversed(recorded) if "transcript" in line), None)
        self._loaded = records
        self._by_key = {(r.key, r.nth): r for r in records}
        self._seq = max((r.seq for r in records), default=0)

    @classmethod
    def create(cls, path: Path, redactor: Redactor | None = None, *, signer: Signer | None = None) -> Self:
        """Create a journal. With a signer, every line is signed."""
        journal = cls(path, redactor or Redactor(), [], signer)
        journal._file = AppendedLines.open(path)
        journal._write([_header(path)])
        return journal

    @classmethod
    def resume(
        cls, path: Path, redactor: Redactor | None = None, *, failed: bool = False, signer: Signer | None = None
    ) -> Self:
        """Open the journal of an unfinished run. Recorded calls are not made or paid for again.

        Calls that were stopped by a limit are made again. If `failed` is true, so are the failed calls that ended the
        run.
        """
        file = AppendedLines.open(path)
        try:
            lines = read_lines(path)
            journal = cls(path, redactor or Redactor(), lines, signer)
            journal._file = file
            if not lines:  # the run was killed while writing its first line
                journal._write([_header(path)])
        except BaseException:
            file.close()
            raise
        journal._forget_failures(ended=failed)
        return journal

    @classmethod
    def replay(cls, path: Path) -> Self:
        """Open a journal that only returns recorded results and writes nothing."""
        return cls(path, Redactor(), read_lines(path))

    @classmethod
    def fork(
        cls, source: Path, path: Path, *, until: int, redactor: Redactor | None = None, signer: Signer | None = None
    ) -> Self:
        """Create a journal from another journal's steps up to step `until`. Later calls are performed."""
        kept = [line for line in read_lines(source) if line.get("step", 0) <= until]
        with_header = kept or [{"journal": SCHEMA}]
        journal = cls(path, redactor or Redactor(), with_header, signer)
        journal._file = AppendedLines.open(path)
        journal._write(with_header)
        return journal

    async def call(self, kind: str, request: dict[str, Json], perform: Callable[[], Awaitable[Any]]) -> Json:
        """Return the recorded output of this request, or call `perform` and record its output.

        The request must contain everything that the output depends on.

        Raises:
            AlitaError: The call failed, now or when it was recorded.
            RunError: A replay made a request that the run did not make.
        """
        stored, fresh = self._blobs.put(request)
        key = digest(kind + canonical(stored))
        nth, self._asked[key] = self._asked[key], self._asked[key] + 1
        record = self._by_key.get((key, nth))
        if record is not None:
            self.is_live = False
            if record.error is not None:
                raise _restored(record.error)
            return record.output
        if self._file is None:
            raise self._miss(kind)
        step = _STEP.get() or self.step
        # written now, because another call may refer to these blobs before this call ends
        self._write(fresh)
        at, started = time.time(), time.perf_counter()
        output: Json = None
        error: AlitaError | None = None
        try:
            output = self._redactor.json(as_plain(await perform()))
        except AlitaError as raised:
            raised.message, raised.remedy = map(self._redactor.text, (raised.message, raised.remedy))
            error = raised
        self.is_live = True
        self._seq += 1
        result = {"output": output} if error is None else {"error": self._described(error)}
        line = {
            "seq": self._seq,
            "step": step,
            "kind": kind,
            "key": key,
            "nth": nth,
            "request": self._redactor.json(stored),  # redacted, whereas the key is the hash of the original request
            **result,
            "seconds": round(time.perf_counter() - started, 6),
            "at": round(at, 3),
        }
        self._write([line])
        if error is not None:
            raise error
        return output

    def begin(self, step: int) -> None:
        """Start a step. All following calls belong to it, except those inside `ahead`."""
        if not _STEP.get():
            self.step = step

    @contextmanager
    def ahead(self, step: int) -> Iterator[None]:
        """Assign calls made in the `with` block to another step: a later one, or the one that asks a specialist."""
        before = _STEP.set(_STEP.get() or step)
        try:
            yield
        finally:
            _STEP.reset(before)

    def mark(self, action: str, why: str) -> None:
        """Record the action of the current step once. Does nothing in a replay or inside `ahead`."""
        if _STEP.get():
            return
        mark = Mark(self.step, action, self._redactor.text(why))
        if self.marks.get(self.step) != mark:
            self.marks[self.step] = mark
            self._write([{"step": mark.step, "mark": mark.action, "why": mark.why}])

    def note_found(self, step: int, action: str, finding: str, *, ok: bool) -> None:
        """Record the shortened result of a step once. Does nothing in a replay or inside `ahead`."""
        found = StepFinding(step, self._in_short(action), ok, self._in_short(finding))
        if not _STEP.get() and self.found.get(step) != found:
            self.found[step] = found
            self._write([asdict(found)])

    def keep_transcript(self, transcript: dict[str, Json]) -> None:
        """Append the conversation as the model saw it. Parts that are already in the journal become references."""
        stored, fresh = self._blobs.put(transcript)
        self._write([*fresh, {"transcript": self._redactor.json(stored)}])

    @property
    def transcript(self) -> dict[str, Json] | None:
        """The newest transcript that the file contained when it was opened."""
        return None if self._transcript is None else self._blobs.expand(self._transcript)

    def _in_short(self, text: str) -> str:
        text = self._redactor.text(text)
        return text if len(text) <= _SHORT else f"{text[:_SHORT]}… ({len(text):,} characters)"

    @property
    def seconds(self) -> float:
        """Total duration of the recorded calls in seconds. Time when calls overlap counts once."""
        took, end = 0.0, 0.0
        for record in sorted(self._loaded, key=lambda r: r.at or 0.0):
            begin = max(record.at or 0.0, end) if record.at else end
            end = max(end, (record.at or end) + record.seconds)
            took += end - begin
        return took

    def holds(self, kind: str, request: dict[str, Json]) -> bool:
        """Return True if the result of the next call with this request is recorded."""
        stored, _ = Blobs(self._redactor).put(request)
        key = digest(kind + canonical(stored))
        return (key, self._asked[key]) in self._by_key

    def knows(self, kind: str) -> bool:
        """Return True if the file contained calls of this kind when it was opened."""
        return any(record.kind == kind for record in self._loaded)

    def records(self) -> Iterator[Record]:
        """Yield all calls of the run, oldest first, with complete requests."""
        for record in sorted(self._by_key.values(), key=lambda r: r.seq):
            yield replace(record, request=self._blobs.expand(record.request))

    async def aclose(self) -> None:
        """Wait until everything is on the disk."""
        if self._file is not None:
            await self._file.aclose()

    def _write(self, lines: list[dict[str, Json]]) -> None:
        if lines and self._file is not None:
            name = self.path.parent.name
            self._file.append([self._signer.signed(name, line) for line in lines] if self._signer else lines)

    def _described(self, error: AlitaError) -> dict[str, Json]:
        usage = getattr(error, "usage", None)
        return {
            "type": type(error).__name__,
            "message": error.message,
            "remedy": error.remedy,
            **({"usage": asdict(usage)} if usage is not None else {}),
            **({"reason": error.reason} if isinstance(error, WebProblem) else {}),
        }

    def _forget_failures(self, *, ended: bool) -> None:
        """Drop calls stopped by a limit, which may be higher now. If `ended` is true, drop the last failures too.

        These failures are at the end of the journal, among successful calls that ran in parallel.
        """
        stopped = [key for key, r in self._by_key.items() if r.error and r.error["type"] == StoppedError.__name__]
        for key in stopped:
            del self._by_key[key]
        records = sorted(self._by_key.values(), key=lambda r: r.seq, reverse=True) if ended else []
        last = max((record.step for record in records), default=0)
        for record in records:
            if record.error is not None:
                del self._by_key[record.key, record.nth]
            elif record.step < last:
                return

    def _miss(self, kind: str) -> RunError:
        run_id = self.path.parent.name
        return RunError(
            f"The {kind} call of step {self.step} is not in the journal of run {run_id}."
            " A version of alita with other prompts or messages may have recorded it.",
            remedy=f"`alita runs replay {run_id} --until {max(self.step - 1, 0)}` continues live from there.",
        )


def _header(path: Path) -> dict[str, Json]:
    return {"journal": SCHEMA, "run_id": path.parent.name, "created": time.time()}


def _load(lines: list[dict[str, Json]], blobs: Blobs) -> Iterator[Record]:
    if lines and lines[0].get("journal") != SCHEMA:
        raise RunError(
            f"The journal has schema {lines[0].get('journal')!r}; this version reads {SCHEMA}.",
            remedy="Use the version of alita that wrote it.",
        )
    for line in lines[1:]:
        if "blob" in line:
            blobs.load(line)
        elif not line.keys() & {"mark", "found", "transcript"}:
            yield from_plain(Record, line)


def _restored(error: dict[str, Json]) -> AlitaError:
    """Recreate an error with its recorded type. All web problems have the same type."""
    if reason := error.get("reason"):
        return WebProblem(reason, error["message"], remedy=error["remedy"])
    kinds: list[type[AlitaError]] = [AlitaError]
    for kind in kinds:  # the list grows: subclasses are added below
        kinds += kind.__subclasses__()
    fitting = next((kind for kind in kinds if kind.__name__ == error["type"]), AlitaError)
    restored = fitting(error["message"], remedy=error["remedy"])
    if isinstance(restored, ModelOutputError) and error.get("usage"):
        restored.usage = from_plain(Usage, error["usage"])
    return restored
