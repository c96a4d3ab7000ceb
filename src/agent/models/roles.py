"""The models of a process: opened from the settings by role or name, with fallbacks."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from ipaddress import ip_address
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
from agent.models.chat import ChatModel
from agent.models.embedded.weights import Weights
from agent.models.failures import SLOTS, Endpoint, Failure, Notify, Retry, Slots
from agent.models.ladder import TRAITS, TraitsCache
from agent.models.openai import HttpWire, usable_models
from agent.models.protocol import (
    EMBEDDED,
    FIRST_LISTED,
    OPENAI_URL,
    SCRIPTED,
    Completion,
    Model,
    Request,
    Role,
    price_of,
)
from agent.models.scripted import Script, ScriptedModel
from agent.models.wire import CHAT, RESPONSES, Dialect, Wire
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from agent.configuration.settings import Settings


_MEDIA_SECONDS = 300.0
_REST_SECONDS = 60.0
_MAX_LISTED = 20


class FallbackModel:
    """Asks the first model that works, in order of preference, and reports each switch.

    A model whose key or name is rejected is not asked again. A busy or unreachable model is skipped for a minute.
    After a refused request (too long, filtered), only this call goes to the next model.
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
        """The name of the model that would be asked first now."""
        return self._models[self._order()[0]].name

    async def complete(self, request: Request) -> Completion:
        """Return the first successful reply. If all models fail, raise the first failure with all messages."""
        order = self._order()
        failures: list[ModelError] = []
        for position, i in enumerate(order):
            try:
                return replace(await self._models[i].complete(request), by=self._models[i].name)
            except ModelError as failure:
                failures.append(failure)
                if isinstance(failure, ModelAuthError | ModelUnknownError):
                    self._rests_until[i] = float("inf")
                elif isinstance(failure, ModelBusyError | ModelUnreachableError):
                    self._rests_until[i] = self._clock() + _REST_SECONDS
                if self._notify and position + 1 < len(order):
                    following = self._models[order[position + 1]].name
                    self._notify(f"{failure.message}; asking {following} instead")
        first = failures[0]
        raise type(first)("; and then ".join(failure.message for failure in failures), remedy=first.remedy) from None

    async def aclose(self) -> None:
        """Close all models."""
        for model in self._models:
            await model.aclose()

    def _order(self) -> list[int]:
        """Return the indexes of the models that may be asked; if none may, all of them, soonest available first."""
        now = self._clock()
        awake = [i for i, until in enumerate(self._rests_until) if until <= now]
        return awake or sorted(range(len(self._models)), key=self._rests_until.__getitem__)


def endpoint_of(settings: Settings, name: str) -> Endpoint:
    """Return the endpoint for a model's name. The default key is only sent to the default endpoint."""
    key = settings.api_key.get_secret_value() if settings.api_key else None
    source = settings.source_of("api_key")
    variable = source.removeprefix("variable ") if source.startswith("variable ") else "OPENAI_API_KEY"
    default = Endpoint(name, settings.base_url or OPENAI_URL, variable, key)
    named = settings.models.get(name)
    if named is None:
        return default
    if named.base_url is None or (named.base_url == default.url and not named.key):
        return replace(default, model=named.model)
    return Endpoint(named.model, named.base_url, named.key, settings.keys.get(named.key))


def with_resolved_model(settings: Settings) -> Settings:
    """Return the settings with `auto` replaced by the name of the endpoint's first model.

    Raises:
        SettingsError: The endpoint has several models, and the user did not choose one.
        ModelError: The endpoint cannot be reached, or lists no models.
    """
    if settings.model != FIRST_LISTED:
        return settings
    endpoint = endpoint_of(settings, FIRST_LISTED)
    try:
        first, *others = usable_models(endpoint)
    except Failure as failure:
        raise failure.error() from None
    if others and settings.source_of("model").startswith("default"):
        more = f", … ({len(others) + 1} models)" if len(others) >= _MAX_LISTED else ""
        names = ", ".join([first, *others][:_MAX_LISTED])
        raise SettingsError(
            f"{endpoint.shown_url} offers several models: {one_line(names, 800)}{more}.",
            remedy="Choose one with -m NAME or `alita config set model NAME`.",
        )
    return settings.model_copy(update={"model": first})


