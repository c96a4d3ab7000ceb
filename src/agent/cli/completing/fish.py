"""The completion script of fish."""

from __future__ import annotations

from collections.abc import Iterator

from agent.cli.completing.cases import valued
from agent.cli.completing.commands import Completed, Option, Value

_SCRIPT = """\
# fish completion of alita. Load it with: alita completion fish | source
function __alita_at --description 'Whether the words before the cursor lead to this place'
    set -l words (commandline -opc)
    set -e words[1]
    set -l at ''
    set -l skip ''
    for word in $words
        if test -n "$skip"
            set skip ''
            continue
        end
        switch "$at:$word"
{leading}
        end
    end
    test "$at" = "$argv"
end
complete -c alita -e
complete -c alita -f
{places}
"""


def script(places: list[Completed]) -> str:
    """The script for these places."""
    lines = (line for place in places for line in _place(place))
    return _SCRIPT.format(leading="\n".join(_leading(places)), places="\n".join(lines))


def _leading(places: list[Completed]) -> Iterator[str]:
    for pattern, _ in valued(places):
        yield f"            case {pattern.replace('|', ' ')}\n                set skip 1"
    for place in places:
        here = " ".join(place.path)
        for name, _ in place.commands:
            at = _quoted(f"{here} {name}".strip())
            yield f"            case {_quoted(f'{here}:{name}')}\n                set at {at}"


def _place(place: Completed) -> Iterator[str]:
    here = _quoted(" ".join(place.path))
    start = f"complete -c alita -n {_quoted(f'__alita_at {here}')}"
    for name, text in place.commands:
        yield f"{start} -a {_quoted(name)} -d {_quoted(text)}"
    if not place.commands:
        yield from (f"{start}{flags}" for flags in _argument(place.argument))
    for option in place.options:
        yield f"{start}{_option(option)}"


def _argument(value: Value) -> Iterator[str]:
    if value.choices:
        yield f" -a {_quoted(' '.join(value.choices))}"
    if value.names:
        yield f" -a {_quoted(f'(alita completion words {value.names} 2>/dev/null)')}"
    if value.files:
        yield " -F"


def _option(option: Option) -> str:
    spellings = "".join(f" -{'l' if s.startswith('--') else 's'} {s.lstrip('-')}" for s in option.spellings)
    value = option.value
    takes = "" if value is None else " -r -F" if value.files else f" -x -a {_quoted(' '.join(value.choices))}"
    return f"{spellings}{takes} -d {_quoted(option.help)}"


def _quoted(text: str) -> str:
    """A text in single quotes, in which fish knows two escapes."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
