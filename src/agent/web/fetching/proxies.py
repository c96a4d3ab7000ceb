"""Which proxy the environment names: a module of its own, since the browser's process needs no HTTP client."""

from __future__ import annotations

from urllib.request import getproxies, proxy_bypass


def proxy_for(scheme: str, host: str) -> str:
    """The proxy that HTTP_PROXY, HTTPS_PROXY or ALL_PROXY name for a host, NO_PROXY heeded; empty for none."""
    proxies = getproxies()
    proxy = proxies.get(scheme) or proxies.get("all") or ""
    if not proxy or proxy_bypass(host):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"
