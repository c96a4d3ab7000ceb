"""Reads the layers of settings and merges them, remembering where each value came from.

A project's own files are untrusted. `alita.toml` and `.env` of the current folder cannot weaken the
isolation, move alita's folders or put the tools outside the project; `alita.toml` holds no keys and no
endpoint of all models; an endpoint named in `.env` only ever receives a key that stands in the same file; and a model
that `alita.toml` names uses a key only where the user's own settings use that key, too.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import SecretStr, ValidationError

from agent.configuration.paths import PROJECT_FILE, Folders, default_tools_folder, find_folders
from agent.configuration.settings import Settings, implied_model, require_header_text, split_names
from agent.configuration.stored_keys import StoredKeys
from agent.errors import SettingsError
from agent.models.named import NAME
from agent.models.protocol import EMBEDDED, FIRST_LISTED, OPENAI_URL, ROLES, SCRIPTED

_MODELS = "models."
"""Before the name of each model that a layer defines."""
_STORED = "alita keys, {}"
_WORDS = {
    **dict.fromkeys(("int_parsing", "int_type", "int_from_float"), "it is no whole number"),
    **dict.fromkeys(("float_parsing", "float_type"), "it is no number"),
    **dict.fromkeys(("bool_parsing", "bool_type"), "write true or false"),
}
"""What pydantic says of a value, in plain words."""
_USERINFO = re.compile(r"//[^/]*@")
KEYS = ("api_key", "speech_api_key", "firecrawl_api_key", "gemini_api_key", "tavily_api_key", "hf_token")
FOLDERS = ("config_dir", "data_dir", "cache_dir", "runtime_dir", "runs_dir", "models_dir")
ACCEPTED_VARIABLES: dict[str, tuple[str, ...]] = {
    "model": ("LLM_MODEL_NAME",),
    "api_key": ("LLM_API_KEY", "OPENAI_API_KEY"),
    "base_url": ("LLM_API_BASE", "OPENAI_BASE_URL"),
    "firecrawl_api_key": ("FIRECRAWL_API_KEY",),
    "firecrawl_api_url": ("FIRECRAWL_API_URL",),
    "gemini_api_key": ("GEMINI_API_KEY",),
    "tavily_api_key": ("TAVILY_API_KEY",),
    "hf_token": ("HF_TOKEN",),
}
"""Variables that other programs use too. `ALITA_` and the setting's name in capitals stands before them."""
NOT_FOR_PROJECTS: dict[str, str] = {
    "base_url": "it would decide who receives your questions and your key",
    "speech_base_url": "it would decide who hears your recordings",
    "firecrawl_api_url": "it would decide who receives your searches and your key",
    "allow_private": "it would open your network to pages",
    "web_index": "it would decide which of your files are searched",
    "chrome": "it would decide which program is started",
    "browser_hosts": "it would decide which pages the browser opens",
    "logins": "it would decide whose passwords are used",
    "isolation": "it would decide how tools are kept from your machine",
    "approval": "it would decide which tools are kept without asking you",
    **dict.fromkeys(KEYS, "keys do not belong into a project's files"),
    **dict.fromkeys(FOLDERS, "it would move what alita keeps"),
}
DECIDING = (
    *("model", "fallback", *ROLES, "base_url", "api_key", "engines"),
    *("speech", "speech_model", "speech_api_key", "firecrawl_api_key", "gemini_api_key", "tavily_api_key"),
)
"""What decides whose model answers, and who receives questions, searches and recordings. From a project's file it is
used once the user has allowed it."""
NOT_FOR_DOTENV = (
    *(
        "isolation",
        "approval",
        "speech_base_url",
        "firecrawl_api_url",
        "allow_private",
        "web_index",
        "chrome",
        "browser_hosts",
        "logins",
    ),
    *FOLDERS,
)


@dataclass(frozen=True, slots=True)
class Layer:
    """The values of one source, and for each of them how a message names it."""

    values: dict[str, Any]
    names: dict[str, str] = field(default_factory=dict)


