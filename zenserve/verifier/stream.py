"""Streams as files: every frame's proof, in one chain, and the verdict on all of them.

A proof is of one frame, or of a batch of frames in a row. Its statement answers a challenge that follows from
the stream's head and from all frames before it, so that frames cannot be left out, doubled, put in another
order or taken from another stream. Which model each proof is by, and with which prior, is computed again from
the labels (``zenserve.verifier.streams``).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Annotated, Final, Literal, Self

from pydantic import Field, model_validator

from zenserve.verifier.bank import ANSWER, PRIOR, SEEN, adds_prior
from zenserve.verifier.description import as_list
from zenserve.verifier.documents import ProofDocument
from zenserve.verifier.expected import Expected, ExpectedStream
from zenserve.verifier.fields import (
    MOST_INTEGER,
    Challenge,
    Commitment,
    Digest,
    Document,
    Numbers,
    Size,
    Time,
    canonical,
    is_absent,
)
from zenserve.verifier.judging import Case, judge_each
from zenserve.verifier.keys import OpenedKey
from zenserve.verifier.schemes import INPUT
from zenserve.verifier.streams.choice import Candidate, Choice
from zenserve.verifier.streams.course import Course, Plan
from zenserve.verifier.streams.detector import Detection
from zenserve.verifier.verdict import OK, RefusedError, refuse

MOST_FRAMES: Final = 1 << 17
MOST_MODELS: Final = 64
MOST_CLASSES: Final = 1 << 11
MOST_SAMPLES: Final = 1 << 16
MOST_OUTPUTS: Final = 1 << 22
"""Of a bank's models and samples together: each choice reads all of them at the most."""
MOST_STEPS: Final = (1 << 31) - 1
"""Of an output, a margin, a bit: with a prior of so many frames all sums are below 2^53."""
MOST_RUNS: Final = 1 << 8
MOST_BATCH: Final = 1 << 6
_HEAD: Final = b"zenserve stream 1\n"
_FRAME: Final = b"zenserve frame 1\n"

REASONS: Final[dict[str, str]] = {
    "no_key": "The key of one of the bank's models was not given.",
    "bank_mismatch": "The key is not of a network that adds a prior of this bank to what it sees.",
    "batch_mismatch": "The proof is of another number of frames than the rules say.",
    "network_mismatch": "The model's keys, of frames and of batches, are of different networks.",
    "challenge_mismatch": "The stream answers another challenge than the expected one.",
    "head_mismatch": "The chain begins with another link than the expected one.",
    "chain_mismatch": "The chain ends with another link than the expected one.",
}
"""The reasons that name no frame, and those in addition to ``zenserve.verifier.judging``'s, which concern the
frame that is named.
"""
_MORE_UNSEEN: Final = "That there were no more frames after the last."
_BANK_UNSEEN: Final = (
    "That bank and rules are those agreed on: how the chain begins tells, to whoever knows it."
)
_AGE_UNSEEN: Final = (
    "That the stream was made for you, or lately: without a challenge of yours, it may be an old one."
)
_CEREMONY_SEEN: Final = "The setup of each frame's key is a ceremony, or transparent, as you required."
_NOT_VERIFIED: Final = (
    "Why frames have no proof: whoever proves may leave out any so, and the course does not see them.",
    "That what the head says of profiled samples is what the models compute of them.",
    "That answers are right, or that another model's would be.",
    "What each frame's statement does not say, beside.",
)


Steps = Annotated[int, Field(ge=1, le=MOST_STEPS)]
Outputs = Annotated[
    list[Annotated[int, Field(ge=-MOST_STEPS, le=MOST_STEPS)]], Field(max_length=MOST_CLASSES, fail_fast=True)
]


class BankModel(Document):
    """A model of a bank: a network that says the labels of its outputs, and of these with ``prior`` added.

    ``bit``, ``margin`` and ``outputs`` are those of ``zenserve.verifier.streams.choice.Candidate``.
    """

    commitment: Commitment | None = Field(description="Null where its weights are public.")
    verification_key: Digest = Field(description="Of the proofs of its frames.")
    batch_key: Digest | None = Field(
        default=None,
        exclude_if=is_absent,
        description="Of the proofs of its batches; there where the rules have a batch.",
        examples=["5d" * 32],
    )
    cost: Size = Field(description="What a proof costs, such as its milliseconds.", examples=[280])
    bit: Steps = Field(description="256 times the steps of its outputs that double the odds.", examples=[709])
    margin: Steps = Field(description="The most steps that a prior takes off.", examples=[255])
    outputs: Annotated[list[Outputs], Field(max_length=MOST_SAMPLES, fail_fast=True)] = Field(
        description="Of each profiled sample, its outputs without a prior.", examples=[[[90, 12], [14, 80]]]
    )


