"""What a tool may import: the computing part of the standard library, files with the read capability."""

from __future__ import annotations

import re


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


COMPUTING = words(
    """
    __future__ abc argparse array ast base64 binascii bisect calendar cmath codecs collections
    collections.abc colorsys contextlib copy csv dataclasses datetime decimal difflib enum fractions
    functools graphlib hashlib heapq hmac html html.entities html.parser io ipaddress itertools json
    keyword locale math numbers operator pprint queue random re secrets statistics string stringprep
    struct sys textwrap time tokenize types typing unicodedata urllib urllib.parse uuid warnings
    weakref xml xml.etree xml.etree.ElementTree xml.dom xml.dom.minidom xml.sax.saxutils zlib
    zoneinfo bz2 configparser fnmatch gzip lzma tomllib traceback email email.utils email.parser
    email.policy email.message
    """
)
READING = words(
    """
    fileinput glob linecache mimetypes os os.path pathlib posixpath sqlite3 stat tarfile wave
    zipfile tempfile
    """
)
NETWORK = words(
    """
    socket ssl http http.client http.server urllib.request urllib.error ftplib smtplib imaplib
    poplib telnetlib nntplib xmlrpc xmlrpc.client socketserver webbrowser asyncio requests httpx
    aiohttp urllib3 selenium playwright
    """
)
PROCESSES = words(
    """
    subprocess multiprocessing threading concurrent concurrent.futures signal pty ctypes cffi mmap
    fcntl resource sched atexit select selectors
    """
)
CODE = words(
    """
    pickle marshal shelve dill importlib imp runpy code codeop builtins inspect gc dis pkgutil
    zipimport sysconfig site
    """
)
TERMINAL = words(
    """
    getpass readline curses tkinter turtle cmd logging pdb termios tty
    """
)

PURE_ON_IMPORT = words(
    """
    math cmath re decimal fractions datetime collections collections.abc itertools functools
    operator string typing enum dataclasses types statistics zoneinfo struct textwrap contextlib
    json bisect calendar abc
    """
)
"""Modules whose functions may be called while the tool is imported: they only compute a constant."""

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
