"""The process of a session, which runs blocks of code in one namespace. The code may call functions of the host.

The host's messages arrive on the job descriptor, as the length in eight bytes and JSON. The first has the session's
limits and functions. Then come `run` with a block's number and code, `interrupt` with the number of a block that
exceeded its time, and `answer` to a call. The process sends frames that start with `MAGIC`: `ask` for a call, and `end`
after a block. Two threads read and write the messages, because an interrupt only reaches the main thread and so cannot
cut a message in half.
"""

from __future__ import annotations

import ast
import importlib
import itertools
import json
import os
import queue
import resource
import signal
import sys
import threading
from binascii import b2a_base64
from collections.abc import Callable
from contextlib import nullcontext, suppress
from functools import partial
from inspect import signature
from types import CodeType, ModuleType
from typing import Any, NoReturn

from .call import COMPILE_ERRORS, Failed, Problem, from_exception, from_syntax
from .confinement import release_memory_reserve
from .frames import RESULT, frame, make_streams, receive
from .imported import SourceImporter
from .result import ResultError, encode, readable

Message = dict[str, Any]

MAX_REQUEST_BYTES = 2_000_000
"""Size limit of the arguments of one call, as JSON."""
CALLS_AT_ONCE = 8
"""Maximum number of concurrent calls to the host from threads. Further calls wait."""
_MAX_VALUE_CHARS = 100_000
_MAX_DATA_BYTES = 400_000
"""Size limit of a block's value as JSON. A larger value is returned only as text."""
_SEVERAL = object()
_MAX_LINE_CHARS = 500


class SessionState:
    """The state that is shared by blocks of code.

    Args:
        start: The host's first message.
        allowed: The paths that code may reach. The first one is the scratch folder.
        library: Number of entries at the start of `sys.path` that belong to the standard library.
    """

    def __init__(self, start: Message, allowed: list[str], library: int = 0) -> None:
        self._library = library  # packages are inserted after these entries
        self._memory_mb: int = start["limits"]["memory_mb"]
        self._allowed = allowed
        self._blocks: dict[str, str] = {}  # source code by file name
        self._modules: dict[str, str] = {}
        self._runs: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._outgoing: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._asked: dict[int, queue.SimpleQueue[Message]] = {}  # running calls, by number
        self._numbers = itertools.count(1)
        self._slots = threading.BoundedSemaphore(CALLS_AT_ONCE)
        self._running = 0  # number of the running block, or 0
        self._reaches_hosts = False
        self._namespace = ModuleType("__main__")
        self._namespace.__dict__.update({name: _function(name, form, self._ask) for name, form in start["functions"]})
        self._namespace.__dict__["print"] = self._print
        self._printed: list[Any] = []  # the value of each print call in the running block, or `_SEVERAL`
        sys.modules["__main__"] = self._namespace
        self._sources = SourceImporter(self._modules)
        sys.meta_path.insert(0, self._sources)

    def serve(self) -> NoReturn:
        """Run blocks one at a time until the host closes the pipe."""
        for target in (self._read_messages, self._write_frames):
            threading.Thread(target=target, daemon=True).start()
        while True:
            try:
                self._run(self._runs.get())
            except KeyboardInterrupt:
                continue  # the interrupt arrived after the block had ended

    def _read_messages(self) -> None:
        try:
            while True:
                message = receive()
                if "run" in message:
                    self._runs.put(message)
                elif "interrupt" not in message:
                    if asked := self._asked.get(message["answer"]):
                        asked.put(message)
                elif message["interrupt"] == self._running:
                    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        finally:
            os._exit(0)  # the host closed the pipe, or the code read the host's messages itself

    def _write_frames(self) -> None:
        try:
            while True:
                left = memoryview(self._outgoing.get())
                while left:
                    left = left[os.write(RESULT, left) :]
        finally:
            os._exit(1)

    def _send(self, body: bytes) -> None:
        self._outgoing.put(frame(body))

    def _ask(self, name: str, arguments: Message) -> Any:
        """Call a function of the host, and wait for the answer.

        Raises:
            TypeError: An argument is not JSON, bytes or a picture.
            ValueError: The arguments are too large.
            RuntimeError: The function failed. The host supplies the message.
        """
        try:
            data = encode({key: _sent(value) for key, value in arguments.items()})
        except ResultError as error:
            raise TypeError(f"{name}(): {str(error).replace('result', 'arguments', 1)}") from None
        if len(data) > MAX_REQUEST_BYTES:
            raise ValueError(
                f"{name}(): the arguments are {len(data):,} bytes of JSON; the limit is {MAX_REQUEST_BYTES:,}"
            )
        number = next(self._numbers)
        # the main thread never waits for an earlier block's threads
        with nullcontext() if threading.current_thread() is threading.main_thread() else self._slots:
            answered: queue.SimpleQueue[Message] = queue.SimpleQueue()
            self._asked[number] = answered
            try:
                self._send(b'{"ask":%d,"name":%b,"arguments":%b}' % (number, json.dumps(name).encode(), data))
                answer = answered.get()
            finally:
                del self._asked[number]
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["value"]

    def _run(self, message: Message) -> None:
        number, source = message["run"], message["code"]
        name = f"step {number}"
        self._blocks[name] = source
        for module in message["modules"]:
            sys.modules.pop(module, None)
        self._modules.update(message["modules"])
        if new := [path for path in message["paths"] if path not in sys.path]:
            sys.path[self._library : self._library] = new
            importlib.invalidate_caches()
        if any(stream is None or stream.closed for stream in (sys.__stdout__, sys.__stderr__)):
            make_streams()
        sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
        if message["hosts"] and not self._reaches_hosts:
            from .network import open_hosts

            open_hosts(partial(self._ask, "fetch"))
            self._reaches_hosts = True
        signal.signal(signal.SIGINT, self._interrupted)
        problem, value, data = None, "", None
        self._printed.clear()
        try:
            try:
                self._running = number
                last = self._value(source, name)
                value = _shown(last)
                data = self._data(last)
            finally:
                self._running = 0
        except BaseException as error:  # noqa: BLE001 - any exception of the code is its outcome
            self._running = 0
            problem = self._problem(error, name)
        for stream in (sys.__stdout__, sys.__stderr__):
            try:
                assert stream is not None
                stream.flush()
            except (AssertionError, OSError, ValueError):
                continue
        called = self._sources.take_counts()
        self._send(encode({"end": number, "value": value, "data": data, "problem": problem, "called": called}))

    def _print(self, *values: Any, **options: Any) -> None:
        """Print, and record the values, because a block's only printed value is its result."""
        print(*values, **options)
        if len(self._printed) < 2 and options.get("file") is None:
            self._printed.append(values[0] if len(values) == 1 and not options.keys() - {"flush"} else _SEVERAL)

    def _data(self, last: Any) -> Message | None:
        """Return the block's result: its only printed value, or else the value of its last expression."""
        if self._printed:
            last = self._printed[0] if len(self._printed) == 1 else _SEVERAL
        if last is None or last is _SEVERAL:
            return None
        try:
            value, plain = readable(last), None
            with suppress(ResultError, TypeError, ValueError):  # JSON cannot represent the value
                plain = json.loads(encode(last))
            text = str(last).strip() if self._printed else ""
            found = {"said": value, "plain": value if plain is None else plain, "text": text}
            return found if len(encode(found)) <= _MAX_DATA_BYTES else None
        except Exception:  # noqa: BLE001 - values may run code of the tool; the text remains
            return None

    def _interrupted(self, *_: object) -> None:
        if self._running:
            raise KeyboardInterrupt

    def _value(self, source: str, name: str) -> Any:
        body, last = _compiled(source, name)
        try:
            exec(body, self._namespace.__dict__)  # noqa: S102 - the sandbox exists to run this source
            return eval(last, self._namespace.__dict__) if last else None  # noqa: S307 - the same
        except SystemExit as leaving:
            if leaving.code not in (None, 0):
                raise
            return None

    def _problem(self, error: BaseException, name: str) -> Problem | None:
        if isinstance(error, Failed):
            return error.problem
        limits = resource.getrlimit(resource.RLIMIT_AS)
        if isinstance(error, MemoryError):
            release_memory_reserve()
        try:
            sources = {**self._blocks, **{f"{module}.py": text for module, text in self._modules.items()}}
            found = from_exception(error, sources=sources, memory_mb=self._memory_mb, allowed=self._allowed, file=name)
        finally:
            resource.setrlimit(resource.RLIMIT_AS, limits)
        lines = found["traceback"].splitlines()
        found["traceback"] = "\n".join(
            f"{line[:_MAX_LINE_CHARS]}…" if line[_MAX_LINE_CHARS:] else line for line in lines
        )
        return found


