"""Ids of runs and sessions: made from the time, and found by their beginning or end."""

from __future__ import annotations

import difflib
import re
import secrets
import time
from collections.abc import Sequence

from agent.errors import UserError

ID = re.compile(r"\d{6}-\d{6}-[0-9a-z]{4}")
_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"


def new_id(now: float | None = None) -> str:
    """Sorts by time, and is short enough to type: `261121-104055-k3f9`."""
    stamp = time.strftime("%y%m%d-%H%M%S", time.gmtime(now))
    return f"{stamp}-{''.join(secrets.choice(_LETTERS) for _ in range(4))}"


def fitting_id(wanted: str, known: Sequence[str], *, noun: str, error: type[UserError]) -> str:
    """The one id that is, begins with or ends with what is wanted.

    Args:
        wanted: What the user typed.
        known: Every id, oldest first.
        noun: `run` or `session`, for messages; its command lists them.
        error: What is raised.

    Raises:
        UserError: None fits, or several do.
    """
    fitting = [k for k in known if k == wanted] or [
        k for k in known if wanted and (k.startswith(wanted) or k.endswith(wanted))
    ]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise error(f"{wanted!r} fits {len(fitting)} {noun}s.", remedy=f"Did you mean {fitting[-1]}?")
    near = difflib.get_close_matches(wanted, known, n=1)
    remedy = f"Did you mean {near[0]}?" if near else f"`alita {noun}s list` shows all {noun}s."
    raise error(f"There is no {noun} {wanted!r}.", remedy=remedy)
