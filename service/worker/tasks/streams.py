"""Streams: the keys and the profile of their banks, and what each frame is to prove.

Which model a frame is for follows from the labels of all before it, as any verifier computes it
(``zenserve.verifier.streams``). A worker remembers where the streams are that it was last at; one that was
not there before follows them from their beginning.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from pydantic import ValidationError
from sqlalchemy import Row, select
from sqlalchemy.orm import Session

from zenserve.circuits import banks
from zenserve.circuits.schemes import proving
from zenserve.errors import ConflictError, ModelError
from zenserve.service import documents, encryption, engine, intake
from zenserve.service.encryption import Integers, Secret
from zenserve.service.jobs.claims import Claims, is_held
from zenserve.service.runtime import Runtime
from zenserve.service.storage.database import clock, now
from zenserve.service.storage.records.jobs import Job
from zenserve.service.storage.records.resources import Model, Proof
from zenserve.service.storage.records.streams import Frame, Stream
from zenserve.service.storage.repositories import Proofs, Streams
from zenserve.service.submissions.streams import input_of, request
from zenserve.service.worker.heartbeat import Hold
from zenserve.service.worker.tasks import steps
from zenserve.verifier.bank import ANSWER, PRIOR, SEEN
from zenserve.verifier.description import as_list
from zenserve.verifier.documents import ProofDocument, checked, first_fault
from zenserve.verifier.fields import timestamp
from zenserve.verifier.recent import Recent
from zenserve.verifier.stream import Bank, BankModel, Head, Rules, beginning, challenge, following
from zenserve.verifier.streams.course import Course

_REMEMBERED: Final = 16


def begin_stream(runtime: Runtime, hold: Hold) -> None:
    """Make the keys of the bank's models where there are none, also those for batches if it has any, and ask
    each what it sees of the profile."""
    hold.progress("load model", 0.0)
    with runtime.database.read() as session:
        stream = Streams(session).get(hold.claim.id)
        models = [each.model for each in stream.models]
    assert stream.samples is not None  # noqa: S101  they are there until it has begun
    profile = encryption.get_secrets(runtime, f"stream:{stream.id}", stream.samples)
    members = [
        _member(runtime, hold, stream, model, intake.of_place(profile, place))
        for place, model in enumerate(models)
    ]
    try:
        bank = Bank(classes=stream.classes, labels=profile["labels"].values.tolist(), models=members)
    except ValidationError as error:
        raise ModelError("model.bank", first_fault(error)[1], field="models") from None
    rules = checked(Rules, stream.rules)
    head = Head(bank=bank, rules=rules, begun_at=timestamp(now()), challenge=stream.challenge)
    with runtime.database.write() as session:
        if not Claims(session).wait(hold.claim, "frames", hold.timings()):
            return
        row = Streams(session).get(stream.id)
        row.head, row.begins_with = head.model_dump(mode="json"), beginning(head).hex()
        row.begun_at, row.samples = clock(session), None
    runtime.store.delete(stream.samples)


def _member(runtime: Runtime, hold: Hold, stream: Stream, model: Model, samples: Integers) -> BankModel:
    network = encryption.open_network(runtime, model)
    taken = input_of(runtime, model)
    batch_key = None
    if batch := stream.rules.get("batch"):
        asked = request(taken, stream.input_privacy, batch)
        several = engine.inference_of(network, model.weight_privacy, asked)
        batch_key = steps.require_keys(runtime, hold, several, model).file.id
    asked = request(taken, stream.input_privacy)
    circuit = engine.inference_of(network, model.weight_privacy, asked)
    keys = steps.require_keys(runtime, hold, circuit, model)
    hold.progress("profile", 0.0)
    return BankModel(
        commitment=model.commitment,
        verification_key=keys.file.id,
        batch_key=batch_key,
        cost=circuit.constraint_system.constraints,
        bit=taken.form.bit,
        margin=banks.MARGIN,
        outputs=banks.profile(circuit.qgraph, samples, proving.where(keys.system)).tolist(),
    )


@dataclass(frozen=True)
class Turn:
    """A frame whose turn it is, or a batch of them: ``model``, its place in the bank, ``key``, of its proofs,
    and ``link``, the chain's before it. ``others``: the jobs of a batch's frames after the first.
    """

    proof: Proof
    others: Sequence[str]
    secrets: dict[str, Secret]
    model: int
    key: str
    link: bytes

    def check(self, keys: steps.Keys) -> None:
        """Raises ``ConflictError`` (``conflict.changed``) where a ceremony has made others since."""
        if keys.file.id != self.key:
            raise ConflictError(
                "conflict.changed", "the circuit has another key since the stream began: open a new stream"
            )

    def write(self, session: Session, document: ProofDocument, proof: Proof) -> None:
        """Write the results in the transaction in which the jobs succeed.

        ``proof``: the row of the first frame.
        """
        values, link = document.statement.values, following(self.link, document)
        labels = [as_list(values[f"label/{name}"]) for name in (SEEN, ANSWER)]
        frames = [session.get_one(Frame, each) for each in (proof.id, *self.others)]
        for frame, seen, answer in zip(frames, *labels, strict=True):
            frame.model, frame.link, frame.seen, frame.answer = self.model, link, seen, answer
            frame.batch = frames[0].number if self.others else None
        for other in Proofs(session).each(self.others):
            for name in ("model_id", "request", "verification_key_id", "document", "proofs"):
                setattr(other, name, getattr(proof, name))


def turn_of(runtime: Runtime, hold: Hold, proof: Proof, secrets: dict[str, Secret]) -> Turn:
    """Return the turn of the frame, with the frames that come after it if they are a batch.

    The labels before the frame determine its model and its prior. The last attempt is at the frame alone: a
    batch may fail because of its size. ``secrets``: of ``intake.frame_values``.
    """
    last = 1 < hold.claim.attempt == runtime.settings.max_attempts
    with runtime.database.read() as session:
        frame = session.get_one(Frame, proof.id)
        stream = Streams(session).get(frame.stream_id)
        place = _place_of(session, frame)
        plan, link = place.course.plan, place.link
        model = stream.models[plan.model].model
        batch = None if last else place.head.rules.batch
        others = Streams(session).batch(stream.id, frame.number, batch)[1:] if batch else []
    taken, size = input_of(runtime, model), 1 + len(others)
    member = place.head.bank.models[plan.model]
    key = member.batch_key if others else member.verification_key
    prior = np.array([member.margin + value for value in plan.prior]).reshape(taken.form.prior)
    asked = request(taken, stream.input_privacy, size)
    asked |= {"challenge": challenge(link, frame.number, size)}
    with runtime.database.write() as session:
        if session.scalar(select(Job.id).where(is_held(hold.claim)).with_for_update()) is not None:
            row = Proofs(session).get(proof.id)
            row.model_id, row.request = model.id, asked
            session.flush()
            session.expire(row)
        proof = Proofs(session).get(proof.id)
    seen = intake.of_place(secrets, plan.model)
    if others:
        rest = [encryption.get_secrets(runtime, f"input:{each.id}", each.input or "") for each in others]
        seen = np.stack([seen, *(intake.of_place(each, plan.model) for each in rest)])
        prior = np.stack([prior] * size)
    inputs = {f"input/{taken.form.input}": Secret(seen), f"input/{PRIOR}": Secret(prior)}
    return Turn(proof, [each.id for each in others], inputs, plan.model, key or "", link)


@dataclass
class _Place:
    """The position in a stream: ``number`` frames are behind it."""

    head: Head
    course: Course
    link: bytes
    number: int = 0

    def pass_by(self, rows: Sequence[Row[bytes, int, int, dict[str, Any]]]) -> None:
        """Advance past the frames that are over, given as rows of ``Streams.links``.

        Frames of a batch that is not complete are not passed.
        """
        while rows:
            link, seen, batch, problem = rows[0]
            size = 1 if batch is None else self.head.rules.batch or 1
            if size > len(rows):
                return
            if seen is None:
                self.link = following(self.link, documents.missed(problem))
            else:
                self.link = link
                self.course.observe([each.seen for each in rows[:size]])
            self.number, rows = self.number + size, rows[size:]


_places: Final = Recent[str, _Place](_REMEMBERED)
"""By their streams."""


def _place_of(session: Session, frame: Frame) -> _Place:
    """All frames before this one are over."""
    place = _places.get(frame.stream_id)
    if place is None or place.number > frame.number:
        head = checked(Head, Streams(session).head(frame.stream_id))
        place = _Place(head, head.course(), beginning(head))
    while place.number < frame.number:
        place.pass_by(Streams(session).links(frame.stream_id, place.number, frame.number))
    _places.keep(frame.stream_id, place)
    return place
