"""The completion script of zsh."""

from __future__ import annotations

from collections.abc import Iterable

from agent.cli.completing.cases import leading, quoted, valued
from agent.cli.completing.commands import Completed

_SCRIPT = """\
#compdef alita
# zsh completion of alita. Load it after compinit with: source <(alita completion zsh)
_alita() {{
    local word="$words[CURRENT]" before="$words[CURRENT-1]" at="" skip="" names="" files=""
    local -i i
    local -a options commands
    for ((i = 2; i < CURRENT; i++)); do
        if [[ -n $skip ]]; then skip=""; continue; fi
        case "$at:$words[i]" in
{leading}
        esac
    done
    case "$at:$before" in
{values}
    esac
    case "$at" in
{places}
    esac
    if [[ $word == -* ]]; then
        _describe -o 'option' options
        return
    fi
    (( $#commands )) && _describe 'command' commands
    [[ -n $names ]] && compadd -- ${{(f)"$($words[1] completion words $names 2>/dev/null)"}}
    [[ -n $files ]] && _files
}}
if [[ $funcstack[1] == _alita ]]; then
    _alita "$@"
else
    compdef _alita alita
fi
"""


def script(places: list[Completed]) -> str:
    """The script for these places."""
    return _SCRIPT.format(
        leading="\n".join(f"            {line}" for line in leading(places)),
        values="\n".join(f"        {line}" for line in _values(places)),
        places="\n".join(f"        {_place(place)}" for place in places),
    )


def _values(places: list[Completed]) -> list[str]:
    lines = []
    for pattern, value in valued(places):
        words = f"compadd -- {' '.join(map(quoted, value.choices))}; " if value.choices else ""
        lines.append(f"{pattern}) {words}{'_files; ' if value.files else ''}return ;;")
    return lines


def _place(place: Completed) -> str:
    options = _array((spelling, option.help) for option in place.options for spelling in option.spellings)
    words = _array(place.commands or ((choice, "") for choice in place.argument.choices))
    sets = f"options=({options}); commands=({words}); names={quoted(place.argument.names)}"
    return f"{quoted(' '.join(place.path))}) {sets}; files={'1' if place.argument.files else ''} ;;"


def _array(pairs: Iterable[tuple[str, str]]) -> str:
    """Words with their help, as `_describe` takes them."""
    return " ".join(quoted(f"{word}:{text}" if text else word) for word, text in pairs)
