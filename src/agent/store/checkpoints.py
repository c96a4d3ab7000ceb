"""The graph's state as it was when a run stopped: kept in the run's folder, and gone on from."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.errors import StorageError

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver
    from langgraph.graph.state import CompiledStateGraph

FILE = "checkpoints.sqlite"


@contextlib.asynccontextmanager
async def checkpoints(folder: Path | None) -> AsyncIterator[BaseCheckpointSaver[str] | None]:
    """The checkpointer of the run in this folder; None without a folder.

    Raises:
        StorageError: The state can neither be read nor written.
    """
    if folder is None:
        yield None
        return
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    path = folder / FILE
    try:
        async with AsyncSqliteSaver.from_conn_string(str(path)) as saver:
            yield saver
    except sqlite3.Error as error:
        raise StorageError(
            f"{path} cannot be written: {error}.",
            remedy="Free some space or correct the permissions; ALITA_HOME moves all of alita's folders.",
        ) from error


async def stopped_state(graph: CompiledStateGraph[Any, Any, Any, Any], config: Any) -> dict[str, Any] | None:
    """The state in which a run stopped between two steps.

    A run that came to its end, at a limit for example, has none: it is done again from its journal. What stands in the
    way of that is removed. So is a state that cannot be read.
    """
    saver: Any = graph.checkpointer
    try:
        snapshot = await graph.aget_state(config)
        if snapshot.next:
            return dict(snapshot.values)
        await saver.adelete_thread(config["configurable"]["thread_id"])
    except (sqlite3.DatabaseError, ValueError, KeyError, TypeError):
        await _start_anew(saver)
    return None


async def _start_anew(saver: Any) -> None:
    for table in ("checkpoints", "writes"):
        with contextlib.suppress(sqlite3.DatabaseError):
            await saver.conn.execute(f"DELETE FROM {table}")  # noqa: S608 - names of this module
    with contextlib.suppress(sqlite3.DatabaseError):
        await saver.conn.commit()
