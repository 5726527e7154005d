"""A bank of two tiny models, and streams that are proven with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import onnx
from numpy.typing import ArrayLike, NDArray
from onnx import TensorProto, helper, numpy_helper

from tests.client.makers import Maker, inference
from tests.prover.statements import commitment_basis
from zenserve.base.progress import silent
from zenserve.circuits import Inference, compile_inference, load_onnx, parameters, quantise
from zenserve.circuits.banks import MARGIN, profile
from zenserve.circuits.priors import Member, with_prior
from zenserve.circuits.schemes import proving
from zenserve.kernels import fr
from zenserve.prover import registry
from zenserve.prover.groth16 import Opening
from zenserve.verifier.bank import ANSWER, PRIOR, SEEN
from zenserve.verifier.description import as_list
from zenserve.verifier.documents import KeyFile, ProofDocument
from zenserve.verifier.fields import Values
from zenserve.verifier.keys import OpenedKey, opened
from zenserve.verifier.schemes import Privacy
from zenserve.verifier.stream import (
    Bank,
    BankModel,
    Head,
    Missed,
    Rules,
    StreamFile,
    beginning,
    challenge,
    following,
)
from zenserve.verifier.streams.course import Plan
from zenserve.verifier.words import make_statement

CLASSES = 4
BEGUN = "2026-11-23T12:00:00Z"
SYSTEM = registry.find("groth16-bls12-381")


class Model(NamedTuple):
    member: Member
    circuit: Inference
    key: KeyFile
    file: Path
    openings: Mapping[str, Opening]

    @classmethod
    def of(cls, weight: NDArray[np.float64], folder: Path, weights: Privacy) -> Model:
        member = with_prior(onnx_of(weight), SAMPLES)
        circuit = circuit_of(member, weights)
        values = parameters(circuit.qgraph)
        basis = commitment_basis(len(values)) if weights == "committed" else None
        openings = {"model": basis.commit(fr.from_ints(values.tolist()))} if basis else {}
        key = proving.setup(SYSTEM, circuit, basis, folder, 1, silent)
        return cls(member, circuit, key, folder, openings)

    def batched(self, size: int) -> Model:
        """The same, for so many frames at a time."""
        circuit = circuit_of(self.member, self.circuit.typed.weight_privacy, batch=size)
        basis = commitment_basis(len(parameters(circuit.qgraph))) if self.openings else None
        folder = self.file.with_name(f"{self.file.name}-by-{size}")
        key = proving.setup(SYSTEM, circuit, basis, folder, 1, silent)
        return self._replace(circuit=circuit, key=key, file=folder)

    @property
    def commitments(self) -> dict[str, str]:
        return {name: opening.commitment.hex() for name, opening in self.openings.items()}

    def quantised(self, x: NDArray[np.float64]) -> NDArray[np.int64]:
        return integers_of(self.circuit, x)

    def frame(self, x: NDArray[np.float64], prior: ArrayLike, answers: str) -> ProofDocument:
        """Of a batch ``x`` has so many rows, and ``prior`` one for all of them or as many."""
        q = self._given(x, prior)
        return self._proven(q, self.circuit.values(q), answers)

    def exchanged(self, x: NDArray[np.float64], prior: ArrayLike, answers: str) -> ProofDocument:
        """It says the first frame's labels of the second, and the other way round."""
        q = self._given(x, prior)
        values = self.circuit.values(q)
        for name in ("label/seen", "label/answer"):
            first, second, *rest = as_list(values[name])
            assert first != second
            values[name] = [second, first, *rest]
        return self._proven(q, values, answers)

    def _given(self, x: NDArray[np.float64], prior: ArrayLike) -> dict[str, NDArray[np.int64]]:
        return {"x": self.quantised(x), PRIOR: np.broadcast_to(MARGIN + np.asarray(prior), x.shape)}

    def _proven(self, q: Mapping[str, NDArray[np.int64]], values: Values, answers: str) -> ProofDocument:
        """That the statement has these ``values``, be they what follows from ``q`` or not."""
        statement = make_statement(
            self.key, values=values, commitments=self.commitments, made_at=BEGUN, challenge=answers
        )
        witness = partial(self.circuit.witness, q, statement=statement.scalar)
        proof = proving.prove(SYSTEM, self.circuit, self.file, witness, lambda _: self.openings, 1, silent)
        return ProofDocument.of(statement, [proof])


