"""Counts the ways through a garden from the gate to the summer house."""

SIZE = 18
PONDS = {
    (1, 2),
    (1, 7),
    (6, 6),
    (7, 6),
    (7, 9),
    (8, 6),
    (8, 15),
    (9, 16),
    (10, 13),
    (14, 2),
    (16, 10),
    (16, 15),
}


def ways(x: int, y: int) -> int:
    """The ways from the gate at (0, 0) to a place, walking only in the direction of growing x or y."""
    if (x, y) in PONDS or x < 0 or y < 0:
        return 0
    if (x, y) == (0, 0):
        return 1
    return ways(x - 1, y) + ways(x, y - 1)


print(ways(SIZE - 1, SIZE - 1))
