"""What a run writes down of its settings, and the settings of a run that is taken up again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.models.protocol import ROLES, Role
from agent.state import Wish

if TYPE_CHECKING:
    from agent.configuration.settings import Settings
    from agent.store.runs import Run

WISH = "wish"
"""In a run's configuration: what it is for, where that is not an answer."""
SCHEMA = "schema"
"""In a run's configuration: what its answer must fit, as JSON."""
EARLIER = "earlier"
"""In a run's configuration: the program that answered a question of the same form before."""
_LIMITS: dict[str, Callable[[str], float]] = {
    "max_steps": int,
    "max_tokens": int,
    "max_seconds": float,
    "max_cost": float,
}
"""The settings that end a run, and how each is read from where a run wrote it down."""


def configuration_of(settings: Settings) -> dict[str, str]:
    """What an answer depends on beside question and files: models, endpoint and limits."""
    model = settings.model
    named = [role for role in ROLES if role != Role.VISION and settings.models_for(role) != (model,)]
    named += [Role.VISION] if settings.vision else []  # unless named, nobody is asked
    roles = {role: ",".join(settings.models_for(role)) for role in named}
    limits = {name: str(value) for name in _LIMITS if (value := getattr(settings, name)) is not None}
    told = {name: str(value) for name in ("seed",) if (value := getattr(settings, name)) is not None}
    told |= {"strategy": settings.strategy} if settings.strategy != "auto" else {}
    told |= {"without": ",".join(settings.without)} if settings.without else {}
    told |= {"leak_guard": "on"} if settings.leak_guard else {}
    told |= {"engines": ",".join(settings.engines)} if settings.engines else {}
    told |= {"web_index": str(settings.web_index)} if settings.web_index else {}
    told |= {"browser_hosts": ",".join(settings.browser_hosts)} if settings.browser_hosts else {}
    asked = {name for role in ROLES for name in settings.models_for(role)}
    if used := {name: one.model_dump(exclude_defaults=True) for name, one in settings.models.items() if name in asked}:
        told["models"] = json.dumps(used, sort_keys=True)
    told |= {"allow_private": "on"} if settings.allow_private else {}
    return {"model": model, "base_url": settings.base_url or "", **limits, **told, **roles}


def places_of(settings: Settings) -> dict[str, str]:
    """What a later process must know to go on, which has not the flags of this one."""
    endpoint = {"endpoint": "by flag"} if "base_url" in settings.by_flag else {}
    return {"tools_dir": str(settings.tools_dir), "approval": settings.approval, **endpoint}


def settings_as_in(run: Run, settings: Settings, *, goes_on: bool = False) -> Settings:
    """The settings with the models, the limits and the library of a run, whose journal knows no others.

    Args:
        run: The run.
        settings: Those of this process.
        goes_on: Whether it makes new calls: then limits of the command line count, and the one that ended it does not.
    """
    told = run.configuration
    recorded: dict[str, Any] = {"model": run.model, "fallback": (), **dict.fromkeys(ROLES, ())}
    recorded |= {role: tuple(names.split(",")) for role in ROLES if (names := told.get(role))}
    kept = set(_LIMITS)
    if goes_on:
        kept -= settings.by_flag | ({f"max_{run.answer.limit}"} if run.answer else set())
    recorded |= {name: _LIMITS[name](value) for name in kept if (value := told.get(name))}
    if told.get("endpoint") or settings.base_url is None:
        recorded["base_url"] = told.get("base_url") or None
    recorded["seed"] = int(seed) if (seed := told.get("seed")) else None
    recorded["without"] = tuple(names.split(",")) if (names := told.get("without")) else ()
    recorded["strategy"] = told.get("strategy", "auto")
    recorded["leak_guard"] = told.get("leak_guard") == "on"
    recorded["allow_private"] = settings.allow_private or told.get("allow_private") == "on"
    if hosts := told.get("browser_hosts"):
        recorded["browser_hosts"] = tuple(hosts.split(","))
    if engines := told.get("engines"):
        recorded["engines"] = tuple(engines.split(","))
    if index := told.get("web_index"):
        recorded["web_index"] = Path(index)
    if mode := told.get("approval"):
        recorded["approval"] = mode
    if folder := told.get("tools_dir"):
        recorded["tools_dir"] = Path(folder)
    return settings.model_copy(update=recorded)


def wish_of(run: Run) -> Wish:
    """What a run is for; it goes on, and is repeated, for the same."""
    return "create" if run.configuration.get(WISH) == "create" else "answer"
