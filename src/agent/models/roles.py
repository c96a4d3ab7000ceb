"""Which model fulfils which role: from settings to models."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from agent.errors import (
    ModelAuthError,
    ModelBusyError,
    ModelError,
    ModelUnknownError,
    ModelUnreachableError,
    SettingsError,
)
from agent.models.embedded.model import EmbeddedModel
from agent.models.embedded.prefixes import FOLDER
from agent.models.embedded.weights import Weights
from agent.models.failures import Endpoint, Notify, Retry
from agent.models.ladder import TraitsCache
from agent.models.openai import OpenAIModel
from agent.models.protocol import EMBEDDED, OPENAI_URL, ROLES, SCRIPTED, Completion, Model, Request, price_of
from agent.models.scripted import Script, ScriptedModel
from agent.models.wire import CHAT, RESPONSES

if TYPE_CHECKING:
    from agent.configuration.settings import Settings
    from agent.models.named import NamedModel


_A_WHILE = 60.0
"""Seconds that a model which is busy or unreachable is not asked."""


class FallbackModel:
    """Asks the first model that works.

    A model whose key or name is refused is not asked again; one that is busy or unreachable rests for a minute.
    A refused request (too long, filtered) moves only this call to the next model.

    Args:
        models: In order of preference.
        notify: Told why another model is asked.
        clock: Gives the time in seconds.
    """

    def __init__(
        self,
        models: Sequence[Model],
        *,
        notify: Notify | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._models = list(models)
        self._rests_until = [0.0] * len(models)
        self._notify = notify
        self._clock = clock

    @property
    def name(self) -> str:
        """The name of the model that is asked first now."""
        return self._models[self._order()[0]].name

    async def complete(self, request: Request) -> Completion:
        """What the first model gives that does not fail; the first failure is raised if all do."""
        order = self._order()
        failures: list[ModelError] = []
        for place, i in enumerate(order):
            try:
                return await self._models[i].complete(request)
            except ModelError as failure:
                failures.append(failure)
                if isinstance(failure, ModelAuthError | ModelUnknownError):
                    self._rests_until[i] = float("inf")
                elif isinstance(failure, ModelBusyError | ModelUnreachableError):
                    self._rests_until[i] = self._clock() + _A_WHILE
                if self._notify and place + 1 < len(order):
                    following = self._models[order[place + 1]].name
                    self._notify(f"{failure.message}; asking {following} instead")
        first = failures[0]
        others = "; ".join(failure.message for failure in failures[1:])
        if not others:
            raise first
        raise type(first)(f"{first.message}; and then {others}", remedy=first.remedy) from None

    async def aclose(self) -> None:
        """Closes every model."""
        for model in self._models:
            await model.aclose()

    def _order(self) -> list[int]:
        """The models that do not rest; all of them, the soonest first, if every one does."""
        now = self._clock()
        awake = [i for i, until in enumerate(self._rests_until) if until <= now]
        return awake or sorted(range(len(self._models)), key=self._rests_until.__getitem__)


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """What the user wants of models."""

    weights_folder: Path
    runtime_folder: Path
    """Where the embedded model's server leaves word of itself."""
    cache_folder: Path
    """Where is kept what was learned of endpoints, and what the embedded model computed of prompts."""
    model: str = EMBEDDED
    """For every role without its own."""
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    key_variable: str = "OPENAI_API_KEY"
    """Where the key came from, for messages."""
    named: Mapping[str, NamedModel] = field(default_factory=dict)
    """Models with an endpoint of their own."""
    keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Their keys, by the variables that hold them."""
    roles: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """For a role the models to use, the others being fallbacks."""
    timeout: float = 180.0
    """Seconds for one call to a hosted model."""
    concurrency: int = 8
    """Calls in flight at one endpoint."""
    idle: float = 900.0
    """Seconds after which the embedded model's server ends."""
    threads: int = 0
    """Of the embedded model; 0: as many as there are free cores."""
    retry: Retry = field(default_factory=Retry)

    def endpoint(self, name: str) -> Endpoint:
        """Who is asked under a name. The key of all models goes nowhere but to their endpoint."""
        common = Endpoint(name, (self.base_url or OPENAI_URL).rstrip("/"), self.key_variable, self.api_key)
        named = self.named.get(name)
        if named is None:
            return common
        if named.base_url is None or (named.base_url == common.url and not named.key):
            return replace(common, model=named.model)
        return Endpoint(named.model, named.base_url, named.key, self.keys.get(named.key))


