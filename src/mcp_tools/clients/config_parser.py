"""Parse the configuration files of MCP clients: `mcpServers` (Claude, Cursor, ours) and `servers` (VS Code).

All validation of these files happens here. An invalid entry is reported as a problem; the others are used.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)
from pydantic.alias_generators import to_camel

from mcp_tools.small_files import json_of
from mcp_tools.text import one_line, words
from mcp_tools.tool import Json

Scope = Literal["user", "project"]
_SECRET_NAME = re.compile(r"key|token|secret|passw|auth|credential|cookie|session", re.IGNORECASE)
FORM_KEYS = words("type transport command args env cwd url serverUrl httpUrl headers disabled enabled alita")
"""Keys of an entry that we read. All others are preserved unchanged."""
MAX_SERVERS = 200
LONGEST_NAME = 100


class ConnectionLimits(BaseModel):
    """Limits of one server, configured under the key `alita` in its entry."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, validate_by_name=True)
    connect_seconds: Annotated[float, Field(gt=0, le=600)] = 30.0
    """Time limit in seconds for the server to start and complete the MCP handshake."""
    list_seconds: Annotated[float, Field(gt=0, le=600)] = 10.0
    call_seconds: Annotated[float, Field(gt=0, le=3600)] = 60.0
    result_chars: Annotated[int, Field(gt=0, le=10_000_000)] = 100_000
    """Maximum length of a result. The middle of a longer result is replaced by a note."""
    max_tools: Annotated[int, Field(gt=0, le=10_000)] = 200
    concurrent_calls: Annotated[int, Field(gt=0, le=100)] = 4


def is_secret_name(name: str) -> bool:
    """Return True if a variable or header with that name usually holds a secret."""
    return bool(_SECRET_NAME.search(name))


def _pairs(given: Mapping[str, str], sign: str) -> str:
    return ", ".join(k if is_secret_name(k) and "${" not in v else f"{k}{sign}{v}" for k, v in given.items())


def _marked_variables(given: Mapping[str, str]) -> str:
    """Describe a project's variables. A variable not known to be harmless is shown with its value and a warning."""
    return ", ".join(
        _pairs({k: v}, "=") if _HARMLESS.fullmatch(k) else f"{k}={v} (may change which code runs)"
        for k, v in given.items()
    )


def _as_texts(values: Json) -> Json:
    """Convert numbers and booleans in an object to text, and remove nulls."""
    if not isinstance(values, dict):
        return values
    plain = {name: value for name, value in values.items() if value is not None}
    return {n: json.dumps(v) if isinstance(v, bool | int | float) else v for n, v in plain.items()}


def _check_printable(values: dict[str, str]) -> dict[str, str]:
    if wrong := [name for name, value in values.items() if not name or not (name + value).isprintable()]:
        raise ValueError(f"the entry {one_line(wrong[0], 40)!r} is empty or contains unprintable characters")
    return values


def _check_names(values: dict[str, str]) -> dict[str, str]:
    if wrong := [name for name in values if "=" in name]:
        raise ValueError(f"the name of the variable {one_line(wrong[0], 40)!r} contains =, which is not allowed")
    return values


_Text = Annotated[str, StringConstraints(strip_whitespace=True, pattern=r"\A[^\x00]*\z")]
_Argument = Annotated[str, StringConstraints(pattern=r"\A[^\x00]*\z")]
_TextMap = Annotated[dict[str, str], BeforeValidator(_as_texts), AfterValidator(_check_printable)]