SERVE_TOKEN = "ALITA_SERVE_TOKEN"  # noqa: S105 - a variable's name
"""The bearer token of `alita serve --http`: no setting, so that no file of a project can choose it."""


def variables(setting: str) -> tuple[str, ...]:
    """The variables that set a setting, the one that wins first; tables have none."""
    return () if setting == "models" else (f"ALITA_{setting.upper()}", *ACCEPTED_VARIABLES.get(setting, ()))


def read_settings(
    flags: Mapping[str, Any] | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    current: Path | None = None,
) -> Settings:
    """Reads and merges every layer.

    Args:
        flags: Values of the command line; None means not given.
        environment: The process's own when not given.
        current: The folder whose `alita.toml` and `.env` are read; the current one when not given.

    Raises:
        SettingsError: A file cannot be read, a setting is unknown, or its value is not what it can be.
    """
    environment = os.environ if environment is None else environment
    current = (current or Path.cwd()).absolute()
    folders = find_folders(environment)
    dotenv = _dotenv_layer(current / ".env")
    exported = _variables_layer(environment)
    given = {name: value for name, value in (flags or {}).items() if value is not None}
    project = _project_layer(current / PROJECT_FILE)
    for layer in (project, dotenv):
        _refuse_scripts(layer)
    user, kept = _user_layer(folders.config_file), StoredKeys(folders.config).values()
    stored = _variables_layer(kept, origin=_STORED)
    flagged = Layer(given, {name: f"flag --{name.replace('_', '-')}" for name in given})
    _refuse_borrowed_keys(project, _merge((user, stored, exported, flagged)))
    merged = _merge((user, stored, project, dotenv, exported, flagged))
    _refuse_redirected_key(merged, dotenv)
    _place_folders(merged, folders, current, moved="ALITA_HOME" in environment)
    if not merged.values.get("model"):
        merged.values["model"], merged.names["model"] = implied_model(merged.values)
    models = {name.removeprefix(_MODELS): value for name, value in merged.values.items() if name.startswith(_MODELS)}
    others = {name: value for name, value in merged.values.items() if not name.startswith(_MODELS)}
    try:
        settings = Settings(**others, models=models)
    except ValidationError as error:
        raise _explained(error, merged.names) from None
    keys = _keys(settings, {**kept, **environment})
    return settings.remember(merged.names, current, _chosen(merged, project, dotenv), keys)


def _keys(settings: Settings, environment: Mapping[str, str]) -> dict[str, SecretStr]:
    """The keys of the named models. A project's `.env` is no place for them: nobody would know whose they are."""
    keys = {}
    for name, named in settings.models.items():
        if key := environment.get(named.key, "").strip():
            try:
                require_header_text(key)
            except ValueError as problem:
                raise SettingsError(f"The key of {named.key}, for models.{name}, cannot be used: {problem}.") from None
            keys[named.key] = SecretStr(key)
    return keys


def _refuse_borrowed_keys(project: Layer, own: Layer) -> None:
    """A model that a project names gets a key only at an endpoint where the user's own settings use that key."""
    used = {(_address(value), value.get("key")) for name, value in own.values.items() if name.startswith(_MODELS)}
    used.add((_address(own.values), own.names.get("api_key", "").rpartition(" ")[2]))
    for name, value in project.values.items():
        if name.startswith(_MODELS) and value.get("key") and (_address(value), value["key"]) not in used:
            raise SettingsError(
                f"{project.names[name]} lets {name} use the key of {value['key']} at {_address(value)}, "
                "where your own settings do not use it.",
                remedy=f"If you trust it, put [{name}] into your own file: `alita config path`.",
            )


def _address(values: Mapping[str, Any]) -> str:
    return str(values.get("base_url") or OPENAI_URL).rstrip("/")


