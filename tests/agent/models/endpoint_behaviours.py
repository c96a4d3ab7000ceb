"""Replies of endpoints in odd but real forms, and what comes of each: data for `test_endpoint_behaviours`."""

# ruff: noqa: E501  # replies are quoted as they came
from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Case:
    """One endpoint: its replies, and the outcome. The last reply is repeated."""

    id: str
    replies: list[Any]
    """Texts, messages (dict), errors (status, body, headers), or lists of stream chunks."""
    text: str | None = "42"
    code: str | None = None
    """The program of the call that is read."""
    error: str = ""
    """The error's class, where it fails."""
    says: str = ""
    """Part of its message."""
    requests: int | None = None
    sent: dict[str, Any] = field(default_factory=dict)
    """Members of the last request; None for those left out."""
    shown: str | None = None
    """The text that was shown while it arrived."""
    question: str = "What is six times seven?"
    options: dict[str, Any] = field(default_factory=dict)


def refused(text: str, status: int = 400, **more: Any) -> tuple[int, Any, dict[str, str]]:
    return (
        status,
        {"error": {"message": text, "type": "invalid_request_error", "param": None, "code": None, **more}},
        {},
    )


def raw(*lines: str, kind: str = "text/event-stream") -> tuple[int, bytes, dict[str, str]]:
    return 200, "".join(lines).encode(), {"Content-Type": kind}


def until_closed(*lines: str) -> tuple[int, bytes, dict[str, str]]:
    """A stream that ends where the connection is closed."""
    return 200, "".join(lines).encode(), {"Content-Type": "text/event-stream", "Connection": "close"}


def delta(finish: str | None = None, **members: Any) -> dict[str, Any]:
    return {"id": "x", "choices": [{"index": 0, "delta": members, "finish_reason": finish}]}


def call(arguments: Any = '{"code": "print(42)"}', **more: Any) -> dict[str, Any]:
    return {"id": "a", "type": "function", "function": {"name": "run_python", "arguments": arguments}, **more}


def piece(arguments: str, **more: Any) -> dict[str, Any]:
    return {"function": {"arguments": arguments}, **more}


CODE = '{"name": "run_python", "arguments": {"code": "print(42)"}}'
P = "print(42)"
STOP = delta("stop")
OK = "data: " + json.dumps(delta(content="42")) + "\n\n"
DONE = "data: [DONE]\n\n"

