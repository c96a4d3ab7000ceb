"""A scratch program with other values, or as a function: its constants are exchanged, nothing else."""

from __future__ import annotations

import ast
import warnings
from collections import Counter
from collections.abc import Collection
from typing import Any

from mcp_tools.create.small.needed import touched
from mcp_tools.tool import Json


def with_values(source: str, old: dict[str, Json], new: dict[str, Json]) -> str | None:
    """The program with the new arguments' values wherever it writes the old ones.

    Returns:
        None when a value that changes stands nowhere in the program, at several places where it may mean several
        things, or for two different new ones.
    """
    meanings = {(repr(old[name]), repr(new.get(name))) for name in old}
    if len(meanings) > len({value for value, _ in meanings}):
        return None
    changing = {repr(old[name]): (old[name], repr(new[name])) for name in old if old[name] != new.get(name)}
    return _exchanged(source, list(changing.values()))


def with_parameters(source: str, arguments: dict[str, Json]) -> str | None:
    """The program with a parameter's name wherever it writes the parameter's value.

    Returns:
        None when a value stands nowhere in the program, or at several places where it may mean several things, when
        two parameters have the same value, or when the program calls something else by the name of a parameter.
    """
    if len({repr(value) for value in arguments.values()}) < len(arguments):
        return None
    return _exchanged(source, [(value, name) for name, value in arguments.items()], names=set(arguments))


def _exchanged(source: str, pairs: list[tuple[Json, str]], names: Collection[str] = ()) -> str | None:
    """The program with expressions in the place of literals; None when one of the literals stands nowhere."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
            exchange = _Exchange(pairs)
            changed = exchange.visit(tree)
            if exchange.missed_or_ambiguous or _other_use(changed, names):
                return None
            return ast.unparse(ast.fix_missing_locations(changed))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _other_use(tree: ast.Module, names: Collection[str]) -> bool:
    """Whether the program binds one of the names to anything but itself."""
    own = [node for node in tree.body if not (isinstance(node, ast.Assign) and _is_itself(node))]
    return any(name in names for node in own for name in touched(node))


def _is_itself(node: ast.Assign) -> bool:
    target, value = node.targets[0], node.value
    return isinstance(target, ast.Name) and isinstance(value, ast.Name) and target.id == value.id


_SHORT = 3


class _Exchange(ast.NodeTransformer):
    """Replaces literals that equal an old value."""

    def __init__(self, pairs: list[tuple[Json, str]]) -> None:
        self.pairs = pairs
        self.found = Counter[int]()

    @property
    def missed_or_ambiguous(self) -> bool:
        """Whether a value stands nowhere, or stands at several places where it may mean several things."""
        return any(
            self.found[index] == 0 or (self.found[index] > 1 and _may_be_another(old))
            for index, (old, _) in enumerate(self.pairs)
        )

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Tries each node as a literal before its parts."""
        if isinstance(node, ast.Constant | ast.List | ast.Tuple | ast.Dict | ast.UnaryOp):
            for index, (old, new) in enumerate(self.pairs):
                if _same(node, old):
                    self.found[index] += 1
                    return ast.parse(new, mode="eval").body
        return super().generic_visit(node)


def _may_be_another(value: Json) -> bool:
    """Whether a program may hold the value in another meaning too: a number, a letter."""
    return value is None or isinstance(value, int | float) or len(value) < _SHORT


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
