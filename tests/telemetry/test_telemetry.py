"""What is reported of model calls, requests and sessions; nothing where nobody asked; never what was said."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from moot import telemetry
from moot.config import Config
from moot.errors import KeyRefused
from moot.llm.messages import Request, UserSaid
from moot.llm.model import Model
from moot.llm.names import ModelName
from moot.llm.registry import Gateway
from moot.llm.retries import Patience
from moot.telemetry.watch import Watch, asked_for, providers
from tests.stub.script import Behaviour
from tests.stub.server import StubServer
from tests.support.command import MOOT, environment
from tests.support.server import DECISION, Server, a_board, serving

REQUEST = Request("You are brief.", (UserSaid("Should we?"),), max_tokens=100)
WORDS = "Not yet, because of the lease."


# -- in this process -----------------------------------------------------------------------------


class Reported:
    """What OpenTelemetry was told."""

    def __init__(self) -> None:
        self.spans = InMemorySpanExporter()
        self.reader = InMemoryMetricReader()
        self.metrics: dict[str, list[Any]] = {}

    def watch(self) -> Watch:
        return Watch(*providers([self.spans], [self.reader]), lines=False)

    def collect(self) -> None:
        data = self.reader.get_metrics_data()
        assert data is not None
        for resource in data.resource_metrics:
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    self.metrics[metric.name] = list(metric.data.data_points)

    def value(self, name: str, of: str | None = None) -> float:
        """The sum of a metric's points, of this type of token."""
        points = [p for p in self.metrics[name] if of in (None, dict(p.attributes).get("gen_ai.token.type"))]
        return sum(float(getattr(point, "sum", 0) or getattr(point, "value", 0)) for point in points)


def reported(stub: StubServer, what: Callable[[Model], Any]) -> Reported:
    """Everything that is reported while a coroutine uses a model."""
    told = Reported()

    async def whole() -> None:
        async with telemetry.started(told.watch):
            env = {"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": stub.openai_base_url}
            gateway = Gateway(Config(), env, cache=Path("/nonexistent"))
            try:
                model = gateway.named(ModelName("openai", "gpt-5.6"))
                model._patience = Patience(first_wait=0.01)
                await what(model)
            finally:
                await gateway.close()
                told.collect()

    asyncio.run(whole())
    return told


def test_a_reply_is_a_span_with_tokens_and_times(stub: StubServer) -> None:
    stub.default = Behaviour(text=WORDS, first_token_delay=0.05)
    told = reported(stub, lambda model: model.stream(REQUEST))
    (span,) = told.spans.get_finished_spans()
    assert span.name == "chat gpt-5.6"
    assert span.attributes is not None
    assert span.attributes["gen_ai.provider.name"] == "openai"
    tokens = span.attributes["gen_ai.usage.output_tokens"]
    assert isinstance(tokens, int)
    assert tokens > 0
    assert span.status.is_ok
    assert span.resource.attributes["service.name"] == "moot"
    assert told.value("gen_ai.client.token.usage", "output") > 0
    assert told.value("gen_ai.client.token.usage", "input") > 0
    assert 0.05 <= told.value("gen_ai.client.operation.time_to_first_chunk") < 5
    assert told.value("gen_ai.client.operation.duration") >= 0.05
    assert told.value("moot.model.streams") == 0, "none is open any more"


def test_retries_are_counted(stub: StubServer) -> None:
    stub.script(Behaviour(status=503), Behaviour(status=503), Behaviour(text=WORDS))
    told = reported(stub, lambda model: model.stream(REQUEST))
    assert told.value("moot.model.retries") == 2


def test_a_failure_is_named(stub: StubServer) -> None:
    stub.default = Behaviour(status=401)

    async def ask(model: Model) -> None:
        with pytest.raises(KeyRefused):
            await model.stream(REQUEST)

    told = reported(stub, ask)
    (span,) = told.spans.get_finished_spans()
    assert span.attributes is not None
    assert span.attributes["error.type"] == "KeyRefused"
    assert not span.status.is_ok
    assert told.metrics["gen_ai.client.operation.duration"][0].attributes["error.type"] == "KeyRefused"


def test_a_reply_that_is_no_longer_wanted_is_no_error(stub: StubServer) -> None:
    stub.default = Behaviour(text="word " * 1000, pace=50)

    async def leave(model: Model) -> None:
        asking = asyncio.ensure_future(model.stream(REQUEST))
        await stub.wait_for(lambda stub: stub.open_streams == 1)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)

    told = reported(stub, leave)
    (span,) = told.spans.get_finished_spans()
    assert span.attributes is not None
    assert span.attributes["moot.cancelled"] is True
    assert span.status.is_ok or span.status.status_code.name == "UNSET"
    assert told.value("moot.model.streams") == 0


