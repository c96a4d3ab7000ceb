"""The public filesystem server as the README adds it: a capable model sees its tools, calls them and imports them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from judging import NODE_FOLDER

from support.command import Terminal
from support.openai_server import OpenAIServer, Step

pytestmark = [pytest.mark.slow, pytest.mark.node]

PROGRAM = NODE_FOLDER / "@modelcontextprotocol" / "server-filesystem" / "dist" / "index.js"


def test_the_example_of_the_readme_works(node: Path, tmp_path: Path, openai_server: OpenAIServer) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "sales.csv").write_text("month,total\n1,20\n")
    (folder / "small.txt").write_text("a")
    alita = Terminal(tmp_path, tmp_path)
    added = alita.call("mcp", "add", "files", str(node), str(PROGRAM), str(folder))
    assert added.code == 0, added.err
    program = (
        "import json\nfrom servers.files import directory_tree, get_file_info, read_text_file\n"
        f"print(get_file_info(path='{folder}/sales.csv'))\n"
        f"print(len(read_text_file(path='{folder}/sales.csv').splitlines()), 'lines')\n"
        f"print([one['name'] for one in json.loads(directory_tree(path='{folder}'))])"
    )
    calls: list[tuple[str, Any]] = [
        ("files__list_directory", {"path": str(folder)}),
        ("files__get_file_info", {"path": f"{folder}/sales.csv"}),
        ("files__read_text_file", {"path": f"{folder}/sales.csv"}),
        ("run_python", {"code": program}),
    ]
    bodies: list[dict[str, Any]] = []

    def reply(body: dict[str, Any]) -> Step:
        bodies.append(body)
        done = sum(message["role"] == "tool" for message in body["messages"])
        return Step(tools=[calls[done]]) if done < len(calls) else Step(text="sales.csv, 17 bytes")

    openai_server.default = reply
    question = f"Which files are in {folder}, and how big is the largest?"
    asked = alita.call("--base-url", openai_server.url, "-m", "gpt-test", question, OPENAI_API_KEY="k")
    told = [message["content"] for message in bodies[-1]["messages"] if message["role"] == "tool"]
    assert (asked.code, asked.out) == (0, "sales.csv, 17 bytes\n"), asked.err
    assert {name for name, _ in calls} <= {one["function"]["name"] for one in bodies[0]["tools"]}
    assert "sales.csv" in told[0]
    assert "size: 17" in told[1]
    assert "{" not in told[2]
    assert [text in told[3] for text in ("size: 17", "2 lines", "['sales.csv', 'small.txt']")] == [True] * 3
    assert "files__read_text_file: " in str(bodies[0]["messages"][-1]["content"])
    assert "-> str" in str(bodies[0]["messages"][-1]["content"])
    assert all(body["tools"] == bodies[0]["tools"] for body in bodies)
