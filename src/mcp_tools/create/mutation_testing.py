"""Mutation testing: puts deliberate bugs into a tool's code, and counts how many its tests catch."""

from __future__ import annotations

import ast
import asyncio
import copy
import itertools
import operator
from collections.abc import Callable, Iterator, Sequence
from random import Random

from mcp_tools.create.examiner import passes
from mcp_tools.create.interfaces import Test
from mcp_tools.create.proposal_runner import ProposalRunner
from mcp_tools.create.same_answer import same
from mcp_tools.text import words
from mcp_tools.tool import Tool

MAX_SURVIVORS_SHOWN = 3
_MAX_MUTANTS = 40
_BATCH_SIZE = 4
_TOTAL_SECONDS = 300.0
"""Process time after which no further mutant starts. Only very slow code reaches this limit."""
_MUTANT_SECONDS = 1.0
_SLOWDOWN = 3
"""A mutant hangs if it takes `_MUTANT_SECONDS` plus this many times the tool's own time."""
_WALL_PER_CPU_SECOND = 5
"""Ratio of the wall time limit to the processor time limit. With it, a busy machine does not look like a bug."""
_MAX_KILLERS = 6
"""Maximum number of random calls that become tests because they alone catch a mutant."""
_MAX_RANDOM_CALLS = 80
_TOLERANCE = 1e-3
_HUGE = 1_000_000
"""Tests are not expected to reach a limit of at least this size."""
_HUGE_LENGTH = 1_000
"""Tests are not expected to reach a limit of at least this size on a length."""
_PLENTY = 20
"""Above this number, one more loop iteration or digit of precision makes no difference."""
_SIZE_ARGUMENTS = words("buffering bufsize chunk_size chunksize maxsize")
_SIZE_FUNCTIONS = words(
    "read read1 readinto recv lru_cache field_size_limit setrecursionlimit set_int_max_str_digits iter_content"
)
_PRECISION = words("prec precision")
_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Add,
}
_FOLDED: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.LShift: lambda one, by: one * 2**by,
    ast.Pow: pow,
}


async def try_mutants(
    tool: Tool, suite: Sequence[Test], agreed: Sequence[Test], slowest: float, runner: ProposalRunner
) -> tuple[int, list[str], list[Test]]:
    """Run the tests against mutants of a tool.

    Mutants run in fixed batches, so that a replay makes the same calls. Tests found in a batch count in the next one.

    Args:
        tool: The tool.
        suite: Its tests.
        agreed: Random calls for which the tool and the examiner's slow version agree. They test what the suite misses.
        slowest: Duration of the tool's slowest call, in seconds.
        runner: Runs the mutants.

    Returns:
        The number of mutants, the source of each one that survived, and the random calls that caught a mutant the
        suite had missed.
    """
    seconds, end = _MUTANT_SECONDS + _SLOWDOWN * slowest, runner.used + _TOTAL_SECONDS
    killers, survivors, tried = dict[str, Test](), list[str](), 0
    versions = mutants(tool.source, count=_MAX_MUTANTS, guards=bool(agreed))  # only random calls exercise guards

    async def attack(version: str, known: Sequence[Test]) -> tuple[bool, Test | None]:
        """Return True if the mutant is caught, and the random call that catches it if the suite does not."""
        if await _first_failed(tool, version, known, seconds, runner) is not None:
            return True, None
        killer = await _first_failed(tool, version, agreed[:_MAX_RANDOM_CALLS], seconds, runner, exactly=True)
        return killer is not None, killer

    def next_batch() -> list[str]:
        return [*itertools.islice(versions, _BATCH_SIZE)]

    while (batch := await asyncio.to_thread(next_batch)) and runner.used < end:
        known = [*suite, *killers.values()]
        for version, (is_caught, killer) in zip(
            batch, await asyncio.gather(*(attack(version, known) for version in batch)), strict=True
        ):
            tried += 1
            if not is_caught:
                survivors.append(version)
            if killer is not None and len(killers) < _MAX_KILLERS:
                killers[killer.call.key] = killer
    return tried, survivors, [*killers.values()]


async def _first_failed(
    tool: Tool, version: str, tests: Sequence[Test], seconds: float, runner: ProposalRunner, *, exactly: bool = False
) -> Test | None:
    """Return the first test that a mutant fails."""
    runs_alone = runner.proposal.capabilities.hosts or runner.proposal.capabilities.write
    together = [] if runs_alone else [test for test in tests if not test.files]
    arguments = [test.arguments for test in together]
    given = await runner.run_each(version, tool.name, arguments, seconds, wall_per_cpu=_WALL_PER_CPU_SECOND)
    for test, outcome in zip(together, given, strict=True):
        if outcome is None or not passes(test, outcome) or (exactly and not same(outcome.value, test.expected)):
            return test
    for test in tests:
        if test in together:
            continue
        outcome = await runner.run_fresh(version, tool.name, test.call, seconds, wall_per_cpu=_WALL_PER_CPU_SECOND)
        if not passes(test, outcome):
            return test
    return None


