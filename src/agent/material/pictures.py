"""The pictures and films of a run.

Pictures are shown to the answering model if it sees pictures. Otherwise, they are described by the model with the role
`vision`, or read by OCR. A model with the role `media` gets video and audio with the question.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.errors import ModelError, ModelOutputError, StoppedError
from agent.events import Note
from agent.files.kinds import kinds_in
from agent.material.picture_messages import parts_of
from agent.models.media import MEDIA_KINDS, media_part
from agent.models.protocol import Role
from agent.state import AttachedFile, Picture, State
from agent.web.address import YOUTUBE, video_id
from agent.web.page import Page, WebProblem
from mcp_tools.prompt import load_prompt

if TYPE_CHECKING:
    from agent.context import Context

PICTURES = kinds_in("picture")
FILMS = kinds_in("film")
_FRAMES = (".png", ".jpg")
MOST_OF_ONE = 6
"""Maximum number of pictures that a reading shows."""
_TOKENS = 600
_MOST_READ = 1_500  # maximum characters of OCR text per picture
_NAMED = re.compile(r"\[picture ([\w.-]+\.\w+)")  # the form in which document readers name saved pictures


@dataclass(frozen=True, slots=True)
class Place:
    """The location of a picture: a file and, for a PDF, a page in it."""

    name: str
    path: Path
    page: int = 1
    """Page number, for a PDF."""


async def seen_pictures(
    places: Sequence[Place], context: Context, question: str, *, is_read: bool
) -> tuple[list[Picture], str]:
    """Return pictures for the answering model; if it sees no pictures, return a description or OCR text.

    `is_read` is True if the text in the pictures is already known.
    """
    sight = context.sight
    if not places:
        return [], ""
    if sight.is_shown or sight.has_vision:
        pictures = [picture for place in places if (picture := await prepared(place, context)) is not None]
        if sight.is_shown:
            return pictures, ""
        if description := await _described(pictures, context, question):
            return [], f"What a model sees in it: {description}"
    elif is_read:
        names = ", ".join(place.name for place in places)
        context.emit(Note(f"only the text in {names} is used; set `vision` to a model that can describe pictures"))
    return [], "" if is_read else "\n".join([text for place in places if (text := await _read(place, context))])


def places_in(file: AttachedFile, part: Mapping[str, Any], page: int) -> list[Place]:
    """Return the pictures of a part of a file: those named in its `text` and `lost`, or the scanned page itself."""
    made = {Path(path).name: Path(path) for path in file["data"]}
    frames = [Place(name, path) for name, path in made.items() if name.endswith(_FRAMES)]
    if file["kind"] in PICTURES:
        return _spread(frames) or [Place(file["name"], Path(file["path"]))]
    if file["kind"] in FILMS:
        return _spread(frames) if page == 1 else []
    if file["kind"] == "pdf":
        place = Place(f"page {page} of {file['name']}", Path(file["path"]), page)
        return [place] if page in part.get("pictures", ()) else []  # runs of earlier versions have no `pictures`
    named = dict.fromkeys(_NAMED.findall("\n".join([part["text"], *part["lost"]])))
    return [Place(name, made[name]) for name in named if name in made][:MOST_OF_ONE]


def _spread(places: list[Place]) -> list[Place]:
    """Return at most `MOST_OF_ONE` places, evenly spaced, including the first and the last."""
    if len(places) <= MOST_OF_ONE:
        return places
    return [places[number * (len(places) - 1) // (MOST_OF_ONE - 1)] for number in range(MOST_OF_ONE)]


async def prepared(place: Place, context: Context) -> Picture | None:
    """Return a picture in a format that models accept; None if it cannot be shown."""
    copy = await context.reader.picture(place.path, place.name, page=place.page)
    if problem := copy.get("problem"):
        context.emit(Note(f"{place.name} is not shown: {problem}"))
    if "path" not in copy:
        return None
    (width, height), (whole_width, whole_height) = copy["size"], copy["whole"]
    is_whole = (width, height) == (whole_width, whole_height)
    note = "" if is_whole else f"{width} x {height} pixels, sized down from {whole_width} x {whole_height}"
    return Picture(name=place.name, path=copy["path"], kind=copy["kind"], bytes=copy["bytes"], note=note)


async def _described(pictures: Sequence[Picture], context: Context, question: str) -> str:
    """Return the description of pictures by the `vision` model, for the question; empty without a description."""
    if not pictures:
        return ""
    messages = load_prompt("agent", "picture").render(question=question)
    messages[-1]["content"] = [{"type": "text", "text": messages[-1]["content"]}, *parts_of(pictures)]
    try:
        completion = await context.complete(Role.VISION, messages, temperature=0, max_tokens=_TOKENS)
    except (ModelError, ModelOutputError) as refused:
        context.emit(Note(f"the vision model could not read {pictures[0]['name']}: {refused.message}"))
        return ""
    return completion.text.strip()


async def _read(place: Place, context: Context) -> str:
    """Return the OCR text of a picture, with its certainty; empty for a picture without text."""
    part = await context.reader.read(place.path, place.name, page=place.page, find="", limit=_MOST_READ)
    text = str(part.get("text", ""))
    return f"{place.name}, {part['where']}:\n{text}" if text and not text.startswith("(") else ""


async def tell_instead(state: State, context: Context, why: str) -> None:
    """Replace the pictures of a conversation by descriptions, because the model's endpoint refuses pictures."""
    context.sight.is_shown = False
    context.emit(Note(f"pictures are not shown to the model: {why}"))
    holders = [*state.get("attached", []), *state.get("steps", [])]
    pictures = {picture["path"]: picture for holder in holders for picture in holder.get("pictures", [])}
    for path, picture in pictures.items():
        place = Place(picture["name"], Path(path))
        _, description = await seen_pictures([place], context, state["question"], is_read=False)
        context.sight.descriptions[path] = description


