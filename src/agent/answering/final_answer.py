"""The final form of an answer: the text after the last FINAL ANSWER, formatted as the question asks.

Formatting never changes what an answer means: a unit is removed only if the question names it, a list is sorted only if
the question asks for it, and ambiguous answers are left alone.
"""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal, localcontext

from agent.answer import unwrapped
from agent.answering.answer_format import AnswerForm, asked_of

_MARK = re.compile(r"(?P<opening>^[ \t*#>]*)?FINAL\s+ANSWER\s*(?:\*\*)?\s*[:：](?:\*\*)?", re.IGNORECASE | re.MULTILINE)
_WRAPPED = (
    re.compile(r"\*\*([^*]+)\*\*", re.DOTALL),
    re.compile(r"\*([^*\s][^*\n]*)\*"),
    re.compile(r"`+([^`]+)`+", re.DOTALL),
    re.compile(r'"([^"]+)"', re.DOTALL),
    re.compile(r"“([^“”]+)”", re.DOTALL),
    re.compile(r"\[([^][,;]+)\]"),
    re.compile(r"\$(\d[\d.,]*)\$"),
    re.compile(r"\**(?:the )?(?:final )?answer(?: is)?\s*\**:\**\s*(.+)", re.IGNORECASE | re.DOTALL),
    re.compile(r"(?:the )?(?:final )?answer is ([-+]?\d[\d.,]*)", re.IGNORECASE),
)
_TAGGED = re.compile(r"<answer>((?:(?!</?answer>).)+)</answer>\s*[.]?(?=\s*(?:\n|\Z))", re.IGNORECASE | re.DOTALL)
_BOX = re.compile(r"\\(?:boxed|fbox)\s*\{")
_AFTER_BOX = re.compile(r"[\s.$*]*(?:\\[\])])?[\s.$*]*")
_LATEX = (
    (re.compile(r"\\(?:text|textbf|mathrm|mathbf|operatorname)\{([^{}]*)\}"), r"\1"),
    (re.compile(r"\\[dt]?frac\{([^{}]*)\}\{([^{}]*)\}"), r"\1/\2"),
    (re.compile(r"\\([%$&#_])"), r"\1"),
    (re.compile(r"\\[,;! ]|\{,\}(?=\d{3})"), ""),
)
_SOURCES = re.compile(
    r"\n\s*[*_#]*(?:sources?|references?|citations?)[*_]*\s*:[*_]*\s*(?:\[\d{1,3}\]|https?://|\n|[-*•]).*\Z",
    re.IGNORECASE | re.DOTALL,
)
_CITED = re.compile(r"(?<=[^\s,;:(\[=])(?:\s*\[[1-9]\d?(?:\s*,\s*[1-9]\d?)*\])+(\.?)\Z")
_ABOUT_MARKS = re.compile(
    r"<answer|\b(?:xml|html|tags?|markup|markdown|latex|boxed|brackets?|index(?:es)?|array|footnotes?|citations?|sources?"
    r"|references?|expression|code|python|syntax)\b",
    re.IGNORECASE,
)
"""Questions in which marks around an answer may belong to it."""
_SHORTENED = re.compile(
    r"inc|ltd|corp|bros|etc|prof|gen|col|capt|sgt|hon|rev|est|dept|univ|assn|intl|approx|vol|fig|eds|misc",
    re.IGNORECASE,
)
_BETWEEN_WORDS = re.compile(r"[\W_]")
_BULLET = re.compile(r"(?:[-*•]|\d+[.)])\s+")
_IN_BRACKETS = re.compile(r"\[([^\[\]]+)\]")
_QUANTITY = re.compile(r"([$€£¥]?)\s*([-+−]?)\s*(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?\s*(%|[^\W\d][^\d,;:()]*)?", re.DOTALL)
_THOUSANDS = re.compile(r"\d,\d{3}(?!\d)")
_WITH_UNIT = re.compile(r"([-+−]?\d+(?:\.\d+)?) ?([^\W\d]+)")
_TIME = re.compile(r"(?<![\d:.])\d\d:\d\d(?![\d:]| ?[ap]\.?m)", re.IGNORECASE)
_DATE = re.compile(r"(?<![\d-])\d{4}-\d\d-\d\d(?![\d-])")
_NUMBER = re.compile(r"(?<![\w.,:/-])(?<![^\d\s][−–])[-−–]?\d[\d,]*(?:\.\d+)?(?![\w/:]|[.,-]\d)")
_MINUS = str.maketrans("−–", "--")
_DENIED = re.compile(
    r"\b(?:not|no|none|never|cannot|unable|unknown|unclear|or|between|at least|at most)\b", re.IGNORECASE
)
_REMADE = re.compile(
    r"\b(?:minus|half|halves|quarters?|dozens?|pairs?|twice|squared|cubed|root of|power of)\b"
    r"|\b(?:above|below) (?:zero|freezing)\b"
    r"|\b(?:an?|one|two|three|four)[ -](?:third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|hundredth)s?\b"
    r"|\b(?:more|less|fewer|greater|higher|lower|later|earlier|longer|shorter) than\b"
    r"|\b(?:negative|minutes? to) \d|−\s|[-−–][$€£¥]"
    r"|\b(?:over|under|above|below|beyond|within|up to|before|after|past)\s+(?:[^\W\d]+\s+){0,2}[$€£¥]?[-−–]?\d",
    re.IGNORECASE,
)
"""Words and signs that change the meaning of the number next to them: `5 and a half`, `more than 5`, `before 12:30`."""
_LONGEST_SENTENCE = 300
_CARDINALS = {
    "zero": "0", "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7",
    "eight": "8", "nine": "9", "ten": "10", "eleven": "11", "twelve": "12", "thirteen": "13", "fourteen": "14",
    "fifteen": "15", "sixteen": "16", "seventeen": "17", "eighteen": "18", "nineteen": "19", "twenty": "20",
}  # fmt: skip
_CURRENCIES = {"$": r"\$|dollar|\busd\b", "€": r"€|euro|\beur\b", "£": r"£|pound|\bgbp\b", "¥": r"¥|\byen\b|yuan"}
_METRES, _GRAMS, _LITRES = "met(?:er|re)s?", "gram(?:me)?s?", "lit(?:er|re)s?"
_UNITS = {
    "km": f"kilo{_METRES}", "m": _METRES, "cm": f"centi{_METRES}", "mm": f"milli{_METRES}", "kg": f"kilo{_GRAMS}",
    "g": _GRAMS, "mg": f"milli{_GRAMS}", "l": _LITRES, "ml": f"milli{_LITRES}", "h": "hours?", "hrs": "hours?",
    "min": "minutes?", "s": "seconds|nearest second", "ft": "feet", "in": "inch(?:es)?", "mi": "miles?",
    "lb": "pounds?", "lbs": "pounds?", "usd": "dollars?", "eur": "euros?", "gbp": "pounds?",
}  # fmt: skip
"""Words that a question may use for a unit."""
_EVERYDAY = frozenset({"a", "am", "as", "at", "i", "in"})
"""Short units that are also common words."""
_SCALES = re.compile(r"\b(?:hundred|thousand|million|billion|trillion)s?\b", re.IGNORECASE)


