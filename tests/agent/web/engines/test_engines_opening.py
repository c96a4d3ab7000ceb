"""Which engines and readers the settings give, and what `alita doctor` says of them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from agent.configuration.engines import ENGINES
from agent.configuration.settings import Settings
from agent.configuration.settings_sources import read_settings
from agent.web.engines.search_engines import ReaderChain, names_of, open_reader
from agent.web.http import Http
from agent.web.page import Page, WebProblem
from support.firecrawl_server import FirecrawlServer


class Plain:
    """The reader that stands behind the others."""

    name = "plain"

    async def read(self, url: str) -> Page:
        if url.endswith("refused"):
            raise WebProblem("captcha", f"{url} requires a CAPTCHA.")
        return Page(url, "Elbe", "read plainly")

    async def aclose(self) -> None:
        pass


def settings_of(tmp_path: Path, **variables: str) -> Settings:
    """The settings that these variables give."""
    return read_settings(environment={"ALITA_HOME": str(tmp_path / "home"), **variables}, current=tmp_path)


@pytest.mark.parametrize(
    ("variables", "names"),
    [
        ({}, ("ddgs", "wikipedia", "arxiv")),
        ({"FIRECRAWL_API_KEY": "fc-a"}, ("firecrawl", "ddgs", "wikipedia", "arxiv")),
        ({"TAVILY_API_KEY": "tvly-a", "FIRECRAWL_API_URL": "http://127.0.0.1:3002"}, tuple(e.name for e in ENGINES)),
        ({"ALITA_ENGINES": "arxiv, tavily", "FIRECRAWL_API_KEY": "fc-a"}, ("arxiv", "tavily")),
    ],
)
def test_the_engines_in_order(tmp_path: Path, variables: dict[str, str], names: tuple[str, ...]) -> None:
    """Those that are named, in that order; else all that are ready."""
    assert names_of(settings_of(tmp_path, **variables)) == names


async def test_readers_in_order(tmp_path: Path) -> None:
    """The web itself, and Firecrawl for what refuses programs."""
    web = Plain()
    assert open_reader(settings_of(tmp_path), Http(), web) is web
    refused = "http://127.0.0.1/refused"
    with FirecrawlServer({refused: ("A", "by firecrawl")}) as server:
        settings = settings_of(tmp_path, FIRECRAWL_API_URL=server.url, ALITA_ALLOW_PRIVATE="true")
        reader = open_reader(settings, Http(allow_private=True), web)
        assert isinstance(reader, ReaderChain)
        assert (await reader.read("http://127.0.0.1/b")).markdown == "read plainly"
        assert server.requests == []
        page = await reader.read(refused)
        assert (page.via, page.notes[0]) == ("firecrawl", f"It is read by firecrawl: {refused} requires a CAPTCHA.")
        await reader.aclose()
        assert server.violations == []


async def test_firecrawl_heeds_the_settings(tmp_path: Path) -> None:
    """Private addresses are refused unless allowed; an engine that is not named does not read either."""
    with FirecrawlServer({"http://127.0.0.1/refused": ("A", "by firecrawl")}) as server:
        reader = open_reader(settings_of(tmp_path, FIRECRAWL_API_URL=server.url), Http(), Plain())
        with pytest.raises(WebProblem, match="CAPTCHA"):
            await reader.read("http://127.0.0.1/refused")
        assert server.requests == []
        web = Plain()
        assert (
            open_reader(settings_of(tmp_path, FIRECRAWL_API_URL=server.url, ALITA_ENGINES="ddgs"), Http(), web) is web
        )


def test_doctor(tmp_path: Path) -> None:
    """`alita doctor` names the engines in order, and each missing key with its variable."""
    variables = {"ALITA_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [str(Path(sys.executable).with_name("alita")), "doctor", "--json"],
        capture_output=True, text=True, env={**variables, "TAVILY_API_KEY": "tvly-secret"}, cwd=tmp_path, check=False,
    )  # fmt: skip
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert checks["search"]["detail"] == "tavily, ddgs, wikipedia, arxiv"
    assert (checks["tavily"]["ok"], checks["firecrawl"]["ok"]) == (True, False)
    assert "FIRECRAWL_API_KEY" in checks["firecrawl"]["remedy"]
    assert not checks["firecrawl"]["needed"]
    assert "tvly-secret" not in done.stdout


NEW_ENGINE = """
from agent.web.page import SearchHit

class Lighthouse:
    name = "lighthouse"

    def __init__(self, http, url="", *, key=""):
        self.key = key

    async def search(self, query, *, limit=8, freshness=""):
        return [SearchHit("https://a.example/", query, self.key, self.name)]

    async def aclose(self):
        pass
"""
WITH_NEW_ROW = """
import asyncio, json
from agent.configuration import engines

row = engines.Engine("lighthouse", "lighthouse:Lighthouse", "searches lighthouses", key="lighthouse_api_key")
engines.ENGINES = (row, *engines.ENGINES)

from agent.cli.verbs.doctor import diagnose
from agent.configuration.settings_sources import KEYS, NOT_FOR_PROJECTS, read_settings
from agent.web.engines.search_engines import names_of, open_engines
from agent.web.http import Http

without, settings = read_settings(environment={}), read_settings()
print(json.dumps({
    "order": names_of(settings),
    "description": type(settings).model_fields["engines"].description,
    "is_key": "lighthouse_api_key" in KEYS and "lighthouse_api_key" in NOT_FOR_PROJECTS,
    "source": settings.source_of("lighthouse_api_key"),
    "doctor": {each.name: each.detail for each in diagnose(settings)},
    "remedy": next(each.remedy for each in diagnose(without) if each.name == "lighthouse"),
    "found": asyncio.run(open_engines(settings, Http()).search("Grey Point"))[0].snippet,
}))
"""


def test_a_new_engine_takes_a_class_and_a_row(tmp_path: Path) -> None:
    (tmp_path / "lighthouse.py").write_text(NEW_ENGINE)
    (tmp_path / "script.py").write_text(WITH_NEW_ROW)
    variables = {"ALITA_HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "LIGHTHOUSE_API_KEY": "lh-secret"}
    done = subprocess.run(
        [sys.executable, "script.py"], capture_output=True, text=True, env=variables, cwd=tmp_path, check=False
    )
    assert not done.returncode, done.stderr
    seen = json.loads(done.stdout)
    assert seen["order"] == ["lighthouse", "ddgs", "wikipedia", "arxiv"]
    assert seen["description"].startswith("Search engines in order: lighthouse, firecrawl, ")
    assert seen["is_key"]
    assert seen["source"] == "variable LIGHTHOUSE_API_KEY"
    assert seen["doctor"]["search"] == "lighthouse, ddgs, wikipedia, arxiv"
    assert seen["doctor"]["lighthouse"] == "ready: key set"
    assert seen["remedy"] == "Set LIGHTHOUSE_API_KEY."
    assert seen["found"] == "lh-secret"