class ServerEntry(BaseModel):
    """A server as configured. Variables in an entry are written `${NAME}`."""

    model_config = ConfigDict(frozen=True, validate_by_name=True)
    name: str
    command: _Text = ""
    """Program of a stdio server. Empty for a server with a `url`."""
    arguments: Annotated[tuple[_Argument, ...], Field(validation_alias="args")] = ()
    environment: Annotated[_TextMap, AfterValidator(_check_names), Field(validation_alias="env")] = {}
    """Environment variables for the server's process, in addition to PATH, HOME and LANG."""
    folder: Annotated[_Text, Field(validation_alias="cwd")] = ""
    """The server's working folder. Defaults to the project folder, or to the home folder for a user's server."""
    url: Annotated[_Text, Field(validation_alias=AliasChoices("url", "serverUrl", "httpUrl"))] = ""
    headers: _TextMap = {}
    is_off: bool = False
    limits: Annotated[ConnectionLimits, Field(validation_alias="alita")] = ConnectionLimits()
    scope: Scope = "user"
    path: Path = Path()

    @model_validator(mode="after")
    def _has_one_transport(self) -> ServerEntry:
        if bool(self.command) == bool(self.url):
            raise ValueError("it has both `command` and `url`" if self.url else "it has neither `command` nor `url`")
        if self.url and "${" not in self.url and not _is_address(self.url):
            raise ValueError(
                f"{one_line(self.url, 80)!r} is not a valid address; write one such as https://example.org/mcp"
            )
        return self

    @property
    def shown(self) -> str:
        """The command or address as written in the file, with variables unexpanded."""
        return self.url or shlex.join([self.command, *self.arguments])

    @property
    def given(self) -> str:
        """The server's variables, headers and folder for display, without secret values."""
        variables = _marked_variables(self.environment) if self.scope == "project" else _pairs(self.environment, "=")
        parts = [
            f"variables {variables}" if variables else "",
            f"headers {_pairs(self.headers, ': ')}" if self.headers else "",
            f"in {self.folder}" if self.folder else "",
        ]
        return "; ".join(filter(None, parts))

    @property
    def digest(self) -> str:
        """SHA-256 of everything that determines what gets started. A trust decision applies to one digest."""
        parts = [self.name, self.command, list(self.arguments), self.environment, self.folder]
        parts += [self.url, self.headers]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


_TRANSPORTS = {
    **dict.fromkeys(("stdio", "local"), "stdio"),
    **dict.fromkeys(("http", "streamable-http", "streamablehttp", "streamable_http", "remote"), "http"),
}


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and url.isprintable() and " " not in url


_HARMLESS = re.compile(
    r"NODE_ENV|PYTHON(?:UNBUFFERED|UTF8|IOENCODING|DONTWRITEBYTECODE)|LANG|LC_ALL|TZ|NO_COLOR|DEBUG|LOG"
    r"|(?:.+_)?(?:TOKEN|KEY|SECRET|PASSWORD|USER|USERNAME|PORT|TIMEOUT|LOG_LEVEL)"
)
"""Names of variables that are known to be harmless, unless they are also steering variables."""
_NOT_STEERING = frozenset(words("NODE_ENV PYTHONUNBUFFERED PYTHONUTF8 PYTHONIOENCODING PYTHONDONTWRITEBYTECODE"))
_STEERING = re.compile(
    r"(?:PATH|HOME|IFS|ENV|BASH_ENV|BASH_FUNC_.*|SHELLOPTS|BASHOPTS|PROMPT_COMMAND|PS4|CDPATH|SHELL|ZDOTDIR|TMPDIR"
    r"|EDITOR|VISUAL|PAGER|BROWSER|LESSOPEN|LESSCLOSE|VIRTUAL_ENV|CLASSPATH|.*JAVA_OPTIONS|JAVA_TOOL_OPTIONS|JAVA_HOME"
    r"|GLIBC_TUNABLES|GCONV_PATH|LOCPATH|NLSPATH|OPENSSL_CONF|OPENSSL_MODULES|.*_PROXY|.*CA_BUNDLE|SSL_CERT_.*|CURL_.*"
    r"|PYTHON.*|PERL5.*|PERLLIB|RUBYLIB|RUBYOPT|RUSTC.*|RUSTFLAGS|GO(?:BIN|ENV|FLAGS|PATH|PROXY|ROOT|SUMDB|TOOLCHAIN)"
    r"|(?:LD|DYLD|NODE|NPM_CONFIG|PNPM|YARN|BUN|DENO|COREPACK|NVM|UV|PIP|PIPX|POETRY|CONDA|PYENV|GIT|SSH|XDG|PERL|RUBY"
    r"|GEM|BUNDLE|CARGO|RUST|RUSTUP|DOTNET|CORECLR|DOCKER|ALITA)_.*"
    r"|(?:.*_)?(?:JAVA|J|MAVEN|GRADLE|SBT)?_?(?:OPTS|OPTIONS)|.*FLAGS|.*RUNPARAM|GHCRTS|(?:.*_)?(?:ARGS|INIT|PRELOAD)(?:_.*)?"
    r"|[A-Z]*RC|.*(?:LIB|LOAD|INCLUDE|MODULE|PLUGIN)S?_?(?:PATH|DIR)S?|PHP_.*|(?:LUA|ERL|TCL|GUILE|EMACS|JULIA|MONO|R)_.*)",
    re.IGNORECASE,
)
"""Names of variables that are known to change which code runs or which server it connects to.

The list is incomplete. A variable that neither pattern matches is shown with its value and a warning.
"""
REFUSED_VARIABLE = "its variable {} would change which code runs, which is forbidden in a project's file"


@dataclass(frozen=True, slots=True)
class ConfigProblem:
    """An invalid entry or file."""

    where: str
    message: str


