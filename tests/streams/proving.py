"""A bank of two tiny models, and streams that are proven with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from base.progress import silent
from circuits import Inference, compile_inference, load_onnx, parameters, quantise
from circuits.banks import MARGIN, profile
from circuits.priors import Member, with_prior
from circuits.schemes import proving
from kernels import fr
from prover import registry
from prover.groth16 import Opening
from tests.client.makers import Maker, inference
from tests.prover.statements import commitment_basis
from verifier.bank import ANSWER, PRIOR, SEEN
from verifier.documents import KeyFile, ProofDocument
from verifier.keys import OpenedKey, opened
from verifier.schemes import Privacy
from verifier.stream import (
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
from verifier.words import make_statement

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

    @property
    def commitments(self) -> dict[str, str]:
        return {name: opening.commitment.hex() for name, opening in self.openings.items()}

    def quantised(self, x: NDArray[np.float64]) -> NDArray[np.int64]:
        return integers_of(self.circuit, x)

    def frame(self, x: NDArray[np.float64], prior: Sequence[int], answers: str) -> ProofDocument:
        q = {"x": self.quantised(x), PRIOR: np.array([MARGIN + value for value in prior])}
        statement = make_statement(
            self.key,
            values=self.circuit.values(q),
            commitments=self.commitments,
            made_at=BEGUN,
            challenge=answers,
        )
        witness = partial(self.circuit.witness, q, statement=statement.scalar)
        proof = proving.prove(SYSTEM, self.circuit, self.file, witness, lambda _: self.openings, 1, silent)
        return ProofDocument.of(statement, [proof])


class Stage(NamedTuple):
    """Two models, of which the second is less sure."""

    models: list[Model]
    head: Head

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

    @property
    def keys(self) -> dict[str, OpenedKey]:
        return {model.key.id: opened(model.key) for model in self.models}

    def proven(self, frames: Iterable[NDArray[np.float64] | None]) -> StreamFile:
        """A stream of these inputs; None for one that is missed."""
        course, link, made = self.head.course(), beginning(self.head), list[ProofDocument | Missed]()
        for number, x in enumerate(frames):
            frame: ProofDocument | Missed = Missed(missed="deadline")
            if x is not None:
                model, prior = self.models[course.plan.model], course.plan.prior
                frame = model.frame(x, prior, challenge(link, number))
                course.observe(seen_of(frame))
            made.append(frame)
            link = following(link, frame)
        return StreamFile(head=self.head, frames=made)

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


class Wrong(NamedTuple):
    frame: ProofDocument
    reason: str


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


def circuit_of(member: Member, weights: Privacy, prior: Privacy = "public") -> Inference:
    network = quantise(load_onnx(member.onnx), {"x": SAMPLES, PRIOR: member.priors(CLASSES, len(SAMPLES))})
    privacy: dict[str, Privacy] = {"x": "private", PRIOR: prior}
    return compile_inference(network, input_privacy=privacy, weight_privacy=weights, reveal="label")


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


def seen_of(frame: ProofDocument) -> int:
    label = frame.statement.values["label/seen"]
    assert isinstance(label, int)
    return label


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
