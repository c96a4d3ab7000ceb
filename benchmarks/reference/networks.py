"""Graphs and schedules."""

from __future__ import annotations

import heapq

from reference.question import of_kind, sole_best

graphs = of_kind("graphs")
scheduling = of_kind("scheduling")


@graphs(
    "medium",
    "test",
    "These roads connect some towns in both directions (kilometres each): {roads}. The town {closed} cannot "
    "be passed through. How many kilometres long is the shortest way from {start} to {goal}?",
    {
        "roads": {
            "A-B": 7,
            "A-C": 3,
            "B-D": 4,
            "C-D": 2,
            "C-E": 9,
            "D-E": 6,
            "B-F": 5,
            "E-F": 2,
            "F-G": 8,
            "E-G": 11,
        },
        "closed": "D",
        "start": "A",
        "goal": "G",
    },
    {
        "roads": {"P-Q": 4, "Q-R": 4, "P-S": 6, "S-R": 1, "R-T": 10, "Q-T": 12},
        "closed": "S",
        "start": "P",
        "goal": "T",
    },
    {
        "roads": {"K-L": 2, "L-M": 2, "M-N": 2, "K-N": 9, "K-O": 3, "O-N": 5, "L-O": 4},
        "closed": "M",
        "start": "N",
        "goal": "L",
    },
    {
        "roads": {"U-V": 14, "V-W": 6, "U-X": 5, "X-Y": 5, "Y-W": 5, "X-W": 12, "V-Y": 1},
        "closed": "V",
        "start": "U",
        "goal": "W",
    },
)
def shortest_way(roads: dict[str, int], closed: str, start: str, goal: str) -> int:
    lengths = {tuple(road.split("-")): km for road, km in roads.items()}
    lengths |= {(b, a): km for (a, b), km in lengths.items()}
    queue, done = [(0, start)], {closed}
    while queue:
        distance, town = heapq.heappop(queue)
        if town == goal:
            return distance
        if town not in done:
            done.add(town)
            for (a, b), km in lengths.items():
                if a == town:
                    heapq.heappush(queue, (distance + km, b))
    raise ValueError(f"no way from {start} to {goal}")


@graphs(
    "hard",
    "dev",
    "These are the roads between some towns, each as [town, town, minutes, toll], to be used in both "
    "directions: {roads:json}. I drive from {start} to {goal}, never through a town twice, and want to pay "
    "at most {budget} in tolls. In every town that I pass on the way (not at the start or the goal) I lose "
    "another {pause} minutes, but not in {quick}. How many minutes does the fastest allowed route take, and "
    "how much toll does it cost? If several are equally fast, take the cheapest. Answer with the two "
    "numbers separated by a comma.",
    {
        "roads": [
            ["A", "B", 10, 4],
            ["B", "F", 12, 5],
            ["A", "C", 14, 0],
            ["C", "D", 9, 1],
            ["D", "F", 15, 0],
            ["B", "D", 6, 2],
            ["C", "E", 20, 0],
            ["E", "F", 5, 0],
            ["A", "F", 60, 0],
        ],
        "start": "A",
        "goal": "F",
        "budget": 7,
        "pause": 6,
        "quick": "D",
    },
    {
        "roads": [
            ["S", "T", 30, 9],
            ["S", "U", 10, 2],
            ["U", "T", 11, 3],
            ["U", "V", 4, 0],
            ["V", "T", 8, 0],
        ],
        "start": "S",
        "goal": "T",
        "budget": 4,
        "pause": 5,
        "quick": "U",
    },
    {
        "roads": [
            ["K", "L", 25, 1],
            ["L", "M", 25, 1],
            ["K", "N", 20, 3],
            ["N", "M", 20, 3],
            ["N", "L", 5, 0],
        ],
        "start": "K",
        "goal": "M",
        "budget": 5,
        "pause": 10,
        "quick": "N",
    },
    {
        "roads": [["P", "Q", 7, 6], ["Q", "R", 7, 6], ["P", "W", 9, 1], ["W", "R", 13, 2], ["P", "R", 24, 0]],
        "start": "P",
        "goal": "R",
        "budget": 12,
        "pause": 4,
        "quick": "W",
    },
)
def toll_route(roads: list[list[str | int]], start: str, goal: str, budget: int, pause: int, quick: str) -> list[int]:
    ways = [(str(a), str(b), int(m), int(t)) for a, b, m, t in roads]
    ways += [(b, a, m, t) for a, b, m, t in ways]

    def routes(town: str, seen: frozenset[str], minutes: int, toll: int) -> list[tuple[int, int]]:
        if town == goal:
            return [(minutes, toll)] if toll <= budget else []
        wait = 0 if town in (start, quick) else pause
        onward = [(b, m, t) for a, b, m, t in ways if a == town and b not in seen]
        return [route for b, m, t in onward for route in routes(b, seen | {b}, minutes + wait + m, toll + t)]

    return list(min(routes(start, frozenset({start}), 0, 0)))