def _is_local(host: str) -> bool:
    """Return True for private addresses, and for names without a dot."""
    try:
        return ip_address(host).is_private
    except ValueError:
        return "." not in host


class Models:
    """The models of a process, created on first use. They belong to one event loop.

    Connections and weights are opened at the first call of a model.
    """

    def __init__(self, settings: Settings, notify: Notify | None = None) -> None:
        self._settings = settings
        self._notify = notify
        self._retry = Retry(busy=settings.retries)
        self._by_name: dict[str, Model] = {}
        self._by_role: dict[str, Model] = {}
        self._scripts: dict[str, Script] = {}
        self._slots: dict[str, Slots] = {}
        self._traits = TraitsCache(settings.cache_dir / TRAITS)

    def for_role(self, role: str) -> Model:
        """Return the model of a role, with its fallbacks.

        Raises:
            SettingsError: A name does not belong to a model, or a script cannot be read.
        """
        if role not in self._by_role:
            models = [self.named(name, role) for name in dict.fromkeys(self._settings.models_for(role))]
            self._by_role[role] = FallbackModel(models, notify=self._notify) if len(models) > 1 else models[0]
        return self._by_role[role]

    def named(self, name: str, role: str = "") -> Model:
        """Return a model by name. Scripts and Gemini's video API are the only models that depend on the role."""
        key = f"{name} {role}" if name.startswith(SCRIPTED) or role == Role.MEDIA else name
        if key not in self._by_name:
            self._by_name[key] = self._make(name, role)
        return self._by_name[key]

    async def aclose(self) -> None:
        """Close the connections of all models."""
        for model in self._by_name.values():
            await model.aclose()

    def _make(self, name: str, role: str) -> Model:
        if not name.strip() or name == SCRIPTED:
            raise SettingsError(
                f"{name!r} is not a known model", remedy="Use embedded, scripted:FILE, or a model of the endpoint."
            )
        s = self._settings
        if name.startswith(SCRIPTED):
            path = name.removeprefix(SCRIPTED)
            if path not in self._scripts:
                self._scripts[path] = Script.read(Path(path))
            return ScriptedModel(self._scripts[path], role=role)
        if name == EMBEDDED:
            from agent.models.embedded.model import EmbeddedModel
            from agent.models.embedded.prefixes import FOLDER

            return EmbeddedModel(
                Weights(s.models_dir).ready,
                s.runtime_dir,
                idle=s.model_idle_seconds,
                prefixes=s.cache_dir / FOLDER,
                retry=self._retry,
                notify=self._notify,
            )
        endpoint, named = endpoint_of(s, name), s.models.get(name)
        # List prices do not apply to a local server, even if its model has a known name.
        list_price = None if _is_local(urlsplit(endpoint.url).hostname or "") else price_of(endpoint.model)
        return ChatModel(
            name,
            self._wire(endpoint, role, RESPONSES if named and named.dialect == "responses" else CHAT),
            price=(named and named.price) or list_price,
            temperature=named.temperature if named else None,
            slots=self._slots_of(endpoint.url),
            retry=self._retry,
            traits=self._traits,
            notify=self._notify,
        )

    def _wire(self, endpoint: Endpoint, role: str, dialect: Dialect) -> Wire:
        if role == Role.MEDIA:
            from agent.models.gemini import GeminiWire, is_gemini

            if is_gemini(endpoint.url):
                return GeminiWire(endpoint, max(self._settings.timeout, _MEDIA_SECONDS))
        return HttpWire(endpoint, self._settings.timeout, dialect)

    def _slots_of(self, url: str) -> Slots:
        if url not in self._slots:
            self._slots[url] = SLOTS.get()(url, self._settings.concurrency)
        return self._slots[url]
