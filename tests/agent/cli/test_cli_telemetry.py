"""Traces and metrics of runs, as a collector of OpenTelemetry gets them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from support.command import Terminal
from support.fibonacci import ANSWER, QUESTION, STORY

KEY = "sk-test-0123456789abcdef0123456789abcdef"


class Collector:
    """Takes OTLP over HTTP, as protocol buffers."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.metrics: list[Any] = []
        self.status = 200
        self.received: list[bytes] = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                pass

            def do_POST(self) -> None:
                data = self.rfile.read(int(self.headers["Content-Length"]))
                collector.take(self.path, data)
                self.send_response(collector.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"

    def take(self, path: str, data: bytes) -> None:
        self.received.append(data)
        if path == "/v1/traces":
            found = ExportTraceServiceRequest.FromString(data).resource_spans
            self.spans += [span for one in found for scope in one.scope_spans for span in scope.spans]
        else:
            assert path == "/v1/metrics"
            rows = ExportMetricsServiceRequest.FromString(data).resource_metrics
            self.metrics += [metric for one in rows for scope in one.scope_metrics for metric in scope.metrics]


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()
    threading.Thread(target=made.http.serve_forever, args=(0.02,), daemon=True).start()
    yield made
    made.http.shutdown()
    made.http.server_close()


def ask(terminal: Terminal, *more: str, **variables: str):
    arguments = ("--json", "--model", terminal.script(*STORY), *more, QUESTION)
    return terminal.run(*arguments, before=_no_fork, **variables)


def _no_fork() -> None:
    """The process is started whole: telemetry ends with it."""


def attributes(span: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in span.attributes}


def test_a_run_is_a_trace_of_steps_model_calls_and_tools(terminal: Terminal, collector: Collector) -> None:
    done = ask(terminal, OTEL_EXPORTER_OTLP_ENDPOINT=collector.url, OTEL_SERVICE_NAME="desk")
    answer = json.loads(done.out)
    assert answer["answer"] == ANSWER, done.err
    by_id = {span.span_id: span for span in collector.spans}
    (run,) = [span for span in collector.spans if span.name == "invoke_agent alita"]
    facts = attributes(run)
    assert (facts["alita.run.id"], facts["alita.status"]) == (answer["run_id"], "answered")
    assert facts["gen_ai.usage.input_tokens"] == answer["usage"]["input_tokens"]
    assert {span.trace_id for span in collector.spans} == {run.trace_id}
    parents = {
        (span.name.split()[0], by_id[span.parent_span_id].name.split()[0]) for span in by_id.values() if span != run
    }
    assert {("step", "invoke_agent"), ("chat", "invoke_agent"), ("execute_tool", "step")} <= parents
    chats = [attributes(span) for span in collector.spans if span.name.startswith("chat ")]
    assert len(chats) == answer["usage"]["calls"]
    assert {one["gen_ai.operation.name"] for one in chats} == {"chat"}
    for span in collector.spans:
        assert run.start_time_unix_nano - 1e6 <= span.start_time_unix_nano <= span.end_time_unix_nano
        assert span.end_time_unix_nano <= run.end_time_unix_nano + 1e6
    names = {metric.name for metric in collector.metrics}
    assert names >= {"gen_ai.client.operation.duration", "gen_ai.client.token.usage", "alita.runs"}


@pytest.mark.parametrize("captures", [False, True])
def test_question_and_answer_are_sent_only_if_asked_for_and_never_a_key(
    terminal: Terminal, collector: Collector, captures: bool
) -> None:
    content = {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true"} if captures else {}
    ask(terminal, OTEL_EXPORTER_OTLP_ENDPOINT=collector.url, OPENAI_API_KEY=KEY, **content)
    sent = b"".join(collector.received)
    assert (QUESTION.encode() in sent, ANSWER.encode() in sent) == (captures, captures)
    assert KEY.encode() not in sent


@pytest.mark.parametrize("trouble", ["away", "refuses"])
def test_a_collector_in_trouble_costs_the_user_nothing(terminal: Terminal, collector: Collector, trouble: str) -> None:
    collector.status = 500
    url = collector.url if trouble == "refuses" else "http://127.0.0.1:9"
    done = ask(terminal, OTEL_EXPORTER_OTLP_ENDPOINT=url, OTEL_EXPORTER_OTLP_TIMEOUT="1")
    assert (json.loads(done.out)["answer"], done.code) == (ANSWER, 0)
    assert "otlp" not in done.err.lower()
    assert "Traceback" not in done.err


def test_what_is_not_supported_is_said_and_the_question_answered(terminal: Terminal, collector: Collector) -> None:
    grpc = {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}
    done = ask(terminal, OTEL_EXPORTER_OTLP_ENDPOINT=collector.url, **grpc)
    assert json.loads(done.out)["answer"] == ANSWER
    assert "OTEL_EXPORTER_OTLP_PROTOCOL is 'grpc'" in done.err
    assert collector.received == []


def test_nothing_is_imported_or_sent_without_a_collector(terminal: Terminal, collector: Collector) -> None:
    done = ask(terminal, OTEL_EXPORTER_OTLP_ENDPOINT=collector.url, OTEL_SDK_DISABLED="true")
    assert json.loads(done.out)["answer"] == ANSWER
    assert collector.received == []
