"""How much of a conversation a model is shown; it becomes less where the model has no room for more."""

from __future__ import annotations

from dataclasses import dataclass

CONVERSATION = 240_000
_LEAST = 4_000


@dataclass
class Room:
    """For the results of all calls together; beyond it the oldest are shown in short, with the names of their files."""

    characters: int = CONVERSATION
    one: int = 16_000
    """For one result; what was read was sized when it was read."""

    folded: int = 0
    """The replies, with their results, in whose place a summary stands."""
    summary: str = ""

    def shrink(self) -> bool:
        """Halves both; false where that would leave too little to work with."""
        if self.characters // 2 < _LEAST:
            return False
        self.characters //= 2
        self.one = min(self.one, self.characters // 2)
        return True
