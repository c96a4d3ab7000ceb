"""`alita sessions list|show|export|delete`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from agent.cli import options
from agent.cli.output import date_text, print_json, print_note, print_rows, print_text
from agent.store.user_files import write_file
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from agent.conversation import Turn
    from agent.store.sessions import Session

app = options.new_app("Sessions: the conversations of the interactive terminal.")

SessionId = Annotated[
    str | None,
    typer.Argument(metavar="SESSION", help="The id or its beginning or end; the one used last if not given."),
]


@app.command("list")
def list_(
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many.")] = 20,
    as_json: options.AsJson = False,
) -> None:
    """Lists sessions, the one used last first."""
    from agent.store.sessions import damaged_sessions, list_sessions

    folder = options.settings().sessions_dir
    sessions = list_sessions(folder, limit=limit)
    if as_json:
        print_json([_brief(session) for session in sessions])
    else:
        print_rows([_row(session) for session in sessions])
        if not sessions:
            print_note("There are no sessions yet. Start one with: alita")
    for flaw in damaged_sessions(folder):
        print_note(f"{flaw.message}\n  {flaw.remedy}")


@app.command()
def show(session: SessionId = None, as_json: options.AsJson = False) -> None:
    """Shows a session: every question and its answer."""
    found = _load(session)
    if as_json:
        print_json(found.as_json())
        return
    print_rows(
        [
            ("session", found.id),
            ("title", found.title),
            ("model", found.model),
            ("started", date_text(found.started)),
            ("turns", str(len(found.turns))),
            *([("from", found.parent)] if found.parent else []),
        ]
    )
    for turn in found.turns:
        print_text(f"\n{_shown(turn)}")


@app.command()
def export(
    session: SessionId = None,
    form: Annotated[
        Literal["md", "json"], typer.Option("--format", metavar="FORMAT", help="md to read, json for programs.")
    ] = "md",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Where to write it; stdout if not given.")
    ] = None,
) -> None:
    """Writes a session as Markdown or JSON."""
    from agent.store.sessions import export_session

    found = _load(session)
    text = export_session(found, form)
    if output is None:
        print_text(text)
        return
    write_file(output, text)
    print_note(f"Wrote {output}.")


@app.command()
def delete(
    sessions: Annotated[list[str], typer.Argument(metavar="SESSION...", help="Ids, or their beginnings or ends.")],
    as_json: options.AsJson = False,
) -> None:
    """Deletes sessions. Their runs stay."""
    from agent.store.sessions import delete_session, find_session

    folder = options.settings().sessions_dir
    found = list(dict.fromkeys(find_session(folder, session) for session in sessions))
    for session_id in found:
        delete_session(folder, session_id)
    if as_json:
        print_json({"ok": True, "deleted": found})
    else:
        print_note(f"Deleted {', '.join(found)}.")


def _load(session: str | None) -> Session:
    from agent.store.sessions import find_session, load_session

    folder = options.settings().sessions_dir
    return load_session(folder, find_session(folder, session))


def _row(session: Session) -> tuple[str, ...]:
    count = len(session.turns)
    return session.id, f"{count} turn{'' if count == 1 else 's'}", date_text(session.changed), session.title


def _brief(session: Session) -> dict[str, object]:
    return {
        "id": session.id,
        "title": session.title,
        "model": session.model,
        "started": session.started,
        "changed": session.changed,
        "turns": len(session.turns),
        "parent": session.parent,
    }


def _shown(turn: Turn) -> str:
    facts = [turn.status.replace("_", " "), *([f"run {turn.run_id}"] if turn.run_id else [])]
    lines = [f"> {line}" for line in turn.question.splitlines()]
    if turn.restated:
        lines.append(f"  understood as: {one_line(turn.restated, 500)}")
    answer = turn.answer or f"(no answer: {turn.error or turn.status})"
    return "\n".join([*lines, answer, f"  ({', '.join(facts)})"])
