"""`alita model`: lists and tests models, and downloads, removes and serves local models."""

from __future__ import annotations

import contextlib
import shutil
import sys
import time
from collections.abc import Awaitable
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.cli import exits, options
from agent.cli.options import opt
from agent.cli.output import Result, columns, done, fields, print_note
from agent.configuration.project_choice import require_allowed
from agent.errors import ModelOutputError, ModelRefusedError, ModelUnreachableError, StorageError, UsageError
from agent.files.media.speech import engine_of, from_settings
from agent.models.chat import ChatModel
from agent.models.embedded.local_server import LocalServer, ServerOptions, running_servers, stop_servers
from agent.models.embedded.prefixes import FOLDER
from agent.models.embedded.weights import Weights, speech_weights
from agent.models.embedded.whisper_weights import WhisperWeights
from agent.models.ladder import TRAITS, TraitsCache
from agent.models.openai import list_models
from agent.models.protocol import EMBEDDED, ROLES, SCRIPTED, Completion, Message, Request, Usage
from agent.models.roles import Models, endpoint_of, with_resolved_model
from mcp_tools.tool import object_schema

if TYPE_CHECKING:
    from agent.configuration.settings import Settings


app = options.App("Models: list and test them, and manage the weights of local ones.")

MB = 1_000_000


class Name(StrEnum):
    """Names of models whose weights can be downloaded."""

    EMBEDDED = "embedded"
    SPEECH = "speech"


Which = Annotated[Name, typer.Argument(help="embedded or speech.")]


def _weights(name: Name = Name.EMBEDDED) -> Weights | WhisperWeights:
    settings = options.settings()
    if name is Name.EMBEDDED:
        return Weights(settings.models_dir)
    speech = from_settings(settings)
    if engine_of(speech) == "openai-whisper":
        return WhisperWeights(settings.models_dir, speech.model)
    return speech_weights(settings.models_dir)


@app.command()
def pull(name: Which = Name.EMBEDDED, quiet: options.Quiet = False, as_json: options.AsJson = False) -> Result:
    """Downloads and verifies the weights. Resumes an interrupted download."""
    weights = _weights(name)
    new = name is Name.EMBEDDED and not weights.path.exists()
    if isinstance(weights, WhisperWeights):
        path = weights.pull(quiet=quiet)
    else:
        path = weights.pull() if quiet else _pull(weights)
    if new:
        with contextlib.suppress(ModelUnreachableError, StorageError):  # the first question reports the error
            _server(path).start()
    size = sum(stored.size for stored in weights.stored())
    return Result({"ok": True, "path": str(path), "bytes": size}, text=str(path))


