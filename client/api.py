"""The client proper: one method per endpoint, errors as exceptions."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, NoReturn, Self, TypeVar

import httpx

from client.errors import ApiError, JobError, UnreachableError
from client.resources import Commitment, Dataset, Job, Model, Proof, Verification, read

JobKind = TypeVar("JobKind", bound=Job)

_POLL_SECONDS = 0.2
_PATHS: dict[type[Job], str] = {Model: "models", Dataset: "datasets", Proof: "proofs"}


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
        weight_privacy: str = "public",
        bits: int = 8,
        parent_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Model:
        """Register a network. ``calibration`` is a ``.npy`` file or a JSON array of typical inputs;
        ``parent_id``: the model that this is a new version of.
        """
        fields = {"name": name, "weight_privacy": weight_privacy, "bits": bits, "parent_id": parent_id}
        files = {"model": onnx, "calibration": calibration}
        return read(Model, self._post_form("/v1/models", files, fields, idempotency_key))

    def get_model(self, model_id: str) -> Model:
        return read(Model, self._send("GET", f"/v1/models/{model_id}"))

    def get_receipt(self, model_id: str) -> dict[str, Any]:
        """What the service signed about the registration."""
        return self._send("GET", f"/v1/models/{model_id}/receipt")

    def get_registration(self, model_id: str) -> dict[str, Any]:
        """The proof document of the registration of a model with committed weights."""
        return self._send("GET", f"/v1/models/{model_id}/registration")

    def get_architecture(self, model_id: str) -> bytes:
        """What the model's circuits are compiled from: the network, committed weights and biases blanked."""
        with _reaching():
            response = self._http.get(f"/v1/models/{model_id}/architecture")
        return response.content if response.is_success else _refused(response)

    def create_commitment(self, model_id: str, kind: str, values: Any) -> Commitment:
        """Commit to ``values``, an input of the model; for kind ``reference``, to the embedding of it."""
        body = {"model_id": model_id, "kind": kind, "values": values}
        return read(Commitment, self._post_json("/v1/commitments", body))

    def get_commitment(self, commitment_id: str) -> Commitment:
        return read(Commitment, self._send("GET", f"/v1/commitments/{commitment_id}"))

    def get_commitment_opening(self, commitment_id: str) -> dict[str, Any]:
        """What opens the commitment to those who know the values. As secret as they are."""
        return self._send("GET", f"/v1/commitments/{commitment_id}/opening")

    def delete_commitment(self, commitment_id: str) -> None:
        self._delete(f"/v1/commitments/{commitment_id}")

    def create_dataset(
        self,
        model_id: str,
        samples: bytes,
        labels: bytes,
        *,
        privacy: str,
        name: str = "unnamed",
        shard_size: int | None = None,
        idempotency_key: str | None = None,
    ) -> Dataset:
        """Add labelled samples for a model: ``.npy`` files or JSON arrays. ``shard_size``: samples in one
        proof, by default as many as fit the service's memory.
        """
        fields = {"model_id": model_id, "privacy": privacy, "name": name, "shard_size": shard_size}
        files = {"samples": samples, "labels": labels}
        return read(Dataset, self._post_form("/v1/datasets", files, fields, idempotency_key))

    def get_dataset(self, dataset_id: str) -> Dataset:
        return read(Dataset, self._send("GET", f"/v1/datasets/{dataset_id}"))

    def get_dataset_opening(self, dataset_id: str) -> dict[str, Any]:
        """What opens the shards' commitments to those who hold the dataset. As secret as it is."""
        return self._send("GET", f"/v1/datasets/{dataset_id}/opening")

    def delete_dataset(self, dataset_id: str) -> None:
        self._delete(f"/v1/datasets/{dataset_id}")

    def create_proof(
        self,
        model_id: str,
        values: Any = None,
        *,
        scheme: str = "inference",
        idempotency_key: str | None = None,
        **fields: Any,
    ) -> Proof:
        """Ask for a proof about ``values``, a nested list of numbers, or about what other ``fields`` name.

        All schemes take ``challenge``; inference and recognition ``input_privacy``, or ``input_id`` in place
        of ``values``; inference ``reveal`` and ``top``; recognition ``threshold`` and ``reference`` or
        ``reference_id``; accuracy ``dataset_id`` (docs/api.md). Fields that are None are left out.
        """
        body = {"model_id": model_id, "scheme": scheme, "input": values, **fields}
        given = {name: value for name, value in body.items() if value is not None}
        return read(Proof, self._post_json("/v1/proofs", given, idempotency_key))

    def get_proof(self, proof_id: str) -> Proof:
        return read(Proof, self._send("GET", f"/v1/proofs/{proof_id}"))

    def get_proof_document(self, proof_id: str) -> dict[str, Any]:
        """The portable proof."""
        return self._send("GET", f"/v1/proofs/{proof_id}/proof")

    def get_verification_key(self, key_id: str) -> dict[str, Any]:
        """The key file: the key, and what it proves."""
        return self._send("GET", f"/v1/verification-keys/{key_id}")

    def cancel(self, proof_id: str) -> Proof:
        return read(Proof, self._send("POST", f"/v1/proofs/{proof_id}/cancel"))

    def verify(
        self,
        document: dict[str, Any],
        key: dict[str, Any] | None = None,
        *,
        expected: dict[str, str] | None = None,
    ) -> Verification:
        """The service's verdict on a proof document, under the key file ``key`` or the key that it names.

        ``expected``: commitments of ``model``, ``input`` and ``reference`` in hex and the ``challenge``, as
        you know them from elsewhere. Who does not trust the service judges alone: ``client.verification``.
        """
        body = {"proof": document, "verification_key": key, "expected": expected}
        given = {name: value for name, value in body.items() if value is not None}
        return read(Verification, self._send("POST", "/v1/verify", json=given))

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
        """The model, dataset or proof once it is over. Raises ``JobError``, ``TimeoutError``; the job goes
        on.
        """
        deadline = time.monotonic() + timeout
        for seen in self.follow(job):
            if seen.is_over:
                return succeeded(seen)
            if time.monotonic() > deadline:
                break
        raise TimeoutError(f"{job.id} is still not over after {timeout:g} seconds")

    def follow(self, job: JobKind) -> Iterator[JobKind]:
        """The model, dataset or proof, asked for again and again until it is over."""
        path = _PATHS[type(job)]
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

    def _post_json(
        self, path: str, body: dict[str, Any], idempotency_key: str | None = None
    ) -> dict[str, Any]:
        # Not httpx's own JSON: it refuses NaN, which the service answers with the place.
        headers = {"Content-Type": "application/json"} | _idempotent(idempotency_key)
        return self._send("POST", path, content=json.dumps(body), headers=headers)

    def _post_form(
        self, path: str, files: dict[str, bytes], fields: dict[str, Any], idempotency_key: str | None
    ) -> dict[str, Any]:
        return self._send(
            "POST",
            path,
            files={name: (name, content) for name, content in files.items()},
            data={name: str(value) for name, value in fields.items() if value is not None},
            headers=_idempotent(idempotency_key),
        )

    def _delete(self, path: str) -> None:
        with _reaching():
            response = self._http.delete(path)
        if not response.is_success:
            _refused(response)

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
    document = _json(response)
    if response.is_success and document is not None:
        return document
    return _refused(response)


def _refused(response: httpx.Response) -> NoReturn:
    raise ApiError(response.status_code, _json(response) or {})


def _json(response: httpx.Response) -> dict[str, Any] | None:
    try:
        document = response.json()
    except ValueError:
        return None
    return document if isinstance(document, dict) else None


def _idempotent(key: str | None) -> dict[str, str]:
    return {"Idempotency-Key": key} if key else {}
