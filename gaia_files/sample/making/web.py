"""Questions that need the web. They count apart; their answers stand in published standards that do not change."""

from __future__ import annotations

from making.question import Draw, Made, question

_RFC = {"JSON": 8259, "HTTP semantics": 9110, "the URI syntax": 3986, "TLS 1.3": 8446}
"""Numbers of the RFC Editor (www.rfc-editor.org)."""
_PEP = {"assignment expressions": 572, "f-strings": 498, "structural pattern matching (the specification)": 634}
"""Numbers of Python Enhancement Proposals (peps.python.org)."""


@question(1, tools="web search", web=True)
def standard_number(_: Draw) -> Made:
    """Search for the standard. Read its number."""
    text = "What is the number of the RFC of 2018 that specifies version 1.3 of TLS? Give only the number."
    return Made(text, _RFC["TLS 1.3"])


@question(2, tools="web search, code", web=True)
def two_proposals(_: Draw) -> Made:
    """Search for the first proposal. Search for the second one. Add their numbers."""
    text = (
        "Add the number of the Python Enhancement Proposal that introduced assignment expressions (:=) and the number "
        "of the one that introduced formatted string literals (f-strings). Give only the sum."
    )
    return Made(text, _PEP["assignment expressions"] + _PEP["f-strings"])


@question(2, tools="web search, code", web=True)
def standards_apart(_: Draw) -> Made:
    """Search for the first standard. Search for the second one. Subtract their numbers."""
    text = (
        "By how much is the number of the RFC of 2022 that defines the semantics of HTTP larger than the number of the "
        "RFC of 2017 that defines the JSON data interchange format? Give only the number."
    )
    return Made(text, _RFC["HTTP semantics"] - _RFC["JSON"])


@question(3, tools="web search, code", web=True)
def standards_product(_: Draw) -> Made:
    """Search for the specification of pattern matching.

    Search for the standard of URIs. Multiply the numbers. Add up the digits.
    """
    text = (
        "Multiply the number of the Python Enhancement Proposal that is the specification (not the rationale or the "
        "tutorial) of structural pattern matching by the number of the RFC of 2005 that defines the generic syntax of "
        "URIs. What is the sum of the decimal digits of the product? Give only the number."
    )
    product = _PEP["structural pattern matching (the specification)"] * _RFC["the URI syntax"]
    return Made(text, sum(map(int, str(product))))
