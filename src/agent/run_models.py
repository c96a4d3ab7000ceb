"""The models of one run: within its budget, and through its journal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from agent.budget import Budget
from agent.models.budgeted import BudgetedModel
from agent.models.protocol import Model, Role
from agent.models.roles import Models
from agent.pictures import WithPictures
from agent.store.journal import Journal
from agent.store.journaled import JournaledModel

_SEEING = frozenset({Role.COORDINATOR, Role.VISION, Role.BROWSER})
"""Roles whose messages may name pictures."""


class RunModels:
    """The models of one run by role.

    Args:
        models: None for a replay, which asks none.
        names: The names of a role's models, the preferred one first.
        journal: Records every call.
        budget: Ends calls at its limits.
    """

    def __init__(
        self, models: Models | None, names: Callable[[str], Sequence[str]], journal: Journal, budget: Budget
    ) -> None:
        self._models = models
        self._names = names
        self._journal = journal
        self._budget = budget
        self._by_role: dict[str, JournaledModel] = {}

    def for_role(self, role: str) -> Model:
        """The model that fulfils a role."""
        if role not in self._by_role:
            model = None
            if self._models is not None:
                asked = self._models.for_role(role)
                asked = WithPictures(asked) if role in _SEEING else asked
                model = cast(Model, BudgetedModel(asked, self._budget))
            self._by_role[role] = JournaledModel(model, self._journal, name=self._names(role)[0], role=role)
        return cast(Model, self._by_role[role])
