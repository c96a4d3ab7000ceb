"""Packages outside the standard library: those that come with alita, and those that source code imports."""

from __future__ import annotations

import ast
import functools
import importlib.util
import re
import sys
import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence

NOT_ALLOWED = "the user has not allowed"
"""All messages about packages that the user has not allowed begin with this text."""

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
"""Module names of packages whose module name differs from the package name."""

BASE_PACKAGES = ("numpy", "pandas", "python-dateutil", "pyyaml")
"""Packages that come with alita. Every tool may import them without declaring them."""
_IMPLIED = {"pandas": {"numpy", "python-dateutil"}}
"""Base packages that another base package depends on."""
FILE_PACKAGES = ("pandas", "openpyxl", "python-calamine", "pypdfium2", "pillow")
"""Packages for reading files, available to code if they are installed."""
_INDIRECT_IMPORTS = {
    "pandas": {"read_excel": ("openpyxl", "python-calamine"), "ExcelFile": ("openpyxl", "python-calamine")}
}
"""Packages that certain functions import at run time, by package and function."""


_MAX_PARSED_CHARS = 70_000
"""Longer sources are not parsed. They get every base package whose name they contain."""


def file_packages() -> tuple[str, ...]:
    """Return the installed packages for reading files."""
    return installed(FILE_PACKAGES)


@functools.cache
def installed(packages: tuple[str, ...]) -> tuple[str, ...]:
    """Return the given packages that are installed."""
    return tuple(name for name in packages if _is_installed(import_name(name)))


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ValueError:  # not a valid module name
        return False


def import_name(package: str) -> str:
    """Return the top-level module of a package, given its name or a requirement such as `numpy>=2`."""
    return IMPORT_NAMES.get(_normal(package), _name_of(package).replace("-", "_").partition(".")[0])


def _normal(requirement: str) -> str:
    return re.sub(r"[-_.]+", "-", _name_of(requirement)).lower()


def _name_of(requirement: str) -> str:
    return re.split(r"[^\w.-]", requirement.strip(), maxsplit=1)[0]


@functools.cache
def is_provided(requirement: str) -> bool:
    """Return True if alita comes with a suitable version of a package, so that no environment is needed."""
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
    """Return a package's direct requirements, without extras. Empty for packages that come with alita."""
    if package in BASE_PACKAGES or package in FILE_PACKAGES:
        return ()
    from importlib import metadata

    try:
        lines = metadata.requires(_name_of(package)) or []
    except metadata.PackageNotFoundError:
        return ()
    return tuple(line for line in lines if "extra ==" not in line)


def imported(source: str, packages: Sequence[str]) -> tuple[str, ...]:
    """Return the given packages that a source imports."""
    if not packages:
        return ()
    tops, names = _imports(source)
    wanted = {package for package in packages if import_name(package) in tops} | unplaced(tops, packages)
    for package, functions in _INDIRECT_IMPORTS.items():
        if package in wanted:
            wanted |= {name for function, indirect in functions.items() if function in names for name in indirect}
    return tuple(package for package in packages if package in wanted)


def unplaced(modules: Collection[str], packages: Iterable[str]) -> set[str]:
    """Return packages that may provide the imported modules that no known package provides."""
    packages = [*packages]
    known = {"", *sys.stdlib_module_names, *map(import_name, (*BASE_PACKAGES, *FILE_PACKAGES, *packages))}
    if known.issuperset(modules):
        return set()
    named = {*IMPORT_NAMES, *BASE_PACKAGES, *FILE_PACKAGES}
    return {one for one in packages if _normal(one) not in named and import_name(one) not in modules}


def needed(declared: Iterable[str], sources: Iterable[str]) -> tuple[str, ...]:
    """Return the packages that a call needs: the declared ones, and the base packages that its sources import."""
    wanted = {*declared, *(name for source in sources for name in _imported_base_packages(source))}
    for package in wanted & _IMPLIED.keys():
        wanted -= _IMPLIED[package]
    return tuple(sorted(wanted))


@functools.lru_cache(maxsize=256)
def _imported_base_packages(source: str) -> tuple[str, ...]:
    # Skip parsing, which is slow, for the many sources that contain no base package's name.
    named = tuple(name for name in installed(BASE_PACKAGES) if import_name(name) in source)
    return named if not named or len(source) > _MAX_PARSED_CHARS else imported(source, installed(BASE_PACKAGES))


def imported_modules(source: str) -> set[str]:
    """Return the top-level modules that a source imports, or an empty set if it has a syntax error."""
    return _imports(source)[0] - {""}


def _imports(source: str) -> tuple[set[str], set[str]]:
    """Return the imported top-level modules, and all names that are imported or accessed as attributes."""
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
    """Yield the line, the module (with leading dots if relative) and the imported names of each import in a tree."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name, []) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, "." * node.level + (node.module or ""), [alias.name for alias in node.names]