_FILM_TOKENS = 2_000
_SEEN = "What a model sees and hears in it, asked the question"


async def watched(place: str | Path, kind: str, context: Context, question: str) -> str:
    """Return a model's text about a film or sound, for the question; empty if there is none.

    The place is a YouTube address or a file.
    """
    sight = context.sight
    if not sight.watches or (isinstance(place, Path) and kind not in MEDIA_KINDS):
        return ""
    if (key := (str(place), question)) not in sight.watched:
        messages = load_prompt("agent", "film").render(question=question)
        messages[-1]["content"] = [{"type": "text", "text": messages[-1]["content"]}, media_part(place, kind)]
        try:
            completion = await context.complete(Role.MEDIA, messages, temperature=0, max_tokens=_FILM_TOKENS)
            description = completion.text.strip()
        except (ModelError, ModelOutputError, StoppedError) as problem:
            context.emit(
                Note(f"no model could watch {place if isinstance(place, str) else place.name}: {problem.message}")
            )
            description = ""
        sight.watched[key] = description and f"{_SEEN}: {description}"
    return sight.watched[key]


async def page_watched(url: str, context: Context, question: str) -> Page:
    """Return a page. For a video, film or sound, it begins with a model's text.

    Raises:
        WebProblem: The page could not be fetched, and no model can watch it.
        StoppedError: The run's time is over.
    """
    number = video_id(url)
    address = f"{YOUTUBE}/watch?v={number}"
    try:
        page = await context.web.read(url)
    except WebProblem as problem:
        if not number or problem.reason == "leak" or not (description := await watched(address, "", context, question)):
            raise
        return Page(address, "", description, kind="video", via="watched", notes=(problem.message,))
    if number:
        description = await watched(address, "", context, question)
    else:
        description = await watched(page.path, page.kind, context, question) if page.path is not None else ""
    return replace(page, markdown=f"{description}\n\n{page.markdown}") if description else page