_LIMITS = {
    "deepseek": ("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 8192),
    "groq": ("`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the "
             "`context_window` for this model", 8192),
    "anthropic": ("max_tokens: 20000 > 8192, which is the maximum allowed number of output tokens for this model", 8192),
    "vllm": ("This model's maximum context length is 16384 tokens. However, you requested 20000 output tokens and your "
             "prompt contains at least 800 input tokens, for a total of at least 20800 tokens.", 15584),
    "tgi": ("Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 1200 `inputs` tokens and "
            "20000 `max_new_tokens`", 6993),
    "openrouter": ("This endpoint's maximum context length is 32768 tokens. However, you requested about 42000 tokens "
                   "(22000 of text input, 20000 in the output). Please reduce the length of either one.", 10768),
    "thousands": ("max_tokens is too large: 20,000. This model supports at most 16,384 completion tokens.", 16384),
}  # fmt: skip
_TOO_LONG = {
    "openai": "This model's maximum context length is 128000 tokens. However, your messages resulted in 140000 tokens. "
              "Please reduce the length of the messages.",
    "anthropic": "prompt is too long: 210000 tokens > 200000 maximum",
    "gemini": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    "mistral": "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
    "vllm": "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
    "llama.cpp": "the request exceeds the available context size, try increasing it",
    "ollama": "prompt too long; exceeded max context length by 3 tokens",
    "tgi": "Input validation error: `inputs` must have less than 4096 tokens. Given: 5211",
}  # fmt: skip
_THOUGHTS = {
    "think": "<think>\nMaybe 41.\n</think>\n\n42",
    "kimi": "◁think▷Maybe 41.◁/think▷42",
    "magistral": "[THINK]Maybe 41.[/THINK]42",
    "only-closed": "Maybe 41.\n</think>\n\n42",
    "harmony": "<|channel|>analysis<|message|>Maybe 41.<|end|><|start|>assistant<|channel|>final<|message|>42<|return|>",
    "end-token": "42<|im_end|>",
}
_TALK = {
    "fence": "Qwen writes:\n```\n<think>\nno\n</think>\n42\n```",
    "sentence": "The tag <think> opens the thoughts and </think> ends them.",
    "call-in-fence": f"A call looks like this:\n```xml\n<tool_call>\n{CODE}\n</tool_call>\n```\nThe server reads it.",
}
_CALLS = {
    "hermes": f"<tool_call>\n{CODE}\n</tool_call>",
    "xml": "<tool_call>\n<function=run_python>\n<parameter=code>\nprint(42)\n</parameter>\n</function>\n</tool_call>",
    "invoke": '<invoke name="run_python"><parameter name="code">print(42)</parameter></invoke>',
    "glm": "<tool_call>run_python\n<arg_key>code</arg_key>\n<arg_value>print(42)</arg_value>\n</tool_call>",
    "mistral-args": '[TOOL_CALLS]run_python[ARGS]{"code": "print(42)"}',
    "arguments": CODE,
    "python-call": '<|python_tag|>run_python.call(code="print(42)")',
    "pythonic": '[run_python(code="print(42)")]',
    "deepseek-3.1": '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>run_python<｜tool▁sep｜>{"code": "print(42)"}'
                    "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "kimi": "<|tool_calls_section_begin|><|tool_call_begin|>functions.run_python:0<|tool_call_argument_begin|>"
            '{"code": "print(42)"}<|tool_call_end|><|tool_calls_section_end|>',
    "harmony": "<|channel|>analysis<|message|>Use it.<|end|><|start|>assistant<|channel|>commentary to=functions.run_python "
               '<|constrain|>json<|message|>{"code": "print(42)"}<|call|>',
    "thought": f"<think>Maybe {CODE.replace('42', '41')}</think>\n{CODE}",
}  # fmt: skip

CASES = [
    *(Case(f"limit-{name}", [refused(said), "42"], requests=2, sent={"max_tokens": most}, options={"max_tokens": 20000})
      for name, (said, most) in _LIMITS.items()),
    *(Case(f"too-long-{name}", [refused(said)], error="ModelTooLongError") for name, said in _TOO_LONG.items()),
    Case("too-long-500", [refused("input is too large to process. increase the physical batch size", 500)],
         error="ModelTooLongError"),
    Case("too-long-413", [(413, b"", {})], error="ModelTooLongError"),
    *(Case(f"thoughts-{name}", [said]) for name, said in _THOUGHTS.items()),
    *(Case(f"thoughts-streamed-{name}", [[delta(content=each) for each in said] + [STOP]], shown="42")
      for name, said in _THOUGHTS.items() if name not in ("only-closed", "harmony", "end-token")),
    Case("thoughts-unclosed", ["<think>\nMaybe 41."], text=""),
    *(Case(f"talk-{name}", [said], text=said) for name, said in _TALK.items()),
    *(Case(f"call-{name}", [said], text=None, code=P) for name, said in _CALLS.items()),
    Case("call-unreadable", ["<tool_call>\n{nonsense\n</tool_call>", {"tool_calls": [call()]}], text=None, code=P),
    Case("call-asked-about", [f"Hermes writes it so:\n<tool_call>{CODE}</tool_call>\nThen it waits."], text=None, code=P),
    # Streams
    Case("stream-parts", [[delta(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "41"}]}]),
                           delta(content=[{"type": "text", "text": "42"}]), STOP]], shown="42"),
    Case("stream-object", [[delta(tool_calls=[call({"code": P}, index=0)]), delta("tool_calls")]], text=None, code=P),
    Case("stream-no-finish", [[delta(content="4"), delta(content="2")]], requests=1, shown="42"),
    Case("stream-clean-end", [raw(OK)], requests=1, shown="42"),
    Case("stream-closed-early", [until_closed(OK), "42"], requests=2),
    Case("stream-no-index", [[delta(tool_calls=[call("")]), delta(tool_calls=[piece('{"code": ')]),
                              delta(tool_calls=[piece('"print(42)"}')]), delta("stop")]], text=None, code=P),
    Case("stream-id-repeated", [[delta(tool_calls=[call('{"code": ', index=0)]),
                                 delta(tool_calls=[call('"print(42)"}', index=0)]), STOP]], text=None, code=P),
    Case("stream-nulls", [[{"choices": None}, {"choices": [], "usage": None}, delta(content=None, tool_calls=None),
                           {"choices": [{"index": 0, "delta": None}]}, delta(content="42", reasoning_content="41"), STOP,
                           {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 1}}]], shown="42"),
    Case("stream-crlf", [raw(": ping\r\n\r\n", OK.replace("\n", "\r\n"), "event: x\r\ndata:", json.dumps(STOP),
                             "\r\n\r\ndata:[DONE]\r\n\r\n")], shown="42"),
    Case("stream-one-newline", [raw("data: ", json.dumps(delta(content="4")), "\ndata: ", json.dumps(delta(content="2")),
                                    "\ndata: [DONE]\n")], shown="42"),
    Case("stream-is-json", [raw(json.dumps({"choices": [{"message": {"content": "42"}}]}), kind="application/json")],
         shown="42"),
    Case("json-is-stream", [raw(OK, DONE)], options={"streamed": False}),
    Case("stream-error", [[{"error": {"message": "Overloaded", "type": "overloaded_error"}}], "42"], requests=2, shown="42"),
    Case("stream-cut", [[delta(content="4"), {"error": {"message": "upstream broke"}}], "42"], requests=2, shown="42"),
    Case("stream-deep", [raw('data: {"choices": ' + "[" * 100_000, "\n\n")], error="ModelUnreachableError"),
    # Whole replies
    Case("whole-parts", [{"content": [{"type": "thinking", "thinking": "41"}, {"type": "text", "text": "42"}]}]),
    Case("whole-arguments-object", [{"content": None, "tool_calls": [call({"code": P})]}], text=None, code=P),
    Case("whole-deep", [raw("[" * 100_000, kind="application/json")], error="ModelUnreachableError"),
    Case("gzip", [(200, gzip.compress(json.dumps({"choices": [{"message": {"content": "42"}}]}).encode()),
                   {"Content-Encoding": "gzip", "Content-Type": "application/json"})]),
    Case("gzip-bomb", [(200, gzip.compress(b" " * 50_000_000), {"Content-Encoding": "gzip"})],
         error="ModelUnreachableError", says="bytes"),
    # Errors
    Case("error-in-200", [(200, {"error": {"message": "Rate limit exceeded: free-models-per-min", "code": 429},
                                 "choices": None}, {}), "42"], requests=2),
    Case("error-in-200-key", [(200, {"error": {"message": "No auth", "code": 401}}, {})], error="ModelAuthError",
         says="MY_KEY"),
    Case("rate-billing", [(429, {"error": {"message": "Rate limit reached on tokens per minute (TPM). Please try again in "
                                           "10ms. Upgrade at https://console.example/settings/billing"}}, {}), "42"]),
    Case("rate-retry-after", [(429, {"error": {"message": "No credit left this second"}}, {"Retry-After": "0"}), "42"]),
    Case("no-credit", [refused("You exceeded your current quota", 429, code="insufficient_quota")], requests=1,
         error="ModelBusyError", says="no credit"),
    Case("html-403", [(403, b"<html><title>Forbidden</title></html>", {})], error="ModelAuthError", says="MY_KEY"),
    Case("unknown-model", [refused("no such model", 404)], error="ModelUnknownError"),
    # Parameters and roles
    Case("temperature-1", [refused("invalid temperature: only 1 is allowed for this model"), "42"], requests=2,
         sent={"temperature": None}, options={"temperature": 0}),
    Case("seed", [refused("Extra inputs are not permitted: seed", 422), "42"], sent={"seed": None}, options={"seed": 3}),
    Case("stream-options", [refused("unknown field stream_options"), "42"], sent={"stream_options": None}),
    Case("no-streams", [refused("Streaming is not supported for this model"), "42"], sent={"stream": None}),
    Case("renamed", [refused("Unsupported parameter: max_tokens. Use max_completion_tokens instead."), "42"],
         sent={"max_tokens": None, "max_completion_tokens": 20000}, options={"max_tokens": 20000}),
    Case("unclear", [refused("Bad Request"), "42"], sent={"temperature": None}, options={"temperature": 0}),
    Case("system", [refused("System role not supported"), "42"],
         sent={"messages": [{"role": "user", "content": "Be brief.\n\nWhat is six times seven?"}]}),
]  # fmt: skip
