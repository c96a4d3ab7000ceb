"""OpenTelemetry traces and metrics of runs, sent to the collector that the standard variables name.

Without these variables, OpenTelemetry is not imported. A run is a span `invoke_agent alita`. Its children are steps,
model calls (`chat MODEL`), and calls of tools, searches and pages (`execute_tool NAME`), with the names of
OpenTelemetry's conventions for generative AI.
"""

from __future__ import annotations

import atexit
import functools
import logging
import os
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agent import events
from agent.errors import SettingsError
from agent.events import Event
from agent.models.protocol import Role

if TYPE_CHECKING:
    from opentelemetry.trace import Span

_ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
_ENDPOINTS = (_ENDPOINT, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT")
_PROTOCOLS = (
    "OTEL_EXPORTER_OTLP_PROTOCOL",
    "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
    "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL",
)
_CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_FLUSH_MS = 3000
"""Milliseconds to send the remaining data when the process ends."""
_SECOND_NS = 1_000_000_000
_DURATIONS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
_TOKENS = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864)


def is_wanted(environment: Mapping[str, str] = os.environ) -> bool:
    """Return True if the environment names a collector."""
    is_off = environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    return not is_off and any(environment.get(name, "").strip() for name in _ENDPOINTS)


class Telemetry:
    """Turns the events of runs into spans and metrics.

    Raises:
        SettingsError: The extra `otel` is not installed, or a variable asks for something unsupported.
    """

    def __init__(self) -> None:
        self._sdk = _sdk()
        self._run: Span | None = None
        self._step: Span | None = None
        self._step_number = 0
        self._has_content = os.environ.get(_CONTENT, "").strip().lower() in {"true", "1"}

    def add(self, event: Event) -> None:
        """Add an event of the run. Keys in it must already be masked."""
        match event:
            case events.RunStarted():
                self._begin(event)
            case events.StepStarted() if event.step != self._step_number:
                self._end_step()
                attributes = {"alita.step": event.step, "alita.action": event.action}
                self._step = self._start(f"step {event.action}", attributes, parent=self._run)
                self._step_number = event.step
            case events.ModelCalled():
                self._add_model_call(event)
            case events.ToolCalled():
                kind = {"gen_ai.tool.type": "extension" if event.server else "function"}
                self._add_tool_call(event.name, event.seconds, event.ok, event.preview, kind)
            case events.WebSearched():
                source = {"alita.search.engine": event.source, "alita.search.results": len(event.found)}
                self._add_tool_call("search", event.seconds, event.ok, event.message, source)
            case events.PageRead():
                self._add_tool_call("read", event.seconds, event.ok, event.message, {"url.full": event.url})
            case events.RunFinished():
                self._finish(event)

    def fail(self, error: str) -> None:
        """End the run's span after an error of this class."""
        if self._run is not None:
            self._sdk.runs.add(1, {"alita.status": "failed", "error.type": error})
            self._close({"error.type": error}, error)

    def _begin(self, event: events.RunStarted) -> None:
        self._close({}, "")
        attributes: dict[str, Any] = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": "alita",
            "gen_ai.request.model": event.model,
            "alita.run.id": event.run_id,
            "alita.run.resumed": event.resumed,
        }
        if self._has_content:
            attributes["gen_ai.input.messages"] = event.question
        self._run = self._start("invoke_agent alita", attributes)

    def _add_model_call(self, event: events.ModelCalled) -> None:
        from opentelemetry.trace import SpanKind

        usage, named = event.usage, {"gen_ai.operation.name": "chat", "gen_ai.provider.name": _provider(event.model)}
        named["gen_ai.request.model"] = event.model
        attributes = named | {
            "alita.role": event.role,
            "gen_ai.usage.input_tokens": usage.input_tokens,
            "gen_ai.usage.output_tokens": usage.output_tokens,
            "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
        }
        if usage.cost is not None:
            attributes["alita.cost.usd"] = usage.cost
        is_decision = event.role == Role.COORDINATOR  # the call comes before the step that it chooses
        parent = self._run if is_decision else self._step or self._run
        self._add_past(f"chat {event.model}", event.seconds, attributes, parent, kind=SpanKind.CLIENT)
        self._sdk.durations.record(event.seconds, named)
        self._sdk.tokens.record(usage.input_tokens, named | {"gen_ai.token.type": "input"})
        self._sdk.tokens.record(usage.output_tokens, named | {"gen_ai.token.type": "output"})

    def _add_tool_call(self, name: str, seconds: float, ok: bool, message: str, more: dict[str, Any]) -> None:
        named = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
        failure = {} if ok else {"error.type": "tool_error"}
        content = {"gen_ai.tool.call.result": message} if self._has_content and message else {}
        attributes = {**named, **more, **failure, **content}
        self._add_past(f"execute_tool {name}", seconds, attributes, self._step or self._run, is_error=not ok)
        self._sdk.durations.record(seconds, named | failure)

    def _finish(self, event: events.RunFinished) -> None:
        if self._run is None:  # plain arithmetic, or an answer from the cache
            return
        answer = event.answer
        attributes: dict[str, Any] = {
            "alita.status": answer.status,
            "alita.steps": answer.steps,
            "gen_ai.response.model": answer.model,
            "gen_ai.usage.input_tokens": answer.usage.input_tokens,
            "gen_ai.usage.output_tokens": answer.usage.output_tokens,
        }
        if self._has_content:
            attributes["gen_ai.output.messages"] = answer.text
        self._sdk.runs.add(1, {"alita.status": answer.status})
        self._close(attributes, "" if answer.status == "answered" else answer.error or answer.status)

    def _close(self, attributes: Mapping[str, Any], error: str) -> None:
        self._end_step()
        if self._run is not None:
            self._run.set_attributes(attributes)
            _mark(self._run, error)
            self._run.end()
        self._run = None

    def _end_step(self) -> None:
        if self._step is not None:
            self._step.end()
        self._step, self._step_number = None, 0

    def _start(self, name: str, attributes: Mapping[str, Any], *, parent: Span | None = None, **more: Any) -> Span:
        from opentelemetry.context import Context
        from opentelemetry.trace import set_span_in_context

        within = set_span_in_context(parent, Context()) if parent is not None else Context()
        return self._sdk.tracer.start_span(name, within, attributes=dict(attributes), **more)

    def _add_past(
        self,
        name: str,
        seconds: float,
        attributes: Mapping[str, Any],
        parent: Span | None,
        *,
        is_error: bool = False,
        **more: Any,
    ) -> None:
        """Add a span of this length that ends now."""
        now = time.time_ns()
        begun = now - int(seconds * _SECOND_NS)
        span = self._start(name, attributes, parent=parent, start_time=begun, **more)
        _mark(span, "it failed" if is_error else "")
        span.end(now)


