"""Streams: opened over a bank, handed one frame after the other, ended, and handed on as one file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from sqlalchemy.orm import Session

from zenserve.errors import ConflictError, RequestError, ResourceError
from zenserve.service import documents, encryption, intake, keys
from zenserve.service.access import audit
from zenserve.service.access.principal import Principal
from zenserve.service.intake import Floats, FrameInput
from zenserve.service.jobs import frames
from zenserve.service.jobs.jobs import Jobs, Terms
from zenserve.service.jobs.scheduling import admit, routed
from zenserve.service.runtime import Runtime
from zenserve.service.storage.database import clock
from zenserve.service.storage.records.base import new_id
from zenserve.service.storage.records.resources import Model, Proof
from zenserve.service.storage.records.streams import Frame, Stream, StreamModel
from zenserve.service.storage.repositories import Models, Proofs, Streams
from zenserve.service.submissions import estimates, jobs, sandbox
from zenserve.service.submissions.estimates import Estimate
from zenserve.service.submissions.files import Handed
from zenserve.service.submissions.requests import FrameRequest, ProfileRequest, StreamRequest
from zenserve.verifier.bank import ANSWER, PRIOR, SEEN
from zenserve.verifier.fields import canonical
from zenserve.verifier.recent import Recent
from zenserve.verifier.schemes import Privacy

REVEAL: Final = {SEEN: "label", ANSWER: "label"}
"""The part of each output that frames' proofs reveal of a bank's models."""
_MOST_INPUTS: Final = 256
_BATCH_SECONDS: Final = 10


def open_stream(
    runtime: Runtime, caller: Principal, body: StreamRequest, idempotency_key: str | None = None
) -> str:
    """Check the bank and its profile, and queue the making of its keys. The stream's id, or that of the one
    which the ``Idempotency-Key`` made. Raises ``ZenError``.
    """
    _require_batches(body)
    samples = _samples(body.profile)
    said = canonical(body.model_dump(mode="json", exclude={"profile": {"samples"}}, exclude_none=True))
    handed = [samples] if isinstance(samples, Handed) else []
    numbers = () if isinstance(samples, Handed) else (str(samples.shape).encode(), samples.tobytes())
    terms = Terms(
        tenant_id=caller.tenant_id,
        priority=body.priority,
        labels=body.labels,
        idempotency_key=idempotency_key,
        request_macs=runtime.vault.macs(b"stream", said, *numbers),
    )
    with runtime.database.read() as session:
        if earlier := Jobs(session).earlier(terms):
            return earlier
        ready = Models(session, caller.tenant_id).ready
        models = [ready(model_id, "models") for model_id in body.models]
        bank = [input_of(runtime, model) for model in models]
        for model, each in zip(models, bank, strict=True):
            for size in {1, body.rules.batch or 1}:
                keys.require_ceremony(session, model, _form(each, body.input_privacy, size))
    estimate = _estimate(models)
    if body.rules.batch:
        estimate = _largest(estimates.of_batch(runtime, model, body.rules.batch) for model in models)
    packed = _profile(runtime, caller, body.profile, samples, models, bank)
    row = Stream(
        id=new_id("str"),
        name=body.name,
        classes=bank[0].form.classes,
        input_privacy=body.input_privacy,
        deadline_seconds=body.deadline_seconds,
        backlog=body.backlog,
        batch_seconds=(body.batch_seconds or _BATCH_SECONDS) if body.rules.batch else None,
        challenge=body.challenge,
        rules=body.rules.model_dump(mode="json"),
        models=[StreamModel(place=place, model_id=model.id) for place, model in enumerate(models)],
    )
    row.samples = encryption.put(runtime, f"stream:{row.id}", packed)
    terms = replace(terms, size=len(packed))
    return jobs.submit(
        runtime,
        caller,
        "stream",
        row,
        terms,
        "stream.create",
        handed=handed,
        stored=[row.samples],
        prepare=lambda _session: estimate and estimate | {"cost": 0.0},
    )


def _profile(
    runtime: Runtime,
    caller: Principal,
    given: ProfileRequest,
    samples: Floats | Handed,
    models: Sequence[Model],
    bank: Sequence[FrameInput],
) -> bytes:
    """``intake.profiled``, packed: a file is read apart."""
    if not isinstance(samples, Handed):
        return encryption.pack(intake.profiled(bank, samples, given.labels or []))
    labels = b"" if given.labels is None else canonical(given.labels)
    members = [
        part
        for place, each in intake.apart(bank).items()
        for part in (
            str(place).encode(),
            encryption.open_network(runtime, models[place]),
            b"saturate" if each.saturate else b"",
        )
    ]
    most = str(intake.most_profiled(bank)).encode()
    with samples.open(runtime, caller.tenant_id) as content:
        return sandbox.run(caller.tenant_id, "read_profile", content, labels, most, *members)


def _samples(given: ProfileRequest) -> Floats | Handed:
    """The numbers, or the upload that has them. Raises ``RequestError``, ``TensorError``."""
    field = "profile.samples"
    if (given.samples is None) == (given.samples_sha256 is None):
        reason = "give them, or name an upload by samples_sha256"
        raise RequestError("request.invalid", f"{field}: {reason}", field=field)
    if given.samples is None:
        return Handed(field, given.samples_sha256 or "")
    if given.labels is None:
        raise RequestError(
            "request.invalid", "profile.labels: give the class of each", field="profile.labels"
        )
    return intake.numbers(given.samples, field)


def add_frame(runtime: Runtime, caller: Principal, stream_id: str, body: FrameRequest) -> str:
    """Queue the proof of the next frame. Its id, or that of the one which this number and input made before.

    Raises ``ConflictError`` (``conflict.stream``, ``conflict.frame_number``), ``ResourceError``
    (``quota.frames``, ``quota.queued``), ``TensorError``, ``NotFoundError``.
    """
    values = intake.numbers(body.input, "input")
    terms = Terms(
        tenant_id=caller.tenant_id,
        parent_id=stream_id,
        idempotency_key=f"{stream_id}/{body.number}",
        request_macs=runtime.vault.macs(b"frame", str(values.shape).encode(), values.tobytes()),
    )
    with runtime.database.read() as session:
        if earlier := _earlier(session, terms):
            return earlier
        stream = Streams(session, caller.tenant_id).get(stream_id)
        _require_next(stream, body.number)  # before its input is read
        models = [each.model for each in stream.models]
        estimate = _estimate(models)
        if estimate and stream.rules.get("batch"):
            estimate = estimate | {"memory": stream.job.memory}
        if stream.deadline_seconds is not None:
            late = clock(session) + timedelta(seconds=stream.deadline_seconds)
            terms = replace(terms, deadline_at=late)
    bank = [input_of(runtime, model) for model in models]
    secrets = intake.frame_values(bank, values)
    packed = encryption.pack(secrets)
    terms = replace(terms, priority=stream.job.priority, size=len(packed))
    row = Proof(
        id=new_id("prf"),
        model_id=models[0].id,  # until its turn
        scheme="inference",
        request=request(bank[0], stream.input_privacy),
        document=None,
        verification_key_id=None,
    )
    row.input = encryption.put(runtime, f"input:{row.id}", packed)

    def add(session: Session) -> str:
        stream = Streams(session, caller.tenant_id).locked(stream_id)
        if earlier := _earlier(session, terms):
            return earlier
        _require_next(stream, body.number)
        row.job = Jobs(session).create(row.id, "proof", routed(session, runtime.settings, terms, estimate))
        session.add(row)
        session.flush()
        session.add(Frame(id=row.id, stream_id=stream_id, number=body.number))
        stream.count += 1
        if stream.rules.get("batch"):
            session.flush()
            frames.advance(session, stream_id)
        audit.note(session, caller, "stream.frame", row.id)
        admit(session, runtime.settings, terms.tenant_id)
        return row.id

    made = jobs.once(runtime, lambda session: _earlier(session, terms), add, [row.input])
    if made == row.id:
        runtime.queue.send(row.id, row.job.queue)
    else:
        jobs.delete(runtime, [row.input])
    return made


def end(runtime: Runtime, caller: Principal, stream_id: str) -> None:
    """Take no more frames; it is over with the last that there is. Ending twice is no error. Raises
    ``NotFoundError``, ``ConflictError`` (``conflict.stream``).
    """
    with runtime.database.write() as session:
        stream = Streams(session, caller.tenant_id).locked(stream_id)
        if stream.ended_at is not None:
            return
        _require_open(stream)
        stream.ended_at = clock(session)
        session.flush()
        frames.advance(session, stream_id)
        audit.note(session, caller, "stream.end", stream_id)


def delete(runtime: Runtime, caller: Principal, stream_id: str) -> None:
    """With the proofs of its frames. Raises ``NotFoundError``, ``ConflictError`` (``conflict.in_use``)."""
    with runtime.database.write() as session:
        stored = Streams(session, caller.tenant_id).delete(stream_id)
        audit.note(session, caller, "stream.delete", stream_id)
    jobs.delete(runtime, stored)


def pieces(runtime: Runtime, stream: Stream, head: Mapping[str, Any]) -> Iterator[bytes]:
    """``zenserve.verifier.stream.StreamFile`` of the frames that are over, as JSON."""
    yield b'{"format":"zenserve stream","version":1,"head":' + canonical(head) + b',"frames":['
    number = 0
    while number < stream.over:
        with runtime.database.read() as session:
            found = Streams(session).frames(stream.id, number, stream.over)
            proofs = {proof.id: proof for proof in Proofs(session).each([frame.id for frame, _ in found])}
        if not found:  # deleted meanwhile
            return
        for frame, job in found:
            if frame.batch not in (None, frame.number):  # the first has the proof of all
                continue
            yield b"," if frame.number else b""
            if job.state == "succeeded":
                yield from documents.pieces(runtime, proofs[frame.id])
            else:
                yield canonical(documents.missed(job.problem))
        number = found[-1][0].number + 1
    yield b"]}"


def input_of(runtime: Runtime, model: Model) -> FrameInput:
    """Return the form in which the model takes frames.

    Those used last are cached, so that no network is opened for a frame. Raises ``ModelError``
    (``model.bank``) for a model that is of no bank.
    """
    found = _inputs.get(model.id)
    if found is None:
        found = FrameInput.of(encryption.open_network(runtime, model), saturate=model.saturate)
        _inputs.keep(model.id, found)
    return found


_inputs: Final = Recent[str, FrameInput](_MOST_INPUTS)
"""By the ids of their models, which never come to mean another."""


def request(taken: FrameInput, input_privacy: Privacy, batch: int = 1) -> dict[str, Any]:
    """Return the request for the proof of a frame or of a batch, without its challenge.

    Its form is that of ``orders.Order``.
    """
    privacy = {taken.form.input: input_privacy, PRIOR: "public"}
    asked = {"input_privacy": privacy, "reveal": REVEAL, "top": 1}
    return asked | ({"batch": batch} if batch > 1 else {})


def _form(taken: FrameInput, input_privacy: Privacy, batch: int) -> dict[str, Any]:
    """Return the fields that tell a bank model's circuit from others of its network (``keys.form_of``)."""
    asked = request(taken, input_privacy, batch)
    privacy = {f"input/{name}": each for name, each in asked.pop("input_privacy").items()}
    return asked | {"scheme": "inference", "privacy": privacy}


