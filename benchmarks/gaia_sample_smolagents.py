"""smolagents' CodeAgent, asked one question: a process that benchmarks/gaia_sample.py starts.

Reads `{"question", "file", "url", "token"}` from stdin and writes `{"answer", "tokens", "steps"}` as the last line. The
agent gets what its authors' own runs of GAIA give it: imports for the usual files, a tool that shows any file as text,
and twelve steps; and `open`, which it otherwise lacks. Needs the group bench of pyproject.toml.
"""

from __future__ import annotations

import asyncio
import json
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from smolagents import CodeAgent, OpenAIModel, tool
from smolagents.monitoring import LogLevel

STEPS = 12
IMPORTS = (
    *(
        "pandas",
        "numpy",
        "openpyxl",
        "python_calamine",
        "docx",
        "docx.*",
        "pptx",
        "pptx.*",
        "pypdfium2",
        "PIL",
        "PIL.*",
    ),
    *("csv", "json", "sqlite3", "zipfile", "tarfile", "xml.*", "lxml", "lxml.*", "bs4", "html", "email", "email.*"),
    *("io", "os.path", "pathlib", "fractions", "decimal", "functools", "string", "heapq", "textwrap", "base64"),
)
"""Beside those that it always allows (math, re, datetime, itertools, collections, statistics and a few more)."""
PROMPT = """{question}
{file}
Give the final answer with only what was asked for, in the form that the question tells."""


@tool
def read_file(path: str, page: int = 1) -> str:
    """Shows any file as text: documents, tables, archives, the words in pictures and what is said in recordings.

    Args:
        path: Path of the file.
        page: The page from which on it is shown, from 1.
    """
    from agent.configuration.settings_sources import read_settings
    from agent.files.contents import FileProblem
    from agent.files.media.speech import from_settings
    from agent.files.reading import read

    try:
        reading = asyncio.run(read(Path(path), page=page, speech=from_settings(read_settings())))
    except FileProblem as problem:
        return f"{problem}"
    return f"{reading.where}\n{reading.text}\n{reading.more}"


def answer(given: dict[str, Any]) -> dict[str, Any]:
    """The agent's answer to a question."""
    model = OpenAIModel("embedded", api_base=given["url"], api_key=given["token"], temperature=0, max_tokens=1024)
    agent = CodeAgent(
        [read_file],
        model,
        additional_authorized_imports=[name for name in IMPORTS if find_spec(name.split(".")[0])],
        executor_kwargs={"additional_functions": {"open": open}},
        max_steps=STEPS,
        verbosity_level=LogLevel.OFF,
    )
    file = f"\nThe attached file is {Path(given['file']).absolute()}\n" if given["file"] else ""
    found = agent.run(PROMPT.format(question=given["question"], file=file))
    used = agent.monitor.get_total_token_counts()
    tokens = used.input_tokens + used.output_tokens
    return {"answer": str(found), "tokens": tokens, "steps": agent.step_number - 1}


if __name__ == "__main__":
    print(json.dumps(answer(json.load(sys.stdin))))
