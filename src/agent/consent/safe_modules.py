"""Lists modules and functions that never run code from data, and checks that a program uses only these.

The functions that can run code from data are too many to list, so this file lists the safe ones. A program that uses
anything else may run code that its text does not contain.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Collection, Sequence

from mcp_tools.text import words

MODULES = words("""
    __future__ abc array ast base64 binascii bisect bz2 calendar cmath codecs collections collections.abc colorsys
    concurrent.futures configparser contextlib copy csv dataclasses datetime decimal difflib enum errno fnmatch
    fractions functools glob graphlib gzip hashlib heapq hmac html html.entities html.parser io ipaddress itertools
    json json.decoder json.encoder json.scanner keyword locale lzma math mimetypes numbers operator os os.path
    pathlib platform pprint queue quopri random re secrets shlex shutil sqlite3 sqlite3.dbapi2 stat statistics
    string struct sys tarfile tempfile textwrap threading time tomllib traceback typing unicodedata
    urllib.error urllib.parse urllib.request uuid warnings wave weakref xml.dom.minidom xml.etree.ElementPath
    xml.etree.ElementTree zipfile zlib zoneinfo
    numpy numpy.char numpy.dtypes numpy.exceptions numpy.fft numpy.linalg numpy.ma numpy.polynomial
    numpy.polynomial.chebyshev numpy.polynomial.hermite numpy.polynomial.hermite_e numpy.polynomial.laguerre
    numpy.polynomial.legendre numpy.polynomial.polynomial numpy.polynomial.polyutils numpy.random numpy.rec
    numpy.strings pandas pandas.api pandas.api.extensions pandas.api.types pandas.arrays pandas.errors
    pandas.tseries.offsets PIL pypdfium2 yaml PIL.ExifTags PIL.Image PIL.ImageChops PIL.ImageColor PIL.ImageDraw
    PIL.ImageEnhance PIL.ImageFilter PIL.ImageFile PIL.ImageFont PIL.ImageMode PIL.ImageOps PIL.ImageSequence
    PIL.ImageStat PIL.PngImagePlugin PIL.TiffTags
""")
PACKAGES = words("dateutil email openpyxl servers")
"""Packages that are safe with all their modules."""
_MEMBERS = {
    "concurrent.futures": words("ThreadPoolExecutor Future as_completed wait TimeoutError"),
    "os": words("""
        path listdir walk scandir stat lstat getcwd chdir makedirs mkdir remove unlink rename replace rmdir environ
        getenv sep linesep curdir pardir extsep devnull fspath fsencode fsdecode access R_OK W_OK X_OK F_OK cpu_count
        getpid urandom utime name chmod
    """),
    "pandas.api": frozenset[str](),
    "PIL": words("UnidentifiedImageError __version__"),
    "sys": words("""
        stdout stderr stdin argv exit setrecursionlimit getrecursionlimit getsizeof maxsize version version_info
        float_info set_int_max_str_digits get_int_max_str_digits byteorder platform maxunicode intern
        executable
    """),
    "urllib.error": words("HTTPError URLError"),
    "urllib.request": words("Request urlopen"),
    "yaml": words("safe_load safe_load_all SafeLoader CSafeLoader dump dump_all safe_dump safe_dump_all YAMLError"),
}
"""Modules in which only some names are safe."""
_UNSAFE = words("""
    allow_pickle attrgetter bltns domreg cloudpickle CLoader ctypeslib CUnsafeLoader dill enable_load_extension eval
    exec exec_module f2py ForwardRef from_custom_template full_load FullLoader get_type_hints HDFStore __import__
    joblib jsonpickle load_extension load_module Loader make_dataclass methodcaller ProcessPoolExecutor read_hdf
    read_pickle torch unsafe_load UnsafeLoader f_back f_builtins f_globals f_locals tb_frame gi_frame cr_frame
    ag_frame
""")
"""Names that are unsafe in every module."""
_INNER = words("""
    compat core ElementTree emath extras matrixlib mtrand bit_generator cow ImagePalette ImageText internal io lib
    np numpy pandas pd plotting raw test testing tseries typing util version
