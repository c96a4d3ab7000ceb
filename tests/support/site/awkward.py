"""Pages that are late, broken, endless, shut or a trap."""

from __future__ import annotations

from collections.abc import Iterator

from support.site import rendering
from support.site.server import Reply, Request, Site

MEGABYTE = b"<p>" + b"All work and no play makes Oxmere a dull town. " * 22_310 + b"</p>\n"


def slow(site: Site, request: Request) -> Reply:
    """Comes after `?seconds=`, by default three."""
    site.wait(float(request.query.get("seconds", "3")))
    return rendering.message("The slow page", "Patience is rewarded: the password of the day is limpet.")


def error(site: Site, request: Request) -> Reply:
    """Always breaks."""
    return rendering.message("Internal server error", "Something broke on our side.", status=500)


def flaky(site: Site, request: Request) -> Reply:
    """Breaks `?times=` times (by default twice), then works."""
    broken = site.paths().count("/flaky") <= int(request.query.get("times", "2"))
    if broken:
        return rendering.message("Service unavailable", "Try again.", status=503)
    return rendering.message("Back again", "The pump has been running since 04:20.")


def busy(site: Site, request: Request) -> Reply:
    """Asks the first visitor to come again in `?after=` seconds, by default one."""
    if site.paths().count("/busy") > 1:
        return rendering.message("Not so busy", "There are 7 people in the queue.")
    told = rendering.message("Too many requests", "Come again later.", status=429)
    told.headers["Retry-After"] = request.query.get("after", "1")
    return told


def gone(site: Site, request: Request) -> Reply:
    """Was there once."""
    return rendering.message("Gone", "This page was removed.", status=410)


def loop(site: Site, request: Request) -> Reply:
    """Leads to itself, with a number that grows."""
    number = request.query.get("n", "0")
    return rendering.redirect(f"/loop?n={int(number) + 1}", 302)


def chain(site: Site, request: Request) -> Reply:
    """Leads to itself `?left=` times, then to the ferry."""
    left = int(request.query.get("left", "3"))
    return rendering.redirect(f"/chain?left={left - 1}" if left > 0 else "/ferry", 302)


def moved(site: Site, request: Request) -> Reply:
    """Has another address now."""
    return rendering.redirect("/ferry", 301)


def escape(site: Site, request: Request) -> Reply:
    """Leads to `?to=`, by default where clouds keep their keys."""
    return rendering.redirect(request.query.get("to", "http://169.254.169.254/latest/meta-data/"), 302)


def huge(site: Site, request: Request) -> Reply:
    """A page of `?megabytes=`, by default 200, sent piece by piece; its last words are the last that come."""
    many = int(request.query.get("megabytes", "200"))

    def pieces() -> Iterator[bytes]:
        yield b"<!DOCTYPE html><html><head><title>The huge page</title></head><body><h1>The huge page</h1>\n"
        for _ in range(many):
            yield MEGABYTE
        yield b"<p>The end is at the buoy.</p></body></html>"

    return Reply(pieces())


def cut(site: Site, request: Request) -> Reply:
    """Promises more than it sends."""

    def pieces() -> Iterator[bytes]:
        yield b"<html><body><p>This sentence is never"

    return Reply(pieces(), headers={"Content-Length": "100000"})


def captcha(site: Site, request: Request) -> Reply:
    """Wants to see a human being."""
    told = rendering.bare("captcha")
    told.status = 403
    return told


def private(site: Site, request: Request) -> Reply:
    """What robots.txt closes."""
    site.record("private", {"agent": request.headers.get("user-agent", "")})
    return rendering.message("Members", "The password of the club is barnacle.")


def trap(site: Site, request: Request) -> Reply:
    """Where the hidden instructions of /notices lead."""
    site.record("trap", request.query)
    return rendering.message("Thank you", "The trap has closed.")


def points(site: Site, request: Request) -> Reply:
    """A table whose cells are one character long."""
    rows = "".join(f"<tr><td>{name}</td><td>{count}</td></tr>" for name, count in (("Wren", 7), ("Tern", 3)))
    return Reply(f"<!DOCTYPE html><html><body><h1>Points</h1><table>{rows}</table></body></html>")