def final_answer(text: str, question: str | None = None) -> str:
    r"""Return the text after the last `FINAL ANSWER:`, or in the last `<answer>` or `\boxed{}`, without its sources.

    The marks are kept if the question is about such marks or is unknown.
    """
    marked = _marked(text)
    return marked if question is None or _ABOUT_MARKS.search(question) else _unmarked(marked)


def _unmarked(text: str) -> str:
    """Return the content of the last tag or box, without sources and citations at its end."""
    if tagged := _TAGGED.findall(text):
        text = tagged[-1].strip()
    text = _boxed(_SOURCES.sub("", text).strip())
    return _CITED.sub(r"\1", text).strip()


def _boxed(text: str) -> str:
    """Return the content of the box at the end of the text, including nested braces. Without a box, return the text."""
    boxes = list(_BOX.finditer(text))
    if not boxes:
        return text
    start, depth = boxes[-1].end(), 1
    for at in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0) if text[at - 1] != "\\" else 0
        if depth == 0:
            if not _AFTER_BOX.fullmatch(text[at + 1 :]):
                return text
            inside = text[start:at].strip()
            for pattern, plain in _LATEX:
                inside = pattern.sub(plain, inside)
            return inside.strip() or text
    return text


def _marked(text: str) -> str:
    """Return the text after the last non-empty `FINAL ANSWER:`, else the text before it, or the whole text."""
    marks = list(_MARK.finditer(text))
    if not marks:
        return text.strip()
    # `the final answer: …` within a line may be part of an answer
    marks = [mark for mark in marks if mark[0].isupper() or mark["opening"] is not None] or marks
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    for mark, end in reversed([*zip(marks, ends, strict=True)]):
        answer = text[mark.end() : end].strip()
        if answer.endswith("**") and answer.count("**") % 2:  # it began before the mark: `**FINAL ANSWER: 42**`
            answer = answer[:-2].rstrip()
        if answer:
            return answer
    return text[: marks[0].start()].strip()


def in_asked_format(answer: str, question: str) -> str:
    """Return the answer in the form that the question asks for. Its meaning does not change."""
    asked = asked_of(question)
    if asked.verbatim:
        return answer.strip()
    text = _bare(unwrapped(answer.strip(), question))
    if asked.separator:
        return _list_in_order(text, asked)
    if asked.parts > 1:
        return _in_form(text, asked)
    text = _only(text, asked)
    return _counted(text, asked, question) if asked.quantity else text


