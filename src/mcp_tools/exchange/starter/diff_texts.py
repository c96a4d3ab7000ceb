import re
from difflib import SequenceMatcher
from typing import Literal

MAX_LENGTH = 1_000_000


def diff_texts(old: str, new: str, unit: Literal["lines", "words"] = "lines", context_lines: int = 3) -> dict:
    """Shows what changed between two texts, line by line (unified diff) or word by word.

    Also known as: compare texts, text diff, unified diff, word diff, wdiff, difference between two texts

    Args:
        old: The earlier text, at most 1000000 characters; may be empty.
        new: The later text, at most 1000000 characters; may be empty.
        unit: "lines" compares whole lines; the line ends LF, CRLF and CR count as equal, and a line end after the last
            line makes no difference. "words" compares words, which are runs of characters without white space; all
            white space counts as equal.
        context_lines: The number of unchanged lines shown before and after each change, 0 or more. Only for "lines".

    Returns:
        A dict with
        "equal": whether nothing changed,
        "added": the number of lines or words that only the new text has,
        "removed": the number of lines or words that only the old text has (a changed line counts in both),
        "diff": an empty text if nothing changed. For "lines" the hunks of a unified diff without file names, joined by
        LF without one at the end: "@@ -start,count +start,count @@", then lines that begin with " ", "-" or "+". As in
        GNU diff, a count of 1 is left out, and an empty range starts at the line before it. For "words" the whole
        text on one line, words joined by one space, with each run of removed words as [-...-] and each run of added
        words as {+...+}; what is removed stands before what is added.

    Raises:
        ValueError: If a text is longer than 1000000 characters, or if `context_lines` is negative.

    Examples:
        >>> diff_texts("a\\nb\\nc", "a\\nB\\nc", context_lines=0)
        {'equal': False, 'added': 1, 'removed': 1, 'diff': '@@ -2 +2 @@\\n-b\\n+B'}
        >>> diff_texts("The cat sat down", "The black cat sat", unit="words")["diff"]
        'The {+black+} cat sat [-down-]'
        >>> diff_texts("The cat sat down", "The black cat sat", unit="words")
        {'equal': False, 'added': 1, 'removed': 1, 'diff': 'The {+black+} cat sat [-down-]'}
        >>> diff_texts("a\\r\\n", "a")
        {'equal': True, 'added': 0, 'removed': 0, 'diff': ''}
    """
    for name, text in (("old", old), ("new", new)):
        if len(text) > MAX_LENGTH:
            raise ValueError(f"{name} has {len(text)} characters; at most {MAX_LENGTH} are accepted")
    if context_lines < 0:
        raise ValueError(f"context_lines must be 0 or more, not {context_lines}")
    before, after = (_lines(old), _lines(new)) if unit == "lines" else (old.split(), new.split())
    marked = _compare(before, after)
    added = sum(mark == "+" for mark, _ in marked)
    removed = sum(mark == "-" for mark, _ in marked)
    if not added and not removed:
        shown = ""
    else:
        shown = _unified(marked, context_lines) if unit == "lines" else _inline(marked)
    return {"equal": not added and not removed, "added": added, "removed": removed, "diff": shown}


def _lines(text: str) -> list[str]:
    lines = re.split(r"\r\n|\r|\n", text)
    return lines[:-1] if lines[-1] == "" else lines


def _compare(before: list[str], after: list[str]) -> list[tuple[str, str]]:
    """Lists all parts in order, each with " " (in both), "-" (only before) or "+" (only after)."""
    shorter = min(len(before), len(after))
    start = 0
    while start < shorter and before[start] == after[start]:
        start += 1
    end = 0
    while end < shorter - start and before[-1 - end] == after[-1 - end]:
        end += 1
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    # without its shortcut for frequent parts the comparison is exact, but takes too long for large texts
    matcher = SequenceMatcher(None, old, new, autojunk=len(old) * len(new) > 4_000_000)
    marked = [(" ", part) for part in before[:start]]
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal":
            marked += [(" ", part) for part in old[i1:i2]]
        else:
            marked += [("-", part) for part in old[i1:i2]] + [("+", part) for part in new[j1:j2]]
    return marked + [(" ", part) for part in before[len(before) - end :]]


def _unified(marked: list[tuple[str, str]], context: int) -> str:
    changed = [i for i, (mark, _) in enumerate(marked) if mark != " "]
    groups: list[list[int]] = []
    for i in changed:
        if groups and i - groups[-1][1] - 1 <= 2 * context:
            groups[-1][1] = i
        else:
            groups.append([i, i])
    shown = []
    done, old_line, new_line = 0, 0, 0
    for first, last in groups:
        begin, end = max(first - context, 0), min(last + context + 1, len(marked))
        for mark, _ in marked[done:begin]:
            old_line += mark != "+"
            new_line += mark != "-"
        hunk = marked[begin:end]
        old_count = sum(mark != "+" for mark, _ in hunk)
        new_count = sum(mark != "-" for mark, _ in hunk)
        shown.append(f"@@ -{_range(old_line, old_count)} +{_range(new_line, new_count)} @@")
        shown += [mark + text for mark, text in hunk]
        old_line, new_line, done = old_line + old_count, new_line + new_count, end
    return "\n".join(shown)


def _range(lines_before: int, count: int) -> str:
    if count == 0:
        return f"{lines_before},0"
    return f"{lines_before + 1}" if count == 1 else f"{lines_before + 1},{count}"


def _inline(marked: list[tuple[str, str]]) -> str:
    runs: list[tuple[str, list[str]]] = []
    for mark, word in marked:
        if runs and runs[-1][0] == mark:
            runs[-1][1].append(word)
        else:
            runs.append((mark, [word]))
    frames = {" ": ("", ""), "-": ("[-", "-]"), "+": ("{+", "+}")}
    return " ".join(frames[mark][0] + " ".join(words) + frames[mark][1] for mark, words in runs)
