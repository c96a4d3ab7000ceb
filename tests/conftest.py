"""What every test gets: a home of its own, a clean environment, and on request real local servers."""

from __future__ import annotations

import gc
import os
import re
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from support.json_server import JsonServer, Reply, Request
from support.openai_server import OpenAIServer
from support.site.server import Site

if TYPE_CHECKING:
    from agent.models.embedded.model import EmbeddedModel

os.fsync = lambda _: None  # type: ignore[assignment, misc]  # no test cuts the power, and each would wait for the disk
gc.disable()  # while tests are collected, a quarter of the time would go into objects that all stay
# How long an example takes says nothing where other work shares the processors. What 30 miss, another run may find.
hypothesis.settings.register_profile("alita", deadline=None, max_examples=30)
hypothesis.settings.load_profile("alita")

_PRIVATE = re.compile(
    r"(^|_)(KEY|TOKEN|SECRET|PASSWORD)$|^(OPENAI|LLM|ALITA|HF|FIRECRAWL|GEMINI|TAVILY|ANTHROPIC)_", re.IGNORECASE
)
_FOR_TESTS = {"ALITA_TEST_WEIGHTS"}
_DEFAULT_WEIGHTS = "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist names the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that need Node, or the model, are for one worker. The model comes last: it takes all processors."""
    items.sort(key=lambda item: item.get_closest_marker("model") is not None)
    for item in items:
        for name in ("node", "model"):
            if item.get_closest_marker(name):
                item.add_marker(pytest.mark.xdist_group(name))


def pytest_collection_finish(session: pytest.Session) -> None:
    """What was collected stays: no later collection of garbage looks at it.

    Groups that pytest-xdist does not see would run beside each other, and what they share would be made twice."""
    if getattr(session.config.option, "loadgroup", False):
        lost = [i.nodeid for i in session.items if i.get_closest_marker("xdist_group") and "@" not in i.nodeid]
        assert not lost, f"this pytest and this pytest-xdist do not fit: {lost[0]} has lost its group"
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where homes are made: to number thousands of folders beside each other, pytest lists them all each time."""
    return tmp_path_factory.mktemp("homes")


@pytest.fixture(scope="session")
def no_hits() -> Iterator[str]:
    """The address of a search engine that finds nothing."""

    def answer(request: Request) -> Reply:
        is_search = request.path.endswith("/search")
        return Reply({"success": True, "data": {"web": []}}) if is_search else Reply({"error": "no such page"}, 404)

    with JsonServer(answer) as server:
        yield server.url


@pytest.fixture(autouse=True)
def home(homes: Path, no_hits: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own for each test, named by ALITA_HOME, and no key of the developer's in the environment.

    The only search engine is on this machine, and finds nothing.
    """
    folder = Path(tempfile.mkdtemp(dir=homes))
    for name in list(os.environ):
        if _PRIVATE.search(name) and name not in _FOR_TESTS:
            monkeypatch.delenv(name)
    monkeypatch.setenv("ALITA_HOME", str(folder))
    monkeypatch.setenv("ALITA_ENGINES", "firecrawl")
    monkeypatch.setenv("ALITA_FIRECRAWL_API_URL", no_hits)
    return folder


@pytest.fixture
def openai_server() -> Iterator[OpenAIServer]:
    """A scripted OpenAI-compatible server."""
    with OpenAIServer() as server:
        yield server


@pytest.fixture
def site() -> Iterator[Site]:
    """The web site of a small town, described in tests/site/README.md."""
    with Site() as server:
        yield server


@pytest.fixture(scope="session")
def weights_path() -> Path:
    """The embedded model's weights: ALITA_TEST_WEIGHTS, else where `alita model pull` puts them."""
    from agent.configuration.paths import find_folders

    default = find_folders(os.environ).data / "models" / _DEFAULT_WEIGHTS
    path = Path(os.environ.get("ALITA_TEST_WEIGHTS") or default)
    if not path.exists():
        pytest.skip(f"no weights at {path}: fetch them with `alita model pull`")
    return path


@pytest.fixture(scope="session")
def one_server(weights_path: Path) -> Iterator[dict[str, str]]:
    """Settings with which all tests share one server of the embedded model, which keeps no prefixes on disk."""
    from agent.models.embedded.local_server import stop_servers
    from agent.models.embedded.prefixes import FOLDER

    with tempfile.TemporaryDirectory(prefix="alita-test-") as name:
        folders = {"models_dir": str(weights_path.parent)}
        for folder in ("runtime", "cache"):
            folders[f"{folder}_dir"] = f"{name}/{folder}"
        Path(folders["cache_dir"]).mkdir()
        (Path(folders["cache_dir"]) / FOLDER).touch()  # no folder: no processor reads ahead what no test asks for
        yield folders
        stop_servers(Path(folders["runtime_dir"]))


@pytest.fixture
async def embedded(one_server: dict[str, str]) -> AsyncIterator[EmbeddedModel]:
    """The embedded model at the server that all tests share."""
    from agent.models.embedded.model import EmbeddedModel
    from agent.models.embedded.prefixes import FOLDER
    from agent.models.embedded.weights import Weights

    weights, prefixes = Weights(Path(one_server["models_dir"])).ready, Path(one_server["cache_dir"]) / FOLDER
    model = EmbeddedModel(weights, Path(one_server["runtime_dir"]), prefixes=prefixes)
    yield model
    await model.aclose()
