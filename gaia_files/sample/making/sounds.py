"""Questions with speech and with a film."""

from __future__ import annotations

from making.question import Draw, Made, only_best, question
from making.speech import film, spoken


@question(1, ".wav", tools="speech recognition")
def platform_change(draw: Draw) -> Made:
    """Listen to the announcement. Take the platform after the change."""
    first, then, later = draw.some(range(2, 13), 3)
    said = (
        f"Attention please. The train to Milton will not leave from platform {first}. Today it leaves from platform "
        f"{then}. The train to Preston leaves from platform {later}."
    )
    text = (
        "From which platform does the train to Milton leave, according to the attached announcement? Give only "
        "the number."
    )
    return Made(text, then, lambda: spoken(said, ".wav"), recipe=said)


@question(1, ".mp3", tools="speech recognition")
def phone_message(draw: Draw) -> Made:
    """Listen to the message. Take the new day of the meeting."""
    old, new, other = draw.some(["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"], 3)
    said = (
        f"Hello, this is Martin. Our meeting cannot be on {old}. Let us meet on {new} at ten o'clock. "
        f"Please bring the keys. You can call me back on {other}. Goodbye."
    )
    text = (
        "On which day of the week will the meeting of the attached phone message be? Answer with the name of the day."
    )
    return Made(text, new, lambda: spoken(said, ".mp3"), recipe=said)


@question(2, ".mp3", tools="speech recognition, code")
def furniture_auction(draw: Draw) -> Made:
    """Listen to the auction. Take the last bid for each thing. Add them up."""
    said, total = "Welcome to the auction.", 0
    for thing in ("table", "mirror", "clock"):
        price = draw.number(3, 9) * 10
        said += f" We begin with the {thing}." if thing == "table" else f" Next is the {thing}."
        for _ in range(draw.number(1, 2)):
            said += f" I hear {price} dollars."
            price += draw.number(1, 4) * 10
        said += f" And sold for {price} dollars."
        total += price
    text = (
        "For how many dollars were all things sold together in the attached recording of an auction? Give only "
        "the number."
    )
    return Made(text, total, lambda: spoken(said, ".mp3"), recipe=said)


@question(2, ".mp3", tools="speech recognition, code")
def weather_report(draw: Draw) -> Made:
    """Listen to the report. Find the warmest and the coldest city. Subtract."""
    cities = ["London", "Paris", "Berlin", "Rome", "Madrid"]
    degrees = dict(zip(cities, draw.some(range(3, 34), 5), strict=True))
    said = "Here is the weather for tomorrow. " + " ".join(
        f"In {city} it will be {d} degrees." for city, d in degrees.items()
    )
    warm, cold = only_best(degrees), only_best({city: -d for city, d in degrees.items()})
    text = (
        "According to the attached weather report, which city will be the warmest, and by how many degrees is it "
        "warmer than the coldest one? Answer as: city, degrees"
    )
    return Made(text, f"{warm}, {degrees[warm] - degrees[cold]}", lambda: spoken(said, ".mp3"), recipe=said)


@question(3, ".mp4", tools="speech recognition, video, code")
def chair_count(draw: Draw) -> Made:
    """Listen which rooms are meant. Read in the pictures how many chairs these have. Add up."""
    rooms = ["Kitchen", "Library", "Garage", "Theatre"]
    chairs = draw.some(range(11, 60), 4)
    gone = draw.some(range(4), 2)
    said = (
        f"Please take all the chairs out of the {rooms[gone[0]].lower()} and out of the {rooms[gone[1]].lower()} "
        "before Friday. The chairs in the other rooms can stay where they are. Thank you very much."
    )
    pictures = [[room, "", f"{count} chairs"] for room, count in zip(rooms, chairs, strict=True)]
    text = (
        "The attached film shows how many chairs are in each room, and a voice asks for the chairs of some rooms to be "
        "taken out. How many chairs have to be taken out? Give only the number."
    )
    answer = sum(chairs[number] for number in gone)
    return Made(text, answer, lambda: film(said, pictures, 3), recipe=repr((said, pictures)))
