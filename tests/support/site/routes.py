"""Which function answers which path. A path without one is a file of tests/site/pages, or nothing."""

from __future__ import annotations

from collections.abc import Callable

from support.site import awkward, files, forms, hostile, lists, rendering, scripts
from support.site.server import Reply, Request, Site

Answer = Callable[[Site, Request], Reply]

EXACT: dict[str, Answer] = {
    # forms and sessions
    "/login": forms.login,
    "/logout": forms.logout,
    "/account": forms.account,
    "/account/berth": forms.berth,
    "/account/phone": forms.phone,
    "/guestbook": forms.guestbook,
    "/upload": forms.upload,
    "/permit-form": forms.permit,
    **{f"/{name}": forms.simple for name in forms.SIMPLE},
    # lists
    "/news": lists.news,
    "/search": lists.search,
    "/shop": lists.shop,
    "/cart": lists.cart,
    "/order": lists.order,
    # what scripts ask for
    "/api/weather": scripts.weather,
    "/api/leader": scripts.leader,
    "/api/boats": scripts.boats,
    "/api/chores": scripts.chores,
    # files
    "/guide.pdf": files.guide,
    "/files/tides-2026.csv": files.tides,
    "/files/tides-2025.csv": files.tides,
    "/archive.html": files.binary,
    "/notes.txt": files.notes,
    "/latin": files.latin,
    "/meta-charset": files.meta_charset,
    "/pixel.png": files.pixel,
    "/robots.txt": files.robots,
    "/sitemap.xml": files.sitemap,
    # awkward ones
    "/slow": awkward.slow,
    "/error": awkward.error,
    "/flaky": awkward.flaky,
    "/busy": awkward.busy,
    "/gone": awkward.gone,
    "/loop": awkward.loop,
    "/chain": awkward.chain,
    "/old-ferry": awkward.moved,
    "/escape": awkward.escape,
    "/huge": awkward.huge,
    "/cut": awkward.cut,
    "/captcha": awkward.captcha,
    "/private/members": awkward.private,
    "/trap": awkward.trap,
    "/hostile": hostile.page,
    "/points": awkward.points,
}
UNDER: dict[str, Answer] = {"/news/": lists.article, "/shop/": lists.product}


def answer(site: Site, request: Request) -> Reply:
    """The reply to a request."""
    if found := EXACT.get(request.path):
        return found(site, request)
    for start, under in UNDER.items():
        if request.path.startswith(start):
            return under(site, request)
    name = request.path.strip("/") or "index"
    if rendering.has_page(name):
        return rendering.page(name)
    return rendering.message("Not found", f"There is no page {rendering.escaped(request.path)}.", status=404)
