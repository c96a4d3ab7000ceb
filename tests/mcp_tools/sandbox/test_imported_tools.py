"""Tools that a program imports: arguments are checked, and calls are counted at low cost."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_tools.sandbox.protocol import Job, Limits, Outcome
from mcp_tools.sandbox.warm import WarmSandbox
from mcp_tools.tool import CallCount

pytestmark = pytest.mark.asyncio(loop_scope="module")

SHIFT = '''from __future__ import annotations
import functools
from typing import Literal

STEP = 1


def shift(n: int, unit: Literal["cm", "m"] = "cm", by: list[float] = None, *, label: str | None = None) -> int:
    """Shift."""
    if n < 0:
        raise ValueError("n is negative")
    return n + STEP
'''
FACTORIAL = 'def factorial(n: int) -> int:\n    """F."""\n    return 1 if n < 2 else n * factorial(n - 1)\n'
CACHED = 'import functools\n\n@functools.cache\ndef cached(n: int) -> int:\n    """C."""\n    return n\n'
NESTED = 'from shift import shift\n\ndef nested(n: int) -> int:\n    """N."""\n    return shift(n) + shift(n)\n'
CLASHES = 'def clashes(type: str, int: int = 3) -> str:\n    """C."""\n    return type * int\n'
THIRD = (
    'from typing import Literal\ndef third(n: float, unit: Literal["a"] = None) -> float:\n    """T."""\n    return n\n'
)
MODULES = {
    "third": THIRD,
    "shift": SHIFT,
    "factorial": FACTORIAL,
    "cached": CACHED,
    "nested": NESTED,
    "clashes": CLASHES,
}


async def ran(sandbox: WarmSandbox, code: str, **modules: str) -> Outcome:
    return await sandbox.run(Job(code, None, modules={**MODULES, **modules}, limits=Limits(30, 30)))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("shift(1)", "2"),
        ("shift(2.0)", "3.0"),
        ("shift(n=1, unit='m', by=(1,), label=None)", "2"),
        ("shift(1, by=None)", "2"),
        ("third(numpy.float64(1.5)) + third(1) + third(1.5)", "4.0"),
        ("third(True)", "TypeError: third(): n must be float or int, not bool"),
        ("shift(numpy.int64(1))", "2"),
        ("shift(numpy.float64(1))", "2.0"),
        ("cached(1)", "1"),
        ("clashes('a', 2)", "aa"),
        ("shift.__name__, shift.__doc__, inspect.signature(shift).parameters['n'].name", "shift Shift. n"),
        ("shift('1')", "TypeError: shift(): n must be int, not str"),
        ("shift(True)", "TypeError: shift(): n must be int, not bool"),
        ("shift(1.5)", "TypeError: shift(): n must be int, not float"),
        ("shift(None)", "TypeError: shift(): n must be int, not None"),
        ("shift(1, by='ab')", "TypeError: shift(): by must be list or None, not str"),
        ("shift(1, label=5)", "TypeError: shift(): label must be str or None, not int"),
        ("shift(1, 'km')", "ValueError: shift(): unit must be one of 'cm', 'm', not 'km'"),
        ("cached('1')", "TypeError: cached(): n must be int, not str"),
        ("shift()", "TypeError: shift() missing 1 required positional argument: 'n'"),
        ("shift(1, other=2)", "TypeError: shift() got an unexpected keyword argument 'other'"),
    ],
)
async def test_arguments_are_held_against_the_signature(sandbox: WarmSandbox, call: str, said: str) -> None:
    code = "import inspect, numpy\nfrom shift import shift\nfrom cached import cached\nfrom clashes import clashes\n"
    code += "from third import third\n"
    outcome = await ran(sandbox, f"{code}print({call})")
    assert (outcome.problem.message if outcome.problem else outcome.stdout.strip()) == said
    if "must be" in said:
        assert outcome.called == (), "what did not fit was not called"


@pytest.mark.parametrize(
    ("code", "called"),
    [
        ("import factorial\nfactorial.factorial(9)", {"factorial": (1, 0)}),
        ("from nested import nested\nnested(1)", {"nested": (1, 0), "shift": (2, 0)}),
        ("from shift import shift\nfor n in (1, -1, 2):\n try: shift(n)\n except ValueError: pass", {"shift": (3, 1)}),
        ("from cached import cached as c\nc(1); c(1)", {"cached": (2, 0)}),
        ("from shift import shift\nlist(map(shift, range(5)))\nraise OSError", {"shift": (5, 0)}),
        ("from shift import STEP", {}),
    ],
    ids=["recursion is one call", "what a tool calls", "failures", "decorated", "before an error", "no call"],
)
async def test_calls_are_counted(sandbox: WarmSandbox, code: str, called: dict[str, tuple[int, int]]) -> None:
    outcome = await ran(sandbox, code)
    assert {one.name: (one.calls, one.failed) for one in outcome.called} == called


async def test_a_session_counts_each_block_by_itself(sandbox: WarmSandbox) -> None:
    session = sandbox.session(modules=MODULES)
    blocks = ["from shift import shift\nshift(1)", "x = 1", "shift(1)\nshift(2)\nshift(-1)"]
    told = [(await session.run(block, limits=Limits())).called for block in blocks]
    await session.aclose()
    assert told == [(CallCount("shift", 1),), (), (CallCount("shift", 3, 1),)]


async def test_of_many_tools_those_called_most_are_told(sandbox: WarmSandbox) -> None:
    many = {f"t{n}": f'def t{n}(n: int) -> int:\n    """T."""\n    return n\n' for n in range(60)}
    code = "from importlib import import_module as load\nfor n in range(60):\n"
    code += " for _ in range(n + 1): getattr(load(f't{n}'), f't{n}')(1)"
    outcome = await ran(sandbox, code, **many)
    assert [one.calls for one in outcome.called] == [*range(60, 10, -1)]


FRAME = """
import os, json
def frame(body):
    body = json.dumps(body).encode()
    os.write(4, b'alita1' + len(body).to_bytes(8, 'big') + body)