def _earlier(session: Session, terms: Terms) -> str | None:
    try:
        return Jobs(session).earlier(terms)
    except ConflictError:
        raise _number("there is one of this number, with another input") from None


def _require_next(stream: Stream, number: int) -> None:
    _require_open(stream)
    if number != stream.count:
        raise _number(f"{stream.count} is the next")
    if stream.count - stream.over >= stream.backlog:
        raise ResourceError(
            "quota.frames",
            f"{stream.backlog} frames wait or are being proven, which is the backlog of {stream.id}: go on"
            " when the first of them is over",
        )


def _require_open(stream: Stream) -> None:
    if stream.begun_at is None and stream.job.state in ("queued", "running"):
        raise ConflictError(
            "conflict.stream", f"the keys of {stream.id} are being made: wait until its stage is frames"
        )
    if stream.ended_at is not None or stream.job.state != "running":
        raise ConflictError("conflict.stream", f"{stream.id} takes no more frames")


def _number(why: str) -> ConflictError:
    return ConflictError("conflict.frame_number", f"number: {why}", field="number")


def _estimate(models: list[Model]) -> Estimate | None:
    """Of the model that takes the most memory: any of them may be chosen."""
    return _largest(model.estimate for model in models if model.estimate is not None)


def _largest(known: Iterable[Estimate]) -> Estimate | None:
    return max(known, key=lambda each: float(each["memory"]), default=None)


def _require_batches(body: StreamRequest) -> None:
    """Check that batches of this size and waiting time are possible. Raises ``RequestError``."""
    batch = body.rules.batch
    if batch is None and body.batch_seconds is not None:
        reason = "batch_seconds: give rules.batch, too: each frame is proven by itself"
        raise RequestError("request.invalid", reason, field="batch_seconds")
    if batch is not None and body.backlog < batch:
        reason = f"backlog: a batch has {batch} frames, so that as many have to be allowed to wait"
        raise RequestError("request.invalid", reason, field="backlog")
