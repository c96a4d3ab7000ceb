"""A tool's spec is read from its signature and docstring."""

from __future__ import annotations

from mcp_tools.create.documented_function import DocumentedFunction, read_function
from mcp_tools.tool import Capabilities

FUNCTION = '''def convert_length(length_feet: float, digits: int = 2) -> float:
    """Convert a length from feet to metres.

    Args:
        length_feet: Length in feet, not negative.
        digits: Decimals of the result,
            0 for whole metres.
    """
    return round(length_feet * 0.3048, digits)
'''


def written(source: str) -> DocumentedFunction:
    found = read_function(source, "", Capabilities())
    assert found is not None
    return found


def test_the_definition_is_the_spec() -> None:
    found = written(FUNCTION)
    assert (found.spec.name, found.spec.returns) == ("convert_length", "float")
    assert [(p.name, p.type, p.description) for p in found.spec.parameters] == [
        ("length_feet", "float", "Length in feet, not negative."),
        ("digits", "int", "Decimals of the result, 0 for whole metres."),
    ]
    assert found.spec.purpose == "Convert a length from feet to metres."
    assert "0.3048" not in found.definition


def test_types_of_the_module_belong_to_the_definition_without_their_methods() -> None:
    source = '''from dataclasses import dataclass

Grid = list[list["Cell"]]
FACTOR = 0.3048


@dataclass
class Cell:
    """A cell."""

    height: float = 1.0

    def area(self) -> float:
        return self.height * 7


class Unrelated:
    pass


def area(grid: Grid) -> float:
    """Add up the area of a grid.

    Args:
        grid: Rows of cells.
    """
    return FACTOR * sum(cell.area() for row in grid for cell in row)
'''
    text = written(source).definition
    assert "Grid = list[list['Cell']]" in text
    assert "@dataclass" in text
    assert "height: float = 1.0" in text
    assert "* 7" not in text
    assert "FACTOR" not in text
    assert "Unrelated" not in text


def test_examples_are_read_as_far_as_they_are_literal() -> None:
    shown = """
    >>> convert_length(10.0)
    3.05
    >>> convert_length(length_feet=1, digits=1)
    0.3
    >>> convert_length(x)
    1
    >>> convert_length(-1)
    Traceback (most recent call last):
    ValueError: negative
    >>> round(convert_length(1.0))
    0
    """
    found = written(FUNCTION.replace("feet to metres.\n", f"feet to metres.\n{shown}\n"))
    assert [(test.arguments, test.expected, test.part, test.error) for test in found.examples] == [
        ({"length_feet": 10.0}, 3.05, "", ""),
        ({"length_feet": 1, "digits": 1}, 0.3, "", ""),
        ({"length_feet": -1}, None, "", "ValueError"),
        ({"length_feet": 1.0}, 0, "round(result)", ""),
    ]
    assert found.unused == ("convert_length(x)",)
