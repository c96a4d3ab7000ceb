"""What `alita model list` and `alita model test` say of the models that the settings name."""

from __future__ import annotations

import time
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, NamedTuple

from agent.cli.output import print_note, print_rows, print_text
from agent.errors import ModelOutputError, ModelRefusedError, UsageError
from agent.models.protocol import EMBEDDED, ROLES, SCRIPTED, Completion, Message, Request, Usage

if TYPE_CHECKING:
    from agent.configuration.settings import Settings

_LENGTH = 4_000
"""Tokens of a reply at most: a few words, and room to think."""
_GREETING: list[Message] = [{"role": "user", "content": "Reply with the one word: ready"}]
_SUM: list[Message] = [{"role": "user", "content": "What is 17 + 25? Use the function."}]
_ADD: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "add",
        "description": "Adds two numbers.",
        "parameters": {
            "type": "object",
            "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
            "required": ["a", "b"],
            "additionalProperties": False,
        },
    },
}
_CITY: list[Message] = [{"role": "user", "content": "Which city is the capital of France, and is it in Europe?"}]
_FORM: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "in_europe": {"type": "boolean"}},
    "required": ["city", "in_europe"],
    "additionalProperties": False,
}
_FUNCTIONS = {
    "strict": "called, strict",
    "native": "called, not strict",
    "schema": "as a JSON form that the endpoint holds it to",
    "text": "as JSON in its text",
}
_STRUCTURED = {"schema": "JSON Schema", "tool": "as a forced call", "text": "as JSON in its text"}


def listed(settings: Settings) -> list[dict[str, Any]]:
    """Every model that the settings name, and the embedded one: where it is asked, how, and as what."""
    from agent.models.roles import model_settings

    wanted = model_settings(settings)
    used: dict[str, list[str]] = {EMBEDDED: [], **{name: [] for name in settings.models}}
    for use in ("model", "fallback", *ROLES):
        names = (settings.model,) if use == "model" else getattr(settings, use)
        for name in names:
            used.setdefault(name, []).append(use)
    source = next(line.source for line in settings.explain() if line.name == "api_key")
    models = []
    for name, uses in used.items():
        named, endpoint = settings.models.get(name), wanted.endpoint(name)
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
                "sees": name in settings.vision or bool(named and named.sees),
                "hears": bool(named and named.hears),
                "key": None if local else key,
                "key_is_set": not local and endpoint.api_key is not None,
                "used_as": uses,
            }
        )
    return models


def show_list(models: list[dict[str, Any]]) -> None:
    """Prints the models for people."""
    print_rows(
        [
            (
                each["name"],
                f"{each['model']} at {each['endpoint']}",
                each["dialect"],
                each["strategy"],
                " ".join(sense for sense in ("sees", "hears") if each[sense]) or "—",
                f"key: {each['key']}{'' if each['key_is_set'] else ' (not set)'}" if each["key"] else "no key",
                ", ".join(each["used_as"]),
            )
            for each in models
        ]
    )


class Offer(NamedTuple):
    """What an endpoint offers."""

    endpoint: str
    models: tuple[str, ...]
    problem: str


def offered(settings: Settings) -> list[Offer]:
    """What each endpoint says that it offers; one that neither an address nor a key names is not asked."""
    from agent.configuration.project_choice import require_allowed
    from agent.models.openai import ask_models
    from agent.models.roles import model_settings

    require_allowed(settings)
    wanted = model_settings(settings)
    names = [*settings.models, *([settings.model] if settings.base_url or settings.api_key else [])]
    endpoints = {
        wanted.endpoint(name).shown_url: wanted.endpoint(name)
        for name in names
        if name != EMBEDDED and not name.startswith(SCRIPTED)
    }
    found = {url: ask_models(endpoint) for url, endpoint in endpoints.items()}
    return [Offer(url, offer.names, offer.problem) for url, offer in found.items()]


def show_offered(offers: list[Offer]) -> None:
    """Prints what endpoints offer, for people."""
    for offer in offers:
        said = offer.problem or f"{offer.endpoint} offers: {', '.join(offer.models) or 'it does not say'}"
        print_text(said)


async def tested(settings: Settings, name: str) -> dict[str, Any]:
    """Asks a model three short questions.

    Returns:
        What `--json` prints.

    Raises:
        UsageError: It is a script.
        ModelError: It does not answer at all.
    """
    from agent.models.chat import ChatModel
    from agent.models.roles import model_settings, open_models

    models = open_models(model_settings(settings), notify=print_note)
    try:
        model = models.named(name)
        if not isinstance(model, ChatModel):
            raise UsageError(f"{name} is a script, which nobody has to try.")
        model.forget()  # what it could not do a month ago
        called = await _outcome(model.complete(Request(_SUM, tools=[_ADD], tool_choice="required", max_tokens=_LENGTH)))
        formed = await _outcome(model.complete(Request(_CITY, _FORM, max_tokens=_LENGTH)))
        # The last one is timed: by now libraries are loaded and the connection stands.
        started, heard = time.perf_counter(), list[float]()
        greeting = await model.complete(
            Request(_GREETING, max_tokens=_LENGTH, on_delta=lambda _: heard.append(time.perf_counter()))
        )
        ended = time.perf_counter()
    finally:
        await models.aclose()
    usage = greeting.usage + called[1] + formed[1]
    known = model.known
    return {
        "ok": not called[0] and not formed[0],
        "name": name,
        "model": greeting.model,
        "first_token_seconds": round((heard[0] if heard else ended) - started, 3),
        "seconds": round(ended - started, 3),
        "functions": None if called[0] else known.tools,
        "structured": None if formed[0] else known.rung,
        "problems": [problem for problem in (called[0], formed[0]) if problem],
        "usage": {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "calls": usage.calls,
            "cost": None if usage.cost is None else round(usage.cost, 9),
        },
    }


async def _outcome(asked: Awaitable[Completion]) -> tuple[str, Usage]:
    """What the model could not do, and what it took."""
    try:
        completion = await asked
    except ModelRefusedError as problem:
        return problem.message, Usage()
    except ModelOutputError as problem:
        return problem.message, problem.usage or Usage()
    return next((call.problem for call in completion.tool_calls), ""), completion.usage


def show_test(report: dict[str, Any]) -> None:
    """Prints a test for people."""
    usage = report["usage"]
    cost = "unknown" if usage["cost"] is None else f"${usage['cost']:.6f}"
    print_rows(
        [
            ("model", report["model"]),
            ("first token", f"{report['first_token_seconds']:.2f} s"),
            ("whole answer", f"{report['seconds']:.2f} s"),
            ("functions", _FUNCTIONS.get(report["functions"], "does not call them")),
            ("structured output", _STRUCTURED.get(report["structured"], "does not give it")),
            ("tokens", f"{usage['input_tokens']:,} in, {usage['output_tokens']:,} out, {usage['calls']} calls"),
            ("price", cost),
        ]
    )
    for problem in report["problems"]:
        print_note(problem)
