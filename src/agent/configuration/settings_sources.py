"""Reads the layers of settings and merges them, with the source of each value.

A project's own files are untrusted:

- `alita.toml` and `.env` of the current folder cannot weaken the isolation, move alita's folders or put the tools
  outside the project.
- `alita.toml` may set neither keys nor an endpoint for all models.
- An endpoint in `.env` only receives a key from the same file.
- A model in `alita.toml` uses a key only if the user's own settings use that key at the same endpoint.
"""

from __future__ import annotations

import difflib
import io
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, get_args

from pydantic import SecretStr, ValidationError

from agent.configuration.paths import PROJECT_FILE, default_tools_folder, find_folders
from agent.configuration.settings import REMOVED, TRAITS, Settings, implied_model, require_header_text, split_names
from agent.configuration.stored_keys import OF_HOST, StoredKeys
from agent.errors import SettingsError
from agent.models.named import NAME
from agent.models.protocol import EMBEDDED, FIRST_LISTED, GEMINI_URL, OPENAI_URL, ROLES, SCRIPTED
from mcp_tools.errors import os_errors_as
from mcp_tools.small_files import SETTINGS, read_small, toml_of
from mcp_tools.text import one_line

Layer = dict[str, tuple[Any, str]]
"""The values from one source, each with the source's name for messages."""
_MODELS = "models."
"""Prefix of named models. Each named model is a separate value, so that a later source can replace it."""
_GEMINI_KEY = "ALITA_GEMINI_API_KEY"
_WORDS = {
    **dict.fromkeys(("int_parsing", "int_type", "int_from_float"), "it is not a whole number"),
    **dict.fromkeys(("float_parsing", "float_type"), "it is not a number"),
    **dict.fromkeys(("bool_parsing", "bool_type"), "it must be true or false"),
}
_USERINFO = re.compile(r"//[^/]*@")
_QUERY = re.compile(r"(//[^?\s'\"]*\?)[^\s'\"]+")
_OPTIONS = {
    **dict.fromkeys(("color", "colour", "no_color"), "--color never (or set NO_COLOR=1)"),
    **{name: f"--{name}" for name in ("verbose", "quiet", "json", "folder")},
}
"""Options that users may take for settings."""
KEYS = tuple(name for name, field in Settings.model_fields.items() if SecretStr in get_args(field.annotation))
_FOLDERS = tuple(name for name in Settings.model_fields if name.endswith(("_dir", "gaps_file")) and name != "tools_dir")
NOT_FOR_PROJECTS: dict[str, str] = {
    **dict.fromkeys(KEYS, "keys must not be stored in a project's files"),
    **dict.fromkeys(_FOLDERS, "it would move alita's data"),
    **{name: traits.not_for_projects for name, traits in TRAITS.items() if traits.not_for_projects},
}
"""Settings that a project's files may not contain, each with the reason."""
_FOR_DOTENV = ("base_url", *(name for name in KEYS if name != "database_url"))
"""Settings in `NOT_FOR_PROJECTS` that a project's `.env` may nevertheless contain."""
_DECIDING = tuple(name for name, traits in TRAITS.items() if traits.decides)
SERVE_TOKEN = "ALITA_SERVE_TOKEN"  # noqa: S105 - a variable's name
"""The bearer token of `alita serve --http`. It is not a setting, so that no project file can choose it."""


def variables(setting: str) -> tuple[str, ...]:
    """Return the variables for a setting, in order of precedence; empty for tables."""
    return () if setting == "models" else (f"ALITA_{setting.upper()}", *TRAITS[setting].variables)


