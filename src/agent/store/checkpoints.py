"""The graph's state as it was when a run stopped: kept in the run's folder, and gone on from."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.errors import StorageError

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver
    from langgraph.graph.state import CompiledStateGraph

FILE = "checkpoints.sqlite"


@contextlib.asynccontextmanager
async def checkpoints(
    folder: Path | None, *, resumed: bool, finished: Callable[[], bool]
) -> AsyncIterator[BaseCheckpointSaver[str] | None]:
    """The checkpointer of the run in this folder; None without a folder.

    Args:
        folder: Where the state is kept.
        resumed: Whether there may be a state to go on from.
        finished: Says at the end whether the run came to its end: then its state is of no more use. Opening a database
            takes longer than the rest of a short run.

    Raises:
        StorageError: The state can neither be read nor written.
    """
    if folder is None:
        yield None
        return
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    path = folder / FILE
    try:
        if not resumed:
            from agent.store.late_saver import LateSaver

            late = LateSaver()
            try:
                yield late
            finally:
                if not finished():
                    async with AsyncSqliteSaver.from_conn_string(str(path)) as saver:
                        await late.give_to(saver)
            return
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
