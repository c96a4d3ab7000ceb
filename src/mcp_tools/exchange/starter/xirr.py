import math
import re
from datetime import date

# Limits of log(1 + rate) between which rates are searched.
_LOWEST, _HIGHEST = -30.0, 700.0
# The same where several rates are possible, and the step between two looks.
_SCAN_LOW, _SCAN_HIGH, _SCAN_STEP = -7.0, 7.0, 0.01


def _day_number(text: str) -> int:
    if not isinstance(text, str) or not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        raise ValueError(f"each of dates must be written YYYY-MM-DD, got {text!r}")
    try:
        return date.fromisoformat(text).toordinal()
    except ValueError:
        raise ValueError(f"dates has a day that is not in the calendar: {text!r}") from None


def _scaled_value(flows: list[tuple[float, float]], log_growth: float) -> float:
    """Present value of (years, amount) pairs, divided by the largest discount factor so that it cannot overflow."""
    largest = max(-log_growth * years for years, _ in flows)
    return math.fsum(amount * math.exp(-log_growth * years - largest) for years, amount in flows)


def _bisect(flows: list[tuple[float, float]], low: float, high: float) -> float:
    """The log(1 + rate) between low and high, where the present values have different signs, at which it is 0."""
    low_is_positive = _scaled_value(flows, low) > 0
    while True:
        middle = (low + high) / 2
        if middle in (low, high):
            return middle
        if (_scaled_value(flows, middle) > 0) == low_is_positive:
            low = middle
        else:
            high = middle


def _percent(log_growth: float) -> float:
    """The rate in percent, never -0.0."""
    return round(100 * math.expm1(log_growth), 8) or 0.0


def _all_rates(flows: list[tuple[float, float]]) -> list[float]:
    """Each log(1 + rate) at which the present value changes its sign, as far as the steps tell them apart."""
    found = []
    steps = round((_SCAN_HIGH - _SCAN_LOW) / _SCAN_STEP)
    low, low_value = _SCAN_LOW, _scaled_value(flows, _SCAN_LOW)
    for number in range(1, steps + 1):
        high = _SCAN_LOW + number * _SCAN_STEP
        high_value = _scaled_value(flows, high)
        if (low_value > 0) != (high_value > 0):
            found.append(_bisect(flows, low, high))
        low, low_value = high, high_value
    return found


def xirr(dates: list[str], amounts: list[float]) -> dict[str, float | int]:
    """Finds the yearly internal rate of return of cash flows on irregular dates, such as an investment or a fund.

    It is the effective rate at which all amounts, discounted to the first date, add up to 0. A year has 365 days, as
    in spreadsheets: an amount is divided by (1 + rate) ** (days since the first date / 365).

    Also known as: internal rate of return, IRR, XIRR, money-weighted return, annualized return, yield of cash flows

    Args:
        dates: Date of each cash flow, YYYY-MM-DD, in any order; at least two different ones.
        amounts: Cash flow of each date, in one currency: negative for money paid in, positive for money received.
            Amounts of the same date are added. Amounts of both signs are needed, each from -1e15 to 1e15.

    Returns:
        annual_rate_percent: Rate in percent per year, above -100, rounded to 8 decimals.
        net_gain: Sum of all amounts.
        days: Days from the first to the last date.

    Raises:
        ValueError: If dates and amounts differ in length or a date is not written YYYY-MM-DD or does not exist, if an
            amount is not a number from -1e15 to 1e15, if not both signs occur on different dates, or if the rate does
            not exist or is too extreme. Flows that change their sign more than once may have several rates: those from
            -99.9 to 100,000 percent are searched, and if there is more than one, the error names them.

    Examples:
        >>> xirr(["2023-01-01", "2024-01-01"], [-1000, 1100])
        {'annual_rate_percent': 10.0, 'net_gain': 100.0, 'days': 365}
        >>> xirr(["2023-01-01", "2021-01-01", "2022-01-01"], [72, -100, 60])
        {'annual_rate_percent': 20.0, 'net_gain': 32.0, 'days': 730}
        >>> xirr(["2021-01-01", "2022-01-01", "2022-01-01"], [-100, 20, 30])
        {'annual_rate_percent': -50.0, 'net_gain': -50.0, 'days': 365}
        >>> xirr(["2023-03-01", "2023-03-02"], [-100, 101])
        {'annual_rate_percent': 3678.34343329, 'net_gain': 1.0, 'days': 1}
        >>> xirr(["2021-01-01", "2022-01-01", "2023-01-01", "2024-01-01"], [-80, 180, -180, 100])
        {'annual_rate_percent': 25.0, 'net_gain': 20.0, 'days': 1095}
        >>> xirr(["2023-06-01", "2023-06-01", "2023-12-31", "2022-06-01"], [40, -40, 100, -100])
        {'annual_rate_percent': 0.0, 'net_gain': 0.0, 'days': 578}
    """
    if len(dates) != len(amounts):
        raise ValueError(f"dates and amounts must be of the same length, got {len(dates)} and {len(amounts)}")
    by_day: dict[int, list[float]] = {}
    for text, amount in zip(dates, amounts, strict=True):
        if isinstance(amount, bool) or not isinstance(amount, (int, float)) or not abs(amount) <= 1e15:
            raise ValueError(f"each of amounts must be a number from -1e15 to 1e15, got {amount!r}")
        by_day.setdefault(_day_number(text), []).append(float(amount))
    if not by_day:
        raise ValueError("dates and amounts are empty; at least two cash flows are needed")

    first = min(by_day)
    flows = [((day - first) / 365, math.fsum(by_day[day])) for day in sorted(by_day)]
    signs = [amount > 0 for _, amount in flows if amount != 0]
    changes = sum(before != after for before, after in zip(signs, signs[1:], strict=False))
    if changes == 0:
        raise ValueError("amounts must be negative on one date and positive on another to have a rate of return")
    if changes == 1:
        if (_scaled_value(flows, _LOWEST) > 0) == (_scaled_value(flows, _HIGHEST) > 0):
            raise ValueError("the rate of return is too extreme: nearly -100 percent, or larger than any number")
        log_growth = _bisect(flows, _LOWEST, _HIGHEST)
    else:
        found = _all_rates(flows)
        if len(found) != 1:
            rates = ", ".join(str(_percent(value)) for value in found) or "none"
            raise ValueError(f"these cash flows have no single rate of return; rates in percent: {rates}")
        log_growth = found[0]
    return {
        "annual_rate_percent": _percent(log_growth),
        "net_gain": math.fsum(amount for amounts_of_day in by_day.values() for amount in amounts_of_day),
        "days": max(by_day) - first,
    }