def read_settings(
    flags: Mapping[str, Any] | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    current: Path | None = None,
) -> Settings:
    """Read all sources and merge them.

    Example:
        >>> settings = read_settings({"max_steps": 5})
        >>> settings.source_of("max_steps")
        'flag --max-steps'

    Args:
        flags: Values from the command line. A value of None counts as not given.
        environment: The variables; by default those of this process.
        current: The folder with `alita.toml` and `.env`; by default the current folder.

    Raises:
        SettingsError: A file cannot be read, a setting is unknown, or a value is invalid.
    """
    environment = os.environ if environment is None else environment
    current = (current or Path.cwd()).absolute()
    folders = find_folders(environment)
    project, dotenv = _file_layer(current / PROJECT_FILE), _dotenv_layer(current / ".env")
    _require_harmless(project, dotenv, current)
    user, kept = _file_layer(folders.config_file), StoredKeys(folders.config).values()
    for name in ("tools_dir", *_FOLDERS):
        if name in user:
            value, source = user[name]
            user[name] = (folders.config / Path(str(value)).expanduser(), source)
    exported = _variables_layer(environment)
    given = {name: value for name, value in (flags or {}).items() if value is not None}
    flagged: Layer = {name: (value, f"flag --{name.replace('_', '-')}") for name, value in given.items()}
    lowest, highest = user | _variables_layer(kept, "alita keys, {}"), exported | flagged
    _refuse_borrowed_keys(project, lowest | highest)
    merged = lowest | project | dotenv | highest
    _refuse_redirected_key(merged, dotenv)
    values = {name: value for name, (value, _) in merged.items()}
    sources = {name: source for name, (_, source) in merged.items()}
    for name in {"tools_dir", *_FOLDERS} & {*values}:
        values[name] = current / Path(str(values[name])).expanduser()
    data = values.get("data_dir", folders.data)
    places = {f"{name}_dir": getattr(folders, name) for name in ("config", "data", "cache", "runtime")}
    places |= {"data_dir": data, "runs_dir": data / "runs", "models_dir": data / "models"}
    places["gaps_file"] = data / "alita.sqlite"
    if "ALITA_HOME" in environment:
        sources = dict.fromkeys(places.keys() - values.keys(), "variable ALITA_HOME") | sources
    values = {**places, "tools_dir": default_tools_folder(data, current), **values}
    if not values.get("model"):
        values["model"], sources["model"] = implied_model(values)
    models = {name.removeprefix(_MODELS): value for name, value in values.items() if name.startswith(_MODELS)}
    if values.get("gemini_api_key"):
        asked = {"model": values.get("gemini_model") or Settings.model_fields["gemini_model"].default}
        models.setdefault(
            "gemini", {**asked, "base_url": GEMINI_URL, "key": _GEMINI_KEY, "sees": True, "watches": True}
        )
    others = {name: value for name, value in values.items() if not name.startswith(_MODELS)}
    try:
        settings = Settings(**others, models=models)
    except ValidationError as error:
        raise _explained(error, sources) from None
    theirs = {(name, source) for layer in (project, dotenv) for name, (_, source) in layer.items()}
    keys = _keys(settings, {**kept, **environment})
    keys |= {name: SecretStr(value) for name, value in kept.items() if OF_HOST in name}
    if settings.gemini_api_key:
        keys[_GEMINI_KEY] = settings.gemini_api_key
    return settings.remember(sources, current, _chosen(sources, theirs), keys)


def _chosen(sources: Mapping[str, str], theirs: set[tuple[str, str]]) -> list[str]:
    """Return the settings marked `decides` whose final value comes from a project's file."""
    models = [name for name in sources if name.startswith(_MODELS)]
    chosen = [name for name in (*_DECIDING, *models) if (name, sources.get(name)) in theirs]
    implied = ["model"] if {"base_url", "api_key"} & {*chosen} and sources["model"].startswith("default") else []
    return [*chosen, *implied]


def _keys(settings: Settings, environment: Mapping[str, str]) -> dict[str, SecretStr]:
    """Return the keys of the named models. They cannot come from a project's `.env`, whose author is unknown."""
    keys = {}
    for name, named in settings.models.items():
        if key := environment.get(named.key, "").strip():
            try:
                require_header_text(key)
            except ValueError as problem:
                raise SettingsError(f"The key in {named.key}, for models.{name}, cannot be used: {problem}.") from None
            keys[named.key] = SecretStr(key)
    return keys


