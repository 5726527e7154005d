"""The client proper: one method per endpoint, errors as exceptions."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx

from client.errors import ApiError, JobError, UnreachableError
from client.resources import Job, Model, Proof, Verification, read

JobKind = TypeVar("JobKind", bound=Job)

_POLL_SECONDS = 0.2


class Client:
    """Talks to the service at ``base_url``. Raises ``ApiError`` and ``UnreachableError`` throughout."""

    def __init__(self, base_url: str = "http://127.0.0.1:8000", timeout: float = 60.0) -> None:
        with _reaching():
            self._http = httpx.Client(base_url=base_url, timeout=timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def create_model(
        self,
        onnx: bytes,
        calibration: bytes,
        *,
        name: str = "unnamed",
        input_privacy: str = "private",
        weight_privacy: str = "public",
        bits: int = 8,
        idempotency_key: str | None = None,
    ) -> Model:
        """Register a network. ``calibration`` is a ``.npy`` file or a JSON array of typical inputs."""
        return read(
            Model,
            self._send(
                "POST",
                "/v1/models",
                files={"model": ("model.onnx", onnx), "calibration": ("calibration", calibration)},
                data={
                    "name": name,
                    "input_privacy": input_privacy,
                    "weight_privacy": weight_privacy,
                    "bits": str(bits),
                },
                headers=_idempotent(idempotency_key),
            ),
        )

    def get_model(self, model_id: str) -> Model:
        return read(Model, self._send("GET", f"/v1/models/{model_id}"))

    def create_proof(self, model_id: str, values: Any, *, idempotency_key: str | None = None) -> Proof:
        """Ask for a proof of what the model makes of ``values``, a nested list of numbers."""
        body = json.dumps({"model_id": model_id, "input": values})
        headers = {"Content-Type": "application/json"} | _idempotent(idempotency_key)
        return read(Proof, self._send("POST", "/v1/proofs", content=body, headers=headers))

    def get_proof(self, proof_id: str) -> Proof:
        return read(Proof, self._send("GET", f"/v1/proofs/{proof_id}"))

    def get_proof_document(self, proof_id: str) -> dict[str, Any]:
        """The portable proof."""
        return self._send("GET", f"/v1/proofs/{proof_id}/proof")

    def get_verification_key(self, key_id: str) -> dict[str, Any]:
        return self._send("GET", f"/v1/verification-keys/{key_id}")

    def cancel(self, proof_id: str) -> Proof:
        return read(Proof, self._send("POST", f"/v1/proofs/{proof_id}/cancel"))

    def verify(self, document: dict[str, Any], key: dict[str, Any] | None = None) -> Verification:
        """The service's verdict on a proof document, under ``key`` or the key that it names."""
        body = {"proof": document} | ({"verification_key": key} if key else {})
        return read(Verification, self._send("POST", "/v1/verify", json=body))

    def is_ready(self) -> bool:
        """Whether the service answers and can do its work."""
        try:
            return self._http.get("/readyz").status_code == httpx.codes.OK
        except httpx.TransportError:
            return False

    def events(self, proof_id: str) -> Iterator[Proof]:
        """The proof as it changes, until it is over; picks the stream up again where it breaks."""
        while True:
            for seen in self._stream(f"/v1/proofs/{proof_id}/events"):
                yield seen
                if seen.is_over:
                    return
            time.sleep(_POLL_SECONDS)

    def wait(self, job: JobKind, timeout: float = 600.0) -> JobKind:
        """The model or proof once it is over. Raises ``JobError``, ``TimeoutError``; the job goes on."""
        deadline = time.monotonic() + timeout
        for seen in self.follow(job):
            if seen.is_over:
                return succeeded(seen)
            if time.monotonic() > deadline:
                break
        raise TimeoutError(f"{job.id} is still not over after {timeout:g} seconds")

    def follow(self, job: JobKind) -> Iterator[JobKind]:
        """The model or proof, asked for again and again until it is over."""
        path = "models" if isinstance(job, Model) else "proofs"
        while True:
            yield job
            if job.is_over:
                return
            time.sleep(_POLL_SECONDS)
            job = read(type(job), self._send("GET", f"/v1/{path}/{job.id}"))

    def _stream(self, path: str) -> Iterator[Proof]:
        """The events of one connection, until it ends or breaks."""
        breaks = suppress(httpx.RemoteProtocolError, httpx.ReadError)
        with _reaching(), breaks, self._http.stream("GET", path) as response:
            if response.is_error:
                response.read()
                _document(response)
            for line in response.iter_lines():
                if line.startswith("data:"):
                    yield read(Proof, json.loads(line[5:]))

    def _send(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        with _reaching():
            response = self._http.request(method, path, **options)
        return _document(response)


def succeeded(job: JobKind) -> JobKind:
    """The job itself. Raises ``JobError`` if it ended otherwise."""
    if job.state != "succeeded":
        raise JobError(job.id, job.state, job.problem)
    return job


@contextmanager
def _reaching() -> Iterator[None]:
    try:
        yield
    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
        raise UnreachableError(
            f"no service answers at {error.request.url.copy_with(raw_path=b'/')}"
        ) from None
    except (httpx.TransportError, httpx.InvalidURL) as error:
        raise UnreachableError(f"the service cannot be reached: {error}") from None


def _document(response: httpx.Response) -> dict[str, Any]:
    """The JSON object of a good answer. Raises ``ApiError`` for any other."""
    try:
        document = response.json()
    except ValueError:
        document = None
    if response.is_success and isinstance(document, dict):
        return document
    raise ApiError(response.status_code, document if isinstance(document, dict) else {})


def _idempotent(key: str | None) -> dict[str, str]:
    return {"Idempotency-Key": key} if key else {}
