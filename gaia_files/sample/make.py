"""Makes the sample set: questions.jsonl, split.json and the attachments, every answer computed here.

Run it as it is to write what changed, with `--check` to write nothing and end with 1 when what is committed is
not what comes out.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import sqlite3
import sys
import zipfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))

# isort: off
from making import (  # noqa: E402 - the folder of this script is no package
    workbooks,
    tables,
    documents,
    markup,
    texts,
    programs,
    packages,
    pictures,
    sounds,
    computed,
    web,
)
from making.question import ENTRIES, Entry, Made  # noqa: E402

# isort: on

MODULES = (workbooks, tables, documents, markup, texts, programs, packages, pictures, sounds, computed, web)
"""The order of the questions is the order of these."""
RECIPES = "recipes.json"
DEV_SHARE = 1 / 3


def split_of(task_id: str) -> str:
    """`dev`, which prompts may be tuned on, or `test`: by the first bytes of the id's SHA-256."""
    first = int.from_bytes(hashlib.sha256(task_id.encode()).digest()[:4], "big")
    return "dev" if first < DEV_SHARE * 2**32 else "test"


def row_of(entry: Entry, made: Made) -> dict[str, Any]:
    """The question in the official field names."""
    return {
        "task_id": entry.task_id,
        "Question": made.text,
        "Level": entry.level,
        "Final answer": str(made.answer),
        "file_name": entry.file_name,
        "Annotator Metadata": {
            "Steps": "\n".join(f"{number}. {step}." for number, step in enumerate(entry.steps, 1)),
            "Number of steps": str(len(entry.steps)),
            "Tools": "\n".join(f"{number}. {tool}" for number, tool in enumerate(entry.tools, 1)),
            "Number of tools": str(len(entry.tools)),
            "Needs web": "yes" if entry.web else "no",
        },
    }


def index_files(made: list[tuple[Entry, Made]]) -> dict[str, bytes]:
    """The files that say what the set is, by name."""
    rows = [json.dumps(row_of(*pair), ensure_ascii=False) for pair in made]
    split: dict[str, list[str]] = {"dev": [], "test": [], "web": []}
    for entry, _ in made:
        split["web" if entry.web else split_of(entry.task_id)].append(entry.task_id)
    recipes = {entry.file_name: _digest(found.recipe) for entry, found in made if found.recipe}
    return {
        "questions.jsonl": ("\n".join(rows) + "\n").encode(),
        "split.json": (json.dumps(split, indent=1) + "\n").encode(),
        RECIPES: (json.dumps(recipes, indent=1) + "\n").encode(),
    }


def stale(entry: Entry, made: Made, recipes: dict[str, str]) -> bool:
    """Whether the attachment in the folder is not the one of the question."""
    path = FOLDER / entry.file_name
    if not entry.file_name:
        return False
    if not path.is_file():
        return True
    if made.recipe:
        return recipes.get(entry.file_name) != _digest(made.recipe)
    assert isinstance(made.content, bytes)
    return _content(path.suffix, path.read_bytes()) != _content(path.suffix, made.content)


def _content(suffix: str, data: bytes) -> object:
    """What must be equal: of packed files and databases not the bytes, which depend on the library that packs."""
    if suffix == ".sqlite":
        base = sqlite3.connect(":memory:")
        base.deserialize(data)
        return list(base.iterdump())
    if data[:4] != b"PK\x03\x04":
        return data
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: _content(Path(name).suffix, archive.read(name)) for name in archive.namelist()}


def _digest(recipe: str) -> str:
    return hashlib.sha256(recipe.encode()).hexdigest()


def _recipes() -> dict[str, str]:
    path = FOLDER / RECIPES
    return dict(json.loads(path.read_bytes())) if path.exists() else {}


def write(made: list[tuple[Entry, Made]]) -> list[str]:
    """Writes what is not as it should be; gives what could not be made."""
    failed = []
    for entry, found in made:
        if not stale(entry, found, _recipes()):
            continue
        content = found.content() if callable(found.content) else found.content
        if content is None:
            failed.append(f"{entry.file_name}: needs espeak-ng and ffmpeg")
        else:
            (FOLDER / entry.file_name).write_bytes(content)
            print(f"wrote {entry.file_name}")
    if not failed:
        for name, data in index_files(made).items():
            (FOLDER / name).write_bytes(data)
    return failed


def check(made: list[tuple[Entry, Made]]) -> list[str]:
    """What is committed and is not what comes out."""
    recipes = _recipes()
    wrong = [f"{entry.file_name} is not as made" for entry, found in made if stale(entry, found, recipes)]
    for name, data in index_files(made).items():
        path = FOLDER / name
        if not path.exists() or path.read_bytes() != data:
            wrong.append(f"{name} is not as made")
    return wrong


def main() -> int:
    """Makes or checks; gives the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args()
    made = [(entry, entry.made()) for entry in ENTRIES]
    problems = check(made) if options.check else write(made)
    print("\n".join(problems) or f"{len(made)} questions, all answers as computed")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