def _require_harmless(project: Layer, dotenv: Layer, current: Path) -> None:
    """Reject settings that a project's files may not contain."""
    for layer, allowed in ((project, ()), (dotenv, _FOR_DOTENV)):
        for name, (value, source) in layer.items():
            if name in NOT_FOR_PROJECTS and name not in allowed:
                raise SettingsError(
                    f"{source} sets {name}, which a project may not do: {NOT_FOR_PROJECTS[name]}.",
                    remedy=f"Export {variables(name)[0]}, or set it in your own settings file (`alita config edit`).",
                )
            # A scripted model is a program, so only the user may choose one.
            models = split_names(value) if name in ("model", "fallback", *ROLES) else ()
            if any(str(model).strip().startswith(SCRIPTED) for model in models or ()):
                raise SettingsError(
                    f"{source} sets {name} to a script, which a project may not do: it would control what alita does.",
                    remedy="To use a script, pass it yourself: --model scripted:FILE",
                )
        if "tools_dir" in layer:
            folder, source = layer["tools_dir"]
            wanted = (current / str(folder)).resolve()
            if not wanted.is_relative_to(current.resolve()):
                raise SettingsError(
                    f"{source} sets tools_dir to {folder!r}, which is outside the project.",
                    remedy="Use a folder inside the project, or pass --tools-dir yourself.",
                )
            layer["tools_dir"] = (str(wanted), source)


def _refuse_borrowed_keys(project: Layer, own: Layer) -> None:
    """Allow a project's models to use a key only at an endpoint where the user's own settings use that key."""
    models = [value for name, (value, _) in own.items() if name.startswith(_MODELS)]
    used = {(_address(value.get("base_url")), value.get("key")) for value in models}
    key_source = own["api_key"][1] if "api_key" in own else ""
    used.add((_address(own.get("base_url", (None, ""))[0]), key_source.rpartition(" ")[2]))
    for name, (value, source) in project.items():
        address = _address(value.get("base_url")) if name.startswith(_MODELS) else ""
        if address and value.get("key") and (address, value["key"]) not in used:
            raise SettingsError(
                f"{source} lets {name} use the key of {value['key']} at {address}, "
                "but your own settings do not use it there.",
                remedy=f"If you trust this endpoint, put [{name}] in your own settings file (`alita config edit`).",
            )


def _address(url: object) -> str:
    return str(url or OPENAI_URL).rstrip("/")


def _refuse_redirected_key(merged: Layer, dotenv: Layer) -> None:
    """Make sure that an endpoint from `.env` only receives a key from `.env`."""
    url, key = merged.get("base_url"), merged.get("api_key")
    if url and key and url == dotenv.get("base_url") and key != dotenv.get("api_key"):
        raise SettingsError(
            f"The key from {key[1]} would be sent to {url[0]}, which was set by {url[1]}.",
            remedy=f"Export {variables('base_url')[0]} if you trust this URL, or put the key into {url[1]}.",
        )


def _explained(error: ValidationError, sources: Mapping[str, str]) -> SettingsError:
    problem = error.errors(include_url=False)[0]
    parts = [str(part) for part in problem["loc"]]
    name, origin = parts[0], parts[0]
    if name == "models":
        name, origin = ".".join(parts), ".".join(parts[:2])
    value = "the given key" if name in KEYS or parts[-1] == "key" else _without_secrets(problem["input"])
    allowed = _WORDS.get(problem["type"]) or problem["msg"].removeprefix("Value error, ")
    return SettingsError(
        f"{name} has the invalid value {value} ({sources.get(origin, 'default')}): {allowed[:1].lower()}{allowed[1:]}.",
        remedy=_correction(sources.get(origin, "")),
    )


def _without_secrets(value: object) -> str:
    """Return the value for a message. A URL may hold a password or a key."""
    return _QUERY.sub(r"\1…", _USERINFO.sub("//", repr(value)))


def _correction(source: str) -> str:
    """Return the remedy for an invalid value. `alita config show` would fail, too, except for a flag's value."""
    variable = source.removeprefix("variable ")
    if variable != source:
        return f"Change it, or run: unset {variable}"
    if source.startswith("alita keys, "):
        return f"Store another one: alita keys set {source.removeprefix('alita keys, ')}"
    return f"Correct it in {source}." if os.sep in source else "`alita config show` lists every setting and its source."


