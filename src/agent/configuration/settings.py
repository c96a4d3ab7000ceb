"""The settings of one process: a typed object that is read once and passed on.

Defaults < user file < project file < `.env` < environment < flags. Each value remembers its source.
`agent.configuration.settings_sources` reads the sources.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Self
from urllib.parse import unquote, urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    SecretStr,
    ValidationError,
    ValidationInfo,
    create_model,
    field_validator,
)

from agent.configuration.allowed_addresses import read_allowed
from agent.configuration.engines import ENGINES
from agent.configuration.specialists import SPECIALISTS
from agent.errors import RunError
from agent.models.named import NamedModel, endpoint_address, is_known_to_see
from agent.models.protocol import EMBEDDED, FIRST_LISTED, ROLES, Role, StrategyName
from agent.question import Purpose

if TYPE_CHECKING:
    from agent.store.runs import Run


ABILITIES = ("search", "browse", "create")
REMOVED = {"web_index": "the engine `index`, which searched your own pages, was removed; attach files with --file"}
"""Settings of earlier versions, each with its replacement."""
_HOST = re.compile(r"[\w-]+(?:\.[\w-]+)*")
HOSTED_DEFAULT = "gpt-5-mini"
_OPENAI = re.compile(r"(https?://)?api\.openai\.com(?![\w.-])", re.IGNORECASE)
UNSET = "—"


def split_names(value: Any) -> Any:
    """Split a text at its commas; return any other value unchanged."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


def require_header_text(key: str) -> None:
    """Check that a key can be sent in an HTTP header. The error does not show the key.

    Raises:
        ValueError: The key contains a character that is not allowed in headers.
    """
    if strange := next((c for c in key if not (c.isascii() and c.isprintable())), ""):
        raise ValueError(f"it contains the character {strange!a}, which is not allowed in a key; paste the key again")


def _usable(key: SecretStr | None) -> SecretStr | None:
    if key is not None:
        require_header_text(key.get_secret_value())
    return key


_PERIOD = re.compile(r"(\d{1,6})\s*([mhdw])")
_SECONDS = {"m": 60.0, "h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}


def seconds_of(period: str) -> float:
    """Return the length in seconds of a period such as `90d`, which is given in minutes, hours, days or weeks.

    Raises:
        ValueError: The text is not a period.
    """
    if (found := _PERIOD.fullmatch(period.strip().lower())) is None:
        raise ValueError(f"{period!r} is not a period such as 12h, 30d or 4w")
    return int(found[1]) * _SECONDS[found[2]]


def start_of(text: str, now: float) -> float:
    """Return a start time in seconds since 1970. `text` is an age such as `7d`, or a local date such as `2026-11-01`.

    Raises:
        ValueError: The text is neither an age nor a date.
    """
    try:
        return datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError):
        pass
    try:
        return now - seconds_of(text)
    except ValueError:
        raise ValueError(f"{text!r} is neither a period such as 7d nor a day such as 2026-11-01") from None


def _retention(value: object) -> str:
    """Check a value of `keep_runs`."""
    text = str(value).strip().lower()
    if text != "all" and not text.isdecimal() and not _PERIOD.fullmatch(text):
        raise ValueError(f"{text!r} is not a period such as 90d, a number of runs, or all")
    return text