def _chosen(merged: Layer, *project: Layer) -> list[str]:
    """The settings with which a project's files decide who answers, where nothing of the user's overrides them."""
    sources = {(name, source) for layer in project for name, source in layer.names.items()}
    models = [name for name in merged.names if name.startswith(_MODELS)]
    chosen = [name for name in (*DECIDING, *models) if (name, merged.names.get(name)) in sources]
    implied = ["model"] if {"base_url", "api_key"} & {*chosen} and merged.names["model"].startswith("default") else []
    return [*chosen, *implied]


def _refuse_scripts(layer: Layer) -> None:
    """A scripted model is a program: it comes from the user alone."""
    for name in ("model", "fallback", *ROLES):
        if any(str(model).strip().startswith(SCRIPTED) for model in split_names(layer.values.get(name)) or ()):
            raise SettingsError(
                f"{layer.names[name]} sets {name} to a script, which a project may not: it would decide what is done.",
                remedy="Name the script yourself: --model scripted:FILE",
            )


def _merge(layers: Iterable[Layer]) -> Layer:
    merged = Layer({})
    for layer in layers:
        merged.values.update(layer.values)
        merged.names.update(layer.names)
    return merged


def _place_folders(merged: Layer, folders: Folders, current: Path, *, moved: bool) -> None:
    values = merged.values
    for name in ("tools_dir", *FOLDERS):
        if name in values:
            values[name] = current / Path(str(values[name])).expanduser()
    data = values.get("data_dir", folders.data)
    places = {
        "config_dir": folders.config,
        "data_dir": data,
        "cache_dir": folders.cache,
        "runtime_dir": folders.runtime,
        "runs_dir": data / "runs",
        "models_dir": data / "models",
        "tools_dir": default_tools_folder(data, current),
    }
    for name, place in places.items():
        if values.setdefault(name, place) is place and moved and name != "tools_dir":
            merged.names.setdefault(name, "variable ALITA_HOME")


def _explained(error: ValidationError, sources: Mapping[str, str]) -> SettingsError:
    problem = error.errors(include_url=False)[0]
    parts = [str(part) for part in problem["loc"]]
    name, origin = parts[0], parts[0]
    if name == "models":
        name, origin = ".".join(parts), ".".join(parts[:2])
    value = "the given key" if name in KEYS or parts[-1] == "key" else _USERINFO.sub("//", repr(problem["input"]))
    allowed = _WORDS.get(problem["type"]) or problem["msg"].removeprefix("Value error, ")
    return SettingsError(
        f"{name} cannot be {value} ({sources.get(origin, 'default')}): {allowed[:1].lower()}{allowed[1:]}.",
        remedy="`alita config show` prints every setting and where it came from.",
    )


def _user_layer(path: Path) -> Layer:
    values = _read_toml(path)
    require_known(values, path)
    for name in ("tools_dir", *FOLDERS):
        if isinstance(values.get(name), str):
            values[name] = str(path.parent / Path(values[name]).expanduser())
    _flatten_models(values, path)
    return Layer(values, dict.fromkeys(values, str(path)))


def _flatten_models(values: dict[str, Any], path: Path) -> None:
    """Makes a setting of its own of each named model, so that layers override one another by name."""
    models = values.pop("models", {})
    if not isinstance(models, dict) or not all(isinstance(value, dict) for value in models.values()):
        raise SettingsError(f"{path} sets models to something else than tables.", remedy="Write: [models.NAME]")
    for name, value in models.items():
        if not NAME.fullmatch(name) or name in (EMBEDDED, FIRST_LISTED):
            raise SettingsError(f"{path} names a model {name!r}, which cannot be one's name.")
        values[f"{_MODELS}{name}"] = value


def _project_layer(path: Path) -> Layer:
    values = _read_toml(path)
    require_known(values, path)
    for name in values:
        if name in NOT_FOR_PROJECTS:
            raise SettingsError(
                f"{path} sets {name}, which a project may not: {NOT_FOR_PROJECTS[name]}.",
                remedy=f"Export {variables(name)[0]}, or set it in your own file: `alita config path`.",
            )
    if "tools_dir" in values:
        values["tools_dir"] = _inside(path.parent, str(values["tools_dir"]), path)
    _flatten_models(values, path)
    return Layer(values, dict.fromkeys(values, str(path)))


