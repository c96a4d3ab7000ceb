import math
from decimal import Decimal


def text_histogram(
    values: list[float], bins: int = 10, low: float | None = None, high: float | None = None, width: int = 40
) -> dict:
    """Draws the distribution of numbers as a histogram of text, with the counts of its bins of equal width.

    Also known as: text bar chart, ASCII histogram, terminal chart, distribution of values

    Args:
        values: The numbers, at least one.
        bins: The number of bins, 1 to 200.
        low: Where the first bin begins; null means at the smallest value.
        high: Where the last bin ends; null means at the largest value. If `low` and `high` turn out equal, 0.5 is taken
            off and added.
        width: The length of the longest bar in characters, 1 to 200.

    Returns:
        A dict with
        "bins": a list of dicts with "from", "to" (rounded to 10 digits after the point) and "count"; a bin has the
        values from "from" on and below "to", the last one also those equal to "to",
        "below" and "above": how many values lie below the first bin or above the last one,
        "chart": one line for each bin, joined by LF: "from .. to", both written with up to 6 significant digits and
        aligned to the right, " | ", a bar of "#" and, after a blank, the count. A bar has count * width / (the largest
        count) characters, rounded half up, but at least one if the count is not 0; without a count, " | " is followed
        by the count alone.

    Raises:
        ValueError: If there are no values, if one of them, `low` or `high` is not finite, if `bins` or `width` is not 1
            to 200, or if `low` is greater than `high`.

    Examples:
        >>> text_histogram([1, 2, 2, 3, 10], bins=3, low=1, high=10, width=8)
        {'bins': [{'from': 1.0, 'to': 4.0, 'count': 4}, {'from': 4.0, 'to': 7.0, 'count': 0}, {'from': 7.0, 'to': 10.0, 'count': 1}], 'below': 0, 'above': 0, 'chart': '1 ..  4 | ######## 4\\n4 ..  7 | 0\\n7 .. 10 | ## 1'}
        >>> text_histogram([0, 5, 10, 15], bins=2, low=5, high=10, width=3)
        {'bins': [{'from': 5.0, 'to': 7.5, 'count': 1}, {'from': 7.5, 'to': 10.0, 'count': 1}], 'below': 1, 'above': 1, 'chart': '  5 .. 7.5 | ### 1\\n7.5 ..  10 | ### 1'}
        >>> text_histogram([2, 2], bins=2, width=1)
        {'bins': [{'from': 1.5, 'to': 2.0, 'count': 0}, {'from': 2.0, 'to': 2.5, 'count': 2}], 'below': 0, 'above': 0, 'chart': '1.5 ..   2 | 0\\n  2 .. 2.5 | # 2'}
        >>> text_histogram([0, 0, 0, 0, 0, 1], bins=2, width=2)
        {'bins': [{'from': 0.0, 'to': 0.5, 'count': 5}, {'from': 0.5, 'to': 1.0, 'count': 1}], 'below': 0, 'above': 0, 'chart': '  0 .. 0.5 | ## 5\\n0.5 ..   1 | # 1'}
        >>> text_histogram([0.3, 0.6, 0.9, 0.7, 0.3], bins=3, low=0, high=0.9, width=4)
        {'bins': [{'from': 0.0, 'to': 0.3, 'count': 0}, {'from': 0.3, 'to': 0.6, 'count': 2}, {'from': 0.6, 'to': 0.9, 'count': 3}], 'below': 0, 'above': 0, 'chart': '  0 .. 0.3 | 0\\n0.3 .. 0.6 | ### 2\\n0.6 .. 0.9 | #### 3'}
        >>> text_histogram([0.4], bins=2, low=-0.4, width=3)
        {'bins': [{'from': -0.4, 'to': 0.0, 'count': 0}, {'from': 0.0, 'to': 0.4, 'count': 1}], 'below': 0, 'above': 0, 'chart': '-0.4 ..   0 | 0\\n   0 .. 0.4 | ### 1'}
        >>> text_histogram([1e308, -1e308, 1e308], bins=2, width=4)
        {'bins': [{'from': -1e+308, 'to': 0.0, 'count': 1}, {'from': 0.0, 'to': 1e+308, 'count': 2}], 'below': 0, 'above': 0, 'chart': '-1e+308 ..      0 | ## 1\\n      0 .. 1e+308 | #### 2'}
        >>> text_histogram([])
        Traceback (most recent call last):
        ...
        ValueError: values is empty
        >>> text_histogram([1], bins=201)
        Traceback (most recent call last):
        ...
        ValueError: bins must be 1 to 200, not 201
        >>> text_histogram([1], width=0)
        Traceback (most recent call last):
        ...
        ValueError: width must be 1 to 200, not 0
        >>> text_histogram([1], low=2)
        Traceback (most recent call last):
        ...
        ValueError: low (2) is greater than high (1)
    """
    if not values:
        raise ValueError("values is empty")
    for name, number in (("bins", bins), ("width", width)):
        if not 1 <= number <= 200:
            raise ValueError(f"{name} must be 1 to 200, not {number}")
    ends = [min(values) if low is None else low, max(values) if high is None else high]
    for number in (*values, *ends):
        if not math.isfinite(number):
            raise ValueError(f"{number} is not a finite number")
    if ends[0] > ends[1]:
        raise ValueError(f"low ({ends[0]}) is greater than high ({ends[1]})")
    (start, end, *numbers), parts = _on_one_scale([*ends, *values])
    if start == end:
        start, end = start - parts // 2, end + parts // 2
    span = end - start
    edges = [(start * bins + span * i) / (parts * bins) for i in range(bins + 1)]
    counts = [0] * bins
    for number in numbers:
        if start <= number <= end:
            counts[min((number - start) * bins // span, bins - 1)] += 1
    return {
        "bins": [
            {"from": round(left, 10), "to": round(right, 10), "count": count}
            for left, right, count in zip(edges, edges[1:], counts)
        ],
        "below": sum(number < start for number in numbers),
        "above": sum(number > end for number in numbers),
        "chart": _chart(edges, counts, width),
    }


def _on_one_scale(values: list[float]) -> tuple[list[int], int]:
    """The numbers as whole multiples of one part of 1, and how many parts 1 has, which is an even number.

    The shortest decimal of a float is what the user wrote, so 0.1 counts as one tenth.
    """
    ratios = [(Decimal(repr(value)) if isinstance(value, float) else value).as_integer_ratio() for value in values]
    parts = math.lcm(2, *{denominator for _, denominator in ratios})
    return [numerator * (parts // denominator) for numerator, denominator in ratios], parts


def _chart(edges: list[float], counts: list[int], width: int) -> str:
    marks = [f"{edge:.6g}" for edge in edges]
    left = max(len(mark) for mark in marks[:-1])
    right = max(len(mark) for mark in marks[1:])
    largest = max(counts)
    lines = []
    for begin, end, count in zip(marks, marks[1:], counts):
        bar = "#" * max(math.floor(count * width / largest + 0.5), 1) + " " if count else ""
        lines.append(f"{begin:>{left}} .. {end:>{right}} | {bar}{count}")
    return "\n".join(lines)
