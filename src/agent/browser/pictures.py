"""Pictures of pages, as they were when a step had ended."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.async_api import Page

_PATIENCE = 5_000
"""Milliseconds."""


async def keep_picture(page: Page, folder: Path, number: int) -> str:
    """Writes the picture of a step; gives its path, or nothing where a page that goes away has none."""
    from playwright.async_api import Error

    target = folder / f"step-{number}.png"
    try:
        await page.screenshot(path=target, timeout=_PATIENCE)
    except Error:
        return ""
    return str(target)
