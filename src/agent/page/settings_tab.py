"""The tabs for settings and for `alita doctor`, which are only on a page that is not open to others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from agent.configuration.paths import CONFIG_FILE
from agent.configuration.settings import LIMITS, UNSET, Settings
from agent.configuration.settings_file import SettingsFile
from agent.page.html import bad, settings_table, text
from agent.store.redact import Redactor
from mcp_tools.errors import AlitaError

if TYPE_CHECKING:
    from agent.cli.verbs.doctor import DoctorFinding
    from agent.page.visits import Visits

    Read = Callable[..., Settings]
    Check = Callable[[Settings], tuple[Sequence[DoctorFinding], str]]

CHANGEABLE = (
    *("model", "fallback", "agent", "strategy", "planner", "writer", "examiner", "vision"),
    *LIMITS,
    *("timeout", "concurrency"),
    *("approval", "packages", "hosts", "servers", "without", "engines", "robots"),
    *("gaps", "replan_steps", "use_cache", "keep_runs", "log_days", "download"),
)
"""Settings that the page may change: no keys, folders, endpoints or programs, and nothing that weakens isolation."""


class SettingsEditor:
    """Changes the user's settings file like `alita config set`."""

    def __init__(self, read: Read, apply: Callable[[Settings], None]) -> None:
        self._read, self._apply = read, apply

    def change(self, name: str | None, value: str | None) -> str:
        """Write a setting, or remove it if the value is None. It applies from the next question."""
        if name not in CHANGEABLE:
            return '<p class="bad">Select a setting.</p>'
        try:
            file = SettingsFile(self._read().config_dir / CONFIG_FILE)
            if value is None:
                file.unset(name)
            else:
                file.set(name, value, lambda given: self._read(**given))
            settings = self._read()
        except AlitaError as error:
            return bad(error)
        self._apply(settings)
        source = settings.source_of(name)
        wins = "" if value is None or source == str(file.path) else f" However, {source} overrides it."
        message = f"{name} is removed from your settings file." if value is None else f"{name} is set."
        return f'<p class="{"bad" if wins else "good"}">{text(message + wins)}</p>'


def described(settings: Settings, name: str | None) -> tuple[str, str]:
    """Return a setting's value as a user would type it, and its description."""
    if name not in CHANGEABLE:
        return "", ""
    value = next(line.value for line in settings.explain() if line.name == name)
    listed = getattr(settings, name)
    if isinstance(listed, tuple):
        value = ", ".join(listed)
    about = f"{Settings.model_fields[name].description} Current source: {settings.source_of(name)}."
    return "" if value == UNSET else value, f'<p class="empty">{text(about)}</p>'


def checked(settings: Settings, check: Check) -> str:
    """Render the findings of `alita doctor` as a table."""
    findings, verdict = check(settings)
    rows = "".join(
        f"<tr><th>{'✓' if one.ok else '✗' if one.needed else '–'} {text(one.name)}</th>"
        f"<td>{text(one.detail)}{'' if one.ok else f'<br><i>{text(one.remedy)}</i>'}</td></tr>"
        for one in findings
    )
    mood = "good" if verdict.startswith("Ready") else "bad"
    shown = f'<div class="tool"><p class="{mood}">{text(verdict)}</p><table>{rows}</table></div>'
    return Redactor(settings.secrets).text(shown)


def show(gr: Any, visits: Visits, reviewer: SettingsEditor, tab: Any) -> None:
    """Add the settings and the form that changes them to the page."""
    with gr.Row():
        name = gr.Dropdown(CHANGEABLE, value=None, label="Setting")
        value = gr.Textbox(label="Value", placeholder="12, true, text, a list as a, b", max_lines=1)
    about = gr.HTML(padding=False)
    with gr.Row():
        change, remove = gr.Button("Change"), gr.Button("Remove from my settings file")
    message = gr.HTML(padding=False, elem_id="settings-told")
    table = gr.HTML(padding=False, elem_id="settings")

    def changed(name: str | None, value: str | None) -> tuple[str, str, str]:
        return reviewer.change(name, value or ""), settings_table(visits.settings), described(visits.settings, name)[1]

    def removed(name: str | None) -> tuple[str, str, str, str]:
        came = reviewer.change(name, None)
        typed, words = described(visits.settings, name)
        return came, settings_table(visits.settings), words, typed

    tab.select(lambda: settings_table(visits.settings), None, [table], show_progress="hidden")
    name.input(lambda one: described(visits.settings, one), [name], [value, about], show_progress="hidden")
    change.click(changed, [name, value], [message, table, about])
    remove.click(removed, [name], [message, table, about, value])


def show_doctor(gr: Any, visits: Visits, check: Check) -> None:
    """Add the checks to the page."""
    look = gr.Button("Check everything")
    findings = gr.HTML('<p class="empty">Checks packages, model, isolation, browser and folders.</p>', elem_id="doctor")

    async def looked() -> str:
        return await asyncio.to_thread(checked, visits.settings, check)

    look.click(looked, None, [findings])
