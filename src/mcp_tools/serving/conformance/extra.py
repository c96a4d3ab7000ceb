"""The prompts, documents and asking tools of the conformance suite."""

from __future__ import annotations

from mcp_tools.serving.conformance.elicitations import asking_tools
from mcp_tools.serving.extra import Extra
from mcp_tools.serving.prompts import Prompt
from mcp_tools.serving.resources import Document


def conformance_extra() -> Extra:
    """What is served beside the library of the fixtures."""
    return Extra(
        tools=asking_tools(),
        prompts={
            "test_simple_prompt": Prompt("Simple", "No arguments.", {}, "This is a simple prompt for testing."),
            "test_prompt_with_arguments": Prompt(
                "Arguments",
                "Two arguments.",
                {"arg1": "First test argument", "arg2": "Second test argument"},
                "Prompt with arguments: arg1='{arg1}', arg2='{arg2}'",
            ),
            "test_prompt_with_embedded_resource": Prompt(
                "Embedded resource",
                "A resource and a text.",
                {"resourceUri": "Address of the resource to embed"},
                "Please process the embedded resource above.",
                embeds=("{resourceUri}",),
            ),
        },
        documents=[
            _plain("test://static-text", "This is the content of the static text resource."),
            _plain("test://example-resource", "Embedded resource content for testing."),
            Document(
                "test://template/{id}/data",
                "test_template",
                "A template.",
                "application/json",
                '{"id": "{id}", "templateTest": true, "data": "Data for ID: {id}"}',
            ),
        ],
    )


def _plain(address: str, text: str) -> Document:
    return Document(address, address.rpartition("/")[2], "A text.", "text/plain", text)
