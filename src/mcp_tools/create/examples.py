"""The examples of a docstring, run as they are written, including those that are no tests, such as `round(f(2), 3)`."""

from __future__ import annotations

import ast
import doctest
import re
from collections.abc import Iterator

from mcp_tools.create.documented_function import read_value
from mcp_tools.create.proposal_runner import ProposalRunner
from mcp_tools.create.same_answer import agree
from mcp_tools.tool import Json

_COMMENTED = re.compile(r"^[ \t]+(\w+\(.*\S)(?:[ \t]{2,}|\n[ \t]+)# (.+)$", re.MULTILINE)
_RUNNING = """

def _run_examples_of_docstring(sources):
    import contextlib
    import io
    import sys

    if "numpy" in sys.modules:  # shows 0.5, not np.float64(0.5)
        sys.modules["numpy"].set_printoptions(legacy="1.25")
    told, names = [], dict(globals())
    for source in sources:
        printed, raised = io.StringIO(), ""
        with contextlib.redirect_stdout(printed):
            try:
                exec(compile(source, "example", "single"), names)
            except Exception as error:
                raised = f"{type(error).__name__}: {error}"
        told.append([printed.getvalue(), raised])
    return told
"""


async def wrong_examples(source: str, docstring: str, runner: ProposalRunner) -> list[str]:
    """The `>>>` examples that do not give what is written behind them, in words for the author.

    The tool's process prints the results; they are judged here.
    """
    try:
        examples = [*doctest.DocTestParser().get_examples(docstring), *_commented(docstring)]
    except ValueError:  # its prompts are misplaced
        return []
    if not examples or runner.file_parameters or runner.proposal.capabilities.hosts:
        return []
    arguments: dict[str, Json] = {"sources": [example.source for example in examples]}
    [outcome] = await runner.run_each(source + _RUNNING, "_run_examples_of_docstring", [arguments])
    told = outcome.value if outcome is not None and isinstance(outcome.value, list) else []
    return [
        f"the docstring's example `{example.source.strip():.200}` must give {example.want.strip()!r:.200}; {got:.300}"
        for example, one in zip(examples, told, strict=False)
        if (got := _difference(example, one))
    ]


def _commented(docstring: str) -> Iterator[doctest.Example]:
    """Examples such as `area(2, 3)  # 6`, with a value that the next line may use."""
    for match in _COMMENTED.finditer(docstring):
        try:
            ast.parse(match[1], mode="eval")
            read_value(match[2])
        except (ValueError, SyntaxError, RecursionError, MemoryError):  # a remark
            continue
        yield doctest.Example(f"{match[1]}\n", f"{match[2]}\n")


def _difference(example: doctest.Example, told: Json) -> str:
    """The result of an example that is not the written one; empty if it is."""
    match told:
        case [str(printed), str(raised)]:
            pass
        case _:
            return "it ended without a result"
    if raised or example.exc_msg is not None:
        expected = (example.exc_msg or "").partition(":")[0].strip()
        return "" if raised.partition(":")[0] == expected else raised or f"it gives {printed.strip()}"
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    if not example.want or doctest.OutputChecker().check_output(example.want, printed, flags):
        return ""
    try:
        if agree(read_value(printed), read_value(example.want)):
            return ""
    except ValueError:  # no literals
        pass
    return f"it gives {printed.strip()}" if printed.strip() else "it gives nothing"
