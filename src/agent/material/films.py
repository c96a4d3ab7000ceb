"""The films and sounds of a run: a model of the role `media` watches them with the question."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from agent.errors import ModelError, ModelOutputError, StoppedError
from agent.events import Note
from agent.models.films import FILMS_AND_SOUNDS, part_of
from agent.models.protocol import Role
from agent.web.page import Page, WebProblem
from agent.web.reading.videos import YOUTUBE, video_id
from mcp_tools.prompt import load_prompt

if TYPE_CHECKING:
    from agent.context import Context

_TOKENS = 2_000
_SEEN = "What a model sees and hears in it, asked the question"


async def watched(place: str | Path, kind: str, context: Context, question: str) -> str:
    """What a model says of a film or a sound, for the question; empty where there is none, or it cannot say.

    Args:
        place: Its address at YouTube, or its file.
        kind: Of the file.
        context: Of the run.
        question: What it is watched for.
    """
    sight = context.sight
    if not sight.watches or (isinstance(place, Path) and kind not in FILMS_AND_SOUNDS):
        return ""
    if (key := (str(place), question)) not in sight.watched:
        messages = load_prompt("agent", "film").render(question=question)
        messages[-1]["content"] = [{"type": "text", "text": messages[-1]["content"]}, part_of(place, kind)]
        try:
            completion = await context.complete(Role.MEDIA, messages, temperature=0, max_tokens=_TOKENS)
            said = completion.text.strip()
        except (ModelError, ModelOutputError, StoppedError) as problem:
            context.emit(Note(f"no model watches {place if isinstance(place, str) else place.name}: {problem.message}"))
            said = ""
        sight.watched[key] = said and f"{_SEEN}: {said}"
    return sight.watched[key]


async def page_watched(url: str, context: Context, question: str) -> Page:
    """A page; of a video, or of a file that is a film or a sound, what a model says of it comes first.

    Raises:
        WebProblem: It could not be had, and nobody can watch it.
        StoppedError: The run's time is over.
    """
    assert context.web is not None
    number = video_id(url)
    address = f"{YOUTUBE}/watch?v={number}"
    try:
        page = await context.web.read(url)
    except WebProblem as problem:
        if not number or problem.reason == "leak" or not (said := await watched(address, "", context, question)):
            raise
        return Page(address, "", said, kind="video", via="watched", notes=(problem.message,))
    if number:
        said = await watched(address, "", context, question)
    else:
        said = await watched(page.path, page.kind, context, question) if page.path is not None else ""
    return replace(page, markdown=f"{said}\n\n{page.markdown}") if said else page
