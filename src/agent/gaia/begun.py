"""A run that a question began: what is known of it when its process was killed before the attempt was written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from agent.gaia.attempt import Attempt
from mcp_tools.tool import Json

KIND = "begun"


@dataclass(frozen=True, slots=True)
class Begun:
    """A line of the ledger, of which an attempt follows unless the runner is killed."""

    task_id: str
    epoch: int
    fingerprint: str
    run_id: str

    @property
    def key(self) -> tuple[str, int]:
        """The question and the epoch."""
        return self.task_id, self.epoch

    def as_json(self) -> dict[str, Json]:
        """The line of the ledger."""
        return {
            "kind": KIND,
            "task_id": self.task_id,
            "epoch": self.epoch,
            "fingerprint": self.fingerprint,
            "run_id": self.run_id,
        }

    @classmethod
    def from_json(cls, line: Mapping[str, Any]) -> Begun:
        """Reads a line.

        Raises:
            ValueError: It names no run.
        """
        try:
            return cls(str(line["task_id"]), int(line["epoch"]), str(line["fingerprint"]), str(line["run_id"]))
        except (KeyError, TypeError) as error:
            raise ValueError(f"a run that was begun has a question, an epoch and an id: {error}") from None

    def as_interrupted(self) -> Attempt:
        """The attempt as if it had been interrupted."""
        return Attempt(self.task_id, self.epoch, self.fingerprint, status="interrupted", run_id=self.run_id)


def interrupted(begun: Iterable[Begun], fingerprint: str) -> dict[tuple[str, int], Attempt]:
    """What a kill left of a configuration, by question and epoch."""
    return {one.key: one.as_interrupted() for one in begun if one.fingerprint == fingerprint}