class Stage(NamedTuple):
    """Two models, of which the second is less sure. ``batches``: for several frames at a time."""

    models: list[Model]
    head: Head
    batches: Sequence[Model] = ()

    @classmethod
    def of(cls, folder: Path, weights: Privacy = "public") -> Stage:
        exact, rough = np.eye(CLASSES), np.eye(CLASSES) + 0.5 * np.roll(np.eye(CLASSES), 1, axis=1)
        models = [
            Model.of(weight, folder / str(place), weights) for place, weight in enumerate((exact, rough))
        ]
        x, labels = inputs(range(CLASSES), 10, 0.1)
        members = [
            BankModel(
                commitment=model.commitments.get("model"),
                verification_key=model.key.id,
                cost=2 - place,
                bit=model.member.bit,
                margin=MARGIN,
                outputs=profile(model.circuit.qgraph, model.quantised(x)).tolist(),
            )
            for place, model in enumerate(models)
        ]
        bank = Bank(classes=CLASSES, labels=labels.tolist(), models=members)
        return cls(models, Head(bank=bank, rules=Rules(noise=20), begun_at=BEGUN))

    def batched(self, size: int) -> Stage:
        """The same bank, by which so many frames in a row have one proof."""
        batches = [model.batched(size) for model in self.models]
        return Stage(self.models, head_in_batches(self.head, size, batches), batches)

    @property
    def keys(self) -> dict[str, OpenedKey]:
        return {model.key.id: opened(model.key) for model in (*self.models, *self.batches)}

    def proven(self, frames: Iterable[NDArray[np.float64] | None]) -> StreamFile:
        """A stream of these inputs; None for one that is missed. As many as can be are in batches."""
        given, batch = [*frames], self.head.rules.batch or 1
        course, link, made = self.head.course(), beginning(self.head), list[ProofDocument | Missed]()
        number = 0
        while number < len(given):
            frame, size = self._next(given[number : number + batch], course.plan, link, number)
            if isinstance(frame, ProofDocument):
                course.observe(seen_of(frame))
            made.append(frame)
            link, number = following(link, frame), number + size
        return StreamFile(head=self.head, frames=made)

    def _next(
        self, ahead: Sequence[NDArray[np.float64] | None], plan: Plan, link: bytes, number: int
    ) -> tuple[ProofDocument | Missed, int]:
        """What follows, and of how many frames it is."""
        here = [x for x in ahead if x is not None]
        if ahead[0] is None:
            return Missed(missed="deadline"), 1
        if self.batches and len(here) == self.head.rules.batch:
            answers = challenge(link, number, len(here))
            return self.batches[plan.model].frame(np.stack(here), plan.prior, answers), len(here)
        return self.models[plan.model].frame(here[0], plan.prior, challenge(link, number)), 1

    def wrong(self, frames: Sequence[ProofDocument | Missed], x: NDArray[np.float64]) -> dict[str, Wrong]:
        """Frames that are proven, none of them the next after ``frames``, where the second model is asked
        for: by what is wrong."""
        course, link = self.head.course(), beginning(self.head)
        for frame in frames:
            if isinstance(frame, ProofDocument):
                course.observe(seen_of(frame))
            link = following(link, frame)
        assert course.plan.model == 1
        (first, second), number, prior = self.models, len(frames), course.plan.prior
        answers, none = challenge(link, number), [0] * CLASSES
        return {
            "another model's": Wrong(first.frame(x, prior, answers), "key_mismatch"),
            "without a prior": Wrong(second.frame(x, none, answers), "input_mismatch"),
            "of another prior": Wrong(second.frame(x, [*prior[1:], prior[0]], answers), "input_mismatch"),
            "of another number": Wrong(
                second.frame(x, prior, challenge(link, number + 1)), "challenge_mismatch"
            ),
        }

    def said_to_be_of(self, size: int, x: NDArray[np.float64]) -> StreamFile:
        """A batch, and a head that says another size of it."""
        head = head_in_batches(self.head, size, self.batches)
        answers = challenge(beginning(head), 0, len(x))
        return StreamFile(head=head, frames=[self.batches[0].frame(x, [0] * CLASSES, answers)])

    def mixed(self, x: NDArray[np.float64]) -> StreamFile:
        """A frame and then a batch, both of the first model, whose key for batches is of the second's
        network."""
        head, none = head_in_batches(self.head, len(x) - 1, [self.batches[1]] * 2), [0] * CLASSES
        link = beginning(head)
        frame = self.models[0].frame(x[0], none, challenge(link, 0))
        answers = challenge(following(link, frame), 1, len(x) - 1)
        return StreamFile(head=head, frames=[frame, self.batches[1].frame(x[1:], none, answers)])

    def wrong_batches(
        self, frames: Sequence[ProofDocument | Missed], x: NDArray[np.float64]
    ) -> dict[str, Wrong]:
        """Proofs of these rows in place of the batch that comes after ``frames``, by what is wrong."""
        course, link, number = self.head.course(), beginning(self.head), 0
        for frame in frames:
            seen = seen_of(frame) if isinstance(frame, ProofDocument) else []
            course.observe(seen)
            link, number = following(link, frame), number + max(1, len(seen))
        assert course.plan.model == 1
        (first, second), prior, size = self.batches, course.plan.prior, len(x)
        answers, later = challenge(link, number, size), [*prior[1:], prior[0]]
        shorter = self.models[1].batched(size - 1)
        answered = {
            "with a filler that counts": challenge(link, number, size - 1),
            "across a gap": challenge(link, number, size + 1),
            "as one frame": challenge(link, number),
            "of frames that were counted": challenge(link, number - 1, size),
        }
        return {
            "of another size": Wrong(
                shorter.frame(x[1:], prior, challenge(link, number, size - 1)), "batch_mismatch", shorter.key
            ),
            "of another model": Wrong(first.frame(x, prior, answers), "key_mismatch"),
            "without a prior": Wrong(second.frame(x, [0] * CLASSES, answers), "input_mismatch"),
            "with a prior of its middle": Wrong(
                second.frame(x, np.vstack([[prior] * 2, [later] * (size - 2)]), answers), "input_mismatch"
            ),
            "with answers exchanged": Wrong(second.exchanged(x, prior, answers), "pairing_mismatch"),
            "and one of its frames once more": Wrong(
                self.models[1].frame(x[-1], prior, challenge(link, number - 1)), "challenge_mismatch"
            ),
            **{
                name: Wrong(second.frame(x, prior, each), "challenge_mismatch")
                for name, each in answered.items()
            },
        }


