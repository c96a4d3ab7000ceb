"""A Firecrawl v2 server that checks each request against the published OpenAPI description."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema

from support.json_server import JsonServer, Reply, Request
from support.site.routes import answer
from support.site.server import Request as SiteRequest
from support.site.server import Site

_OF_THE_SDK = {"origin", "integration", "fastMode"}
"""Fields that the SDK sends although the description lacks them."""


class FirecrawlServer(JsonServer):
    """Searches and reads `pages`: address → title and Markdown."""

    def __init__(self, pages: dict[str, tuple[str, str]] | None = None, *, key: str = "") -> None:
        super().__init__(self._answer)
        self.pages = pages or {}
        self.key = key
        """Key expected in Authorization; empty for none."""
        self.violations: list[str] = []
        """Faults of the requests."""
        self.metadata: dict[str, Any] = {}
        """Metadata to add to every page."""
        self._schemas = {path: _request_schema(path) for path in ("/search", "/scrape")}

    def _answer(self, request: Request) -> Reply:
        path = request.path.removeprefix("/v2")
        if request.method != "POST" or path not in self._schemas or not request.path.startswith("/v2"):
            self.violations.append(f"{request.method} {request.path}: no such path")
            return Reply({"success": False, "error": "Not found"}, 404)
        if self.key and request.headers.get("authorization") != f"Bearer {self.key}":
            return Reply({"success": False, "error": "Unauthorized: Invalid token"}, 401)
        if flaws := [*_flaws(request.body, self._schemas[path])]:
            self.violations += flaws
            return Reply({"success": False, "error": "Bad Request", "details": flaws}, 400)
        return Reply(self._searched(request.body) if path == "/search" else self._scraped(request.body))

    def _searched(self, body: dict[str, Any]) -> dict[str, Any]:
        words = _words(body["query"])
        hits = [
            {"url": url, "title": title, "description": text[:200]}
            for url, (title, text) in self.pages.items()
            if words & _words(f"{title} {text}")
        ]
        return {"success": True, "data": {"web": hits[: body.get("limit", 10)]}, "creditsUsed": 1}

    def _scraped(self, body: dict[str, Any]) -> dict[str, Any]:
        title, text = self.pages.get(body["url"], ("", ""))
        status = 200 if body["url"] in self.pages else 404
        facts = {"title": title, "sourceURL": body["url"], "url": body["url"], "statusCode": status, **self.metadata}
        return {"success": True, "data": {"markdown": text, "metadata": facts}}


def pages_of(site: Site, *paths: str) -> dict[str, tuple[str, str]]:
    """Return title and text of pages of a site, by address, without a request to the site."""
    found = {}
    for path in paths:
        body = answer(site, SiteRequest("GET", path, {}, {})).body
        text = body if isinstance(body, str) else bytes(body).decode()  # type: ignore[arg-type]  # of no page it is pieces
        title = re.search("<title>(.*?)</title>", text)
        found[site.url + path] = (title[1] if title else path, re.sub("<[^>]*>", " ", text))
    return found


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def _flaws(body: Any, schema: dict[str, Any]) -> Iterator[str]:
    described = set(schema["properties"])
    for name in set(body) - described - _OF_THE_SDK:
        yield f"{name} is not described"
    for flaw in jsonschema.Draft202012Validator(schema).iter_errors(body):
        yield f"{'.'.join(map(str, flaw.absolute_path))}: {flaw.message}"


def _request_schema(path: str) -> dict[str, Any]:
    """Return the JSON Schema of a path's request, with references resolved and all properties in one object."""
    description = json.loads(Path(__file__).with_name("firecrawl-v2-openapi.json").read_text())
    whole = description["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]
    filled = _filled(whole, description["components"]["schemas"])
    parts = [filled, *filled.pop("allOf", [])]
    properties: dict[str, Any] = {}
    for part in parts:
        properties |= part.get("properties", {})
    return {"type": "object", "properties": properties, "required": _required(parts)}


def _required(parts: list[dict[str, Any]]) -> list[str]:
    return sorted({name for part in parts for name in part.get("required", [])})


def _filled(schema: Any, schemas: dict[str, Any]) -> Any:
    """Convert OpenAPI 3.0 to JSON Schema: resolve references, and turn `nullable` into a type."""
    if isinstance(schema, list):
        return [_filled(one, schemas) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _filled(schemas[schema["$ref"].rpartition("/")[2]], schemas)
    found = {name: _filled(value, schemas) for name, value in schema.items() if name not in ("nullable", "example")}
    if schema.get("nullable") and isinstance(schema.get("type"), str):
        found["type"] = [schema["type"], "null"]
    return found
