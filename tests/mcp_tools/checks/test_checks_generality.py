# ruff: noqa: E501 - one case a line
"""A tool answers a kind of question: each parameter counts, and nothing of the question is written in."""

from __future__ import annotations

import pytest

from mcp_tools import checks
from mcp_tools.checks import Report
from mcp_tools.checks.generality import generality


def check(source: str, question: str | None = None) -> Report:
    """The checks with the rules for a model that may write its question into the code."""
    return checks.check(source, more=generality(question or ""))


def tool(body: str, signature: str = "a: int, b: int", head: str = "", returns: str = "int") -> str:
    lines = "\n".join(f"    {line}" if line else "" for line in body.splitlines())
    return f'{head}\ndef solve({signature}) -> {returns}:\n    """Solve it."""\n{lines}\n'


def unused(report: Report) -> list[str]:
    """The parameters that the report says do not count."""
    found = [finding for finding in report.findings if finding.rule == "parameters-reach-result"]
    assert all(finding.severity == "error" for finding in found)
    return [finding.message.split("'")[1] for finding in found]


DEAD = {
    "never read": "return b",
    "overwritten first": "a = 57\nreturn a + b",
    "overwritten in a branch that always runs": "a, c = 1, b\nreturn a + c",
    "only printed": "print(a)\nreturn b",
    "only asserted": "assert a > 0, a\nreturn b",
    "only validated": "if not isinstance(a, int) or a < 0:\n    raise ValueError(f'bad {a}')\nreturn b",
    "only in a loop that does nothing": "for i in range(a):\n    pass\nreturn b",
    "in a result thrown away": "c = a * 2\nreturn b",
    "assigned to itself": "a = a\nreturn b",
    "shadowed by a comprehension": "return sum(a for a in range(b))",
    "shadowed by a nested function": "def f(a):\n    return a + b\nreturn f(b)",
    "in a list that is not returned": "seen = []\nseen.append(a)\nreturn b",
    "in a nested function never called": "def f():\n    return a\nreturn b",
    "overwritten in both branches": "if b:\n    a = 1\nelse:\n    a = 2\nreturn a",
    "only checked in a try": "try:\n    int(a)\nexcept TypeError:\n    raise ValueError('bad') from None\nreturn b",
}

ALIVE = {
    "sum": "return a + b",
    "augmented": "c = 0\nc += a\nc *= b\nreturn c",
    "number of rounds": "c = 0\nfor _ in range(a):\n    c += b\nreturn c",
    "while condition": "c = b\nwhile c < a:\n    c *= 2\nreturn c",
    "branch": "if a > b:\n    return 1\nreturn 0",
    "guard that returns": "if a < 0:\n    return 0\nreturn b",
    "assigned under a condition": "c = 0\nif a:\n    c = 1\nreturn c + b",
    "break": "c = 0\nwhile True:\n    c += 1\n    if c > a:\n        break\nreturn c * b",
    "continue": "c = 0\nfor i in range(b):\n    if i == a:\n        continue\n    c += i\nreturn c",
    "appended": "out = []\nout.append(a)\nout.append(b)\nreturn len(out) + out[0]",
    "item": "table = {}\ntable['x'] = a\nreturn table['x'] + b",
    "index": "return [1, 2, 3][a % 3] + b",
    "attribute": "class Box:\n    pass\nbox = Box()\nbox.a = a\nreturn box.a + b",
    "comprehension condition": "return len([i for i in range(100) if i % a == b])",
    "closure": "def f(k):\n    return k + a\nreturn f(b)",
    "closure that collects": "out = []\ndef visit(k):\n    if k > a:\n        return\n    out.append(k)\n    visit(k + b)\nvisit(0)\nreturn len(out)",
    "nonlocal": "c = 0\ndef add(k):\n    nonlocal c\n    c += k\nadd(a)\nadd(b)\nreturn c",
    "lambda defined early": "f = lambda k: k + c\nc = a\nreturn f(b)",
    "key of a sort": "return sorted(range(5), key=lambda k: (k * a) % b)[0]",
    "heap": "import heapq\nheap = []\nheapq.heappush(heap, (a, b))\nreturn heap[0][0]",
    "unpacked": "c, d = b, a\nreturn c - d",
    "swapped in a loop": "for _ in range(3):\n    a, b = b, a + b\nreturn a",
    "previous round": "c = 0\nfor _ in range(3):\n    d = c\n    c = a\nreturn d + b",
    "walrus": "if (c := a) > 2:\n    b += c\nreturn b",
    "match": "match a:\n    case 1:\n        return b\n    case _:\n        return 0",
    "match guard": "match b:\n    case k if k > a:\n        return 1\nreturn 0",
    "whether it parses": "try:\n    int(a)\n    return b\nexcept ValueError:\n    return 0",
    "with": "import contextlib\nwith contextlib.nullcontext(a) as c:\n    return c + b",
    "f-string": "return int(f'{a}{b:>{a}}')",
    "star call": "return max(*[a, b])",
    "recursion": "return solve(a - 1, b) + 1 if a else b",
    "string method": "return str(a).replace('1', str(b)).count('2')",
    "through print": "c = a\nprint(c)\nreturn c + b",
    "slice store": "row = [0] * 9\nrow[a:b] = [1]\nreturn sum(row)",
    "deleted": "row = [1, 2, 3]\ndel row[a]\nreturn row[b]",
    "update of a dict": "d = dict(x=1)\nd.update({'x': a})\nreturn d['x'] * b",
    "iterator": "it = iter(range(a))\nreturn next(it) + b",
    "trie": "root = {}\nfor word in range(a):\n    node = root\n    for c in str(word * b):\n        node = node.setdefault(c, {})\n    node['end'] = 1\nreturn len(str(root))",
    "method by name": "found = []\nadd = found.append\nadd(a)\nadd(b)\nreturn len(found) + found[0]",
    "row of a grid": "grid = [[0] * 3 for _ in range(3)]\nfor row in grid:\n    row[0] = a * b\nreturn sum(map(sum, grid))",
    "part seen from the whole": "grid = [[1], [2]]\nfirst = grid[0]\nfirst.append(a + b)\nreturn grid[0][1]",
    "whole seen from the part": "grid = [[1], [2]]\nfirst = grid[0]\ngrid[0].append(a + b)\nreturn first[1]",
    "locals": "return len(str(locals()))",
}


