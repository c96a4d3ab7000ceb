"""Editing JSON, TOML and YAML as text: our entry is there, and everything else is as it was."""

from __future__ import annotations

import contextlib
import copy
import json
import tomllib
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from agent.hosts.json_text import JsonText
from agent.hosts.toml_text import DamagedTextError, TextFormat, TomlText, UnusualTextError, YamlText

ENTRY: dict[str, Any] = {
    "command": "/opt/ä b/alita",
    "args": ["serve", "--tools", 'a"b\\c'],
    "env": {"ALITA_HOME": "/h", "X.Y": "z"},
    "timeout": 600,
    "enabled": True,
}
KEY = "servers"

JSON_TEXTS = {
    "empty": "",
    "spaces": " \n",
    "an empty object": "{}",
    "an empty object over lines": "{\n}\n",
    "on one line": '{"a": 1}',
    "nothing of ours": '{\n    "a": [1, {"b": null}],\n    "z": "ü\\u00e9"\n}\n',
    "others": '{\n\t"servers": {\n\t\t"x": {"command": "y"}\n\t},\n\t"z": 1\n}\n',
    "an older one": '{\r\n  "servers": {\r\n    "alita": {"old": 1},\r\n    "y": {}\r\n  }\r\n}\r\n',
    "an older one at the end": '{"servers": {"y": {}, "alita": 1}}',
    "an older one alone": '{"servers": {"alita": {}}, "z": 1}',
    "no servers": '{"servers":{}}',
    "twice": '{"servers": {"alita": 1, "alita": 2}}',
    "brackets in texts": '{"a": "{[,]}//", "servers": {"}": "\\""}}',
}
JSONC_TEXTS = {
    **JSON_TEXTS,
    "comments": '// top\n{\n  // on x\n  "servers": {\n    "x": {} // is x\n    /* end */\n  }, // y\n}\n// bottom\n',
    "trailing commas": '{"servers": {"a": [1,2,],},}',
    "a comment alone": "{ // nothing yet\n}",
    "a comment where servers would be": '{\n  "servers": {\n    // none yet\n  }\n}\n',
    "a commented entry": '{\n  "servers": {\n    // mine\n    "alita": 1, // old\n    "b": 2\n  }\n}',
}
TOML_TEXTS = {
    "empty": "",
    "nothing of ours": "# hi\nmodel = 'x' # c\n\n[profiles.a]\nm = 1 # one\n",
    "without a line end": "a = 1",
    "others": "[servers.other]\ncommand = 'x'\n\n# about a\n[a]\nm = 1\n",
    "an older one": "[servers.alita]\ncommand = 'old' # c\n[servers.alita.env]\nX = '1'\n\n# about z\n[z]\na = 1\n",
    "quoted": "[ servers . \"alita\" ]\ncommand = 'old'\n[servers.'alita'.env]\nX = '1'\n",
    "in the middle": "[servers.a]\nx = 1\n[servers.alita]\nx = 2\n[servers.b]\nx = 3\n",
    "apart": "[servers.alita]\nx = 2\n[z]\na = 1\n[servers.alita.env]\nX = '1'\n",
    "windows": "a = 1\r\n[b]\r\nc = 2\r\n",
    "dotted": "servers.other.command = 'x'\n",
    "a list over lines": "a = [\n  ['x'],\n  ['y']\n]\n[b]\nc = 1\n",
    "an open table": "[servers]\n",
}
YAML_TEXTS = {
    "empty": "",
    "a comment": "# only\n",
    "nothing of ours": "A: 1 # x\nB:\n  - 1\n  - {c: d}\n",
    "without a line end": "servers: # c\nB: 1",
    "others": "A: 1\nservers:\n  dev:\n    on: true # y\n\n  # on m\n  m:\n    a: [1,\n     2]\n\n# next\nB: 2\n",
    "an older one": "servers:\n    alita:\n        cmd: old\n        x: |\n          text\n    z:\n        a: 1\n",
    "an older one at the end": "servers:\n  z: 1\n  alita:\n    cmd: old\n    # inner\n    l:\n    - 1\n",
    "nothing yet": "servers:\n",
    "braces": "servers: {}\nb: 1\n",
    "windows": "A: 1\r\nservers:\r\n  d:\r\n    a: 1\r\n",
    "anchors": "servers:\n  d: &x\n    a: 1\n  e: *x\n",
    "a document marker": "---\nservers:\n  d: 1\n",
    "a date": "servers:\n  d: 2024-01-01\n",
}
CASES: list[Any] = [
    pytest.param(form, text, id=f"{kind}: {name}")
    for kind, form, texts in (
        ("json", JsonText(comments=False), JSON_TEXTS),
        ("jsonc", JsonText(comments=True), JSONC_TEXTS),
        ("toml", TomlText(), TOML_TEXTS),
        ("yaml", YamlText(), YAML_TEXTS),
    )
    for name, text in texts.items()
]


