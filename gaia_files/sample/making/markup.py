"""Questions with HTML, Markdown, JSON, JSON Lines, JSON-LD and XML files."""

from __future__ import annotations

import heapq
import json
from collections import defaultdict
from html import escape

from making.question import Draw, Made, only_best, question


@question(1, ".html", tools="HTML reader")
def bus_timetable(draw: Draw) -> Made:
    """Take the rows for the place. Leave out those before noon. Take the earliest."""
    places = ["Aldmoor", "Birkfield", "Crane Hill", "Dunley"]
    minutes = draw.some(range(360, 1290), 40)
    rows = [(f"{m // 60:02}:{m % 60:02}", draw.one(places), draw.number(1, 6)) for m in minutes]
    answer = min(time for time, place, _ in rows if place == "Crane Hill" and time > "12:00")
    cells = "\n".join(f"<tr><td>{t}</td><td>{escape(p)}</td><td>{stop}</td></tr>" for t, p, stop in rows)
    page = (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Buses</title>\n'
        "<style>td { padding: 2px }</style></head><body>\n<h1>Departures</h1>\n"
        f"<table>\n<tr><th>Time</th><th>To</th><th>Stop</th></tr>\n{cells}\n</table>\n</body></html>\n"
    )
    text = (
        "The attached page lists departures, not in order of time. When does the first bus to Crane Hill leave after "
        "12:00? Answer with the time as HH:MM."
    )
    return Made(text, answer, page.encode())


@question(2, ".html", tools="HTML reader, code")
def village_links(draw: Draw) -> Made:
    """Take the links of the page.

    Leave out those in comments. Leave out those to the own site. Count the different hosts.
    """
    hosts = [
        f"{name}.example.org" for name in ("mill", "choir", "school", "museum", "forest", "ferry", "market", "radio")
    ]
    parts, seen = [], set()
    for number in range(36):
        host = draw.one(hosts)
        link = f'<a href="https://{host}/page{number}">page {number}</a>'
        kind = draw.number(0, 3)
        if kind == 0:
            link = f'<a href="/own/page{number}">page {number}</a>'
        elif kind == 1:
            link = f"<!-- {link.replace(host, f'old{draw.number(1, 9)}.example.org')} -->"
        else:
            seen.add(host)
        parts.append(f"<p>{link}</p>")
    page = (
        f"<!DOCTYPE html>\n<html><head><title>Our village</title></head><body>\n{chr(10).join(parts)}\n</body></html>\n"
    )
    text = (
        "To how many different other hosts do the links of the attached page lead? Links in HTML comments do not "
        "count, nor do links without a host. Give only the number."
    )
    return Made(text, len(seen), page.encode())


@question(1, ".md", tools="text reader")
def moving_list(draw: Draw) -> Made:
    """Find the heading. Count the boxes under it that are not ticked."""
    rooms = {
        "Kitchen": "pan pot cup bowl knife jug",
        "Garden": "rake spade hose bench pot seeds net shears",
        "Attic": "box lamp",
    }
    lines, open_tasks = ["# Before we move", ""], 0
    for room, things in rooms.items():
        lines += [f"## {room}", ""]
        for thing in things.split():
            ticked = draw.number(0, 2) == 0
            open_tasks += room == "Garden" and not ticked
            lines.append(f"- [{'x' if ticked else ' '}] pack the {thing}")
        lines.append("")
    text = "In the attached list, how many tasks under the heading Garden are not done yet? Give only the number."
    return Made(text, open_tasks, "\n".join(lines).encode())


