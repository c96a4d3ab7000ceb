"""Graphs and schedules."""

from __future__ import annotations

import heapq

from reference.question import of_kind

graphs = of_kind("graphs")
scheduling = of_kind("scheduling")


@graphs(
    "medium",
    "dev",
    "These roads connect some towns, each in both directions: {roads}. How many other towns can be reached "
    "from {start}, directly or through other towns?",
    {"roads": ["A-B", "C-D", "B-E", "F-G", "E-H", "D-I", "H-A", "G-J", "E-K"], "start": "A"},
    {"roads": ["P-Q", "R-S", "S-T", "T-U", "R-U", "V-T", "W-P", "R-X"], "start": "T"},
    {"roads": ["K-L", "M-N", "L-O"], "start": "K"},
    {"roads": ["S-T", "U-V", "V-W", "W-S", "T-X", "Y-X", "Z-Y"], "start": "U"},
)
def reachable_towns(roads: list[str], start: str) -> int:
    reached = {start}
    for _ in roads:
        for road in roads:
            ends = set(road.split("-"))
            if ends & reached:
                reached |= ends
    return len(reached) - 1


@graphs(
    "hard",
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


@scheduling(
    "medium",
    "test",
    "On the same day Ann is free during {ann} and Ben during {ben}. For how many minutes are both of them free?",
    {"ann": "09:15-12:40", "ben": "11:05-14:00"},
    {"ann": "08:00-09:30", "ben": "10:00-11:00"},
    {"ann": "07:45-18:10", "ben": "13:20-15:05"},
    {"ann": "14:10-16:55", "ben": "12:30-14:52"},
)
def shared_free_minutes(ann: str, ben: str) -> int:
    def minutes(clock: str) -> int:
        return int(clock[:2]) * 60 + int(clock[3:])

    ann_from, ann_to = map(minutes, ann.split("-"))
    ben_from, ben_to = map(minutes, ben.split("-"))
    return max(0, min(ann_to, ben_to) - max(ann_from, ben_from))


@scheduling(
    "hard",
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
