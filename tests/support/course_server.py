"""A stand-in for the course's scoring server. It checks every request, and can lack files or fail."""

from __future__ import annotations

import json
import threading
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

COLOURS = ("red", "green", "blue", "white", "black")


class CourseServer:
    """Has twenty questions about cards. The answer to each is one of five colours."""

    def __init__(self) -> None:
        self.questions: list[dict[str, Any]] = [
            {"task_id": f"card-{n}", "question": f"Which colour has card {n}?", "Level": "1", "file_name": ""}
            for n in range(1, 21)
        ]
        self.answers = {f"card-{n}": COLOURS[n % 5] for n in range(1, 21)}
        self.files: dict[str, tuple[str, bytes]] = {}
        """Content-Disposition and content by task id."""
        self.fails: deque[tuple[int, Any]] = deque()
        """Status and body of the next responses. A string is sent as HTML; a negative status cuts the response off."""
        self.asked: list[str] = []
        self.submissions: list[dict[str, Any]] = []
        self.violations: list[str] = []
        """Faults of the requests."""
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"

    def add_file(self, number: int, name: str, data: bytes, *, missing: bool = False) -> str:
        """Attach a file to a question, and return the question's id."""
        question = self.questions[number - 1]
        question["file_name"] = name
        if not missing:
            self.files[question["task_id"]] = (f'inline; filename="{name}"', data)
        return str(question["task_id"])

    def submit(self, body: Any) -> tuple[int, dict[str, Any]]:
        """Return the response to a submission."""
        flaw = _flaw(body)
        if flaw:
            self.violations.append(f"POST /submit: {flaw}")
            return 422, {"detail": [{"loc": ["body"], "msg": flaw}]}
        self.submissions.append(body)
        given = {a["task_id"]: str(a["submitted_answer"]).strip().lower() for a in body["answers"]}
        correct = sum(given.get(task_id) == answer for task_id, answer in self.answers.items())
        return 200, {
            "username": body["username"],
            "score": round(100 * correct / len(self.answers), 2),
            "correct_count": correct,
            "total_attempted": len(given),
            "message": "Score calculated successfully.",
            "timestamp": "2026-11-22T06:00:00+00:00",
        }

    def __enter__(self) -> CourseServer:
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._http.shutdown()
        self._http.server_close()


def _flaw(body: Any) -> str:
    """Return the first difference from the documented form."""
    if not isinstance(body, dict) or set(body) != {"username", "agent_code", "answers"}:
        return "expected an object with username, agent_code and answers"
    if not all(isinstance(body[name], str) for name in ("username", "agent_code")) or not body["username"]:
        return "username and agent_code are texts"
    if len(body["agent_code"]) < 10:
        return "agent_code has at least 10 characters"
    if not isinstance(body["answers"], list):
        return "answers is a list"
    for answer in body["answers"]:
        if not isinstance(answer, dict) or set(answer) != {"task_id", "submitted_answer"}:
            return "an answer has task_id and submitted_answer"
        if not isinstance(answer["submitted_answer"], str | int | float):
            return "submitted_answer is a text or a number"
    return ""


def _handler(server: CourseServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args: Any) -> None:
            pass

        def do_GET(self) -> None:
            server.asked.append(f"GET {self.path}")
            if self.headers.get("Authorization") or self.headers.get("Content-Length"):
                server.violations.append(f"GET {self.path}: expected neither a key nor a body")
            if self._fails():
                return
            if self.path == "/questions":
                self._json(200, server.questions)
            elif self.path == "/random-question":
                self._json(200, server.questions[0])
            elif self.path.startswith("/files/"):
                self._file(unquote(self.path.removeprefix("/files/")))
            else:
                server.violations.append(f"GET {self.path}: no such path")
                self._json(404, {"detail": "Not Found"})

        def do_POST(self) -> None:
            server.asked.append(f"POST {self.path}")
            data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if self.path != "/submit" or self.headers.get("Content-Type") != "application/json":
                server.violations.append(f"POST {self.path}: expected JSON at /submit")
            if not self._fails():
                self._json(*server.submit(json.loads(data)))

        def _fails(self) -> bool:
            if not server.fails:
                return False
            status, body = server.fails.popleft()
            if status < 0:
                self.send_response(200)
                self.send_header("Content-Length", "1000")
                self.end_headers()
                self.wfile.write(b"cut")
            elif isinstance(body, str):
                self._send(status, body.encode(), {"Content-Type": "text/html"})
            else:
                self._json(status, body)
            return True

        def _file(self, task_id: str) -> None:
            if task_id not in server.files:
                self._json(404, {"detail": f"No file path associated with task_id {task_id}."})
                return
            disposition, data = server.files[task_id]
            self._send(200, data, {"Content-Disposition": disposition} if disposition else {})

        def _json(self, status: int, body: Any) -> None:
            self._send(status, json.dumps(body).encode(), {"Content-Type": "application/json"})

        def _send(self, status: int, data: bytes, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(data))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

    return Handler
