"""A scripted server with OpenAI's Chat Completions and Responses APIs, on a real socket.

    server.answer("Paris")                      text
    server.answer({"a": 1})                     JSON as text
    server.answer(tool=("add", {"a": 1}))       a tool call
    server.fail(429, retry_after=0.1)           an error status
    server.hang(), server.cut(after=5), server.raw(b"<html>")
    server.refuse("json_schema")                400 for every request that contains this

Each request takes the next step of the script. After the last one, `server.default` answers.
"""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Step:
    """The response to one request."""

    text: str | None = None
    tools: list[tuple[str, Any]] = field(default_factory=list)
    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    pace: float = 0.0
    """Seconds between two pieces of a stream."""
    finish: str | None = None
    cut_after: int | None = None
    raw: bytes | None = None
    usage: dict[str, Any] | None = field(default_factory=lambda: {"prompt_tokens": 10, "completion_tokens": 5})
    message: dict[str, Any] = field(default_factory=dict)
    choices: int | None = None


class OpenAIServer:
    """The server and its script. `requests` has the bodies of the requests, `headers` their headers."""

    def __init__(self) -> None:
        self.steps: deque[Step] = deque()
        self.default: Callable[[dict[str, Any]], Step] | None = None
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.times: list[float] = []
        self.listings: list[str] = []
        """Paths of the requests for the list of models."""
        self.listing_status = 200
        self.listing_page = b""
        """Response instead of the list of models."""
        self.paths: list[str] = []
        """Paths of the other requests."""
        self.models = ["tiny-1", "tiny-2", "gpt-test"]
        self.refused: list[str] = []
        self.speaks_responses = True
        self.in_flight = 0
        self.most_in_flight = 0
        self._lock = threading.Lock()
        self._released = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def answer(self, content: Any = None, *, tool: tuple[str, Any] | None = None, **more: Any) -> OpenAIServer:
        """Add an answer: a string unchanged, any other value as JSON."""
        text = content if content is None or isinstance(content, str) else json.dumps(content)
        self.steps.append(Step(text=text, tools=[tool] if tool else [], **more))
        return self

    def fail(self, status: int, message: str = "", *, code: str | None = None, param: str | None = None,
             retry_after: float | str | None = None) -> OpenAIServer:  # fmt: skip
        headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
        body = {"error": {"message": message, "type": "test_error", "code": code, "param": param}}
        self.steps.append(Step(status=status, body=body, headers=headers))
        return self

    def hang(self, seconds: float = 30.0) -> OpenAIServer:
        """Add an answer that comes after `seconds`, or when the server ends."""
        self.steps.append(Step(text="late", delay=seconds))
        return self

    def cut(self, text: str, after: int) -> OpenAIServer:
        """Add an answer that is cut off after `after` characters."""
        self.steps.append(Step(text=text, cut_after=after))
        return self

    def raw(self, data: bytes, content_type: str = "text/html") -> OpenAIServer:
        """Add bytes that are not a valid answer."""
        self.steps.append(Step(raw=data, headers={"Content-Type": content_type}))
        return self

    def refuse(self, word: str) -> OpenAIServer:
        """Respond 400 to every request with this word in its JSON, messages excluded."""
        self.refused.append(word)
        return self

    def step(self, body: dict[str, Any]) -> Step:
        """Return the step for a request."""
        plain = json.dumps({k: v for k, v in body.items() if k not in ("messages", "input")})
        for word in self.refused:
            if word in plain:
                error = {"message": f"'{word}' is not supported here", "type": "invalid_request_error", "param": None}
                return Step(status=400, body={"error": error})
        with self._lock:
            if self.steps:
                return self.steps.popleft()
        if self.default is None:
            return Step(status=500, body={"error": {"message": "the test's script is used up"}})
        return self.default(body)

    def wait(self, seconds: float) -> None:
        """Sleep until the time is over or the server closes."""
        self._released.wait(seconds)

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count concurrent requests."""
        with self._lock:
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            yield
        finally:
            with self._lock:
                self.in_flight -= 1

    def __enter__(self) -> OpenAIServer:
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._released.set()
        self._http.shutdown()
        self._http.server_close()


def _handler(server: OpenAIServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = 1 << 16

        def log_message(self, *args: Any) -> None:
            pass

        def do_GET(self) -> None:
            listed = {"object": "list", "data": [{"id": name, "object": "model"} for name in server.models]}
            server.listings.append(self.path)
            found = self.path.partition("?")[0].endswith("/models")
            if server.listing_page:
                return self._bytes(200, server.listing_page, {"Content-Type": "text/html"})
            if server.listing_status != 200:
                return self._json(server.listing_status, {"error": {"message": "no list today"}})
            return self._json(200 if found else 404, listed if found else {"error": {"message": "no such path"}})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            server.requests.append(body)
            server.paths.append(self.path)
            server.headers.append({k.lower(): v for k, v in self.headers.items()})
            server.times.append(time.monotonic())
            missing = "input" in body and not server.speaks_responses
            step = Step(status=404, body={"error": {"message": "no such path"}}) if missing else server.step(body)
            with server.counted():
                server.wait(step.delay)
                try:
                    self._answer(step, body)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

        def _answer(self, step: Step, body: dict[str, Any]) -> None:
            if step.raw is not None:
                self._bytes(step.status, step.raw, step.headers)
            elif step.status != 200:
                self._json(step.status, step.body, step.headers)
            elif body.get("stream"):
                self._stream(step, body)
            elif step.cut_after is not None:
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", "100000")
                self.end_headers()
                self.wfile.write(b'{"choices": [')
                self.close_connection = True
            else:
                self._json(200, _response(step, body) if "input" in body else _completion(step, body), step.headers)

        def _stream(self, step: Step, body: dict[str, Any]) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            self.close_connection = True
            for chunk in _events(step, body) if "input" in body else _chunks(step, body):
                self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
                self.wfile.flush()
                server.wait(step.pace)
            if step.cut_after is None and "input" not in body:
                self.wfile.write(b"data: [DONE]\n\n")

        def _json(self, status: int, value: Any, headers: dict[str, str] | None = None) -> None:
            self._bytes(status, json.dumps(value).encode(), {"Content-Type": "application/json", **(headers or {})})

        def _bytes(self, status: int, data: bytes, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            if headers.get("Connection") == "close":
                self.close_connection = True
            else:
                self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    return Handler


def _message(step: Step) -> dict[str, Any]:
    calls = [
        {"id": f"call_{i}", "type": "function", "function": {"name": name, "arguments": _arguments(arguments)}}
        for i, (name, arguments) in enumerate(step.tools)
    ]
    message = {"role": "assistant", "content": step.text, **step.message}
    return message | ({"tool_calls": calls} if calls else {})


def _arguments(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def _finish(step: Step) -> str:
    return step.finish or ("tool_calls" if step.tools else "stop")


def _completion(step: Step, body: dict[str, Any]) -> dict[str, Any]:
    count = step.choices or body.get("n", 1)
    choices = [{"index": i, "message": _message(step), "finish_reason": _finish(step)} for i in range(count)]
    return {"id": "x", "object": "chat.completion", "created": 1, "model": body["model"], "choices": choices,
            "usage": step.usage}  # fmt: skip


def _chunks(step: Step, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    base = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}

    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return base | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    text = step.text or ""
    yield chunk({"role": "assistant"})
    for i in range(0, len(text) if step.cut_after is None else step.cut_after, 4):
        yield chunk({"content": text[i : i + 4]})
    if step.cut_after is not None:
        return
    for i, call in enumerate(_message(step).get("tool_calls", ())):
        head = {**call, "function": {**call["function"], "arguments": ""}}
        yield chunk({"tool_calls": [{"index": i, **head}]})
        written = call["function"]["arguments"]
        for k in range(0, len(written), 5):
            yield chunk({"tool_calls": [{"index": i, "function": {"arguments": written[k : k + 5]}}]})
    yield chunk({}, _finish(step))
    if (body.get("stream_options") or {}).get("include_usage"):
        yield base | {"choices": [], "usage": step.usage}


def _response(step: Step, body: dict[str, Any]) -> dict[str, Any]:
    parts = [{"type": "output_text", "text": step.text, "annotations": []}] if step.text else []
    parts += [{"type": "refusal", "refusal": step.message["refusal"]}] if "refusal" in step.message else []
    output: list[dict[str, Any]] = [{"type": "reasoning", "id": "rs_1", "summary": []}]
    output += [{"type": "message", "id": "msg_1", "role": "assistant", "content": parts}] if parts else []
    output += [
        {"type": "function_call", "id": f"fc_{i}", "call_id": f"call_{i}", "name": n, "arguments": _arguments(given)}
        for i, (n, given) in enumerate(step.tools)
    ]
    reason = {"length": "max_output_tokens", "content_filter": "content_filter"}.get(step.finish or "")
    usage = step.usage and {
        "input_tokens": step.usage["prompt_tokens"],
        "output_tokens": step.usage["completion_tokens"],
        "input_tokens_details": step.usage.get("prompt_tokens_details", {"cached_tokens": 0}),
    }
    return {"id": "resp_1", "object": "response", "model": body["model"], "error": step.body, "output": output,
            "status": "incomplete" if reason else "completed", "usage": usage,
            "incomplete_details": {"reason": reason} if reason else None}  # fmt: skip


def _events(step: Step, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    whole = _response(step, body)
    yield {"type": "response.created", "response": {**whole, "output": []}}
    for place, item in enumerate(whole["output"]):
        yield {"type": "response.output_item.added", "output_index": place, "item": {**item, "arguments": ""}}
        text = item.get("arguments") or "".join(p.get("text", "") for p in item.get("content", ()))
        kind = "function_call_arguments" if item["type"] == "function_call" else "output_text"
        for i in range(0, len(text) if step.cut_after is None else step.cut_after, 4):
            yield {"type": f"response.{kind}.delta", "output_index": place, "delta": text[i : i + 4]}
    if step.cut_after is None:
        yield {"type": f"response.{'failed' if whole['error'] else whole['status']}", "response": whole}
