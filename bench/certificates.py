"""Certificates of the network of ``examples.robustness``, proven: what they reach, and what they take.

Topics of ``bench.robustness``. ``certificate``: the input is public; an inference of it, with the same
privacies, is beside. ``balls``: the same within l2 balls. ``accuracy``: how many of 100 labels are right and
stay so, in shards. ``images``: what certificates reach of networks of ``examples.camera``, which were not
trained for any, and of convolutions that were, and ``image-proofs`` of some; they take ``$ZENSERVE_DATA``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from bench.measure import alone, seconds, timed
from bench.report import Row
from examples.camera import network as camera
from examples.robustness import network as robust
from examples.zoo.data import FOLDER, Split, cifar, faces, mnist, persons
from zenserve import bounds
from zenserve.base.progress import silent
from zenserve.bounds import Ball, Method
from zenserve.circuits import (
    Inference,
    QuantGraph,
    Robustness,
    compile_accuracy,
    compile_inference,
    compile_robustness,
    parameters,
    quantise,
)
from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.schemes import proving
from zenserve.circuits.schemes.circuit import Values
from zenserve.kernels import FrArray
from zenserve.onecall.accuracy import prove_shards, shards_of
from zenserve.onecall.proof import Keyed, Proof, verify
from zenserve.onecall.proving import THREADS, Party
from zenserve.prover import registry
from zenserve.relations.integers import IntArray
from zenserve.verifier.datasets import LabelledData
from zenserve.verifier.documents import ProofDocument
from zenserve.verifier.judging import Case, judge_each
from zenserve.verifier.keys import opened
from zenserve.verifier.schemes import Norm, Privacy
from zenserve.verifier.words import make_statement

SYSTEMS: Final = ("groth16-bls12-381", "spartan-bls12-381")
METHODS: Final[tuple[Method, ...]] = ("ibp", "crown-ibp", "crown")
STEPS: Final[Mapping[Norm, tuple[int, ...]]] = {"inf": (1, 2, 4, 8), "2": (20, 40, 80, 120, 160, 200)}
FEW_STEPS: Final[Mapping[Norm, tuple[int, ...]]] = {"inf": (1, 2, 4), "2": (2, 4, 8)}
SHARD: Final = 20
LENET: Final = "CIFAR-10, lenet-small"
RADII: Final[Mapping[Norm, int]] = {"inf": 8, "2": 80}
RADIUS: Final = RADII["inf"]
PROVEN, JUDGED = 3, 10
"""Times; the shortest counts: others use the machine, too."""
MADE_AT: Final = "2026-11-23T00:00:00Z"


def certificates(quick: bool, norm: Norm = "inf") -> Iterator[Row]:
    """Of 100 images, how many have a certificate by the circuit, and by bounds of other methods. Then keys,
    proofs and verdicts of the first image within 8 of 255 steps, or within a ball of 80."""
    graph = quantise(robust.network(), robust.calibration())
    images, _ = robust.held_out()
    q = np.stack([graph.quantise_input(image) for image in images[: 4 if quick else 100]])
    steps = STEPS[norm][-1:] if quick else STEPS[norm]
    yield from _reached("certified", graph, q, steps, norm, METHODS)
    if norm == "2":
        yield from _reached("certified, boxes", graph, q, steps[:2], "inf", ())
    weights: tuple[Privacy, ...] = ("public",) if quick else ("public", "committed")
    for each in weights:
        circuit = compile_robustness(graph, weight_privacy=each, norm=norm)
        inference = compile_inference(graph, weight_privacy=each, input_privacy="public")
        for system in SYSTEMS:
            yield _proven("robust-mnist", circuit, inference, q[0], RADII[norm], system)


class Seen(NamedTuple):
    """A network of images, quantised, and up to 1,000 that no training saw."""

    name: str
    graph: QuantGraph
    q: IntArray
    labels: IntArray

    @classmethod
    def of(cls, name: str, network: Graph, split: Callable[[Path], Split]) -> Self:
        seen, held_out = split(FOLDER)
        q, labels = held_out.pixels[:1000].astype(np.int64), held_out.labels[:1000].astype(np.int64)
        return cls(name, quantise(network, seen.pixels[:40] / 255), q, labels)

    @property
    def right(self) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = self.graph.run(self.q).argmax(axis=1) == self.labels
        return found


def natural() -> Iterator[Seen]:
    yield Seen.of("faces, for accuracy", camera.FACES.network("small"), persons)
    yield Seen.of("CIFAR-10, for accuracy", camera.CIFAR.network("tiny"), cifar)


def certifiable(*names: str) -> Iterator[Seen]:
    """Those that were trained for certificates."""
    made: dict[str, tuple[Callable[[], Graph], Callable[[Path], Split]]] = {
        "MNIST": (partial(robust.convolutional, "mnist"), mnist),
        "CIFAR-10": (partial(robust.convolutional, "cifar"), cifar),
        "faces": (partial(robust.convolutional, "faces"), faces),
        LENET: (robust.lenet, cifar),
    }
    for name in names:
        network, split = made[name]
        yield Seen.of(f"{name}, for certificates", network(), split)


def images(quick: bool) -> Iterator[Row]:
    """Of images that a network is right on, how many have a certificate; ``right``: its share of 1,000."""
    norms: tuple[Norm, ...] = ("2",) if quick else ("inf", "2")
    for each in (*natural(), *certifiable("MNIST", "CIFAR-10", "faces", LENET)):
        right = each.right
        q = each.q[right][: 1 if quick else 16]
        share = {"right": 100 * float(right.mean()), "images": len(q)}
        for norm in norms:
            steps = FEW_STEPS[norm][:1] if quick else FEW_STEPS[norm]
            for row in _reached(each.name, each.graph, q, steps, norm, ("crown-ibp",)):
                yield replace(row, more={**row.more, **share})


def image_proofs(quick: bool) -> Iterator[Row]:
    """Of the first image with a certificate, by the largest of the steps that it has one within; weights are
    public."""
    for seen in certifiable("MNIST") if quick else certifiable("MNIST", "CIFAR-10", LENET):
        circuit = compile_robustness(seen.graph)
        inference = compile_inference(seen.graph, input_privacy="public")
        q = next(each for each in seen.q[seen.right] if circuit.lead(each, 1) > 0)
        radius = max(each for each in FEW_STEPS["inf"] if circuit.lead(q, each) > 0)
        name = seen.name.partition(", for")[0]
        for system in SYSTEMS[-1:] if quick else SYSTEMS:
            yield _proven(name, circuit, inference, q, radius, system)


def certified_accuracies(quick: bool) -> Iterator[Row]:
    """Of labelled images, how many are right and robust by bounds in floats, of the float network and of its
    integers; then keys, proofs and verdicts of as many as circuits certify."""
    images, labels = robust.held_out()
    data = LabelledData.of(*((images[:3], labels[:3]) if quick else (images, labels)))
    graph = quantise(robust.network(), robust.calibration())
    around = Ball(data.samples, np.full(data.size, RADIUS / 255), domain=(0, 1), whole=True)
    network, right = (
        bounds.read(robust.network()),
        robust.network().run(data.samples).argmax(1) == data.labels,
    )
    for method in METHODS:
        found = bounds.certify(network, around, data.labels, method).robust & right
        yield Row("floats", data.size, 100 * float(found.mean()), unit="%", more={"method": method})
    q = np.stack([graph.quantise_input(image) for image in data.samples])
    network, right = bounds.read(graph), graph.run(q).argmax(axis=1) == data.labels
    for method in METHODS:
        found = bounds.certify(network, _around(graph, q, RADIUS), data.labels, method).robust & right
        yield Row("integers", data.size, 100 * float(found.mean()), unit="%", more={"method": method})
    weights: tuple[Privacy, ...] = ("public",) if quick else ("public", "committed")
    for each in weights:
        for system in SYSTEMS:
            row, peak = alone(_counted, data, each, 2 if quick else SHARD, system)
            yield replace(row, peak_mb=peak)


def _counted(data: LabelledData, weights: Privacy, shard: int, system: str) -> Row:
    graph = quantise(robust.network(), robust.calibration())
    circuit = compile_accuracy(graph, batch=shard, weight_privacy=weights, measure="certified")
    with TemporaryDirectory() as folder:
        party = Party(registry.find(system), Path(folder), silent)
        model = {"model": parameters(graph)} if weights == "committed" else {}
        party.commit(model, max(map(len, circuit.shard_values(data))))
        shards, counted = timed(lambda: shards_of(party, circuit, data, RADIUS))
        key, setup = timed(lambda: party.key(circuit))
        made, prove = timed(lambda: prove_shards(party, circuit, key, data, shards, RADIUS))
    document, dataset = Proof(made.document, made.key, circuit=made.circuit), (data.samples, data.labels)
    verdict, taken = timed(lambda: verify(document, dataset=dataset))
    if not verdict.valid:
        raise RuntimeError(f"the proof does not verify: {verdict.reason}")
    more = {
        "certified": made.document.statement.values["certified"],
        "shards": len(shards),
        "constraints_per_sample": circuit.constraint_system.constraints / shard,
        "setup_seconds": setup,
        "count_seconds": counted,
        "verify_seconds": taken,
        "proof_bytes": sum(len(proof) // 2 for proof in made.document.proofs),
    }
    name = f"robust-mnist, {data.size} samples, {weights}, {system}"
    return Row(name, circuit.constraint_system.constraints, prove, threads=THREADS, more=more)


def _reached(
    name: str, graph: QuantGraph, q: Any, steps: tuple[int, ...], norm: Norm, methods: tuple[Method, ...]
) -> Iterator[Row]:
    circuit, network = compile_robustness(graph, norm=norm), bounds.read(graph)
    labels, constraints = graph.run(q).argmax(axis=1), circuit.constraint_system.constraints
    for radius in steps:
        found = sum((circuit.margins(each, radius) > 0).all() for each in q)
        more = {"norm": norm, "constraints": constraints}
        yield Row(name, radius, 100 * found / len(q), unit="%", more={"method": "circuit", **more})
        around = _around(graph, q, radius, norm)
        for method in methods:
            share = float(bounds.certify(network, around, labels, method).robust.mean())
            yield Row(name, radius, 100 * share, unit="%", more={"method": method, "norm": norm})


def _around(graph: QuantGraph, q: Any, radius: int, norm: Norm = "inf") -> Ball:
    kind = graph.input.type
    radii = np.full(len(q), float(radius))
    return Ball((q - kind.zero_point) * 1.0, radii, norm, domain=kind.centred, whole=True)


def _proven(name: str, circuit: Robustness, inference: Inference, q: Any, radius: int, system: str) -> Row:
    certified = _made(circuit, circuit.values(q, radius), partial(circuit.witness, q, radius), system)
    plain = _made(inference, inference.values(q), partial(inference.witness, q), system)
    more = {
        "weights": circuit.typed.weight_privacy,
        "radius": radius,
        "setup_seconds": certified["setup"],
        "verify_seconds": certified["verify"],
        "judge_seconds": certified["judge"],
        "proof_bytes": certified["bytes"],
        "inference_constraints": inference.constraint_system.constraints,
        "inference_seconds": plain["prove"],
        "inference_verify_seconds": plain["verify"],
        "inference_judge_seconds": plain["judge"],
        "times_inference": certified["prove"] / plain["prove"],
    }
    constraints = circuit.constraint_system.constraints
    name = f"{name}, {more['weights']}, {system}"
    return Row(name, constraints, certified["prove"], threads=THREADS, more=more)


def _made(
    circuit: Robustness | Inference, values: Values, witness: Callable[..., FrArray], system: str
) -> dict[str, Any]:
    """Seconds of keys, of a proof, of the verdict on what is handed on, and of one with the key at hand."""
    with TemporaryDirectory() as folder:
        party = Party(registry.find(system), Path(folder), silent)
        party.commit({"model": parameters(circuit.qgraph)} if circuit.commitments else {}, 0)
        file, basis = Path(folder) / "key", party.basis if circuit.commitments else None
        key, setup = timed(lambda: proving.setup(party.system, circuit, basis, file, THREADS, silent))
        commitments = {name: party.openings[name].commitment.hex() for name in circuit.commitments}
        statement = make_statement(key, values=values, commitments=commitments, made_at=MADE_AT)
        openings, given = party.openings, partial(witness, statement=statement.scalar)
        asked = party.system, circuit, file, given, lambda _: openings, THREADS, silent
        (proof, prove), *others = (timed(lambda: proving.prove(*asked)) for _ in range(PROVEN))
        prove = min([prove, *(taken for _, taken in others)])
        made = Keyed(ProofDocument.of(statement, [proof]), key, circuit=party.file_of(circuit, key))
    document = Proof(made.document, made.key, circuit=made.circuit)
    verdict, taken = timed(lambda: verify(document))
    if not verdict.valid:
        raise RuntimeError(f"the proof does not verify: {verdict.reason}")
    case = Case(made.document, opened(made.key, registry.SYSTEMS))
    judged = min(seconds(lambda: judge_each([case])) for _ in range(JUDGED))
    return {"setup": setup, "prove": prove, "verify": taken, "judge": judged, "bytes": len(proof)}
