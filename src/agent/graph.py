"""The graph of a run."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar, cast

from agent.context import Context
from agent.nodes.answer import answer
from agent.nodes.browse import browse
from agent.nodes.create_tool import create_tool
from agent.nodes.decide import decide
from agent.nodes.evaluate import evaluate
from agent.nodes.plan import plan
from agent.nodes.read_file import read_file
from agent.nodes.run_code import run_code
from agent.nodes.search import search
from agent.nodes.use_tool import use_tool
from agent.state import State

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver
    from langgraph.graph.state import CompiledStateGraph
    from langgraph.runtime import Runtime

Node = TypeVar("Node", bound=Callable[..., Awaitable[Any]])


def build_graph(
    checkpointer: BaseCheckpointSaver[str] | None = None,
) -> CompiledStateGraph[State, Context, State, State]:
    """Plan → decide ⇄ one action after the other → answer → evaluate."""
    return _compiled().copy({"checkpointer": checkpointer})


@functools.cache
def _compiled() -> CompiledStateGraph[State, Context, State, State]:
    """Compiled once for all runs: it takes longer than two decisions."""
    from langgraph.graph import END, START, StateGraph

    graph: StateGraph[State, Context, Any, Any] = StateGraph(State, context_schema=Context)
    graph.add_node("plan", accounted(plan))
    graph.add_node("decide", accounted(decide))
    graph.add_node("search", accounted(search))
    graph.add_node("browse", accounted(browse))
    graph.add_node("read_file", accounted(read_file))
    graph.add_node("use_tool", accounted(use_tool))
    graph.add_node("create_tool", accounted(create_tool))
    graph.add_node("run_code", accounted(run_code))
    graph.add_node("answer", accounted(answer))
    graph.add_node("evaluate", accounted(evaluate))

    graph.add_edge(START, "plan")
    graph.add_edge("plan", "decide")
    for action in ("search", "browse", "read_file", "use_tool", "create_tool", "run_code"):
        graph.add_edge(action, "decide")
    graph.add_edge("answer", "evaluate")
    graph.add_edge("evaluate", END)
    return graph.compile()


def accounted(node: Node) -> Node:
    """The node, whose update also says where the run stands, so that a later process can go on from there."""

    @functools.wraps(node)
    async def with_account(state: State, runtime: Runtime[Context]) -> Any:
        result = await node(state, runtime)
        account = {"calls": runtime.context.journal.position, "usage": asdict(runtime.context.budget.usage)}
        update = result if isinstance(result, dict) else result.update  # a LangGraph Command holds its update
        update.update(account)
        return result

    return cast(Node, with_account)
