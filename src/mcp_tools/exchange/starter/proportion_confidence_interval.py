import math
from statistics import NormalDist
from typing import Literal

_METHODS = ("wilson", "clopper-pearson", "jeffreys", "agresti-coull", "wald")


def _beta_fraction(x: float, a: float, b: float) -> float:
    """Continued fraction of the incomplete beta function by the modified method of Lentz."""
    smallest = 1e-300
    above = 1.0
    below = 1 / ((1 - (a + b) * x / (a + 1)) or smallest)
    value = below
    for step in range(1, 100_000):
        even = step * (b - step) * x / ((a + 2 * step - 1) * (a + 2 * step))
        odd = -(a + step) * (a + b + step) * x / ((a + 2 * step) * (a + 2 * step + 1))
        before = value
        for term in (even, odd):
            below = 1 / ((1 + term * below) or smallest)
            above = (1 + term / above) or smallest
            value *= below * above
        if abs(value - before) <= 3e-15 * abs(value):
            break
    return value


def _stirling_error(z: float) -> float:
    """log(z!) less its approximation by Stirling's formula."""
    if z < 15:
        return math.lgamma(z + 1) - (z + 0.5) * math.log(z) + z - 0.5 * math.log(2 * math.pi)
    return (1 / 12 - (1 / 360 - (1 / 1260 - 1 / (1680 * z * z)) / (z * z)) / (z * z)) / z


def _deviance(mean: float, excess: float) -> float:
    """count * log(count / mean) - excess, for a count of mean + excess."""
    ratio = excess / mean
    return mean * ((1 + ratio) * math.log1p(ratio) - ratio)


def _beta_cdf(x: float, rest: float, a: float, b: float) -> float:
    """Probability that a value of the beta distribution with a and b is at most x, where rest is 1 - x."""
    total = a + b
    # x**a * rest**b / B(a, b) by the saddle-point expansion of Loader (2000), which does not cancel for large a and b.
    excess = a - total * x if x < rest else total * rest - b
    exponent = _stirling_error(total) - _stirling_error(a) - _stirling_error(b)
    exponent -= _deviance(total * x, excess) + _deviance(total * rest, -excess)
    front = math.sqrt(a * b / (2 * math.pi * total)) * math.exp(exponent)
    if x < (a + 1) / (a + b + 2):
        return front * _beta_fraction(x, a, b) / a
    return 1 - front * _beta_fraction(rest, b, a) / b


def _beta_limit(tail: float, a: float, b: float, upper: bool) -> float:
    """The value that cuts off a tail with this probability from the beta distribution."""
    low, high = 0.0, 1.0
    while high - low > 1e-14 * high:
        middle = (low + high) / 2
        if upper:
            beyond = _beta_cdf(1 - middle, middle, b, a) < tail
        else:
            beyond = _beta_cdf(middle, 1 - middle, a, b) >= tail
        if beyond:
            high = middle
        else:
            low = middle
    return (low + high) / 2


def _to_ten_digits(value: float) -> float:
    return float(f"{value:.10g}")


def _beta_limits(successes: int, trials: int, tail: float, own: float, other: float) -> tuple[float, float]:
    """Limits from beta distributions, whose parameters are the counts with own and other added."""
    failures = trials - successes
    lower = _beta_limit(tail, successes + own, failures + other, upper=False) if successes else 0.0
    upper = _beta_limit(tail, successes + other, failures + own, upper=True) if failures else 1.0
    return lower, upper


