"""The gate that tells a tool from an answer: every parameter counts, and nothing of the question is written in."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mcp_tools.checks.generality.dataflow import reaching
from mcp_tools.checks.generality.places import Constant, constants
from mcp_tools.checks.generality.question import Literal, Particulars, particulars
from mcp_tools.checks.rule import Remark, Rule
from mcp_tools.checks.scopes import parameters
from mcp_tools.checks.source import Source
from mcp_tools.checks.syntax import walk


def takes_parameters(source: Source) -> Iterator[Remark]:
    """At least one parameter: without any, it answers one question only."""
    if source.entry and not parameters(source.entry):
        yield Remark(
            source.entry.lineno,
            f"{source.entry.name!r} takes no parameter, so it answers one question only;"
            " make the numbers and names of the question parameters",
        )


def parameters_reach_result(source: Source) -> Iterator[Remark]:
    """Every parameter can change what the function returns."""
    entry = source.entry
    if entry is None or not any(isinstance(node, ast.Return | ast.Yield | ast.YieldFrom) for node in walk(entry)):
        return
    reached = reaching(entry, source.tree, source.names)
    read = {node.id for node in walk(entry) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    for parameter in parameters(entry):
        name = parameter.arg
        if name not in reached | read:
            yield Remark(parameter.lineno, f"parameter {name!r} is never read; compute with it, or remove it")
        elif name not in reached:
            yield Remark(
                parameter.lineno,
                f"parameter {name!r} does not reach the result: it is overwritten, or only printed or checked;"
                " compute the result from it, or remove it",
            )


def _copied(asked: Particulars, source: Source) -> Iterator[Remark]:
    """No number, name or quoted text of the question stands in the code."""
    for constant, literal in _shared(asked, source):
        if not _may_be_chance(constant, literal):
            yield Remark(constant.line, f"{literal.text} is from the question; make it a parameter")


def _perhaps_copied(asked: Particulars, source: Source) -> Iterator[Remark]:
    """What is in the question and in the code by chance, perhaps."""
    for constant, literal in _shared(asked, source):
        if _may_be_chance(constant, literal):
            yield Remark(
                constant.line,
                f"{literal.text} is in the question too; if it is particular to the question, make it a parameter",
            )


def _may_be_chance(constant: Constant, literal: Literal) -> bool:
    return literal.common or constant.is_docstring or (literal.is_text and constant.is_choice)


def _shared(asked: Particulars, source: Source) -> Iterator[tuple[Constant, Literal]]:
    for constant in constants(source):
        literals = asked.found_in(constant.value)
        if constant.is_docstring:
            literals = [literal for literal in literals if not literal.is_text and not literal.common]
        if literals and not constant.in_table(lambda value: bool(asked.found_in(value))):
            yield from ((constant, literal) for literal in literals)


def generality(question: str) -> tuple[Rule, ...]:
    """The rules for code that was written for a question."""
    asked = particulars(question)
    return (
        Rule("takes-parameters", "The function takes at least one parameter.", takes_parameters),
        Rule(
            "parameters-reach-result", "Every parameter can change what the function returns.", parameters_reach_result
        ),
        Rule(
            "question-literal",
            "No number, name or quoted text of the question stands in the code.",
            partial(_copied, asked),
        ),
        Rule(
            "common-question-literal",
            "A common number, or a word that is an outcome, is in the question and the code: perhaps by chance.",
            partial(_perhaps_copied, asked),
            "warning",
        ),
    )