@question(3, ".md", tools="text reader, code")
def curling_league(draw: Draw) -> Made:
    """Read the results and the rules. Count the points of each team. Break ties by the difference of stones. Sort."""
    teams = ["Auks", "Eiders", "Grebes", "Puffins", "Scoters", "Terns"]
    points: dict[str, int] = defaultdict(int)
    stones: dict[str, int] = defaultdict(int)
    rows = []
    for place, home in enumerate(teams):
        for guest in teams[place + 1 :]:
            a, b = draw.number(2, 9), draw.number(2, 9)
            rows.append(f"| {home} | {guest} | {a}:{b} |")
            stones[home] += a - b
            stones[guest] += b - a
            points[home] += 3 if a > b else 1 if a == b else 0
            points[guest] += 3 if b > a else 1 if a == b else 0
    lines = [
        "# Curling, winter league",
        "",
        "A win gives **3** points, a draw 1 for both. Teams with equal points are ordered by the difference of stones",
        "(own minus the other team's, over all games). The Terns start with **2** points taken off.",
        "",
        "| home | guest | stones |",
        "|---|---|---|",
        *draw.shuffled(rows),
        "",
    ]
    points["Terns"] -= 2
    order = sorted(teams, key=lambda team: (-points[team], -stones[team]))
    assert len({(points[team], stones[team]) for team in teams}) == len(teams)
    text = (
        "The attached file holds the results of a league and its rules. Which teams come first, second and third in "
        "the final table? Answer with their names in this order, separated by commas."
    )
    return Made(text, ", ".join(order[:3]), "\n".join(lines).encode())


@question(1, ".json", tools="code")
def inn_menu(draw: Draw) -> Made:
    """Go through the courses. Take the vegetarian dishes. Add up their prices."""
    dishes = [
        "soup",
        "salad",
        "dumplings",
        "trout",
        "pie",
        "stew",
        "risotto",
        "cake",
        "pears",
        "pancakes",
        "toast",
        "curry",
    ]
    menu = {
        course: [
            {
                "dish": dish,
                "vegetarian": bool(draw.number(0, 1)),
                "price": {"amount": draw.number(7, 40) / 2, "currency": "EUR"},
            }
            for dish in dishes[start : start + 4]
        ]
        for course, start in (("starters", 0), ("mains", 4), ("desserts", 8))
    }
    total = sum(d["price"]["amount"] for course in menu.values() for d in course if d["vegetarian"])
    text = (
        "What do all vegetarian dishes of the attached menu cost together, one of each? Give the number with two "
        "decimal places."
    )
    return Made(text, f"{total:.2f}", json.dumps({"inn": "The Plough", "menu": menu}, indent=2).encode())


@question(3, ".json", tools="code")
def canal_boats(draw: Draw) -> Made:
    """Build the network. Add the waiting time of a lock on the way. Find the quickest way. Add up its minutes."""
    towns = ["Ames", "Brook", "Carr", "Dell", "Esk", "Firth", "Glen", "Holm", "Isle", "Joss"]
    pairs = [(a, b) for n, a in enumerate(towns) for b in towns[n + 1 : n + 4]]
    canals = [
        {"between": [a, b], "minutes": draw.number(20, 90), "locks": draw.number(0, 3)} for a, b in draw.some(pairs, 17)
    ]
    reach: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for canal in canals:
        a, b = canal["between"]
        cost = canal["minutes"] + 12 * canal["locks"]
        reach[a].append((b, cost))
        reach[b].append((a, cost))
    text = (
        "The attached file lists canals that can be travelled both ways, with the minutes that a boat needs. Every "
        "lock takes 12 minutes more. How many minutes does the quickest way from Ames to Joss take? Give only the "
        "number."
    )
    return Made(text, _quickest(reach, "Ames", "Joss"), json.dumps({"canals": canals}, indent=1).encode())


def _quickest(reach: dict[str, list[tuple[str, int]]], start: str, end: str) -> int:
    queue, done = [(0, start)], set()
    while queue:
        spent, town = heapq.heappop(queue)
        if town == end:
            return spent
        if town not in done:
            done.add(town)
            for other, cost in reach[town]:
                heapq.heappush(queue, (spent + cost, other))
    raise ValueError(f"there is no way from {start} to {end}: change the question")


@question(1, ".jsonl", tools="code")
def pottery_orders(draw: Draw) -> Made:
    """Take the orders that were returned. Count those of more than 50 euros."""
    rows = [
        {
            "id": n,
            "status": draw.one(["sent", "returned", "open"]),
            "total": draw.number(10, 120) + 0.5,
            "items": draw.number(1, 5),
        }
        for n in range(1, 91)
    ]
    count = sum(row["status"] == "returned" and float(row["total"]) > 50 for row in rows)
    text = 'How many orders of the attached file have the status "returned" and a total above 50? Give only the number.'
    return Made(text, count, "".join(json.dumps(row) + "\n" for row in rows).encode())


