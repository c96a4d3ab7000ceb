"""Simulated games, queues and populations, by given rules."""

from __future__ import annotations

from reference.question import of_kind

question = of_kind("simulation")


@question(
    "easy",
    "test",
    "A pond holds {fish} fish. Every year their number grows by {percent} percent, with any fraction of a "
    "fish dropped, and then {caught} are caught. After how many years are there, after the catch, more than "
    "{target} fish for the first time?",
    {"fish": 200, "percent": 15, "caught": 12, "target": 1000},
    {"fish": 50, "percent": 40, "caught": 5, "target": 300},
    {"fish": 1000, "percent": 8, "caught": 30, "target": 2500},
    {"fish": 90, "percent": 25, "caught": 20, "target": 150},
)
def fish_pond(fish: int, percent: int, caught: int, target: int) -> int:
    years = 0
    while fish <= target:
        fish = fish * (100 + percent) // 100 - caught
        years += 1
    return years


@question(
    "medium",
    "test",
    "The children {names} stand in a circle in this order. They count around the circle, starting with the "
    "first child as 1; whoever gets the number {step} leaves, and the next child still standing begins "
    "again with 1. Which child is left at the end?",
    {"names": ["Ada", "Bob", "Cy", "Dot", "Eli", "Fay", "Gil", "Hana", "Ian"], "step": 4},
    {"names": ["Kai", "Lea", "Mo", "Nia", "Oz"], "step": 3},
    {"names": ["Uma", "Val", "Wes", "Xia", "Yan", "Zed", "Abe"], "step": 10},
    {"names": ["Red", "Blue", "Green", "Pink"], "step": 2},
)
def last_in_circle(names: list[str], step: int) -> str:
    circle, at = list(names), 0
    while len(circle) > 1:
        at = (at + step - 1) % len(circle)
        circle.pop(at)
    return circle[0]


@question(
    "hard",
    "test",
    "A bank has {counters} counters. Customers 1, 2, 3, … arrive at minutes {arrivals} and need {service} "
    "minutes of service; customers {priority} have priority. A free counter takes the priority customer who "
    "has waited longest, or if none is waiting, the other customer who has waited longest. Within one "
    "minute, first counters become free, then customers arrive, then free counters take customers. A "
    "customer whose service has not begun {patience} minutes after arriving leaves at once; beginning "
    "exactly {patience} minutes after arriving is still in time. How many customers leave without service, "
    "and at which minute does the last service end? Answer with the two numbers separated by a comma.",
    {
        "counters": 2,
        "arrivals": [0, 1, 3, 4, 6, 7, 9, 12, 13, 20],
        "service": [9, 12, 5, 8, 4, 10, 6, 7, 3, 5],
        "priority": [5, 9],
        "patience": 8,
    },
    {
        "counters": 1,
        "arrivals": [0, 2, 3, 5, 8, 15],
        "service": [6, 4, 7, 3, 2, 5],
        "priority": [4],
        "patience": 9,
    },
    {
        "counters": 3,
        "arrivals": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
        "service": [10, 11, 12, 4, 4, 9, 9, 6, 6, 2],
        "priority": [8, 10],
        "patience": 10,
    },
    {
        "counters": 2,
        "arrivals": [5, 6, 7, 8, 9, 30],
        "service": [20, 20, 1, 2, 3, 4],
        "priority": [1, 5],
        "patience": 17,
    },
)
def bank_counters(
    counters: int, arrivals: list[int], service: list[int], priority: list[int], patience: int
) -> list[int]:
    free_at = [0] * counters
    waiting: list[int] = []
    left, minute, served = 0, 0, 0
    while left + served < len(arrivals):
        waiting += [i for i, arrival in enumerate(arrivals) if arrival == minute]
        for counter in range(counters):
            if free_at[counter] <= minute and waiting:
                customer = min(waiting, key=lambda i: (i + 1 not in priority, arrivals[i]))
                waiting.remove(customer)
                free_at[counter] = minute + service[customer]
                served += 1
        gone = [i for i in waiting if minute >= arrivals[i] + patience]
        waiting = [i for i in waiting if i not in gone]
        left += len(gone)
        minute += 1
    return [left, max(free_at)]


@question(
    "hard",
    "test",
    "Ann and Bo play a board game on squares 1 to {squares}; both start on square 0, Ann begins, and they "
    "take turns. A roll moves the player forward; if it goes beyond square {squares}, the rest is counted "
    "backwards from there. Then these jumps apply, at most one per roll (from square: to square): {jumps}. "
    "Then, if the player stands on the other player's square, the other one goes back to 0. Whoever rolled "
    "a 6 rolls again before the turn passes. The game ends when somebody stands on square {squares}, or "
    "when the rolls are used up. The rolls are {rolls}. On which squares do Ann and Bo stand at the end? "
    "Answer with the two numbers, Ann's first, separated by a comma.",
    {
        "squares": 30,
        "jumps": {"4": 14, "9": 2, "12": 25, "22": 11, "27": 8},
        "rolls": [4, 6, 3, 5, 2, 6, 6, 1, 3, 2, 5, 4, 6, 2],
    },
    {"squares": 20, "jumps": {"3": 11, "6": 17, "18": 4}, "rolls": [3, 5, 6, 5, 1, 6, 4, 2]},
    {
        "squares": 25,
        "jumps": {"5": 10, "8": 19, "16": 3, "23": 1},
        "rolls": [5, 4, 6, 2, 3, 1, 6, 6, 4, 5, 5, 2],
    },
    {"squares": 15, "jumps": {"2": 8, "13": 5}, "rolls": [2, 6, 2, 1, 5, 4, 3, 6, 1, 2]},
)
def board_game(squares: int, jumps: dict[str, int], rolls: list[int]) -> list[int]:
    places, player = [0, 0], 0
    for roll in rolls:
        place = places[player] + roll
        place = 2 * squares - place if place > squares else place
        place = jumps.get(str(place), place)
        places[player] = place
        if places[1 - player] == place:
            places[1 - player] = 0
        if place == squares:
            break
        player = player if roll == 6 else 1 - player
    return places
