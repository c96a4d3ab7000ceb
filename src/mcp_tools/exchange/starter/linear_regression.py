import math
from fractions import Fraction


def _exact(values: list[float], name: str) -> list[Fraction]:
    """The numbers as the fractions that the user wrote: the shortest decimal of a float, so 0.1 is one tenth."""
    for value in values:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value or abs(value) == math.inf:
            raise ValueError(f"each of {name} must be a finite number, got {value!r}")
        if abs(value) > 1e100 or 0 < abs(value) < 1e-100:
            raise ValueError(f"each of {name} must be 0 or from 1e-100 to 1e100 in size, got {value!r}")
    return [Fraction(repr(value)) if isinstance(value, float) else Fraction(value) for value in values]


def _root(square: Fraction) -> float:
    """The square root as a float, also of a fraction too small or too large for one."""
    half = (square.numerator.bit_length() - square.denominator.bit_length()) // 2
    return math.ldexp(math.sqrt(square / Fraction(4) ** half), half)


def linear_regression(x: list[float], y: list[float]) -> dict[str, float | int | None]:
    """Fits the straight line y = intercept + slope * x to points by least squares, with standard errors and R².

    All is computed exactly from the numbers and rounded once at the end.

    Also known as: OLS, ordinary least squares, line of best fit, trend line, SLOPE, INTERCEPT, LINEST, R squared

    Args:
        x: Values of the explanatory variable, at least two different ones. Each is 0 or from 1e-100 to 1e100 in size.
        y: Values of the explained variable, as many as x and in their order, within the same limits.

    Returns:
        slope: Change of y per unit of x.
        intercept: y of the line at x = 0.
        r_squared: Share of the variance of y that the line explains, 0 to 1. None if all y are equal.
        slope_standard_error: Standard error of the slope. None for two points.
        intercept_standard_error: Standard error of the intercept. None for two points.
        slope_t: slope / slope_standard_error. None for two points or if the points lie exactly on the line.
        residual_standard_error: sqrt(residual_sum_of_squares / degrees_of_freedom). None for two points.
        residual_sum_of_squares: Sum of squared vertical distances of the points from the line.
        degrees_of_freedom: Number of points less 2.
        count: Number of points.

    Raises:
        ValueError: If x and y differ in length, if there are fewer than two points or all x are equal, or if a value
            is not a finite number within the limits.

    Examples:
        >>> linear_regression([1, 2, 3, 4], [2, 4, 4, 6])
        {'slope': 1.2, 'intercept': 1.0, 'r_squared': 0.9, 'slope_standard_error': 0.282842712474619, 'intercept_standard_error': 0.7745966692414834, 'slope_t': 4.242640687119285, 'residual_standard_error': 0.6324555320336759, 'residual_sum_of_squares': 0.8, 'degrees_of_freedom': 2, 'count': 4}
        >>> linear_regression([0, 1, 2], [1.1, 3.1, 5.1])
        {'slope': 2.0, 'intercept': 1.1, 'r_squared': 1.0, 'slope_standard_error': 0.0, 'intercept_standard_error': 0.0, 'slope_t': None, 'residual_standard_error': 0.0, 'residual_sum_of_squares': 0.0, 'degrees_of_freedom': 1, 'count': 3}
        >>> linear_regression([1, 3], [5, 5])
        {'slope': 0.0, 'intercept': 5.0, 'r_squared': None, 'slope_standard_error': None, 'intercept_standard_error': None, 'slope_t': None, 'residual_standard_error': None, 'residual_sum_of_squares': 0.0, 'degrees_of_freedom': 0, 'count': 2}
    """
    if len(x) != len(y):
        raise ValueError(f"x and y must be of the same length, got {len(x)} and {len(y)} values")
    count = len(x)
    if count < 2:
        raise ValueError(f"x and y must have at least two points, got {count}")
    xs, ys = _exact(x, "x"), _exact(y, "y")
    x_mean, y_mean = sum(xs) / count, sum(ys) / count
    x_squares = sum((value - x_mean) ** 2 for value in xs)
    y_squares = sum((value - y_mean) ** 2 for value in ys)
    products = sum((a - x_mean) * (b - y_mean) for a, b in zip(xs, ys, strict=True))
    if x_squares == 0:
        raise ValueError(f"x must have at least two different values, got only {x[0]!r}")

    slope = products / x_squares
    intercept = y_mean - slope * x_mean
    residual_squares = y_squares - slope * products
    degrees = count - 2
    slope_error = intercept_error = slope_t = residual_error = None
    if degrees > 0:
        variance = residual_squares / degrees
        residual_error = _root(variance)
        slope_error = _root(variance / x_squares)
        intercept_error = _root(variance * (Fraction(1, count) + x_mean**2 / x_squares))
        if variance > 0:
            slope_t = math.copysign(_root(slope**2 * x_squares / variance), slope)
    return {
        "slope": float(slope),
        "intercept": float(intercept),
        "r_squared": float(slope * products / y_squares) if y_squares else None,
        "slope_standard_error": slope_error,
        "intercept_standard_error": intercept_error,
        "slope_t": slope_t,
        "residual_standard_error": residual_error,
        "residual_sum_of_squares": float(residual_squares),
        "degrees_of_freedom": degrees,
        "count": count,
    }