def proportion_confidence_interval(
    successes: int,
    trials: int,
    confidence_percent: float = 95.0,
    method: Literal["wilson", "clopper-pearson", "jeffreys", "agresti-coull", "wald"] = "wilson",
) -> dict[str, float]:
    """Finds the two-sided confidence interval of a proportion, such as a conversion rate or the share of a survey.

    Also known as: binomial confidence interval, binomial proportion, margin of error, exact interval, score interval

    Args:
        successes: How many of the trials had the outcome that is counted, 0 to trials.
        trials: Number of trials, 1 to 10,000,000.
        confidence_percent: Confidence level in percent, above 0 and below 100.
        method: "wilson": score interval without continuity correction, good for most purposes. "clopper-pearson":
            exact, covers at least the level, so it is wider. "jeffreys": equal-tailed Bayesian interval of the prior
            Beta(1/2, 1/2), with limit 0 without successes and 1 without failures. "agresti-coull": normal
            approximation around (successes + z²/2) / (trials + z²). "wald": normal approximation around the
            proportion, poor for small samples and near 0 or 1.

    Returns:
        proportion: successes / trials.
        lower: Lower limit, 0 or more; exactly 0 without successes.
        upper: Upper limit, 1 or less; exactly 1 without failures. Limits beyond 0 and 1 are cut off there.
        All are fractions of 1 (0.25 is 25 percent) and rounded to 10 significant digits.

    Raises:
        ValueError: If trials is not a whole number from 1 to 10,000,000, successes not one from 0 to trials,
            confidence_percent not a number above 0 and below 100, or method none of its choices.

    Examples:
        >>> proportion_confidence_interval(5, 10)
        {'proportion': 0.5, 'lower': 0.2365930905, 'upper': 0.7634069095}
        >>> proportion_confidence_interval(0, 10)
        {'proportion': 0.0, 'lower': 0.0, 'upper': 0.2775327999}
        >>> proportion_confidence_interval(0, 2, confidence_percent=50)
        {'proportion': 0.0, 'lower': 0.0, 'upper': 0.1853149511}
        >>> proportion_confidence_interval(1, 2, method="clopper-pearson")
        {'proportion': 0.5, 'lower': 0.01257911709, 'upper': 0.9874208829}
        >>> proportion_confidence_interval(0, 1000000, confidence_percent=90, method="clopper-pearson")
        {'proportion': 0.0, 'lower': 0.0, 'upper': 2.995727786e-06}
        >>> proportion_confidence_interval(2, 2, confidence_percent=80, method="clopper-pearson")
        {'proportion': 1.0, 'lower': 0.316227766, 'upper': 1.0}
        >>> proportion_confidence_interval(0, 10000000, method="clopper-pearson")
        {'proportion': 0.0, 'lower': 0.0, 'upper': 3.688878774e-07}
        >>> proportion_confidence_interval(0, 10000000, method="jeffreys")
        {'proportion': 0.0, 'lower': 0.0, 'upper': 2.511942715e-07}
        >>> proportion_confidence_interval(50, 100, method="wald")
        {'proportion': 0.5, 'lower': 0.4020018008, 'upper': 0.5979981992}
        >>> proportion_confidence_interval(5, 10, method="agresti-coull")
        {'proportion': 0.5, 'lower': 0.2365930905, 'upper': 0.7634069095}
    """
    if isinstance(trials, bool) or not isinstance(trials, int) or not 1 <= trials <= 10_000_000:
        raise ValueError(f"trials must be a whole number from 1 to 10,000,000, got {trials!r}")
    if isinstance(successes, bool) or not isinstance(successes, int) or not 0 <= successes <= trials:
        raise ValueError(f"successes must be a whole number from 0 to trials ({trials}), got {successes!r}")
    level = confidence_percent
    if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0 < level < 100:
        raise ValueError(f"confidence_percent must be a number above 0 and below 100, got {level!r}")
    if method not in _METHODS:
        raise ValueError(f"method must be one of {list(_METHODS)}, got {method!r}")

    tail = (100 - level) / 200
    proportion = successes / trials
    if method == "clopper-pearson":
        lower, upper = _beta_limits(successes, trials, tail, 0, 1)
    elif method == "jeffreys":
        lower, upper = _beta_limits(successes, trials, tail, 0.5, 0.5)
    else:
        z = -NormalDist().inv_cdf(tail)
        size = trials if method == "wald" else trials + z**2
        center = proportion if method == "wald" else (successes + z**2 / 2) / size
        if method == "wilson":
            half = z / size * math.sqrt(successes * (trials - successes) / trials + z**2 / 4)
        else:
            half = z * math.sqrt(center * (1 - center) / size)
        # Rounding must not move a limit off 0 or 1.
        lower = max(0.0, center - half) if successes else 0.0
        upper = min(1.0, center + half) if successes < trials else 1.0
    return {
        "proportion": _to_ten_digits(proportion),
        "lower": _to_ten_digits(lower),
        "upper": _to_ten_digits(upper),
    }
