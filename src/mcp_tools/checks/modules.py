"""What a tool may not import and why, and what the checks know of the standard library."""

from __future__ import annotations

import re


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


_REFUSED = {
    "a tool has no network; take the data as a parameter": words(
        """
        socket ssl socketserver http.client http.server urllib.request ftplib smtplib imaplib poplib telnetlib nntplib
        xmlrpc webbrowser requests httpx aiohttp urllib3 selenium playwright
        """
    ),
    "a tool starts no process; compute it here, in threads if that helps": words("subprocess multiprocessing pty"),
    "a tool calls no native code of its own": words("ctypes cffi"),
    "a tool does not load code; use json for data": words(
        "pickle marshal shelve dill importlib imp runpy code codeop builtins pkgutil zipimport"
    ),
    "a tool has no terminal; take input as parameters and return the result": words(
        "getpass readline curses tkinter turtle cmd pdb termios tty"
    ),
}


def refusal(module: str) -> str:
    """Why a module may not be imported; empty for one that may."""
    parts = module.split(".")
    names = {".".join(parts[: length + 1]) for length in range(len(parts))}
    return next((reason for reason, refused in _REFUSED.items() if names & refused), "")


KNOWN = words(
    """
    math cmath re decimal fractions datetime collections collections.abc itertools functools operator string typing
    enum dataclasses types statistics zoneinfo struct textwrap contextlib json bisect calendar abc random heapq copy
    unicodedata
    """
)
"""Modules whose names are compared with what a source takes from them: importing them does nothing else."""

_HOMES = """
math: sqrt gcd lcm comb perm factorial ceil floor isqrt prod pi tau inf nan log log2 log10 exp sin
    cos tan atan atan2 hypot radians degrees isclose fsum trunc dist
collections: Counter defaultdict deque OrderedDict namedtuple ChainMap
itertools: permutations combinations combinations_with_replacement product accumulate chain count
    cycle islice groupby takewhile dropwhile zip_longest pairwise starmap repeat tee
functools: reduce lru_cache cache cmp_to_key partial wraps total_ordering
datetime: date timedelta timezone
decimal: Decimal getcontext localcontext ROUND_HALF_UP ROUND_HALF_EVEN ROUND_DOWN ROUND_UP
    InvalidOperation
fractions: Fraction
statistics: mean median mode stdev pstdev variance pvariance multimode
string: ascii_lowercase ascii_uppercase ascii_letters digits punctuation
heapq: heappush heappop heapify nlargest nsmallest heapreplace
bisect: bisect_left bisect_right insort
dataclasses: dataclass field
copy: deepcopy
enum: Enum IntEnum StrEnum auto
typing: Any Optional Union List Dict Tuple Literal TypedDict NamedTuple Callable Iterable Iterator
    Sequence TypeVar cast
zoneinfo: ZoneInfo
operator: itemgetter attrgetter mul
pathlib: Path
"""
MODULE_OF = {
    name: module
    for module, names in re.findall(r"^(\w+): (.*(?:\n    .*)*)", _HOMES, re.MULTILINE)
    for name in names.split()
}
"""Where a name that is often used without its import comes from."""

USUAL_ALIASES = {"np": "numpy", "pd": "pandas", "plt": "matplotlib", "sp": "sympy", "dt": "datetime"}