def head_in_batches(head: Head, size: int, batches: Sequence[Model]) -> Head:
    """That with a key for batches of each model."""
    models = [
        model.model_copy(update={"batch_key": each.key.id})
        for model, each in zip(head.bank.models, batches, strict=True)
    ]
    bank = head.bank.model_copy(update={"models": models})
    return head.model_copy(update={"bank": bank, "rules": head.rules.model_copy(update={"batch": size})})


class Wrong(NamedTuple):
    """``key``: its own, where it is none of the stage's."""

    frame: ProofDocument
    reason: str
    key: KeyFile | None = None


class Stranger(NamedTuple):
    """The only model of a bank that it is not fit for, and the first frame of a stream."""

    key: KeyFile
    file: StreamFile
    reason: str


def strangers(stage: Stage) -> dict[str, Stranger]:
    """Their proofs are valid. By what is wrong with them."""
    own = stage.models[0].member
    committed = circuit_of(own, "committed")
    values = parameters(committed.qgraph)
    basis = commitment_basis(len(values))
    maker = Maker.of(committed, basis)
    mine, another = maker.commit(values), maker.commit(values)
    exchanged = Maker.of(circuit_of(renamed(own, {SEEN: ANSWER, ANSWER: SEEN}), "public"), basis)
    steered = Maker.of(circuit_of(steered_by_its_prior(own), "public"), basis)
    hidden = Maker.of(circuit_of(own, "public", prior="private"), basis)
    return {
        "of weights that the head does not name": _stranger(stage, maker, None, mine, "model_mismatch"),
        "of another commitment": _stranger(stage, maker, another, mine, "model_mismatch"),
        "of a prior that is not shown": _stranger(stage, hidden, None, None, "input_mismatch"),
        "of labels that are exchanged": _stranger(stage, exchanged, None, None, "bank_mismatch"),
        "of a label that its prior steers": _stranger(stage, steered, None, None, "bank_mismatch"),
    }


