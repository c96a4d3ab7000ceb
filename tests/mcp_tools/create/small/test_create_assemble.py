"""A model's reply becomes a whole file that passes the checks and runs alone."""

from __future__ import annotations

import ast
import inspect
import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mcp_tools.checks import check
from mcp_tools.create.small.assemble import assemble, assemble_program, extract_code
from mcp_tools.tool import Capabilities, Parameter, ToolSpec

SPEC = ToolSpec(
    "sum_digits",
    "Sum the digits of a number.",
    (Parameter("n", "int", "The number."), Parameter("base", "int")),
    "int",
)


def reply(code: str, *, before: str = "Here it is:", after: str = "It works.", mark: str = "python") -> str:
    return f"{before}\n```{mark}\n{textwrap.dedent(code).strip()}\n```\n{after}"


def body(source: str) -> str:
    """What stands between the header and the runner."""
    return source.split("# ///\n\n")[-1].split('\n\n\nif __name__ == "__main__"')[0]


def call(source: str, **arguments: Any) -> Any:
    scope: dict[str, Any] = {"__name__": __name__}
    exec(compile(source, "tool.py", "exec"), scope)
    return scope["sum_digits"](**arguments)


PLAIN = """
    def sum_digits(n, base):
        total = 0
        while n:
            total += n % base
            n //= base
        return total
"""


def test_a_whole_file() -> None:
    assert assemble(reply(PLAIN), SPEC) == textwrap.dedent('''\
        # /// script
        # requires-python = ">=3.11"
        # dependencies = []
        # ///

        def sum_digits(n: int, base: int) -> int:
            """Sum the digits of a number.

            Args:
                n: The number.
                base: base
            """
            total = 0
            while n:
                total += n % base
                n //= base
            return total


        if __name__ == "__main__":
            import json
            import sys

            print(json.dumps(sum_digits(**json.loads(sys.argv[1])), ensure_ascii=False))
        ''')


