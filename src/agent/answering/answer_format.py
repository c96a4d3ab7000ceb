"""The requested form of an answer, from the question's own words or a JSON Schema."""

from __future__ import annotations

import ast
import contextlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from string import Formatter
from typing import TYPE_CHECKING, Any, Literal

from agent.errors import ModelOutputError, UsageError
from agent.models.json_text import DECODER, misfit, without_nulls
from agent.models.protocol import Message, Role
from agent.state import Step
from agent.steps import value_text
from mcp_tools.prompt import data_block
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from agent.context import Context

Pattern = Literal["", "time", "date", "number"]

_LONGEST = 20_000
_VERBATIM = re.compile(
    r"punctuation|verbatim|word for word|exactly as|exact (?:text|wording|quote|line)|quot(?:e|es|ed|ation)\b|syntax"
    r"|\bcode\b",
    re.IGNORECASE,
)
_IN_WORDS = re.compile(r"in words\b|spell(?:ed|ing)? (?:it |them )?out|written out|as a word", re.IGNORECASE)
_QUANTITY = re.compile(
    r"\bhow (?:many|much|long|far|old|tall|high|deep|heavy|fast|wide|large)\b|\bwhat (?:number|percentage|percent)\b"
    r"|\bthe (?:total|sum|number|average|mean|median|difference|ratio|percentage|amount|count|cost|price)\b"
    r"|\bround(?:ed)?\b|decimal places?|significant (?:figures|digits)|\bnumeric|\binteger\b",
    re.IGNORECASE,
)
_COUNT_OF_THINGS = re.compile(r"\bhow many\b|\bwhat number\b", re.IGNORECASE)
_ONLY_A_NUMBER = re.compile(
    r"\b(?:only|just) (?:the|a|one) (?:number|sum|count|total|amount|figure)\b|\b(?:number|digits) only\b"
    r"|\bgive the number\b|\bas an? (?:plain |single |whole )?(?:number|integer|decimal)\b",
    re.IGNORECASE,
)
_FORM = re.compile(r"\b(?:answer|reply|respond|write|give (?:it|them|both)) as:? ([^.?!\n:;]{1,200})", re.IGNORECASE)
_TIME = re.compile(r"\bHH:MM\b(?!:)")
_DATE = re.compile(r"\bYYYY-MM-DD\b")
_SEVERAL = re.compile(
    r"\b(?:which|who|what|where|when)\b[^.?!]*\band (?:(?:by|for|in|on|at|from|with) )?(?:how|which|what|who|when)\b",
    re.IGNORECASE,
)
_NAME = re.compile(
    r"\b(?:title|titled|named?|called|words?|film|movie|song|book|novel|album|band|show|team)s?\b", re.IGNORECASE
)
_WITH_UNITS = re.compile(
    r"(?:with|includ(?:e|ing)|along with|specify|state|and)(?: the| its| their| a| appropriate| correct)*"
    r" (?:units?\b|currency|(?:dollar|euro|pound|percent|degree) (?:sign|symbol)|symbol)",
    re.IGNORECASE,
)
_LIST = re.compile(r"(comma|semi-?colon)s?[- ](?:separated|delimited)|separated by (?:a )?(comma|semi-?colon)s?", re.I)
_TIGHT = re.compile(r"(?:without|no|omit\w*|remov\w+)(?: any| the)? (?:white)?spaces?\b", re.IGNORECASE)
_ALPHABETICAL = re.compile(
    r"\b(reverse )?(?:alphabetical order|alphabetically|alphabetized?)(?! (?:by|of|according|based|on)\b)",
    re.IGNORECASE,
)
_COUNTS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_COUNT = rf"(\d|{'|'.join(_COUNTS)})"
_PLACES = re.compile(rf"{_COUNT} (?:decimal (?:places?|points?|digits?)|decimals?\b|places? after)", re.IGNORECASE)
_FRACTIONS = {"whole number": 0, "integer": 0, "unit": 0, "tenth": 1, "hundredth": 2, "thousandth": 3, "cent": 2}
_NEAREST = re.compile(rf"(?:nearest|to(?= cents)) (?:(0?\.0*1)\b|({'|'.join(_FRACTIONS)})s?\b)", re.IGNORECASE)
_OTHER_ROUNDING = re.compile(r"\bround(?:ed|ing)? (?:up|down|off each|each|all|every)|\beach\b[^.?!]*round", re.I)


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """The form that a question asks for."""

    verbatim: bool
    """True if the exact characters matter, so that the answer is not changed."""
    quantity: bool
    """True if the answer is a number in digits."""
    count: bool
    """True if the answer is only a number. `Nine` does not count, because it may be a film."""
    form: tuple[str, ...]
    """Names of the values in a given form such as `Answer as: name, price`; at most one name without a form."""
    pattern: Pattern
    """Pattern of an answer that is only a time, a date or a number."""
    units: bool
    """True if the number's unit belongs to the answer."""
    places: int | None
    """Number of decimals to round to."""
    separator: str
    """Separator of the list's elements; empty if the question asks for no list."""
    alphabetical: bool
    reverse: bool

    @property
    def parts(self) -> int:
        """Number of values in the form; 1 without a form."""
        return max(1, len(self.form))


