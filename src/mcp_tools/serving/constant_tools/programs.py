"""`run_code`: a one-off program in the sandbox, which may import tools of the library."""

from __future__ import annotations

import ast

from mcp_tools.sandbox.protocol import Job, Outcome, Sandbox
from mcp_tools.serving.call import Call, ConstantTool, ServerLimits
from mcp_tools.serving.constant_tools.schemas import definition
from mcp_tools.serving.lists.catalogue import Catalogue
from mcp_tools.serving.results import Reply, problem_reply, value_reply
from mcp_tools.serving.running import heartbeat, outcome_meta

_LONGEST_SOURCE = 200_000


class Programs:
    """Runs programs under the isolation and limits of tools. Nothing of them is kept."""

    def __init__(self, catalogue: Catalogue, sandbox: Sandbox, limits: ServerLimits) -> None:
        self._catalogue = catalogue
        self._sandbox = sandbox
        self._limits = limits

    def tools(self) -> list[ConstantTool]:
        """The constant tool of this file."""
        return [ConstantTool(_RUN_CODE, self._run)]

    async def _run(self, call: Call) -> Reply:
        source, arguments = call.arguments["source"], call.arguments.get("arguments")
        await self._catalogue.renew()
        names, functions = _imports_and_functions(source)
        entry = call.arguments.get("function") or (functions[-1] if arguments is not None and functions else None)
        modules = {name: tool.source for name in names if (tool := self._catalogue.tool(name)) is not None}
        job = Job(source, entry, arguments or {}, modules=modules, limits=self._limits.program)
        async with heartbeat(call, "the program", self._limits.program.wall_seconds):
            outcome = await self._sandbox.run(job)
        return self._reply(outcome)

    def _reply(self, outcome: Outcome) -> Reply:
        meta = outcome_meta(outcome)
        if outcome.problem is not None:
            reply = problem_reply(outcome.problem, who="the program", meta=meta)
            printed = outcome.stdout[-4000:]
            if printed:
                reply.result["content"].append({"type": "text", "text": f"It printed before:\n{printed}"})
            return reply
        content = {
            "value": outcome.value,
            "stdout": outcome.stdout,
            "stderr": outcome.stderr,
            "cut": outcome.cut,
        }
        return value_reply(content, limit=self._limits.result_bytes, meta=meta)


def _imports_and_functions(source: str) -> tuple[list[str], list[str]]:
    """The modules that a program imports and the functions that it defines, in order; nothing if it does not parse."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return [], []
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.append(node.module)
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    return names, functions


_RUN_CODE = definition(
    "run_code",
    "Run a program",
    "Runs a one-off Python program in the sandbox: standard library, no network, no files. Print the result, or define "
    "a function and give its arguments to get its value back. It may import tools of the library by name.",
    {
        "source": {"type": "string", "minLength": 1, "maxLength": _LONGEST_SOURCE, "description": "The program."},
        "arguments": {"type": "object", "description": "Arguments of the function to call, by name."},
        "function": {"type": "string", "maxLength": 128, "description": "Which one to call; the last one defined."},
    },
    required=["source"],
    output={
        "value": {"description": "What the function returned; null for a program."},
        "stdout": {"type": "string"},
        "stderr": {"type": "string"},
        "cut": {"type": "boolean", "description": "Whether more was printed than is kept."},
    },
)