def _inside(project: Path, folder: str, path: Path) -> str:
    wanted = (project / folder).resolve()
    if not wanted.is_relative_to(project.resolve()):
        raise SettingsError(
            f"{path} sets tools_dir to {folder!r}, which is outside the project.",
            remedy="Use a folder inside it, or say --tools-dir yourself.",
        )
    return str(wanted)


def _variables_layer(environment: Mapping[str, str], origin: str = "variable {}") -> Layer:
    values: dict[str, Any] = {}
    names: dict[str, str] = {}
    for setting in Settings.model_fields:
        for variable in variables(setting):
            value = environment.get(variable, "").strip()
            if value:
                values[setting], names[setting] = value, origin.format(variable)
                break
    _refuse_misspelt(environment)
    return Layer(values, names)


def _refuse_misspelt(environment: Mapping[str, str]) -> None:
    known = ["ALITA_HOME", SERVE_TOKEN, *(name for setting in Settings.model_fields for name in variables(setting)[:1])]
    for variable in environment:
        near = variable.startswith("ALITA_") and variable not in known and _nearest(variable, known)
        if near:
            raise SettingsError(f"The variable {variable} sets nothing.", remedy=f"Did you mean {near}?")


def _dotenv_layer(path: Path) -> Layer:
    if not path.is_file():
        return Layer({})
    from dotenv import dotenv_values

    try:
        # No interpolation: it would let the file copy the environment's secrets into other values.
        found = dotenv_values(path, interpolate=False)
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} cannot be read: {error}.") from None
    layer = _variables_layer({k: v for k, v in found.items() if v}, origin=f"{path} ({{}})")
    for name in NOT_FOR_DOTENV:
        if name in layer.values:
            raise _not_for_dotenv(path, name, variables(name)[0])
    if "ALITA_HOME" in found:
        raise _not_for_dotenv(path, "data_dir", "ALITA_HOME")
    if "tools_dir" in layer.values:
        layer.values["tools_dir"] = _inside(path.parent, layer.values["tools_dir"], path)
    return layer


def _not_for_dotenv(path: Path, name: str, variable: str) -> SettingsError:
    return SettingsError(
        f"{path} sets {variable}, which a project's file may not: {NOT_FOR_PROJECTS[name]}.",
        remedy=f"Export {variable} in your shell instead.",
    )


def _refuse_redirected_key(merged: Layer, dotenv: Layer) -> None:
    """An endpoint chosen by `.env` gets the key of `.env` and no other."""
    url, key = merged.names.get("base_url"), merged.names.get("api_key")
    if url and key and url == dotenv.names.get("base_url") and key != dotenv.names.get("api_key"):
        raise SettingsError(
            f"The key of {key} would go to {merged.values['base_url']}, an address that {url} chose.",
            remedy=f"Export {variables('base_url')[0]} if you trust it, or put the key into the same file.",
        )


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        text = path.read_bytes().decode()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} cannot be read: {error}.") from None
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path} is not TOML: {error}.", remedy="Correct that line.") from None


def require_known(values: Iterable[str], path: Path) -> None:
    """Refuses names that are no settings.

    Raises:
        SettingsError: One is none; the nearest one is named.
    """
    for name in values:
        if name not in Settings.model_fields or name == "config_dir":
            near = _nearest(name, Settings.model_fields)
            remedy = f"Did you mean {near}?" if near else "`alita config show` lists every setting."
            raise SettingsError(f"{path} sets {name!r}, which is no setting.", remedy=remedy)


def _nearest(name: str, known: Iterable[str]) -> str | None:
    found = difflib.get_close_matches(name, list(known), n=1, cutoff=0.75)
    return found[0] if found else None
