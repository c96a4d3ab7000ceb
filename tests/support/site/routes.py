"""The function for each path. Other paths are files of tests/site/pages."""

from __future__ import annotations

from collections.abc import Callable

from support.site import hostile, rendering
from support.site.server import Reply, Request, Site

Answer = Callable[[Site, Request], Reply]
USER, PASSWORD = "skipper", "mast-and-boom-74"


def login(site: Site, request: Request) -> Reply:
    """Sign in with the site's only account."""
    if request.method != "POST":
        return rendering.page("login", problem="")
    given = request.form
    if (given.get("user"), given.get("password")) != (USER, PASSWORD):
        return rendering.page("login", problem='<p role="alert">Wrong user name or password.</p>', status=401)
    site.sessions[request.session]["user"] = USER
    site.record("login", {"user": USER})
    return rendering.redirect("/account")


def account(site: Site, request: Request) -> Reply:
    """Show the account of a signed-in visitor."""
    if not (user := site.sessions[request.session].get("user")):
        return rendering.redirect("/login")
    return rendering.page("account", user=user)


def search(site: Site, request: Request) -> Reply:
    """Show a search without results."""
    return rendering.page("search", query=rendering.escaped(request.query.get("q", "")), hits="")


def tides(site: Site, request: Request) -> Reply:
    """Show a table that readers must keep."""
    rows = [f"2026-{month:02}-01,{(month * 97) % 12:02}:{(month * 31) % 60:02},{4 + month % 5 * 0.3:.1f}"
            for month in range(1, 13)]  # fmt: skip
    body = "\n".join(["date,high water,metres", *rows, ""])
    return Reply(body, kind="text/csv", headers={"Content-Disposition": 'attachment; filename="tides-2026.csv"'})


def slow(site: Site, request: Request) -> Reply:
    """Respond after `?seconds=`, by default three."""
    site.wait(float(request.query.get("seconds", "3")))
    return rendering.message("The slow page", "Patience is rewarded: the password of the day is limpet.")


def error(site: Site, request: Request) -> Reply:
    """Always fail."""
    return rendering.message("Internal server error", "Something broke on our side.", status=500)


def escape(site: Site, request: Request) -> Reply:
    """Redirect to `?to=`."""
    return rendering.redirect(request.query["to"], 302)


ANSWERS: dict[str, Answer] = {
    "/login": login,
    "/account": account,
    "/search": search,
    "/files/tides-2026.csv": tides,
    "/slow": slow,
    "/error": error,
    "/escape": escape,
    "/hostile": hostile.page,
}


def answer(site: Site, request: Request) -> Reply:
    """Return the reply to a request."""
    if found := ANSWERS.get(request.path):
        return found(site, request)
    name = request.path.strip("/") or "index"
    if rendering.has_page(name):
        return rendering.page(name)
    return rendering.message("Not found", f"There is no page {rendering.escaped(request.path)}.", status=404)