def weakness(tool: Tool, killed: int, tried: int, survivors: Sequence[str]) -> str:
    """Return a message that asks the author for examples that catch some of the surviving mutants."""
    only = "only " if killed else ""
    return "\n".join(
        [
            f"Weak tests: caught {only}{killed} of {tried} deliberate bugs.",
            "  Add examples to the docstring that fail with bugs such as these, which no test noticed:",
            *(f"  {change}" for change in changed_lines(tool, survivors)),
        ]
    )


def changed_lines(tool: Tool, survivors: Sequence[str]) -> list[str]:
    """Return the changed line of the first few surviving mutants, such as "`if n < 9:` -> `if n <= 9:`"."""
    lines = ast.unparse(ast.parse(tool.source)).splitlines()
    pairs = [zip(lines, version.splitlines(), strict=False) for version in survivors[:MAX_SURVIVORS_SHOWN]]
    first = [next(((old, new) for old, new in pair if old != new), None) for pair in pairs]
    return [f"`{one[0].strip()}` -> `{one[1].strip()}`" for one in first if one is not None]


def mutants(source: str, *, count: int = 6, seed: int = 0, guards: bool = True) -> Iterator[str]:
    r"""Yield up to `count` versions of a source, each with one deliberate bug.

    Without `guards`, the checks that raise an error for bad input are left alone.

    Example:
        >>> next(mutants("def area(a, b): return a * b"))
        'def area(a, b):\n    return a + b'
    """
    nodes = _mutable_nodes(ast.parse(source), guards)
    places = [index for index, node in nodes if _mutate(copy.copy(node)) or _is_removable(node)]
    Random(seed).shuffle(places)  # noqa: S311 - repeatable, not secret
    for index in places[:count]:
        version = ast.parse(source)  # faster than a deep copy
        node = [*ast.walk(version)][index]
        if not _mutate(node):
            _Without(node).visit(version)
        yield ast.unparse(version)


def _is_removable(node: ast.AST) -> bool:
    """Return True if the code still makes sense without this statement: an update, a guard, a call for its effect."""
    match node:
        case ast.AugAssign() | ast.Break() | ast.Continue() | ast.Expr(value=ast.Call()):
            return True
        case ast.If(orelse=[], body=[ast.Raise() | ast.Return() | ast.Continue() | ast.Break()]):
            return True
    return False


class _Without(ast.NodeTransformer):
    def __init__(self, removed: ast.AST) -> None:
        self._removed = removed

    def visit(self, node: ast.AST) -> ast.AST:
        return ast.copy_location(ast.Pass(), node) if node is self._removed else super().visit(node)


def _mutable_nodes(tree: ast.Module, guards: bool) -> Iterator[tuple[int, ast.AST]]:
    """Yield each node that may affect a result, with its index in `ast.walk`. `if __name__ == ...` is left out."""
    left_out = _without_effect(tree)
    for node in ast.walk(tree):
        if node in tree.body and isinstance(node, ast.If):
            left_out.update(ast.walk(node))
        if not guards and isinstance(node, ast.If) and not node.orelse and isinstance(node.body[-1], ast.Raise):
            left_out.update((node, *ast.walk(node.test)))
        if isinstance(node, ast.keyword) and node.arg == "strict":
            left_out.update(ast.walk(node))  # without zip's check, correct code gives the same results
        for part in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            left_out.update(ast.walk(part) if part is not None else ())
    return ((index, node) for index, node in enumerate(ast.walk(tree)) if node not in left_out)


def _mutate(node: ast.AST) -> bool:
    """Put a bug into a node: another comparison, operator or constant, or max for min. Return False if none fits."""
    match node:
        case ast.Compare(
            ops=[ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE()], comparators=[ast.Constant(value=float(x))]
        ) if 0 < abs(x) < _TOLERANCE:
            return False  # `< 1e-9` and `<= 1e-9` never differ in a result
        case ast.Compare(ops=[first, *others]) if type(first) in _COMPARISONS:
            node.ops = [_COMPARISONS[type(first)](), *others]
        case ast.BinOp() | ast.AugAssign() if type(node.op) in _OPERATORS:
            node.op = _OPERATORS[type(node.op)]()
        case ast.BoolOp():
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        case ast.Name(id="min" | "max", ctx=ast.Load()):
            node.id = "max" if node.id == "min" else "min"
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool) and value + 1 != value:
            node.value = value + 1
        case ast.Constant(value=bool() as value):
            node.value = not value
        case _:
            return False
    return True


