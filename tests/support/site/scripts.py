"""What the scripts of pages ask for."""

from __future__ import annotations

import json

from support.site import rendering
from support.site.server import Reply, Request, Site

FIRST = ("Wind", "Sea", "Grey", "Red", "North", "Salt", "Morning", "Silver", "Old", "Little")
SECOND = ("Rose", "Holly", "Heron", "Bell", "Anchor", "Thrift", "Lark", "Otter")
OWNERS = ("Anders", "Brook", "Cray", "Dorn", "Ferris", "Holm", "Lister", "Marsh", "Osgood", "Pine", "Roe")
BOATS = [
    {
        "name": f"{FIRST[i % 10]} {SECOND[(i // 10 + i) % 8]}",
        "number": f"OX {100 + 7 * i}",
        "owner": OWNERS[(5 * i) % 11],
        "metres": f"{6 + (i * 37 % 90) / 10:.1f}",
    }
    for i in range(80)
]
AT_ONCE = 20


def weather(site: Site, request: Request) -> Reply:
    """The weather, which no page has without its script."""
    hours = [
        {"hour": "06:00", "degrees": 9, "wind": 3},
        {"hour": "12:00", "degrees": 14, "wind": 5},
        {"hour": "18:00", "degrees": 12, "wind": 7},
    ]
    text = "Cloudy with sunny spells. The sea is at 11 degrees. Sunset is at 21:47."
    return rendering.as_json({"text": text, "hours": hours})


def leader(site: Site, request: Request) -> Reply:
    """Who leads today's walk: for who has answered the banner."""
    if "consent=" not in request.headers.get("cookie", ""):
        return rendering.as_json({"text": "Answer the question about cookies first."})
    site.record("leader", {})
    return rendering.as_json({"text": "Today's walk is led by Marit Skye. Meet at 14:15."})


def boats(site: Site, request: Request) -> Reply:
    """Twenty boats and where the next begin."""
    asked = request.query.get("from", "0")
    start = int(asked) if asked.isdecimal() else 0
    after = start + AT_ONCE
    return rendering.as_json({"boats": BOATS[start:after], "next": after if after < len(BOATS) else None})


def chores(site: Site, request: Request) -> Reply:
    """The list of chores, after the change that was asked for."""
    if request.method in ("POST", "PUT"):
        given = json.loads(request.body)
        site.chores[given["text"]] = bool(given.get("done", False))
        site.record("chore", {"text": given["text"], "done": str(site.chores[given["text"]]).lower()})
    return rendering.as_json([{"text": text, "done": done} for text, done in site.chores.items()])
