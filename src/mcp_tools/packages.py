"""Packages beyond the standard library: what tools that read files may import, and what a source does import."""

from __future__ import annotations

import ast
import functools
import importlib.util
import re
import sys
import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence

NOT_ALLOWED = "the user has not allowed"
"""The beginning of each message about packages that are not here because nobody allowed them."""

IMPORT_NAMES = {
    "beautifulsoup4": "bs4",
    "pillow": "PIL",
    "scikit-learn": "sklearn",
    "scikit-image": "skimage",
    "pyyaml": "yaml",
    "python-dateutil": "dateutil",
    "opencv-python": "cv2",
    "opencv-python-headless": "cv2",
    "python-docx": "docx",
    "python-pptx": "pptx",
    "pymupdf": "fitz",
    "biopython": "Bio",
    "python-chess": "chess",
    "python-stdnum": "stdnum",
    "python-barcode": "barcode",
    "python-slugify": "slugify",
    "python-igraph": "igraph",
    "pycryptodome": "Crypto",
    "pyjwt": "jwt",
    "pyshp": "shapefile",
    "pynacl": "nacl",
    "umap-learn": "umap",
    "imbalanced-learn": "imblearn",
    "zxing-cpp": "zxingcpp",
    "odfpy": "odf",
    "levenshtein": "Levenshtein",
    "gitpython": "git",
}
"""Modules of distributions with another name."""

BASE_PACKAGES = ("numpy", "pandas", "python-dateutil", "pyyaml")
"""Packages that every call may import without declaring them, since they come with alita."""
_BRINGS = {"pandas": {"numpy", "python-dateutil"}}
"""Packages that a package imports itself, so that they come with it."""
FILE_PACKAGES = ("pandas", "openpyxl", "python-calamine", "pypdfium2", "pillow")
"""Packages for programs that read files, if installed."""
_BEHIND = {"pandas": {"read_excel": ("openpyxl", "python-calamine"), "ExcelFile": ("openpyxl", "python-calamine")}}
"""Packages that a function of a package imports by itself."""


_LONGEST_PARSED = 70_000
"""Limit of a source in characters; a longer one gets the base packages that it names anywhere."""


def file_packages() -> tuple[str, ...]:
    """Return the installed packages for files."""
    return installed(FILE_PACKAGES)


@functools.cache
def installed(packages: tuple[str, ...]) -> tuple[str, ...]:
    """Return the installed ones of some packages."""
    return tuple(name for name in packages if _is_there(import_name(name)))


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ValueError:  # no name of a module
        return False


def import_name(package: str) -> str:
    """Return the top module of a distribution, from its name or a requirement such as `numpy>=2`."""
    return IMPORT_NAMES.get(_normal(package), _name_of(package).replace("-", "_").partition(".")[0])


def _normal(requirement: str) -> str:
    return re.sub(r"[-_.]+", "-", _name_of(requirement)).lower()


def _name_of(requirement: str) -> str:
    return re.split(r"[^\w.-]", requirement.strip(), maxsplit=1)[0]


@functools.cache
def is_provided(requirement: str) -> bool:
    """True if a package comes with alita, in a version that fits: no environment has to be built for it."""
    from importlib import metadata

    from packaging.requirements import InvalidRequirement, Requirement

    try:
        wanted = Requirement(requirement)
        name = re.sub(r"[-_.]+", "-", wanted.name).lower()
        return name in (*BASE_PACKAGES, *FILE_PACKAGES) and metadata.version(name) in wanted.specifier
    except (InvalidRequirement, metadata.PackageNotFoundError):
        return False


@functools.cache
def required(package: str) -> tuple[str, ...]:
    """Return the direct requirements of a distribution, without extras; nothing for the base packages."""
    if package in BASE_PACKAGES or package in FILE_PACKAGES:
        return ()
    from importlib import metadata

    try:
        lines = metadata.requires(_name_of(package)) or []
    except metadata.PackageNotFoundError:
        return ()
    return tuple(line for line in lines if "extra ==" not in line)


def imported(source: str, packages: Sequence[str]) -> tuple[str, ...]:
    """Return the packages that a source imports; a call without packages uses the plain warm interpreter."""
    if not packages:
        return ()
    tops, names = _imports(source)
    wanted = {package for package in packages if import_name(package) in tops} | unplaced(tops, packages)
    for package, functions in _BEHIND.items():
        if package in wanted:
            wanted |= {name for function, behind in functions.items() if function in names for name in behind}
    return tuple(package for package in packages if package in wanted)


def unplaced(modules: Collection[str], packages: Iterable[str]) -> set[str]:
    """The packages that may bring a module of another name than their own: both have no other explanation."""
    packages = [*packages]
    known = {"", *sys.stdlib_module_names, *map(import_name, (*BASE_PACKAGES, *FILE_PACKAGES, *packages))}
    if known.issuperset(modules):
        return set()
    named = {*IMPORT_NAMES, *BASE_PACKAGES, *FILE_PACKAGES}
    return {one for one in packages if _normal(one) not in named and import_name(one) not in modules}


def needed(declared: Iterable[str], sources: Iterable[str]) -> tuple[str, ...]:
    """The packages of a call: those that it declares, and the base packages that its sources import."""
    wanted = {*declared, *(name for source in sources for name in _base(source))}
    for package in wanted & _BRINGS.keys():
        wanted -= _BRINGS[package]
    return tuple(sorted(wanted))


@functools.lru_cache(maxsize=256)
def _base(source: str) -> tuple[str, ...]:
    # most sources name none: they need not be parsed; a long one takes too long
    named = tuple(name for name in installed(BASE_PACKAGES) if import_name(name) in source)
    return named if not named or len(source) > _LONGEST_PARSED else imported(source, installed(BASE_PACKAGES))


def imported_modules(source: str) -> set[str]:
    """The top modules that a source imports; none if it does not parse."""
    return _imports(source)[0] - {""}


def _imports(source: str) -> tuple[set[str], set[str]]:
    """The top modules that a source imports, and the names it takes from objects and modules."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set(), set()
    found = list(imports(tree))
    names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return {module.partition(".")[0] for _, module, _ in found}, names.union(*(taken for _, _, taken in found))


def imports(tree: ast.AST) -> Iterator[tuple[int, str, list[str]]]:
    """Each import of some code: its line, the module, a dot before one of the same package, and the names taken."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name, []) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, "." * node.level + (node.module or ""), [alias.name for alias in node.names]