def servers_of(form: TextFormat, text: str) -> dict[str, Any]:
    return form.parse(text).get(KEY) or {}


@pytest.mark.parametrize(("form", "text"), CASES)
def test_an_entry_is_put_and_nothing_else_changes(form: TextFormat, text: str) -> None:
    """As values, and each line of the text that is not ours as it was."""
    wanted = copy.deepcopy(form.parse(text))
    wanted[KEY] = {**servers_of(form, text), "alita": ENTRY}
    edited = form.put(text, KEY, "alita", ENTRY)
    assert form.parse(edited) == wanted
    if "alita" not in text and "\n" in text.strip():
        lines = [line.replace(",", "") for line in text.splitlines() if line.strip() and "{}" not in line]
        assert [line for line in lines if line not in edited.replace(",", "")] == []
    if "\r\n" in text:
        assert "\n" not in edited.replace("\r\n", "")


@pytest.mark.parametrize(("form", "text"), CASES)
def test_an_entry_is_removed_and_nothing_else_changes(form: TextFormat, text: str) -> None:
    edited = form.put(text, KEY, "alita", ENTRY)
    wanted = form.parse(edited)
    del wanted[KEY]["alita"]
    removed = form.remove(edited, KEY, "alita")
    found = form.parse(removed)
    assert {**found, KEY: found.get(KEY) or {}} == wanted


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (JsonText(comments=False), JSON_TEXTS["others"]),
        (JsonText(comments=True), JSONC_TEXTS["trailing commas"].replace(",},}", "}}")),
        (TomlText(), TOML_TEXTS["others"]),
        (TomlText(), TOML_TEXTS["nothing of ours"]),
        (YamlText(), YAML_TEXTS["others"]),
        (YamlText(), YAML_TEXTS["windows"]),
    ],
)
def test_putting_and_removing_gives_the_text_back(form: TextFormat, text: str) -> None:
    """Byte for byte."""
    assert form.remove(form.put(text, KEY, "alita", ENTRY), KEY, "alita") == text


def test_the_style_of_the_file_is_kept() -> None:
    edited = JsonText(comments=False).put(JSON_TEXTS["others"], KEY, "alita", {"k": "c"})
    assert edited == (
        '{\n\t"servers": {\n\t\t"x": {"command": "y"},\n\t\t"alita": {\n\t\t\t"k": "c"\n\t\t}\n\t},\n\t"z": 1\n}\n'
    )


