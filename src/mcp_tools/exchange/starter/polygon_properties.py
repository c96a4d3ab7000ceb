import math
from decimal import Decimal
from fractions import Fraction

_MOST_VERTICES = 3000
_Point = tuple[int, int]


def _ratios(points: list[list[float]], name: str) -> list[tuple[int, int]]:
    """Numerator and denominator of each coordinate.

    The shortest decimal of a float is what the user wrote, so 0.1 counts as one tenth.
    """
    ratios = []
    for point in points:
        if not isinstance(point, (list, tuple)) or len(point) != 2:
            raise ValueError(f"each of {name} must be a pair [x, y], got {point!r}")
        for value in point:
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= 1e100:
                raise ValueError(f"each of {name} must have two numbers from -1e100 to 1e100, got {point!r}")
            ratios.append((Decimal(repr(value)) if isinstance(value, float) else value).as_integer_ratio())
    return ratios


def _scaled(ratios: list[tuple[int, int]], parts: int) -> list[_Point]:
    """The points in whole multiples of one of so many parts of 1."""
    numbers = [numerator * (parts // denominator) for numerator, denominator in ratios]
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def _cross(a: _Point, b: _Point, c: _Point) -> int:
    """Twice the area of the triangle, positive if it turns counterclockwise."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def _on_segment(point: _Point, start: _Point, end: _Point) -> bool:
    return (
        min(start[0], end[0]) <= point[0] <= max(start[0], end[0])
        and min(start[1], end[1]) <= point[1] <= max(start[1], end[1])
        and _cross(start, end, point) == 0
    )


def _share_a_point(a: _Point, b: _Point, c: _Point, d: _Point) -> bool:
    """Says if the segments a-b and c-d have a point in common."""
    if _on_segment(a, c, d) or _on_segment(b, c, d) or _on_segment(c, a, b) or _on_segment(d, a, b):
        return True
    return _cross(a, b, c) * _cross(a, b, d) < 0 and _cross(c, d, a) * _cross(c, d, b) < 0


def _refuse_crossings(corners: list[_Point]) -> None:
    count = len(corners)
    for i in range(count):
        a, b, c = corners[i - 1], corners[i], corners[(i + 1) % count]
        if a == b:
            raise ValueError(f"vertices has two equal points in a row, before position {i} (counted from 0)")
        if _on_segment(c, a, b) or _on_segment(a, b, c):
            raise ValueError(f"the polygon turns back on itself at the vertex at position {i} (counted from 0)")
    edges = []
    for i, end in enumerate(corners):
        start = corners[i - 1]
        xs, ys = sorted((start[0], end[0])), sorted((start[1], end[1]))
        edges.append((xs[0], xs[1], ys[0], ys[1], i))
    edges.sort()
    # Only edges whose boxes overlap can touch; neighbours meet in their common vertex alone.
    for place, (_, right, low, high, i) in enumerate(edges):
        for other in range(place + 1, count):
            left, _, other_low, other_high, j = edges[other]
            if left > right:
                break
            if other_low > high or other_high < low or (i - j) % count in (1, count - 1):
                continue
            if _share_a_point(corners[i - 1], corners[i], corners[j - 1], corners[j]):
                raise ValueError(
                    f"the polygon crosses or touches itself in the edges that end at positions {i} and {j}"
                )


def _place_of(point: _Point, corners: list[_Point]) -> str:
    inside = False
    for i, end in enumerate(corners):
        start = corners[i - 1]
        if _on_segment(point, start, end):
            return "boundary"
        # A ray to the right crosses the edge if the edge passes the point's height to the right of the point.
        if (start[1] > point[1]) != (end[1] > point[1]) and (_cross(start, end, point) > 0) == (end[1] > start[1]):
            inside = not inside
    return "inside" if inside else "outside"


def polygon_properties(
    vertices: list[list[float]], points: list[list[float]] | None = None
) -> dict[str, float | str | list[float] | list[str]]:
    """Measures a polygon in the plane (area, perimeter, centroid, orientation) and says which points lie in it.

    It may be concave, but it may not cross or touch itself. Coordinates are plane ones of one unit, such as metres;
    latitudes and longitudes are not. Area, centroid and the places of points are computed exactly.

    Also known as: shoelace formula, surveyor's formula, point in polygon, center of mass, polygon area, area of a plot of land, centroid

    Args:
        vertices: Corners [x, y] in order, clockwise or counterclockwise, 3 to 3000. The first one may be repeated
            at the end. Each number is from -1e100 to 1e100.
        points: Points [x, y] to look for. None means none.

    Returns:
        area: Area in the square of the unit, more than 0.
        perimeter: Length of the boundary in the unit.
        centroid: Center of the area, [x, y].
        orientation: "counterclockwise" or "clockwise", with x to the right and y upwards.
        places: For each of points, in their order, "inside", "boundary" or "outside".

    Raises:
        ValueError: If there are fewer than 3 or more than 3000 vertices, if a point is no pair of numbers within the
            limits, if two vertices in a row are equal, or if the polygon turns back on itself, crosses or touches
            itself.

    Examples:
        >>> polygon_properties([[0, 0], [4, 0], [4, 3]], points=[[2, 1], [4, 1], [2, 1.5], [0, 3]])
        {'area': 6.0, 'perimeter': 12.0, 'centroid': [2.6666666666666665, 1.0], 'orientation': 'counterclockwise', 'places': ['inside', 'boundary', 'boundary', 'outside']}
        >>> polygon_properties([[0, 0], [0, 4], [2, 4], [2, 2], [4, 2], [4, 0], [0, 0]], points=[[3, 3], [1, 2]])
        {'area': 12.0, 'perimeter': 16.0, 'centroid': [1.6666666666666667, 1.6666666666666667], 'orientation': 'clockwise', 'places': ['outside', 'inside']}
        >>> polygon_properties([[0, 0], [1, 0], [1, 0.1], [0, 0.1]])
        {'area': 0.1, 'perimeter': 2.2, 'centroid': [0.5, 0.05], 'orientation': 'counterclockwise', 'places': []}
    """
    vertex_ratios, point_ratios = _ratios(vertices, "vertices"), _ratios(points or [], "points")
    parts = math.lcm(*{denominator for _, denominator in vertex_ratios + point_ratios})
    corners = _scaled(vertex_ratios, parts)
    if len(corners) > 3 and corners[0] == corners[-1]:
        corners.pop()
    if not 3 <= len(corners) <= _MOST_VERTICES:
        raise ValueError(f"vertices must have 3 to {_MOST_VERTICES} corners, got {len(corners)}")
    _refuse_crossings(corners)

    doubled_area = x_moment = y_moment = 0
    lengths = []
    for i, (x, y) in enumerate(corners):
        last_x, last_y = corners[i - 1]
        product = last_x * y - x * last_y
        doubled_area += product
        x_moment += (last_x + x) * product
        y_moment += (last_y + y) * product
        lengths.append(math.hypot((x - last_x) / parts, (y - last_y) / parts))
    return {
        "area": abs(doubled_area) / (2 * parts * parts),
        "perimeter": math.fsum(lengths),
        "centroid": [float(Fraction(moment, 3 * doubled_area * parts)) for moment in (x_moment, y_moment)],
        "orientation": "counterclockwise" if doubled_area > 0 else "clockwise",
        "places": [_place_of(point, corners) for point in _scaled(point_ratios, parts)],
    }
