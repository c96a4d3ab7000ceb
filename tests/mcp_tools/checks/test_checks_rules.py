# ruff: noqa: E501 - one case a line
"""Each rule finds what it is for, at its line, and leaves honest code alone."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mcp_tools.checks.check import RULES, Report, check
from mcp_tools.tool import Capabilities


def tool(body: str = "return n * 2", *, head: str = "", signature: str = "n: int", tail: str = "") -> str:
    """A source that passes every check, but for what is put in."""
    lines = "\n".join(f"    {line}" if line else "" for line in body.splitlines())
    return f'{head}\ndef double({signature}) -> int:\n    """Return twice a number."""\n{lines}\n{tail}'


def rules(report: Report) -> list[str]:
    return sorted({finding.rule for finding in report.findings})


@dataclass(frozen=True)
class Case:
    rule: str
    source: str | bytes
    says: str = ""
    capabilities: Capabilities = field(default_factory=Capabilities)


FAULTY = {
    "too large": Case("size", tool() + "#" * 70_000, "65,536"),
    "latin-1": Case("encoding", tool().encode() + b"# caf\xe9\n", "0xe9"),
    "byte-order mark": Case("hidden-characters", b"\xef\xbb\xbf" + tool().encode(), "U+FEFF"),
    "lone surrogate": Case("encoding", tool() + "# \ud800", "UTF-8"),
    "null": Case("hidden-characters", tool() + "\0", "U+0000"),
    "right-to-left override": Case("hidden-characters", tool("return n  # \u202e"), "U+202E"),
    "zero width space": Case("hidden-characters", tool("return n  # a\u200bb"), "U+200B"),
    "tag character": Case("hidden-characters", tool("return n  # \U000e0041"), "U+E0041"),
    "joiner between letters": Case("hidden-characters", tool("return n  # a\u200db"), "U+200D"),
    "lone carriage return": Case("hidden-characters", tool() + "# a\rb\n", "U+000D"),
    "escape": Case("hidden-characters", tool("return n  # \x1b[2J"), "U+001B"),
    "unterminated string": Case("parses", tool('return "abc'), "unterminated string"),
    "leading zeros": Case("parses", tool("return 007"), "leading zeros"),
    "stray return": Case("parses", tool() + "return 1\n", "outside function"),
    "too many parentheses": Case("parses", "x = " + "(" * 5000, "parentheses"),
    "long chain": Case("parses", "x = " + "-" * 60_000 + "1", "nested too deeply"),
    "deep expression": Case("nesting", tool("return " + "+".join(["n"] * 400)), "150"),
    "no function": Case("one-public-function", "X = 1\n", "no public function"),
    "two functions": Case(
        "one-public-function",
        "def other(k: int) -> int:\n    'Other.'\n    return k\n" + tool(),
        "'other' and 'double'",
    ),
    "keyword name": Case("function-name", tool().replace("double", "match"), "snake_case"),
    "builtin name": Case("function-name", tool().replace("double", "sum"), "builtin"),
    "camel case": Case("function-name", tool().replace("double", "doubleIt"), "snake_case"),
    "async": Case("plain-function", tool().replace("def", "async def"), "async"),
    "star args": Case("named-parameters", tool("return n + len(rest)", signature="n: int, *rest: int"), "*rest"),
    "star kwargs": Case("named-parameters", tool("return n + len(kw)", signature="n: int, **kw: int"), "**kw"),
    "untyped parameter": Case("typed", tool(signature="n"), "'n' has no annotation"),
    "untyped return": Case("typed", tool().replace(" -> int", ""), "no return annotation"),
    "no docstring": Case("docstring", "def double(n: int) -> int:\n    return n\n", "no docstring"),
    "prints": Case("returns-value", tool("print(n * 2)"), "return the value instead"),
    "returns nothing": Case("returns-value", tool("n += 1\nreturn None"), "return result"),
    "subprocess": Case("allowed-imports", tool(head="import subprocess"), "no process"),
    "socket": Case("allowed-imports", tool(head="from socket import create_connection"), "no network"),
    "requests": Case("allowed-imports", tool(head="import requests"), "no network"),
    "pickle": Case("allowed-imports", tool(head="import pickle"), "json"),
    "unknown package": Case("allowed-imports", tool(head="import torch"), "standard library"),
    "relative import": Case("allowed-imports", tool(head="from . import other"), "stands alone"),
    "late import": Case("allowed-imports", tool("import ctypes\nreturn n"), "native code"),
    "urllib.request": Case("allowed-imports", tool(head="from urllib import request"), "network"),
    "host": Case("no-hosts", tool(), "api.example.org", Capabilities(hosts=("api.example.org",))),
    "missing import": Case("undefined-name", tool("return sqrt(n)"), "import it or define it"),
    "missing module": Case("undefined-name", tool("return math.sqrt(n)"), "import math"),
    "comprehension variable after": Case("undefined-name", tool("x = [i for i in range(n)]\nreturn i + len(x)"), "'i'"),
    "class name in method": Case(
        "undefined-name", tool(head="class _A:\n    size = 1\n    def get(self):\n        return size\n"), "'size'"
    ),
    "eval": Case("forbidden-builtin", tool("return eval(str(n))"), "literal_eval"),
    "exec by another name": Case("forbidden-builtin", tool("run = exec\nrun(str(n))\nreturn n"), "exec"),
    "__import__": Case("forbidden-builtin", tool("return __import__('os').getpid() + n"), "import"),
    "input": Case("forbidden-builtin", tool("return n + int(input())"), "parameter"),
    "call on import": Case("nothing-on-import", tool(tail="print(double(3))"), "on import"),
    "default by a call": Case("nothing-on-import", tool(signature="n: int = print(1)"), "print(1)"),
    "class body": Case("nothing-on-import", tool(head="class _A:\n    print('x')\n"), "print('x')"),
}


@pytest.mark.parametrize("case", FAULTY.values(), ids=FAULTY.keys())
def test_a_faulty_source_is_found_by_its_rule(case: Case) -> None:
    """The finding names its rule, and its message says what to do."""
    report = check(case.source, capabilities=case.capabilities)
    messages = [finding.message for finding in report.findings if finding.rule == case.rule]
    assert not report.ok
    assert messages, report.findings
    assert any(case.says in message for message in messages), messages


HONEST = {
    "plain": tool(),
    "eval_result": tool("eval_result = n * 2\nreturn eval_result"),
    "re.compile": tool("return len(_WORD.findall(str(n)))", head='import re\n_WORD = re.compile(r"\\w+")'),
    "text about imports": tool('example = "import os; os.system(1)"\nreturn n + len(example)'),
    "class": tool("return _Node(n).twice()", head="class _Node:\n    def __init__(self, n):\n        self.n = n\n    def twice(self):\n        return self.n * 2\n"),
    "generator helper": tool("return sum(_up(n))", head="def _up(n):\n    i = 0\n    while True:\n        if i >= n:\n            return\n        yield i\n        i += 1\n"),
    "recursion": tool("return n if n < 2 else double(n - 1) + double(n - 2)"),
    "getattr": tool("return getattr(_Box(n), 'n')", head="class _Box:\n    def __init__(self, n):\n        self.n = n\n"),
    "cache": tool("return _f(n)", head="import functools\n@functools.lru_cache(maxsize=None)\ndef _f(n):\n    return n\n"),
    "bare cache": tool("return _f(n)", head="from functools import cache\n@cache\ndef _f(n):\n    return n\n"),
    "dataclass": tool("return _P(n).x", head="from dataclasses import dataclass, field\n@dataclass(frozen=True)\nclass _P:\n    x: int\n    y: list = field(default_factory=list)\n"),
    "enum": tool("return _C.RED.value + n", head="from enum import Enum, auto\nclass _C(Enum):\n    RED = auto()\n"),
    "nested function": tool("def inner(k):\n    return k + n\nreturn inner(1)"),
    "nonlocal": tool("total = 0\ndef add(k):\n    nonlocal total\n    total += k\nadd(n)\nreturn total"),
    "walrus": tool("return sum(y for x in range(n) if (y := x * x) > 3)"),
    "walrus seen after": tool("xs = [y := x for x in range(n)]\nreturn y + len(xs)"),
    "match": tool("match n:\n    case 0 | 1:\n        return n\n    case int(k):\n        return k\n    case [a, *rest]:\n        return a + len(rest)\n    case {'k': v, **more}:\n        return v + len(more)\nreturn 0"),
    "lambda": tool("return sorted(range(n), key=lambda k: (-k, str(k)))[0]"),
    "table": tool("return _T.get(str(n), 0)", head='_T = {c: i for i, c in enumerate("abc")}\n_U: list[int] = [*range(3)]'),
    "constants by pure calls": tool("return n + int(_D)", head='from decimal import Decimal\nfrom datetime import date\n_D = Decimal("1.5")\n_E = date(2000, 1, 1)\n_W = "a b".split()\n_T = str.maketrans("ab", "cd")'),
    "parameter called input": tool("return len(input)", signature="input: str"),
    "own open": tool("return _open(n)", head="def _open(n):\n    return n\n"),
    "method called eval": tool("return _M().eval(n)", head="class _M:\n    def eval(self, n):\n        return n\n"),
    "guard": tool(tail='if __name__ == "__main__":\n    import sys, json\n    print(json.dumps(double(int(sys.argv[1]))))\n'),
    "string annotation": tool(signature='n: "int | None" = None', body="return (n or 1) * 2"),
    "rich types": tool("return len(n)", signature="n: list[dict[str, tuple[int, ...] | None]]"),
    "typing names": tool("return len(n or [])", head="from typing import Optional, List", signature="n: Optional[List[int]] = None"),
    "typed dict": tool("return n['x']", head="from typing import TypedDict\nclass _P(TypedDict):\n    x: int\n", signature="n: _P"),
    "alias": tool("return len(n)", head="Matrix = list[list[float]]", signature="n: Matrix"),
    "keyword only": tool("return n + k", signature="n: int, *, k: int = 1"),
    "future": tool(head="from __future__ import annotations"),
    "module docstring": '"""A tool."""\n' + tool(),
    "try": tool("try:\n    return int(str(n))\nexcept ValueError as error:\n    raise ValueError(f'{error}') from None"),
    "bounded while true": tool("while True:\n    n -= 1\n    if n < 0:\n        break\nreturn n"),
    "emoji with joiner": tool('return n + len("👩\u200d💻")'),
    "joiner in Persian": tool('return n + len("می\u200cخواهم")'),
    "crlf": tool().replace("\n", "\r\n"),
    "global": tool("global _seen\n_seen = n\nreturn _seen", head="_seen = 0"),
    "star in call": tool("xs = [n, 1]\nreturn max(*xs)"),
    "star unpack": tool("first, *rest = [n, 1]\nreturn first + len(rest)"),
    "except star": tool("try:\n    n += 1\nexcept* ValueError as group:\n    n = len(group.exceptions)\nreturn n"),
    "class in a function": tool("class Box:\n    size = n\nreturn Box.size"),
    "submodule": tool("return len(ET.fromstring(str(n)))", head="import xml.etree.ElementTree as ET"),
    "collections.abc": tool("return len(n)", head="from collections.abc import Sequence", signature="n: Sequence[int]"),
    "recursion limit": tool("sys.setrecursionlimit(5000)\nreturn n", head="import sys"),
    "dunder name": tool("return n + len(__name__)"),
}  # fmt: skip


@pytest.mark.parametrize("source", HONEST.values(), ids=HONEST.keys())
def test_honest_code_raises_no_alarm(source: str) -> None:
    """Not one finding."""
    assert check(source).findings == ()


def test_a_declared_package_may_be_imported_under_its_import_name() -> None:
    """Distribution names and import names differ."""
    source = tool("return len(bs4.BeautifulSoup(str(n)))", head="import bs4")
    assert rules(check(source)) == ["allowed-imports"]
    assert check(source, capabilities=Capabilities(packages=("BeautifulSoup4>=4",))).ok


def test_the_wanted_function_must_be_there_under_its_name() -> None:
    """With a name given, another public function does not do."""
    assert check(tool(), function="double").ok
    report = check(tool(), function="triple")
    assert rules(report) == ["one-public-function"]
    assert "rename 'double' to 'triple'" in [finding.message for finding in report.findings]


def test_a_finding_tells_the_line() -> None:
    """Lines count from one, in the order of the report."""
    report = check(tool("x = sqrt(n)\nreturn x + cos(n)"))
    assert [(finding.line, finding.rule) for finding in report.findings] == [
        (4, "undefined-name"),
        (5, "undefined-name"),
    ]
    assert report.as_json()["findings"][0]["line"] == 4


def test_the_table_of_rules_is_complete_and_clean() -> None:
    """Ids are unique and kebab-case, descriptions are one sentence, and each rule has a faulty case here."""
    ids = [rule.id for rule in RULES]
    assert len(ids) == len(set(ids))
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.id) for rule in RULES)
    assert all(rule.description.endswith(".") and "\n" not in rule.description for rule in RULES)
    assert set(ids) == {case.rule for case in FAULTY.values()}


def test_no_file_is_needed(tmp_path: Path) -> None:
    """Checking executes nothing: a source that would write on import writes nothing."""
    mark = tmp_path / "mark"
    assert not check(tool(tail=f"open({str(mark)!r}, 'w').write('x')")).ok
    assert not mark.exists()