def test_where_nobody_watches_nothing_is_imported_or_wrapped(stub: StubServer, tmp_path: Path) -> None:
    code = """
import asyncio, sys
from pathlib import Path
from moot.app import Options, opened
from moot.llm.model import Model
from moot.llm.names import ModelName
from moot.llm.messages import Request, UserSaid
from moot.telemetry import watching

async def main():
    async with opened(Options()) as moot:
        async with moot.telemetry():
            model = moot.gateway.named(ModelName("openai", "gpt-5.6"))
            await model.stream(Request("s", (UserSaid("q"),), max_tokens=9))
            assert type(model) is Model and watching() is None
            loaded = [m for m in sys.modules if m.startswith(("opentelemetry.sdk", "opentelemetry.exporter"))]
            assert not loaded, loaded
asyncio.run(main())
"""
    env = environment(
        tmp_path, stub, OTEL_SDK_DISABLED="true", OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9"
    )
    subprocess.run([sys.executable, "-c", code], env=env, cwd=tmp_path, check=True, timeout=60)


@pytest.mark.parametrize(
    ("endpoint", "env", "asked"),
    [
        ("", {}, False),
        ("http://collector:4318", {}, True),
        ("http://collector:4318", {"OTEL_SDK_DISABLED": "true"}, False),
        ("", {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c"}, True),
        ("", {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c"}, True),
        ("", {"OTEL_METRICS_EXPORTER": "console"}, True),
        ("", {"OTEL_METRICS_EXPORTER": "none", "OTEL_TRACES_EXPORTER": "none"}, False),
        ("", {"OTEL_SERVICE_NAME": "x"}, False),
    ],
)
def test_who_is_told_follows_from_settings_and_environment(
    endpoint: str, env: dict[str, str], asked: bool
) -> None:
    assert asked_for(endpoint, env) is asked


# -- a real server and a real collector ----------------------------------------------------------


class Collector:
    """Receives OTLP over HTTP."""

    def __init__(self) -> None:
        self.traces: list[ExportTraceServiceRequest] = []
        self.metrics: list[ExportMetricsServiceRequest] = []
        self.bytes = b""
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                if self.headers.get("content-encoding") == "gzip":
                    import gzip

                    body = gzip.decompress(body)
                collector.receive(self.path, body)
                self.send_response(200)
                self.send_header("content-type", "application/x-protobuf")
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self._came = threading.Condition()

    def receive(self, path: str, body: bytes) -> None:
        with self._came:
            self.bytes += body
            if path == "/v1/traces":
                self.traces.append(ExportTraceServiceRequest.FromString(body))
            elif path == "/v1/metrics":
                self.metrics.append(ExportMetricsServiceRequest.FromString(body))
            self._came.notify_all()

    def wait(self, condition: Callable[[], bool]) -> None:
        with self._came:
            assert self._came.wait_for(condition, 20), "the collector was not told"

    @property
    def spans(self) -> list[Any]:
        return [
            span
            for request in self.traces
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def points(self, name: str) -> list[Any]:
        """Every point of a metric that ever came, in order."""
        return [
            point
            for request in self.metrics
            for resource in request.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == name
            for point in getattr(metric, metric.WhichOneof("data")).data_points
        ]


@pytest.fixture
def collector() -> Iterator[Collector]:
    collector = Collector()
    thread = threading.Thread(target=collector.server.serve_forever, daemon=True)
    thread.start()
    yield collector
    collector.server.shutdown()
    collector.server.server_close()
    thread.join(10)


@contextmanager
def watched(
    how: str, collector: Collector, folder: Path, stub: StubServer, *arguments: str
) -> Iterator[Server]:
    env = {"OTEL_METRIC_EXPORT_INTERVAL": "100", "OTEL_BSP_SCHEDULE_DELAY": "100"}
    if how == "environment":
        env["OTEL_EXPORTER_OTLP_ENDPOINT"] = collector.url
    else:
        settings = folder / "config" / "moot"
        settings.mkdir(parents=True)
        text = f'[telemetry]\nendpoint = "{collector.url}"\n'
        (settings / "config.toml").write_text(text, encoding="utf-8")
    with serving(folder, stub, *arguments, **env) as server:
        yield server


@pytest.mark.parametrize("how", ["environment", "settings"])
def test_a_collector_is_told_of_a_whole_board(
    how: str, collector: Collector, stub: StubServer, tmp_path: Path
) -> None:
    a_board(stub, pace=100, words="word " * 20)
    trace = "0af7651916cd43dd8448eb211c80319c"
    with watched(how, collector, tmp_path, stub) as server:
        ask = {"json": {"decision": DECISION}, "headers": {"traceparent": f"00-{trace}-b7ad6b7169203331-01"}}
        with server.streaming("POST", "/api/board/session", **ask) as events:
            next(events)
            collector.wait(lambda: any(p.as_int == 1 for p in collector.points("moot.streams")))
            collector.wait(lambda: any(p.as_int == 1 for p in collector.points("moot.sessions")))
            assert list(events)[-1]["type"] == "idle"
        collector.wait(lambda: collector.points("moot.streams")[-1].as_int == 0)
        collector.wait(lambda: collector.points("moot.sessions")[-1].as_int == 0)
        collector.wait(lambda: len(collector.spans) >= 11)
    names = [span.name for span in collector.spans]
    assert names.count("chat gpt-5.6") == 9, "eight advisors and the brief"
    assert names.count("drive session") == 1
    assert names.count("POST /api/board/session") == 1
    assert {span.trace_id.hex() for span in collector.spans} == {trace}, "the caller's trace goes on"
    tokens = collector.points("gen_ai.client.token.usage")
    assert max(point.count for point in tokens) == 9
    assert {attribute.key for attribute in tokens[-1].attributes} >= {"gen_ai.token.type"}
    assert DECISION.encode() not in collector.bytes
    assert b"word word" not in collector.bytes


def test_a_server_ends_in_time_without_its_collector(stub: StubServer, tmp_path: Path) -> None:
    a_board(stub)
    with serving(tmp_path, stub, OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9") as server:
        assert server.session()[-1]["type"] == "idle"
        server.process.terminate()
        server.process.wait(15)


# -- logs ----------------------------------------------------------------------------------------


def test_logs_as_json_have_a_line_for_everything_and_nothing_that_was_said(
    stub: StubServer, tmp_path: Path
) -> None:
    a_board(stub)
    stub.on("You are The Coach", Behaviour(status=400, error_message="no coaching today"))
    process = subprocess.Popen(
        [*MOOT, "serve", "--port", "0", "--log-format", "json"],
        env=environment(tmp_path, stub),
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    assert process.stderr is not None
    try:
        first = json.loads(process.stderr.readline())
        assert first["message"].startswith("moot is at http://")
        url = first["message"].split()[3].rstrip("/")
        import httpx2

        with httpx2.Client(timeout=30) as client:
            server = Server(url, process, client)
            session = server.session()[0]["sessionId"]
            server.get(f"/api/board/sessions/{session}?token=secret-in-an-address")
            server.get("/api/nothing")
        process.terminate()
        rest = process.communicate(timeout=15)[1]
    finally:
        process.kill()
        process.wait(10)
    lines = [json.loads(line) for line in rest.splitlines()]
    calls = [line for line in lines if line["logger"] == "moot.model"]
    assert len(calls) == 9
    (failed,) = [line for line in calls if "failure" in line]
    assert (failed["level"], failed["failure"]) == ("warning", "RequestRejected")
    assert all(line["output_tokens"] > 0 for line in calls if line is not failed)
    requests = {(line["method"], line.get("route")): line for line in lines if line["logger"] == "moot.http"}
    assert requests["POST", "/api/board/session"]["streamed"] is True
    assert requests["GET", "/api/board/sessions/{session_id}"]["session"] == session
    assert [line["session"] for line in lines if line["logger"] == "moot.session"] == [session]
    for secret in (DECISION, "because of the lease", "secret-in-an-address"):
        assert secret not in rest


def test_a_mistake_of_ours_is_one_line_of_json_too(tmp_path: Path) -> None:
    code = """
import logging
from moot.telemetry import logs
logs.set_up("json")
try:
    raise ValueError("two\\nlines")
except ValueError:
    logging.getLogger("uvicorn.error").exception("Exception in %s", "ASGI", extra={"fields": {"odd": object}})
logging.getLogger("sqlalchemy").info("not told")
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=True, timeout=60
    )
    (line,) = done.stderr.splitlines()
    said = json.loads(line)
    assert said["message"] == "Exception in ASGI"
    assert (said["level"], said["logger"]) == ("error", "uvicorn.error")
    assert "ValueError: two\nlines" in said["exception"]


@pytest.mark.parametrize("how", ["environment", "settings"])
def test_missing_packages_stop_a_server_only_where_it_was_told_to_use_them(
    how: str, stub: StubServer, tmp_path: Path
) -> None:
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "sitecustomize.py").write_text(
        "import importlib.util as u\nfind = u.find_spec\n"
        "u.find_spec = lambda n, p=None: None if n.startswith('opentelemetry.sdk') else find(n, p)\n",
        encoding="utf-8",
    )
    env = environment(tmp_path, stub, PYTHONPATH=str(hidden))
    if how == "environment":
        env["OTEL_EXPORTER_OTLP_ENDPOINT"] = "http://127.0.0.1:9"
    else:
        settings = tmp_path / "config" / "moot"
        settings.mkdir(parents=True)
        text = '[telemetry]\nendpoint = "http://127.0.0.1:9"\n'
        (settings / "config.toml").write_text(text, encoding="utf-8")
    with subprocess.Popen(
        [*MOOT, "serve", "--port", "0"], env=env, cwd=tmp_path, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        try:
            said = process.stderr.readline()
            assert "telemetry is configured" in said
            assert "pip install 'moot[telemetry]'" in said
            if how == "environment":
                assert process.stderr.readline().startswith("moot is at http://")
            else:
                assert "telemetry.endpoint" in said
                assert process.wait(30) == 1
        finally:
            process.kill()
