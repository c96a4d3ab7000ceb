"""The graph, the decisions and the nodes speak of the same actions."""

from __future__ import annotations

import json
from typing import get_args

import pytest

from agent.graph import build_graph
from agent.models.protocol import ToolCall
from agent.nodes.decide import Route
from agent.standard.functions import decision_of_call, functions_for
from agent.state import Action, State

ACTIONS = get_args(Action)
ROOMS = {"plan", "decide", "evaluate", "keep"}


def test_every_action_is_a_node_and_every_node_is_an_action():
    assert set(build_graph().nodes) - {"__start__"} == ROOMS | set(ACTIONS)
    assert set(get_args(Route)) == set(ACTIONS)


def test_the_drawn_graph_has_every_route():
    edges = {(edge.source, edge.target) for edge in build_graph().get_graph().edges}
    assert {target for source, target in edges if source == "decide"} == set(ACTIONS)
    assert all((action, "decide") in edges for action in set(ACTIONS) - {"answer"})
    assert {
        ("__start__", "plan"),
        ("plan", "decide"),
        ("answer", "evaluate"),
        ("evaluate", "keep"),
        ("evaluate", "__end__"),
    } <= edges


def test_the_model_can_call_every_action():
    """An answer needs no call, and the functions of a tool are its own."""
    tool = {"name": "t", "description": "", "inputSchema": {"type": "object"}}
    calls = [
        ToolCall(
            "c", form["function"]["name"], json.dumps(dict.fromkeys(form["function"]["parameters"]["required"], ""))
        )
        for form in functions_for({"question": "q", "tools": [tool]})
    ]
    assert {decision_of_call(call).action for call in calls} == set(ACTIONS) - {"answer"}


@pytest.mark.parametrize("page", ["docs/architecture.md"])
def test_the_page_names_every_action(page):
    from pathlib import Path

    text = (Path(__file__).parents[2] / page).read_text()
    assert [action for action in ACTIONS if action not in text] == []


def test_the_state_is_plain_json_and_survives_the_strict_serializer():
    """The tests of this folder run with LANGGRAPH_STRICT_MSGPACK: what is no plain value could not be read again."""
    from langgraph.checkpoint.serde import _msgpack
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

    assert _msgpack.STRICT_MSGPACK_ENABLED
    step = {"number": 1, "action": "search", "input": "", "ok": False, "finding": "é?", "value": {"a": [1, 2.5]}}
    state: State = {"question": "q", "steps": [step], "sources": []}
    serde = JsonPlusSerializer()
    assert serde.loads_typed(serde.dumps_typed(state)) == state
