import json
import math
import re

MAX_DIGITS = 4300
PLAIN_KEY = re.compile(r"[^\W\d]\w*(?:-\w+)*")
STEP = re.compile(
    r"\.?(?P<key>[^\W\d]\w*(?:-\w+)*)|\[(?P<index>0|[1-9][0-9]{0,17})\]|\[(?P<quoted>\"(?:[^\"\\]|\\.)*\")\]"
)


def flatten_json(document: str, path: str = "") -> dict:
    """Flattens nested JSON to one level of dotted paths, and looks up the value at a path.

    A path is made of the keys, joined by points, and the positions in lists, counted from 0 without leading zeros:
    "customer.tags[0]". A key that is not a plain name (a letter or underscore, then letters, digits, underscores and
    single hyphens) stands in brackets as a JSON string: `prices["2024.q1"]`. The path of the whole document is "".

    Also known as: JSON to key-value pairs, JSONPath lookup, unnest JSON, dot notation, jq paths, normalize JSON, read a value from JSON

    Args:
        document: The JSON text.
        path: Only what is at or below this path is returned; "" means everything.

    Returns:
        A dict with
        "values": a dict from the full path of each value that is not nested further (text, number, true, false, null,
        and also an empty list or object) to that value, in the order of the document; a document that is such a value
        itself has the path "",
        "type": what is at `path`: "object", "array", "string", "number", "boolean" or "null", and
        "value": what is at `path`, unchanged.

    Raises:
        ValueError: If the document is nested hundreds of levels deep or not valid JSON (NaN and Infinity are not), if
            an object has a key twice, if a number with a point or exponent is beyond the range of 64-bit floats, if a
            whole number has more than 4300 digits, if `path` is not written as described, or if the document has
            nothing there.

    Examples:
        >>> flatten_json('{"a": {"b": [1, {"c": null}]}, "d": []}')
        {'values': {'a.b[0]': 1, 'a.b[1].c': None, 'd': []}, 'type': 'object', 'value': {'a': {'b': [1, {'c': None}]}, 'd': []}}
        >>> flatten_json('{"a": {"b": [1, 2]}, "x.y": 3}', "a.b[1]")
        {'values': {'a.b[1]': 2}, 'type': 'number', 'value': 2}
        >>> flatten_json('{"x.y": true, "größe €": 1.5}')
        {'values': {'["x.y"]': True, '["größe €"]': 1.5}, 'type': 'object', 'value': {'x.y': True, 'größe €': 1.5}}
        >>> flatten_json('[{"x y": {}}]', '[0]["x y"]')
        {'values': {'[0]["x y"]': {}}, 'type': 'object', 'value': {}}
        >>> flatten_json('{"2024": {"_a-b": 1, "-": 2, "": 3}}', '["2024"]')
        {'values': {'["2024"]._a-b': 1, '["2024"]["-"]': 2, '["2024"][""]': 3}, 'type': 'object', 'value': {'_a-b': 1, '-': 2, '': 3}}
        >>> flatten_json('{"a": [[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, {"b": "x"}]]}', "a[0][10].b")
        {'values': {'a[0][10].b': 'x'}, 'type': 'string', 'value': 'x'}
        >>> flatten_json('"hi"')
        {'values': {'': 'hi'}, 'type': 'string', 'value': 'hi'}
        >>> flatten_json('{"a": [true, null]}', "a[0]")
        {'values': {'a[0]': True}, 'type': 'boolean', 'value': True}
        >>> flatten_json('{"a": [true, null]}', "a[1]")
        {'values': {'a[1]': None}, 'type': 'null', 'value': None}
        >>> flatten_json('{"a": [1.5]}', "a")
        {'values': {'a[0]': 1.5}, 'type': 'array', 'value': [1.5]}
        >>> flatten_json('{"a": {"b": 1, "b": 2}}')
        Traceback (most recent call last):
        ...
        ValueError: an object of the document has the key 'b' twice
        >>> flatten_json('[NaN]')
        Traceback (most recent call last):
        ...
        ValueError: document is not valid JSON: NaN is no JSON number
        >>> flatten_json('[1e999]')
        Traceback (most recent call last):
        ...
        ValueError: the number 1e999 of the document is too large
        >>> flatten_json('[-12345678901234567890123]')
        {'values': {'[0]': -12345678901234567890123}, 'type': 'array', 'value': [-12345678901234567890123]}
        >>> flatten_json('{"a": [0, 1]}', "a[01]")
        Traceback (most recent call last):
        ...
        ValueError: path 'a[01]' cannot be read from position 1 (from 0)
        >>> flatten_json('{"a": [1]}', "a[1]")
        Traceback (most recent call last):
        ...
        ValueError: a has 1 elements and no position 1 (from 0)
        >>> flatten_json('{"a": [1]}', "b")
        Traceback (most recent call last):
        ...
        ValueError: the document has no key 'b'; its first keys are: 'a'
        >>> flatten_json('{"a": 1}', "a.b")
        Traceback (most recent call last):
        ...
        ValueError: a is number, not object, so it has no key 'b'
        >>> flatten_json('{"a": {}}', "a[0]")
        Traceback (most recent call last):
        ...
        ValueError: a is object, not array, so it has no position 0
        >>> flatten_json('{"a": {"b": 1}}', "a..b")
        Traceback (most recent call last):
        ...
        ValueError: path 'a..b' cannot be read from position 1 (from 0)
        >>> flatten_json('{"a": 1}', ".a")
        Traceback (most recent call last):
        ...
        ValueError: path '.a' cannot be read from position 0 (from 0)
    """
    values: dict[str, object] = {}
    try:
        value = json.loads(
            document, object_pairs_hook=_object, parse_constant=_constant, parse_float=_float, parse_int=_int
        )
        found = ""
        for step in _steps(path):
            value, found = _child(value, step, found)
        _collect(value, found, values)
    except RecursionError:
        raise ValueError("document is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"document is not valid JSON: {error}") from None
    return {"values": values, "type": _type(value), "value": value}


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    result: dict[str, object] = {}
    for key, value in pairs:
        if key in result:
            raise ValueError(f"an object of the document has the key {key!r} twice")
        result[key] = value
    return result


def _constant(name: str) -> object:
    raise ValueError(f"document is not valid JSON: {name} is no JSON number")


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"the number {text[:40]} of the document is too large")
    return value


