"""Counts the high tides of a list of levels.

A high tide is a level that is higher than the one before it and higher than the one after it.
The first and the last level of the list are never high tides.
"""

# fmt: off
LEVELS = [
    372, 150, 391, 304, 246, 245, 428, 440, 305, 411,
    171, 400, 338, 393, 463, 269, 281, 471, 353, 366,
    235, 149, 134, 185, 76, 396, 151, 77, 120, 56,
    190, 215, 401, 298, 214, 329, 431, 71, 137, 39,
]
# fmt: on


def high_tides(levels: list[int]) -> int:
    """How many levels are high tides."""
    count = 0
    for place in range(2, len(levels) - 1):
        if levels[place] > levels[place - 1] or levels[place] > levels[place + 1]:
            count += 1
    return count


print(high_tides(LEVELS))