@scheduling(
    "medium",
    "test",
    "My working day goes from {start} to {end}, and my calendar holds these appointments, some of which "
    "overlap or reach beyond the working day: {appointments}. How many minutes of my working day are free?",
    {
        "start": "09:00",
        "end": "17:30",
        "appointments": [
            "08:30-09:45",
            "10:15-11:00",
            "10:40-12:10",
            "13:00-13:30",
            "13:30-14:05",
            "16:50-18:00",
        ],
    },
    {"start": "08:00", "end": "12:00", "appointments": ["08:20-09:00", "08:30-08:50", "11:45-12:30"]},
    {
        "start": "07:15",
        "end": "15:45",
        "appointments": ["06:00-07:00", "14:00-15:00", "09:10-10:40", "10:00-11:25", "14:30-15:10"],
    },
    {"start": "10:00", "end": "18:00", "appointments": ["09:00-10:30", "12:00-17:00", "13:00-14:00"]},
)
def free_minutes(start: str, end: str, appointments: list[str]) -> int:
    def minutes(clock: str) -> int:
        return int(clock[:2]) * 60 + int(clock[3:])

    day = set(range(minutes(start), minutes(end)))
    for appointment in appointments:
        begins, ends = map(minutes, appointment.split("-"))
        day -= set(range(begins, ends))
    return len(day)


@scheduling(
    "hard",
    "test",
    "{workers} workers share these tasks (minutes each): {tasks}. Some tasks can begin only after others "
    "are finished: {needs:after}. Whenever a worker is free and a task can begin, the worker takes the "
    "longest such task (of equally long ones the first in alphabetical order) and does it alone and without "
    "interruption; a worker who finishes and tasks that become possible at the same moment count before new "
    "tasks are taken. All start at minute 0. At which minute is everything finished, and which task was "
    "begun last? Answer with the minute and the task, separated by a comma.",
    {
        "workers": 2,
        "tasks": {"A": 7, "B": 4, "C": 9, "D": 3, "E": 6, "F": 5, "G": 8, "H": 2},
        "needs": {"C": ["A"], "E": ["B", "D"], "F": ["C"], "G": ["E"], "H": ["F", "G"]},
    },
    {
        "workers": 3,
        "tasks": {"K": 5, "L": 5, "M": 12, "N": 3, "P": 8, "Q": 1},
        "needs": {"N": ["K", "L"], "P": ["N"], "Q": ["M"]},
    },
    {
        "workers": 2,
        "tasks": {"R": 10, "S": 2, "T": 2, "U": 7, "V": 11, "W": 4},
        "needs": {"U": ["S", "T"], "V": ["R"], "W": ["U"]},
    },
    {
        "workers": 1,
        "tasks": {"A": 3, "B": 9, "C": 4, "D": 6},
        "needs": {"B": ["C"], "D": ["A", "B"]},
    },
)
def shared_tasks(workers: int, tasks: dict[str, int], needs: dict[str, list[str]]) -> list[int | str]:
    started: dict[str, int] = {}
    running: list[tuple[int, str]] = []
    finished: set[str] = set()
    minute = 0
    while len(finished) < len(tasks):
        ready = [t for t in tasks if t not in started and finished.issuperset(needs.get(t, []))]
        ready.sort(key=lambda task: (-tasks[task], task))
        for task in ready[: workers - len(running)]:
            started[task] = minute
            heapq.heappush(running, (minute + tasks[task], task))
        minute = running[0][0]
        while running and running[0][0] == minute:
            finished.add(heapq.heappop(running)[1])
    return [minute, sole_best(started)]
