"""Settings files of MCP clients: `mcpServers` (Claude, Cursor, ours) and `servers` (VS Code), read as entries.

What a file says is checked here and nowhere else. One bad entry is a problem with a message, and the others count.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from mcp_tools.text import one_line
from mcp_tools.tool import Json

Scope = Literal["user", "project"]
_SECRET_NAME = re.compile(r"key|token|secret|passw|auth|credential|cookie|session", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Limits:
    """What one server may take of time and room. In a file, under the entry's key `alita`."""

    connect_seconds: float = 30.0
    """From its start until it speaks MCP; `connectSeconds`."""
    list_seconds: float = 10.0
    """For the list of its tools; `listSeconds`."""
    call_seconds: float = 60.0
    """For one call; `callSeconds`."""
    result_chars: int = 100_000
    """Characters of one result; what is longer is cut in its middle, with a note; `resultChars`."""
    tools: int = 200
    """Tools that are taken from its list; `maxTools`."""
    calls: int = 4
    """Calls at once; `concurrentCalls`."""


@dataclass(frozen=True, slots=True)
class ServerEntry:
    """What is known of a server without starting it. Variables stand in it as `${NAME}`."""

    name: str
    command: str = ""
    """The program of a stdio server; empty for one that is reached by `url`."""
    arguments: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    """Variables that its process gets besides PATH, HOME and LANG."""
    folder: str = ""
    """Where its process works; empty for the project's folder, or for the home folder where the user defines it."""
    url: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    inputs: dict[str, str | None] = field(default_factory=dict)
    """Ids of `${input:ID}` with their defaults, as VS Code's files declare them."""
    is_off: bool = False
    """Whether the file says that it is not to be started."""
    roots: bool = False
    """Whether it is told the current folder when it asks for roots."""
    limits: Limits = field(default_factory=Limits)
    scope: Scope = "user"
    path: Path = Path()
    """The file that describes it."""

    @property
    def shown(self) -> str:
        """What would run or be reached, exactly as the file says it, without the values of its variables."""
        return self.url or shlex.join([self.command, *self.arguments])

    @property
    def given(self) -> str:
        """What it is given: variables and headers, without values that are secret, and a folder."""
        parts = [
            f"variables {_listed(self.environment, '=')}" if self.environment else "",
            f"headers {_listed(self.headers, ': ')}" if self.headers else "",
            f"in {self.folder}" if self.folder else "",
            "and the path of this folder" if self.roots else "",
        ]
        return "; ".join(part for part in parts if part)

    @property
    def digest(self) -> str:
        """SHA-256 of all that decides what is started, and with what; a decision of trust holds for it alone."""
        told = [
            self.name,
            self.command,
            list(self.arguments),
            self.environment,
            self.folder,
            self.url,
            self.headers,
            self.inputs,
            self.roots,
        ]
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def is_secret_name(name: str) -> bool:
    """Whether a variable or a header of that name usually holds a secret."""
    return bool(_SECRET_NAME.search(name))


def _listed(given: Mapping[str, str], sign: str) -> str:
    return ", ".join(k if is_secret_name(k) and "${" not in v else f"{k}{sign}{v}" for k, v in given.items())


MOST_SERVERS = 200
LONGEST_NAME = 100
_LIMITS: dict[str, tuple[str, type[int] | type[float], float]] = {
    "connectSeconds": ("connect_seconds", float, 600),
    "listSeconds": ("list_seconds", float, 600),
    "callSeconds": ("call_seconds", float, 3600),
    "resultChars": ("result_chars", int, 10_000_000),
    "maxTools": ("tools", int, 10_000),
    "concurrentCalls": ("calls", int, 100),
}
"""The key in a file, the field, its type, and the most it may be."""
_STDIO = frozenset({"stdio", "local"})
_HTTP = frozenset({"http", "streamable-http", "streamablehttp", "streamable_http", "remote"})
_HARMLESS = frozenset({"NODE_ENV", "PYTHONUNBUFFERED", "PYTHONUTF8", "PYTHONIOENCODING", "PYTHONDONTWRITEBYTECODE"})
_STEERING = re.compile(
    r"(?:PATH|HOME|IFS|ENV|BASH_ENV|BASH_FUNC_.*|SHELLOPTS|BASHOPTS|PROMPT_COMMAND|PS4|CDPATH|SHELL|ZDOTDIR|TMPDIR"
    r"|EDITOR|VISUAL|PAGER|BROWSER|LESSOPEN|LESSCLOSE|VIRTUAL_ENV|CLASSPATH|.*JAVA_OPTIONS|JAVA_TOOL_OPTIONS|JAVA_HOME"
    r"|GLIBC_TUNABLES|GCONV_PATH|LOCPATH|NLSPATH|OPENSSL_CONF|OPENSSL_MODULES|.*_PROXY|.*CA_BUNDLE|SSL_CERT_.*|CURL_.*"
    r"|PYTHON.*|PERL5.*|PERLLIB|RUBYLIB|RUBYOPT|RUSTC.*|RUSTFLAGS|GO(?:BIN|ENV|FLAGS|PATH|PROXY|ROOT|SUMDB|TOOLCHAIN)"
    r"|(?:LD|DYLD|NODE|NPM_CONFIG|PNPM|YARN|BUN|DENO|COREPACK|NVM|UV|PIP|PIPX|POETRY|CONDA|PYENV|GIT|SSH|XDG|PERL|RUBY"
    r"|GEM|BUNDLE|CARGO|RUST|RUSTUP|DOTNET|CORECLR|DOCKER|ALITA)_.*)",
    re.IGNORECASE,
)
"""Variables that decide which program or which code runs, or through whom it talks."""
REFUSED_VARIABLE = "its variable {} would change which code runs, which a project may not"