class _Sdk:
    """The process's sender of spans and metrics."""

    def __init__(self) -> None:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        quiet = logging.getLogger("opentelemetry")  # do not show errors of a missing collector in the terminal
        quiet.addHandler(logging.NullHandler())
        quiet.propagate = False
        service = Resource.create({"service.name": os.environ.get("OTEL_SERVICE_NAME", "alita")})
        traces = TracerProvider(resource=service, shutdown_on_exit=False)
        traces.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        reader = PeriodicExportingMetricReader(OTLPMetricExporter())
        metrics = MeterProvider([reader], resource=service, shutdown_on_exit=False)
        self.tracer = traces.get_tracer("alita")
        meter = metrics.get_meter("alita")
        self.runs = meter.create_counter("alita.runs", unit="{run}", description="Runs by their final status.")
        self.durations = meter.create_histogram(
            "gen_ai.client.operation.duration", unit="s", explicit_bucket_boundaries_advisory=_DURATIONS
        )
        self.tokens = meter.create_histogram(
            "gen_ai.client.token.usage", unit="{token}", explicit_bucket_boundaries_advisory=_TOKENS
        )

        def flush() -> None:
            traces.force_flush(_FLUSH_MS)
            metrics.force_flush(_FLUSH_MS)

        atexit.register(flush)


@functools.cache
def _sdk() -> _Sdk:
    for name in _PROTOCOLS:
        if (protocol := os.environ.get(name, "").strip()) not in {"", "http/protobuf"}:
            raise SettingsError(
                f"{name} is {protocol!r}, but alita sends OTLP only as http/protobuf.",
                remedy=f"Unset the variable {name}.",
            )
    try:
        return _Sdk()
    except ImportError:
        raise SettingsError(
            f"{_ENDPOINT} is set, but OpenTelemetry is not installed.", remedy="Install it: pip install 'alita[otel]'"
        ) from None


def _mark(span: Span, error: str) -> None:
    from opentelemetry.trace import Status, StatusCode

    if error:
        span.set_status(Status(StatusCode.ERROR, error))


def _provider(model: str) -> str:
    return "llama.cpp" if model == "embedded" else "openai"
