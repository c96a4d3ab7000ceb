import math
from decimal import Decimal

_Point = tuple[int, int]


def _on_one_scale(points: list[list[float]]) -> tuple[list[_Point], int]:
    """The points in whole multiples of one part of 1, and how many parts 1 has.

    The shortest decimal of a float is what the user wrote, so 0.1 counts as one tenth.
    """
    ratios = []
    for point in points:
        if not isinstance(point, (list, tuple)) or len(point) != 2:
            raise ValueError(f"each of points must be a pair [x, y], got {point!r}")
        for value in point:
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= 1e100:
                raise ValueError(f"each of points must have two numbers from -1e100 to 1e100, got {point!r}")
            ratios.append((Decimal(repr(value)) if isinstance(value, float) else value).as_integer_ratio())
    parts = math.lcm(*{denominator for _, denominator in ratios})
    numbers = [numerator * (parts // denominator) for numerator, denominator in ratios]
    return list(zip(numbers[::2], numbers[1::2], strict=True)), parts


def _half_hull(ordered: list[_Point]) -> list[_Point]:
    """The corners from the first point to the last, with left turns only; the last point is left out."""
    corners: list[_Point] = []
    for x, y in ordered:
        while len(corners) > 1:
            (ax, ay), (bx, by) = corners[-2:]
            if (bx - ax) * (y - ay) - (by - ay) * (x - ax) > 0:
                break
            corners.pop()
        corners.append((x, y))
    return corners[:-1]


def convex_hull(points: list[list[float]]) -> dict[str, float | list[int] | list[list[float]]]:
    """Finds the convex hull of points in the plane, the smallest convex polygon around them, with area and perimeter.

    Points within it or on one of its edges are no corners. The corners are found exactly, so nearly straight edges
    cause no errors.

    Also known as: convex envelope, bounding polygon, Graham scan, monotone chain, outline of points

    Args:
        points: Points [x, y] in any order, at least one; repeated ones count once. Each number is from -1e100 to 1e100.

    Returns:
        vertices: Corners [x, y] counterclockwise (x to the right, y upwards), from the one with the smallest x, and
            among those the smallest y. Only the two ends if all points lie on a line, and one point if all are equal.
        indices: For each corner, the position in points of its first occurrence, counted from 0.
        area: Area of the hull; 0 if all points lie on a line.
        perimeter: Length of the way around the hull; if all points lie on a line, there and back.

    Raises:
        ValueError: If points is empty, or if one of them is no pair of numbers within the limits.

    Examples:
        >>> convex_hull([[1, 1], [0, 0], [2, 0], [2, 2], [0, 2], [1, 0], [2, 2]])
        {'vertices': [[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0]], 'indices': [1, 2, 3, 4], 'area': 4.0, 'perimeter': 8.0}
        >>> convex_hull([[0, 3], [4, 0], [1, 1], [0, 0], [2, 1]])
        {'vertices': [[0.0, 0.0], [4.0, 0.0], [0.0, 3.0]], 'indices': [3, 1, 0], 'area': 6.0, 'perimeter': 12.0}
        >>> convex_hull([[3, 4], [0, 0], [1.5, 2]])
        {'vertices': [[0.0, 0.0], [3.0, 4.0]], 'indices': [1, 0], 'area': 0.0, 'perimeter': 10.0}
        >>> convex_hull([[5, -1], [5, -1]])
        {'vertices': [[5.0, -1.0]], 'indices': [0], 'area': 0.0, 'perimeter': 0.0}
    """
    if not points:
        raise ValueError("points is empty; at least one point is needed")
    scaled, parts = _on_one_scale(points)
    first_index: dict[_Point, int] = {}
    for index, point in enumerate(scaled):
        first_index.setdefault(point, index)
    ordered = sorted(first_index)
    # The lower half from left to right, then the upper half back; a single point is both ends.
    corners = _half_hull(ordered) + _half_hull(ordered[::-1]) if len(ordered) > 1 else ordered

    doubled_area = 0
    lengths = []
    for i, (x, y) in enumerate(corners):
        last_x, last_y = corners[i - 1]
        doubled_area += last_x * y - x * last_y
        lengths.append(math.hypot((x - last_x) / parts, (y - last_y) / parts))
    return {
        "vertices": [[x / parts, y / parts] for x, y in corners],
        "indices": [first_index[corner] for corner in corners],
        "area": doubled_area / (2 * parts * parts),
        "perimeter": math.fsum(lengths),
    }
