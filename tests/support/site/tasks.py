"""The tasks of tests/site/tasks.json: what a browser is asked to do on the site, and whether it was done."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from support.site import rendering
from support.site.forms import PASSWORD, USER
from support.site.server import Site


@dataclass(frozen=True)
class SiteTask:
    """One task. `solution` is a way to do it, in actions on elements that are named by role and name."""

    id: str
    split: str
    """`dev` may be looked at while prompts and rules are written, `test` may not."""
    task: str
    url: str
    """The path where it begins."""
    check: dict[str, Any]
    solution: list[dict[str, str]]
    logins: bool = False
    """Whether the account's name and password are given to the browser as secrets."""
    account: dict[str, str] = field(default_factory=lambda: {"user": USER, "password": PASSWORD})


def load_tasks(split: str | None = None) -> list[SiteTask]:
    """All tasks, or those of one part."""
    tasks = [SiteTask(**row) for row in json.loads(rendering.text("tasks.json"))]
    return [task for task in tasks if split in (None, task.split)]


def is_done(task: SiteTask, answer: str, site: Site) -> bool:
    """Whether the answer holds what was asked for and the site has noted what was to be done."""
    return (
        all(_holds(answer, expected) for expected in task.check.get("answer", ()))
        and all(_noted(site.records[wanted["kind"]], wanted["has"]) for wanted in task.check.get("records", ()))
        and not any(site.records[kind] for kind in task.check.get("never", ()))
    )


def _holds(answer: str, expected: str) -> bool:
    """Whether the words stand in the answer, not as a part of longer ones."""
    return re.search(rf"(?<![\w.,:-]){re.escape(expected)}(?![\w:-]|[.,]\d)", answer, re.IGNORECASE) is not None


def _noted(records: list[dict[str, str]], wanted: dict[str, str]) -> bool:
    """Whether the last record of a kind has these values: what was handed in wrongly may be corrected."""
    return bool(records) and wanted.items() <= records[-1].items()
