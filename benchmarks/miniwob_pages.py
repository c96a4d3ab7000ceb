"""The pages of MiniWoB++ (package `miniwob`), served so that any browser can do an episode.

An episode begins when its page is opened: always the same one for a seed, without the limit of ten seconds. When it
ends, the page tells the server its reward. What measures time and rewards is hidden; it is no part of the task.
"""

from __future__ import annotations

import importlib.util
import json
import mimetypes
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

LIST = Path(__file__).with_name("miniwob.json")
_BEGIN = """<style>#reward-display, #click-canvas { display: none !important }</style>
<script>
addEventListener('load', () => {
  const end = core.endEpisode;
  let told = false;
  core.endEpisode = function (...result) {
    end.apply(core, result);
    if (told || !WOB_DONE_GLOBAL) return;
    told = true;
    core.cover_div.onclick = null;
    navigator.sendBeacon('/reward' + location.search + '&task=' + location.pathname.split('/').pop(),
      String(WOB_RAW_REWARD_GLOBAL));
  };
  core.EPISODE_MAX_TIME = 3600000;
  Math.seedrandom(new URLSearchParams(location.search).get('seed'));
  core.startEpisodeReal();
});
</script>"""


class Episode(NamedTuple):
    """One task with one choice of its words and places."""

    task: str
    seed: int


def load_episodes() -> list[Episode]:
    """Those of the committed list."""
    told = json.loads(LIST.read_text(encoding="utf-8"))
    return [Episode(task, seed) for task in told["tasks"] for seed in told["seeds"]]


class MiniWob:
    """The server; `rewards` has an entry for each episode that ended."""

    def __init__(self) -> None:
        found = importlib.util.find_spec("miniwob")
        if found is None or not found.submodule_search_locations:
            raise SystemExit("MiniWoB++ is missing: uv pip install -c constraints.txt --group bench")
        self.folder = Path(found.submodule_search_locations[0], "html")
        self.rewards: dict[Episode, float] = {}
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self._url = f"http://127.0.0.1:{self._http.server_address[1]}"

    def url(self, episode: Episode) -> str:
        """Where an episode begins."""
        return f"{self._url}/miniwob/{episode.task}.html?seed={episode.seed}"

    def page(self, path: str) -> bytes | None:
        """A file of the package; the pages of tasks begin by themselves."""
        target = (self.folder / path.lstrip("/")).resolve()
        if not target.is_file() or not target.is_relative_to(self.folder.resolve()):
            return None
        body = target.read_bytes()
        return body.replace(b"</body>", _BEGIN.encode() + b"</body>") if path.startswith("/miniwob/") else body

    def __enter__(self) -> MiniWob:
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._http.shutdown()
        self._http.server_close()


async def instructions(pages: MiniWob, episodes: list[Episode], chrome: Path) -> dict[Episode, str]:
    """What is asked in each episode, in the words of its page."""
    from playwright.async_api import async_playwright

    told = {}
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chrome)
        page = await browser.new_page()
        for episode in episodes:
            await page.goto(pages.url(episode))
            found: Any = await page.evaluate("core.getUtterance()")
            told[episode] = " ".join(str(found["utterance"] if isinstance(found, dict) else found).split())
        await browser.close()
    return told


def _handler(pages: MiniWob) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args: Any) -> None:
            pass

        def do_GET(self) -> None:
            path = urlsplit(self.path).path
            body = pages.page(path)
            self.send_response(404 if body is None else 200)
            self.send_header("Content-Type", mimetypes.guess_type(path)[0] or "text/plain")
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def do_POST(self) -> None:
            given = parse_qs(urlsplit(self.path).query)
            episode = Episode(given["task"][0].removesuffix(".html"), int(given["seed"][0]))
            reward = float(self.rfile.read(int(self.headers["content-length"])))
            pages.rewards.setdefault(episode, reward)
            self.send_response(204)
            self.end_headers()

    return Handler
