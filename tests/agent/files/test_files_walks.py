"""Whole files with a marker in every place that may hold text: each is shown, or a note names that kind of part."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from support.contents import Open, named, text_of
from support.full_docx import full_docx
from support.full_mail import full_eml, full_mbox
from support.pptx_bytes import full_pptx
from support.xlsx_bytes import full_xlsx

# by kind: how to make the file, and what is not shown, with the note about it
FULL: dict[str, tuple[Callable[[], bytes], dict[str, str]]] = {
    **{
        kind: (make, dict.fromkeys(("xnote", "hop", "return"), "Headers that are not shown"))
        for kind, make in (("eml", full_eml), ("mbox", full_mbox))
    },
    "docx": (
        full_docx,
        {
            **dict.fromkeys(("alias", "bookmarkname", "controltag", "placeholder", "entryvalue"), "names of"),
            "formname": "names of",
            **dict.fromkeys(("default", "help", "status"), "form fields"),
            **dict.fromkeys(("then", "else"), "codes of fields"),
            **dict.fromkeys(("element", "smarttag", "smartvalue"), "tags"),
            **dict.fromkeys(("query", "variable", "variablevalue"), "settings"),
            "formatter": "changes of format", "separator": "separators of notes", "glossary": "building blocks",
            "source": "custom XML data",
        },
    ),
    "pptx": (
        full_pptx,
        {
            "tag": "tags of add-ins", "TAG": "tags of add-ins", "customxml": "custom XML data", "macro": "macros",
            "handout": "masters of notes and handouts", "notesmaster": "masters of notes and handouts",
            "prompt": "prompts of placeholders", "unusedlayout": "layouts that no slide uses",
        },
    ),
    "xlsx": (
        full_xlsx,
        {
            "connection": "connections to data", "customxml": "custom XML data", "macro": "macros",
            "range": "form controls",
            "phonetic": "phonetic guides", "record": "pivot tables and their data", "slicer": "slicers",
            "slicercache": "slicers", "slicercaption": "slicers", "slicershape": "slicers",
        },
    ),
}  # fmt: skip


def markers_in(package: bytes) -> set[str]:
    """The names after `MARKER` in all members, including nested packages."""
    found = {one.decode() for one in re.findall(rb"MARKER(\w+)", package)}
    if not package.startswith(b"PK"):
        return found
    with zipfile.ZipFile(io.BytesIO(package)) as archive:
        for name in archive.namelist():
            content = archive.read(name)
            if content.startswith(b"PK\3\4"):
                found |= markers_in(content)
            found |= {one.decode() for one in re.findall(rb"MARKER(\w+)", content)}
    return found


@pytest.mark.parametrize("kind", FULL)
def test_each_marker_is_shown_or_its_part_named(open_file: Open, kind: str) -> None:
    make, unread = FULL[kind]
    content = make()
    contents = open_file(kind, content)
    seen = "\n".join([*named(contents), text_of(contents), contents.summary, *contents.lost])
    seen += "\n" + b" ".join(contents._data.values()).decode(errors="replace")
    missing = {one for one in markers_in(content) if not re.search(rf"MARKER{one}(?!\w)", seen)}
    assert missing == set(unread)
    assert [name for name, note in unread.items() if note not in " ".join(contents.lost)] == []
    once = re.findall(r"MARKER(choice|boxonce|deletedbox)(?!\w)", seen)
    assert len(once) == len(set(once))


def documented() -> dict[str, str]:
    """The documented parts that are not read, by kind."""
    page = (Path(__file__).parents[3] / "docs" / "files.md").read_text()
    rows = [
        line.split("|") for line in page.split("## Parts of documents")[1].split("\n##")[0].splitlines() if "`" in line
    ]
    return {kind.strip(" `"): row[3].lower() for row in rows if len(row) == 5 for kind in row[1].split(",")}


@pytest.mark.parametrize("kind", FULL)
def test_the_documentation_lists_what_is_not_read(open_file: Open, kind: str) -> None:
    make, unread = FULL[kind]
    contents = open_file(kind, make())
    text_of(contents)
    told, listed = " ".join(contents.lost).lower(), documented()[kind]
    assert [note for note in unread.values() if note.lower() not in listed] == []
    if kind not in ("eml", "mbox"):
        assert [part.strip() for part in listed.split(";") if part.strip() not in told] == []