def _pull(weights: Weights) -> Path:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    shown = -1
    with Progress(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("weights")

        def show(done: int, total: int, source: str) -> None:
            nonlocal shown
            bar.update(task, completed=done, total=total, description=f"weights from the {source}")
            tenth = done * 10 // max(total, 1)
            if bar.disable and tenth != shown:
                shown = tenth
                print_note(f"weights from the {source}: {done / MB:,.0f} of {total / MB:,.0f} MB")

        return weights.pull(show)


@app.command("list")
def list_(
    forget: Annotated[bool, opt("--forget", "Forget which features the endpoints refused, then list.")] = False,
    base_url: options.BaseUrl = None,
    as_json: options.AsJson = False,
) -> Result:
    """Lists the configured models, the models that their endpoints offer, and the weights on this machine."""
    settings = options.settings()
    traits = TraitsCache(settings.cache_dir / TRAITS)
    if forget:
        traits.forget()
    known = traits.all()
    models, offers = _model_rows(settings), _offered(settings)
    stored = [(name.value, s) for name in Name for s in _weights(name).stored()]
    weights = [{"model": n, "path": str(s.path), "bytes": s.size, "state": s.state} for n, s in stored]
    rows = []
    for each in models:
        senses = " ".join(sense for sense in ("sees", "watches", "hears") if each[sense]) or "—"
        key = f"key: {each['key']}{'' if each['key_is_set'] else ' (not set)'}" if each["key"] else "no key"
        where = f"{each['model']} at {each['endpoint']}"
        rows.append((each["name"], where, each["dialect"], each["strategy"], senses, key, ", ".join(each["used_as"])))
    lines = [
        offer["problem"] or f"{offer['endpoint']} offers: {', '.join(offer['models']) or 'unknown'}" for offer in offers
    ]
    lines += [f"remembered about {who}: {each.shown}" for who, each in known.items() if each.shown]
    lines += columns([(s.path.name, f"{s.size / MB:,.0f} MB", s.state, n) for n, s in stored], None)
    remembered = {who: {**asdict(each), "without": list(each.without)} for who, each in known.items()}
    note = "" if stored else "No weights on this machine. Download them with: alita model pull"
    return Result(
        {"models": models, "offered": offers, "weights": weights, "remembered": remembered},
        rows,
        "\n".join(lines),
        note,
    )


def _model_rows(settings: Settings) -> list[dict[str, Any]]:
    """Return a row with endpoint, dialect and roles for each configured model and the embedded model."""
    used: dict[str, list[str]] = {EMBEDDED: [], **{name: [] for name in settings.models}}
    for use in ("model", "fallback", *ROLES):
        for name in (settings.model,) if use == "model" else getattr(settings, use):
            used.setdefault(name, []).append(use)
    source = settings.source_of("api_key")
    models = []
    for name, uses in used.items():
        named, endpoint = settings.models.get(name), endpoint_of(settings, name)
        key = f"variable {named.key}" if named and named.key else source if endpoint.api_key else None
        local = name == EMBEDDED or name.startswith(SCRIPTED)
        strategy = settings.strategy_of(name)
        small = strategy == "small" or (strategy == "auto" and name == EMBEDDED)
        models.append(
            {
                "name": name,
                "model": name if local else endpoint.model,
                "endpoint": "this machine" if local else endpoint.shown_url,
                "dialect": named.dialect if named else "chat",
                "strategy": "small" if small else "standard",
                "sees": settings.model_sees(name),
                "watches": name in settings.media or bool(named and named.watches),
                "hears": bool(named and named.hears),
                "key": None if local else key,
                "key_is_set": not local and endpoint.api_key is not None,
                "used_as": uses,
            }
        )
    return models


def _offered(settings: Settings) -> list[dict[str, Any]]:
    """Return the models offered by each endpoint. Only endpoints with a URL or key are queried."""
    require_allowed(settings)
    names = [*settings.models, *([settings.model] if settings.base_url or settings.api_key else [])]
    asked = [endpoint_of(settings, name) for name in names if name != EMBEDDED and not name.startswith(SCRIPTED)]
    found = {url: list_models(endpoint) for url, endpoint in {each.shown_url: each for each in asked}.items()}
    return [
        {"endpoint": url, "models": offer.names, "problem": offer.failure.error().message if offer.failure else ""}
        for url, offer in found.items()
    ]


@app.command()
def path(name: Which = Name.EMBEDDED, as_json: options.AsJson = False) -> Result:
    """Prints the path of the weights, even before they are downloaded."""
    where = _weights(name).path
    return Result({"path": str(where), "exists": where.exists()}, text=str(where))


@app.command()
def rm(name: Which = Name.EMBEDDED, as_json: options.AsJson = False) -> Result:
    """Removes the weights, partial downloads, and the cache computed with them."""
    weights = _weights(name)
    removed = weights.remove()
    if name is Name.EMBEDDED:
        shutil.rmtree(options.settings().cache_dir / FOLDER, ignore_errors=True)
    note = f"Removed {weights.path}." if removed else f"Nothing to remove at {weights.path}."
    return done(note, removed=removed)


@app.command()
def serve(
    stop: Annotated[bool, opt("--stop", "Stop the server instead of starting it.")] = False,
    as_json: options.AsJson = False,
) -> Result:
    """Starts the embedded model's server in the background, so the next question does not wait for it."""
    if stop:
        ended = stop_servers(options.settings().runtime_dir)
        return done(f"Stopped {ended} server(s).", ended=ended)
    exits.run(_server(Weights(options.settings().models_dir).ready()).find())
    return status()


def _server(weights: Path) -> LocalServer:
    settings = options.settings()
    wanted = ServerOptions(weights, idle=settings.model_idle_seconds, prefixes=settings.cache_dir / FOLDER)
    return LocalServer(settings.runtime_dir, wanted, notify=print_note)


@app.command()
def status(as_json: options.AsJson = False) -> Result:
    """Shows whether the embedded model's server is running."""
    servers = [state for _, state in running_servers(options.settings().runtime_dir)]
    known = [
        fields(s, "pid port ready threads") | {"idle_seconds": s.idle, "seconds": round(time.time() - s.started, 1)}
        for s in servers
    ]
    lines = [
        f"running: process {s.pid}, {f'port {s.port}' if s.ready else 'loading'}, {s.threads} threads, "
        f"stops when idle for {s.idle:.0f} s"
        for s in servers
    ] or ["not running; the first question starts it, or run: alita model serve"]
    return Result({"running": bool(servers), "servers": known}, text="\n".join(lines))


_LENGTH = 4_000
_GREETING: list[Message] = [{"role": "user", "content": "Reply with the one word: ready"}]
_SUM: list[Message] = [{"role": "user", "content": "What is 17 + 25? Use the function."}]
_CITY: list[Message] = [{"role": "user", "content": "Which city is the capital of France, and is it in Europe?"}]


def _form(**types: str) -> dict[str, Any]:
    return object_schema({name: {"type": kind} for name, kind in types.items()})


_ADD: dict[str, Any] = {
    "type": "function",
    "function": {"name": "add", "description": "Adds two numbers.", "parameters": _form(a="number", b="number")},
}
_FUNCTIONS = {
    "native": "called",
    "schema": "as a JSON form that the endpoint holds it to",
    "text": "as JSON in its text",
}
_STRUCTURED = {"schema": "JSON Schema", "text": "as JSON in its text"}


@app.command("test")
def try_out(
    name: Annotated[str, typer.Argument(help="Model to test (default: the one that answers).")] = "",
    base_url: options.BaseUrl = None,
    as_json: options.AsJson = False,
) -> Result:
    """Asks a model three short questions to measure its speed, abilities and cost."""
    settings = options.settings(model=name or options.flags().get("model"))
    require_allowed(settings)
    settings = with_resolved_model(settings)
    report = exits.run(_tested(settings, settings.model))
    usage = report["usage"]
    rows = [
        ("model", report["model"]),
        ("first token", f"{report['first_token_seconds']:.2f} s"),
        ("whole answer", f"{report['seconds']:.2f} s"),
        ("functions", _FUNCTIONS.get(report["functions"], "does not call them")),
        ("structured output", _STRUCTURED.get(report["structured"], "does not give it")),
        ("tokens", f"{usage['input_tokens']:,} in, {usage['output_tokens']:,} out, {usage['calls']} calls"),
        ("price", "unknown" if usage["cost"] is None else f"${usage['cost']:.6f}"),
    ]
    return Result(report, rows, note="\n".join(report["problems"]), code=0 if report["ok"] else 1)


async def _tested(settings: Settings, name: str) -> dict[str, Any]:
    models = Models(settings, notify=print_note)
    try:
        model = models.named(name)
        if not isinstance(model, ChatModel):
            raise UsageError(f"{name} is a scripted model; only real models can be tested.")
        model.forget()  # previously detected abilities may be out of date
        called = await _outcome(model.complete(Request(_SUM, tools=[_ADD], tool_choice="required", max_tokens=_LENGTH)))
        wanted = _form(city="string", in_europe="boolean")
        formed = await _outcome(model.complete(Request(_CITY, wanted, max_tokens=_LENGTH)))
        # Only time the last call, when libraries are loaded and the connection is open.
        started, arrivals = time.perf_counter(), list[float]()
        greeting = await model.complete(
            Request(_GREETING, max_tokens=_LENGTH, on_delta=lambda _: arrivals.append(time.perf_counter()))
        )
        ended = time.perf_counter()
    finally:
        await models.aclose()
    usage = greeting.usage + called[1] + formed[1]
    return {
        "ok": not called[0] and not formed[0],
        "name": name,
        "model": greeting.model,
        "first_token_seconds": round((arrivals[0] if arrivals else ended) - started, 3),
        "seconds": round(ended - started, 3),
        "functions": None if called[0] else model.known.tools,
        "structured": None if formed[0] else model.known.rung,
        "problems": [problem for problem in (called[0], formed[0]) if problem],
        "usage": fields(usage, "input_tokens output_tokens calls")
        | {"cost": None if usage.cost is None else round(usage.cost, 9)},
    }


async def _outcome(asked: Awaitable[Completion]) -> tuple[str, Usage]:
    try:
        completion = await asked
    except ModelRefusedError as problem:
        return problem.message, Usage()
    except ModelOutputError as problem:
        return problem.message, problem.usage or Usage()
    return next((call.problem for call in completion.tool_calls), ""), completion.usage
