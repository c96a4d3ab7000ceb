"""Which models an endpoint offers, by its own account."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from agent.models.failures import Endpoint

_SECONDS = 5.0


class Offered(NamedTuple):
    """What an endpoint says, or why it says nothing."""

    names: tuple[str, ...] = ()
    """Empty where it has no such list, too."""
    problem: str = ""
    remedy: str = ""


def ask_models(endpoint: Endpoint) -> Offered:
    """Asks an endpoint for its models."""
    remedy = f"Set {endpoint.key_variable or 'its key'}."
    return ask_models_at(endpoint.url, endpoint.api_key, key_remedy=remedy)


def ask_models_at(url: str, key: str | None = None, *, key_remedy: str = "", seconds: float = _SECONDS) -> Offered:
    """Asks a base URL for its models (`GET /models`).

    Args:
        url: The base URL.
        key: Sent where there is one.
        key_remedy: What to do where it is refused.
        seconds: How long it may take.
    """
    import httpx2

    try:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        response = httpx2.get(f"{url}/models", headers=headers, timeout=seconds)
    except (httpx2.HTTPError, httpx2.InvalidURL, UnicodeEncodeError) as error:
        return Offered(problem=f"{url} is not reached: {error}", remedy="Check the network, or --base-url.")
    if response.status_code in {401, 403}:
        return Offered(problem=f"{url} refuses the key", remedy=key_remedy)
    if response.status_code >= 400 and response.status_code != 404:
        return Offered(problem=f"{url} answers {response.status_code}", remedy="Check --base-url.")
    try:
        return Offered(tuple(sorted(str(model["id"]) for model in response.json()["data"])))
    except (ValueError, KeyError, TypeError):
        return Offered()
