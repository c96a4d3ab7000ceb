# ruff: noqa: E501 - one case a line
"""Each rule reports its faults with the right line, and accepts good code."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mcp_tools.checks.check import RULES, CheckReport, check
from mcp_tools.tool import Capabilities


def tool(body: str = "return n * 2", *, head: str = "", signature: str = "n: int", tail: str = "") -> str:
    """Return a source that passes every check, except for the inserted parts."""
    lines = "\n".join(f"    {line}" if line else "" for line in body.splitlines())
    return f'{head}\ndef double({signature}) -> int:\n    """Return twice a number."""\n{lines}\n{tail}'


def rules(report: CheckReport) -> list[str]:
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
    "lone surrogate": Case("encoding", tool() + "# \ud800", "UTF-8"),
    "null": Case("hidden-characters", tool() + "\0", "U+0000"),
    "right-to-left override": Case("hidden-characters", tool("return n  # \u202e"), "U+202E"),
    "zero width space": Case("hidden-characters", tool("return n  # a\u200bb"), "U+200B"),
    "joiner between letters": Case("hidden-characters", tool("return n  # a\u200db"), "U+200D"),
    "lone carriage return": Case("hidden-characters", tool() + "# a\rb\n", "U+000D"),
    "unterminated string": Case("parses", tool('return "abc'), "unterminated string"),
    "long chain": Case("parses", "x = " + "-" * 60_000 + "1", "nested too deeply"),
    "deep expression": Case("nesting", tool("return " + "+".join(["n"] * 400)), "150"),
    "no function": Case("one-public-function", "X = 1\n", "no public function"),
    "two functions": Case(
        "one-public-function",
        "def other(k: int) -> int:\n    'Other.'\n    return k\n" + tool(),
        "'other' and 'double'",
    ),
    "keyword name": Case("function-name", tool().replace("double", "match"), "snake_case"),
    "camel case": Case("function-name", tool().replace("double", "doubleIt"), "snake_case"),
    "async": Case("plain-function", tool().replace("def", "async def"), "async"),
    "star args": Case("named-parameters", tool("return n + len(rest)", signature="n: int, *rest: int"), "*rest"),
    "untyped parameter": Case("typed", tool(signature="n"), "'n' has no annotation"),
    "no docstring": Case("docstring", "def double(n: int) -> int:\n    return n\n", "no docstring"),
    "prints": Case("returns-value", tool("print(n * 2)"), "return the value instead"),
    "returns nothing": Case("returns-value", tool("n += 1\nreturn None"), "return result"),
    "subprocess": Case("allowed-imports", tool(head="import subprocess"), "cannot start processes"),
    "requests": Case("allowed-imports", tool(head="import requests"), "no network"),
    "pickle": Case("allowed-imports", tool(head="import pickle"), "json"),
    "relative import": Case("allowed-imports", tool(head="from . import other"), "a tool is a single file"),
    "late import": Case("allowed-imports", tool("import ctypes\nreturn n"), "native code"),
    "urllib.request": Case("allowed-imports", tool(head="from urllib import request"), "network"),
    "pattern of hosts": Case("exact-hosts", tool(), "exact name", Capabilities(hosts=("*.example.org",))),
    "key without a host": Case("exact-hosts", tool(), "keys but no hosts", Capabilities(keys=("WEATHER",))),
    "name of a key": Case("exact-hosts", tool(), "valid key name", Capabilities(hosts=("a.example",), keys=("a}",))),
    "socket with hosts": Case(
        "allowed-imports", tool(head="import http.client"), "no network", Capabilities(hosts=("a.example",))
    ),
    "missing import": Case("undefined-name", tool("return sqrt(n)"), "import it or define it"),
    "comprehension variable after": Case("undefined-name", tool("x = [i for i in range(n)]\nreturn i + len(x)"), "'i'"),
    "class name in method": Case(
        "undefined-name", tool(head="class _A:\n    size = 1\n    def get(self):\n        return size\n"), "'size'"
    ),
    "eval": Case("forbidden-builtin", tool("return eval(str(n))"), "literal_eval"),
    "exec by another name": Case("forbidden-builtin", tool("run = exec\nrun(str(n))\nreturn n"), "exec"),
    "__import__": Case("forbidden-builtin", tool("return __import__('os').getpid() + n"), "import"),
    "call on import": Case("nothing-on-import", tool(tail="print(double(3))"), "on import"),
    "class body": Case("nothing-on-import", tool(head="class _A:\n    print('x')\n"), "print('x')"),
}


@pytest.mark.parametrize("case", FAULTY.values(), ids=FAULTY.keys())
def test_a_faulty_source_is_found_by_its_rule(case: Case) -> None:
    report = check(case.source, capabilities=case.capabilities)
    messages = [finding.message for finding in report.findings if finding.rule == case.rule]
    assert not report.ok
    assert messages, report.findings
    assert any(case.says in message for message in messages), messages


HONEST = {
    "eval_result": tool("eval_result = n * 2\nreturn eval_result"),
    "re.compile": tool("return len(_WORD.findall(str(n)))", head='import re\n_WORD = re.compile(r"\\w+")'),
    "text about imports": tool('example = "import os; os.system(1)"\nreturn n + len(example)'),
    "getattr": tool("return getattr(_Box(n), 'n')", head="class _Box:\n    def __init__(self, n):\n        self.n = n\n"),
    "bare cache": tool("return _f(n)", head="from functools import cache\n@cache\ndef _f(n):\n    return n\n"),
    "nonlocal": tool("total = 0\ndef add(k):\n    nonlocal total\n    total += k\nadd(n)\nreturn total"),
    "walrus": tool("return sum(y for x in range(n) if (y := x * x) > 3)"),
    "walrus seen after": tool("xs = [y := x for x in range(n)]\nreturn y + len(xs)"),
    "constants by pure calls": tool("return n + int(_D)", head='from decimal import Decimal\nfrom datetime import date\n_D = Decimal("1.5")\n_E = date(2000, 1, 1)\n_W = "a b".split()\n_T = str.maketrans("ab", "cd")'),
    "parameter called input": tool("return len(input)", signature="input: str"),
    "own open": tool("return _open(n)", head="def _open(n):\n    return n\n"),
    "method called eval": tool("return _M().eval(n)", head="class _M:\n    def eval(self, n):\n        return n\n"),
    "future": tool(head="from __future__ import annotations"),
    "bounded while true": tool("while True:\n    n -= 1\n    if n < 0:\n        break\nreturn n"),
    "emoji with joiner": tool('return n + len("👩\u200d💻")'),
    "joiner in Persian": tool('return n + len("می\u200cخواهم")'),
    "global": tool("global _seen\n_seen = n\nreturn _seen", head="_seen = 0"),
    "star in call": tool("xs = [n, 1]\nreturn max(*xs)"),
    "star unpack": tool("first, *rest = [n, 1]\nreturn first + len(rest)"),
    "except star": tool("try:\n    n += 1\nexcept* ValueError as group:\n    n = len(group.exceptions)\nreturn n"),
    "class in a function": tool("class Box:\n    size = n\nreturn Box.size"),
    "collections.abc": tool("return len(n)", head="from collections.abc import Sequence", signature="n: Sequence[int]"),
    "recursion limit": tool("sys.setrecursionlimit(5000)\nreturn n", head="import sys"),
    "dunder name": tool("return n + len(__name__)"),
}  # fmt: skip


@pytest.mark.parametrize("source", HONEST.values(), ids=HONEST.keys())
def test_honest_code_raises_no_alarm(source: str) -> None:
    assert check(source).findings == ()


def test_a_tool_with_hosts_may_import_what_sends_requests() -> None:
    source = tool(head="import urllib.request\nfrom urllib.request import urlopen")
    assert rules(check(source)) == ["allowed-imports"]
    assert check(source, capabilities=Capabilities(hosts=("a.example:8443",), keys=("WEATHER",))).ok


def test_the_wanted_function_must_be_there_under_its_name() -> None:
    assert check(tool(), function="double").ok
    report = check(tool(), function="triple")
    assert rules(report) == ["one-public-function"]
    assert "rename 'double' to 'triple'" in [finding.message for finding in report.findings]


def test_a_finding_tells_the_line() -> None:
    report = check(tool("x = sqrt(n)\nreturn x + cos(n)"))
    assert [(finding.line, finding.rule) for finding in report.findings] == [
        (4, "undefined-name"),
        (5, "undefined-name"),
    ]
    assert report.as_json()["findings"][0]["line"] == 4


def test_the_table_of_rules_is_complete_and_clean() -> None:
    ids = [rule.id for rule in RULES]
    assert len(ids) == len(set(ids))
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.id) for rule in RULES)
    assert all(rule.description.endswith(".") and "\n" not in rule.description for rule in RULES)
    assert set(ids) == {case.rule for case in FAULTY.values()}


def test_no_file_is_needed(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    assert not check(tool(tail=f"open({str(mark)!r}, 'w').write('x')")).ok
    assert not mark.exists()
