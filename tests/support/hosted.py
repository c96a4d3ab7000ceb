"""Opening a hosted model in a test."""

from __future__ import annotations

from typing import Any

from agent.models.chat import ChatModel
from agent.models.failures import Endpoint
from agent.models.openai import HttpWire
from agent.models.wire import CHAT, Dialect


def hosted(
    name: str,
    *,
    base_url: str,
    api_key: str | None = None,
    key_variable: str = "OPENAI_API_KEY",
    timeout: float = 180.0,
    dialect: Dialect = CHAT,
    **options: Any,
) -> ChatModel:
    """Return the model with this name at an endpoint. `options` go to `ChatModel`."""
    wire = HttpWire(Endpoint(name, base_url, key_variable, api_key), timeout, dialect)
    return ChatModel(name, wire, **options)
