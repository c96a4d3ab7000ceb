"""Money."""

from __future__ import annotations

import math
from datetime import datetime
from fractions import Fraction
from itertools import pairwise

from reference.question import of_kind, rounded

money = of_kind("money")


@money(
    "easy",
    "dev",
    "A jacket costs {price:.2f} dollars. It is reduced by {discount} percent, and {tax} percent sales tax is "
    "added to the reduced price. How many dollars do I pay, rounded to 2 decimals?",
    {"price": 129.9, "discount": 35, "tax": 8.25},
    {"price": 79.0, "discount": 20, "tax": 6.0},
    {"price": 249.99, "discount": 12, "tax": 10.1},
    {"price": 15.4, "discount": 50, "tax": 4.2},
)
def discounted_price(price: float, discount: int, tax: float) -> float:
    return rounded(price * (1 - discount / 100) * (1 + tax / 100), 2)


@money(
    "easy",
    "test",
    "I put {principal} euros into an account with {rate} percent interest a year. Interest is added {times} "
    "times a year, each time at the yearly rate divided by {times}, and nothing is rounded on the way. How "
    "many euros are in the account after {years} years, rounded to 2 decimals?",
    {"principal": 2500, "rate": 3.6, "times": 12, "years": 7},
    {"principal": 10000, "rate": 5.0, "times": 4, "years": 3},
    {"principal": 800, "rate": 1.25, "times": 2, "years": 15},
    {"principal": 43000, "rate": 2.4, "times": 1, "years": 10},
)
def compound_interest(principal: int, rate: float, times: int, years: int) -> float:
    return rounded(principal * (1 + rate / 100 / times) ** (times * years), 2)


@money(
    "medium",
    "test",
    "I borrow {loan} euros at {rate} percent a year and pay it back in {months} equal payments, one at the "
    "end of each month, with one twelfth of the yearly rate charged each month on what is still owed. How "
    "high is each payment in euros, rounded to 2 decimals?",
    {"loan": 18000, "rate": 5.4, "months": 48},
    {"loan": 250000, "rate": 3.1, "months": 300},
    {"loan": 3200, "rate": 11.9, "months": 18},
    {"loan": 7500, "rate": 0.9, "months": 24},
)
def loan_payment(loan: int, rate: float, months: int) -> float:
    monthly = rate / 1200
    return rounded(loan * monthly / (1 - (1 + monthly) ** -months), 2)


@money(
    "medium",
    "dev",
    "My electricity costs {low} cents per kilowatt-hour for the first {limit} kilowatt-hours of a month and "
    "{high} cents for each one above that. On top comes a basic fee of {fee:.2f} euros. How many euros do I "
    "pay for a month with {used} kilowatt-hours, rounded to 2 decimals?",
    {"low": 28, "limit": 150, "high": 35, "fee": 9.5, "used": 237},
    {"low": 19, "limit": 300, "high": 24, "fee": 12.75, "used": 281},
    {"low": 31, "limit": 100, "high": 27, "fee": 5.2, "used": 412},
    {"low": 22, "limit": 200, "high": 40, "fee": 7.99, "used": 503},
)
def electricity_bill(low: int, limit: int, high: int, fee: float, used: int) -> float:
    cents = low * min(used, limit) + high * max(0, used - limit)
    return rounded(fee + cents / 100, 2)


@money(
    "hard",
    "test",
    "In a country, the first {allowance} of a yearly income are free of tax. What is above that is taxed in "
    "brackets whose upper limits, counted from the end of the free part, are {limits}, with the rates "
    "{rates} percent: the first rate for the part up to the first limit, the second for the part between "
    "the first and the second limit, and so on; the last rate for everything above the last limit. How much "
    "tax is due on an income of {income}, rounded to 2 decimals?",
    {"income": 68450, "allowance": 9500, "limits": [12000, 35000], "rates": [14, 27, 42]},
    {"income": 23000, "allowance": 11000, "limits": [5000, 20000], "rates": [10, 20, 30]},
    {"income": 151234, "allowance": 0, "limits": [10000, 40000, 90000], "rates": [5, 15, 28, 39]},
    {"income": 40000, "allowance": 12570, "limits": [37700], "rates": [20, 40]},
)
def income_tax(income: int, allowance: int, limits: list[int], rates: list[int]) -> float:
    taxable = max(0, income - allowance)
    edges = [0, *limits, float("inf")]
    parts = [max(0, min(taxable, high) - low) for low, high in pairwise(edges)]
    return rounded(sum(part * rate / 100 for part, rate in zip(parts, rates, strict=True)), 2)


