"""How many bees live in a hive after some weeks."""

BEES, WEEKS = 931, 21


def week(bees: int, number: int) -> int:
    """The bees after one more week."""
    born = bees * 3 // (7 + number)
    lost = bees // 11 if number % 3 else bees // 5
    return bees + born - lost


bees = BEES
for number in range(WEEKS):
    bees = week(bees, number)
print("bees:", bees)
