"""The graph of a run."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from agent.context import Context
from agent.nodes.answer import answer
from agent.nodes.ask import ask
from agent.nodes.browse import browse
from agent.nodes.create_tool import create_tool
from agent.nodes.decide import decide
from agent.nodes.evaluate import evaluate
from agent.nodes.keep import keep
from agent.nodes.plan import plan
from agent.nodes.read_file import read_file
from agent.nodes.run_code import run_code
from agent.nodes.search import search
from agent.nodes.use_tool import use_tool
from agent.state import State

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph


async def _after_evaluation(state: State) -> str:  # a plain function would run in a thread
    if state.get("again"):
        return "decide"
    return "keep" if state.get("program") else "__end__"


@functools.cache
def build_graph() -> CompiledStateGraph[State, Context, State, State]:
    """Plan → decide ⇄ one action after the other → answer → evaluate; then a program's tool is kept.

    A doubtful answer goes from evaluate back to decide, once.

    Compiled once for all runs: it takes longer than two decisions.
    """
    from langgraph.graph import END, START, StateGraph

    graph: StateGraph[State, Context, Any, Any] = StateGraph(State, context_schema=Context)
    graph.add_sequence([plan, decide])
    graph.add_edge(START, "plan")
    for action in (search, browse, read_file, use_tool, create_tool, run_code, ask):
        graph.add_node(action)
        graph.add_edge(action.__name__, "decide")
    graph.add_sequence([answer, evaluate])
    graph.add_node(keep)
    graph.add_conditional_edges("evaluate", _after_evaluation, ["decide", "keep", END])
    graph.add_edge("keep", END)
    return graph.compile()