class Bank(Document):
    """Models of the same classes, the most accurate first, and each cheaper than the one before."""

    format: Literal["zenserve bank"] = Field(default="zenserve bank", description="What this document is.")
    version: int = Field(default=1, ge=1, le=1, description="Of its format.")
    classes: int = Field(ge=2, le=MOST_CLASSES, description="How many its models tell apart.", examples=[2])
    labels: Annotated[Numbers, Field(max_length=MOST_SAMPLES)] = Field(
        description="Of the samples that were profiled, of each class equally many.", examples=[[0, 1]]
    )
    models: list[BankModel] = Field(
        min_length=1, max_length=MOST_MODELS, description="The most accurate first."
    )

    @model_validator(mode="after")
    def _is_a_bank(self) -> Self:
        costs = [model.cost for model in self.models]
        if any(later >= earlier for earlier, later in pairwise(costs)):
            raise ValueError("models: each must be cheaper than the one before")
        each = Counter(self.labels)
        if {*each} != {*range(self.classes)} or len({*each.values()}) > 1:
            raise ValueError("labels: all of the bank's classes, and of each equally many")
        if len(self.models) * len(self.labels) * self.classes > MOST_OUTPUTS:
            raise ValueError(f"models: they have more than {MOST_OUTPUTS} outputs")
        for place, model in enumerate(self.models):
            if len(model.outputs) != len(self.labels) or any(
                len(row) != self.classes for row in model.outputs
            ):
                raise ValueError(f"models.{place}.outputs: one row a sample, with a number for each class")
        return self

    def choice(self, caution: int) -> Choice:
        """Between its models."""
        models = [Candidate(model.bit, model.margin, model.outputs) for model in self.models]
        return Choice(self.classes, self.labels, models, caution)


class Rules(Document):
    """The numbers of a course: those of ``streams.detector.Detection``, ``patience`` of ``streams.course``,
    ``caution`` of ``streams.skew``."""

    hazard: int = Field(
        default=600, ge=2, le=MOST_INTEGER, description="Frames between changes, in the mean."
    )
    noise: int = Field(default=10, ge=2, le=1 << 16, description="One label of so many is at random.")
    runs: int = Field(default=30, ge=2, le=MOST_RUNS, description="How many runs are kept.")
    young: int = Field(default=12, ge=1, le=MOST_RUNS, description="How many of the latest are kept always.")
    dominance: int = Field(
        default=2, ge=1, le=1 << 16, description="How many times heavier a later run is that is believed."
    )
    patience: int = Field(
        default=5, ge=1, le=1 << 16, description="How many frames a run has before a model is chosen for it."
    )
    caution: int = Field(
        default=3, ge=1, le=1 << 16, description="Of so many frames more, of any class, priors are made."
    )
    batch: int | None = Field(
        default=None,
        ge=2,
        le=MOST_BATCH,
        exclude_if=is_absent,
        description="So many frames in a row may have one proof. Not there where each has its own.",
        examples=[4],
    )

    @model_validator(mode="after")
    def _keeps_an_old_run(self) -> Self:
        if self.young >= self.runs:
            raise ValueError("young: fewer than runs")
        return self


class Head(Document):
    """The definition of a stream: models, rules, start and challenge. It is fixed once the stream begins."""

    bank: Bank = Field(description="Its models.")
    rules: Rules = Field(description="The numbers of its course.")
    begun_at: Time = Field(description="When it began.")
    challenge: Challenge | None = Field(
        default=None,
        exclude_if=is_absent,
        description="What whoever asked for it chose: it was not made before. Else not there.",
        examples=["for Ada"],
    )

    @model_validator(mode="after")
    def _has_its_keys(self) -> Self:
        if any((model.batch_key is None) != (self.rules.batch is None) for model in self.bank.models):
            raise ValueError("bank: its models have a batch_key where the rules have a batch, and only there")
        return self

    def course(self) -> Course:
        """At its first frame."""
        rules = self.rules
        detection = Detection(
            self.bank.classes, rules.hazard, rules.noise, rules.runs, rules.young, rules.dominance
        )
        return Course(self.bank.choice(rules.caution), detection, rules.patience)


class Missed(Document):
    """A frame without a proof: it stands in the chain all the same."""

    missed: Challenge = Field(description="Why, in print.", examples=["deadline"])


def _said_frames(frame: ProofDocument | Missed) -> int:
    """Of how many frames it is, by what it says: another number is none that its key's circuit has."""
    return (
        len(as_list(frame.statement.values.get(f"label/{SEEN}", 0)))
        if isinstance(frame, ProofDocument)
        else 1
    )


