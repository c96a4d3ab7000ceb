"""A spec generalises its question: its values become typed parameters."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from creating import ScriptedWriter
from hypothesis import strategies as st

from mcp_tools.create import Request
from mcp_tools.create.small.examine import examples_schema, write_tests
from mcp_tools.create.small.spec import SPEC_SCHEMA, write_spec
from mcp_tools.create.small.spec_values import TYPES, type_schema
from mcp_tools.create.small.substitute import with_parameters, with_values
from mcp_tools.errors import CreationError

TYPE_SCHEMAS: dict[str, dict[str, Any]] = {
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "str": {"type": "string"},
    "bool": {"type": "boolean"},
    "list[str]": {"type": "array", "items": {"type": "string"}},
    "list[list[int]]": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
    "dict[str, float]": {"type": "object", "additionalProperties": {"type": "number"}},
    "dict[str, list[int]]": {
        "type": "object",
        "additionalProperties": {"type": "array", "items": {"type": "integer"}},
    },
    "list[dict[str, str]]": {
        "type": "array",
        "items": {"type": "object", "additionalProperties": {"type": "string"}},
    },
    "Any": {},
}


def form(*parameters: tuple[str, str, Any], name: str = "do_it", returns: str = "int") -> dict[str, Any]:
    fields = [{"name": name_, "type": type_, "value": value} for name_, type_, value in parameters]
    return {"purpose": "Do it.", "name": name, "parameters": fields, "returns": returns}


def weak(specs: list[Any]) -> ScriptedWriter:
    return ScriptedWriter(specs)


def typed_value(type_: str) -> st.SearchStrategy[tuple[str, Any]]:
    """A type with a value of it."""
    return st.tuples(st.just(type_), _value(type_))


def _value(type_: str) -> st.SearchStrategy[Any]:
    if type_.startswith("list["):
        return st.lists(_value(type_[5:-1]), max_size=4)
    if type_.startswith("dict["):
        return st.dictionaries(st.text(max_size=3), _value(type_[10:-1]), max_size=4)
    scalars = {"int": st.integers(), "float": st.floats(allow_nan=False, allow_infinity=False), "bool": st.booleans()}
    return scalars.get(type_, st.text(max_size=8) | st.sampled_from(["12", "5.5%", "[1, 2]", "'0.055'"]))


@pytest.mark.parametrize(("annotation", "schema"), TYPE_SCHEMAS.items(), ids=TYPE_SCHEMAS)
def test_the_schema_of_a_type(annotation: str, schema: dict[str, Any]) -> None:
    assert type_schema(annotation) == schema


@pytest.mark.parametrize("annotation", TYPES)
def test_every_type_of_a_spec_has_a_schema(annotation: str) -> None:
    schema = type_schema(annotation)
    assert schema
    jsonschema.Draft202012Validator.check_schema(schema)


READ: dict[str, tuple[str, tuple[str, str, Any], str, Any]] = {
    "whole float": ("7 apples", ("n", "int", 7.0), "int", 7),
    "int as float": ("7 apples", ("n", "float", 7), "float", 7.0),
    "number as text": ("7 apples", ("n", "int", "7"), "int", 7),
    "a decimal comma": ("1,5 kg", ("kg", "float", "1,5"), "str", "1,5"),
    "digits declared as text": ("the code 120", ("code", "str", "120"), "str", "120"),
    "a list of a wider type": ("sort 3, 1, 2", ("values", "list[float]", [3, 1, 2]), "list[float]", [3.0, 1.0, 2.0]),
    "a list as text": ("sort 3, 1, 2", ("values", "list[int]", "[3, 1, 2]"), "list[int]", [3, 1, 2]),
    "a list that ends with or": (
        "is 7, 14, 21, 28 or 35 in it",
        ("n", "list[int]", [7, 14, 21, 28, 35]),
        "list[int]",
        [7, 14, 21, 28, 35],
    ),
    "a list that the question does not enumerate": (
        "of 12, 7, 3, 25",
        ("n", "list[int]", [12, 7, 3, 25, 7]),
        "list[int]",
        [12, 7, 3, 25, 7],
    ),
    "percentage as text": ("at 6.5 %", ("rate", "float", "6.5%"), "float", 6.5),
    "thousands": ("1,250 apples", ("n", "int", "1,250"), "int", 1250),
    "quoted digits stay text": ("reverse '120'", ("text", "str", "120"), "str", "120"),
    "a list in a scalar type": ("sort 3, 1, 2", ("values", "int", [3, 1, 2]), "list[int]", [3, 1, 2]),
    "mixed numbers": ("3 and 1.5", ("values", "list[int]", [3, 1.5]), "list[float]", [3, 1.5]),
    "a dict": ("Tom is 34", ("ages", "str", {"Tom": 34}), "dict[str, int]", {"Tom": 34}),
    "nested": ("1 2 and 3 4", ("rows", "list[int]", [[1, 2], [3, 4]]), "list[list[int]]", [[1, 2], [3, 4]]),
    "an object with nothing in a key": (
        "A 3, B none",
        ("d", "dict[str, int]", {"A": 3, "B": None}),
        "dict[str, Any]",
        {"A": 3, "B": None},
    ),
}


@pytest.mark.parametrize(("question", "field", "type_", "value"), READ.values(), ids=READ)
async def test_values_stay_as_written(question: str, field: tuple[str, str, Any], type_: str, value: Any) -> None:
    wanted = await write_spec(Request(question), ScriptedWriter([form(field)]))
    assert wanted.arguments == {field[0]: value}
    assert type(wanted.arguments[field[0]]) is type(value)
    assert wanted.spec.parameters[0].type == type_


async def test_what_a_weak_model_invented_is_left_out_and_that_is_said() -> None:
    writer = weak([form(("n", "int", 57), ("verbose", "bool", False), ("mod", "int", 1000007))])
    wanted = await write_spec(Request("the 57th prime"), writer)
    assert [parameter.name for parameter in wanted.spec.parameters] == ["n"]
    assert wanted.changes[1] == "left out of the spec: mod = 1000007, which nobody asked for"


@pytest.mark.parametrize("name", ["a b", "ü-1"])
async def test_a_name_that_python_cannot_take_is_an_error(name: str) -> None:
    with pytest.raises(CreationError, match="no parameter can be called"):
        await write_spec(Request("the 57th prime"), ScriptedWriter([form((name, "int", 57))]))


async def test_two_values_under_one_name_are_an_error() -> None:
    with pytest.raises(CreationError, match="two parameters 'n': 57 and 58"):
        await write_spec(Request("57 and 58"), ScriptedWriter([form(("n", "int", 57), ("n", "int", 58))]))


async def test_a_keyword_is_no_parameters_name() -> None:
    wanted = await write_spec(Request("the 57th prime"), ScriptedWriter([form(("class", "int", 57))]))
    assert wanted.arguments == {"given_class": 57}


NAMES = [("nth_prime", "nth_prime"), ("sum_of_three_cubes", "sum_of_three_cubes"), ("print", "do_it")]


@pytest.mark.parametrize(("given", "name"), NAMES)
async def test_the_name_hides_nothing(given: str, name: str) -> None:
    wanted = await write_spec(Request("of 3 primes"), ScriptedWriter([form(("n", "int", 3), name=given)]))
    assert wanted.spec.name == name


async def test_the_better_of_two_specs_is_taken_and_completed() -> None:
    poor, poorer = form(("n", "int", 57)), form(("m", "int", 99))
    writer = weak([poor, poorer])
    wanted = await write_spec(Request("The last 58 and 57 others"), writer)
    assert (wanted.arguments, wanted.missing) == ({"n": 57, "number_1": 58}, ())
    assert wanted.spec.signature == "def do_it(n: int, number_1: int) -> int:"
    assert '58 ("The last 58 and")' in writer.asked[1][1]


async def test_the_second_spec_is_not_better_for_what_it_invents() -> None:
    question = "150 units at 28 cents, the others at 35. What do 237 cost?"
    good = form(("tiers", "list[list[int]]", [[150, 28]]), ("rate", "int", 35))
    poor = form(("tiers", "list[list[int]]", [[150, 28], [250, 35]]), ("units", "int", 237), ("more", "list[int]", [9]))
    wanted = await write_spec(Request(question), weak([good, poor]))
    assert wanted.arguments == {"tiers": [[150, 28]], "rate": 35, "number_1": 237}


async def test_a_complaint_brings_no_texts_that_nobody_asked_for() -> None:
    first = form(("numbers", "list[int]", [4, 5, 6]), ("kind", "str", "spiral"))
    second = form(
        ("numbers", "list[int]", [4, 5, 6]), ("count", "int", 5), ("kind", "str", "spiral"), ("how", "str", "read")
    )
    wanted = await write_spec(Request("The last 5 of [4, 5, 6] read in a spiral"), weak([first, second]))
    assert wanted.arguments == {"numbers": [4, 5, 6], "count": 5, "kind": "spiral"}
    assert [parameter.name for parameter in wanted.spec.parameters] == ["numbers", "count", "kind"]


async def test_parameters_that_only_sound_like_numbers_keep_their_names() -> None:
    words = form(("first_word", "str", "kitten"), ("second_word", "str", "sitting"))
    wanted = await write_spec(Request("How far is 'kitten' from 'sitting'?"), ScriptedWriter([words]))
    assert wanted.arguments == {"first_word": "kitten", "second_word": "sitting"}


async def test_a_passage_that_the_model_forgets_becomes_a_parameter_whole() -> None:
    writer = weak([form(("who", "str", "Mia"))])
    wanted = await write_spec(Request(WITH_DATA), writer)
    assert wanted.arguments == {"who": "Mia", "text_1": NOTES}
    assert writer.asked[1][1].endswith("each named after what it means: TEXT1")


async def test_a_number_of_the_prose_is_not_covered_by_one_in_a_passage() -> None:
    question = f"{WITH_DATA} Leave out what is above 4 euros."
    wanted = await write_spec(Request(question), weak([form(("notes", "str", "TEXT1"), ("who", "str", "Mia"))]))
    assert wanted.arguments == {"notes": NOTES, "who": "Mia", "number_1": 4}


async def test_texts_that_a_second_spec_gives_one_by_one_are_not_lost() -> None:
    question = "Compare 'kitten' and 'sitting' up to letter 3."
    first = form(("words", "list[str]", ["kitten", "sitting"]))
    second = form(("a", "str", "kitten"), ("b", "str", "sitting"), ("letter", "int", 3))
    wanted = await write_spec(Request(question), weak([first, second]))
    assert wanted.arguments == {"a": "kitten", "b": "sitting", "letter": 3}


async def test_not_every_value_of_a_long_list_becomes_a_parameter() -> None:
    question = " ".join(str(number) for number in range(100, 120))
    wanted = await write_spec(Request(question), weak([form()]))
    assert len(wanted.arguments) == 8
    assert len(wanted.missing) == 12


async def test_a_name_that_the_question_asks_for_becomes_a_parameter() -> None:
    question = "The roads are A-B and B-C. How many towns can be reached from A?"
    roads = [["A", "B"], ["B", "C"]]
    wanted = await write_spec(Request(question), weak([form(("roads", "list[list[str]]", roads))]))
    assert wanted.arguments == {"roads": roads, "start": "A"}


async def test_purpose_and_parameters_are_what_the_model_wrote() -> None:
    asked = form(("first_value", "int", 1), ("steps", "int", 12), name="climb")
    writer = weak([{**asked, "purpose": "Starts at 1; 12 steps are 1 dozen."}])
    wanted = await write_spec(Request("What follows 1 in 12 steps?"), writer)
    assert wanted.spec.purpose == "Starts at 1; 12 steps are 1 dozen."
    assert wanted.arguments == {"first_value": 1, "steps": 12}


async def test_without_a_usable_name_there_is_no_spec() -> None:
    with pytest.raises(CreationError, match="no usable name"):
        await write_spec(Request("57"), ScriptedWriter([{**form(name="1"), "purpose": "9"}]))


async def test_the_examiner_sees_the_spec_and_not_the_question() -> None:
    writer = ScriptedWriter([form(("n", "int", 57))], [{"arguments": {"n": 57}, "expected": 1}])
    wanted = await write_spec(Request("Which is the 57th secret prime?"), writer)
    tests = await write_tests(wanted, writer)
    assert tests == []  # the question's own call proves nothing
    assert "secret" not in writer.asked[-1][1]
    assert "do_it(n=57)" in writer.asked[-1][1]
    good = [{"arguments": {"n": 1}, "expected": 2}] * 2
    jsonschema.validate(good, examples_schema(wanted))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate([{"arguments": {"m": 1}, "expected": "2"}] * 2, examples_schema(wanted))


def test_the_schema_of_a_spec_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SPEC_SCHEMA)
    jsonschema.validate(form(("n", "int", [1])), SPEC_SCHEMA)


EXCHANGED: dict[str, tuple[str, dict[str, Any], dict[str, Any], str | None]] = {
    "one value": ("print(57 + 1)", {"n": 57}, {"n": 58}, "print(58 + 1)"),
    "a number twice, perhaps with two meanings": ("a = 100\nprint(a / 100)", {"n": 100}, {"n": 5}, None),
    "a list": ("x = [1, 2]", {"v": [1, 2]}, {"v": [3]}, "x = [3]"),
    "a tuple": ("x = (1, 2)", {"v": [1, 2]}, {"v": [3]}, "x = [3]"),
    "a negative number": ("x = -5", {"v": -5}, {"v": 4}, "x = 4"),
    "a text": ("x = 'ab'", {"v": "ab"}, {"v": "ba"}, "x = 'ba'"),
    "unchanged values stay": ("x = 5 + 6", {"a": 5, "b": 6}, {"a": 7, "b": 6}, "x = 7 + 6"),
    "a value that is nowhere": ("x = 5", {"a": 6}, {"a": 7}, None),
    "one literal with two meanings": ("x = 5 + 5", {"a": 5, "b": 5}, {"a": 7, "b": 8}, None),
    "a meaning that changes and one that stays": ("x = 5 + 5", {"a": 5, "b": 5}, {"a": 7, "b": 5}, None),
    "two meanings that change alike": ("x = 5 + 5", {"a": 5, "b": 5}, {"a": 7, "b": 7}, None),
    "a small number twice, perhaps with two meanings": ("x = [2]\nprint(x[0] ** 2)", {"n": 2}, {"n": 3}, None),
    "a letter twice": ("print('a', 'a')", {"c": "a"}, {"c": "b"}, None),
    "a long text twice": ("print('some', 'some')", {"c": "some"}, {"c": "b"}, "print('b', 'b')"),
    "true is not one": ("x = True", {"a": 1}, {"a": 2}, None),
    "no code": ("x = = 5", {"a": 5}, {"a": 2}, None),
    "too deep": ("-" * 50_000 + "5", {"a": 5}, {"a": 2}, None),
    "a wrong escape": ("x = '\\d', 5", {"a": 5}, {"a": 2}, "x = ('\\\\d', 2)"),
}


@pytest.mark.parametrize(("source", "old", "new", "changed"), EXCHANGED.values(), ids=EXCHANGED)
def test_a_program_with_other_values(
    source: str, old: dict[str, Any], new: dict[str, Any], changed: str | None
) -> None:
    assert with_values(source, old, new) == changed


LIFTED: dict[str, tuple[str, dict[str, Any], str | None]] = {
    "a value": ("print(57 + 1)", {"n": 57}, "print(n + 1)"),
    "a variable": ("limit = 57\nprint(limit)", {"n": 57}, "limit = n\nprint(limit)"),
    "a variable of the same name": ("n = 57\nprint(n)", {"n": 57}, "n = n\nprint(n)"),
    "a list": ("print(sum([1, 2]))", {"v": [1, 2]}, "print(sum(v))"),
    "several": ("print('ab', 3)", {"text": "ab", "n": 3}, "print(text, n)"),
    "a value that is nowhere": ("print(58)", {"n": 57}, None),
    "two parameters of one value": ("print(5 + 5)", {"a": 5, "b": 5}, None),
    "a name that means something else": ("n = 0\nfor i in range(57):\n    n += i\nprint(n)", {"n": 57}, None),
    "no code": ("print(", {"n": 57}, None),
}


@pytest.mark.parametrize(("source", "arguments", "lifted"), LIFTED.values(), ids=LIFTED)
def test_a_program_with_parameters(source: str, arguments: dict[str, Any], lifted: str | None) -> None:
    assert with_parameters(source, arguments) == lifted


NOTES = "Mia paid 3.50\nTim paid 4\nMia paid 1"
WITH_DATA = f"These are the notes:\n{NOTES}\nHow much did Mia pay?"


async def test_a_passage_is_referred_to_and_not_copied() -> None:
    writer = ScriptedWriter([form(("notes", "str", "TEXT1"), ("person", "str", "Mia"))])
    wanted = await write_spec(Request(WITH_DATA), writer)
    assert wanted.arguments == {"notes": NOTES, "person": "Mia"}
    assert wanted.missing == ()
    asked = writer.asked[0][1]
    assert f"TEXT1 =\n{NOTES}\n(end of TEXT1)" in asked
    assert "Values: TEXT1 | Mia" in asked


@pytest.mark.parametrize(("type_", "value"), [("list[str]", "TEXT1"), ("str", ["TEXT1"]), ("list[str]", ["TEXT1"])])
async def test_a_passage_may_be_wanted_as_lines(type_: str, value: Any) -> None:
    wanted = await write_spec(
        Request(WITH_DATA), ScriptedWriter([form(("lines", type_, value), ("who", "str", "Mia"))])
    )
    assert wanted.arguments == {"lines": NOTES.splitlines(), "who": "Mia"}
    assert wanted.spec.parameters[0].type == "list[str]"


async def test_a_passage_that_does_not_exist_is_invented() -> None:
    invented = form(("a", "str", "TEXT1"), ("b", "str", "TEXT2"), ("who", "str", "Mia"))
    wanted = await write_spec(Request(WITH_DATA), weak([invented]))
    assert list(wanted.arguments) == ["a", "who"]


async def test_when_no_value_is_taken_the_values_become_parameters_by_rule() -> None:
    writer = weak([form(("binary", "str", "1011110010001111"), ("count", "int", 0))])
    wanted = await write_spec(Request("How far are 48271 and -2.5 from 'home' on 2024-05-01?"), writer)
    assert wanted.arguments == {"number_1": 48271, "number_2": -2.5, "text_1": "home", "text_2": "2024-05-01"}
    assert [p.type for p in wanted.spec.parameters] == ["int", "float", "str", "str"]
    assert wanted.missing == ()
    assert writer.times("writer") == 2


async def test_what_shows_the_form_of_the_answer_is_no_value() -> None:
    question = "I roll 2 dice with 8 sides. How likely is 11? Answer with a fraction, such as 5/36."
    wanted = await write_spec(
        Request(question), ScriptedWriter([form(("n", "int", 2), ("sides", "int", 8), ("total", "int", 11))])
    )
    assert wanted.missing == ()
