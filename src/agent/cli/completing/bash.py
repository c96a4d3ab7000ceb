"""The completion script of bash, 3.2 and newer."""

from __future__ import annotations

from agent.cli.completing.cases import leading, quoted, valued
from agent.cli.completing.commands import Completed

_SCRIPT = """\
# bash completion of alita. Load it from ~/.bashrc with: source <(alita completion bash)
_alita() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" at="" skip="" i
    for ((i = 1; i < COMP_CWORD; i++)); do
        if [[ -n $skip ]]; then skip=""; continue; fi
        case "$at:${{COMP_WORDS[i]}}" in
{leading}
        esac
    done
    COMPREPLY=()
    case "$at:$before" in
{values}
    esac
    local options="" words="" names=""
    case "$at" in
{places}
    esac
    if [[ $word == -* ]]; then
        words=$options
    elif [[ -n $names ]]; then
        words="$words $("${{COMP_WORDS[0]}}" completion words "$names" 2>/dev/null)"
    fi
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o bashdefault -o default -F _alita alita
"""


def script(places: list[Completed]) -> str:
    """The script for these places. Where nothing fits, bash completes paths by itself."""
    return _SCRIPT.format(
        leading="\n".join(f"            {line}" for line in leading(places)),
        values="\n".join(f"        {line}" for line in _values(places)),
        places="\n".join(f"        {_place(place)}" for place in places),
    )


def _values(places: list[Completed]) -> list[str]:
    lines = []
    for pattern, value in valued(places):
        words = f'COMPREPLY=($(compgen -W {quoted(" ".join(value.choices))} -- "$word")); ' if value.choices else ""
        lines.append(f"{pattern}) {words}return ;;")
    return lines


def _place(place: Completed) -> str:
    options = " ".join(spelling for option in place.options for spelling in option.spellings)
    words = " ".join([name for name, _ in place.commands] or place.argument.choices)
    sets = f"options={quoted(options)} words={quoted(words)} names={quoted(place.argument.names)}"
    return f"{quoted(' '.join(place.path))}) {sets} ;;"