_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/|,(?=(?:\s|//[^\n]*|/\*.*?\*/)*[}\]])', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in a file that is no server."""

    where: str
    """The file, and the server's name where it has one."""
    message: str


@dataclass(frozen=True, slots=True)
class Parsed:
    """The servers of one file, and what is wrong in it."""

    entries: tuple[ServerEntry, ...] = ()
    problems: tuple[Problem, ...] = ()


class _WrongError(Exception):
    """An entry that cannot be what was meant."""


def parse(text: str, path: Path, scope: Scope) -> Parsed:
    """Reads the text of a settings file. Nothing in it raises."""
    try:
        document = load_jsonc(text)
    except ValueError as error:
        return Parsed(problems=(Problem(str(path), f"it is not JSON: {one_line(str(error))}"),))
    return parse_document(document, path, scope)


def parse_document(document: Json, path: Path, scope: Scope) -> Parsed:
    """Reads a settings file's value."""
    found = _servers(document)
    if found is None:
        return Parsed(problems=(Problem(str(path), "it has no object `mcpServers` or `servers`"),))
    servers, inputs = found
    entries, problems = [], []
    for name, form in list(servers.items())[:MOST_SERVERS]:
        try:
            entry = replace(_entry(name, form), inputs=_used(inputs, form), scope=scope, path=path)
            if scope == "project" and (steering := steering_variables(entry)):
                raise _WrongError(f"{REFUSED_VARIABLE.format(steering[0])}; put the server into your own file instead")
            entries.append(entry)
        except _WrongError as wrong:
            problems.append(Problem(f"{path}: {one_line(name, 60)}", str(wrong)))
    if len(servers) > MOST_SERVERS:
        problems.append(Problem(str(path), f"it has {len(servers)} servers; the first {MOST_SERVERS} count"))
    return Parsed(tuple(entries), tuple(problems))


def steering_variables(entry: ServerEntry) -> list[str]:
    """The variables of an entry that change which code runs, whatever its command says."""
    return [name for name in entry.environment if _STEERING.fullmatch(name) and name not in _HARMLESS]


def _servers(document: Json) -> tuple[dict[str, Json], dict[str, str | None]] | None:
    """The object of servers, and the declared inputs; VS Code's settings hold both below `mcp`."""
    if not isinstance(document, dict):
        return None
    for holder in (document, document.get("mcp")):
        if isinstance(holder, dict):
            for key in ("mcpServers", "servers"):
                if isinstance(servers := holder.get(key), dict):
                    return servers, _inputs(holder.get("inputs"))
    return None


def _inputs(declared: Json) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for one in declared if isinstance(declared, list) else ():
        if isinstance(one, dict) and isinstance(one.get("id"), str):
            default = one.get("default")
            found[one["id"]] = default if isinstance(default, str) else None
    return found


def _used(inputs: Mapping[str, str | None], form: Json) -> dict[str, str | None]:
    text = str(form)
    return {name: default for name, default in inputs.items() if f"${{input:{name}}}" in text}


def _entry(name: str, form: Json) -> ServerEntry:
    if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
        raise _WrongError(f"a server's name has 1 to {LONGEST_NAME} printable characters")
    if not isinstance(form, dict):
        raise _WrongError("it is no object")
    own = form.get("alita", {})
    if not isinstance(own, dict):
        raise _WrongError("`alita` is no object")
    command, url = _text(form, "command"), _address(form)
    _require_transport(form, command, url)
    roots = own.get("roots", False)
    if not isinstance(roots, bool):
        raise _WrongError("`alita.roots` is true or false")
    return ServerEntry(
        name,
        command=command,
        arguments=tuple(_list(form, "args")),
        environment=_mapping(form, "env"),
        folder=_text(form, "cwd"),
        url=url,
        headers=_mapping(form, "headers"),
        is_off=form.get("disabled") is True or form.get("enabled") is False,
        roots=roots,
        limits=_limits(own),
    )


def _address(form: Mapping[str, Json]) -> str:
    """The address of a remote server, under the names that the clients give it."""
    return _text(form, "url") or _text(form, "serverUrl") or _text(form, "httpUrl")


def _require_transport(form: Mapping[str, Json], command: str, url: str) -> None:
    kind = _text(form, "type") or _text(form, "transport")
    if bool(command) == bool(url):
        raise _WrongError("it has both `command` and `url`" if url else "it has neither `command` nor `url`")
    if kind.lower() == "sse":
        raise _WrongError("the SSE transport of 2024 is not spoken; name the server's streamable HTTP address")
    if kind and kind.lower() not in _STDIO | _HTTP:
        raise _WrongError(f"its type {one_line(kind, 40)!r} is neither stdio nor http")
    if kind and (kind.lower() in _STDIO) != bool(command):
        raise _WrongError(f"its type is {kind}, but it has {'a command' if command else 'an address'}")
    if url and "${" not in url:
        _require_url(url)


def _require_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        fits = parts.scheme in {"http", "https"} and bool(parts.hostname) and url.isprintable() and " " not in url
        _ = parts.port
    except ValueError:
        fits = False
    if not fits:
        raise _WrongError(f"{one_line(url, 80)!r} is no address such as https://example.org/mcp")


def _text(form: Mapping[str, Json], key: str) -> str:
    value = form.get(key)
    if value is None:
        return ""
    if not isinstance(value, str) or "\0" in value:
        raise _WrongError(f"`{key}` is no text")
    return value.strip()


def _list(form: Mapping[str, Json], key: str) -> Iterator[str]:
    values = form.get(key)
    if values is None:
        return
    if not isinstance(values, list):
        raise _WrongError(f"`{key}` is no list")
    for value in values:
        if not isinstance(value, str) or "\0" in value:
            raise _WrongError(f"`{key}` holds {one_line(repr(value), 40)}, which is no text")
        yield value


def _mapping(form: Mapping[str, Json], key: str) -> dict[str, str]:
    """An object of texts; numbers are written out, nulls left out."""
    values = form.get(key)
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise _WrongError(f"`{key}` is no object")
    found = {}
    for name, value in values.items():
        if value is None:
            continue
        if isinstance(value, bool):
            value = "true" if value else "false"
        if not isinstance(value, str | int | float) or not name or not (name + str(value)).isprintable():
            raise _WrongError(f"`{key}.{one_line(name, 40)}` is no printable text")
        if key == "env" and "=" in name:
            raise _WrongError(f"`env.{one_line(name, 40)}`: a variable's name holds no =")
        found[name] = str(value)
    return found


def _limits(own: Mapping[str, Json]) -> Limits:
    given: dict[str, Any] = {}
    for key, value in own.items():
        if key == "roots":
            continue
        if key not in _LIMITS:
            raise _WrongError(f"`alita.{one_line(key, 40)}` is unknown; known are roots, {', '.join(_LIMITS)}")
        field, kind, most = _LIMITS[key]
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not math.isfinite(value) or not 0 < value <= most or kind(value) != value:
            raise _WrongError(f"`alita.{key}` is a number above 0, at most {most:g}")
        given[field] = kind(value)
    return Limits(**given)


def as_form(entry: ServerEntry) -> dict[str, Json]:
    """The entry as a settings file holds it; reading it gives the entry again."""
    form: dict[str, Json] = {}
    if entry.url:
        form |= {"type": "http", "url": entry.url}
    else:
        form |= {"command": entry.command, "args": list(entry.arguments)}
    form |= {"env": entry.environment} if entry.environment else {}
    form |= {"headers": entry.headers} if entry.headers else {}
    form |= {"cwd": entry.folder} if entry.folder else {}
    form |= {"disabled": True} if entry.is_off else {}
    usual = Limits()
    own: dict[str, Json] = {
        key: getattr(entry.limits, field)
        for key, (field, _, _) in _LIMITS.items()
        if getattr(entry.limits, field) != getattr(usual, field)
    }
    own |= {"roots": True} if entry.roots else {}
    return form | ({"alita": own} if own else {})


def load_jsonc(text: str) -> Json:
    """The value of a text.

    Raises:
        ValueError: It is no JSON even without comments and trailing commas, or too deep.
    """
    text = text.removeprefix("\ufeff")
    try:
        return json.loads(_TOKEN.sub(_kept, text) if "//" in text or "/*" in text or "," in text else text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def has_comments(text: str) -> bool:
    """Whether the text is more than JSON: writing it anew would lose something."""
    try:
        json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return True
    return False


def _kept(match: re.Match[str]) -> str:
    token = match[0]
    return token if token.startswith('"') else " "
