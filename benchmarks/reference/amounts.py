"""Units and money."""

from __future__ import annotations

import re
from collections import defaultdict
from fractions import Fraction
from itertools import pairwise

from reference.question import of_kind, rounded, sole_best

units = of_kind("units")
money = of_kind("money")


@units(
    "easy",
    "test",
    "A runner needed {seconds} seconds. How long is that as hours, minutes and seconds in the form H:MM:SS?",
    {"seconds": 12967},
    {"seconds": 3605},
    {"seconds": 98765},
    {"seconds": 7384},
)
def seconds_as_clock(seconds: int) -> str:
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"


@units(
    "easy",
    "test",
    "A recipe says {fahrenheit} degrees Fahrenheit. How many degrees Celsius is that, rounded to 1 decimal?",
    {"fahrenheit": 375},
    {"fahrenheit": 425},
    {"fahrenheit": 101},
    {"fahrenheit": -10},
)
def celsius(fahrenheit: int) -> float:
    return rounded((fahrenheit - 32) * 5 / 9, 1)


@units(
    "medium",
    "dev",
    "My car goes {mpg} miles on a US gallon of petrol, and petrol costs {price} euros per litre. What does "
    "the petrol for a trip of {distance} kilometres cost in euros, rounded to 2 decimals? Take 1 mile = "
    "1.609344 km and 1 US gallon = 3.785411784 litres.",
    {"mpg": 34, "price": 1.72, "distance": 615},
    {"mpg": 25, "price": 1.899, "distance": 1240},
    {"mpg": 52, "price": 1.55, "distance": 88},
    {"mpg": 18, "price": 2.05, "distance": 300},
)
def petrol_cost(mpg: int, price: float, distance: int) -> float:
    return rounded(distance / 1.609344 / mpg * 3.785411784 * price, 2)


@money(
    "easy",
    "dev",
    "A jacket costs {price} dollars. It is reduced by {discount} percent, and {tax} percent sales tax is "
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
    "was for (the payer shares only if named there); what somebody gave went straight to the other person. "
    "Who owes the group most in the end, and how much, rounded to 2 decimals? Answer with the name and the "
    "amount, separated by a comma.",
    {
        "notes": [
            "Ana paid 96.00 for Ana, Ben, Cleo, Dan",
            "Ben paid 45.60 for Cleo, Dan",
            "Cleo paid 30.00 for Ana, Ben, Cleo",
            "Dan gave Ana 20.00",
            "Ana paid 17.50 for Ben, Dan",
            "Cleo gave Ben 12.50",
        ]
    },
    {
        "notes": [
            "Xu paid 120.00 for Xu, Yara, Zach",
            "Yara paid 33.00 for Xu, Yara",
            "Zach gave Xu 15.00",
        ]
    },
    {
        "notes": [
            "Lea paid 54.40 for Max, Nils",
            "Max paid 200.00 for Lea, Max, Nils, Olga",
            "Olga paid 18.90 for Lea, Nils, Olga",
            "Nils gave Max 60.00",
            "Lea gave Max 5.00",
        ]
    },
    {
        "notes": [
            "Pat paid 10.00 for Quin",
            "Quin paid 25.00 for Pat, Quin, Rae",
            "Rae paid 7.00 for Pat, Quin",
            "Pat gave Rae 3.00",
        ]
    },
)
def trip_debts(notes: list[str]) -> list[str | float]:
    owes: dict[str, Fraction] = defaultdict(Fraction)
    for note in notes:
        if paid := re.fullmatch(r"(\w+) paid ([\d.]+) for (.+)", note):
            payer, amount, people = paid[1], Fraction(paid[2]), paid[3].split(", ")
            owes[payer] -= amount
            for person in people:
                owes[person] += amount / len(people)
        elif gave := re.fullmatch(r"(\w+) gave (\w+) ([\d.]+)", note):
            owes[gave[1]] -= Fraction(gave[3])
            owes[gave[2]] += Fraction(gave[3])
    most = sole_best(owes)
    return [most, rounded(owes[most], 2)]


@money(
    "hard",
    "test",
    "I owe {balance} euros on a credit card at {rate} percent a year and use the card no more. Every month, "
    "in this order: interest of one twelfth of the yearly rate is added to what I owe; I pay the larger of "
    "{minimum} euros and {percent} percent of what I then owe, but never more than I owe; if after that I "
    "still owe more than {threshold} euros, a fee of {fee} euros is added. Interest and payment are each "
    "rounded to whole cents, halves up. How many payments do I make until nothing is owed, and how much "
    "interest have I been charged altogether? Answer with the number and the amount in euros, separated by "
    "a comma.",
    {"balance": 1800, "rate": 18, "minimum": 60, "percent": 5, "threshold": 1000, "fee": 4},
    {"balance": 500, "rate": 24, "minimum": 25, "percent": 10, "threshold": 400, "fee": 2},
    {"balance": 7200, "rate": 12, "minimum": 150, "percent": 4, "threshold": 5000, "fee": 10},
    {"balance": 950, "rate": 21, "minimum": 100, "percent": 3, "threshold": 2000, "fee": 15},
)
def card_payoff(balance: int, rate: int, minimum: int, percent: int, threshold: int, fee: int) -> list[int | float]:
    owed, charged, payments = balance * 100, 0, 0
    while owed > 0:
        interest = (owed * rate * 2 + 1200) // 2400
        owed += interest
        charged += interest
        owed -= min(owed, max(minimum * 100, (owed * percent * 2 + 100) // 200))
        payments += 1
        if owed > threshold * 100:
            owed += fee * 100
    return [payments, charged / 100]