@pytest.mark.parametrize("body", DEAD.values(), ids=DEAD.keys())
def test_a_parameter_that_cannot_change_the_result_is_found(body: str) -> None:
    """The finding names that parameter."""
    assert "a" in unused(check(tool(body)))


@pytest.mark.parametrize("body", ALIVE.values(), ids=ALIVE.keys())
def test_a_parameter_that_can_change_the_result_is_left_alone(body: str) -> None:
    """Through whatever it travels."""
    assert unused(check(tool(body))) == []


def test_parameters_are_followed_into_helpers() -> None:
    """A helper that overwrites its parameter uses nothing of it; one that acts on what it is given does."""
    ignoring = tool("return _h(a, b)", head="def _h(n, k):\n    n = 57\n    return n * k\n")
    using = tool("return _h(a, k=b)", head="def _h(n, k):\n    return _h(n - 1, k) + 1 if n else k\n")
    acting = tool("out = []\n_h(out, a, b)\nreturn out[0]", head="def _h(out, n, k):\n    out.append(n + k)\n")
    remembering = tool("_h(a)\nreturn len(_SEEN) + b", head="_SEEN = []\ndef _h(n):\n    _SEEN.append(n)\n")
    by_class = tool(
        "return _C(a).get(b)",
        head="class _C:\n    def __init__(self, n):\n        self.n = n\n    def get(self, k):\n        return self.n + k\n",
    )
    assert unused(check(ignoring)) == ["a"]
    for source in (using, acting, remembering, by_class):
        assert unused(check(source)) == [], source


def test_many_helpers_that_call_each_other_are_no_burden() -> None:
    """A long chain is followed only so far, and then believed."""
    chain = "".join(f"def _h{i}(n):\n    return _h{i + 1}(n)\n" for i in range(400)) + "def _h400(n):\n    return n\n"
    assert unused(check(tool("return _h0(a) + b", head=chain))) == []


def test_a_function_without_parameters_answers_one_question_only() -> None:
    report = check(tool("return 5", signature=""))
    assert [finding.rule for finding in report.findings] == ["takes-parameters"]


FIBONACCI = "What is the 57th Fibonacci number?"


@pytest.mark.parametrize(
    ("question", "body", "literal"),
    [
        pytest.param(FIBONACCI, "n = 57\nreturn n + a + b", "57", id="number"),
        pytest.param("The fifty-seventh prime?", "return a + b + 57", "57", id="number in words"),
        pytest.param(FIBONACCI, "return int('57') + a + b", "57", id="number in a text"),
        pytest.param(FIBONACCI, "return a + b - -57", "57", id="negative"),
        pytest.param(FIBONACCI, "return a + b + 57.0", "57", id="as a float"),
        pytest.param("Sum of 17, 23 and 41?", "return sum([17, 23, 41]) + a + b", "17", id="list of the question"),
        pytest.param("A loan of 250,000?", "return 250_000 * a * b", "250000", id="thousands"),
        pytest.param("3.2 million people", "return 3_200_000 * a * b", "3200000", id="millions"),
        pytest.param("Growth of 7.3% a year", "return a * 1.073 ** b", "1.073", id="percentage"),
        pytest.param("Days since 2019-04-17?", "import datetime\nreturn (datetime.date(2019, 4, 17).day + a) * b", "2019", id="date"),
        pytest.param("How many vowels in 'hippopotamus'?", "return 'hippopotamus'.count(str(a)) + b", "hippopotamus", id="quoted"),
        pytest.param('Reverse "hello big world".', "return len('Hello big world'[::-1]) + a + b", "hello big world", id="quoted words"),
        pytest.param("How many r in the word strawberry?", "return 'strawberry'.count(str(a)) + b", "strawberry", id="the word"),
        pytest.param("Alice has 5 apples, Benedict 6.", "people = {'Benedict': a}\nreturn people['Benedict'] + b", "Benedict", id="name"),
        pytest.param("Decode SGVsbG8x9.", "return len('SGVsbG8x9') + a + b", "SGVsbG8x9", id="code"),
    ],
)  # fmt: skip
def test_a_literal_of_the_question_in_the_code_is_found(question: str, body: str, literal: str) -> None:
    """The message names it and says what to do; without the question nothing is found."""
    findings = [f for f in check(tool(body), question=question).findings if f.rule == "question-literal"]
    assert any(literal in finding.message and "make it a parameter" in finding.message for finding in findings), (
        findings
    )
    assert not [f for f in check(tool(body)).findings if f.rule == "question-literal"]


