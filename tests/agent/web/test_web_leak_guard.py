"""Known copies of the dataset are blocked and told; the rest of the web is not."""

import time

import pytest

from agent.events import LeakBlocked
from agent.web.leak_guard import LeakGuard, leak_in

QUESTION = "On which of the nine painted boats in the harbour of Ulm did the old ferryman leave his third hat?"


@pytest.mark.parametrize(
    "address",
    [
        "https://huggingface.co/datasets/gaia-benchmark/GAIA",
        "https://HuggingFace.co/datasets/someone/GAIA_copy/resolve/main/x.parquet",
        "huggingface.co/spaces/gaia-benchmark/leaderboard",
        "https://datasets-server.huggingface.co/rows?dataset=gaia-benchmark%2FGAIA",
        "https://agents-course-unit4-scoring.hf.space/questions",
        "https://raw.githubusercontent.com/x/y/main/gaia/metadata.jsonl",
        "https://github.com/someone/gaia-agent/blob/main/answers.json",
        "https://web.archive.org/web/2025/https://huggingface.co/datasets/gaia-benchmark/GAIA",
        "https://r.jina.ai/https%3A%2F%2Fhuggingface.co%2Fdatasets%2Fgaia-benchmark%2FGAIA",
        "https://www.kaggle.com/datasets/x/gaia-validation",
        "https://web.archive.org/web/2025/https://huggingface.co/datasets/someone/GAIA_copy",
        "https://web.archive.org/web/2025/https:/huggingface.co/datasets/someone/GAIA_copy",
        "https://r.jina.ai/https://huggingface.co/datasets/someone/GAIA_copy",
        "https://cache.example/?page=https%3A%2F%2Fhf.co%2Fspaces%2Fx%2Fgaia",
    ],
)
def test_copies_are_known(address):
    assert leak_in(address)


@pytest.mark.parametrize(
    "address",
    [
        "https://en.wikipedia.org/wiki/Gaia",
        "https://www.esa.int/Science_Exploration/Space_Science/Gaia",
        "https://github.com/langchain-ai/langgraph",
        "https://huggingface.co/datasets/squad",
        "https://archive.org/details/gaia-hypothesis",
        "",
        "http://[broken",
    ],
)
def test_the_rest_of_the_web_is_free(address):
    assert leak_in(address) is None


def test_text_that_speaks_of_the_dataset_gives_it_away():
    assert leak_in("https://blog.example/x", "rows of 2023/validation/metadata.parquet with Annotator Metadata")
    assert leak_in("https://blog.example/x", "How long did this take?\n5 minutes\nTools:\n1. None\nNumber of tools: 0")
    assert leak_in("https://blog.example/x", "A poem about Gaia, who bore the sky.") is None


def test_a_page_that_quotes_the_question_is_blocked_and_told():
    told = []
    guard = LeakGuard(told.append, QUESTION)

    assert not guard.blocks("https://boats.example/ulm", "The harbour of Ulm has nine painted boats.")
    assert guard.blocks("https://boats.example/q", f"Q17: {QUESTION.lower()} A: …")
    assert guard.blocks("https://huggingface.co/datasets/gaia-benchmark/GAIA")
    assert [event.address for event in told if isinstance(event, LeakBlocked)] == [
        "https://boats.example/q",
        "https://huggingface.co/datasets/gaia-benchmark/GAIA",
    ]
    assert "12 words" in told[0].reason


async def test_a_long_page_holds_nobody_up():
    """Others go on while it is looked through; without twelve words to look for it is not."""
    text = "the harbour of Ulm has painted boats " * 60_000
    told = []
    assert not await LeakGuard(told.append, QUESTION).blocks_page("https://a.example/x", text)
    began = time.thread_time()
    assert not LeakGuard(told.append, "How many boats?").blocks("https://a.example/x", text)
    assert time.thread_time() - began < 2
    assert await LeakGuard(told.append, QUESTION).blocks_page("https://a.example/x", f"{text} {QUESTION}")
    assert len(told) == 1
