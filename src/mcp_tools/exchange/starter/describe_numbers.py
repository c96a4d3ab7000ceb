import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from typing import Literal

# Each method takes the value at position n * p + a + p * b, counted from 1 (Hyndman and Fan 1996).
_POSITIONS = {
    "linear": (Fraction(1), Fraction(-1)),
    "weibull": (Fraction(0), Fraction(1)),
    "hazen": (Fraction(1, 2), Fraction(0)),
    "median_unbiased": (Fraction(1, 3), Fraction(1, 3)),
}


def _on_one_scale(values: list[float]) -> tuple[list[int], int]:
    """The numbers as whole multiples of one part of 1, and how many parts 1 has.

    The shortest decimal of a float is what the user wrote, so 0.1 counts as one tenth.
    """
    ratios = [(Decimal(repr(value)) if isinstance(value, float) else value).as_integer_ratio() for value in values]
    parts = math.lcm(*{denominator for _, denominator in ratios})
    return [numerator * (parts // denominator) for numerator, denominator in ratios], parts


def _quantile(ordered: list[int], share: Fraction, method: str) -> Fraction:
    constant, slope = _POSITIONS[method]
    position = len(ordered) * share + constant + share * slope
    position = min(max(position, Fraction(1)), Fraction(len(ordered)))
    below = math.floor(position)
    above = min(below + 1, len(ordered))
    return ordered[below - 1] + (position - below) * (ordered[above - 1] - ordered[below - 1])


def _root(square: Fraction) -> float:
    """The square root as a float, also of a fraction too small or too large for one."""
    if square == 0:
        return 0.0
    bits = square.numerator.bit_length() - square.denominator.bit_length()
    half = bits // 2
    return math.ldexp(math.sqrt(square / Fraction(4) ** half), half)


def describe_numbers(
    values: list[float],
    quantile_method: Literal["linear", "weibull", "hazen", "median_unbiased"] = "linear",
) -> dict[str, float | int | None | list[float]]:
    """Describes a list of numbers: count, sum, mean, median, modes, spread, variance, standard deviation, quartiles.

    All is computed exactly from the numbers and rounded once at the end.

    Also known as: descriptive statistics, summary statistics, average, standard deviation, five-number summary, IQR, quartiles, mode

    Args:
        values: Numbers in any order, finite, at least one.
        quantile_method: How quartiles lie between n ordered values. The quartile of share p is at this position,
            counted from 1 and held between 1 and n, with linear interpolation between neighbours:
            "linear": (n - 1) * p + 1, as in NumPy, R (type 7) and QUARTILE.INC;
            "weibull": (n + 1) * p, as in QUARTILE.EXC and Minitab (type 6);
            "hazen": n * p + 1/2 (type 5);
            "median_unbiased": (n + 1/3) * p + 1/3 (type 8).

    Returns:
        count: Number of values.
        sum: Their sum.
        mean: Arithmetic mean.
        median: Middle value, or the mean of the two middle values. It is the same for every quantile_method.
        modes: Values that occur most often, ascending; all of them if each occurs once.
        minimum: Smallest value.
        maximum: Largest value.
        range: maximum - minimum.
        first_quartile: Quartile of share 0.25.
        third_quartile: Quartile of share 0.75.
        interquartile_range: third_quartile - first_quartile.
        sample_variance: Sum of squared deviations from the mean, divided by n - 1. None for a single value.
        sample_standard_deviation: Its square root. None for a single value.
        population_variance: Sum of squared deviations from the mean, divided by n.
        population_standard_deviation: Its square root.
        standard_error: Standard error of the mean, sample_standard_deviation / sqrt(n). None for a single value.

    Raises:
        ValueError: If values is empty or has something that is no finite number, if quantile_method is none of its
            choices, or if a result is too large for a float.

    Examples:
        >>> describe_numbers([2, 4, 4, 4, 5, 5, 7, 9])
        {'count': 8, 'sum': 40.0, 'mean': 5.0, 'median': 4.5, 'modes': [4.0], 'minimum': 2.0, 'maximum': 9.0, 'range': 7.0, 'first_quartile': 4.0, 'third_quartile': 5.5, 'interquartile_range': 1.5, 'sample_variance': 4.571428571428571, 'sample_standard_deviation': 2.138089935299395, 'population_variance': 4.0, 'population_standard_deviation': 2.0, 'standard_error': 0.7559289460184544}
        >>> describe_numbers([5, 1, 3, 2, 4], quantile_method="weibull")
        {'count': 5, 'sum': 15.0, 'mean': 3.0, 'median': 3.0, 'modes': [1.0, 2.0, 3.0, 4.0, 5.0], 'minimum': 1.0, 'maximum': 5.0, 'range': 4.0, 'first_quartile': 1.5, 'third_quartile': 4.5, 'interquartile_range': 3.0, 'sample_variance': 2.5, 'sample_standard_deviation': 1.5811388300841898, 'population_variance': 2.0, 'population_standard_deviation': 1.4142135623730951, 'standard_error': 0.7071067811865476}
        >>> describe_numbers([-1.5])
        {'count': 1, 'sum': -1.5, 'mean': -1.5, 'median': -1.5, 'modes': [-1.5], 'minimum': -1.5, 'maximum': -1.5, 'range': 0.0, 'first_quartile': -1.5, 'third_quartile': -1.5, 'interquartile_range': 0.0, 'sample_variance': None, 'sample_standard_deviation': None, 'population_variance': 0.0, 'population_standard_deviation': 0.0, 'standard_error': None}
    """
    if not values:
        raise ValueError("values is empty; at least one number is needed")
    for value in values:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value or abs(value) == math.inf:
            raise ValueError(f"each of values must be a finite number, got {value!r}")
    if quantile_method not in _POSITIONS:
        raise ValueError(f"quantile_method must be one of {list(_POSITIONS)}, got {quantile_method!r}")

    numbers, parts = _on_one_scale(values)
    ordered = sorted(numbers)
    count = len(ordered)
    total = sum(ordered)
    squares = Fraction(count * sum(number * number for number in ordered) - total * total, count * parts * parts)
    first = _quantile(ordered, Fraction(1, 4), quantile_method)
    third = _quantile(ordered, Fraction(3, 4), quantile_method)
    occurrences = Counter(ordered)
    most = max(occurrences.values())
    several = count > 1
    try:
        return {
            "count": count,
            "sum": total / parts,
            "mean": total / (count * parts),
            "median": (ordered[(count - 1) // 2] + ordered[count // 2]) / (2 * parts),
            "modes": [number / parts for number, times in occurrences.items() if times == most],
            "minimum": ordered[0] / parts,
            "maximum": ordered[-1] / parts,
            "range": (ordered[-1] - ordered[0]) / parts,
            "first_quartile": float(first / parts),
            "third_quartile": float(third / parts),
            "interquartile_range": float((third - first) / parts),
            "sample_variance": float(squares / (count - 1)) if several else None,
            "sample_standard_deviation": _root(squares / (count - 1)) if several else None,
            "population_variance": float(squares / count),
            "population_standard_deviation": _root(squares / count),
            "standard_error": _root(squares / (count - 1) / count) if several else None,
        }
    except OverflowError:
        raise ValueError("values are so large that a result is too large for a float") from None