@question(2, ".jsonl", tools="code")
def street_lamps(draw: Draw) -> Made:
    """Sort the events by their number. Keep the last state of each lamp. Count the lamps that are on."""
    events = [
        {"seq": seq, "lamp": f"L{draw.number(1, 40):02}", "event": draw.one(["on", "off", "on", "broken", "repaired"])}
        for seq in range(1, 181)
    ]
    state: dict[object, object] = {}
    for event in events:
        state[event["lamp"]] = event["event"]
    text = (
        "Each line of the attached file is an event of a street lamp; seq gives the order in which they happened. For "
        "how many "
        'lamps is the last event "on"? Give only the number.'
    )
    content = "".join(json.dumps(event) + "\n" for event in draw.shuffled(events)).encode()
    return Made(text, sum(last == "on" for last in state.values()), content)


@question(2, ".jsonld", tools="code")
def clock_collection(draw: Draw) -> Made:
    """Take the clocks made before 1800. Count them per maker. Follow the reference to the name of the maker."""
    names = ["Ottilie Brandt", "Jean Marchal", "Piet Verhoeven", "Rosa Lindqvist", "Samuel Thorne"]
    ids = [f"https://clocks.example.org/maker/{number}" for number in draw.some(range(100, 999), 5)]
    makers = [{"@id": i, "@type": "Person", "name": name} for i, name in zip(ids, names, strict=True)]
    clocks: list[dict[str, object]] = []
    count: dict[str, int] = defaultdict(int)
    for number in range(45):
        maker, year = draw.number(0, 4), draw.number(1690, 1890)
        clocks.append(
            {"@type": "Clock", "identifier": f"C{number}", "creator": {"@id": ids[maker]}, "dateCreated": str(year)}
        )
        count[names[maker]] += year < 1800
    graph = {"@context": "https://schema.org", "@graph": draw.shuffled([*makers, *clocks])}
    text = (
        "The attached linked data describes clocks and their makers. Which maker has the most clocks that were made "
        "before 1800? Answer with the maker's full name."
    )
    return Made(text, only_best(count), json.dumps(graph, indent=1).encode())


@question(1, ".xml", tools="code")
def plant_nursery(draw: Draw) -> Made:
    """Take the plants for the shade. Count those below the price."""
    plants = ["fern", "hosta", "ivy", "lilac", "lupin", "moss", "phlox", "rose", "sedge", "thyme", "violet", "yew"]
    rows, count = [], 0
    for number in range(40):
        light, price = draw.one(["sun", "shade", "half"]), draw.number(4, 30) / 2
        count += light == "shade" and price < 9
        rows.append(
            f'  <plant light="{light}"><name>{draw.one(plants)} {number}</name><price>{price:.2f}</price></plant>'
        )
    text = (
        "In the attached catalogue, how many plants have the light shade and a price below 9 euros? Give only the "
        "number."
    )
    body = "\n".join(rows)
    return Made(text, count, f'<?xml version="1.0" encoding="UTF-8"?>\n<nursery>\n{body}\n</nursery>\n'.encode())


@question(2, ".xml", tools="code")
def circus_wagons(draw: Draw) -> Made:
    """Read the namespace. Add up the loads of each wagon, in kilograms. Take the heaviest."""
    goods = ["tent", "poles", "costumes", "hay", "organ", "benches", "lights"]
    weights: dict[str, int] = defaultdict(int)
    wagons = []
    for number in range(1, 9):
        loads = []
        for thing in draw.some(goods, 3):
            kilos = draw.number(2, 30) * 50
            weights[f"W{number}"] += kilos
            tons = bool(draw.number(0, 1))
            amount = f"{kilos / 1000:g}" if tons else f"{kilos}"
            loads.append(f'    <c:load what="{thing}" unit="{"t" if tons else "kg"}">{amount}</c:load>')
        wagons.append(f'  <c:wagon id="W{number}">\n' + "\n".join(loads) + "\n  </c:wagon>")
    best = only_best(weights)
    text = (
        "The attached file lists the wagons of a circus and what they carry, in kilograms or tons. Which wagon carries "
        "the heaviest load in total, and how many kilograms? Answer as: id, kilograms"
    )
    body = "\n".join(wagons)
    page = f'<?xml version="1.0"?>\n<c:train xmlns:c="urn:example:circus">\n{body}\n</c:train>\n'
    return Made(text, f"{best}, {weights[best]}", page.encode())