def test_the_file_passes_the_checks_and_runs_alone(tmp_path: Path) -> None:
    source = assemble(reply(PLAIN), SPEC)
    assert check(source, function="sum_digits").findings == ()
    path = tmp_path / "sum_digits.py"
    path.write_text(source)
    run = subprocess.run(
        [sys.executable, "-I", str(path), json.dumps({"n": 255, "base": 16})],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout == "30\n"


def test_packages_that_are_imported_are_declared_in_the_header() -> None:
    spec = ToolSpec("f", "Do it.", (), "int", capabilities=Capabilities(packages=("numpy>=2", "pandas", "openpyxl")))
    code = "import numpy\ndef f():\n    return int(pd.Series(numpy.ones(3)).sum())"
    source = assemble(code, spec)
    assert '# dependencies = ["numpy>=2", "pandas"]\n' in source
    assert "import pandas as pd\n" in source


FENCES = {
    "none": "def f(): return 1",
    "python": "text\n```python\ndef f(): return 1\n```\ntext",
    "bare": "```\ndef f(): return 1\n```",
    "py3": "```python3\ndef f(): return 1\n```\nExample:\n```\nf()\n```",
    "capital": "```Python\ndef f(): return 1\n```",
    "title": '```python title="f.py"\ndef f(): return 1\n```',
    "unclosed": "```python\ndef f(): return 1",
    "windows": "```python\r\ndef f(): return 1\r\n```\r\n",
    "indented": "1. So:\n   ```python\n   def f(): return 1\n   ```",
    "longest": "```\nx\n```\nand\n```python\ndef f(): return 1\n```",
    "closed on the line": "```python\ndef f(): return 1```",
    "opened by the prompt": "def f(): return 1\n```",
    "opened by the prompt, indented": "  def f(): return 1\n  ```\n",
    "opened by the prompt, then explained": "def f(): return 1\n```\nFor example\n```\nprint(f())\nprint(f() + 1)\n```",
    "a word before": "Solution\n```python\ndef f(): return 1\n```",
    "a list before": "answer: 1\n```python\ndef f(): return 1\n```",
}


@pytest.mark.parametrize("text", FENCES.values(), ids=FENCES.keys())
def test_code_is_found_in_a_reply(text: str) -> None:
    assert extract_code(text) == "def f(): return 1\n"


def test_broken_code_goes_up_to_the_fence_too() -> None:
    assert extract_code("def f(:\n    pass\n```") == "def f(:\n    pass\n"


def test_backticks_inside_code_do_not_end_it() -> None:
    code = "def f(text: str) -> list[str]:\n    return text.split('```')\n"
    assert extract_code(f"```python\n{code}```") == code


DROPPED = {
    "example call": "print(sum_digits(12, 10))",
    "example values": "n = 57\nbase = 10\nresult = sum_digits(n, base)\nprint(f'{result}')",
    "runner": "if __name__ == '__main__':\n    print(sum_digits(57, 10))",
    "main": "def main():\n    print(sum_digits(57, 10))\nmain()",
    "test": "def test_it():\n    assert sum_digits(57, 10) == 12",
    "assertion": "assert sum_digits(57, 10) == 12",
    "loop": "for number in [57, 58]:\n    print(sum_digits(number, 10))",
    "docstring": "'''A module.'''",
    "unused import": "import os\nfrom typing import Any",
    "unused helper": "def other(x):\n    return x + 57",
}


@pytest.mark.parametrize("extra", DROPPED.values(), ids=DROPPED.keys())
def test_what_the_function_does_not_need_is_dropped(extra: str) -> None:
    assert assemble(reply(textwrap.dedent(PLAIN) + extra), SPEC) == assemble(reply(PLAIN), SPEC)


KEPT = {
    "constant": ("LIMIT = 10\ndef sum_digits(n, base): return LIMIT", 10),
    "constant made by a call": ("TABLE = defaultdict(int)\ndef sum_digits(n, base): return TABLE[n]", 0),
    "constant of a constant": ("A = 2\nB = A * 3\ndef sum_digits(n, base): return B", 6),
    "two constants": ("A, B = 2, 3\ndef sum_digits(n, base): return B", 3),
    "a table that is filled": ("T = {}\nfor i in range(99): T[i] = i + 1\ndef sum_digits(n, base): return T[n]", 12),
    "a list that is filled": ("T = [1]\nT.append(5)\ndef sum_digits(n, base): return T[1]", 5),
    "helper": ("def twice(x): return 2 * x\ndef sum_digits(n, base): return twice(n)", 22),
    "helper below": ("def sum_digits(n, base): return twice(n)\ndef twice(x): return 2 * x", 22),
    "helper of a helper": (
        "def a(x): return b(x)\ndef b(x): return x + 1\ndef sum_digits(n, base): return a(n)",
        12,
    ),
    "class": (
        "class Stack:\n    def push(self, x):\n        self.x = x\n        return self\n"
        "def sum_digits(n, base): return Stack().push(n).x",
        11,
    ),
    "dataclass": ("@dataclass\nclass P:\n    x: int\ndef sum_digits(n, base): return P(n).x", 11),
    "alias import": ("import math as m\ndef sum_digits(n, base): return m.gcd(n, 22)", 11),
    "import with a fallback": (
        "try:\n    from math import lcm\nexcept ImportError:\n    pass\ndef sum_digits(n, base): return lcm(n, 2)",
        22,
    ),
    "future": ("from __future__ import annotations\ndef sum_digits(n, base): return ceil(n / 2)", 6),
    "decorator": (
        "def plus(f):\n    return lambda *a, **k: f(*a, **k) + 1\n@plus\ndef sum_digits(n, base): return n",
        12,
    ),
    "last of two": ("def sum_digits(n, base): return 1\ndef sum_digits(n, base): return 2", 2),
    "keyword-only": ("def sum_digits(n, *, base): return n", 11),
}


@pytest.mark.parametrize(("code", "result"), KEPT.values(), ids=KEPT.keys())
def test_what_the_function_needs_stays(code: str, result: int) -> None:
    source = assemble(reply(code), SPEC)
    assert call(source, n=11, base=10) == result
    assert source.count("def sum_digits(") == 1


RENAMED = {
    "sole": ("def solve(n, base): return n", 11),
    "recursive": ("def solve(n, base): return solve(n // base, base) + n % base if n else 0", 2),
    "with helper": ("def helper(n): return n + 1\ndef solve(n, base): return helper(n)", 12),
    "helper last": ("def solve(n, base): return helper(n)\ndef helper(n): return n + 1", 12),
    "main last": ("def solve(n, base): return n\ndef main(): print(solve(1, 2))", 11),
    "parameter named like a helper": ("def add(x): return x\ndef solve(n, base, add=2): return n + add", 13),
    "local named like itself": ("def solve(n, base):\n    solve = n + 1\n    return solve", 12),
    "local named like a helper": (
        "def total(x): return x + 1\ndef other(x):\n    total = x\n    return total\n"
        "def sum_digits(n, base): return other(total(n))",
        12,
    ),
    "method named like a helper": (
        "def add(x): return x + 1\nclass A:\n    def add(self, x): return add(x)\n"
        "def solve(n, base): return A().add(n)",
        12,
    ),
    "nested named like a helper": (
        "def step(x): return x + 100\ndef inner(x):\n    def step(y): return y + 1\n    return step(x)\n"
        "def solve(n, base): return inner(n) + step(0)",
        112,
    ),
    "comprehension": ("def each(x): return x\ndef solve(n, base): return sum(each for each in [n, each(1)])", 12),
    "lambda": ("def each(x): return x\ndef solve(n, base): return (lambda each: each)(each(n))", 11),
    "keyword argument": ("def key(x): return -x\ndef solve(n, base): return max([n, base], key=key)", 10),
    "private name taken": ("_a = 5\ndef a(x): return x + _a\ndef solve(n, base): return a(n)", 16),
    "helper that has the wanted name by another use": (
        "def solve(n, base):\n    sum_digits = 0\n    return sum_digits + n",
        11,
    ),
    "global": ("def count(): return 1\ndef solve(n, base):\n    global count\n    return count() + n", 12),
}


@pytest.mark.parametrize(("code", "result"), RENAMED.values(), ids=RENAMED.keys())
def test_functions_get_their_names_wherever_they_are_meant(code: str, result: int) -> None:
    source = assemble(reply(code), SPEC)
    assert call(source, n=11, base=10) == result
    public = [node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef) and node.name[0] != "_"]
    assert public == ["sum_digits"]


