import math
from collections import Counter
from fractions import Fraction
from typing import Literal


def _exact(values: list[float], name: str) -> list[Fraction]:
    """The numbers as the fractions that the user wrote: the shortest decimal of a float, so 0.1 is one tenth."""
    for value in values:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value or abs(value) == math.inf:
            raise ValueError(f"each of {name} must be a finite number, got {value!r}")
    return [Fraction(repr(value)) if isinstance(value, float) else Fraction(value) for value in values]


def _signed_root(numerator: Fraction, square: Fraction) -> float:
    """numerator / sqrt(square), which is between -1 and 1."""
    root = math.sqrt(numerator**2 / square)
    return root if numerator >= 0 else -root


def _pearson(x: list[Fraction], y: list[Fraction]) -> float:
    x_mean, y_mean = sum(x) / len(x), sum(y) / len(y)
    x_squares = sum((value - x_mean) ** 2 for value in x)
    y_squares = sum((value - y_mean) ** 2 for value in y)
    products = sum((a - x_mean) * (b - y_mean) for a, b in zip(x, y, strict=True))
    return _signed_root(products, x_squares * y_squares)


def _mean_ranks(values: list[Fraction]) -> list[Fraction]:
    """Ranks from 1; equal values share the mean of their ranks."""
    rank_of = {}
    below = 0
    for value, times in sorted(Counter(values).items()):
        rank_of[value] = below + Fraction(times + 1, 2)
        below += times
    return [rank_of[value] for value in values]


def _inversions(values: list[Fraction]) -> tuple[list[Fraction], int]:
    """The values sorted, and the number of pairs in which the first value is larger than the second."""
    if len(values) < 2:
        return values, 0
    middle = len(values) // 2
    left, left_count = _inversions(values[:middle])
    right, right_count = _inversions(values[middle:])
    merged = []
    count = left_count + right_count
    taken = 0
    for value in right:
        while taken < len(left) and left[taken] <= value:
            merged.append(left[taken])
            taken += 1
        count += len(left) - taken
        merged.append(value)
    return merged + left[taken:], count


def _kendall_tau_b(x: list[Fraction], y: list[Fraction]) -> float:
    pairs = sorted(zip(x, y, strict=True))
    all_pairs = math.comb(len(pairs), 2)
    tied_in_x, tied_in_y, tied_in_both = (
        sum(math.comb(times, 2) for times in Counter(values).values()) for values in (x, y, pairs)
    )
    # Pairs tied in x are in the order of y, so each inversion is a discordant pair.
    discordant = _inversions([b for _, b in pairs])[1]
    concordant = all_pairs - tied_in_x - tied_in_y + tied_in_both - discordant
    square = Fraction((all_pairs - tied_in_x) * (all_pairs - tied_in_y))
    return _signed_root(Fraction(concordant - discordant), square)


def correlation(x: list[float], y: list[float], method: Literal["pearson", "spearman", "kendall"] = "pearson") -> float:
    """Measures how strongly two lists of paired numbers go together: Pearson, Spearman or Kendall (tau-b) correlation.

    Also known as: correlation coefficient, CORREL, Pearson r, Spearman rho, rank correlation, Kendall tau

    Args:
        x: First number of each pair, finite; at least two different values.
        y: Second number of each pair, finite, as many as x and in their order; at least two different values.
        method: "pearson": how close the pairs are to a straight line. "spearman": Pearson correlation of the ranks,
            where equal values share the mean of their ranks. "kendall": tau-b, which is (concordant - discordant
            pairs) / sqrt((pairs not tied in x) * (pairs not tied in y)).

    Returns:
        Correlation, -1 to 1. Positive if y tends to rise with x.

    Raises:
        ValueError: If x and y differ in length, if one of them has fewer than two different values (the correlation is
            not defined then), if a value is not a finite number, or if method is none of its choices.

    Examples:
        >>> correlation([1, 2, 3, 4], [3, 5, 7, 9.0])
        1.0
        >>> correlation([1, 2, 3, 4], [1, 3, 2, 4])
        0.8
        >>> correlation([1, 2, 3, 10], [1, 4, 9, 100], method="spearman")
        1.0
        >>> correlation([5, 1, 2, 2], [0, 7, 3, 3], method="spearman")
        -1.0
        >>> correlation([1, 2, 3, 4, 5], [3, 1, 2, 5, 4], method="kendall")
        0.4
        >>> correlation([1, 1, 2, 2], [1, 2, 2, 2], method="kendall")
        0.5773502691896257
    """
    if len(x) != len(y):
        raise ValueError(f"x and y must be of the same length, got {len(x)} and {len(y)} values")
    if method not in ("pearson", "spearman", "kendall"):
        raise ValueError(f"method must be 'pearson', 'spearman' or 'kendall', got {method!r}")
    xs, ys = _exact(x, "x"), _exact(y, "y")
    for name, values in (("x", xs), ("y", ys)):
        if len(set(values)) < 2:
            raise ValueError(f"{name} must have at least two different values, or the correlation is not defined")
    if method == "spearman":
        return _pearson(_mean_ranks(xs), _mean_ranks(ys))
    return _kendall_tau_b(xs, ys) if method == "kendall" else _pearson(xs, ys)
