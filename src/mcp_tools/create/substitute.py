"""A scratch program asked the same question with other values: its constants are exchanged, nothing else."""

from __future__ import annotations

import ast
import warnings
from typing import Any

from mcp_tools.tool import Json


def with_values(source: str, old: dict[str, Json], new: dict[str, Json]) -> str | None:
    """The program with the new arguments' values wherever it writes the old ones.

    Returns:
        None when a value that changes stands nowhere in the program, or stands for two different new ones.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _exchanged(ast.parse(source), old, new)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _exchanged(tree: ast.Module, old: dict[str, Json], new: dict[str, Json]) -> str | None:
    meanings = {(repr(old[name]), repr(new.get(name))) for name in old}
    if len(meanings) > len({value for value, _ in meanings}):
        return None
    changing = {repr(old[name]): (old[name], new[name]) for name in old if old[name] != new.get(name)}
    exchange = _Exchange(list(changing.values()))
    changed = exchange.visit(tree)
    if len(exchange.found) < len(exchange.pairs):
        return None
    return ast.unparse(ast.fix_missing_locations(changed))


class _Exchange(ast.NodeTransformer):
    """Replaces literals that equal an old value."""

    def __init__(self, pairs: list[tuple[Json, Json]]) -> None:
        self.pairs = pairs
        self.found: set[int] = set()

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Tries each node as a literal before its parts."""
        if isinstance(node, ast.Constant | ast.List | ast.Tuple | ast.Dict | ast.UnaryOp):
            for index, (old, new) in enumerate(self.pairs):
                if _same(node, old):
                    self.found.add(index)
                    return ast.parse(repr(new), mode="eval").body
        return super().generic_visit(node)


def _same(node: ast.AST, value: Json) -> bool:
    try:
        literal: Any = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return False
    plain = _listed(literal)
    return bool(plain == value) and isinstance(plain, bool) == isinstance(value, bool)


def _listed(value: Any) -> Any:
    """Tuples as lists, as JSON has them."""
    if isinstance(value, list | tuple):
        return [_listed(inner) for inner in value]
    if isinstance(value, dict):
        return {str(key): _listed(inner) for key, inner in value.items()}
    return value