def _stranger(
    stage: Stage, maker: Maker, said: Opening | None, opened: Opening | None, reason: str
) -> Stranger:
    circuit, bank = maker.circuit, stage.head.bank
    assert isinstance(circuit, Inference)
    names = {"commitment": said and said.commitment.hex(), "verification_key": maker.key_file.id}
    models = [bank.models[0].model_copy(update=names)]
    head = stage.head.model_copy(update={"bank": bank.model_copy(update={"models": models})})
    q = {"x": integers_of(circuit, inputs([0], 1, 0.1)[0][0]), PRIOR: np.full(CLASSES, MARGIN)}
    openings = {"model": opened} if opened else {}
    frame = inference(maker, q, openings, challenge=challenge(beginning(head), 0))
    return Stranger(maker.key_file, StreamFile(head=head, frames=[frame]), reason)


def circuit_of(member: Member, weights: Privacy, prior: Privacy = "public", *, batch: int = 1) -> Inference:
    network = quantise(load_onnx(member.onnx), {"x": SAMPLES, PRIOR: member.priors(CLASSES, len(SAMPLES))})
    privacy: dict[str, Privacy] = {"x": "private", PRIOR: prior}
    return compile_inference(
        network, input_privacy=privacy, weight_privacy=weights, reveal="label", batch=batch
    )


def integers_of(circuit: Inference, x: NDArray[np.float64]) -> NDArray[np.int64]:
    (kind,) = (entry.type for entry in circuit.qgraph.inputs if entry.name == "x")
    return kind.quantise(x)


def renamed(member: Member, names: Mapping[str, str]) -> Member:
    """With its outputs under other names."""
    file = onnx.load_from_string(member.onnx)
    for node in file.graph.node:
        node.output[:] = [names.get(name, name) for name in node.output]
    for end in file.graph.output:
        end.name = names.get(end.name, end.name)
    return replace(member, onnx=bytes(file.SerializeToString()))


def steered_by_its_prior(member: Member) -> Member:
    """What it sees is its answer."""
    file = onnx.load_from_string(member.onnx)
    (node,) = (node for node in file.graph.node if SEEN in node.output)
    file.graph.node.remove(node)
    file.graph.node.append(helper.make_node("Identity", [ANSWER], [SEEN]))
    return replace(member, onnx=bytes(file.SerializeToString()))


def seen_of(frame: ProofDocument) -> list[int]:
    return as_list(frame.statement.values["label/seen"])


def inputs(classes: Sequence[int], each: int, noise: float) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """``each`` of these classes, in turn."""
    labels = np.tile(np.array(classes), each)
    rng = np.random.default_rng(5)
    return 8 * np.eye(CLASSES)[labels] + noise * rng.normal(size=(len(labels), CLASSES)), labels


SAMPLES: Final = inputs(range(CLASSES), 64, 0.5)[0]
"""Of a calibration."""


def onnx_of(weight: NDArray[np.float64]) -> bytes:
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["scores"])],
        "test",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", CLASSES])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["batch", CLASSES])],
        [numpy_helper.from_array(weight.astype(np.float32), "w")],
    )
    opsets = [helper.make_opsetid("", 17)]
    return bytes(helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString())
