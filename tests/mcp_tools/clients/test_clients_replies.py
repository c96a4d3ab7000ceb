"""Results of external tools: what is sent twice is shown once, and programs get the value that the tool promises."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcp_tools.clients.definitions import returned_type
from mcp_tools.clients.replies import ServerReply, reply_of

PICTURE = {"type": "image", "data": "QUJDRA==", "mimeType": "image/png"}
SAID = "[image in the file image_1.png: image/png, 4 bytes]"


def told(*texts: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text} for text in texts]


def reply(content: Any, structured: Any = None, *, schema: Any = None, most: int = 1_000) -> ServerReply:
    result = {"content": content} | ({} if structured is None else {"structuredContent": structured})
    return reply_of(result, lambda text: text.replace("s3cret", "***"), most=most, schema=schema)


def of_program(found: ServerReply) -> Any:
    return found.returned[0] if found.returned else found.text


RESULTS: dict[str, tuple[Any, Any, str, Any]] = {
    "a text that is a number": (told("24.50"), None, "24.50", "24.50"),
    "the text in a member": (told("a\nb\n"), {"content": "a\nb\n"}, "a\nb\n", "a\nb\n"),
    "the text of a tree in a member": (told('[{"a": 1}]'), {"content": '[{"a": 1}]'}, '[{"a": 1}]', '[{"a": 1}]'),
    "another text in a member": (told("2 lines"), {"content": "a\nb"}, '2 lines\n{"content": "a\\nb"}', "a\nb"),
    "equal JSON": (told('{"b": 2,\n "a": 1}'), {"a": 1, "b": 2}, '{"b": 2,\n "a": 1}', {"a": 1, "b": 2}),
    "a wrapped number as JSON": (told('{"result": 8}'), {"result": 8}, "8", 8),
    "a member whose JSON is the text": (told('{"a": 1}'), {"data": {"a": 1}}, '{"a": 1}', {"data": {"a": 1}}),
    "a wrapped list of texts": (told("a", "b"), {"result": ["a", "b"]}, "a\nb", ["a", "b"]),
    "a wrapped list of objects": (
        told('{"a": 1}', '{"a": 2}'),
        {"result": [{"a": 1}, {"a": 2}]},
        '{"a": 1}\n{"a": 2}',
        [{"a": 1}, {"a": 2}],
    ),
    "an empty list": ([], {"result": []}, "[]", []),
    "an empty text": (told(""), None, "(an empty result)", ""),
    "more than the text": (told("warm"), {"degrees": 21}, 'warm\n{"degrees": 21}', {"degrees": 21}),
    "a picture and its blocks": ([PICTURE], {"content": [PICTURE]}, SAID, SAID),
    "a secret": (told("s3cret"), {"content": "s3cret"}, "***", "***"),
    "a secret inside": (told("warm"), {"a": ["s3cret"]}, 'warm\n{"a": ["***"]}', {"a": ["***"]}),
}


@pytest.mark.parametrize(("content", "structured", "shown", "returned"), RESULTS.values(), ids=list(RESULTS))
def test_a_result_is_shown_once_and_returned_as_a_value(content: Any, structured: Any, shown: str, returned: Any):
    found = reply(content, structured)
    assert found.text == shown
    assert of_program(found) == returned


STRING, NUMBER = {"type": "string"}, {"type": "number"}


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


BLOCK = {"type": "array", "items": schema(type=STRING, text=STRING)}
TYPES: dict[str, tuple[Any, str, Any]] = {
    "a text": (schema(content=STRING), "str", {"content": "x"}),
    "blocks": (schema(content=BLOCK), "str", {"content": told("x")}),
    "wrapped": (schema(result={"type": "integer"}), "int", {"result": 8}),
    "wrapped list": (schema(result={"type": "array", "items": STRING}), "list[str]", {"result": ["a"]}),
    "several": (
        schema(city=STRING, days={"type": "array", "items": schema(high=NUMBER)}),
        "{city: str, days: list[{high: float}]}",
        {"city": "Oslo", "days": []},
    ),
    "one of several": (schema(path=STRING, error=STRING), "{path: str, error: str}", {"path": "a"}),
}


@pytest.mark.parametrize(("promised", "form", "structured"), TYPES.values(), ids=list(TYPES))
def test_what_a_tool_promises_is_what_programs_get(promised: Any, form: str, structured: Any):
    assert returned_type(promised) == form
    returned = of_program(reply(told("x"), structured, schema=promised))
    kinds = {"str": str, "int": int, "list": list, "{": dict, "dict": dict}
    expected = next(kind for start, kind in kinds.items() if form.startswith(start))
    assert returned is None if structured == {"result": None} else isinstance(returned, expected)
    json.dumps(returned)
