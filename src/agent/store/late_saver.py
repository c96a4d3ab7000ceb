"""A checkpointer that keeps what it is given until it is known whether anyone will need it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, ChannelVersions, Checkpoint, CheckpointMetadata
from langgraph.checkpoint.memory import InMemorySaver


class LateSaver(InMemorySaver):
    """Of a new run: there is nothing to read, and what is written at its end can be given to another saver."""

    def __init__(self) -> None:
        super().__init__()
        self._checkpoints: list[tuple[RunnableConfig, Checkpoint, CheckpointMetadata, ChannelVersions]] = []
        self._writes: list[tuple[RunnableConfig, Sequence[tuple[str, Any]], str, str]] = []

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Keeps a checkpoint."""
        self._checkpoints.append((config, checkpoint, metadata, new_versions))
        place = config["configurable"]
        named = {"thread_id": place["thread_id"], "checkpoint_ns": place.get("checkpoint_ns", "")}
        return {"configurable": {**named, "checkpoint_id": checkpoint["id"]}}

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Keeps what a step wrote."""
        self._writes.append((config, writes, task_id, task_path))

    async def give_to(self, saver: BaseCheckpointSaver[str]) -> None:
        """Puts everything into another saver."""
        for checkpoint in self._checkpoints:
            await saver.aput(*checkpoint)
        for write in self._writes:
            await saver.aput_writes(*write)
