"""Which proxy the environment names: a module of its own, since the browser's process needs no HTTP client."""

from __future__ import annotations

import os
from urllib.request import getproxies, proxy_bypass

from agent.web.protocol import WebProblem

_VARIABLES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")


def proxy_for(scheme: str, host: str) -> str:
    """The proxy that HTTP_PROXY, HTTPS_PROXY or ALL_PROXY name for a host, NO_PROXY heeded; empty for none."""
    proxies = getproxies()
    proxy = proxies.get(scheme) or proxies.get("all") or ""
    if not proxy or proxy_bypass(host):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def proxy_problem() -> WebProblem:
    """That the proxy of the environment cannot be used; its address, which may hold a password, is not told."""
    named = [name for name in _VARIABLES if not _is_http(os.environ.get(name) or os.environ.get(name.lower()) or "")]
    return WebProblem(
        "connection",
        f"The proxy that {' and '.join(named) or 'the environment'} names cannot be used: only proxies of HTTP can.",
        remedy="Name one that begins with http://, or unset the variable.",
    )


def _is_http(proxy: str) -> bool:
    return "://" not in proxy or proxy.lower().startswith(("http://", "https://"))
