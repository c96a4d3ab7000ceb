"""The graph of a run."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from langgraph.runtime import Runtime

from agent.actions.action import Action
from agent.actions.registry import ACTIONS
from agent.context import Context, Update
from agent.nodes.decide import decide
from agent.nodes.evaluate import evaluate
from agent.nodes.keep import keep
from agent.nodes.plan import plan
from agent.state import State

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph


async def _after_evaluation(state: State) -> str:  # a plain function would run in a thread
    if state.get("again"):
        return "decide"
    return "keep" if state.get("program") else "__end__"


def _node_of(action: Action) -> Any:  # LangGraph does not export a type for nodes
    async def node(state: State, runtime: Runtime[Context]) -> Update:
        return await action.run(state, runtime.context)

    return node


@functools.cache
def build_graph() -> CompiledStateGraph[State, Context, State, State]:
    """Plan → decide ⇄ one action at a time → answer → evaluate → keep a program as a tool.

    A doubtful answer goes back from evaluate to decide once.

    The graph is compiled once for all runs, because compiling is slow.
    """
    from langgraph.graph import END, START, StateGraph

    graph: StateGraph[State, Context, Any, Any] = StateGraph(State, context_schema=Context)
    graph.add_sequence([plan, decide])
    graph.add_edge(START, "plan")
    for action in ACTIONS.values():
        graph.add_node(action.name, _node_of(action))
        if action.name != "answer":
            graph.add_edge(action.name, "decide")
    graph.add_node(evaluate)
    graph.add_edge("answer", "evaluate")
    graph.add_node(keep)
    graph.add_conditional_edges("evaluate", _after_evaluation, ["decide", "keep", END])
    graph.add_edge("keep", END)
    return graph.compile()
