"""Traces: from the request to the stages of the job, and what is not in them."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator

import httpx
import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from tests.patience import until
from tests.service.support import SECRET, work_on
from zenserve.client import Client, Model
from zenserve.service import log, telemetry
from zenserve.service.runtime import Runtime
from zenserve.service.worker.tasks import TASKS

JOB = ("prf_1", "proof", 1)
CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    telemetry.use(provider)
    yield exporter
    telemetry.use(None)


def named(spans: InMemorySpanExporter, name: str) -> ReadableSpan:
    """A request's ends just after its answer."""
    until(lambda: name in [span.name for span in spans.get_finished_spans()])
    [span] = [span for span in spans.get_finished_spans() if span.name == name]
    return span


def is_within(child: ReadableSpan, parent: ReadableSpan) -> bool:
    assert child.parent is not None
    return (child.parent.trace_id, child.parent.span_id) == (parent.context.trace_id, parent.context.span_id)


def test_a_job_is_within_the_request_that_made_it_and_its_stages_are_within_the_job(
    spans: InMemorySpanExporter,
) -> None:
    with telemetry.request_span({"traceparent": CALLER}) as request:
        made = telemetry.current_trace()
        request.end("POST /v1/proofs", "/v1/proofs", 202, "req_1")
    with telemetry.job_span(*JOB, made) as job:
        job.stage("load model")
        job.stage("msm_a")
        job.end("succeeded")
    request_span, job_span = named(spans, "POST /v1/proofs"), named(spans, "job proof")
    assert f"{request_span.context.trace_id:032x}" == CALLER[3:35]
    assert request_span.parent is not None
    assert f"{request_span.parent.span_id:016x}" == CALLER[36:52]
    assert is_within(job_span, request_span)
    assert is_within(named(spans, "load model"), job_span)
    assert is_within(named(spans, "msm_a"), job_span)
    first, second = named(spans, "load model"), named(spans, "msm_a")
    assert first.end_time is not None
    assert second.start_time is not None
    assert first.end_time <= second.start_time
    assert dict(job_span.attributes or {}) == {
        "job.id": "prf_1",
        "job.kind": "proof",
        "job.attempt": 1,
        "job.state": "succeeded",
    }


def test_a_job_of_a_request_without_a_trace_begins_one(spans: InMemorySpanExporter) -> None:
    with telemetry.request_span({}), telemetry.job_span(*JOB, None):
        pass
    assert named(spans, "job proof").parent is None


def test_what_an_exception_says_is_not_recorded(spans: InMemorySpanExporter) -> None:
    def work() -> None:
        with telemetry.job_span(*JOB, None) as job:
            job.stage("load model")
            raise ValueError(f"quotes {SECRET}")

    with pytest.raises(ValueError, match="quotes"):
        work()
    for span in spans.get_finished_spans():
        assert not span.events
        assert str(SECRET) not in span.to_json()
    assert {span.name for span in spans.get_finished_spans()} == {"job proof", "load model"}


def fail() -> None:
    try:
        raise ValueError(f"quotes {SECRET}")
    except ValueError as cause:
        raise RuntimeError(f"quotes {SECRET}, too") from cause


def log_failure() -> None:
    try:
        fail()
    except RuntimeError:
        log.event("job.broke", level=40, failed=True)


def test_an_error_is_reported_on_the_jobs_span_by_class_and_frames_alone(spans: InMemorySpanExporter) -> None:
    with log.context(job_id="prf_1"), telemetry.job_span(*JOB, None):
        log_failure()
    span = named(spans, "job proof")
    (event,) = span.events
    attributes = dict(event.attributes or {})
    assert (event.name, attributes["job_id"]) == ("exception", "prf_1")
    assert attributes["exception.type"] == "builtins.RuntimeError"
    frames = str(attributes["exception.stacktrace"])
    assert re.findall(r"^\w+Error$", frames, re.MULTILINE) == ["ValueError", "RuntimeError"]
    assert "in fail" in frames
    assert str(SECRET) not in span.to_json()
    assert "exception.message" not in attributes


def test_an_error_of_no_request_and_no_job_is_a_span_of_its_own(spans: InMemorySpanExporter) -> None:
    log_failure()
    span = named(spans, "job.broke")
    assert [event.name for event in span.events] == ["exception"]
    assert span.status.status_code is StatusCode.ERROR
    telemetry.use(None)
    log_failure()
    assert len(spans.get_finished_spans()) == 1


def test_a_job_that_breaks_reports_the_error(
    with_model: Runtime,
    api: Client,
    model: Model,
    spans: InMemorySpanExporter,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(TASKS, "proof", lambda runtime, hold: fail())
    proof = api.create_proof(model.id, [SECRET, 0.2, 0.3, 0.4])
    work_on(with_model, proof.id)
    reported = [
        event for span in spans.get_finished_spans() for event in span.events if span.name == "job proof"
    ]
    assert {(event.attributes or {})["job_id"] for event in reported} == {proof.id}
    assert not any(str(SECRET) in span.to_json() for span in spans.get_finished_spans())


def test_a_request_has_a_span_with_its_route_and_nothing_of_its_path(
    shared_url: str, spans: InMemorySpanExporter
) -> None:
    httpx.get(f"{shared_url}/v1/proofs/prf_of_somebody", headers={"traceparent": CALLER})
    span = named(spans, "GET /v1/proofs/{proof_id}")
    assert len(spans.get_finished_spans()) == 1
    assert (span.attributes or {})["http.response.status_code"] == 404
    assert (span.attributes or {})["http.route"] == "/v1/proofs/{proof_id}"
    assert f"{span.context.trace_id:032x}" == CALLER[3:35]
    assert "prf_of_somebody" not in span.to_json()


def test_a_proof_is_one_trace_from_the_request_to_the_workers_last_stage(
    with_model: Runtime, api: Client, model: Model, spans: InMemorySpanExporter
) -> None:
    proof = api.create_proof(model.id, [SECRET, 0.2, 0.3, 0.4])
    work_on(with_model, proof.id)
    assert api.get_proof(proof.id).state == "succeeded"
    request, job = named(spans, "POST /v1/proofs"), named(spans, "job proof")
    assert is_within(job, request)
    assert (job.attributes or {})["job.state"] == "succeeded"
    assert is_within(named(spans, "load model"), job)
    assert not any(str(SECRET) in span.to_json() for span in spans.get_finished_spans())


def test_without_a_collector_nothing_is_traced_and_no_exporter_is_loaded() -> None:
    program = (
        "import sys, zenserve.service.app; from zenserve.service import telemetry;"
        "telemetry.configure('api');"
        "assert telemetry.current_trace() is None;"
        "print([name for name in sys.modules if name.startswith('opentelemetry.sdk')])"
    )
    done = subprocess.run([sys.executable, "-c", program], env={}, capture_output=True, check=True, text=True)
    assert done.stdout.strip() == "[]"
