"""Small statistics helpers for the lab course."""


def mean(values):
    """Arithmetic mean; ValueError for an empty list."""
    if not values:
        raise ValueError("no values")
    return sum(values) / len(values)


def median(values):
    """Middle value; the mean of the two middle ones for an even count."""
    if not values:
        raise ValueError("no values")
    n = len(values)
    mid = n // 2
    if n % 2 == 1:
        return values[mid]
    return (values[mid - 1] + values[mid]) / 2


def value_range(values):
    """Largest minus smallest value."""
    return max(values) - min(values)


def normalise(values):
    """Scale the values linearly to 0..1."""
    lo, hi = min(values), max(values)
    if lo == hi:
        return [0.0 for _ in values]
    return [(v - lo) / (hi - lo) for v in values]