def _file_layer(path: Path) -> Layer:
    """Return the settings in a file. Named models become separate values."""
    with os_errors_as(SettingsError, f"{path} cannot be read"):
        try:
            values = toml_of(read_small(path, SETTINGS))
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return {}
        except UnicodeDecodeError:
            raise  # becomes a SettingsError
        except ValueError as error:
            raise SettingsError(
                f"{path} is not valid TOML: {one_line(str(error), 200)}.", remedy="Correct this line."
            ) from None
    require_known(values, path)
    models = values.pop("models", {})
    if not isinstance(models, dict) or not all(isinstance(value, dict) for value in models.values()):
        raise SettingsError(
            f"In {path}, models must contain one table for each model.", remedy="Define each model under [models.NAME]."
        )
    for name, value in models.items():
        if not NAME.fullmatch(name) or name in (EMBEDDED, FIRST_LISTED):
            raise SettingsError(f"{path} defines a model named {one_line(name, 60)!r}, which is not a valid name.")
        values[f"{_MODELS}{name}"] = value
    return {name: (value, str(path)) for name, value in values.items()}


def _variables_layer(environment: Mapping[str, str], origin: str = "variable {}") -> Layer:
    """Return the settings in variables. An empty variable counts as unset, and a misspelt one is an error."""
    layer: Layer = {}
    for setting in Settings.model_fields:
        for variable in variables(setting):
            if setting not in layer and (value := environment.get(variable, "").strip()):
                layer[setting] = (value, origin.format(variable))
    known = ["ALITA_HOME", SERVE_TOKEN, *(name for setting in Settings.model_fields for name in variables(setting)[:1])]
    for variable in environment:
        if variable.startswith("ALITA_"):
            name = variable.removeprefix("ALITA_").lower()
            _require_not_removed(name, f"The variable {variable} is set", f"Unset the variable {variable}.")
        if variable.startswith("ALITA_") and variable not in known and (near := _nearest(variable, known)):
            raise SettingsError(f"The variable {variable} does not match any setting.", remedy=f"Did you mean {near}?")
    return layer


def _dotenv_layer(path: Path) -> Layer:
    if not path.is_file():
        return {}
    from dotenv import dotenv_values

    with os_errors_as(SettingsError, f"{path} cannot be read"):
        # With interpolation, the file could copy secrets from the environment into other values.
        text = read_small(path, SETTINGS).decode()
        found = dotenv_values(stream=io.StringIO(text), interpolate=False)
    if "ALITA_HOME" in found:
        raise SettingsError(
            f"{path} sets ALITA_HOME, which a project may not do: {NOT_FOR_PROJECTS['data_dir']}.",
            remedy="Export ALITA_HOME in your shell instead.",
        )
    return _variables_layer({name: value for name, value in found.items() if value}, f"{path} ({{}})")


def require_known(values: Iterable[str], path: Path | None = None) -> None:
    """Check that settings exist, in a file or as the user typed them.

    Raises:
        SettingsError: A name is unknown. The message suggests a similar one.
    """
    for name in values:
        said = f"{path} sets {name}" if path else f"There is no setting {name}"
        _require_not_removed(name, said, "Remove this line." if path else "")
        if name not in Settings.model_fields or name == "config_dir":
            said = f"{path}: there is" if path else "There is"
            otherwise = f"Remove it from {path}." if path else "`alita config show` lists every setting."
            raise SettingsError(f"{said} no setting {one_line(name, 60)}.", remedy=_instead(name) or otherwise)


def _require_not_removed(name: str, said: str, remedy: str) -> None:
    if why := REMOVED.get(name):
        raise SettingsError(f"{said}, but {why}.", remedy=remedy)


def ignored_variables(environment: Mapping[str, str], settings: Settings) -> list[str]:
    """Return a warning for each variable that looks like a setting but is not one."""
    known = {"ALITA_HOME", SERVE_TOKEN, *(model.key for model in settings.models.values())}
    known |= {name for setting in Settings.model_fields for name in variables(setting)}
    return [
        f"Warning: the variable {name} is ignored, because there is no such setting.\n"
        f"  {_instead(name.removeprefix('ALITA_').lower()) or '`alita config show` lists every setting.'}"
        for name in environment
        if name.startswith("ALITA_") and name not in known
    ]


def _instead(name: str) -> str:
    """Suggest an option or a setting for a name that is not a setting, if one is similar."""
    if option := _OPTIONS.get(name):
        return f"It is not a setting but an option: {option}"
    near = _nearest(name, Settings.model_fields)
    return f"Did you mean {near}?" if near else ""


def _nearest(name: str, known: Iterable[str]) -> str | None:
    found = difflib.get_close_matches(name, list(known), n=1, cutoff=0.75)
    return found[0] if found else None