def _int(text: str) -> int:
    digits = len(text.removeprefix("-"))
    if digits > MAX_DIGITS:
        raise ValueError(f"a whole number of the document has {digits} digits; at most {MAX_DIGITS} are accepted")
    return int(text)


def _steps(path: str) -> list[str | int]:
    steps: list[str | int] = []
    position = 0
    while position < len(path):
        match = STEP.match(path, position)
        # a point stands between steps only, and each plain key but the first needs one
        if match is None or (match["key"] is not None and path[position].startswith(".") != bool(steps)):
            raise ValueError(f"path {path!r} cannot be read from position {position} (from 0)")
        if match["key"] is not None:
            steps.append(match["key"])
        elif match["index"] is not None:
            steps.append(int(match["index"]))
        else:
            steps.append(_quoted(match["quoted"], path))
        position = match.end()
    return steps


def _quoted(text: str, path: str) -> str:
    try:
        return str(json.loads(text))
    except json.JSONDecodeError:
        raise ValueError(f"path {path!r} has a key that is no JSON string: {text}") from None


def _child(value: object, step: str | int, found: str) -> tuple[object, str]:
    place = found or "the document"
    if isinstance(step, int):
        if not isinstance(value, list):
            raise ValueError(f"{place} is {_type(value)}, not array, so it has no position {step}")
        if step >= len(value):
            raise ValueError(f"{place} has {len(value)} elements and no position {step} (from 0)")
        return value[step], _join(found, step)
    if not isinstance(value, dict):
        raise ValueError(f"{place} is {_type(value)}, not object, so it has no key {step!r}")
    if step not in value:
        known = ", ".join(repr(key) for key in list(value)[:10])
        raise ValueError(f"{place} has no key {step!r}; its first keys are: {known or 'none'}")
    return value[step], _join(found, step)


def _join(found: str, step: str | int) -> str:
    if isinstance(step, int):
        return f"{found}[{step}]"
    if PLAIN_KEY.fullmatch(step):
        return f"{found}.{step}" if found else step
    return f"{found}[{json.dumps(step, ensure_ascii=False)}]"


def _collect(value: object, found: str, values: dict[str, object]) -> None:
    if isinstance(value, dict) and value:
        for key, child in value.items():
            _collect(child, _join(found, key), values)
    elif isinstance(value, list) and value:
        for i, child in enumerate(value):
            _collect(child, _join(found, i), values)
    else:
        values[found] = value


def _type(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return {str: "string", list: "array", dict: "object"}[type(value)]