@money(
    "hard",
    "dev",
    "On a trip some friends noted:\n{notes:lines}\nWhat somebody paid is shared equally by the people it "
    "was for; the payer takes part only if named there. How many euros does {person} have to give the "
    "others in the end, rounded to 2 decimals?",
    {
        "notes": [
            "Ana paid 96.00 for Ana, Ben, Cleo, Dan",
            "Ben paid 45.60 for Cleo, Dan",
            "Cleo paid 30.00 for Ana, Ben, Cleo",
            "Ana paid 17.50 for Ben, Dan",
            "Dan paid 12.00 for Ana, Ben, Dan",
        ],
        "person": "Dan",
    },
    {
        "notes": ["Xu paid 120.00 for Xu, Yara, Zach", "Yara paid 33.00 for Xu, Yara", "Zach paid 9.00 for Xu"],
        "person": "Yara",
    },
    {
        "notes": [
            "Lea paid 54.40 for Max, Nils",
            "Max paid 200.00 for Lea, Max, Nils, Olga",
            "Olga paid 18.90 for Lea, Nils, Olga",
            "Lea paid 7.50 for Nils, Olga",
        ],
        "person": "Nils",
    },
    {
        "notes": ["Pat paid 10.00 for Quin", "Quin paid 25.00 for Pat, Quin, Rae", "Rae paid 7.00 for Pat, Quin"],
        "person": "Pat",
    },
)
def trip_debt(notes: list[str], person: str) -> float:
    owed = Fraction(0)
    for note in notes:
        paid, people = note.split(" for ")
        payer, _, amount = paid.split()
        if person in people.split(", "):
            owed += Fraction(amount) / len(people.split(", "))
        if payer == person:
            owed -= Fraction(amount)
    if owed <= 0:
        raise ValueError(f"{person} gets money: choose other values")
    return rounded(owed, 2)


@money(
    "hard",
    "test",
    "A car park charges {first:.2f} euros for the first hour and {further:.2f} euros for each further hour, "
    "where a begun hour counts as a whole one, but never more than {cap:.2f} euros for 24 hours. After every "
    "24 hours the count begins again with a first hour. A car stands there from {arrival} to {departure}. "
    "How many euros does that cost, rounded to 2 decimals?",
    {
        "first": 2.5,
        "further": 1.8,
        "cap": 14.0,
        "arrival": "2024-05-03 08:20",
        "departure": "2024-05-05 11:05",
    },
    {
        "first": 4.0,
        "further": 3.5,
        "cap": 25.0,
        "arrival": "2025-01-10 17:45",
        "departure": "2025-01-10 22:05",
    },
    {
        "first": 1.2,
        "further": 0.9,
        "cap": 9.9,
        "arrival": "2023-07-31 22:00",
        "departure": "2023-08-01 23:30",
    },
    {
        "first": 3.0,
        "further": 2.25,
        "cap": 20.0,
        "arrival": "2026-02-27 06:10",
        "departure": "2026-03-02 05:50",
    },
)
def parking_fee(first: float, further: float, cap: float, arrival: str, departure: str) -> float:
    stay = datetime.fromisoformat(departure) - datetime.fromisoformat(arrival)
    hours = math.ceil(stay.total_seconds() / 3600)
    fee = 0.0
    while hours > 0:
        fee += min(cap, first + further * (min(hours, 24) - 1))
        hours -= 24
    return rounded(fee, 2)


@money(
    "hard",
    "test",
    "My account holds {balance} euros. These amounts are to be booked one after the other, deposits positive "
    "and withdrawals negative: {amounts}. A withdrawal that would leave less than -{limit} euros is refused "
    "and changes nothing. After each withdrawal that is booked and leaves the account below 0, a fee of "
    "{fee} euros is taken from it as well, even beyond that limit. How many euros does the account hold at "
    "the end? Give a negative number if it is overdrawn.",
    {"balance": 120, "amounts": [-150, 40, -300, -90, -200, 310, -60, -75], "limit": 250, "fee": 6},
    {"balance": 50, "amounts": [-80, -20, -40, 30, -45], "limit": 100, "fee": 5},
    {"balance": 500, "amounts": [-620, 75, -90, 200, -10, -400], "limit": 300, "fee": 12},
    {"balance": 10, "amounts": [-10, -200, 15, -25, -1, -40], "limit": 50, "fee": 3},
)
def account_balance(balance: int, amounts: list[int], limit: int, fee: int) -> int:
    for amount in amounts:
        after = balance + amount
        if amount > 0:
            balance = after
        elif after >= -limit:
            balance = after
            if balance < 0:
                balance -= fee
    return balance