Names = Annotated[tuple[str, ...], BeforeValidator(split_names)]
"""A list of names. In variables and flags, commas separate the names."""
Address = Annotated[str | None, AfterValidator(endpoint_address)]
Key = Annotated[SecretStr | None, AfterValidator(_usable)]
Count = Annotated[int, Field(ge=1, le=1000)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Traits(NamedTuple):
    """Facts about a setting besides its type, default and description. They are part of the setting's annotation."""

    variables: tuple[str, ...] = ()
    """Variables of other programs that also set it. The variable named `ALITA_` plus the setting's name
    takes precedence."""
    not_for_projects: str = ""
    """The reason why a project's files may not set it; empty if they may. They can never set keys and folders."""
    decides: bool = False
    """True if it chooses a model, or who receives questions, searches or recordings.

    A project's value is used only after the user has allowed it.
    """
    recorded: bool = False
    """True if answers depend on it. It is then recorded with each run, and is part of the answer cache's key."""


ModelNames = Annotated[Names, Traits(decides=True)]


class Explained(NamedTuple):
    """A setting as `alita config show` prints it. Keys are masked."""

    name: str
    value: str
    source: str


class _FixedSettings(BaseModel):
    """The settings that do not depend on the list of search engines."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=(), validate_default=True)

    model: Annotated[str, Traits(variables=("LLM_MODEL_NAME",), decides=True)] = Field(
        "", description="Model name, `embedded`, or scripted:FILE."
    )
    fallback: ModelNames = Field((), description="Models to try when the model fails.")
    base_url: Annotated[
        Address,
        Traits(
            variables=("LLM_API_BASE", "OPENAI_BASE_URL"),
            not_for_projects="it would choose who receives your questions and your key",
            decides=True,
        ),
    ] = Field(None, description="OpenAI-compatible endpoint.")
    api_key: Annotated[
        Key,
        Traits(
            variables=("LLM_API_KEY", "OPENAI_API_KEY"),
            decides=True,
        ),
    ] = Field(None, description="API key for the endpoint.")

    strategy: Annotated[StrategyName, Traits(recorded=True)] = Field(
        "auto", description="How to work with models: standard, small, or auto (small for the embedded model)."
    )

    models: dict[str, NamedModel] = Field({}, description="Named models, each in a table `[models.NAME]`.")

    conversation: ModelNames = Field((), description="Models that rewrite follow-ups for small models.")
    planner: ModelNames = Field((), description="Models that plan.")
    coordinator: ModelNames = Field((), description="Models that decide what to do next.")
    writer: ModelNames = Field((), description="Models that write tools.")
    examiner: ModelNames = Field((), description="Models that write tests.")
    vision: ModelNames = Field((), description="Models that read pictures.")
    media: ModelNames = Field((), description="Models for video and audio (default: those with `watches = true`).")
    browser: ModelNames = Field((), description="Models that drive the browser.")
    overseer: ModelNames = Field((), description="Models that diagnose wrong benchmark answers.")

    max_steps: Annotated[Count, Traits(recorded=True)] = Field(
        12, description="Limit on steps per run; all calls in one model reply count as one step."
    )
    max_tokens: Annotated[int | None, Traits(recorded=True)] = Field(
        None, ge=1, description="Limit on tokens per run, input plus output."
    )
    max_seconds: Annotated[Seconds | None, Traits(recorded=True)] = Field(
        None, description="Time limit per run, in seconds."
    )
    max_cost: Annotated[float | None, Traits(recorded=True)] = Field(
        None, ge=0, allow_inf_nan=False, description="Limit on cost per run, in US dollars; needs known prices."
    )
    timeout: Seconds = Field(180.0, description="Time limit for one model call, in seconds.")
    concurrency: Count = Field(8, description="Model calls to run in parallel.")
    retries: int = Field(4, ge=0, le=1000, description="Number of retries when an endpoint is busy.")
    model_idle_seconds: Seconds = Field(
        900.0, ge=1, description="Stop the embedded model after this many idle seconds."
    )
    isolation: Annotated[
        Literal["auto", "bubblewrap", "sandlock", "none"],
        Traits(not_for_projects="it would choose how tools are isolated from your machine"),
    ] = Field("auto", description="How to isolate tools from the machine.")
    approval: Annotated[
        Literal["ask", "auto", "never"],
        Traits(not_for_projects="it would choose which tools are kept without asking you"),
    ] = Field("auto", description="When to keep a new tool: ask, auto (always) or never.")
    packages: Annotated[
        Literal["ask", "auto", "never"],
        Traits(not_for_projects="it would choose which packages are installed without asking you"),
    ] = Field("ask", description="When to install packages that programs and tools need: ask, auto (always) or never.")
    hosts: Annotated[
        Literal["ask", "auto", "never"],
        Traits(not_for_projects="it would choose which hosts are reached without asking you"),
    ] = Field(
        "ask",
        description="When tools and programs may reach the hosts that they declare: ask, auto (always, but ask before "
        "a stored key is sent) or never.",
    )
    servers: Names = Field(("all",), description="MCP servers to use: names, all or none.")
    download: Annotated[
        Literal["terminal", "always", "never"],
        Traits(not_for_projects="it would choose what is downloaded to your machine"),
    ] = Field(
        "terminal",
        description="When to download missing models and browsers: at a terminal only (terminal), always or never.",
    )
    gaps: Literal["auto", "reviewed", "off"] = Field(
        "auto", description="Gap records that the planner sees: all but rejected (auto), approved (reviewed), or none."
    )
    replan_steps: int = Field(6, ge=0, le=1000, description="Make a new plan after this many steps (0: never).")
    agent: Annotated[str, Traits(recorded=True)] = Field(
        "", description="Specialist that answers: web, code, files, math or browser."
    )
    without: Annotated[Names, Traits(recorded=True)] = Field(
        (), description="Abilities to disable: search, browse, create."
    )
    seed: Annotated[int | None, Traits(recorded=True)] = Field(
        None, ge=0, description="Seed for model calls, if the endpoint supports one."
    )
    leak_guard: Annotated[bool, Traits(recorded=True)] = Field(
        False,
        description="Block known copies of benchmark answers. In a benchmark: `--leak-guard`, on by default.",
    )
    plain: bool = Field(False, description="Print whole sentences without animation or symbols, for screen readers.")
    use_cache: bool = Field(True, description="Answer repeated questions from the cache.")
    keep_runs: Annotated[
        str,
        BeforeValidator(_retention),
        Traits(not_for_projects="it would choose which of your runs are removed"),
    ] = Field("90d", description="Runs to keep: a period such as 90d or 12w, a number of runs, or all.")

    log_days: Annotated[int, Traits(not_for_projects="it would choose which of your logs are removed")] = Field(
        14, ge=0, description="Days to keep logs; 0 writes none."
    )

    engines: Annotated[Names, Traits(decides=True, recorded=True)] = Field(
        (),
        description=f"Search engines in order: {', '.join(engine.name for engine in ENGINES)} (default: those ready).",
    )
    allow_private: Annotated[
        bool, Traits(not_for_projects="it would let web pages reach your network", recorded=True)
    ] = Field(False, description="Also open pages on this machine and its network.")
    allow_addresses: Annotated[
        Names, Traits(not_for_projects="it would let web pages reach your network", recorded=True)
    ] = Field(
        (),
        description="Hosts, networks (10.1.0.0/16) or addresses (http://127.0.0.1:8000) of this machine and its "
        "network that may be opened.",
    )
    robots: bool = Field(True, description="Follow robots.txt.")
    chrome: Annotated[Path | None, Traits(not_for_projects="it would choose which program is started")] = Field(
        None, description="Chromium to use (default: the one found)."
    )
    logins: Annotated[Path | None, Traits(not_for_projects="it would choose the passwords that are used")] = Field(
        None, description="File with user names and passwords that the browser may fill in."
    )
    browser_hosts: Annotated[
        Names, Traits(not_for_projects="it would choose which pages the browser opens", recorded=True)
    ] = Field((), description="Hosts that the browser may open, including subdomains (default: all).")
    browser_steps: Count = Field(25, description="Limit on browser steps per action.")
    browser_seconds: Seconds = Field(300.0, description="Time limit for one browser action, in seconds.")

    speech: Annotated[Literal["auto", "faster-whisper", "openai-whisper", "api", "none"], Traits(decides=True)] = Field(
        "auto", description="Program or service that transcribes speech in audio and video."
    )
    speech_model: Annotated[str, Traits(decides=True)] = Field(
        "", description="Model for transcription, if there are several."
    )
    speech_base_url: Annotated[Address, Traits(not_for_projects="it would choose who receives your recordings")] = (
        Field(None, description="OpenAI-compatible endpoint that transcribes speech.")
    )
    speech_api_key: Annotated[Key, Traits(decides=True)] = Field(None, description="API key for `speech_base_url`.")

    tools_dir: Path = Field(Path("generated_tools"), description="Folder for created tools.")
    config_dir: Path = Field(Path(), description="Folder with your settings file.")
    data_dir: Path = Field(Path(), description="Folder for alita's data.")
    cache_dir: Path = Field(Path(), description="Folder for caches; safe to delete.")
    runtime_dir: Path = Field(Path(), description="Folder for sockets and locks.")
    runs_dir: Path = Field(Path(), description="Folder for runs and their journals.")
    models_dir: Path = Field(Path(), description="Folder for the embedded model's weights.")
    gaps_file: Path = Field(Path(), description="File with the gap records, a SQLite database like the store.")
    database_url: Annotated[Key, Traits(not_for_projects="it would move alita's data")] = Field(
        None, description="URL of a PostgreSQL database for the store (default: a file in `data_dir`)."
    )

    gemini_api_key: Annotated[Key, Traits(variables=("GEMINI_API_KEY",), decides=True)] = Field(
        None, description="API key for Gemini; defines the model `gemini`, which takes video and audio."
    )
    gemini_model: Annotated[str, Traits(decides=True)] = Field(
        "gemini-flash-latest", min_length=1, description="Model that `gemini` asks."
    )
    hf_token: Annotated[Key, Traits(variables=("HF_TOKEN",))] = Field(
        None, description="Token for the Hugging Face hub."
    )

    _keys: dict[str, SecretStr] = PrivateAttr(default_factory=dict)
    _sources: dict[str, str] = PrivateAttr(default_factory=dict)
    _chosen_by_project: frozenset[str] = PrivateAttr(default=frozenset())
    _project: Path = PrivateAttr(default_factory=Path.cwd)

    @field_validator("speech_model")
    @classmethod
    def _hears(cls, value: str, info: ValidationInfo) -> str:
        named = info.data.get("models", {}).get(value)
        if named is not None and not named.hears:
            raise ValueError(f"[models.{value}] does not have `hears = true`")
        return value

    @field_validator("engines", "agent", "without")
    @classmethod
    def _are_known(cls, value: str | tuple[str, ...], info: ValidationInfo) -> str | tuple[str, ...]:
        engines = tuple(engine.name for engine in ENGINES)
        known = {"engines": engines, "agent": tuple(SPECIALISTS), "without": ABILITIES}[str(info.field_name)]
        if info.field_name == "without":
            value = tuple("browse" if name == "browser" else name for name in value)
        names = value if isinstance(value, tuple) else (value,) if value else ()
        if info.field_name == "engines" and "index" in names:
            raise ValueError(REMOVED["web_index"])
        if unknown := [name for name in names if name not in known]:
            raise ValueError(f"{', '.join(unknown)} is not one of {', '.join(known)}")
        return value

    @field_validator("browser_hosts")
    @classmethod
    def _are_hosts(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            if not _HOST.fullmatch(name):
                raise ValueError(
                    f"{name} is not a host name; use a name such as shop.example, without https:// or a path"
                )
        return tuple(dict.fromkeys(name.lower() for name in value))

    @field_validator("allow_addresses")
    @classmethod
    def _are_addresses(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for entry in value:
            read_allowed(entry)
        return value

    def remember(
        self, sources: Mapping[str, str], project: Path, chosen: Iterable[str], keys: Mapping[str, SecretStr]
    ) -> Self:
        """Store the source of each value, and return these settings. See the properties with the same names."""
        self._keys.update(keys)
        self._sources.update(sources)
        self._project = project
        self._chosen_by_project = frozenset(chosen)
        return self

    @property
    def project(self) -> Path:
        """The folder whose `alita.toml` and `.env` were read."""
        return self._project

    @property
    def chosen_by_project(self) -> frozenset[str]:
        """The settings marked `decides` that come from a project's file; see `agent.configuration.project_choice`."""
        return self._chosen_by_project

    def models_for(self, role: str) -> tuple[str, ...]:
        """Return the models of a role, in order of preference. Only the role `media` may have none."""
        own: tuple[str, ...] = getattr(self, role)
        general = (self.model, *self.fallback)
        if role != Role.MEDIA:
            return own or general
        watching = [name for name, named in self.models.items() if named.watches]
        return own or tuple(sorted(watching, key=lambda name: name not in general))

    def strategy_of(self, model: str) -> StrategyName:
        """Return the configured strategy of a model."""
        named = self.models.get(model)
        return self.strategy if named is None or named.strategy == "auto" else named.strategy

    def sees(self, role: str) -> bool:
        """Return True if every model of a role reads pictures."""
        return all(map(self.model_sees, self.models_for(role)))

    def model_sees(self, name: str) -> bool:
        """Return True if a model reads pictures, according to its role, its table or its name."""
        named = self.models.get(name)
        if name in self.vision or (named and named.sees is not None):
            return name in self.vision or bool(named and named.sees)
        return is_known_to_see(named.model if named else name)

    @property
    def keys(self) -> Mapping[str, str]:
        """The keys of the named models, by the names of their variables."""
        return {variable: key.get_secret_value() for variable, key in self._keys.items()}

    @property
    def logs_dir(self) -> Path:
        """Folder of the logs."""
        return self.data_dir / "logs"

    @property
    def secrets(self) -> tuple[str, ...]:
        """All keys and passwords, for redaction."""
        return tuple(value for _, value in self.named_secrets)

    @property
    def named_secrets(self) -> list[tuple[str, str]]:
        """All keys and passwords, with the names of their settings or variables."""
        values = ((name, getattr(self, name)) for name in type(self).model_fields)
        found = [(name, v.get_secret_value()) for name, v in values if isinstance(v, SecretStr)] + [*self.keys.items()]
        password = urlsplit(self.database_url.get_secret_value()).password if self.database_url else None
        return found + [("database_url", one) for one in (password, unquote(password or "")) if one]

    @property
    def sessions_dir(self) -> Path:
        """Folder of the terminal's sessions."""
        return self.data_dir / "sessions"

    @property
    def by_flag(self) -> set[str]:
        """Names of the settings that came from the command line."""
        return {name for name, source in self._sources.items() if source.startswith("flag")}

    @property
    def may_download(self) -> bool:
        """True if models and browsers may be downloaded now."""
        at_terminal = sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
        return self.download == "always" or (self.download == "terminal" and at_terminal)

    def source_of(self, name: str) -> str:
        """Return the source of a value: `default`, a file's path, `variable NAME`, or `flag --name`."""
        return self._sources.get(name, "default")

    def explain(self) -> list[Explained]:
        """Return all settings with their values and sources."""
        values = {name: _shown(getattr(self, name)) for name in type(self).model_fields if name != "models"}
        values |= {f"models.{name}": named.shown for name, named in self.models.items()}
        return [Explained(name, value, self.source_of(name)) for name, value in values.items()]


def _engine_fields() -> dict[str, Any]:
    """Return the settings of each search engine: the URL of the user's own server, and an API key."""
    fields: dict[str, Any] = {}
    for engine in ENGINES:
        if engine.url:
            reason = "it would choose who receives your searches and your key"
            traits = Traits(variables=(engine.url.upper(),), not_for_projects=reason)
            url = Field(None, description=f"URL of your own {engine.title} server.")
            fields[engine.url] = Annotated[Address, traits], url
        if engine.key:
            traits = Traits(variables=(engine.key.upper(),), decides=True)
            fields[engine.key] = Annotated[Key, traits], Field(None, description=f"API key for {engine.title}.")
    return fields


if TYPE_CHECKING:

    class Settings(_FixedSettings):
        """Every setting. `settings_sources.read_settings` makes it; no other code reads the environment."""

else:
    Settings = create_model(
        "Settings", __base__=_FixedSettings, __module__=__name__, __doc__="Every setting.", **_engine_fields()
    )


def _shown(value: Any) -> str:
    if value in (None, (), ""):
        return UNSET
    if isinstance(value, SecretStr):
        clear = value.get_secret_value()
        return "********" + (clear[-4:] if len(clear) >= 20 else "")
    if isinstance(value, tuple):
        return ", ".join(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def implied_model(values: Mapping[str, Any]) -> tuple[str, str]:
    """Return the model if none is configured, and the reason. At any endpoint other than OpenAI's, it is `auto`."""
    url = str(values.get("base_url") or "")
    if url and not _OPENAI.match(url):
        return FIRST_LISTED, "default with an endpoint"
    if url or values.get("api_key"):
        return HOSTED_DEFAULT, "default with a key"
    return EMBEDDED, "default without a key"


PURPOSE = "wish"
"""Key in a run's configuration: the purpose of the run, unless that is to answer."""
AROUND = "around"
"""Key in a run's configuration: the package that the tool should wrap, as a requirement."""
SCHEMA = "schema"
"""Key in a run's configuration: the JSON Schema of its answer."""
RULES = "rules"
"""Key in a run's configuration: a benchmark's rules for the form of answers."""
EARLIER = "earlier"
"""Key in a run's configuration: the program that answered a question of the same form before."""
FOLLOWS = "follows"
"""Key in a run's configuration: the run of the previous turn, whose journal has the conversation."""
HOME = "home"
"""Key in a run's configuration: the first run of its conversation, whose folder has the files of all turns."""
FOLDER = "folder"
"""Key in a run's configuration: the user's folder that programs may read; empty if the permission was withdrawn."""
COPY = "folder_copy"
"""Key in a run's configuration: the run with the copy of the folder. `new` means this run; empty
means that there is no copy."""
NEW_COPY = "new"
TRAITS = {
    name: next((fact for fact in field.metadata if isinstance(fact, Traits)), Traits())
    for name, field in Settings.model_fields.items()
}
LIMITS = ("max_steps", "max_tokens", "max_seconds", "max_cost")
_RECORDED = tuple(name for name, traits in TRAITS.items() if traits.recorded)
_AS_IN_PROCESS = {*LIMITS, "engines", "browser_hosts", "allow_private", "allow_addresses"}
"""If a run's configuration lacks these, the settings of this process apply. Any other recorded setting that is missing
counts as unset."""
_UNSET_IF_MISSING = tuple(name for name in _RECORDED if name not in _AS_IN_PROCESS)


def configuration_of(settings: Settings) -> dict[str, str]:
    """Return everything that answers depend on besides the question and the files: models, endpoint and limits."""
    configuration = {"model": settings.model, "base_url": settings.base_url or ""}
    for name in _RECORDED:
        value = getattr(settings, name)
        if value is not None and value is not False and value not in ((), "", "auto"):
            configuration[name] = ",".join(value) if isinstance(value, tuple) else "on" if value is True else str(value)
    roles = {role: settings.models_for(role) for role in ROLES}
    for role, models in roles.items():
        # no model reads pictures or films unless it is named
        if settings.vision if role == Role.VISION else models if role == Role.MEDIA else models != (settings.model,):
            configuration[role] = ",".join(models)
    asked = {name for models in roles.values() for name in models}
    if used := {name: one.model_dump(exclude_defaults=True) for name, one in settings.models.items() if name in asked}:
        configuration["models"] = json.dumps(used, sort_keys=True)
    return configuration


def values_to_resume(settings: Settings) -> dict[str, str]:
    """Return the values that another process needs to resume a run, because it does not have this one's flags."""
    endpoint = {"endpoint": "by flag"} if "base_url" in settings.by_flag else {}
    return {"tools_dir": str(settings.tools_dir), "approval": settings.approval, **endpoint}


def settings_as_in(run: Run, settings: Settings, *, goes_on: bool = False) -> Settings:
    """Return the settings with the models, limits and library of a run, to match its journal.

    Args:
        run: The run.
        settings: The settings of this process.
        goes_on: True if the run makes new calls. Limits from the command line then apply, and the settings may raise
            the limit that ended the run.

    Raises:
        RunError: The run has a setting that this version does not support.
    """
    configuration = run.configuration
    written = {
        name: configuration[name] for name in (*_RECORDED, *ROLES, "approval", "tools_dir") if configuration.get(name)
    }
    if goes_on:
        ended = f"max_{run.answer.limit}" if run.answer else ""
        for name in written.keys() & {*LIMITS, "approval"}:
            own = getattr(settings, name)
            if name in settings.by_flag or (name == ended and (own is None or own > float(written[name]))):
                del written[name]
    try:
        read = Settings.model_validate({"model": run.model, **written})
    except ValidationError as error:
        flaw = error.errors(include_url=False, include_input=False)[0]
        why = flaw["msg"].removeprefix("Value error, ")
        raise RunError(
            f"The run {run.run_id} cannot be repeated, because its setting {flaw['loc'][0]} is invalid: {why}.",
            remedy="Ask the run's question again.",
        ) from None
    recorded = {name: getattr(read, name) for name in ("model", "fallback", *ROLES, *_UNSET_IF_MISSING, *written)}
    if configuration.get("endpoint") or settings.base_url is None:
        recorded["base_url"] = configuration.get("base_url") or None
    return settings.model_copy(update=recorded)


def purpose_of(run: Run) -> Purpose:
    """Return the purpose of a run. A resumed or repeated run keeps it."""
    return Purpose.CREATE if run.configuration.get(PURPOSE) == "create" else Purpose.ANSWER