def test_a_literal_of_the_question_as_a_default_is_found() -> None:
    """A default would answer the question without being asked."""
    report = check(tool("return a + b", signature="b: int, a: int = 57"), question=FIBONACCI)
    assert [finding.rule for finding in report.findings] == ["question-literal"]


@pytest.mark.parametrize(
    ("question", "body"),
    [
        pytest.param(
            "Sum of multiples of 3 or 5 below 1000?", "return sum(i for i in range(a) if i % 3 == 0) + b", id="small"
        ),
        pytest.param("How many minutes are 57 hours of 60 minutes?", "return a * 60 + b", id="conversion"),
        pytest.param(
            "Is 12 'abundant' or 'deficient'?", "return 'abundant' if a % 2 == b else 'deficient'", id="outcome"
        ),
        pytest.param("From Quito to Lima or Cusco?", "if a == 'Lima':\n    return 1\nreturn b", id="choice"),
    ],
)
def test_what_may_be_chance_is_a_warning(question: str, body: str) -> None:
    """Common numbers, and words that a general tool may know."""
    report = check(tool(body), question=question)
    assert report.ok, report.findings
    assert {finding.rule for finding in report.findings} == {"common-question-literal"}


@pytest.mark.parametrize(
    ("question", "body"),
    [
        pytest.param("Which weekday is 57 days after Monday?", "days = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday']\nreturn days[(a + b) % 7]", id="table of days"),
        pytest.param("Days from March to June 2023?", "return [31, 28, 31, 30, 31, 30][a] + b", id="table of lengths"),
        pytest.param("Convert 37 miles to kilometres", "return a * 1.609344 + len('miles') + b", id="unit"),
        pytest.param("Convert 37 Celsius to Fahrenheit", "return len('Fahrenheit') + a * 9 / 5 + 32 + b", id="named unit"),
        pytest.param("The 57th Fibonacci number?", "if a < 0:\n    raise ValueError('Fibonacci needs n >= 57')\nreturn a + b", id="message"),
        pytest.param("The 1st and the 2nd of 0 and 1?", "x, y = 0, 1\nreturn x + y + a + b - 2", id="trivial"),
        pytest.param("Value of MCMXCIV in Roman numerals?", "t = {'M': 1000, 'CM': 900, 'D': 500, 'CD': 400}\nreturn t['M'] * a * b", id="numerals"),
        pytest.param("", "return a + b + 57", id="empty question"),
        pytest.param("In 1957?", "return a + b + 57", id="part of a number"),
    ],
)  # fmt: skip
def test_honest_constants_raise_no_alarm(question: str, body: str) -> None:
    """Tables, units, messages, and the numbers of any code."""
    assert check(tool(body), question=question).ok
    assert not [f for f in check(tool(body), question=question).findings if f.rule == "question-literal"]


def test_the_runner_may_show_the_question() -> None:
    """What runs only by hand is no part of the tool."""
    source = tool("return a + b") + 'if __name__ == "__main__":\n    print(solve(57, 1))\n'
    assert check(source, question=FIBONACCI).findings == ()


def test_a_number_in_the_docstring_is_a_warning() -> None:
    """An example in the docstring computes nothing."""
    source = tool("return a + b").replace("Solve it.", "Solve it, as for the 57th.")
    assert [(f.rule, f.severity) for f in check(source, question=FIBONACCI).findings] == [
        ("common-question-literal", "warning")
    ]


def test_a_very_long_question_is_no_burden() -> None:
    """A megabyte of question is searched once."""
    question = "Sum of " + ", ".join(str(n) for n in range(1_000_000, 1_130_000)) + " 'x y z' " * 1000
    assert check(tool("return a + b + 1_000_007"), question=question).findings[0].rule == "question-literal"
