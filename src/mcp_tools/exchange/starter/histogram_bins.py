import math
from fractions import Fraction
from typing import Literal

_RULES = ("sturges", "freedman-diaconis", "scott", "rice", "square-root")
_MOST_BINS = 100_000


def _exact(value: float, name: str) -> Fraction:
    """The number as the fraction that the user wrote: the shortest decimal of a float, so 0.1 is one tenth."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value or abs(value) == math.inf:
        raise ValueError(f"{name} must be a finite number, got {value!r}")
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)


def _quartile(ordered: list[Fraction], quarter: int) -> Fraction:
    """Quartile at position (n - 1) * share, counted from 0, with linear interpolation."""
    position = Fraction((len(ordered) - 1) * quarter, 4)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def _ceil_root(number: Fraction, degree: int) -> int:
    """The smallest whole number of 1 or more whose power of this degree is at least number, up to the limit of bins."""
    if number > _MOST_BINS**degree:
        return _MOST_BINS + 1
    root = max(1, math.floor(float(number) ** (1 / degree)) - 1)
    while root**degree < number:
        root += 1
    return root


def _count_by_rule(ordered: list[Fraction], rule: str) -> int:
    count = len(ordered)
    span = ordered[-1] - ordered[0]
    if rule == "rice":
        return _ceil_root(Fraction(8 * count), 3)
    if rule == "square-root":
        return _ceil_root(Fraction(count), 2)
    if rule == "freedman-diaconis":
        interquartile = _quartile(ordered, 3) - _quartile(ordered, 1)
        if interquartile > 0:
            return _ceil_root((span / (2 * interquartile)) ** 3 * count, 3)
    if rule == "scott" and span > 0:
        mean = sum(ordered) / count
        variance = sum((value - mean) ** 2 for value in ordered) / (count - 1)
        return _ceil_root(span**6 * count**2 / (Fraction("3.49") ** 6 * variance**3), 6)
    return (count - 1).bit_length() + 1


def histogram_bins(
    values: list[float],
    rule: Literal["sturges", "freedman-diaconis", "scott", "rice", "square-root"] = "sturges",
    bin_count: int | None = None,
    bin_width: float | None = None,
    origin: float = 0.0,
) -> dict[str, float | list[float] | list[int]]:
    """Sorts numbers into the bins of a histogram, by a rule, a number of bins or a fixed width, and counts them.

    By a rule or bin_count, bins of equal width reach from the smallest to the largest value; if all values are equal,
    from 0.5 below to 0.5 above. With bin_width, edges lie at origin and at whole multiples of bin_width from it.

    Also known as: histogram, frequency distribution, frequency table, class intervals, binning, numpy.histogram

    Args:
        values: Numbers in any order, finite, at least one.
        rule: How many bins n values get, if neither bin_count nor bin_width is given.
            "sturges": log2(n) rounded up, plus 1. "rice": 2 * n ** (1/3), rounded up. "square-root": sqrt(n), rounded
            up.
            "freedman-diaconis": range / (2 * IQR / n ** (1/3)), rounded up; quartiles at (n - 1) * p + 1 with linear
            interpolation; as "sturges" if the IQR is 0. "scott": range / (3.49 * s / n ** (1/3)), rounded up, with the
            sample standard deviation s; as "sturges" if all values are equal.
        bin_count: Number of bins, 1 to 100,000. None to leave it to the rule.
        bin_width: Width of each bin, more than 0. None to leave it to the rule.
        origin: A place where an edge lies. Used only with bin_width.

    Returns:
        edges: Edges of the bins in ascending order, one more than bins.
        counts: Number of values in each bin. A bin has the values at its lower edge, and not those at its upper edge.
            Only without bin_width, the last bin also has those at its upper edge.
        bin_width: Width of each bin.

    Raises:
        ValueError: If values is empty or has something that is no finite number, if rule is none of its choices, if
            bin_count and bin_width are both given or are not within their limits, if origin is not finite, or if there
            would be more than 100,000 bins.

    Examples:
        >>> histogram_bins([1, 2, 3, 4, 5, 6, 7, 9])
        {'edges': [1.0, 3.0, 5.0, 7.0, 9.0], 'counts': [2, 2, 2, 2], 'bin_width': 2.0}
        >>> histogram_bins([8, 7, 6, 5, 4, 3, 2, 1], rule="freedman-diaconis")
        {'edges': [1.0, 4.5, 8.0], 'counts': [4, 4], 'bin_width': 3.5}
        >>> histogram_bins([0, 0, 0, 10], rule="scott")
        {'edges': [0.0, 10.0], 'counts': [4], 'bin_width': 10.0}
        >>> histogram_bins([0, 1, 2, 4], rule="square-root")
        {'edges': [0.0, 2.0, 4.0], 'counts': [2, 2], 'bin_width': 2.0}
        >>> histogram_bins([0.1, 0.25, 0.3, 0.7], bin_width=0.1)
        {'edges': [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8], 'counts': [1, 1, 1, 0, 0, 0, 1], 'bin_width': 0.1}
        >>> histogram_bins([-3, 4, 5], bin_width=5, origin=1)
        {'edges': [-4.0, 1.0, 6.0], 'counts': [1, 2], 'bin_width': 5.0}
        >>> histogram_bins([1, 1, 1], bin_count=2)
        {'edges': [0.5, 1.0, 1.5], 'counts': [0, 3], 'bin_width': 0.5}
    """
    if not values:
        raise ValueError("values is empty; at least one number is needed")
    if rule not in _RULES:
        raise ValueError(f"rule must be one of {list(_RULES)}, got {rule!r}")
    if bin_count is not None and bin_width is not None:
        raise ValueError("bin_count and bin_width exclude each other; give only one of them")
    ordered = sorted(_exact(value, "each of values") for value in values)
    start = _exact(origin, "origin")
    low, high = ordered[0], ordered[-1]

    if bin_width is not None:
        width = _exact(bin_width, "bin_width")
        if width <= 0:
            raise ValueError(f"bin_width must be more than 0, got {bin_width!r}")
        first = math.floor((low - start) / width)
        low, bins = start + first * width, math.floor((high - start) / width) - first + 1
    else:
        bins = bin_count if bin_count is not None else _count_by_rule(ordered, rule)
        if isinstance(bins, bool) or not isinstance(bins, int) or bins < 1:
            raise ValueError(f"bin_count must be a whole number from 1 to {_MOST_BINS}, got {bin_count!r}")
        if low == high:
            low, high = low - Fraction(1, 2), high + Fraction(1, 2)
        width = (high - low) / bins
    if bins > _MOST_BINS:
        raise ValueError(f"there would be more than {_MOST_BINS} bins; take wider or fewer ones")

    counts = [0] * bins
    for value in ordered:
        counts[min(math.floor((value - low) / width), bins - 1)] += 1
    try:
        edges = [float(low + number * width) for number in range(bins + 1)]
        return {"edges": edges, "counts": counts, "bin_width": float(width)}
    except OverflowError:
        raise ValueError("values are so large that an edge is too large for a float") from None
