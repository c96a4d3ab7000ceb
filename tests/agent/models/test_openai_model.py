"""Hosted models against a scripted server: answers, streams, retries, limits, and messages without keys."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable

import pytest

from agent.errors import (
    ModelAuthError,
    ModelBusyError,
    ModelError,
    ModelRefusedError,
    ModelUnknownError,
    ModelUnreachableError,
)
from agent.models.chat import ChatModel
from agent.models.failures import Retry
from agent.models.ladder import TraitsCache
from agent.models.protocol import Price, Request
from support.hosted import hosted
from support.openai_server import OpenAIServer, Step

KEY = "shaped-like-no-known-key-1234567890"
ASK = [{"role": "user", "content": "Hello?"}]
FAST = Retry(base=0.01)

Open = Callable[..., ChatModel]


@pytest.fixture
async def open_model(openai_server: OpenAIServer) -> AsyncIterator[Open]:
    opened: list[ChatModel] = []

    def make(**options: object) -> ChatModel:
        given = {"api_key": KEY, "base_url": openai_server.url, "retry": FAST, **options}
        opened.append(hosted("tiny-1", **given))  # type: ignore[arg-type]
        return opened[-1]

    yield make
    for model in opened:
        await model.aclose()


@pytest.mark.parametrize("own", [False, True], ids=["other", "the package's"])
async def test_headers_of_the_environment_go_to_openai_alone(
    openai_server: OpenAIServer, open_model: Open, monkeypatch: pytest.MonkeyPatch, own: bool
) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-1")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Secret: s3cret\nauthorization: Bearer other")
    if own:
        monkeypatch.setenv("OPENAI_BASE_URL", openai_server.url + "/")
    openai_server.answer("Hi")
    await open_model().complete(Request(ASK))
    sent = openai_server.headers[0]
    wanted = {"openai-organization": "org-1", "openai-project": "proj-1", "x-secret": "s3cret"}
    assert {name: sent.get(name) for name in wanted} == (wanted if own else dict.fromkeys(wanted))
    assert sent["authorization"] == f"Bearer {KEY}"


async def test_text_usage_and_cost(openai_server: OpenAIServer, open_model: Open) -> None:
    """An answer carries its text, its tokens and what they cost, the cached ones at their own price."""
    usage = {"prompt_tokens": 1000, "completion_tokens": 100, "prompt_tokens_details": {"cached_tokens": 400}}
    openai_server.answer("Hi", usage=usage)
    answer = await open_model(price=Price(1.0, 10.0, 0.1)).complete(
        Request(ASK, max_tokens=9, temperature=0, seed=3, stop=["\n"])
    )
    assert (answer.text, answer.finish, answer.model) == ("Hi", "stop", "tiny-1")
    assert (answer.usage.input_tokens, answer.usage.output_tokens, answer.usage.cached_tokens) == (1000, 100, 400)
    assert answer.usage.cost == pytest.approx((600 * 1 + 400 * 0.1 + 100 * 10) / 1e6)
    sent = openai_server.requests[0]
    assert sent == {
        "model": "tiny-1", "messages": ASK, "max_tokens": 9, "temperature": 0, "seed": 3, "stop": ["\n"],
    }  # fmt: skip
    assert openai_server.headers[0]["authorization"] == f"Bearer {KEY}"


async def test_a_stream_gives_its_pieces_and_the_whole(openai_server: OpenAIServer, open_model: Open) -> None:
    pieces: list[str] = []
    openai_server.answer("Hello, wörld 🌍 and all")
    answer = await open_model().complete(Request(ASK, on_delta=pieces.append))
    assert "".join(pieces) == answer.text == "Hello, wörld 🌍 and all"
    assert len(pieces) > 3
    assert answer.usage.input_tokens == 10


@pytest.mark.parametrize(
    ("status", "code", "error", "told"),
    [
        (401, "invalid_api_key", ModelAuthError, "MY_KEY"),
        (404, "model_not_found", ModelUnknownError, "tiny-2"),
        (400, "model_not_found", ModelRefusedError, "tiny-1"),
        (429, "insufficient_quota", ModelBusyError, "billing"),
        (402, None, ModelBusyError, "billing"),
        (400, "context_length_exceeded", ModelRefusedError, "shorter"),
        (400, "content_filter", ModelRefusedError, "Rephrase"),
        (422, None, ModelRefusedError, "refused"),
    ],
)
async def test_a_refusal_is_told_once_with_its_remedy_and_without_the_key(
    openai_server: OpenAIServer, open_model: Open, status: int, code: str, error: type[ModelError], told: str
) -> None:
    openai_server.fail(status, f"Wrong: {KEY} and sk-***cdef, AIzaSy***cdef", code=code)
    with pytest.raises(error) as caught:
        await open_model(key_variable="MY_KEY").complete(Request(ASK))
    message = str(caught.value)
    assert told in message
    assert KEY not in message
    assert "cdef" not in message
    assert KEY not in repr(caught.value.__context__), "nor in what the traceback would show"
    assert len(openai_server.requests) == 1, "asking again would not help"


async def test_nobody_listens(open_model: Open) -> None:
    """A wrong URL is told within seconds, without its password."""
    start = time.monotonic()
    with pytest.raises(ModelUnreachableError) as caught:
        await open_model(base_url="http://me:hidden@127.0.0.1:9/v1").complete(Request(ASK))
    assert str(caught.value).startswith("No server answers at http://127.0.0.1:9/v1")
    assert "hidden" not in str(caught.value)
    assert "alita doctor" in str(caught.value)
    assert time.monotonic() - start < 20


async def test_retries_honour_retry_after_and_tell_that_they_wait(
    openai_server: OpenAIServer, open_model: Open
) -> None:
    told: list[str] = []
    openai_server.fail(429, "slow down", retry_after=0.3).fail(503, "later").answer("at last")
    answer = await open_model(notify=told.append).complete(Request(ASK))
    assert answer.text == "at last"
    assert openai_server.times[1] - openai_server.times[0] >= 0.3
    assert openai_server.times[2] - openai_server.times[1] < 0.3
    assert "429" in told[0]
    assert "trying again in 0.3 s" in told[0]


async def test_a_long_retry_after_is_not_waited_for(openai_server: OpenAIServer, open_model: Open) -> None:
    openai_server.fail(429, "come back tomorrow", retry_after=86400)
    with pytest.raises(ModelBusyError, match="tomorrow"):
        await open_model().complete(Request(ASK))
    assert len(openai_server.requests) == 1


async def test_a_hanging_endpoint_times_out(openai_server: OpenAIServer, open_model: Open) -> None:
    openai_server.answer("Hi").hang().hang()
    await open_model().complete(Request(ASK))  # The first call of a process loads the openai package.
    start = time.monotonic()
    with pytest.raises(ModelUnreachableError, match="in time"):
        await open_model(timeout=1.0).complete(Request(ASK))
    assert time.monotonic() - start < 20
    assert len(openai_server.requests) == 3


async def test_a_cut_stream_is_repeated_and_shown_once(openai_server: OpenAIServer, open_model: Open) -> None:
    pieces: list[str] = []
    openai_server.cut("Hello there", after=8).answer("Hello there")
    answer = await open_model().complete(Request(ASK, on_delta=pieces.append))
    assert answer.text == "Hello there"
    assert "".join(pieces) == "Hello there"


@pytest.mark.parametrize(
    ("data", "content_type"),
    [
        (b"<html>login</html>", "text/html"),
        (b"{not json", "application/json"),
        (b"[]", "application/json"),
        (b"{}", "application/json"),
        (b'{"choices": ["x"]}', "application/json"),
        (b'{"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": "many"}}', "application/json"),
        (b"\xff\xfe", "application/json"),
    ],
)
async def test_an_answer_of_another_protocol(
    openai_server: OpenAIServer, open_model: Open, data: bytes, content_type: str
) -> None:
    for _ in range(4):
        openai_server.raw(data, content_type)
    with pytest.raises(ModelUnreachableError, match="base URL"):
        await open_model().complete(Request(ASK))


async def test_refused_parameters_are_left_out_from_then_on(
    openai_server: OpenAIServer, open_model: Open, tmp_path
) -> None:
    """Some models take no temperature, or call the limit of tokens otherwise; that is learned, and kept."""
    openai_server.fail(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'.", param="max_tokens")
    openai_server.fail(400, "Unsupported value", param="temperature")
    for _ in range(2):
        openai_server.answer("ok")
    cache = tmp_path / "endpoints.json"
    await open_model(traits=TraitsCache(cache)).complete(Request(ASK, max_tokens=5, temperature=0))
    await open_model(traits=TraitsCache(cache)).complete(Request(ASK, max_tokens=5, temperature=0))
    assert len(openai_server.requests) == 4
    assert openai_server.requests[-1] == {"model": "tiny-1", "messages": ASK, "max_completion_tokens": 5}

    cache.write_text(cache.read_text().replace('"without": [', '"without": null, "was": ['))
    openai_server.answer("ok")
    assert (await open_model(traits=TraitsCache(cache)).complete(Request(ASK))).text == "ok"


async def test_calls_go_through_the_package_and_send_no_key_but_the_endpoints(
    openai_server: OpenAIServer, open_model: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a key there is no header for one, whatever the environment holds for other programs."""
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY"):
        monkeypatch.setenv(name, "sk-of-another-endpoint")
    openai_server.answer("Hi")
    await open_model(api_key=None).complete(Request(ASK))
    sent = openai_server.headers[0]
    assert sent["x-stainless-lang"] == "python"
    assert "authorization" not in sent
    assert "sk-of-another-endpoint" not in str(sent)


async def test_a_slow_stream_is_cut_at_the_limit_of_time_and_not_before(
    openai_server: OpenAIServer, open_model: Open
) -> None:
    slow = Step(text="0123456789" * 4, pace=0.2)  # ten pieces
    openai_server.default = lambda _: slow
    request, once = Request(ASK, on_delta=lambda _: None), Retry(timeout=0)
    assert (await open_model(timeout=60.0, retry=once).complete(request)).text == slow.text
    with pytest.raises(ModelUnreachableError, match="in time"):
        await open_model(timeout=1.0, retry=once).complete(request)


async def test_azure_gets_its_own_header_below_the_deployment(
    openai_server: OpenAIServer, open_model: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", openai_server.url.removesuffix("/v1"))
    openai_server.answer("Hi")
    url = "http://x.openai.azure.com/openai/deployments/d1"
    assert (await open_model(base_url=f"{url}?api-version=2024-10-21").complete(Request(ASK))).text == "Hi"
    assert openai_server.paths == [f"{url}/chat/completions?api-version=2024-10-21"]
    assert openai_server.headers[0]["api-key"] == KEY
    assert "authorization" not in openai_server.headers[0]
