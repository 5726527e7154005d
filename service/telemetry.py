"""Traces with OpenTelemetry, if ``OTEL_EXPORTER_OTLP_ENDPOINT`` is set; otherwise all this does nothing.

One span for each request, and one for each attempt at a job, within the request that made the job and with
a child for each stage. Spans carry ids, kinds and states. An unexpected error that is logged is an event
``exception`` of the span that it happened in, or of one of its own, as trackers of errors read them: class,
frames, and the ids that the log has. What an exception says is never recorded: it may quote an input.
"""

from __future__ import annotations

import logging
import os
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from opentelemetry import context, trace
from opentelemetry.propagate import extract
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer, TracerProvider

from zenserve.errors import RequestError

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
_EXPORTER: Final = "opentelemetry-sdk opentelemetry-exporter-otlp-proto-http"

_tracer: Tracer | None = None


def configure(process: str) -> None:
    """Send this process's spans to the collector, if the environment names one. ``process`` is what it is
    called there, unless ``OTEL_SERVICE_NAME`` says otherwise.

    Raises ``RequestError`` (``request.settings``) where the exporter is not installed.
    """
    if not os.environ.get(ENDPOINT):
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider as Provider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise RequestError(
            "request.settings", f"{ENDPOINT} needs pip install {_EXPORTER}", field=ENDPOINT
        ) from None
    name = os.environ.get("OTEL_SERVICE_NAME", f"zenserve-{process}")
    provider = Provider(resource=Resource.create({"service.name": name}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    use(provider)


def use(provider: TracerProvider | None) -> None:
    """Make spans there, from now on; None: make none. What is left is sent when the process ends."""
    global _tracer
    _tracer = provider.get_tracer("zenserve") if provider else None
    logger = logging.getLogger("zenserve")
    (logger.addHandler if _tracer else logger.removeHandler)(_ERRORS)


class _Errors(logging.Handler):
    """Records the exceptions of log events on the current span."""

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if error is None or _tracer is None:
            return
        ids = {name: str(value) for name, value in getattr(record, "fields", {}).items()}
        kind = type(error)
        about = {
            "exception.type": f"{kind.__module__}.{kind.__qualname__}",
            "exception.stacktrace": "".join(_frames(error)),
        }
        span = trace.get_current_span()
        if span.is_recording():
            span.add_event("exception", ids | about)
            return
        with _tracer.start_as_current_span(record.getMessage()) as own:
            own.set_status(StatusCode.ERROR)
            own.add_event("exception", ids | about)


_ERRORS: Final = _Errors()


def _frames(error: BaseException) -> Iterator[str]:
    """As ``traceback.format_exception`` has them, causes first, without what the exceptions say."""
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if cause is not None:
        yield from _frames(cause)
    yield "Traceback (most recent call last):\n"
    yield from traceback.format_tb(error.__traceback__)
    yield f"{type(error).__qualname__}\n"


def current_trace() -> str | None:
    """The W3C ``traceparent`` of where this is called, for a job that goes on elsewhere."""
    here = trace.get_current_span().get_span_context()
    if _tracer is None or not here.is_valid:
        return None
    return f"00-{here.trace_id:032x}-{here.span_id:016x}-{here.trace_flags:02x}"


class RequestSpan:
    """The span of a request, which learns its name and end when they are known."""

    def __init__(self, span: Span | None = None) -> None:
        self._span = span

    def end(self, name: str, route: str | None, status: int, request_id: str) -> None:
        if self._span is None:
            return
        self._span.update_name(name)
        self._span.set_attribute("http.response.status_code", status)
        self._span.set_attribute("request.id", request_id)
        if route is not None:
            self._span.set_attribute("http.route", route)
        if status >= 500:
            self._span.set_status(StatusCode.ERROR)


@contextmanager
def request_span(headers: Mapping[str, str]) -> Iterator[RequestSpan]:
    """The span of a request, within the caller's own if it sent a ``traceparent``."""
    if _tracer is None:
        yield RequestSpan()
        return
    carrier = {name: headers[name] for name in ("traceparent", "tracestate") if name in headers}
    with _tracer.start_as_current_span(
        "request", extract(carrier), SpanKind.SERVER, record_exception=False, set_status_on_exception=False
    ) as span:
        yield RequestSpan(span)


class JobSpan:
    """The span of an attempt at a job."""

    def __init__(self, tracer: Tracer | None = None, span: Span | None = None) -> None:
        self._tracer = tracer
        self._span = span
        self._stage: Span | None = None

    def stage(self, name: str) -> None:
        """The job is at this stage now."""
        self.end_stage()
        if self._tracer is not None and self._span is not None:
            self._stage = self._tracer.start_span(name, trace.set_span_in_context(self._span))

    def end(self, state: str | None) -> None:
        """End the spans. ``state``: that of the job after the attempt; None if the job was lost."""
        self.end_stage()
        if self._span is not None:
            self._span.set_attribute("job.state", state or "lost")
            if state == "failed":
                self._span.set_status(StatusCode.ERROR)

    def end_stage(self) -> None:
        """The job is at no stage any more."""
        if self._stage is not None:
            self._stage.end()
            self._stage = None


@contextmanager
def job_span(job_id: str, kind: str, attempt: int, trace: str | None) -> Iterator[JobSpan]:
    """The span of an attempt at a job, within the request that made the job, whose span is ``trace``."""
    if _tracer is None:
        yield JobSpan()
        return
    parent = extract({"traceparent": trace}) if trace else context.Context()
    with _tracer.start_as_current_span(
        f"job {kind}", parent, SpanKind.CONSUMER, record_exception=False, set_status_on_exception=False
    ) as span:
        span.set_attributes({"job.id": job_id, "job.kind": kind, "job.attempt": attempt})
        job = JobSpan(_tracer, span)
        try:
            yield job
        finally:
            job.end_stage()