def _bare(text: str) -> str:
    """Return the text without quotes, emphasis, an announcement or a full stop around it."""
    while True:
        inner = next((found[1].strip() for form in _WRAPPED if (found := form.fullmatch(text))), "")
        if not inner and _BOX.match(text.lstrip("$")) and (boxed := _boxed(text)) != text:
            inner = boxed
        if not inner and _ends_a_sentence(text):
            inner = text[:-1].rstrip()
        if not inner:
            return text
        text = inner


def _ends_a_sentence(text: str) -> bool:
    """Return True if the last full stop ends a sentence, as in `Paris.`, and not an abbreviation, as in `D.C.`."""
    if not text.endswith("."):
        return False
    word = _BETWEEN_WORDS.split(text.split()[-1][:-1])[-1]
    return word.isdigit() or (word.isalpha() and len(word) > 2 and not _SHORTENED.fullmatch(word))


def _list_in_order(text: str, asked: AnswerForm) -> str:
    """Return a list on one line in the requested order; unchanged if its elements are unclear."""
    sign = asked.separator.strip()
    elements = [_bare(element) for element in _elements(text, sign)]
    if not elements or any(sign in element for element in elements):
        return text
    if asked.alphabetical:
        elements.sort(key=str.casefold, reverse=asked.reverse)
    return asked.separator.join(elements)


def _elements(text: str, sign: str) -> list[str]:
    """Return the elements of a list written as lines or on one line; empty if they are unclear."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) > 1:
        return [_BULLET.sub("", line, count=1).strip() for line in lines]
    if _THOUSANDS.search(text):
        return []
    inside = _IN_BRACKETS.fullmatch(text)
    elements = [element.strip() for element in (inside[1] if inside else text).split(sign)]
    if len(elements) > 2 and elements[-1].startswith("and "):
        elements[-1] = elements[-1].removeprefix("and ").lstrip()
    return elements if all(elements) else []


def _in_form(text: str, asked: AnswerForm) -> str:
    """Return the values of a given form. A number loses a unit that the form names, as in `Kell, 23 degrees`."""
    values = [value.strip() for value in text.split(",")]
    if len(values) != asked.parts:
        return text
    found = [(value, name, _WITH_UNIT.fullmatch(value)) for value, name in zip(values, asked.form, strict=True)]
    return ", ".join(one[1] if one and _is_named(one[2].lower(), name.lower()) else value for value, name, one in found)


def _only(text: str, asked: AnswerForm) -> str:
    """Return the only time, date or number of a sentence if nothing else is asked for."""
    if not asked.pattern or " " not in text or len(text) > _LONGEST_SENTENCE or _DENIED.search(text):
        return text
    found = {"time": _TIME, "date": _DATE, "number": _NUMBER}[asked.pattern].findall(text)
    if len(set(found)) != 1 or _SCALES.search(text) or _REMADE.search(text):
        return text
    return str(found[0]).translate(_MINUS)


def _counted(text: str, asked: AnswerForm, question: str) -> str:
    """Return a number in digits, rounded as asked, without a unit that the question names."""
    if asked.count and text.lower() in _CARDINALS:
        return _CARDINALS[text.lower()]
    found = _QUANTITY.fullmatch(text)
    if not found:
        return text
    currency, sign, whole, fraction, unit = (part or "" for part in found.groups())
    unit = unit.strip()
    if _SCALES.search(unit):
        return text
    number = _rounded(sign.replace("−", "-") + whole.replace(",", "") + fraction, asked.places)
    if asked.units or not _named(currency, unit, question):
        return text.replace(text[found.start(2) : found.end(4) if fraction else found.end(3)], number, 1)
    return number


def _named(currency: str, unit: str, question: str) -> bool:
    """Return True if the question names the currency and every word of the unit, so that the answer may omit them."""
    asked = question.lower()
    if currency and not re.search(_CURRENCIES[currency], asked):
        return False
    if unit == "%":
        return "%" in asked or "percent" in asked
    words = (re.sub(r"[^\w]", "", word) for word in unit.lower().split())
    return all(_is_named(word, asked) for word in words)


def _is_named(word: str, asked: str) -> bool:
    """Return True if the question has the word. A short word must match a whole word, since `how` begins with `h`."""
    stem = word if len(word) < 4 else word.removesuffix("s")
    if word in _UNITS and re.search(rf"\b(?:{_UNITS[word]})\b", asked):
        return True
    if len(stem) > 3:
        return bool(re.search(rf"\b{re.escape(stem)}", asked))
    plural = "" if word in _UNITS else "(?:s|es)?"
    whole = rf"(?<![\w'’]){re.escape(stem)}{plural}(?![\w'’])"
    return stem not in _EVERYDAY and bool(re.search(whole, asked))


def _rounded(number: str, places: int | None) -> str:
    if places is None:
        return number
    with localcontext() as context:
        context.prec = len(number) + 10
        return f"{Decimal(number).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP):f}"
