import difflib
from fractions import Fraction

# Each line: how many base units one unit is, its symbols, and after a bar its names.
_UNITS = {
    "length": """
        1/1000000000 nm | nanometer nanometre
        1/1000000 µm um | micrometer micrometre micron
        1/1000 mm | millimeter millimetre
        1/100 cm | centimeter centimetre
        1/10 dm | decimeter decimetre
        1 m | meter metre
        1000 km | kilometer kilometre
        0.0254 in | inch inches
        0.3048 ft | foot feet
        0.9144 yd | yard
        1609.344 mi | mile
        1852 nmi | nautical_mile
        149597870700 au | astronomical_unit
        9460730472580800 ly | light_year
    """,
    "area": """
        1/1000000 mm2 mm² | square_millimeter square_millimetre
        1/10000 cm2 cm² | square_centimeter square_centimetre
        1 m2 m² | square_meter square_metre
        100 a | are
        10000 ha | hectare
        1000000 km2 km² | square_kilometer square_kilometre
        0.00064516 in2 in² | square_inch square_inches
        0.09290304 ft2 ft² | square_foot square_feet
        0.83612736 yd2 yd² | square_yard
        4046.8564224 ac | acre
        2589988.110336 mi2 mi² | square_mile
    """,
    "volume": """
        1/1000000 ml mL cm3 cm³ | milliliter millilitre cubic_centimeter cubic_centimetre
        1/100000 cl cL | centiliter centilitre
        1/10000 dl dL | deciliter decilitre
        1/1000 l L dm3 dm³ | liter litre
        1/10 hl hL | hectoliter hectolitre
        1 m3 m³ | cubic_meter cubic_metre
        0.000016387064 in3 in³ | cubic_inch cubic_inches
        0.028316846592 ft3 ft³ | cubic_foot cubic_feet
        0.764554857984 yd3 yd³ | cubic_yard
        0.00000492892159375 tsp | teaspoon
        0.00001478676478125 tbsp | tablespoon
        0.0000295735295625 fl_oz US_fl_oz | fluid_ounce us_fluid_ounce
        0.0002365882365 | cup us_cup
        0.000473176473 pt | pint us_pint
        0.000946352946 qt | quart us_quart
        0.003785411784 gal | gallon us_gallon
        0.0000284130625 imp_fl_oz | imperial_fluid_ounce
        0.00056826125 imp_pt | imperial_pint
        0.0011365225 imp_qt | imperial_quart
        0.00454609 imp_gal | imperial_gallon
        0.158987294928 bbl | oil_barrel
    """,
    "mass": """
        1/1000000000 µg ug | microgram
        1/1000000 mg | milligram
        1/1000 g | gram gramme
        1 kg | kilogram kilogramme
        1000 t | tonne metric_ton
        0.0002 ct | carat
        0.00006479891 gr | grain
        0.028349523125 oz | ounce
        0.0311034768 ozt | troy_ounce
        0.45359237 lb lbs | pound
        6.35029318 st | stone
        907.18474 | short_ton us_ton
        1016.0469088 | long_ton imperial_ton
    """,
    "time": """
        1/1000000000 ns | nanosecond
        1/1000000 µs us | microsecond
        1/1000 ms | millisecond
        1 s sec | second
        60 min | minute
        3600 h hr | hour
        86400 d | day
        604800 wk | week
        31557600 | julian_year
    """,
    "speed": """
        1 m/s | meter_per_second metre_per_second
        1/3.6 km/h kph kmh | kilometer_per_hour kilometre_per_hour
        0.44704 mph mi/h | mile_per_hour
        0.3048 ft/s fps | foot_per_second feet_per_second
        1852/3600 kn kt | knot
        299792458 c | speed_of_light
    """,
    "pressure": """
        1 Pa | pascal
        100 hPa mbar | hectopascal millibar
        1000 kPa | kilopascal
        1000000 MPa | megapascal
        100000 bar | bar
        101325 atm | atmosphere
        98066.5 at | technical_atmosphere
        101325/760 Torr | torr
        133.322387415 mmHg | millimeter_of_mercury millimetre_of_mercury
        3386.388640341 inHg | inch_of_mercury inches_of_mercury
        4.4482216152605/0.00064516 psi | pound_per_square_inch
    """,
    "energy": """
        1 J | joule
        1000 kJ | kilojoule
        1000000 MJ | megajoule
        1000000000 GJ | gigajoule
        3600 Wh | watt_hour
        3600000 kWh | kilowatt_hour
        3600000000 MWh | megawatt_hour
        4.184 cal | calorie
        4184 kcal | kilocalorie food_calorie
        1055.05585262 BTU Btu | british_thermal_unit
        1.3558179483314004 ft_lbf | foot_pound
        0.0000000000000000001602176634 eV | electronvolt
    """,
    "power": """
        1/1000 mW | milliwatt
        1 W | watt
        1000 kW | kilowatt
        1000000 MW | megawatt
        1000000000 GW | gigawatt
        745.69987158227022 hp | horsepower mechanical_horsepower
        735.49875 PS | metric_horsepower
        1055.05585262/3600 BTU/h | btu_per_hour
    """,
    "force": """
        1 N | newton
        1000 kN | kilonewton
        9.80665 kgf | kilogram_force
        4.4482216152605 lbf | pound_force
        0.00001 dyn | dyne
    """,
    "angle": """
        1 deg ° | degree
        180/3.14159265358979323846264338327950288 rad | radian
        0.9 gon | grad gradian
        1/60 arcmin | minute_of_arc arcminute
        1/3600 arcsec | second_of_arc arcsecond
        360 | turn revolution
    """,
    "data": """
        1 | bit
        8 B | byte
        1000 kbit | kilobit
        1000000 Mbit | megabit
        1000000000 Gbit | gigabit
        1000000000000 Tbit | terabit
        8000 kB KB | kilobyte
        8000000 MB | megabyte
        8000000000 GB | gigabyte
        8000000000000 TB | terabyte
        8000000000000000 PB | petabyte
        8192 KiB | kibibyte
        8388608 MiB | mebibyte
        8589934592 GiB | gibibyte
        8796093022208 TiB | tebibyte
        9007199254740992 PiB | pebibyte
    """,
    "temperature": """
        1 K | kelvin
        1 °C C degC | celsius degree_celsius
        5/9 °F F degF | fahrenheit degree_fahrenheit
        5/9 °R R degR | rankine degree_rankine
    """,
}
# What is added to a temperature before it is scaled to kelvin.
_OFFSETS = {"°C": Fraction("273.15"), "°F": Fraction("459.67")}
_Unit = tuple[str, Fraction, Fraction]


