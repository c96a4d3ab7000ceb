"""Named models: tables `[models.NAME]` in the settings, each with its own endpoint, key and price."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator

from agent.models.protocol import EMBEDDED, FIRST_LISTED, SCRIPTED, Price, StrategyName

NAME = re.compile(r"\w[\w.+-]*")
"""Allowed names. Commas would clash with lists of names, and colons with `scripted:FILE`."""
_VISION_MODELS = re.compile(
    r"vision|(\b|\d|[-.])vl\b|\bllava|bakllava|pixtral|multimodal|minicpm-?v|internvl|moondream|molmo|glm-4[.\d]*v\b"
    r"|\b(chat)?gpt-4o(?!.*(audio|realtime|transcri|tts))|\bgpt-4(\.\d|-turbo)|\bgpt-[5-9]"
    r"|^o(1(?!-mini|-preview)|3(?!-mini)|4)\b|\bclaude-(?!instant|[12]\b)|\bgemini-(?!embedding)|\bgrok-[4-9]"
    r"|\bgemma-?3(?![\dn]|[^/]*[-:](1b|270m))|\bllama-?4|\bmistral-(medium|small-?3\.[1-9])|\bkimi-k2\.[5-9]|\bqwen[\d.]*-omni",
    re.IGNORECASE,
)
_VARIABLE = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def endpoint_address(value: str | None) -> str | None:
    """Return a base URL in its usual form: `localhost:8080/v1/` becomes `http://localhost:8080/v1`.

    Raises:
        ValueError: The value is not an HTTP URL, or it contains a password.
    """
    if value is None:
        return None
    if "://" not in value and re.match(r"(localhost|[\w-]+(\.[\w-]+)+)(:\d+)?(/|$)|[\w-]+:\d+(/|$)|\[", value):
        is_local = re.match(r"localhost\b|\[|[\d.]+(:|/|$)|[\w-]+(:|/|$)", value) is not None
        value = f"{'http' if is_local else 'https'}://{value}"
    parts = urlsplit(value)
    path = re.sub(r"/(chat/completions|completions|responses|models)$", "", parts.path.rstrip("/")).rstrip("/")
    parts = parts._replace(path=path, fragment="")
    if parts.scheme not in {"http", "https"} or not parts.hostname or re.search(r"\s", value):
        raise ValueError("expected a URL such as https://api.openai.com/v1")
    if parts.username or parts.password:
        raise ValueError("a URL must not contain a user name or password; put the key in OPENAI_API_KEY")
    _ = parts.port  # raises ValueError if the port is not a number
    return parts.geturl()


def is_known_to_see(model: str) -> bool:
    """Return True if the name belongs to a model that reads pictures: `openai/gpt-4o`, `qwen2.5vl:7b`."""
    return not model.startswith(SCRIPTED) and _VISION_MODELS.search(model.rpartition("/")[2]) is not None


class NamedModel(BaseModel):
    """One table `[models.NAME]` in the settings."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    model: str = Field(min_length=1)
    """The model's name at the endpoint; `auto` selects the first model that the endpoint lists."""
    base_url: Annotated[str | None, AfterValidator(endpoint_address)] = None
    """URL of its endpoint; None to use the default endpoint and its key."""
    key: str = ""
    """Environment variable that holds the key; empty for an endpoint without a key."""
    dialect: Literal["chat", "responses"] = "chat"
    strategy: StrategyName = "auto"
    sees: bool | None = None
    """True if it reads pictures; None to decide by its name."""
    watches: bool = False
    """True if it takes video and audio."""
    hears: bool = False
    """True if it transcribes speech, so that `speech_model` may name it."""
    price: Price | None = None
    temperature: float | None = Field(None, ge=0, le=2)
    """Sent with every call, instead of the temperature of the request."""

    @field_validator("model")
    @classmethod
    def _is_at_an_endpoint(cls, value: str) -> str:
        if value == EMBEDDED or value.startswith(SCRIPTED):
            raise ValueError("this model has no endpoint; use its name directly")
        return value

    @field_validator("key")
    @classmethod
    def _is_a_variable_with_an_endpoint(cls, value: str, info: Any) -> str:
        if value and not _VARIABLE.fullmatch(value):
            raise ValueError("expected the name of the variable that holds the key, not the key itself")
        if value and info.data.get("base_url") is None:
            raise ValueError("set base_url to the endpoint that receives the key")
        return value

    @field_validator("watches")
    @classmethod
    def _watches_only_in_chat(cls, value: bool, info: Any) -> bool:
        if value and info.data.get("dialect") == "responses":
            raise ValueError("video and audio need the dialect chat")
        return value

    @field_validator("price")
    @classmethod
    def _is_a_price(cls, value: Price | None) -> Price | None:
        if value and not all(0 <= dollars < float("inf") for dollars in _dollars(value)):
            raise ValueError("a price must be a number of at least 0")
        return value

    @property
    def shown(self) -> str:
        """All fields on one line, with the name of the key's variable instead of the key."""
        fields = self.model_dump(exclude_defaults=True, exclude={"model", "base_url", "price"})
        fields |= {"price": "/".join(f"{dollars:g}" for dollars in _dollars(self.price))} if self.price else {}
        words = {True: "yes", False: "no"}
        details = ", ".join(f"{k} {words[v] if isinstance(v, bool) else v}" for k, v in fields.items())
        model = self.model if self.model != FIRST_LISTED else "the first model listed"
        return f"{model} at {self.base_url or 'the default endpoint'}{f' ({details})' if details else ''}"


def _dollars(price: Price) -> list[float]:
    return [dollars for dollars in (price.input, price.output, price.cached) if dollars is not None]
