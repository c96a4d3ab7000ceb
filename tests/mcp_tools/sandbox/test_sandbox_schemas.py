"""Schemas are derived from signature and docstring, inside the sandbox."""

from __future__ import annotations

import jsonschema
import pytest

from mcp_tools.sandbox.protocol import Description, Problem
from mcp_tools.sandbox.warm import WarmSandbox

pytestmark = pytest.mark.asyncio(loop_scope="module")

PRELUDE = """
from __future__ import annotations
import collections, dataclasses, datetime, decimal, enum, typing
from typing import *
class C(enum.Enum):
    A = "a"
    B = "b"
@dataclasses.dataclass
class P:
    x: int
    y: float = 1.5
class T(TypedDict):
    q: str
    r: NotRequired[int]
class N(NamedTuple):
    a: int
    b: str
class Node:
    pass
@dataclasses.dataclass
class Tree:
    kids: list[Tree]
Ids = NewType("Ids", int)
"""
POINT = {
    "type": "object",
    "properties": {"x": {"type": "integer"}, "y": {"type": "number", "default": 1.5}},
    "required": ["x"],
    "additionalProperties": False,
}
CASES = {
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "str": {"type": "string"},
    "bool": {"type": "boolean"},
    "None": {"type": "null"},
    "Any": {},
    "list": {"type": "array"},
    "list[int]": {"type": "array", "items": {"type": "integer"}},
    "List[List[str]]": {"type": "array", "items": {"type": "array", "items": {"type": "string"}}},
    "Sequence[int]": {"type": "array", "items": {"type": "integer"}},
    "set[str]": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
    "tuple[int, ...]": {"type": "array", "items": {"type": "integer"}},
    "tuple[int, str]": {
        "type": "array",
        "prefixItems": [{"type": "integer"}, {"type": "string"}],
        "minItems": 2,
        "maxItems": 2,
    },
    "dict": {"type": "object"},
    "dict[str, float]": {"type": "object", "additionalProperties": {"type": "number"}},
    "Mapping[str, Any]": {"type": "object"},
    "Optional[int]": {"type": ["integer", "null"]},
    "int | float": {"type": "number"},
    "str | list[str]": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
    "Literal['a', 'b']": {"enum": ["a", "b"], "type": "string"},
    "Literal[1, 'b']": {"enum": [1, "b"], "type": ["integer", "string"]},
    "C": {"enum": ["a", "b"], "type": "string"},
    "P": POINT,
    "list[P]": {"type": "array", "items": POINT},
    "T": {
        "type": "object",
        "properties": {"q": {"type": "string"}, "r": {"type": "integer"}},
        "required": ["q"],
        "additionalProperties": False,
    },
    "N": {
        "type": "array",
        "prefixItems": [{"type": "integer", "title": "a"}, {"type": "string", "title": "b"}],
        "minItems": 2,
        "maxItems": 2,
    },
    "datetime.date": {"type": "string", "format": "date"},
    "datetime.datetime": {"type": "string", "format": "date-time"},
    "Annotated[int, 'how many']": {"type": "integer", "description": "how many"},
    "Ids": {"type": "integer"},
    "collections.Counter[str]": {"type": "object", "additionalProperties": {"type": "integer"}},
}


async def test_annotations(sandbox: WarmSandbox) -> None:
    """Each type is tested as a parameter and as a result."""
    for annotation, expected in CASES.items():
        described = await sandbox.describe(f"{PRELUDE}\ndef f(x: {annotation}) -> {annotation}: ...", "f")
        assert isinstance(described, Description), (annotation, described)
        assert described.input_schema["properties"]["x"] == expected, annotation
        assert described.output_schema["properties"]["result"] == expected, annotation
        jsonschema.Draft202012Validator.check_schema(described.input_schema)
        jsonschema.Draft202012Validator.check_schema(described.output_schema)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def f(x: bytes): ...", "the parameter 'x' has the type bytes, which does not convert to JSON"),
        ("def f(x: Node): ...", "the type Node"),
        ("def f(x: Nope): ...", "name 'Nope' is not defined"),
        ("def f(*x: int): ...", "the parameter *x cannot have a schema: name each parameter"),
        ("def f(**x: int): ...", "the parameter **x"),
        ("def f(x: Callable[[], int]): ...", "which does not convert to JSON"),
        ("def f() -> complex: ...", "the return value has the type complex"),
        ("def f(x: Tree): ...", "contains itself"),
    ],
)
async def test_what_has_no_schema_is_named(sandbox: WarmSandbox, source: str, message: str) -> None:
    problem = await sandbox.describe(f"{PRELUDE}\n{source}", "f")
    assert isinstance(problem, Problem)
    assert message in problem.message


async def test_a_whole_function(sandbox: WarmSandbox) -> None:
    source = '''
def convert(amount: float, rates: dict[str, float], to: str = "EUR", digits: int | None = None) -> float:
    """Converts an amount.

    By way of the euro.

    Args:
        amount: How much.
        rates (dict): What one euro is,
            by currency.
        to: The currency wanted.

    Returns:
        float: The amount there.

    Raises:
        KeyError: No such currency.
    """
'''
    assert await sandbox.describe(source, "convert") == Description(
        name="convert",
        description="Converts an amount.\n\nBy way of the euro.\n\nRaises:\n    KeyError: No such currency.",
        input_schema={
            "type": "object",
            "properties": {
                "amount": {"type": "number", "description": "How much."},
                "rates": {
                    "type": "object",
                    "additionalProperties": {"type": "number"},
                    "description": "What one euro is, by currency.",
                },
                "to": {"type": "string", "description": "The currency wanted.", "default": "EUR"},
                "digits": {"type": ["integer", "null"], "default": None},
            },
            "required": ["amount", "rates"],
            "additionalProperties": False,
        },
        output_schema={
            "type": "object",
            "properties": {"result": {"type": "number", "description": "The amount there."}},
            "required": ["result"],
            "additionalProperties": False,
        },
    )


async def test_the_source_runs_inside_and_its_failures_are_told(isolated: WarmSandbox) -> None:
    for source, kind in (
        ("open('/etc/passwd')\ndef f(): ...", "denied"),
        ("def f(:", "syntax"),
        ("x = 1", "missing_function"),
        ("1/0", "exception"),
    ):
        problem = await isolated.describe(source, "f")
        assert isinstance(problem, Problem)
        assert problem.kind == kind
