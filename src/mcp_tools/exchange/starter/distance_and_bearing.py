# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy"]
# ///

import math
from typing import Literal

import numpy as np
from numpy.polynomial.legendre import leggauss

# Equatorial radius in metres and flattening.
_EARTHS = {"wgs84": (6378137.0, 1 / 298.257223563), "sphere": (6371008.8, 0.0)}
_NODES, _WEIGHTS = leggauss(12)


def _number(value: float, name: str, limit: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -limit <= value <= limit:
        raise ValueError(f"{name} must be a number of degrees from -{limit} to {limit}, got {value!r}")
    return float(value)


def _reduced(latitude: float, flattening: float) -> tuple[float, float]:
    """Sine and cosine of the reduced latitude."""
    sine = (1 - flattening) * math.sin(math.radians(latitude))
    cosine = math.cos(math.radians(latitude))
    length = math.hypot(sine, cosine)
    return sine / length, cosine / length


class _Line:
    """The geodesic from one reduced latitude in a given direction to its northward crossing of another one.

    The first latitude is not north of the equator, and the second is no farther from the equator. Directions are sine
    and cosine of the angle to the north.
    """

    def __init__(self, first: tuple[float, float], second: tuple[float, float], direction: float, flattening: float):
        sine1, cosine1 = first
        sine2, cosine2 = second
        # From -1 (north) over 0 (east) to 1 (south), with a fine resolution at all three.
        east, north = 1 - abs(direction), -direction
        length = math.hypot(east, north)
        self.start = (east / length, north / length)
        sin1, cos1 = self.start
        # sin²β1 - sin²β2, in the form that does not cancel near the equator or near a pole.
        if cosine1 < -sine1:
            difference = (cosine2 - cosine1) * (cosine1 + cosine2)
        else:
            difference = (sine1 - sine2) * (sine1 + sine2)
        sin0 = sin1 * cosine1
        cos2 = math.sqrt(max(0.0, (cos1 * cosine1) ** 2 + difference)) / cosine2
        self.end = (sin0 / cosine2, cos2)

        sigma1 = math.atan2(sine1, cos1 * cosine1)
        sigma2 = math.atan2(sine2, cos2 * cosine2)
        omega1 = math.atan2(sin0 * sine1, cos1 * cosine1)
        omega2 = math.atan2(sin0 * sine2, cos2 * cosine2)
        # The integrands vary so little that 12 Gauss-Legendre nodes are exact to the last digits.
        half = max(0.0, sigma2 - sigma1) / 2
        sines = np.sin((sigma1 + sigma2) / 2 + half * _NODES)
        second_eccentricity = flattening * (2 - flattening) / (1 - flattening) ** 2
        cos0_squared = cos1**2 + (sin1 * sine1) ** 2
        roots = np.sqrt(1 + second_eccentricity * cos0_squared * sines**2)
        # In units of the polar radius.
        self.distance = half * float(_WEIGHTS @ roots)
        shift = half * float(_WEIGHTS @ ((2 - flattening) / (1 + (1 - flattening) * roots)))
        self.longitude = omega2 - omega1 - flattening * sin0 * shift


def _shortest_line(
    first: tuple[float, float], second: tuple[float, float], longitude: float, flattening: float
) -> _Line:
    """The line that reaches the second latitude after this difference of longitude, which grows with the direction."""
    if longitude == math.pi:
        return _Line(first, second, 1.0, flattening)
    low, high = -1.0, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if _Line(first, second, middle, flattening).longitude < longitude:
            low = middle
        else:
            high = middle
    return _Line(first, second, high, flattening)


def distance_and_bearing(
    latitude_1: float,
    longitude_1: float,
    latitude_2: float,
    longitude_2: float,
    earth: Literal["wgs84", "sphere"] = "wgs84",
) -> dict[str, float | None]:
    """Measures how far apart two places on the Earth are, from their coordinates, and the direction of the shortest way.

    Also known as: great-circle distance, haversine, geodesic, Vincenty, Karney, azimuth, course, as the crow flies, far away, distance between two cities, distance in kilometers or miles

    Args:
        latitude_1: Latitude of the first place in decimal degrees, -90 to 90, north positive.
        longitude_1: Longitude of the first place in decimal degrees, -180 to 180, east positive.
        latitude_2: Latitude of the second place, in the same way.
        longitude_2: Longitude of the second place, in the same way.
        earth: "wgs84": the ellipsoid of GPS, for geodetic latitudes. "sphere": a sphere with the Earth's mean radius,
            6371008.8 m.

    Returns:
        distance_m: Distance at sea level in metres, rounded to millimetres.
        initial_bearing_degrees: Direction of the way at the first place, clockwise from north, 0 or more and below 360,
            rounded to 6 decimals. None if the distance is 0.
        final_bearing_degrees: Direction in which the way arrives at the second place, in the same way.
        Between places on opposite meridians, 180 degrees of longitude apart, the way leads over a pole.

    Raises:
        ValueError: If a latitude or longitude is not a number within its limits, or if earth is none of its choices.

    Examples:
        >>> distance_and_bearing(0, 0, 0, 90, earth="sphere")
        {'distance_m': 10007557.221, 'initial_bearing_degrees': 90.0, 'final_bearing_degrees': 90.0}
        >>> distance_and_bearing(0, 179.5, 0, -179.5)
        {'distance_m': 111319.491, 'initial_bearing_degrees': 90.0, 'final_bearing_degrees': 90.0}
        >>> distance_and_bearing(90, 0, 0, 0)
        {'distance_m': 10001965.729, 'initial_bearing_degrees': 180.0, 'final_bearing_degrees': 180.0}
        >>> distance_and_bearing(0, 0, 0, 180)
        {'distance_m': 20003931.459, 'initial_bearing_degrees': 0.0, 'final_bearing_degrees': 180.0}
        >>> distance_and_bearing(12.5, -70, 12.5, -70)
        {'distance_m': 0.0, 'initial_bearing_degrees': None, 'final_bearing_degrees': None}
    """
    latitudes = [_number(latitude_1, "latitude_1", 90), _number(latitude_2, "latitude_2", 90)]
    longitudes = [_number(longitude_1, "longitude_1", 180), _number(longitude_2, "longitude_2", 180)]
    if earth not in _EARTHS:
        raise ValueError(f"earth must be 'wgs84' or 'sphere', got {earth!r}")
    radius, flattening = _EARTHS[earth]

    # The problem is mirrored so that the first place is in the south and farther from the equator, and the way leads
    # eastwards; the directions are mirrored back at the end.
    east = math.remainder(longitudes[1] - longitudes[0], 360)
    east_sign = -1 if east < 0 else 1
    longitude = math.radians(abs(east))
    swapped = abs(latitudes[0]) < abs(latitudes[1])
    if swapped:
        latitudes.reverse()
    north_sign = 1 if latitudes[0] < 0 else -1
    first = _reduced(north_sign * latitudes[0], flattening)
    second = _reduced(north_sign * latitudes[1], flattening)

    if first[0] == second[0] == 0 and longitude <= (1 - flattening) * math.pi and longitude < math.pi:
        distance, start, end = radius * longitude, (1.0, 0.0), (1.0, 0.0)
    else:
        line = _shortest_line(first, second, longitude, flattening)
        distance, start, end = radius * (1 - flattening) * line.distance, line.start, line.end
    if swapped:
        start, end = end, start
        north_sign = -north_sign

    distance = round(distance, 3)
    bearings = [
        round(math.degrees(math.atan2(east_sign * sine, north_sign * cosine)), 6) % 360 for sine, cosine in (start, end)
    ]
    return {
        "distance_m": distance,
        "initial_bearing_degrees": bearings[0] if distance else None,
        "final_bearing_degrees": bearings[1] if distance else None,
    }