def _without_effect(tree: ast.Module) -> set[ast.AST]:
    """Return the nodes of a module in which a change would show in no result, so that no test can catch it."""
    found = {inner for node in _outside_results(tree) for inner in ast.walk(node)}
    numbers = {
        node.targets[0].id: (node, number)
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        if (number := _number(node.value)) is not None
    }
    by_name = {name: number for name, (_, number) in numbers.items()}
    for node in ast.walk(tree):
        found.update(_idle(node, by_name))
        for part in _too_large(node, by_name):
            found.update(ast.walk(part))
    for name, (node, _) in numbers.items():
        uses = _uses(tree, name)
        if uses and all(use in found for use in uses):
            found.update(ast.walk(node))
    return found


def _outside_results(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield error messages, decorators, and values used only in error messages."""
    raised = {inner for node in ast.walk(tree) if isinstance(node, ast.Raise) for inner in ast.walk(node)}
    yield from raised
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        yield from function.decorator_list
        for node in ast.walk(function):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    if _only_in(function, name, raised):
                        yield value
                case ast.For(
                    target=ast.Tuple(elts=[ast.Name(id=name), *_]),
                    iter=ast.Call(func=ast.Name(id="enumerate"), args=[_, *starts], keywords=named),
                ) if _only_in(function, name, raised):
                    yield from (*starts, *named)


def _uses(tree: ast.AST, name: str) -> list[ast.AST]:
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
    ]


def _only_in(function: ast.AST, name: str, places: set[ast.AST]) -> bool:
    uses = _uses(function, name)
    return bool(uses) and all(use in places for use in uses)


def _is_over(part: ast.AST, limit: float, by_name: dict[str, float]) -> bool:
    number = by_name.get(part.id) if isinstance(part, ast.Name) else _number(part)
    return number is not None and abs(number) >= limit


def _large_sides(node: ast.Compare, by_name: dict[str, float]) -> list[ast.expr]:
    sides = [node.left, *node.comparators]
    least = _HUGE_LENGTH if any(_is_length(side) for side in sides) else _HUGE
    return [side for side in sides if _is_over(side, least, by_name)]


def _idle(node: ast.AST, by_name: dict[str, float]) -> Iterator[ast.AST]:
    """Yield the node itself if another operator makes no difference."""
    match node:
        case ast.Compare() if _large_sides(node, by_name):
            yield node
        case ast.BinOp(op=ast.Add() | ast.Sub(), right=ast.Constant(value=int() | float() as value)) if not value:
            yield node


def _too_large(node: ast.AST, by_name: dict[str, float]) -> Iterator[ast.AST]:
    """Yield numbers in a node that are so large that one more or less makes no difference."""
    match node:
        case ast.Compare():
            yield from _large_sides(node, by_name)
        case ast.For(target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range"), args=[rounds])):
            body = ast.Module(node.body, [])
            leaves = any(isinstance(inner, ast.Break | ast.Return) for inner in ast.walk(body))
            if not _uses(body, name) and (leaves or name == "_") and _is_over(rounds, _PLENTY, by_name):
                yield rounds
        case ast.Assign(targets=[ast.Attribute(attr=name) | ast.Name(id=name)], value=value):
            if name in _PRECISION and _is_over(value, _PLENTY, by_name):
                yield value
        case ast.keyword(arg=str(name), value=value):
            if name in _SIZE_ARGUMENTS or (name in _PRECISION and _is_over(value, _PLENTY, by_name)):
                yield value
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name), args=args) if name in _SIZE_FUNCTIONS:
            yield from (part for part in args if _is_over(part, _HUGE_LENGTH, by_name))


def _is_length(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len"


def _number(node: ast.AST) -> float | None:
    """Return the value of a constant expression such as `1 << 20` or `10**6`."""
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            number = _number(inner)
            return None if number is None else -number
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _FOLDED:
            one, other = _number(left), _number(right)
            if one is None or other is None or abs(one) > 10**30 or abs(other) > 10**30:
                return None
            if isinstance(op, ast.Pow | ast.LShift) and abs(other) > 300:
                return None
            try:
                folded = _FOLDED[type(op)](one, other)
            except (ArithmeticError, ValueError):
                return None
            return folded if isinstance(folded, int | float) else None
    return None
