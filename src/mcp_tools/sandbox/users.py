"""Whom the interpreter becomes when alita runs as root."""

from __future__ import annotations

import os

NOBODY = 65534


def unprivileged_users() -> tuple[int, ...]:
    """A user that nobody else is, so that its threads are counted alone; `nobody` where it cannot be had."""
    return 1_600_000_000 + os.getpid() % 1_000_000, NOBODY
