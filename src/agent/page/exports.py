"""Exports tools for a visitor, in the formats of `alita tools export`, without private data."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import closing
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from agent.page.html import bad, text
from agent.resources import environments_of
from agent.store.redact import require_no_keys
from agent.store.tool_records import open_library
from mcp_tools.errors import AlitaError
from mcp_tools.exchange import forms
from mcp_tools.exchange.members import zipped
from mcp_tools.exchange.parcel import packed

if TYPE_CHECKING:
    from agent.configuration.settings import Settings
    from agent.page.visitors import Visitor

FORMS = [(name, form.about) for name, form in forms.FORMS.items() if name != "folder"]
_NAMES = {"skill": "{dashed}", "server": "{name}.py", "wheel": "{name}_tools-1.0-py3-none-any.whl", "zip": "{name}.zip"}


def exported(settings: Settings, visitor: Visitor, folder: Path, name: str | None, form: str) -> str:
    """Export a tool with the tools that it imports, and return a link. The visitor's previous export is deleted."""
    if not name or form not in _NAMES:
        return '<p class="empty">No tool is selected.</p>'
    place = Path(tempfile.mkdtemp(prefix="export-", dir=folder))
    if visitor.export is not None:
        shutil.rmtree(visitor.export, ignore_errors=True)
    visitor.export = place
    try:
        with closing(open_library(settings)) as library:
            parcels = packed(library, [name], environments_of(settings, lambda _: None).wrapped)
        require_no_keys(parcels, settings.named_secrets)
        target = place / _NAMES[form].format(name=name, dashed=name.replace("_", "-").strip("-").lower())
        forms.export(parcels, form, target)
    except AlitaError as error:
        return bad(error)
    if target.is_dir():
        files = {f"{target.name}/{path.relative_to(target)}": path for path in sorted(target.rglob("*"))}
        target = target.with_suffix(".zip")
        target.write_bytes(zipped({path: file.read_bytes() for path, file in files.items() if file.is_file()}))
    remarks = "".join(f"<li>{text(one)}</li>" for one in forms.remarks_of(parcels, form))
    size = f"<small>{target.stat().st_size:,} bytes</small>"
    link = f'<a class="file" href="{visitor.offer(target)}" download>{escape(target.name)} {size}</a>'
    return f'<div class="tool"><p>{link}</p><ul>{remarks}</ul></div>'
