"""Files of a project that no command may hang on or break with."""

from __future__ import annotations

import itertools
import os

import pytest

CONTENTS = {
    "deep list": "model = " + "[" * 20_000 + "]" * 20_000,
    "deep table": "[" + ".".join("a" * 150) + "]",
    "long key": ".".join("a" * 100_000) + " = 1",
    "long name": "a" * 400_000 + " = 1",
    "huge number": "max_steps = " + "9" * 5_000,
    "huge hexadecimal": "max_steps = 0x" + "f" * 9_000,
    "not UTF-8": b'model = "\xff"',
    "not TOML": "model =",
}
COMMANDS = (("config", "show"), ("tools", "list"), ("runs", "list"), ("doctor",))


@pytest.mark.parametrize(
    ("content", "command"), list(zip(CONTENTS.values(), itertools.cycle(COMMANDS))), ids=CONTENTS.keys()
)
def test_a_settings_file_that_cannot_be_used_is_an_error(terminal, content, command):
    path = terminal.here / "alita.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    ended = terminal.call(*command)
    assert ended.code == 2
    assert "alita.toml" in ended.err
    assert len(ended.err) < 2_000


@pytest.mark.parametrize(("name", "kind"), [("alita.toml", "pipe"), (".env", "device"), (".mcp.json", "large")])
def test_a_file_that_is_no_small_file_is_not_waited_for(terminal, name, kind):
    path = terminal.here / name
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        with path.open("wb") as file:
            file.truncate(1 << 32)
    for command in (("tools", "list"), ("mcp", "list")):
        assert terminal.call(*command).code in (0, 1, 2)
