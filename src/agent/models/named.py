"""Models that the settings name, `[models.NAME]`: each with an endpoint, a key and a price of its own."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator

from agent.models.protocol import EMBEDDED, FIRST_LISTED, SCRIPTED, Price
from agent.strategy import StrategyName

NAME = re.compile(r"\w[\w.+-]*")
"""What a model may be called: a list of names has commas between them, a script's name a colon."""
_VARIABLE = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_Dollars = Annotated[float, Field(ge=0, allow_inf_nan=False)]


def endpoint_address(value: str | None) -> str | None:
    """An address such as https://api.openai.com/v1, without a slash at its end; raises ValueError for anything else."""
    if value is None:
        return None
    parts = urlsplit(value)
    if parts.scheme not in {"http", "https"} or not parts.hostname or re.search(r"\s", value):
        raise ValueError("an address such as https://api.openai.com/v1 is wanted")
    if parts.username or parts.password:
        raise ValueError("an address holds no user and no password; put the key into OPENAI_API_KEY")
    _ = parts.port  # raises for one that is no number
    return value.rstrip("/")


class Prices(BaseModel):
    """US dollars per million tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: _Dollars
    output: _Dollars
    cached: _Dollars | None = None


class NamedModel(BaseModel):
    """One `[models.NAME]` of the settings."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    model: str = Field(min_length=1)
    """The name that the endpoint knows; `auto` for the first that it lists."""
    base_url: Annotated[str | None, AfterValidator(endpoint_address)] = None
    """None for the endpoint of all models, with its key."""
    key: str = ""
    """The variable that holds the key; empty for an endpoint that needs none."""
    dialect: Literal["chat", "responses"] = "chat"
    strategy: StrategyName = "auto"
    sees: bool = False
    """Whether it reads pictures."""
    hears: bool = False
    """Whether it writes down speech: `speech_model` may name it."""
    prices: Prices | None = Field(None, alias="price")
    temperature: float | None = Field(None, ge=0, le=2)
    """Sent with every call, whatever the call wants."""

    @field_validator("model")
    @classmethod
    def _is_at_an_endpoint(cls, value: str) -> str:
        if value == EMBEDDED or value.startswith(SCRIPTED):
            raise ValueError("this is no model of an endpoint; name it directly")
        return value

    @field_validator("key")
    @classmethod
    def _is_a_variable(cls, value: str) -> str:
        if value and not _VARIABLE.fullmatch(value):
            raise ValueError("the name of the variable that holds the key is wanted, and not the key")
        return value

    @field_validator("key")
    @classmethod
    def _goes_somewhere(cls, value: str, info: Any) -> str:
        if value and info.data.get("base_url") is None:
            raise ValueError("base_url must say which endpoint receives it")
        return value

    @property
    def price(self) -> Price | None:
        """US dollars per million tokens, where the settings say them."""
        return Price(self.prices.input, self.prices.output, self.prices.cached) if self.prices else None

    @property
    def shown(self) -> str:
        """All of it on one line; the key's variable, never the key."""
        told = self.model_dump(exclude_defaults=True, exclude={"model", "base_url"}, by_alias=True, mode="json")
        listed = model if (model := self.model) != FIRST_LISTED else "the first that is listed"
        details = ", ".join(f"{name} {_plain(value)}" for name, value in told.items())
        return f"{listed} at {self.base_url or 'the endpoint of all models'}{f' ({details})' if details else ''}"


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return "/".join(f"{price:g}" for price in value.values() if price is not None)
    return "yes" if value is True else str(value)