def model_settings(settings: Settings) -> ModelSettings:
    """What the settings say of models."""
    source = next(line.source for line in settings.explain() if line.name == "api_key")
    variable = source.removeprefix("variable ") if source.startswith("variable ") else "OPENAI_API_KEY"
    return ModelSettings(
        weights_folder=settings.models_dir,
        runtime_folder=settings.runtime_dir,
        cache_folder=settings.cache_dir,
        model=settings.model,
        base_url=settings.base_url,
        api_key=settings.api_key.get_secret_value() if settings.api_key else None,
        key_variable=variable,
        named=settings.models,
        keys=settings.keys,
        roles={role: settings.models_for(role) for role in ROLES},
        timeout=settings.timeout,
        concurrency=settings.concurrency,
        idle=settings.model_idle_seconds,
        retry=Retry(busy=settings.retries),
    )


class Models:
    """The models of a process, opened as they are asked for; they belong to one event loop.

    Nothing is connected or loaded before the first call.

    Args:
        settings: What the user wants.
        notify: Told when a call waits and when another model is asked.
    """

    def __init__(self, settings: ModelSettings, notify: Notify | None = None) -> None:
        self._settings = settings
        self._notify = notify
        self._by_name: dict[str, Model] = {}
        self._by_role: dict[str, Model] = {}
        self._scripts: dict[str, Script] = {}
        self._slots: dict[str, asyncio.Semaphore] = {}
        self._traits = TraitsCache(settings.cache_folder / "endpoints.json")

    def for_role(self, role: str) -> Model:
        """The model of a role, with its fallbacks.

        Raises:
            SettingsError: A name that cannot be meant, or a script that cannot be read.
        """
        if role not in self._by_role:
            names = list(self._settings.roles.get(role) or [self._settings.model])
            models = [self._open(name, role) for name in dict.fromkeys(names)]
            fallback = len(models) > 1
            self._by_role[role] = FallbackModel(models, notify=self._notify) if fallback else models[0]
        return self._by_role[role]

    def named(self, name: str) -> Model:
        """A model by its name, for no role of its own."""
        return self._open(name, "")

    async def aclose(self) -> None:
        """Closes the connections of all models."""
        for model in self._by_name.values():
            await model.aclose()

    def _open(self, name: str, role: str) -> Model:
        # A script is one story that several roles tell; every other model is the same for all of them.
        key = f"{name} {role}" if name.startswith(SCRIPTED) else name
        if key not in self._by_name:
            self._by_name[key] = self._make(name, role)
        return self._by_name[key]

    def _make(self, name: str, role: str) -> Model:
        if not name.strip() or name == SCRIPTED:
            raise SettingsError(
                f"{name!r} names no model", remedy="Use embedded, scripted:FILE, or a model of the endpoint."
            )
        s = self._settings
        if name.startswith(SCRIPTED):
            path = name.removeprefix(SCRIPTED)
            if path not in self._scripts:
                self._scripts[path] = Script.read(Path(path))
            return ScriptedModel(self._scripts[path], role=role)
        if name == EMBEDDED:
            return EmbeddedModel(
                Weights(s.weights_folder).ready,
                s.runtime_folder,
                idle=s.idle,
                threads=s.threads,
                prefixes=s.cache_folder / FOLDER,
                retry=s.retry,
                notify=self._notify,
            )
        endpoint, named = s.endpoint(name), s.named.get(name)
        price = named.price if named else None
        return OpenAIModel(
            name,
            model=endpoint.model,
            api_key=endpoint.api_key,
            base_url=endpoint.url,
            key_variable=endpoint.key_variable,
            dialect=RESPONSES if named and named.dialect == "responses" else CHAT,
            temperature=named.temperature if named else None,
            timeout=s.timeout,
            retry=s.retry,
            slots=self._slots.setdefault(endpoint.url, asyncio.Semaphore(s.concurrency)),
            price=price or (None if _is_local(endpoint.url) else price_of(endpoint.model)),
            traits=self._traits,
            notify=self._notify,
        )


def _is_local(url: str) -> bool:
    """A server of one's own: what it costs is not in a price list, whatever its model is called."""
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or host.startswith(("127.", "10.", "192.168."))