"""


@pytest.mark.parametrize(
    "called",
    [{"other": [1, 0]}, {"shift": [1, 2]}, {"shift": [-1, -1]}, {"shift": [10**11, 0]}, {"shift": [True]}, {"shift": 1},
     [], "x", {f"shift{n}": [1, 0] for n in range(60)}],
    ids=["another name", "more failed", "negative", "too many", "short", "number", "list", "text", "many"],
)  # fmt: skip
async def test_forged_counts_are_not_believed(sandbox: WarmSandbox, called: Any) -> None:
    forged = await ran(sandbox, f"{FRAME}frame({{'ok': True, 'value': 1, 'called': {called!r}}})\nos._exit(0)")
    assert (forged.ok, forged.called) == (False, ())
    assert "result channel" in str(forged.problem)
    session = sandbox.session(modules=MODULES)
    end = {"end": 1, "value": "", "data": None, "problem": None, "called": called}
    outcome = await session.run(f"{FRAME}frame({end!r})\nimport time; time.sleep(20)", limits=Limits())
    await session.aclose()
    assert (outcome.ok, outcome.called) == (False, ())


async def test_a_call_costs_little_more_than_without_check_and_count(sandbox: WarmSandbox) -> None:
    digits = """
def digits(n: int) -> int:
    total = 0
    while n:
        total += n % 10
        n //= 10
    return total
"""
    code = """
import time
import digits
def seconds(function):
    begun = time.perf_counter()
    for n in range(10**6, 10**6 + 20_000): function(n)
    return time.perf_counter() - begun
bare, counted = vars(digits)["digits"], digits.digits
print(min(seconds(counted) / seconds(bare) for _ in range(15)))
"""
    outcome = await ran(sandbox, code, digits=digits)
    assert float(outcome.stdout) < 1.3, outcome.problem
    assert outcome.called == (CallCount("digits", 300_000),)
