from decimal import Decimal, localcontext
from typing import Literal


def _run(flows: list[tuple[int, Decimal]], growth: Decimal) -> tuple[Decimal, float | None]:
    """The total at the time of the last flow, and the time at which the total, once negative, is back at 0.

    The total grows from one time to the next, which needs no division: it is 0 exactly when the discounted total is.
    """
    total = Decimal(0)
    payback = None
    for time, amount in flows:
        before = total * growth
        total = before + amount
        if payback is None and before < 0 <= total:
            # The amount counts as spread evenly over the period that ends at this time.
            payback = float(time - 1 - before / amount)
    return total, payback


def net_present_value(
    rate_percent: float,
    cash_flows: list[float],
    first_flow: Literal["now", "end of period"] = "now",
) -> dict[str, float | None]:
    """Works out the net present value of cash flows at regular periods, and when they have paid back what was invested.

    Also known as: NPV, discounted cash flow, DCF, payback period, discounted payback, capital budgeting

    Args:
        rate_percent: Discount rate in percent per period (per year, if the flows are yearly), more than -100 and at
            most 1e6.
        cash_flows: Amount of each period in order, in one currency: negative for money spent, positive for money
            received, each from -1e15 to 1e15. 1 to 10,000 amounts; 0 for a period without a flow.
        first_flow: When the first amount is due. "now": at time 0, undiscounted, as for an investment made today.
            "end of period": at time 1, discounted once, as in the function NPV of spreadsheets.

    Returns:
        net_present_value: Sum of the amounts, each divided by (1 + rate_percent / 100) ** time.
        total: Sum of the amounts without discount.
        payback_periods: Time in periods at which the running total, once negative, is back at 0. An amount counts as
            spread evenly over the period that it ends. None if that never happens.
        discounted_payback_periods: The same for the discounted amounts.

    Raises:
        ValueError: If rate_percent or an amount is not a number within its limits, if cash_flows is empty or has more
            than 10,000 amounts, if first_flow is none of its choices, or if the result is too large a number.

    Examples:
        >>> net_present_value(25, [-1000, 500, 625, 625])
        {'net_present_value': 120.0, 'total': 750.0, 'payback_periods': 1.8, 'discounted_payback_periods': 2.625}
        >>> net_present_value(25, [-125, 250], first_flow="end of period")
        {'net_present_value': 60.0, 'total': 125.0, 'payback_periods': 1.5, 'discounted_payback_periods': 1.625}
        >>> net_present_value(10, [-100, 110])
        {'net_present_value': 0.0, 'total': 10.0, 'payback_periods': 0.9090909090909091, 'discounted_payback_periods': 1.0}
        >>> net_present_value(0, [-100, 40.5])
        {'net_present_value': -59.5, 'total': -59.5, 'payback_periods': None, 'discounted_payback_periods': None}
        >>> net_present_value(0, [1e15])
        {'net_present_value': 1000000000000000.0, 'total': 1000000000000000.0, 'payback_periods': None, 'discounted_payback_periods': None}
        >>> net_present_value(-100, [-100, 110])
        Traceback (most recent call last):
        ValueError: rate_percent must be a number above -100 and at most 1e6, got -100
    """
    if isinstance(rate_percent, bool) or not isinstance(rate_percent, (int, float)) or not -100 < rate_percent <= 1e6:
        raise ValueError(f"rate_percent must be a number above -100 and at most 1e6, got {rate_percent!r}")
    if not 1 <= len(cash_flows) <= 10_000:
        raise ValueError(f"cash_flows must have 1 to 10,000 amounts, got {len(cash_flows)}")
    for amount in cash_flows:
        if isinstance(amount, bool) or not isinstance(amount, (int, float)) or not abs(amount) <= 1e15:
            raise ValueError(f"each of cash_flows must be a number from -1e15 to 1e15, got {amount!r}")
    if first_flow not in ("now", "end of period"):
        raise ValueError(f"first_flow must be 'now' or 'end of period', got {first_flow!r}")

    with localcontext() as context:
        context.prec = 100
        start = 0 if first_flow == "now" else 1
        # The shortest decimal of a float is what the user wrote, so 0.1 counts as one tenth.
        flows = [(time, Decimal(str(amount))) for time, amount in enumerate(cash_flows, start)]
        total, payback = _run(flows, Decimal(1))
        growth = 1 + Decimal(str(rate_percent)) / 100
        final_value, discounted_payback = _run(flows, growth)
        value = final_value / growth ** flows[-1][0]
        if abs(value) > Decimal("1e300"):
            raise ValueError("the net present value is too large a number; is rate_percent so near to -100?")
        return {
            "net_present_value": float(value),
            "total": float(total),
            "payback_periods": payback,
            "discounted_payback_periods": discounted_payback,
        }
