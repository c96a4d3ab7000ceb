"""A real Chromium without a window, driven over its own protocol."""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--remote-debugging-port=0",
)  # fmt: skip


class Page:
    """One tab. `requests` has every address that it asked for."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self._ids = itertools.count(1)
        self.requests: list[str] = []
        self.complaints: list[str] = []
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def open(self, path: Path) -> None:
        self.call("Page.navigate", url=path.resolve().as_uri())
        self.wait("document.readyState === 'complete' && location.protocol === 'file:'")

    def js(self, expression: str) -> Any:
        """The value of an expression in the page."""
        told = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    def wait(self, condition: str) -> None:
        ends = time.monotonic() + 20
        while not self.js(condition):
            assert time.monotonic() < ends, f"never: {condition}"
            time.sleep(0.02)

    def press(self, key: str, text: str = "") -> None:
        """One key, as the keyboard would send it."""
        codes = {"Enter": 13, "Tab": 9}
        more = {"windowsVirtualKeyCode": codes.get(key, ord(key[0].upper())), **({"text": text} if text else {})}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **more)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = next(self._ids)
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv(timeout=30))
            if message.get("id") == number:
                assert "error" not in message, message["error"]
                result: dict[str, Any] = message["result"]
                return result
            self._hear(message)

    def _hear(self, event: dict[str, Any]) -> None:
        told = event.get("params", {})
        if event.get("method") == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])
        elif event.get("method") == "Log.entryAdded":
            self.complaints.append(told["entry"]["text"])
        elif event.get("method") == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(told["exceptionDetails"]))


@contextmanager
def browser_page(folder: Path) -> Iterator[Page]:
    """A tab of a browser of its own, whose profile is in `folder`."""
    from websockets.sync.client import connect

    assert CHROMIUM
    with (folder / "browser.log").open("w") as log:
        process = subprocess.Popen(
            [CHROMIUM, *_FLAGS, f"--user-data-dir={folder / 'profile'}", "about:blank"], stdout=log, stderr=log
        )
    try:
        with urlopen(f"http://127.0.0.1:{_port(folder, process)}/json/list") as answer:
            address = next(tab["webSocketDebuggerUrl"] for tab in json.load(answer) if tab["type"] == "page")
        with connect(address, max_size=None) as socket:
            yield Page(socket)
    finally:
        process.terminate()
        process.wait(20)


def _port(folder: Path, process: subprocess.Popen[bytes]) -> int:
    told = folder / "profile" / "DevToolsActivePort"
    ends = time.monotonic() + 30
    while not (told.exists() and told.read_text().strip()):
        assert process.poll() is None, (folder / "browser.log").read_text()
        assert time.monotonic() < ends, "the browser does not start"
        time.sleep(0.05)
    return int(told.read_text().split()[0])
