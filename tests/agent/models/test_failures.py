"""Every exception of the openai SDK is mapped, and Retry-After is read in all its forms."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx2
import openai
import pytest

from agent.errors import ModelError
from agent.models.failures import Endpoint, openai_failure, retry_after, status_failure, transport_failure

ENDPOINT = Endpoint("tiny", "http://localhost/v1")
REQUEST = httpx2.Request("POST", "http://localhost/v1")
NOT_FROM_CHAT = {
    "InvalidWebhookSignatureError", "WebSocketConnectionClosedError", "WebSocketQueueFullError",
    "SubjectTokenProviderError", "_AmbiguousModuleClientUsageError", "OpenAIError",
    "ContentFilterFinishReasonError", "LengthFinishReasonError",
}  # fmt: skip
"""Of web hooks, web sockets, cloud identities, the module-level client and `parse`, which we never use."""


def _classes() -> list[type[Exception]]:
    from openai import _exceptions

    members = [*vars(openai).values(), *vars(_exceptions).values()]
    # `isinstance` would import what the SDK loads lazily
    classes = {m for m in members if issubclass(type(m), type) and issubclass(m, Exception)}
    return sorted((c for c in classes if c.__module__.startswith("openai")), key=lambda c: c.__name__)


STATUSES = {
    "BadRequestError": 400, "AuthenticationError": 401, "OAuthError": 401, "PermissionDeniedError": 403,
    "NotFoundError": 404, "ConflictError": 409, "UnprocessableEntityError": 422, "RateLimitError": 429,
    "InternalServerError": 500, "APIStatusError": 418,
}  # fmt: skip


def _instance(cls: type[Exception]) -> Exception:
    if issubclass(cls, openai.APIStatusError):
        response = httpx2.Response(STATUSES[cls.__name__], request=REQUEST)
        exc = cls.__new__(cls)
        openai.APIStatusError.__init__(exc, "no", response=response, body=None)
        return exc
    if cls is openai.APIResponseValidationError:
        return openai.APIResponseValidationError(httpx2.Response(200, request=REQUEST), None)
    if issubclass(cls, openai.APITimeoutError):
        return cls(REQUEST)
    if issubclass(cls, openai.APIConnectionError):
        return cls(request=REQUEST)
    if cls is openai.APIError:
        return openai.APIError("no", REQUEST, body=None)
    exc = cls.__new__(cls)
    Exception.__init__(exc, "no")
    return exc


@pytest.mark.parametrize("cls", _classes(), ids=lambda c: c.__name__)
def test_every_openai_exception_is_mapped_or_known_to_be_of_another_api(cls: type[Exception]) -> None:
    failure = openai_failure(ENDPOINT, _instance(cls))
    if cls.__name__ in NOT_FROM_CHAT:
        assert failure is None
    else:
        assert failure is not None, f"{cls.__name__} is new: map it in agent.models.failures"
        assert isinstance(failure.error(), ModelError)
        assert failure.error().remedy


def test_every_httpx2_exception_is_mapped() -> None:
    waiting: list[type[Exception]] = [httpx2.HTTPError, httpx2.InvalidURL]
    while waiting:
        cls = waiting.pop()
        waiting += cls.__subclasses__()
        exc = cls.__new__(cls)
        Exception.__init__(exc, "x")
        assert transport_failure(ENDPOINT, exc).error().remedy, cls.__name__


@pytest.mark.parametrize(
    "body",
    [None, b"\xff", [], {"error": None}, {"error": {"message": {"deep": 1}, "code": 400}}, {"detail": [{"msg": "x"}]}],
)  # fmt: skip
def test_an_error_body_of_any_shape(body: object) -> None:
    assert status_failure(ENDPOINT, 400, body).error().message


def test_retry_after() -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    assert retry_after({"retry-after": "2"}) == 2
    assert retry_after({"retry-after-ms": "250", "retry-after": "9"}) == 0.25
    assert 25 < (retry_after({"retry-after": soon}) or 0) <= 30
    assert retry_after({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0
    for nothing in ("", "soon", "-1", "nan", "1e999"):
        assert retry_after({"retry-after": nothing}) is None
    assert retry_after({"retry-after-ms": "x"}) is None


def test_control_characters_of_an_endpoint_are_not_passed_on() -> None:
    failure = status_failure(ENDPOINT, 400, {"error": {"message": "a\x1b[31mred\x07\nline"}})
    assert "\x1b" not in failure.error().message
    assert "\n" not in failure.error().message