@dataclass(frozen=True, slots=True)
class Parsed:
    """The servers and problems in a file."""

    entries: tuple[ServerEntry, ...] = ()
    problems: tuple[ConfigProblem, ...] = ()


def parse(text: str, path: Path, scope: Scope) -> Parsed:
    """Parse the text of a configuration file. Never raises."""
    try:
        document = load_jsonc(text)
    except ValueError as error:
        return Parsed(problems=(ConfigProblem(str(path), f"it is not JSON: {one_line(str(error))}"),))
    return parse_document(document, path, scope)


def parse_document(document: Json, path: Path, scope: Scope) -> Parsed:
    """Parse a configuration file that has already been loaded as JSON."""
    objects = [document.get(key) for key in ("mcpServers", "servers")] if isinstance(document, dict) else []
    servers = next((one for one in objects if isinstance(one, dict)), None)
    if servers is None:
        return Parsed(
            problems=(ConfigProblem(str(path), "it contains neither an object `mcpServers` nor an object `servers`"),)
        )
    entries, problems = [], []
    for name, form in list(servers.items())[:MAX_SERVERS]:
        try:
            entry = _entry(name, form, scope, path)
            if scope == "project" and (steering := steering_variables(entry)):
                raise ValueError(f"{REFUSED_VARIABLE.format(steering[0])}; define the server in your own file instead")
            entries.append(entry)
        except ValueError as wrong:
            problems.append(ConfigProblem(f"{path}: {one_line(name, 60)}", _first_error(wrong)))
    if len(servers) > MAX_SERVERS:
        problems.append(
            ConfigProblem(str(path), f"it defines {len(servers)} servers; only the first {MAX_SERVERS} are used")
        )
    return Parsed(tuple(entries), tuple(problems))


def _entry(name: str, form: Json, scope: Scope, path: Path) -> ServerEntry:
    if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
        raise ValueError(f"a server's name must have 1 to {LONGEST_NAME} printable characters")
    if not isinstance(form, dict):
        raise ValueError("its definition is not a JSON object")
    known = {key: value for key, value in form.items() if key in FORM_KEYS and value is not None}
    is_off = known.get("disabled") is True or known.get("enabled") is False
    entry = ServerEntry.model_validate({**known, "name": name, "is_off": is_off, "scope": scope, "path": path})
    kind = known.get("type", known.get("transport", ""))
    if not isinstance(kind, str):
        raise ValueError("its `type` is not text")
    if kind.strip().lower() == "sse":
        raise ValueError("the SSE transport from 2024 is not supported; use the server's streamable HTTP address")
    if kind.strip() and _TRANSPORTS.get(kind.strip().lower()) != ("stdio" if entry.command else "http"):
        what = "a command" if entry.command else "an address"
        raise ValueError(f"its type is {one_line(kind, 40)!r}, but it has {what}")
    return entry


def _first_error(wrong: ValueError) -> str:
    if not isinstance(wrong, ValidationError):
        return str(wrong)
    first = wrong.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"]))
    message = first["msg"].removeprefix("Value error, ")
    return one_line(f"`{place}`: {message}" if place else message, 300)


def as_form(entry: ServerEntry) -> dict[str, Json]:
    """Return the entry in the form used in configuration files. Parsing the result gives an equal entry."""
    form: dict[str, Json] = {
        "env": entry.environment,
        "headers": entry.headers,
        "cwd": entry.folder,
        "disabled": entry.is_off,
        "alita": entry.limits.model_dump(by_alias=True, exclude_defaults=True),
    }
    stdio = {"command": entry.command, "args": list(entry.arguments)}
    start: dict[str, Json] = {"type": "http", "url": entry.url} if entry.url else stdio
    return {**start, **{key: value for key, value in form.items() if value}}


def steering_variables(entry: ServerEntry) -> list[str]:
    """Return the variables of an entry that are known to change which code runs."""
    return [name for name in entry.environment if _STEERING.fullmatch(name) and name not in _NOT_STEERING]


_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/|,(?=(?:\s|//[^\n]*|/\*.*?\*/)*[}\]])', re.DOTALL)


def load_jsonc(text: str) -> Json:
    """Parse JSON with comments and trailing commas.

    Raises:
        ValueError: The text is invalid or nested too deeply.
    """
    text = text.removeprefix("\ufeff")
    return json_of(_TOKEN.sub(lambda found: found[0] if found[0].startswith('"') else " ", text))


def has_comments(text: str) -> bool:
    """Return True if the text is not plain JSON. Rewriting it would lose its comments."""
    try:
        json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return True
    return False