class StreamFile(Document):
    """A whole stream: with the keys of its bank's models it is all that a verifier needs."""

    format: Literal["zenserve stream"] = Field(
        default="zenserve stream", description="What this document is."
    )
    version: int = Field(default=1, ge=1, le=1, description="Of its format.")
    head: Head = Field(description="What it is.")
    frames: list[ProofDocument | Missed] = Field(
        max_length=MOST_FRAMES, fail_fast=True, description="In order; those of a batch are one."
    )

    @model_validator(mode="after")
    def _has_few(self) -> Self:
        if sum(map(_said_frames, self.frames)) > MOST_FRAMES:
            raise ValueError(f"frames: those of batches counted, too, there are {MOST_FRAMES} at most")
        return self


def beginning(head: Head) -> bytes:
    """The chain's link before the first frame."""
    return hashlib.sha256(_HEAD + canonical(head)).digest()


def following(link: bytes, frame: ProofDocument | Missed) -> bytes:
    """The link after a frame: it covers what the frame says, not the numbers that prove it."""
    said = frame.statement.sha256 if isinstance(frame, ProofDocument) else canonical(frame)
    return hashlib.sha256(_FRAME + link + said).digest()


def challenge(link: bytes, number: int, size: int = 1) -> str:
    """Return the challenge of a statement about ``size`` frames, from ``number`` on, counted from 0."""
    which = f"frame {number}" if size == 1 else f"frames {number} to {number + size - 1}"
    return f"{which} after {link.hex()}"


class StreamVerification(Document):
    """The verdict on a stream. ``frame``: the first that is wrong, null where it is none of them; ``head``
    and ``link``: the chain's links before the first and after the last."""

    valid: bool
    reason: str
    detail: str
    frame: int | None = None
    frames: int = 0
    head: Digest | None = Field(default=None, description="Of bank, rules, challenge and beginning.")
    link: Digest | None = Field(default=None, description="Of the head and what all frames say.")
    missed: list[int] = Field(default=[], description="The numbers of frames without a proof.")
    by_model: list[int] = Field(default=[], description="How many frames each model of the bank labelled.")
    changes: list[int] = Field(default=[], description="The frames at which the classes changed.")
    models: list[int | None] = Field(
        default=[], description="Which model of the bank each is by. Null for frames without a proof."
    )
    labels: list[int | None] = Field(default=[], description="Null for frames without a proof.")
    proofs: list[int | None] = Field(
        default=[],
        description="The first frame of those that its proof is of: of a batch all have the same. Null for"
        " frames without a proof.",
    )
    verified: list[str] = Field(default=[], description="In sentences, what a reader may rely on.")
    not_verified: list[str] = Field(default=[], description="In sentences, what a reader may not rely on.")


def judge_stream(
    file: StreamFile, keys: Mapping[str, OpenedKey], expected: ExpectedStream | None = None
) -> StreamVerification:
    """Judge whether the stream is the expected one, and whether each frame is proven in its place, by the
    model that the course chose. ``keys``: by their ids.

    The course follows proven labels, so a file costs its reader at most a part of what it cost its writer.
    """
    expected = expected or ExpectedStream()
    links = [*accumulate(file.frames, following, initial=beginning(file.head))]
    if reason := _unexpected(file.head, links, expected):
        return StreamVerification(valid=False, reason=reason, detail=REASONS[reason])
    cases: dict[int, Case] = {}
    number = 0
    for frame, link in zip(file.frames, links, strict=False):
        size = 1
        if isinstance(frame, ProofDocument):
            key = frame.statement.verification_key.id
            if key not in keys:
                return _refused("no_key", f"{REASONS['no_key']} It is {key}.", number)
            size = _size(keys[key])
            if size not in (1, file.head.rules.batch):
                return _refused("batch_mismatch", REASONS["batch_mismatch"], number)
            wanted = Expected(challenge=challenge(link, number, size), require=expected.require)
            cases[number] = Case(frame, keys[key], wanted)
        number += size
    for first, answer in zip(cases, judge_each([*cases.values()]), strict=True):
        if not answer.valid:
            return _refused(answer.reason, answer.detail, first)
    return _followed(file.head, cases, number, links, expected)


def _size(key: OpenedKey) -> int:
    """Of how many frames its proofs are."""
    return key.circuit.batch or 1


def _unexpected(head: Head, links: Sequence[bytes], expected: ExpectedStream) -> str | None:
    """Why it is not the stream that is expected."""
    if expected.head not in (None, links[0].hex()):
        return "head_mismatch"
    if expected.challenge not in (None, head.challenge):
        return "challenge_mismatch"
    if expected.link not in (None, links[-1].hex()):
        return "chain_mismatch"
    return None


