"""A stand-in for the engine, with the same API and without a model.

The weights file sets its behaviour: `GGUF`, then a JSON object with `load` (seconds), `read` (seconds for each prompt
without an answer) and `fail` (a message). The prompt `sleep 3` is answered after three seconds, `die` kills the
process, and any other prompt is answered with the process id. Words are tokens; words that the slot already held
count as cached.
As in llama.cpp, restoring a busy slot waits until it is free, and a truncated file ends the process with code 6.
"""

from __future__ import annotations

import json
import os
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import takewhile
from pathlib import Path
from types import SimpleNamespace
from typing import Any


def get_device_info() -> list[dict[str, Any]]:
    return [{"name": "CPU"}]


class CommonParams:
    """Accepts any parameter."""

    def __init__(self) -> None:
        self.model = SimpleNamespace(path="")
        self.cpuparams = SimpleNamespace(n_threads=0)
        self.cpuparams_batch = SimpleNamespace(n_threads=0)
        self.api_keys: list[str] = []
        self.port = 0
        self.n_parallel = 1
        self.slot_save_path = ""


@dataclass
class Slot:
    """State of one conversation."""

    number: int
    task: int | None = None
    busy: bool = False
    words: list[str] = field(default_factory=list)

    def told(self) -> dict[str, Any]:
        known = {} if self.task is None else {"id_task": self.task}
        return {"id": self.number, "is_processing": self.busy, **known}

    def held(self, words: list[str]) -> int:
        return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(self.words, words, strict=False)))


class Server:
    """Loads for as long as its file says, then listens."""

    def __init__(self, params: CommonParams) -> None:
        told = json.loads(Path(params.model.path).read_bytes()[4:] or b"{}")
        time.sleep(told.get("load", 0))
        if "fail" in told:
            raise RuntimeError(told["fail"])
        self.slots = [Slot(number) for number in range(params.n_parallel)]
        self.folder = params.slot_save_path
        self.seconds = told.get("read", 0)
        self.tasks = 0
        self.guard = threading.Lock()
        http = ThreadingHTTPServer(("127.0.0.1", params.port), _handler(self, params))
        http.daemon_threads = True
        threading.Thread(target=http.serve_forever, daemon=True).start()
        self.listening_address = f"http://127.0.0.1:{http.server_address[1]}"

    def read(self, words: list[str], seconds: float) -> tuple[Slot, int]:
        """Read a prompt into the free slot with the longest common prefix; return the slot and the prefix's length."""
        with self.guard:
            while not (free := [each for each in self.slots if not each.busy]):
                time.sleep(0.01)
            slot = max(free, key=lambda each: each.held(words))
            held, self.tasks = slot.held(words), self.tasks + 1
            slot.words, slot.task, slot.busy = words, self.tasks, True
        time.sleep(seconds)
        slot.busy = False
        return slot, held

    def act(self, slot: Slot, action: str, name: str) -> dict[str, Any]:
        path = Path(self.folder + name)
        if action == "save":
            path.write_text(f"KV{json.dumps(slot.words)}")
            return {"n_saved": len(slot.words)}
        while slot.busy:
            time.sleep(0.01)
        try:
            slot.words = json.loads(path.read_text()[2:])
        except ValueError:
            os._exit(6)
        return {"n_restored": len(slot.words)}


def _template(messages: list[dict[str, str]]) -> str:
    return " ".join(f"<{message['role']}> {message['content']}" for message in messages)


def _handler(server: Server, params: CommonParams) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = 1 << 16

        def log_message(self, *args: Any) -> None:
            pass

        def do_GET(self) -> None:
            if self.path == "/health":
                self._json(200, {"status": "ok"})
            elif self._allowed():
                self._json(200, [slot.told() for slot in server.slots])

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            if not self._allowed():
                return
            if self.path == "/tokenize":
                self._json(200, {"tokens": body["content"].split()})
            elif self.path == "/apply-template":
                self._json(200, {"prompt": _template(body["messages"])})
            elif self.path == "/completion":
                slot, _ = server.read(body["prompt"], server.seconds)
                self._json(200, {"id_slot": slot.number})
            elif self.path.startswith("/slots/"):
                number, _, action = self.path.removeprefix("/slots/").partition("?action=")
                self._json(200, server.act(server.slots[int(number)], action, body["filename"]))
            else:
                self._answer(body)

        def _answer(self, body: dict[str, Any]) -> None:
            prompt = str(body["messages"][-1]["content"])
            if prompt == "die":
                os._exit(9)
            seconds = float(prompt.removeprefix("sleep ")) if prompt.startswith("sleep ") else 0
            _, held = server.read(_template(body["messages"]).split(), seconds)
            text = json.dumps({"pid": os.getpid()})
            message = {"role": "assistant", "content": text}
            choices = [{"index": i, "message": message, "finish_reason": "stop"} for i in range(body.get("n", 1))]
            usage = {"prompt_tokens": 9999, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": held}}
            self._json(200, {"choices": choices, "model": "fake", "usage": usage})

        def _allowed(self) -> bool:
            allowed = self.headers.get("Authorization") in [f"Bearer {key}" for key in params.api_keys]
            if not allowed:
                self._json(401, {"error": {"message": "Invalid API Key"}})
            return allowed

        def _json(self, status: int, value: Any) -> None:
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    return Handler