""")
"""Names that give access to internals of the packages in `_DEEP`."""
_DEEP = frozenset({"numpy", "pandas", "PIL", "pypdfium2"})
_UNSAFE_BUILTINS = words("breakpoint compile eval exec getattr globals help locals vars")
_DUNDER = re.compile(r"__\w+__")
_HARMLESS_DUNDER = words("""
    __name__ __doc__ __file__ __debug__ __version__ __class__ __init__ __new__ __post_init__ __qualname__ __len__
    __str__ __repr__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __hash__ __iter__ __next__ __enter__ __exit__
    __contains__ __getitem__ __setitem__ __missing__ __add__ __sub__ __mul__ __call__
""")
_OTHER_MODULES = sys.stdlib_module_names - MODULES - {"select", "trace"}
_ATTRIBUTES = _OTHER_MODULES - words("code test token types site profile symbol cmd signal resource this chunk email")
"""Names of unsafe modules that are rarely used as attribute names."""
_STARS = words("math cmath itertools collections datetime decimal fractions statistics typing")
_GUARDED = frozenset(_MEMBERS) | _DEEP
"""Modules that a program may not pass around as values, since their use could not be tracked."""
_LOADERS = frozenset({"yaml.load", "yaml.load_all"})
_CALLS_IN_QUERY = re.compile(r"@[^\s()]*\(|__|\b(?:eval|query|pipe|map|apply|agg|aggregate|transform)\s*\(")
_URL_PARTS = frozenset({"urlparse", "urlsplit"})


class ModuleUses:
    """Tracks which names of a session are modules, and finds unsafe uses."""

    def __init__(self) -> None:
        self._paths: dict[str, str] = {}
        self._urls: set[str] = set()

    def unknown(self, nodes: Sequence[ast.AST], own: Collection[str] = ()) -> str:
        """Return the first unsafe name that a program uses, or an empty string.

        Args:
            nodes: All nodes of the program's syntax tree.
            own: Modules of the run, such as approved tools.
        """
        found = [self._imported(node, own) for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
        for node in nodes:
            if isinstance(node, ast.Assign) and _is_url(node.value):
                self._urls.update(target.id for target in node.targets if isinstance(target, ast.Name))
        calls = {id(node.func): node for node in nodes if isinstance(node, ast.Call)}
        owners = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
        found += (self._used(node, calls.get(id(node)), is_owner=id(node) in owners) for node in nodes)
        return next(filter(None, found), "")

    def _imported(self, node: ast.Import | ast.ImportFrom, own: Collection[str]) -> str:
        """Record the names that an import binds, and return the first unsafe one."""
        bad = ""
        if isinstance(node, ast.Import):
            paths = [(alias.name, alias.asname or "", alias.name) for alias in node.names]
        else:
            module = "." * node.level + (node.module or "")
            paths = [(f"{module}.{one.name}", one.asname or one.name, module) for one in node.names]
        for path, name, module in paths:
            root = path.partition(".")[0]
            if root in own and root not in MODULES | PACKAGES:
                continue
            if isinstance(node, ast.Import):
                self._paths[name or root] = path if name else root
                bad = bad or ("" if path in MODULES or root in PACKAGES else path)
            elif name == "*":
                bad = bad or ("" if module in _STARS else path)
            else:
                self._paths[name] = path
                bad = bad or self._problem(path, None)
        return bad

    def _used(self, node: ast.AST, call: ast.Call | None, *, is_owner: bool) -> str:
        """Return the unsafe name used in a node; empty if there is none."""
        match node:
            case ast.Name(id="getattr") if call is not None and len(call.args) > 1:
                return self._attribute(call.args[0], call.args[1], None)
            case ast.Name(id=name):
                is_handed_on = not is_owner and self._paths.get(name) in _GUARDED and isinstance(node.ctx, ast.Load)
                return name if name in _UNSAFE_BUILTINS or is_handed_on or _is_inner(name) else ""
            case ast.Attribute(attr=name, value=owner):
                return self._attribute(owner, ast.Constant(name), call)
            case ast.MatchClass(kwd_attrs=names):
                return next((name for name in names if _object_problem(name) or name in {"query", "eval"}), "")
            case ast.Constant(value=str() as text) if text in _UNSAFE or text in {"pickle", "__builtins__"}:
                return text
            case ast.keyword(arg="allow_pickle", value=value) if not _is_false(value):
                return "allow_pickle"
        return ""

    def _attribute(self, owner: ast.expr, attribute: ast.expr, call: ast.Call | None) -> str:
        """Return the name or path of an attribute if it is unsafe; else empty."""
        if not isinstance(attribute, ast.Constant) or not isinstance(attribute.value, str):
            return "getattr"
        name = attribute.value
        base = self._path(owner)
        if base:
            path = f"{base}.{name}"
            if path.startswith("servers."):
                return ""
            if name == "eval" and path == "pandas.eval":
                return "" if _is_plain_query(call) else path
            return self._problem(path, call)
        if name == "eval" or (name == "query" and not self._is_query_of_url(owner, call)):
            return "" if _is_plain_query(call) else name
        return _object_problem(name)

    def _is_query_of_url(self, owner: ast.expr, call: ast.Call | None) -> bool:
        return call is None and (_is_url(owner) or (isinstance(owner, ast.Name) and owner.id in self._urls))

    def _path(self, node: ast.expr) -> str:
        """Return the path of a module or of a name in it; empty for any other expression."""
        match node:
            case ast.Name(id=name):
                return self._paths.get(name, "")
            case ast.Attribute(value=owner, attr=name) if base := self._path(owner):
                return f"{base}.{name}"
        return ""

    def _problem(self, path: str, call: ast.Call | None) -> str:
        """Return the path if it is unsafe; else empty."""
        names = path.split(".")
        if names[0] == "servers" or (any(module.startswith(f"{path}.") for module in MODULES) and path not in MODULES):
            return ""
        ends = (end for end in range(len(names), 0, -1) if ".".join(names[:end]) in MODULES)
        end = next(ends, 1 if names[0] in PACKAGES else 0)
        module, rest = ".".join(names[:end]), names[end:]
        if not end or (module in _MEMBERS and rest and rest[0] not in _MEMBERS[module]):
            is_loading = path in _LOADERS and call is not None and self._is_safe_loading(call)
            return "" if is_loading else path
        if names[0] in _DEEP and _INNER & set(rest):
            return path
        if path == "numpy.load" and not _is_plain_load(call):
            return path
        is_private = any(one.startswith("_") and one not in _HARMLESS_DUNDER for one in rest)
        return (
            path
            if is_private or any(one in _OTHER_MODULES or one in _UNSAFE or one in {"os", "sys"} for one in rest)
            else ""
        )

    def _is_safe_loading(self, call: ast.Call) -> bool:
        """Return True for a `yaml.load` whose loader builds only plain values."""
        loaders = [*call.args[1:], *(one.value for one in call.keywords if one.arg == "Loader")]
        return len(loaders) == 1 and self._path(loaders[0]) in {"yaml.SafeLoader", "yaml.CSafeLoader"}


def _object_problem(name: str) -> str:
    bare = name.strip("_")
    return name if name in _UNSAFE or bare in _ATTRIBUTES or bare in {"os", "sys"} or _is_inner(name) else ""


def _is_inner(name: str) -> bool:
    return _DUNDER.fullmatch(name) is not None and name not in _HARMLESS_DUNDER


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not node.value


def _is_url(node: ast.expr) -> bool:
    """Return True for a call that splits a URL. The result has an attribute `query`, as data frames do."""
    if not isinstance(node, ast.Call):
        return False
    return (node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")) in _URL_PARTS


def _is_plain_load(call: ast.Call | None) -> bool:
    """Return True for an `np.load` that cannot unpickle."""
    if call is None or len(call.args) > 2 or any(isinstance(one, ast.Starred) for one in call.args):
        return False
    return all(
        one.arg in {"file", "mmap_mode"} or (one.arg == "allow_pickle" and _is_false(one.value))
        for one in call.keywords
    )


def _is_plain_query(call: ast.Call | None) -> bool:
    """Return True for `df.query` and `df.eval` with a literal that calls no function."""
    if call is None or not (call.args or call.keywords):
        return False
    match call.args[0] if call.args else call.keywords[0].value:
        case ast.Constant(value=str() as text):
            return not _CALLS_IN_QUERY.search(text) and len(call.args) < 2
    return False
