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
        _remove_damaged(path)
        async with AsyncSqliteSaver.from_conn_string(str(path)) as saver:
            yield saver
    except sqlite3.Error as error:
        raise StorageError(
            f"{path} cannot be written: {error}.",
            remedy="Free some space or correct the permissions; ALITA_HOME moves all of alita's folders.",
        ) from error


async def stopped_state(graph: CompiledStateGraph[Any, Any, Any, Any], config: Any) -> dict[str, Any] | None:
    """The state in which a run stopped between two steps.

    A run that came to its end, at a limit for example, has none: it is done again from its journal, and its last state
    is removed, which would be added to.
    """
    saver: Any = graph.checkpointer
    snapshot = await graph.aget_state(config)
    if snapshot.next:
        return dict(snapshot.values)
    await saver.adelete_thread(config["configurable"]["thread_id"])
    return None


def _remove_damaged(path: Path) -> None:
    """Removes a file that is no database: the journal holds everything that is needed."""
    if not path.exists():
        return
    try:
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA quick_check").fetchall()
    except sqlite3.OperationalError:
        return
    except sqlite3.DatabaseError:
        for part in path.parent.glob(f"{path.name}*"):
            part.unlink(missing_ok=True)
