"""Units."""

from __future__ import annotations

from fractions import Fraction

from reference.question import of_kind, rounded

units = of_kind("units")


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
    "How many degrees Celsius are {fahrenheit} degrees Fahrenheit, rounded to 1 decimal?",
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


@units(
    "hard",
    "test",
    "A runner ran laps of {metres} metres in these times (minutes:seconds): {laps}. Leave out the slowest "
    "lap. What was the average pace over the other laps, as minutes:seconds per mile in the form M:SS, "
    "rounded to whole seconds? Take 1 mile = 1609.344 metres.",
    {"metres": 400, "laps": ["1:32", "1:29", "1:41", "1:28", "1:35"]},
    {"metres": 1000, "laps": ["4:05", "4:12", "5:01"]},
    {"metres": 800, "laps": ["3:10", "2:58", "3:04", "3:21"]},
    {"metres": 250, "laps": ["0:58", "1:01", "1:07", "0:57", "1:00", "1:03"]},
)
def average_pace(metres: int, laps: list[str]) -> str:
    seconds = []
    for lap in laps:
        minutes, rest = lap.split(":")
        seconds.append(60 * int(minutes) + int(rest))
    seconds.remove(max(seconds))
    speed = Fraction(sum(seconds), len(seconds) * metres)
    pace = int(rounded(speed * Fraction("1609.344"), 0))
    return f"{pace // 60}:{pace % 60:02}"
