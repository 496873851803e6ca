"""Everything that is reported, passed on: as spans and metrics by OpenTelemetry, over OTLP or to the console,
and as lines of the log. The only module that knows OpenTelemetry.

Its API comes with moot and does nothing where nobody wants traces or metrics; the SDK is installed where
`moot.extras.TELEMETRY` is. The standard variables hold (OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_SERVICE_NAME, …):
most are read by the SDK itself. Names follow the semantic conventions for generative AI and HTTP where those
have one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from opentelemetry.metrics import MeterProvider, NoOpMeterProvider
from opentelemetry.trace import NoOpTracerProvider, Span, SpanKind, StatusCode, TracerProvider, use_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from moot import __version__
from moot.telemetry import Drive, ModelCall, Served, logs

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics.export import MetricReader
    from opentelemetry.sdk.trace.export import SpanExporter

_ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
_SIGNALS = ("TRACES", "METRICS")

_SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
_TOKENS = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576)


def asked_for(endpoint: str, env: Mapping[str, str]) -> bool:
    """Whether the configuration or the environment names a receiver."""
    if env.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    return bool(endpoint) or any(_exporter(signal, endpoint, env) for signal in _SIGNALS)


def _exporter(signal: str, endpoint: str, env: Mapping[str, str]) -> str:
    """`otlp`, `console`, or nothing."""
    chosen = env.get(f"OTEL_{signal}_EXPORTER", "").strip().lower()
    if chosen:
        return "" if chosen == "none" else chosen
    named = endpoint or env.get(_ENDPOINT) or env.get(f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT")
    return "otlp" if named else ""


def exporting(endpoint: str, env: Mapping[str, str], *, lines: bool) -> Watch:
    """`endpoint` is the configuration's; the environment's counts where there is none."""
    return Watch(*providers(_span_exporters(endpoint, env), _metric_readers(endpoint, env)), lines=lines)


def _span_exporters(endpoint: str, env: Mapping[str, str]) -> list[SpanExporter]:
    match _exporter("TRACES", endpoint, env):
        case "":
            return []
        case "console":
            from opentelemetry.sdk.trace.export import ConsoleSpanExporter

            return [ConsoleSpanExporter()]
        case _:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

            return [OTLPSpanExporter(endpoint=_address(endpoint, "traces"))]


def _metric_readers(endpoint: str, env: Mapping[str, str]) -> list[MetricReader]:
    from opentelemetry.sdk.metrics.export import ConsoleMetricExporter, PeriodicExportingMetricReader

    match _exporter("METRICS", endpoint, env):
        case "":
            return []
        case "console":
            return [PeriodicExportingMetricReader(ConsoleMetricExporter())]
        case _:
            from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter

            return [PeriodicExportingMetricReader(OTLPMetricExporter(endpoint=_address(endpoint, "metrics")))]


def _address(endpoint: str, signal: str) -> str | None:
    """None leaves it to the SDK to read the environment."""
    return f"{endpoint.rstrip('/')}/v1/{signal}" if endpoint else None


def providers(
    span_exporters: Sequence[SpanExporter], metric_readers: Sequence[MetricReader]
) -> tuple[TracerProvider, MeterProvider]:
    """The SDK's. Ours to end, in time, and not of everybody in this process."""
    import uuid

    from opentelemetry.sdk import metrics, trace
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    resource = Resource.create({"service.version": __version__, "service.instance.id": str(uuid.uuid4())})
    if resource.attributes.get("service.name", "").startswith("unknown_service"):  # type: ignore[union-attr]
        resource = resource.merge(Resource({"service.name": "moot"}))
    traces = trace.TracerProvider(resource=resource, shutdown_on_exit=False)
    for exporter in span_exporters:
        traces.add_span_processor(BatchSpanProcessor(exporter))
    return traces, metrics.MeterProvider(metric_readers, resource=resource, shutdown_on_exit=False)