def _read_units() -> tuple[dict[str, _Unit], dict[str, _Unit]]:
    """Maps symbols, and names in lower case, to the quantity of the unit, its size in base units and its offset."""
    symbols, names = {}, {}
    for quantity, lines in _UNITS.items():
        for line in lines.strip().split("\n"):
            left, _, right = line.partition("|")
            factor, *unit_symbols = left.split()
            numerator, _, denominator = factor.partition("/")
            size = Fraction(numerator) / Fraction(denominator or "1")
            offset = _OFFSETS.get(unit_symbols[0], Fraction(0)) if unit_symbols else Fraction(0)
            symbols |= {symbol.replace("_", " "): (quantity, size, offset) for symbol in unit_symbols}
            names |= {name.replace("_", " "): (quantity, size, offset) for name in right.split()}
    return symbols, names


_SYMBOLS, _NAMES = _read_units()


def _find_unit(name: str, parameter: str) -> _Unit:
    exact = " ".join(name.replace("_", " ").replace("\u03bc", "\u00b5").split())
    if exact in _SYMBOLS:
        return _SYMBOLS[exact]
    words = exact.lower()
    singular = words.replace("s per ", " per ").replace("s of ", " of ").replace("degrees ", "degree ")
    for candidate in (words, singular, singular.removesuffix("s")):
        if candidate in _NAMES:
            return _NAMES[candidate]
    near = difflib.get_close_matches(exact, [*_SYMBOLS, *_NAMES], n=3)
    hint = f"; similar: {', '.join(near)}" if near else ""
    raise ValueError(f"{parameter} is no known unit: {name!r}{hint}")


def convert_units(value: float, from_unit: str, to_unit: str) -> float:
    """Converts a value from one unit to another of the same quantity, exactly and rounded once at the end.

    Quantities: length, area, volume, mass, time, speed, pressure, energy, power, force, angle, data and temperature.

    Also known as: unit converter, miles, kilometers, feet, inches, pounds, kilograms, ounces, gallons, liters, milliliters, millilitres, cups, psi, kWh, horsepower, Fahrenheit, Celsius, megabytes, tablespoons, teaspoons, acres, hectares, how many cups, mph

    Args:
        value: Value in from_unit, -1e300 to 1e300. A temperature is a reading of a thermometer, not a difference.
        from_unit: Unit of value: a symbol or an English name, singular or plural, such as "km", "feet", "m2", "fl oz",
            "km/h", "psi", "kWh", "hp", "MiB" or "°F". Case matters in symbols (mW is not MW, Mbit is not MB) and not in
            names. gal, qt, pt and fl oz are the US units for liquids, "imp gal" and so on the imperial ones; cal is
            4.184 J; hp is the mechanical horsepower, PS the metric one; kB is 1000 and KiB 1024 bytes.
        to_unit: Unit of the result, written in the same way.

    Returns:
        The value in to_unit.

    Raises:
        ValueError: If a unit is unknown (the message names similar ones), if the units measure different quantities,
            if value is not a number from -1e300 to 1e300 or is a temperature below absolute zero, or if the result is
            too large.

    Examples:
        >>> convert_units(26.2, "miles", "km")
        42.1648128
        >>> convert_units(68, "°F", "celsius")
        20.0
        >>> convert_units(-40, "C", "fahrenheit")
        -40.0
        >>> convert_units(1, "square feet", "cm2")
        929.0304
        >>> convert_units(90, "km/h", "m/s")
        25.0
        >>> convert_units(3, "MiB", "kilobytes")
        3145.728
        >>> convert_units(2, "imp gal", "L")
        9.09218
        >>> convert_units(5, "Kilograms", "g")
        5000.0
        >>> convert_units(2, "days", "min")
        2880.0
        >>> convert_units(15, "degrees Celsius", "K")
        288.15
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= 1e300:
        raise ValueError(f"value must be a number from -1e300 to 1e300, got {value!r}")
    quantity, from_size, from_offset = _find_unit(from_unit, "from_unit")
    to_quantity, to_size, to_offset = _find_unit(to_unit, "to_unit")
    if quantity != to_quantity:
        raise ValueError(f"{from_unit!r} measures {quantity}, but {to_unit!r} measures {to_quantity}")
    # The shortest decimal of a float is what the user wrote, so 0.1 counts as one tenth.
    exact = Fraction(repr(value)) if isinstance(value, float) else Fraction(value)
    base = (exact + from_offset) * from_size
    if quantity == "temperature" and base < 0:
        raise ValueError(f"{value} {from_unit} is below absolute zero")
    try:
        return float(base / to_size - to_offset)
    except OverflowError:
        raise ValueError(f"{value} {from_unit} is too large a number in {to_unit}") from None