DAMAGES: list[Any] = [
    pytest.param(JsonText(comments=False), '{\n  "a": 1,\n}', 2, 9, id="json: trailing comma"),
    pytest.param(JsonText(comments=False), "{\n  // c\n}", 2, 3, id="json: comment"),
    pytest.param(JsonText(comments=True), '{\n  "a": 1\n  "b": 2\n}', 3, 3, id="jsonc: no comma"),
    pytest.param(JsonText(comments=True), '{\n  "a": [1 2]\n}', 2, 11, id="jsonc: no comma in a list"),
    pytest.param(JsonText(comments=True), '{\n  "a" 1\n}', 2, 7, id="jsonc: no colon"),
    pytest.param(JsonText(comments=True), "{\n  a: 1\n}", 2, 3, id="jsonc: no quotes"),
    pytest.param(JsonText(comments=True), '{\n  "a": "b', 2, 8, id="jsonc: cut short"),
    pytest.param(JsonText(comments=True), "{} {}", 1, 4, id="jsonc: two"),
    pytest.param(JsonText(comments=True), "[]", 1, 1, id="jsonc: a list"),
    pytest.param(JsonText(comments=True), '{"a": ' + "[" * 100_000, 1, 1, id="jsonc: deep"),
    pytest.param(TomlText(), "a = 1\nb = \n", 2, 5, id="toml: no value"),
    pytest.param(TomlText(), "a = 1\na = 2\n", 2, 6, id="toml: twice"),
    pytest.param(TomlText(), "a = '''", 1, 1, id="toml: cut short"),
    pytest.param(YamlText(), "a: 1\nb: [1\n", 3, 1, id="yaml: open bracket"),
    pytest.param(YamlText(), "a: 1\n\tb: 2\n", 2, 1, id="yaml: tab"),
    pytest.param(YamlText(), "- 1\n", 1, 1, id="yaml: a list"),
    pytest.param(YamlText(), "a: 1\n---\nb: 1\n", 2, 1, id="yaml: two documents"),
]


@pytest.mark.parametrize(("form", "text", "line", "column"), DAMAGES)
def test_a_damaged_text_is_told_with_its_line(form: TextFormat, text: str, line: int, column: int) -> None:
    with pytest.raises(DamagedTextError) as told:
        form.parse(text)
    assert str(told.value).startswith(f"line {line}, column {column}: ")


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (YamlText(), "servers: {a: 1}\n"),
        (YamlText(), "servers: [1]\n"),
        (JsonText(comments=False), '{"servers": [1]}'),
    ],
)
def test_a_text_of_another_shape_is_left_to_its_owner(form: TextFormat, text: str) -> None:
    with pytest.raises(UnusualTextError):
        form.put(text, KEY, "alita", ENTRY)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.dictionaries(st.text(max_size=5) | st.just(KEY), values, max_size=4),
    st.dictionaries(st.text(max_size=5) | st.just("alita"), values, max_size=3) | st.none(),
    st.sampled_from([None, 2, 4, "\t"]),
)
def test_any_json_keeps_what_it_says(settings: dict[str, Any], servers: dict[str, Any] | None, indent: Any) -> None:
    """Put and removed again, in any style."""
    settings.pop(KEY, None)
    if servers is not None:
        settings[KEY] = servers
    text, form = json.dumps(settings, indent=indent), JsonText(comments=True)
    assert form.parse(text) == settings
    edited = form.put(text, KEY, "alita", ENTRY)
    assert json.loads(edited) == {**settings, KEY: {**(servers or {}), "alita": ENTRY}}
    removed = json.loads(form.remove(edited, KEY, "alita"))
    assert removed == {**settings, KEY: {name: one for name, one in (servers or {}).items() if name != "alita"}}


@given(st.text())
def test_any_text_is_settings_or_damage(text: str) -> None:
    """Nothing else comes of it."""
    for form in (JsonText(comments=False), JsonText(comments=True), TomlText(), YamlText()):
        with contextlib.suppress(DamagedTextError):
            assert isinstance(form.parse(text), dict)


def test_our_json_reader_is_no_laxer_than_the_standard_one() -> None:
    for text in ('{"a": 01}', '{"a": +1}', "{'a': 1}", '{"a": "\n"}', '{"a": tru}', '{"a" : }', "{,}", '{"a": [,]}'):
        with pytest.raises(json.JSONDecodeError):
            json.loads(text)
        with pytest.raises(DamagedTextError):
            JsonText(comments=False).parse(text)


def test_the_texts_are_those_of_the_formats() -> None:
    """The cases above mean what other readers say they mean."""
    assert all(json.loads(text) is not None for text in JSON_TEXTS.values() if text.strip())
    assert all(isinstance(tomllib.loads(text), dict) for text in TOML_TEXTS.values())
    assert all(isinstance(yaml.safe_load(text), dict | None) for text in YAML_TEXTS.values())
