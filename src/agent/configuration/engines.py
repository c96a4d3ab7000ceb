"""The search engines. Settings, API keys, `alita doctor` and the table in docs/web.md derive from this list."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Engine:
    """One search engine. To add one, write its class and add a row to `ENGINES`.

    Args:
        name: Its name in settings and events.
        search: Its class, as `module:Class`. It implements `agent.web.page.SearchEngine` and is built with
            `Class(http, url, key=key)`.
        about: Description in docs/web.md.
        key: Setting that holds its API key. The environment variable has the same name in capitals.
        url: Setting that holds the address of the user's own server, which needs no key.
        needs: Package that the class imports.
        spacing: Minimum number of seconds between two requests from this process.
        reads_pages: True if its class is also a `PageReader`.
        is_source: True if a model may choose to search this engine alone.
    """

    name: str
    search: str
    about: str
    key: str = ""
    url: str = ""
    needs: str = ""
    spacing: float = 0.0
    reads_pages: bool = False
    is_source: bool = False

    @property
    def title(self) -> str:
        """The name in a sentence."""
        return self.name.capitalize()


ENGINES = (
    Engine(
        "firecrawl",
        "agent.web.engines.firecrawl:Firecrawl",
        "searches, and reads pages that alita cannot read itself",
        key="firecrawl_api_key",
        url="firecrawl_api_url",
        needs="firecrawl",
        reads_pages=True,
    ),
    Engine("tavily", "agent.web.engines.services:Tavily", "searches the web", key="tavily_api_key"),
    Engine(
        "ddgs",
        "agent.web.engines.services:Ddgs",
        "asks several public engines, which may refuse many queries in a row",
        needs="ddgs",
        spacing=1.0,  # DuckDuckGo blocks faster clients for a long time
    ),
    Engine("wikipedia", "agent.web.engines.services:Wikipedia", "searches Wikipedia articles", is_source=True),
    Engine(
        "arxiv",
        "agent.web.engines.services:Arxiv",
        "searches papers",
        spacing=3.0,  # as arXiv's terms of use require
        is_source=True,
    ),
)
"""The engines in the order in which they are tried, unless the setting `engines` names others."""