IMPORTS = {
    "module": ("math.gcd(n, 22)", "import math"),
    "function": ("gcd(n, 22)", "from math import gcd"),
    "counter": ("len(Counter([n]))", "from collections import Counter"),
    "datetime class": ("datetime(2020, 1, 1).year + n", "from datetime import datetime"),
    "datetime class method": ("datetime.strptime('2020', '%Y').year", "from datetime import datetime"),
    "datetime module": ("datetime.datetime(2020, 1, 1).year", "import datetime"),
    "date of the module": ("(datetime.date(2020, 1, 1) - datetime.timedelta(days=n)).year", "import datetime"),
    "date": ("date(2020, 1, 1).year", "from datetime import date"),
}


@pytest.mark.parametrize(("expression", "line"), IMPORTS.values(), ids=IMPORTS.keys())
def test_forgotten_imports_are_added(expression: str, line: str) -> None:
    source = assemble(f"def sum_digits(n, base): return {expression}", SPEC)
    assert body(source).splitlines()[0] == line
    assert {finding.rule for finding in check(source, function="sum_digits").findings} <= {"parameters-reach-result"}
    call(source, n=11, base=10)


def test_a_module_that_is_only_called_is_forgotten_all_the_same() -> None:
    code = "queue = [3, 1]\nheapq.heapify(queue)\nprint(queue[0])"
    assert assemble_program(code).splitlines()[0] == "import heapq"


def test_constants_of_a_pattern_are_there_too() -> None:
    pattern = "SIZES = {'a': 1}\n\n\ndef size(c: str) -> int:\n    return SIZES[c]"
    used = assemble("def sum_digits(n, base): return size('a') + SIZES['a'] + n + base", SPEC, patterns=[pattern])
    assert body(used).count("SIZES = ") == 1
    assert call(used, n=1, base=2) == 5
    assert (
        call(assemble("def sum_digits(n, base): return SIZES['a'] + n + base", SPEC, patterns=[pattern]), n=1, base=2)
        == 4
    )


def test_a_local_name_is_no_forgotten_import() -> None:
    source = assemble("def sum_digits(n, base):\n    math = n\n    return [date for date in [math]]", SPEC)
    assert "import" not in body(source)


def test_an_import_hidden_by_another_functions_local_is_added() -> None:
    code = "def a(x):\n    math = x\n    return math\ndef sum_digits(n, base): return a(math.gcd(n, 22))"
    assert call(assemble(code, SPEC), n=11, base=10) == 11


def test_names_that_nobody_knows_are_left_to_the_checks() -> None:
    source = assemble("def sum_digits(n, base): return frobnicate(n)", SPEC)
    assert "undefined-name" in {finding.rule for finding in check(source, function="sum_digits").findings}


@pytest.mark.parametrize(
    "text",
    [
        "I cannot do that.",
        "def f(:\n",
        "x = '\n",
        "\x00",
        "-" * 100_000 + "1",
        "(" * 5_000,
        "1" + "+1" * 20_000,
        "def f():\n    nonlocal x",
        "",
    ],
    ids=["prose", "header", "string", "null", "signs", "parentheses", "sum", "nonlocal", "nothing"],
)
def test_what_does_not_parse_passes_through(text: str) -> None:
    source = assemble(text, SPEC)
    assert not check(source, function="sum_digits").ok


def test_a_wrong_escape_warns_nobody() -> None:
    assert call(assemble("def sum_digits(n, base): return len('\\d') + n", SPEC), n=1, base=1) == 3


def test_a_class_alone_passes_through_for_the_checks() -> None:
    source = assemble("class A:\n    def f(self): return 1\nprint(A().f())", SPEC)
    assert "class A" in source
    assert "one-public-function" in {finding.rule for finding in check(source, function="sum_digits").findings}


