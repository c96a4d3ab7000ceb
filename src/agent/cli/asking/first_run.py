"""The first run without a key: what is about to be fetched, how large it is, and what could answer instead."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from agent.cli.asking.trusting import is_terminal
from agent.cli.output import print_note
from agent.models.protocol import EMBEDDED, ROLES

if TYPE_CHECKING:
    from agent.configuration.settings import Settings

LOCAL_SERVERS = (("Ollama", 11434), ("llama.cpp", 8080), ("LM Studio", 1234), ("vLLM", 8000))
"""Servers that speak the OpenAI protocol, and the ports that they usually have."""
_SECONDS = 0.5


def ask_before_fetching(flags: dict[str, Any]) -> bool:
    """Tells what the first question fetches, and asks where somebody can answer.

    Args:
        flags: Settings from the command line; a server that is chosen instead is put there.

    Returns:
        Whether to go on. Nothing is asked where nothing is to be fetched, or without a terminal.
    """
    from agent.configuration.settings_sources import read_settings
    from agent.errors import AlitaError

    try:
        settings = read_settings(flags)
    except AlitaError:  # told by whoever needs them
        return True
    size = _missing(settings)
    if not size:
        return True
    servers = local_servers()
    print_note(f"No key and no endpoint are set: the embedded model answers. It is fetched once ({size / 1e9:.1f} GB),")
    print_note(f"to {settings.models_dir}. It is small; a hosted or larger model answers far more.")
    print_note("  a key:        alita keys set         an endpoint:  alita --base-url URL -m NAME")
    for number, (name, url, models) in enumerate(servers, 1):
        print_note(f"  {number}: {name} at {url}, which offers {', '.join(models[:3])}")
    if not is_terminal():
        return True
    choices = "".join(f", {number} uses {name}" for number, (name, _, _) in enumerate(servers, 1))
    while True:
        sys.stderr.write(f"Fetch it? y: yes, n: stop{choices} [y] ")
        sys.stderr.flush()
        line = sys.stdin.readline()
        answer = line.strip().lower()
        if answer in {"n", "no"} or not line:
            return False
        if answer in {"", "y", "yes"}:
            return True
        if answer.isdigit() and 0 < int(answer) <= len(servers):
            _, flags["base_url"], models = servers[int(answer) - 1]
            flags["model"] = models[0]
            print_note(f"To keep it: alita config set base_url {flags['base_url']}; alita config set model {models[0]}")
            return True


def _missing(settings: Settings) -> int:
    """Bytes of the embedded model that are still to be fetched; 0 where it is here, or is not asked."""
    if not any(EMBEDDED in settings.models_for(role) for role in ROLES):
        return 0
    from agent.models.embedded.weights import QWEN_CODER, Weights

    stored = Weights(settings.models_dir).stored()
    return 0 if stored else QWEN_CODER.size


def local_servers() -> list[tuple[str, str, tuple[str, ...]]]:
    """The model servers of this machine that answer: name, address and models."""
    from agent.models.openai import ask_models_at

    addresses = [(name, f"http://127.0.0.1:{port}/v1") for name, port in LOCAL_SERVERS]
    with ThreadPoolExecutor(len(addresses)) as threads:
        offered = threads.map(lambda one: ask_models_at(one[1], seconds=_SECONDS), addresses)
    return [(name, url, offer.names) for (name, url), offer in zip(addresses, offered, strict=True) if offer.names]
