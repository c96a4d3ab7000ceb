"""The prompts, documents and asking tools of the conformance suite."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from mcp_types import ElicitResult, InputRequiredResult

from mcp_tools.serving.builtin_tools import definition
from mcp_tools.serving.client_call import COMPLETE, BuiltinTool, ClientCall, ClientReply, error_reply, value_reply
from mcp_tools.serving.elicitation import ask_user, can_ask
from mcp_tools.serving.resources import ClientPrompt, ToolResources
from mcp_tools.serving.server import Extra
from mcp_tools.tool import Json

_SECONDS = 20.0
_PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
_SILENCE = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
_LIMIT = 100_000
_TEXT: dict[str, Json] = {"type": "string"}
_THREE: list[Json] = ["option1", "option2", "option3"]
_TITLED: list[Json] = [
    {"const": "value1", "title": "First Option"},
    {"const": "value2", "title": "Second Option"},
    {"const": "value3", "title": "Third Option"},
]


def asking_tools() -> list[BuiltinTool]:
    """All of them."""
    return [
        _asking("test_elicitation", _form(username=_TEXT, email=_TEXT), takes={"message": _TEXT}),
        _asking("test_streaming_elicitation", _form(name=_TEXT)),
        _asking("test_elicitation_sep1034_defaults", _defaults()),
        _asking("test_elicitation_sep1330_enums", _enums()),
        _asking(
            "test_input_required_result_elicitation",
            _form(name=_TEXT),
            key="user_name",
            question="What is your name?",
            told=lambda answer: f"Hello, {(answer.content or {}).get('name')}!",
        ),
    ]


def giving_tools() -> list[BuiltinTool]:
    """Those that give more than a text."""
    text = {"type": "text", "text": "Multiple content types test:"}
    image = {"type": "image", "data": _PIXEL, "mimeType": "image/png"}
    audio = {"type": "audio", "data": _SILENCE, "mimeType": "audio/wav"}
    document = _embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    mixed = _embedded("test://mixed-content-resource", "application/json", '{"test": "data", "value": 123}')
    return [
        _giving("test_image_content", image),
        _giving("test_audio_content", audio),
        _giving("test_embedded_resource", document),
        _giving("test_multiple_content_types", text, image, mixed),
    ]


def _embedded(uri: str, mime: str, text: str) -> dict[str, Json]:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime, "text": text}}


def _giving(name: str, *content: Json) -> BuiltinTool:
    described = definition(name, name, "Gives content.", {}, output={})

    async def give(call: ClientCall) -> ClientReply:
        return ClientReply({**COMPLETE, "content": [*content], "structuredContent": {}, "isError": False}, "ok")

    return BuiltinTool(described, give)


def _asking(
    name: str,
    form: dict[str, Json],
    *,
    key: str = "answer",
    question: str = "What do you answer?",
    takes: dict[str, Json] | None = None,
    told: Callable[[ElicitResult], str] = lambda a: f"Person answered: {a.action}, {json.dumps(a.content)}",
) -> BuiltinTool:
    described = definition(
        name, name, "Asks a person.", takes or {}, required=[*(takes or {})], output={"result": _TEXT}
    )
    keys: list[str] = []  # the last one, which nobody can guess and for which the suite has a name of its own

    async def ask(call: ClientCall) -> ClientReply | InputRequiredResult:
        if not can_ask(call.context):
            return error_reply("denied", "this client cannot ask a person")
        if key in (given := call.params.input_responses or {}) and keys:
            call.params = call.params.model_copy(update={"input_responses": {**given, keys[0]: given[key]}})
        answer = await ask_user(call, str(call.arguments.get("message", question)), form, _SECONDS)
        if isinstance(answer, InputRequiredResult):
            [(unguessable, asked)] = (answer.input_requests or {}).items()
            keys[:] = [unguessable]
            return InputRequiredResult(input_requests={key: asked})
        if answer is None:
            return error_reply("denied", "nobody answered")
        return value_reply({"result": told(answer)}, limit=_LIMIT)

    return BuiltinTool(described, ask)


def _form(**properties: Json) -> dict[str, Json]:
    return {"type": "object", "properties": properties, "required": [*properties]}


def _defaults() -> dict[str, Json]:
    return _form(
        name={"type": "string", "default": "John Doe"},
        age={"type": "integer", "default": 30},
        score={"type": "number", "default": 95.5},
        status={"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        verified={"type": "boolean", "default": True},
    )


def _enums() -> dict[str, Json]:
    return _form(
        untitledSingle={"type": "string", "enum": _THREE},
        titledSingle={"type": "string", "oneOf": _TITLED},
        legacyEnum={
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        untitledMulti={"type": "array", "items": {"type": "string", "enum": _THREE}},
        titledMulti={"type": "array", "items": {"anyOf": _TITLED}},
    )


_TEXTS = {
    "test://static-text": "This is the content of the static text resource.",
    "test://example-resource": "Embedded resource content for testing.",
}
_TEMPLATE = re.compile(r"test://template/([^/]+)/data")


class ConformanceResources(ToolResources):
    """Those of the tools, two texts, and a template."""

    async def list(self, context: Any, params: Any) -> dict[str, Json]:
        """The texts follow the tools."""
        listed = await super().list(context, params)
        texts = [{"uri": uri, "name": uri.rpartition("/")[2], "mimeType": "text/plain"} for uri in _TEXTS]
        return {**listed, "resources": [*listed["resources"], *texts]}

    async def list_templates(self, *_: object) -> dict[str, Json]:
        """The template follows those of the tools."""
        listed = await super().list_templates()
        template = {"uriTemplate": "test://template/{id}/data", "name": "test_template", "mimeType": "application/json"}
        return {**listed, "resourceTemplates": [*listed["resourceTemplates"], template]}

    async def content(self, context: Any, address: str) -> dict[str, Json]:
        """A text, what the template stands for, or a document of a tool."""
        if address in _TEXTS:
            return {"uri": address, "mimeType": "text/plain", "text": _TEXTS[address]}
        if found := _TEMPLATE.fullmatch(address):
            text = json.dumps({"id": found[1], "templateTest": True, "data": f"Data for ID: {found[1]}"})
            return {"uri": address, "mimeType": "application/json", "text": text}
        return await super().content(context, address)


def conformance_extra() -> Extra:
    """What is served beside the library of the fixtures."""
    return Extra(
        tools=[*asking_tools(), *giving_tools()],
        prompts={
            "test_simple_prompt": ClientPrompt("Simple", "No arguments.", {}, "This is a simple prompt for testing."),
            "test_prompt_with_arguments": ClientPrompt(
                "Arguments",
                "Two arguments.",
                {"arg1": "First test argument", "arg2": "Second test argument"},
                "Prompt with arguments: arg1='{arg1}', arg2='{arg2}'",
            ),
            "test_prompt_with_embedded_resource": ClientPrompt(
                "Embedded resource",
                "A resource and a text.",
                {"resourceUri": "Address of the resource to embed"},
                "Please process the embedded resource above.",
                embeds=("{resourceUri}",),
            ),
        },
        resources=ConformanceResources,
    )