class Watch:
    """Each block lasts as long as what it is about. `lines` says that each is a line of the log, too."""

    def __init__(
        self,
        traces: TracerProvider | None = None,
        metrics: MeterProvider | None = None,
        *,
        lines: bool,
    ) -> None:
        self._traces = traces or NoOpTracerProvider()
        self._metrics = metrics or NoOpMeterProvider()
        self._lines = lines
        self._tracer = self._traces.get_tracer("moot", __version__)
        meter = self._metrics.get_meter("moot", __version__)

        def seconds(name: str, what: str) -> Callable[..., None]:
            made = meter.create_histogram(name, "s", what, explicit_bucket_boundaries_advisory=_SECONDS)
            return made.record

        self._took = seconds("gen_ai.client.operation.duration", "How long a model took for a whole reply.")
        self._first = seconds(
            "gen_ai.client.operation.time_to_first_chunk", "How long a model took for its first word."
        )
        self._tokens = meter.create_histogram(
            "gen_ai.client.token.usage",
            "{token}",
            "Tokens of a reply.",
            explicit_bucket_boundaries_advisory=_TOKENS,
        )
        self._cost = meter.create_counter("moot.model.cost", "USD", "Cost of replies, where known.")
        self._retries = meter.create_counter(
            "moot.model.retries", "{retry}", "Requests to models that were sent again."
        )
        self._calls = meter.create_up_down_counter(
            "moot.model.streams", "{stream}", "Replies of models under way."
        )
        self._served = seconds("http.server.request.duration", "How long a request took.")
        self._requests = meter.create_up_down_counter(
            "http.server.active_requests", "{request}", "Requests under way."
        )
        self._streams = meter.create_up_down_counter(
            "moot.streams", "{stream}", "Event streams that are open to listeners."
        )
        self._sessions = meter.create_up_down_counter(
            "moot.sessions", "{session}", "Sessions that are being driven."
        )

    @contextmanager
    def model_call(self, call: ModelCall) -> Iterator[None]:
        who = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": call.provider,
            "gen_ai.request.model": call.model,
        }
        span = self._tracer.start_span(f"chat {call.model}".rstrip(), kind=SpanKind.CLIENT, attributes=who)
        self._calls.add(1, who)
        try:
            with call.timing():
                yield
        finally:
            self._calls.add(-1, who)
            what = {**who, "error.type": call.failure} if call.failure else who
            self._took(call.seconds, what)
            if call.retries:
                self._retries.add(call.retries, who)
                span.set_attribute("moot.retries", call.retries)
            known = self._replied(call, span, who)
            _end(span, call.failure)
            self._line(
                "moot.model",
                "a model was asked",
                call,
                provider=call.provider,
                model=call.model,
                typed=call.typed,
                retries=call.retries,
                **known,
            )

    def _replied(self, call: ModelCall, span: Span, who: dict[str, str]) -> dict[str, Any]:
        """What a reply has cost, for the log."""
        reply = call.reply
        if reply is None:
            return {}
        usage = reply.usage
        for kind, count in (("input", usage.input_tokens), ("output", usage.output_tokens)):
            self._tokens.record(count, {**who, "gen_ai.token.type": kind})
            span.set_attribute(f"gen_ai.usage.{kind}_tokens", count)
        known: dict[str, Any] = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
        if reply.first_text_ms is not None:
            known |= {"first_token_seconds": reply.first_text_ms / 1000}
            self._first(reply.first_text_ms / 1000, who)
            span.set_attribute("moot.first_token_ms", reply.first_text_ms)
        if reply.cost_usd is not None:
            known |= {"cost_usd": reply.cost_usd}
            self._cost.add(reply.cost_usd, who)
            span.set_attribute("moot.cost_usd", reply.cost_usd)
        return known

    @contextmanager
    def served(self, request: Served) -> Iterator[None]:
        caller = TraceContextTextMapPropagator().extract(request.headers)
        method = {"http.request.method": request.method}
        span = self._tracer.start_span(request.method, caller, SpanKind.SERVER, method)
        self._requests.add(1, method)
        try:
            # What is begun for a request, a session to drive for one, belongs to its trace.
            with request.timing(), use_span(span, record_exception=False, set_status_on_exception=False):
                yield
        finally:
            self._requests.add(-1, method)
            known: dict[str, Any] = {**method, "http.response.status_code": request.status}
            if request.route:
                known["http.route"] = request.route
                span.update_name(f"{request.method} {request.route}")
            span.set_attributes(known)
            if request.session:
                span.set_attribute("moot.session", request.session)
            if not request.streamed:
                # A stream lasts as long as somebody listens, which says nothing of the server.
                self._served(request.seconds, known)
            _end(span, request.failure)
            self._line(
                "moot.http",
                "a request was answered",
                request,
                method=request.method,
                route=request.route,
                session=request.session,
                status=request.status,
                streamed=request.streamed,
            )

    @contextmanager
    def streaming(self) -> Iterator[None]:
        """An event stream that is open to a listener."""
        self._streams.add(1)
        try:
            yield
        finally:
            self._streams.add(-1)

    @contextmanager
    def drive(self, drive: Drive) -> Iterator[None]:
        span = self._tracer.start_span("drive session", attributes={"moot.session": drive.session})
        self._sessions.add(1)
        try:
            with drive.timing(), use_span(span, record_exception=False, set_status_on_exception=False):
                yield
        finally:
            self._sessions.add(-1)
            _end(span, drive.failure)
            self._line("moot.session", "a session was driven", drive, session=drive.session)

    def _line(self, logger: str, message: str, ended: ModelCall | Served | Drive, **fields: Any) -> None:
        if self._lines:
            logs.report(logger, message, ended.failure, seconds=round(ended.seconds, 3), **fields)

    def close(self) -> None:
        """Passes on what is left. May block."""
        # At the same time: what one of them waits for must not cost the other its last figures.
        ends = [end for one in (self._traces, self._metrics) if (end := getattr(one, "shutdown", None))]
        closing = [threading.Thread(target=end, daemon=True) for end in ends]
        for thread in closing:
            thread.start()
        for thread in closing:
            thread.join()


def _end(span: Span, failure: str | None) -> None:
    """That somebody left, or a reply was no longer wanted, is no error."""
    if failure == "CancelledError":
        span.set_attribute("moot.cancelled", True)
    elif failure is not None:
        span.set_attribute("error.type", failure)
        span.set_status(StatusCode.ERROR, failure)
    span.end()