def _compiled(source: str, name: str) -> tuple[CodeType, CodeType | None]:
    try:
        tree = ast.parse(source, name)
        last = None
        match tree.body:
            case [*_, ast.Expr(value=value)]:
                tree.body.pop()
                last = compile(ast.Expression(value), name, "eval", dont_inherit=True)
        return compile(tree, name, "exec", dont_inherit=True), last
    except COMPILE_ERRORS as error:
        raise Failed(from_syntax(error)) from None


def _shown(value: Any) -> str:
    if value is None:
        return ""
    text = repr(value)
    half = _MAX_VALUE_CHARS // 2
    if len(text) > 2 * half:
        text = f"{text[:half]}\n… {len(text) - 2 * half:,} characters left out …\n{text[-half:]}"
    return text.encode("utf-8", "backslashreplace").decode()


def _function(name: str, parameters: str, ask: Callable[[str, Message], Any]) -> Callable[..., Any]:
    """Return a Python function that calls a host function. Only the given arguments are sent, without defaults."""
    form = signature(eval(f"lambda {parameters}: None"))  # noqa: S307 - the host has checked it
    keywords = next((one.name for one in form.parameters.values() if one.kind is one.VAR_KEYWORD), "")

    def function(*values: Any, **named: Any) -> Any:
        try:
            given = form.bind(*values, **named).arguments
        except TypeError as error:
            raise TypeError(f"{name}(): {error}; it is {function.__doc__}") from None
        more = given.pop(keywords, {})
        return ask(name, {**given, **more})

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{name}({parameters})"
    return function


def _sent(value: Any) -> Any:
    """Convert an argument for the host. Bytes and objects that render as PNG become base64 text."""
    draw = getattr(value, "_repr_png_", None)
    value = draw() if callable(draw) else value
    return b2a_base64(value, newline=False).decode() if isinstance(value, bytes) else value
