"""The choice between the strategy for capable models and the one for small models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.errors import UsageError
from agent.models.protocol import EMBEDDED, Role, StrategyName

if TYPE_CHECKING:
    from agent.configuration.settings import Settings
    from agent.context import Strategy

WRAPPING = "make a tool around a package"


def require_large(settings: Settings, what: str) -> None:
    """Raise an error if the coordinator is a small model.

    Raises:
        UsageError: The model that would decide is small.
    """
    model = settings.models_for(Role.COORDINATOR)[0]
    if is_small(model, settings.strategy_of(model)):
        raise UsageError(f"The model {model} is too small to {what}.", remedy="Choose a larger model: -m NAME")


def is_small(model: str, wanted: StrategyName) -> bool:
    """Return True if a model works with the small strategy."""
    return wanted == "small" or (wanted == "auto" and model == EMBEDDED)


def strategy_for(model: str, wanted: StrategyName = "auto") -> Strategy:
    """Return the strategy for a model, by its name and the settings."""
    if is_small(model, wanted):
        from agent.small.small import Small

        return Small()
    from agent.standard.standard import Standard

    return Standard()
