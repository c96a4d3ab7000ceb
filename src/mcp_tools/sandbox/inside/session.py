"""A session's process: blocks of code run one after the other in one namespace, and may call functions of the host.

The host's messages come over the descriptor of the job: eight bytes of length, then JSON. First the session's limits
and functions; then `run` with a block's number and code, `interrupt` with the number of the block that is late, and
`answer` to a call. Back go the same frames as a report's, behind `MAGIC`: `ask` for a call, `end` for a block.
Two threads of the session's own read and write them, so that an interrupt, which reaches the main thread alone, never
leaves half a message behind.
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

from .call import UNCOMPILED, Failed, Problem, from_exception, from_syntax
from .confinement import relieve_memory
from .frames import RESULT, frame, make_streams, receive
from .imported import Sources
from .result import ResultError, encode, readable

Message = dict[str, Any]

LARGEST_REQUEST = 2_000_000
"""Bytes of JSON that the arguments of one call may take."""
CALLS_AT_ONCE = 8
"""Calls to the host that threads have under way; further ones wait."""
_LONGEST_VALUE = 100_000
"""Characters of the last expression's value that are kept."""
_LONGEST_DATA = 400_000
"""Bytes of a result as JSON; a longer one has only its text."""
_SEVERAL = object()
_LONGEST_LINE = 500
"""Limit of a traceback."""


class Session:
    """State that the blocks of code share, from the host's first message on.

    The scratch folder is the first of the paths that are allowed.
    """

    def __init__(self, start: Message, allowed: list[str], library: int = 0) -> None:
        self._library = library  # how many folders of `sys.path` are the standard library's: no package comes before
        self._memory_mb: int = start["limits"]["memory_mb"]
        self._allowed = allowed
        self._blocks: dict[str, str] = {}  # their sources by file name
        self._modules: dict[str, str] = {}
        self._runs: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._outgoing: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._asked: dict[int, queue.SimpleQueue[Message]] = {}  # the calls under way
        self._numbers = itertools.count(1)
        self._places = threading.BoundedSemaphore(CALLS_AT_ONCE)
        self._running = 0  # the block under way
        self._reaches_hosts = False
        self._namespace = ModuleType("__main__")
        self._namespace.__dict__.update({name: _function(name, form, self._ask) for name, form in start["functions"]})
        self._namespace.__dict__["print"] = self._print
        self._printed: list[Any] = []  # by the block under way: the only value of a call, or `_SEVERAL`
        sys.modules["__main__"] = self._namespace
        self._sources = Sources(self._modules)
        sys.meta_path.insert(0, self._sources)

    def serve(self) -> NoReturn:
        """Runs one block after the other."""
        for target in (self._listen, self._speak):
            threading.Thread(target=target, daemon=True).start()
        while True:
            try:
                self._run(self._runs.get())
            except KeyboardInterrupt:
                continue  # it came when the block had ended

    def _listen(self) -> None:
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
            os._exit(0)  # the host hung up, or the code took its messages away

    def _speak(self) -> None:
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
        """Let the host call one of its functions.

        Raises:
            TypeError: An argument is neither JSON nor bytes nor a picture.
            ValueError: The arguments are too large.
            RuntimeError: The host's function failed; the message is its own.
        """
        try:
            data = encode({key: _sent(value) for key, value in arguments.items()})
        except ResultError as error:
            raise TypeError(f"{name}(): {str(error).replace('result', 'arguments', 1)}") from None
        if len(data) > LARGEST_REQUEST:
            raise ValueError(f"{name}(): the arguments are {len(data):,} bytes of JSON, more than {LARGEST_REQUEST:,}")
        number = next(self._numbers)
        # the main thread never waits behind threads that an earlier block left
        with nullcontext() if threading.current_thread() is threading.main_thread() else self._places:
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
        except BaseException as error:  # noqa: BLE001 - whatever the code raises is its outcome
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
        """Prints as Python does, and keeps the values for answers."""
        print(*values, **options)
        if len(self._printed) < 2 and options.get("file") is None:
            self._printed.append(values[0] if len(values) == 1 and not options.keys() - {"flush"} else _SEVERAL)

    def _data(self, last: Any) -> Message | None:
        """The block's result, for answers: the only value that it printed, or that it ends with."""
        if self._printed:
            last = self._printed[0] if len(self._printed) == 1 else _SEVERAL
        if last is None or last is _SEVERAL:
            return None
        try:
            said, plain = readable(last), None
            with suppress(ResultError, TypeError, ValueError):  # a form that JSON lacks
                plain = json.loads(encode(last))
            text = str(last).strip() if self._printed else ""
            found = {"said": said, "plain": said if plain is None else plain, "text": text}
            return found if len(encode(found)) <= _LONGEST_DATA else None
        except Exception:  # noqa: BLE001 - values have code of their own; without data there is still their text
            return None

    def _interrupted(self, *_: object) -> None:
        if self._running:
            raise KeyboardInterrupt

    def _value(self, source: str, name: str) -> Any:
        body, last = _compiled(source, name)
        try:
            exec(body, self._namespace.__dict__)  # noqa: S102 - running this source is what the sandbox is for
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
            relieve_memory()
        try:
            sources = {**self._blocks, **{f"{module}.py": text for module, text in self._modules.items()}}
            found = from_exception(error, sources=sources, memory_mb=self._memory_mb, allowed=self._allowed, file=name)
        finally:
            resource.setrlimit(resource.RLIMIT_AS, limits)
        lines = found["traceback"].splitlines()
        found["traceback"] = "\n".join(f"{line[:_LONGEST_LINE]}…" if line[_LONGEST_LINE:] else line for line in lines)
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
    except UNCOMPILED as error:
        raise Failed(from_syntax(error)) from None


def _shown(value: Any) -> str:
    if value is None:
        return ""
    text = repr(value)
    half = _LONGEST_VALUE // 2
    if len(text) > 2 * half:
        text = f"{text[:half]}\n… {len(text) - 2 * half:,} characters left out …\n{text[-half:]}"
    return text.encode("utf-8", "backslashreplace").decode()


def _function(name: str, parameters: str, ask: Callable[[str, Message], Any]) -> Callable[..., Any]:
    """A function of the host's, as code calls it. Only what a call gives is sent: the host knows its own defaults."""
    form = signature(eval(f"lambda {parameters}: None"))  # noqa: S307 - the host has parsed it
    further = next((one.name for one in form.parameters.values() if one.kind is one.VAR_KEYWORD), "")

    def function(*values: Any, **named: Any) -> Any:
        try:
            given = form.bind(*values, **named).arguments
        except TypeError as error:
            raise TypeError(f"{name}(): {error}; it is {function.__doc__}") from None
        more = given.pop(further, {})
        return ask(name, {**given, **more})

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{name}({parameters})"
    return function


def _sent(value: Any) -> Any:
    """Return a value as it is sent: bytes, and objects with a PNG form, become base64 text."""
    draw = getattr(value, "_repr_png_", None)
    value = draw() if callable(draw) else value
    return b2a_base64(value, newline=False).decode() if isinstance(value, bytes) else value
