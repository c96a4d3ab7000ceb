"""What an outputSchema marks as an image, a sound or a document reaches the client as one."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from mcp_tools.serving.call import with_media
from mcp_tools.tool import Tool

PNG = base64.b64encode(b"\x89PNG\r\n").decode()
IMAGE = {"type": "string", "contentEncoding": "base64", "contentMediaType": "image/png"}
SOUND = {"type": "string", "contentEncoding": "base64", "contentMediaType": "audio/wav"}
ARCHIVE = {"type": "string", "contentEncoding": "base64", "contentMediaType": "application/zip"}
PAGE = {"type": "string", "contentMediaType": "text/html"}
TEXT = {"type": "string"}


def giving(schema: dict[str, Any]) -> Tool:
    return Tool("draw", "Draws.", {}, {"type": "object", "properties": {"result": schema}}, "")


@pytest.mark.parametrize(
    ("schema", "value", "shown", "blocks"),
    [
        (IMAGE, PNG, "image/png, 6 bytes", [{"type": "image", "data": PNG, "mimeType": "image/png"}]),
        (SOUND, PNG, "audio/wav, 6 bytes", [{"type": "audio", "data": PNG, "mimeType": "audio/wav"}]),
        (
            ARCHIVE,
            PNG,
            "application/zip, 6 bytes",
            [
                {
                    "type": "resource",
                    "resource": {"uri": "alita://results/draw/0", "mimeType": "application/zip", "blob": PNG},
                }
            ],
        ),
        (
            PAGE,
            "<p>",
            "<p>",
            [
                {
                    "type": "resource",
                    "resource": {"uri": "alita://results/draw/0", "mimeType": "text/html", "text": "<p>"},
                }
            ],
        ),
        (TEXT, "plain", "plain", []),
        (IMAGE, "no base64!", "no base64!", []),
        (IMAGE, None, None, []),
        ({**IMAGE, "contentMediaType": "image/png\nX: y"}, PNG, PNG, []),
    ],
    ids=["image", "sound", "binary", "document", "text", "damaged", "nothing", "bad type"],
)
def test_a_marked_result(schema: dict[str, Any], value: Any, shown: Any, blocks: list[Any]) -> None:
    assert with_media(giving(schema), value) == (shown, blocks)


def test_marked_items_of_a_list() -> None:
    """The first items have schemas of their own, all others the one of `items`."""
    tool = giving({"type": "array", "prefixItems": [TEXT], "items": IMAGE})
    shown, blocks = with_media(tool, ["two drawings", PNG, PNG])
    assert shown == ["two drawings", "image/png, 6 bytes", "image/png, 6 bytes"]
    assert [block["type"] for block in blocks] == ["image", "image"]