def _followed(
    head: Head, cases: Mapping[int, Case], count: int, links: Sequence[bytes], expected: ExpectedStream
) -> StreamVerification:
    """Judge whether the ``count`` frames, whose proofs are valid, are by the models that the course chose.
    ``cases``: by the first frame of each."""
    bank, course, changes, known = head.bank, head.course(), list[int](), set[tuple[int, str]]()
    networks = dict[int, str]()
    models, labels, proofs = dict[int, int](), dict[int, int](), dict[int, int]()
    for first, case in cases.items():
        place = course.plan.model
        used = place, case.key.reference.id
        try:
            seen, answers = _labels(case, bank, course.plan)
            if used not in known and not adds_prior(
                case.key.described, bank.classes, bank.models[place].margin
            ):
                refuse("bank_mismatch", REASONS["bank_mismatch"])
            if networks.setdefault(place, case.circuit.network) != case.circuit.network:
                refuse("network_mismatch", REASONS["network_mismatch"])
        except RefusedError as refusal:
            return _refused(refusal.reason, refusal.detail, first)
        known.add(used)
        for number, label in enumerate(answers, first):
            models[number], labels[number], proofs[number] = place, label, first
        changes += [first + place for place in course.observe(seen)]
    numbers, each = range(count), Counter(models.values())
    answer = StreamVerification(
        valid=True,
        reason=OK,
        detail="Every frame is proven in its place, by the model that the frames before it ask for.",
        frames=count,
        head=links[0].hex(),
        link=links[-1].hex(),
        missed=[number for number in numbers if number not in proofs],
        by_model=[each[place] for place in range(len(bank.models))],
        changes=changes,
        models=[models.get(number) for number in numbers],
        labels=[labels.get(number) for number in numbers],
        proofs=[proofs.get(number) for number in numbers],
    )
    verified = _verified(answer, expected, head.rules.batch)
    return answer.model_copy(update={"verified": verified, "not_verified": _not_verified(expected)})


def _verified(answer: StreamVerification, expected: ExpectedStream, batch: int | None) -> list[str]:
    used, known = ", ".join(map(str, answer.by_model)), ", as you expected"
    return [
        f"There are {answer.frames} frames in this order, {len(answer.missed)} of them without a proof.",
        f"By the bank's models, in their order, there are answers to {used} frames.",
        "Each answer is its model's, with the prior that the frames before it give.",
        *([_together(answer.proofs, batch)] if batch else []),
        f"The chain begins with {answer.head}{known if expected.head else ''}.",
        f"It ends with {answer.link}{known if expected.link else ''}.",
        *([f"It answers your challenge, {expected.challenge}."] if expected.challenge else []),
        *([_CEREMONY_SEEN] if expected.require else []),
    ]


def _together(proofs: Sequence[int | None], batch: int) -> str:
    """``proofs``: as the verdict has them."""
    sizes = Counter(proofs)
    del sizes[None]
    together = sum(size > 1 for size in sizes.values())
    return (
        f"{together} of {len(sizes)} proofs are of {batch} frames each: the frames before the first of them"
        " give their model and prior."
    )


def _not_verified(expected: ExpectedStream) -> list[str]:
    return [
        *([] if expected.link else [_MORE_UNSEEN]),
        *([] if expected.head else [_BANK_UNSEEN]),
        *([] if expected.challenge else [_AGE_UNSEEN]),
        *_NOT_VERIFIED,
    ]


def _labels(case: Case, bank: Bank, plan: Plan) -> tuple[list[int], list[int]]:
    """Of each frame of a proof what its model sees, and its answer. Raises ``RefusedError`` where it is not
    the plan's."""
    model, said, size = bank.models[plan.model], case.statement, _size(case.key)
    wanted = model.verification_key if size == 1 else model.batch_key
    if said.verification_key.id != wanted:
        refuse("key_mismatch", f"By the frames before it, it is for the key {wanted}.")
    if said.commitments.get("model") != model.commitment:
        refuse("model_mismatch", "By the frames before it, it is for another model of the bank.")
    if said.values.get(f"{INPUT}/{PRIOR}") != size * [model.margin + value for value in plan.prior]:
        refuse("input_mismatch", "The frames before it give another prior.")
    seen, answers = (as_list(said.values.get(f"label/{output}", [])) for output in (SEEN, ANSWER))
    own = range(bank.classes)
    if not len(seen) == len(answers) == size or any(label not in own for label in (*seen, *answers)):
        refuse("values_mismatch", "It does not say two labels of the bank's classes.")
    return seen, answers


def _refused(reason: str, detail: str, frame: int) -> StreamVerification:
    return StreamVerification(valid=False, reason=reason, detail=f"Frame {frame}: {detail}", frame=frame)
