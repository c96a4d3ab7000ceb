# /// script
# requires-python = ">=3.11"
# dependencies = ["matplotlib"]
#
# [tool.alita]
# write = true
# ///

import math
import re
from typing import Literal

from matplotlib import rc_context
from matplotlib.figure import Figure


def draw_chart(
    x: list[float | str],
    series: dict[str, list[float | None]],
    kind: Literal["line", "bar", "scatter"] = "line",
    title: str = "",
    x_label: str = "",
    y_label: str = "",
    output_name: str = "chart.png",
    width_px: int = 1000,
    height_px: int = 600,
    label_angle: int = 0,
) -> dict:
    """Draws a line, bar or scatter chart of one or more series of numbers, and writes it as a PNG or SVG file.

    Also known as: plot, graph, diagram, bar graph, line graph, scatter plot, visualize data, matplotlib

    Args:
        x: The values on the horizontal axis: numbers, or texts such as names and dates, which are put side by side in
            the given order. A bar chart puts numbers side by side, too. If one of them is a text, all count as texts.
        series: The name of each series and its values, one for each `x`; null where there is none. Names of several
            series are shown in a legend.
        kind: "line" joins the points of a series in the given order and leaves gaps where values are missing; "bar"
            draws the bars of several series side by side; "scatter" draws the points alone.
        title: The title above the chart; "" for none.
        x_label: The label of the horizontal axis, with its unit; "" for none.
        y_label: The label of the vertical axis, with its unit; "" for none.
        output_name: The name of the file that is written: a plain name that ends in ".png" or ".svg".
        width_px: The width of the picture in pixels, 200 to 4000 (of an SVG file: at 100 pixels per inch).
        height_px: The height of the picture in pixels, 200 to 4000.
        label_angle: By how many degrees the texts under the horizontal axis are turned, 0 to 90; long ones need 45 or
            90.

    Returns:
        A dict that says what the chart shows:
        "file": the name of the written file,
        "points": a dict from each series to how many of its values were drawn,
        "x_range": the smallest and largest place that points or bars take on the horizontal axis, rounded to 6 digits;
        texts stand at 0, 1, 2 and so on, and the bars of all series at one place together are 0.8 wide,
        "y_min" and "y_max": the smallest and largest drawn value,
        "x_texts": the texts under the horizontal axis, empty if it has numbers,
        "labels": the title and the labels of the horizontal and vertical axis,
        "legend": the names in the legend, empty for a single series,
        "size_px": width and height.

    Raises:
        ValueError: If `x` or `series` is empty, if a series has another number of values than `x`, has no value at all
            or no name; if a number is not finite; if the size is not 200 to 4000 or the angle not 0 to 90; if the
            output name is not plain.

    Examples:
        >>> draw_chart(["Jan", "Feb"], {"Rain": [50.5, 30], "Snow": [None, 12]}, "bar", title="2026", y_label="mm", output_name="r.svg")
        {'file': 'r.svg', 'points': {'Rain': 2, 'Snow': 1}, 'x_range': [-0.4, 1.4], 'y_min': 12, 'y_max': 50.5, 'x_texts': ['Jan', 'Feb'], 'labels': ['2026', '', 'mm'], 'legend': ['Rain', 'Snow'], 'size_px': [1000, 600]}
        >>> draw_chart([0, 1, 2.5], {"v": [1, 4, -2]}, x_label="time (s)", width_px=400, height_px=200)
        {'file': 'chart.png', 'points': {'v': 3}, 'x_range': [0, 2.5], 'y_min': -2, 'y_max': 4, 'x_texts': [], 'labels': ['', 'time (s)', ''], 'legend': [], 'size_px': [400, 200]}
        >>> draw_chart([2, 5, 9], {"a": [1, None, 3], "b": [2, 2, None], "c": [7, 7, 7]}, "scatter", title="$a$", height_px=4000, width_px=200)
        {'file': 'chart.png', 'points': {'a': 2, 'b': 2, 'c': 3}, 'x_range': [2, 9], 'y_min': 1, 'y_max': 7, 'x_texts': [], 'labels': ['$a$', '', ''], 'legend': ['a', 'b', 'c'], 'size_px': [200, 4000]}
        >>> draw_chart(["x"], {"a": [1], "b": [2], "c": [3], "d": [4]}, "bar")
        {'file': 'chart.png', 'points': {'a': 1, 'b': 1, 'c': 1, 'd': 1}, 'x_range': [-0.4, 0.4], 'y_min': 1, 'y_max': 4, 'x_texts': ['x'], 'labels': ['', '', ''], 'legend': ['a', 'b', 'c', 'd'], 'size_px': [1000, 600]}
        >>> draw_chart([10, "n/a"], {"a": [1, 2]}, "line", label_angle=90)
        {'file': 'chart.png', 'points': {'a': 2}, 'x_range': [0, 1], 'y_min': 1, 'y_max': 2, 'x_texts': ['10', 'n/a'], 'labels': ['', '', ''], 'legend': [], 'size_px': [1000, 600]}
        >>> draw_chart([0], {"_u": [1], "B": [0]}, output_name="c.png")
        {'file': 'c.png', 'points': {'_u': 1, 'B': 1}, 'x_range': [0, 0], 'y_min': 0, 'y_max': 1, 'x_texts': [], 'labels': ['', '', ''], 'legend': ['_u', 'B'], 'size_px': [1000, 600]}
        >>> draw_chart([1, 2], {"v": [3]})
        Traceback (most recent call last):
        ...
        ValueError: the series 'v' has 1 values, but x has 2
        >>> draw_chart([1], {"v": [None]})
        Traceback (most recent call last):
        ...
        ValueError: the series 'v' has no value
        >>> draw_chart([], {"v": []})
        Traceback (most recent call last):
        ...
        ValueError: x is empty
        >>> draw_chart([1], {})
        Traceback (most recent call last):
        ...
        ValueError: series is empty
        >>> draw_chart([1], {" ": [1]})
        Traceback (most recent call last):
        ...
        ValueError: a series has no name
        >>> draw_chart([1], {"v": [1]}, width_px=199)
        Traceback (most recent call last):
        ...
        ValueError: width_px must be 200 to 4000, not 199
        >>> draw_chart([1], {"v": [1]}, height_px=4001)
        Traceback (most recent call last):
        ...
        ValueError: height_px must be 200 to 4000, not 4001
        >>> draw_chart([1], {"v": [1]}, label_angle=91)
        Traceback (most recent call last):
        ...
        ValueError: label_angle must be 0 to 90, not 91
        >>> draw_chart([1], {"v": [1]}, output_name="a.jpg")
        Traceback (most recent call last):
        ...
        ValueError: output_name must be a plain name that ends in .png or .svg, not 'a.jpg'
    """
    if not re.fullmatch(r"\w[^/\\\x00-\x1f]*\.(?:png|svg)", output_name):
        raise ValueError(f"output_name must be a plain name that ends in .png or .svg, not {output_name!r}")
    for name, pixels in (("width_px", width_px), ("height_px", height_px)):
        if not 200 <= pixels <= 4000:
            raise ValueError(f"{name} must be 200 to 4000, not {pixels}")
    if not 0 <= label_angle <= 90:
        raise ValueError(f"label_angle must be 0 to 90, not {label_angle}")
    _require_data(x, series)
    # what stands between two dollar signs is text, not a formula
    with rc_context({"text.parse_math": False}):
        figure = Figure(figsize=(width_px / 100, height_px / 100), dpi=100, layout="constrained")
        axes = figure.add_subplot()
        texts = [_shown(value) for value in x] if kind == "bar" or any(isinstance(value, str) for value in x) else []
        places = list(range(len(x))) if texts else x
        artists = []
        for number, values in enumerate(series.values()):
            heights = [math.nan if value is None else value for value in values]
            if kind == "line":
                artists += axes.plot(places, heights, marker=".")
            elif kind == "scatter":
                artists.append(axes.scatter(places, heights))
            else:
                width = 0.8 / len(series)
                left = width * number - 0.4
                artists.append(axes.bar([place + left for place in places], heights, width, align="edge"))
        if texts:
            axes.set_xticks(places, texts, rotation=label_angle)
        axes.set_title(title)
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
        axes.grid(axis="y", alpha=0.3)
        legend = axes.legend(artists, list(series)) if len(series) > 1 else None
        figure.savefig(output_name)
    drawn = [value for values in series.values() for value in values if value is not None]
    return {
        "file": output_name,
        "points": {name: sum(value is not None for value in values) for name, values in series.items()},
        "x_range": [round(float(place), 6) for place in axes.dataLim.intervalx],
        "y_min": min(drawn),
        "y_max": max(drawn),
        "x_texts": [label.get_text() for label in axes.get_xticklabels()] if texts else [],
        "labels": [axes.get_title(), axes.get_xlabel(), axes.get_ylabel()],
        "legend": [text.get_text() for text in legend.get_texts()] if legend else [],
        "size_px": [round(float(side)) for side in (figure.bbox.width, figure.bbox.height)],
    }


def _shown(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.10g}"


def _require_data(x: list[float | str], series: dict[str, list[float | None]]) -> None:
    if not x:
        raise ValueError("x is empty")
    if not series:
        raise ValueError("series is empty")
    for name, values in series.items():
        if not name.strip():
            raise ValueError("a series has no name")
        if len(values) != len(x):
            raise ValueError(f"the series {name!r} has {len(values)} values, but x has {len(x)}")
        if all(value is None for value in values):
            raise ValueError(f"the series {name!r} has no value")
    for value in [*x, *(value for values in series.values() for value in values)]:
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"{value} is not a finite number")