def asked_of(question: str) -> AnswerForm:
    """Return the form that a question asks for. Ambiguous wording is ignored."""
    if len(question) > _LONGEST:  # the middle of a long question is data
        question = question[: _LONGEST // 2] + "\n" + question[-_LONGEST // 2 :]
    alphabetical = _ALPHABETICAL.search(question)
    quantity = bool(_QUANTITY.search(question)) and not _IN_WORDS.search(question)
    counts_things = _COUNT_OF_THINGS.search(question) and not (_NAME.search(question) or _SEVERAL.search(question))
    found = _FORM.search(question)
    form = tuple(part.strip() for part in found[1].split(",")) if found else ()
    return AnswerForm(
        verbatim=bool(_VERBATIM.search(question)),
        quantity=quantity,
        count=len(form) < 2 and (_is_number(question) or (quantity and bool(counts_things))),
        form=form,
        pattern=_pattern(question) if len(form) < 2 else "",
        units=bool(_WITH_UNITS.search(question)),
        places=_places(question),
        separator=_separator(question),
        alphabetical=alphabetical is not None,
        reverse=bool(alphabetical and alphabetical[1]),
    )


def _pattern(question: str) -> Pattern:
    wanted: dict[Pattern, bool] = {
        "time": bool(_TIME.search(question)),
        "date": bool(_DATE.search(question)),
        "number": _is_number(question),
    }
    found = [pattern for pattern, is_wanted in wanted.items() if is_wanted]
    return found[0] if len(found) == 1 else ""


def _is_number(question: str) -> bool:
    return bool(_ONLY_A_NUMBER.search(question)) and not _IN_WORDS.search(question)


def _separator(question: str) -> str:
    kinds = {(found[0] or found[1]).lower()[:4] for found in _LIST.findall(question)}
    if len(kinds) != 1:
        return ""
    sign = "," if kinds == {"comm"} else ";"
    return sign if _TIGHT.search(question) else f"{sign} "


def _places(question: str) -> int | None:
    """Return the requested rounding; None if there are several, or it is for an intermediate step."""
    if _OTHER_ROUNDING.search(question):
        return None
    found = {_COUNTS.get(text.lower()) or int(text) for text in _PLACES.findall(question)}
    for small, fraction in _NEAREST.findall(question):
        found.add(len(small.partition(".")[2]) if small else _FRACTIONS[fraction.lower()])
    return found.pop() if len(found) == 1 else None


ATTEMPTS = 2
_VALUES = frozenset({"const", "default", "enum", "examples"})  # schema keywords with values that are not schemas
_FENCED = re.compile(r"```\w*\n(.*?)\n?```", re.DOTALL)
_TOKENS = 8_000
_SYSTEM = (
    "You write an answer that is already found as JSON of the form asked for. You change its form and not its facts: "
    "you add none, and leave out only those for which the form has no place, and members of which it says nothing."
)


def checked_schema(text: str, name: str) -> dict[str, Any]:
    """Parse and check a JSON Schema.

    Raises:
        UsageError: The text is not a valid JSON Schema.
    """
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError
    from referencing import Registry
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    try:
        schema = DECODER.decode(text.strip())
        if not isinstance(schema, dict):
            raise ValueError("a schema must be an object")
        Draft202012Validator.check_schema(schema)
        Draft202012Validator(schema, registry=Registry()).is_valid(None)  # a loop of references fails here
        root = DRAFT202012.create_resource(schema)
        resolver = Registry().with_resource(root.id() or "", root).resolver(root.id() or "")
        for place, reference in _references(schema, resolver):
            place.lookup(reference)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{name} is not a JSON Schema: {error}.") from None
    except SchemaError as error:
        raise UsageError(f"{name} is not a valid JSON Schema: {error.message}.") from None
    except Unresolvable as error:
        remedy = "A reference must point into the schema itself, such as #/$defs/city."
        raise UsageError(f"{name} has no definition of {error.ref!r}.", remedy=remedy) from None
    return schema


def _references(part: Any, place: Any) -> Iterator[tuple[Any, str]]:
    """Yield the references in a schema, each with its resolver, since a part with an `$id` is a separate schema."""
    from referencing.jsonschema import DRAFT202012

    if isinstance(part, list):
        for child in part:
            yield from _references(child, place)
    if isinstance(part, dict):
        if isinstance(part.get("$id"), str):
            place = place.in_subresource(DRAFT202012.create_resource(part))
        if isinstance(part.get("$ref"), str):
            yield place, part["$ref"]
        for name, child in part.items():
            if name not in _VALUES:
                yield from _references(child, place)


def wanted_form(schema: dict[str, Any]) -> str:
    """Return the message that asks a model for JSON of this schema."""
    return f"The answer is one JSON value, and nothing else, that fits this JSON Schema:\n{json.dumps(schema)}"


async def in_schema(text: str, question: str, schema: dict[str, Any], context: Context) -> str:
    """Return the answer as JSON: unchanged if it fits, else rewritten by the model.

    Raises:
        ModelOutputError: The model wrote nothing that fits.
        ModelError: The model could not be reached, or refused.
        StoppedError: A limit of the run is reached.
    """
    fenced = _FENCED.fullmatch(text.strip())
    try:
        value = without_nulls(DECODER.decode(fenced[1] if fenced else text.strip()), schema)
        problem = misfit(value, schema, lengths=True)
    except (ValueError, RecursionError):
        problem = "this is no JSON"
    asked = f"Question: {question}\n\n{data_block('answer', text)}\n\nAs it is, it does not fit: {problem}."
    messages: list[Message] = [{"role": "system", "content": _SYSTEM}, {"role": "user", "content": asked}]
    for _ in range(ATTEMPTS if problem else 0):
        completion = await context.complete(
            Role.COORDINATOR, messages, schema=schema, temperature=0, max_tokens=_TOKENS
        )
        value = completion.parsed
        if not (problem := misfit(value, schema, lengths=True)):
            break
        wrong = {"role": "user", "content": f"It does not fit: {problem}. Write it again."}
        messages += [{"role": "assistant", "content": completion.text}, wrong]
    if problem:
        raise ModelOutputError(f"no answer fits the schema: {problem}")
    return json.dumps(value, ensure_ascii=False)


_FIELD = re.compile(r"(?:0|[^\W\d]\w*)?(?:\[[^\[\]{}]+\])*")
_SPEC = re.compile(r"json|[-+ ]?#?0?\d{0,2}[,_]?(?:\.\d{1,2})?[bcdeEfFgGosxX%]?")
_EXACT = 1e9
"""A float below this has at least six exact decimals."""
_NO_VALUE = re.compile(r"<[^\n]* at 0x[0-9a-fA-F]+>|<built-in (?:function|method) [^\n]*>")
"""Finds the repr of an object that has no JSON value."""
_YES_OR_NO = re.compile(r"\byes\b[^.?!]{0,20}\bno\b", re.IGNORECASE)
_TRUE_OR_FALSE = re.compile(r"\btrue\b[^.?!]{0,20}\bfalse\b", re.IGNORECASE)
_ASKS_WHETHER = re.compile(
    r"(?:^|[.!?:;]\s+)(?:is|are|was|were|am|does|do|did|has|have|had|can|could|will|would|should|must|may)\b[^.!?]*\?\s*$",
    re.IGNORECASE,
)


def problem_of(form: str, *, may_be_plain: bool = False) -> str:
    """Return the reason why a form cannot give an answer; empty if it can.

    A form without placeholders is accepted only if the result is a file, for example from a program.
    """
    try:
        parts = [part[1:] for part in Formatter().parse(form) if part[1] is not None]
    except ValueError as error:
        return f"final_answer {form[:80]!r}: {error}."
    if not parts and not may_be_plain:
        return f"final_answer is the answer with {{}} for the result, not {form[:80]!r}."
    for field, spec, conversion in parts:
        if not _FIELD.fullmatch(field or "") or not _SPEC.fullmatch(spec or "") or conversion:
            return f"final_answer {form[:80]!r}: between braces stand keys and a format, as in {{[total]:.2f}}."
    return ""


def variables_in(form: str) -> list[str]:
    """Return the variable names that a form may mean; empty if a part of it is the whole result."""
    fields = [field for _, field, _, _ in Formatter().parse(form) if field is not None]
    names = [field.partition("[")[0] for field in fields]
    return list(dict.fromkeys(names)) if all(name.isidentifier() for name in names) else []


def answer_of(done: Step, question: str) -> str:
    """Return the answer from a step's result; empty if the step gives no answer.

    Raises:
        ValueError: The result lacks a part that the form names, or cannot be formatted that way.
    """
    form, value = done["ending"].form, done["value"]
    if form and done["ok"] and all(field is None for _, field, _, _ in Formatter().parse(form)):
        return form.strip() if done.get("outputs") else ""
    if not form or not done["ok"] or value is None:
        return ""
    answer = ""
    for literal, field, spec, _ in Formatter().parse(form):
        answer += literal
        if field is None:
            continue
        if spec == "json":
            plain = _part(_parsed(done.get("plain", value)), field)
            answer += json.dumps(plain, ensure_ascii=False)
            continue
        part = _part(value, field)
        answer += _formatted(part, spec) if spec else answer_text(part, question)
    if found := _NO_VALUE.search(answer):
        raise ValueError(f"the result is an object and no value: {found[0][:80]}")
    return answer.strip()


def _part(value: Json, field: str) -> Json:
    name = field.partition("[")[0]
    keys = [*([name] if name not in ("", "0") else []), *re.findall(r"\[([^\[\]]+)\]", field)]
    value = _parsed(value) if keys else value
    for key in keys:
        try:
            value = value[int(key)] if isinstance(value, list) else value[key]
        except (LookupError, TypeError, ValueError):
            raise ValueError(f"the result has no [{key}]") from None
    return value


def _parsed(value: Json) -> Json:
    """Parse a printed text as JSON or as a Python literal. Return any other text unchanged."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "[", "(", '"'):
        for read in (json.loads, _literal):
            with contextlib.suppress(ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
                found: Json = read(value)
                return found
    return value


def _literal(text: str) -> Json:
    """Return a Python literal, with tuples and sets as lists. Sets are sorted."""
    return json.loads(json.dumps(ast.literal_eval(text), default=_set_as_list))


def _set_as_list(value: Any) -> list[Any]:
    if not isinstance(value, set):
        raise TypeError("this is not JSON")
    return sorted(value)  # raises TypeError for values without an order, such as 1 and "a"


def _formatted(value: Json, spec: str) -> str:
    """Return a value formatted with a format spec. Texts such as `24.50` and `3/4` count as numbers."""
    number: Any = value
    for read in (int, _decimal, Fraction) if isinstance(value, str) else ():
        with contextlib.suppress(ValueError, ZeroDivisionError):
            number = read(value)
            break
    try:
        return format(float(number) if isinstance(number, Fraction) else number, spec)
    except (TypeError, OverflowError, ValueError):
        raise ValueError(f"{value_text(value)[:80]!r} has no format {spec!r}") from None


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text.strip())
    except InvalidOperation:
        raise ValueError from None


def answer_text(value: Json, question: str) -> str:
    """Return a computed value as the answer to a question, rounded and with yes or no as the question asks."""
    if isinstance(value, bool) and _asks_yes_or_no(question):
        return "yes" if value else "no"
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _EXACT:
        places = asked_of(question).places
        if places and round(value, places) == value:
            return f"{value:.{places}f}"
    return value_text(value)


def _asks_yes_or_no(question: str) -> bool:
    """Return True if the question asks for yes or no, by its words or its form."""
    if _TRUE_OR_FALSE.search(question):
        return False
    return bool(_YES_OR_NO.search(question) or (" or " not in question and _ASKS_WHETHER.search(question)))