def test_texts_are_not_touched() -> None:
    code = '''
    def sum_digits(n, base):
        """Replaced."""
        text = "def solve(n): {n}\\n\\n@x\\nclass A:\\n"
        return f"{n}{{}} {text}" + 'it\\'s "x"' + """
def inside(): pass
"""
    '''
    shown = call(assemble(reply(code), SPEC), n=1, base=2)
    assert shown == "1{} def solve(n): {n}\n\n@x\nclass A:\n" + 'it\'s "x"' + "\ndef inside(): pass\n"


def test_a_decorator_stays_with_its_function() -> None:
    source = assemble("@lru_cache(maxsize=None)\ndef sum_digits(n, base): return n", SPEC)
    assert "@lru_cache(maxsize=None)\ndef sum_digits" in source


def test_annotations_of_the_reply_stay() -> None:
    source = assemble("def sum_digits(n: float, base) -> float: return n", SPEC)
    assert "def sum_digits(n: float, base: int) -> float:" in source


texts = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"]), min_size=1, max_size=60)


@given(texts, texts)
def test_docstrings_hold_any_text_and_are_indented_right(purpose: str, description: str) -> None:
    assume(not purpose.strip().startswith("Args"))
    spec = ToolSpec("f", purpose, (Parameter("a", "int", description),), "int")
    source = assemble("def f(a):\n    return a", spec)
    scope: dict[str, Any] = {"__name__": __name__}
    exec(compile(source, "tool.py", "exec"), scope)
    shown = inspect.getdoc(scope["f"])
    assert shown is not None
    lines = shown.rstrip().splitlines()
    assert lines[0] == (" ".join(purpose.split()) or "f")
    assert lines[1:3] == ["", "Args:"]
    assert lines[3].startswith("    a: ")
    assert not [line for line in source.splitlines() if line.startswith("    Args") and line != "    Args:"]


@given(st.text(max_size=200))
def test_no_reply_raises(text: str) -> None:
    assemble(text, SPEC)
    assemble(f"```python\n{text}\n```", SPEC)


STATEMENTS: dict[str, str] = {
    "statements that use the parameters": "total = 0\nfor d in to_digits(n, base):\n    total += d\nprint(total)",
    "the values of the question": "n = 255\nbase = 10\nprint(sum(to_digits(n, base)))",
    "a parameter given to itself": "n = n\nprint(sum(to_digits(n, base)))",
    "a function that uses a variable": "b = base\ndef go(k):\n    return sum(to_digits(k, b))\nprint(go(n))",
}
TO_DIGITS = """
def to_digits(n, base):
    digits = []
    while n:
        digits.append(n % base)
        n //= base
    return digits
"""


@pytest.mark.parametrize("code", STATEMENTS.values(), ids=STATEMENTS)
def test_statements_that_print_the_result_become_the_function(code: str) -> None:
    source = assemble(reply(f"import math\n{TO_DIGITS}\n{code}"), SPEC)
    assert check(source).ok
    assert call(source, n=77, base=10) == 14
    assert "255" not in source


@pytest.mark.parametrize(
    "code", ["print(n)", "print(n, base)", "print(*n, base)", "n + base", "print(n + base, sep='')", "x = 1"]
)
def test_other_statements_stay_what_they_are(code: str) -> None:
    assert "def sum_digits" not in assemble(reply(code), SPEC)


def test_functions_that_the_model_was_shown_need_not_be_written_again() -> None:
    code = "def sum_digits(n, base):\n    return sum(to_digits(n, base))"
    source = assemble(reply(code), SPEC, patterns=["import math\n\ndef other():\n    return math.pi\n" + TO_DIGITS])
    assert call(source, n=77, base=10) == 14
    assert check(source).ok
    assert "other" not in source
    assert "import math" not in source


def test_a_function_of_its_own_goes_before_the_one_it_was_shown() -> None:
    code = "def to_digits(n, base):\n    return [1]\ndef sum_digits(n, base):\n    return sum(to_digits(n, base))"
    assert call(assemble(reply(code), SPEC, patterns=[TO_DIGITS]), n=77, base=10) == 1


PROGRAMS: dict[str, tuple[str, str]] = {
    "a forgotten import": ("print(comb(4, 2))", "6"),
    "a function that was shown": ("print(sum(to_digits(77, 10)))", "14"),
    "a forgotten print": ("x = to_digits(77, 10)\nsum(x)", "14"),
    "nothing forgotten": ("print(1)\nlen('ab')", "1"),
}


@pytest.mark.parametrize(("code", "printed"), PROGRAMS.values(), ids=PROGRAMS)
def test_a_program_gets_what_it_forgot(code: str, printed: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(assemble_program(reply(code), patterns=[TO_DIGITS]), "program.py", "exec"), {})
    assert capsys.readouterr().out.strip() == printed


@given(st.text(max_size=200))
def test_no_program_raises(text: str) -> None:
    assemble_program(text, patterns=[TO_DIGITS])
