import math
from typing import Literal

_COMPOUNDINGS = {"yearly": 1, "half-yearly": 2, "quarterly": 4, "monthly": 12, "weekly": 52, "daily": 365}


def _number(value: float, name: str, lowest: float, highest: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not lowest <= value <= highest:
        raise ValueError(f"{name} must be a number from {lowest:,} to {highest:,}, got {value!r}")
    return float(value)


def savings_future_value(
    initial_amount: float,
    contribution: float,
    annual_rate_percent: float,
    contributions: int,
    contributions_per_year: int = 12,
    compounding: Literal["yearly", "half-yearly", "quarterly", "monthly", "weekly", "daily", "continuous"] = "monthly",
    timing: Literal["end of period", "start of period"] = "end of period",
) -> dict[str, float]:
    """Works out the future value of a first amount and regular contributions with compound interest.

    The time is contributions / contributions_per_year years. If interest is not compounded as often as money is paid
    in, the rate of a contribution period is the one that gives the same growth in a year.

    Also known as: compound interest calculator, savings plan, future value of an annuity, FV, annuity due, interest on savings, save money every month, how much will I have saved

    Args:
        initial_amount: Money that is there at the start, 0 to 1e12.
        contribution: Amount paid in each contribution period, 0 to 1e12.
        annual_rate_percent: Nominal interest rate in percent per year, -50 to 1000.
        contributions: Number of contribution periods, 0 to 5000: 120 for ten years of monthly contributions.
        contributions_per_year: Contribution periods in a year, 1 to 365: 12 for monthly, 1 for yearly.
        compounding: How often interest is added: 1, 2, 4, 12, 52 or 365 times a year, each time by
            annual_rate_percent divided by that number, or continuously.
        timing: Whether each contribution is paid at the end or at the start of its period.

    Returns:
        future_value: Worth at the end of the last period.
        total_contributed: initial_amount and all contributions.
        interest: future_value less total_contributed.
        Each is rounded to cents.

    Raises:
        ValueError: If an amount, the rate or a count is not a number within its limits, if compounding or timing is
            none of its choices, or if interest would multiply the first amount by more than exp(60), or the result is
            larger than 1e15.

    Examples:
        >>> savings_future_value(1000, 100, 12, 3)
        {'future_value': 1333.31, 'total_contributed': 1300.0, 'interest': 33.31}
        >>> savings_future_value(1000, 100, 12, 3, timing="start of period")
        {'future_value': 1336.34, 'total_contributed': 1300.0, 'interest': 36.34}
        >>> savings_future_value(1000, 0, 10, 2, contributions_per_year=1, compounding="half-yearly")
        {'future_value': 1215.51, 'total_contributed': 1000.0, 'interest': 215.51}
        >>> savings_future_value(0, 100, 21, 4, contributions_per_year=2, compounding="yearly")
        {'future_value': 464.1, 'total_contributed': 400.0, 'interest': 64.1}
        >>> savings_future_value(50, 25, 0, 4)
        {'future_value': 150.0, 'total_contributed': 150.0, 'interest': 0.0}
    """
    start = _number(initial_amount, "initial_amount", 0, 1e12)
    regular = _number(contribution, "contribution", 0, 1e12)
    yearly_rate = _number(annual_rate_percent, "annual_rate_percent", -50, 1000) / 100
    for name, count, lowest, highest in (
        ("contributions", contributions, 0, 5000),
        ("contributions_per_year", contributions_per_year, 1, 365),
    ):
        if isinstance(count, bool) or not isinstance(count, int) or not lowest <= count <= highest:
            raise ValueError(f"{name} must be a whole number from {lowest} to {highest}, got {count!r}")
    if timing not in ("end of period", "start of period"):
        raise ValueError(f"timing must be 'end of period' or 'start of period', got {timing!r}")
    if compounding == "continuous":
        log_growth = yearly_rate / contributions_per_year
    elif compounding in _COMPOUNDINGS:
        times = _COMPOUNDINGS[compounding]
        log_growth = math.log1p(yearly_rate / times) * times / contributions_per_year
    else:
        raise ValueError(f"compounding must be 'continuous' or one of {list(_COMPOUNDINGS)}, got {compounding!r}")

    if log_growth * contributions > 60:
        raise ValueError("interest would multiply the first amount by more than exp(60); is annual_rate_percent right?")
    # expm1 keeps small rates exact; without growth, each contribution counts once.
    payments = float(contributions)
    if log_growth != 0:
        payments = math.expm1(contributions * log_growth) / math.expm1(log_growth)
    if timing == "start of period":
        payments *= math.exp(log_growth)
    future_value = start * math.exp(contributions * log_growth) + regular * payments
    if future_value > 1e15:
        raise ValueError("the result is larger than 1e15; take a lower rate or fewer contributions")
    contributed = start + regular * contributions
    return {
        "future_value": round(future_value, 2),
        "total_contributed": round(contributed, 2),
        "interest": round(round(future_value, 2) - round(contributed, 2), 2),
    }
