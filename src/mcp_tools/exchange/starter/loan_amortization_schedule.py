import re
from decimal import ROUND_HALF_UP, Decimal, localcontext

_CENT = Decimal("0.01")


def _to_cents(amount: Decimal) -> Decimal:
    return amount.quantize(_CENT, rounding=ROUND_HALF_UP)


def _money(value: float, name: str) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1e12:
        raise ValueError(f"{name} must be a number from 0 to 1,000,000,000,000, got {value!r}")
    amount = Decimal(str(value))
    if amount != _to_cents(amount):
        raise ValueError(f"{name} must have at most two decimals, got {value!r}")
    return amount


def _whole(value: int, name: str, largest: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= largest:
        raise ValueError(f"{name} must be a whole number from 1 to {largest}, got {value!r}")
    return value


def _regular_payment(principal: Decimal, period_rate: Decimal, payments: int) -> Decimal:
    if period_rate == 0:
        return _to_cents(principal / payments)
    return _to_cents(principal * period_rate / (1 - (1 + period_rate) ** -payments))


def loan_amortization_schedule(
    principal: float,
    annual_rate_percent: float,
    payments: int,
    payments_per_year: int = 12,
    extra_payment: float = 0.0,
    lump_sums: dict[str, float] | None = None,
) -> dict[str, float | int | list[dict[str, float | int]]]:
    """Works out the level payment of a loan and its schedule to the cent: interest, principal and balance per payment.

    Each payment falls at the end of its period. Interest is annual_rate_percent / payments_per_year of the balance
    before it. The regular payment and each interest are rounded to cents, halves up. The last payment is what is left
    with its interest, so it may differ from the others by some cents; extra payments shorten the loan.

    Also known as: mortgage calculator, annuity loan, repayment plan, amortisation, PMT, monthly payment, installments, monthly rate of a loan, amortization

    Args:
        principal: Amount borrowed, in a currency with cents, more than 0 and at most 1e12, at most two decimals.
        annual_rate_percent: Nominal interest rate in percent per year, 0 to 1000.
        payments: Number of regular payments agreed, 1 to 2000.
        payments_per_year: Payments in a year, 1 to 366: 12 for monthly, 4 for quarterly, 1 for yearly.
        extra_payment: Amount paid beyond the regular payment each time, 0 or more, at most two decimals.
        lump_sums: Further amounts paid once, by number of the payment that they come with, such as {"12": 5000}.
            None means none. Those that come after the loan is paid off are not used.

    Returns:
        regular_payment: Level payment per period, without extra payments.
        number_of_payments: Payments until the balance is 0.
        total_paid: Sum of all payments and extra payments.
        total_interest: Sum of the interest.
        schedule: One entry per payment with number (from 1), payment (regular part, which is interest + principal),
            interest, principal, extra (extra_payment and lump sums, at most the balance) and balance (after it).

    Raises:
        ValueError: If an argument is not a number within its limits, has more than two decimals where money is
            meant, or if lump_sums has a key that is no payment number from "1" to the number of payments.

    Examples:
        >>> loan_amortization_schedule(1000, 12, 3)
        {'regular_payment': 340.02, 'number_of_payments': 3, 'total_paid': 1020.07, 'total_interest': 20.07, 'schedule': [{'number': 1, 'payment': 340.02, 'interest': 10.0, 'principal': 330.02, 'extra': 0.0, 'balance': 669.98}, {'number': 2, 'payment': 340.02, 'interest': 6.7, 'principal': 333.32, 'extra': 0.0, 'balance': 336.66}, {'number': 3, 'payment': 340.03, 'interest': 3.37, 'principal': 336.66, 'extra': 0.0, 'balance': 0.0}]}
        >>> loan_amortization_schedule(100, 0, 3, payments_per_year=1)
        {'regular_payment': 33.33, 'number_of_payments': 3, 'total_paid': 100.0, 'total_interest': 0.0, 'schedule': [{'number': 1, 'payment': 33.33, 'interest': 0.0, 'principal': 33.33, 'extra': 0.0, 'balance': 66.67}, {'number': 2, 'payment': 33.33, 'interest': 0.0, 'principal': 33.33, 'extra': 0.0, 'balance': 33.34}, {'number': 3, 'payment': 33.34, 'interest': 0.0, 'principal': 33.34, 'extra': 0.0, 'balance': 0.0}]}
        >>> loan_amortization_schedule(1000, 10, 2, payments_per_year=1, extra_payment=100, lump_sums={"1": 200})
        {'regular_payment': 576.19, 'number_of_payments': 2, 'total_paid': 1122.38, 'total_interest': 122.38, 'schedule': [{'number': 1, 'payment': 576.19, 'interest': 100.0, 'principal': 476.19, 'extra': 300.0, 'balance': 223.81}, {'number': 2, 'payment': 246.19, 'interest': 22.38, 'principal': 223.81, 'extra': 0.0, 'balance': 0.0}]}
    """
    balance = _money(principal, "principal")
    if balance == 0:
        raise ValueError(f"principal must be more than 0, got {principal!r}")
    rate = annual_rate_percent
    if isinstance(rate, bool) or not isinstance(rate, (int, float)) or not 0 <= rate <= 1000:
        raise ValueError(f"annual_rate_percent must be a number from 0 to 1000, got {rate!r}")
    count = _whole(payments, "payments", 2000)
    every_extra = _money(extra_payment, "extra_payment")
    lumps: dict[int, Decimal] = {}
    for key, amount in (lump_sums or {}).items():
        if not re.fullmatch(r"[1-9][0-9]{0,3}", key) or int(key) > count:
            raise ValueError(f"lump_sums must have payment numbers from '1' to '{count}' as keys, got {key!r}")
        lumps[int(key)] = _money(amount, f"lump_sums[{key!r}]")

    rows: list[dict[str, float | int]] = []
    total_interest = total_paid = Decimal(0)
    with localcontext() as context:
        context.prec = 50
        period_rate = Decimal(str(rate)) / 100 / _whole(payments_per_year, "payments_per_year", 366)
        regular = _regular_payment(balance, period_rate, count)
        for number in range(1, count + 1):
            interest = _to_cents(balance * period_rate)
            paid_off = regular - interest
            if number == count or paid_off > balance:
                paid_off = balance
            balance -= paid_off
            extra = min(every_extra + lumps.get(number, Decimal(0)), balance)
            balance -= extra
            total_interest += interest
            total_paid += interest + paid_off + extra
            rows.append(
                {
                    "number": number,
                    "payment": float(interest + paid_off),
                    "interest": float(interest),
                    "principal": float(paid_off),
                    "extra": float(extra),
                    "balance": float(balance),
                }
            )
            if balance == 0:
                break
    return {
        "regular_payment": float(regular),
        "number_of_payments": len(rows),
        "total_paid": float(total_paid),
        "total_interest": float(total_interest),
        "schedule": rows,
    }
