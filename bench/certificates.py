"""Certificates of the network of ``examples.robustness``, proven: what they reach, and what they take.

Topics of ``bench.robustness``. ``certificate``: the input is public; an inference of it, with the same
privacies, is beside. ``balls``: the same within l2 balls. ``accuracy``: how many of 100 labels are right and
stay so, in shards. ``images``: what certificates reach of networks of ``examples.camera``, which were not
trained for any, and of convolutions that were; it takes ``$ZENSERVE_DATA``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np

import bounds
from base.progress import silent
from bench.measure import alone, timed
from bench.report import Row
from bounds import Ball, Method
from circuits import (
    Inference,
    QuantGraph,
    Robustness,
    compile_accuracy,
    compile_inference,
    compile_robustness,
    parameters,
    quantise,
)
from circuits.schemes import proving
from examples.camera import network as camera
from examples.robustness import network as robust
from examples.zoo.data import FOLDER, cifar, mnist, persons
from prover import registry
from verifier.datasets import LabelledData
from verifier.documents import ProofDocument
from verifier.schemes import Norm, Privacy
from verifier.words import make_statement
from zenserve.accuracy import prove_shards, shard_values, shards_of
from zenserve.proof import Keyed, Proof, verify
from zenserve.proving import THREADS, Party

SYSTEMS: Final = ("groth16-bls12-381", "spartan-bls12-381")
METHODS: Final[tuple[Method, ...]] = ("ibp", "crown-ibp", "crown")
STEPS: Final[Mapping[Norm, tuple[int, ...]]] = {"inf": (1, 2, 4, 8), "2": (20, 40, 80, 120, 160, 200)}
FEW_STEPS: Final[Mapping[Norm, tuple[int, ...]]] = {"inf": (1, 2, 4), "2": (2, 4, 8)}
SHARD: Final = 20
RADII: Final[Mapping[Norm, int]] = {"inf": 8, "2": 80}
RADIUS: Final = RADII["inf"]
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
            yield _proven(graph, circuit, inference, q[0], system)


def images(quick: bool) -> Iterator[Row]:
    """Of images that a network is right on, how many have a certificate; ``right``: its share of 1,000."""
    norms: tuple[Norm, ...] = ("2",) if quick else ("inf", "2")
    for name, network, split in (
        ("faces, for accuracy", camera.FACES.network("small"), persons),
        ("CIFAR-10, for accuracy", camera.CIFAR.network("tiny"), cifar),
        ("CIFAR-10, for certificates", robust.convolutional("cifar"), cifar),
        ("MNIST, for certificates", robust.convolutional("mnist"), mnist),
    ):
        seen, held_out = split(FOLDER)
        graph = quantise(network, seen.pixels[:40] / 255)
        q, labels = held_out.pixels[:1000].astype(np.int64), held_out.labels[:1000]
        right = graph.run(q).argmax(axis=1) == labels
        share = {"right": 100 * float(right.mean()), "images": 1 if quick else 16}
        for norm in norms:
            steps = FEW_STEPS[norm][:1] if quick else FEW_STEPS[norm]
            for row in _reached(name, graph, q[right][: share["images"]], steps, norm, ("crown-ibp",)):
                yield replace(row, more={**row.more, **share})


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
        party.commit(model, max(map(len, shard_values(circuit, data))))
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


def _proven(graph: QuantGraph, circuit: Robustness, inference: Inference, q: Any, system: str) -> Row:
    certified, plain = (_made(graph, each, q, system) for each in (circuit, inference))
    more = {
        "weights": circuit.typed.weight_privacy,
        "setup_seconds": certified["setup"],
        "verify_seconds": certified["verify"],
        "proof_bytes": certified["bytes"],
        "inference_constraints": inference.constraint_system.constraints,
        "inference_seconds": plain["prove"],
        "inference_verify_seconds": plain["verify"],
        "times_inference": certified["prove"] / plain["prove"],
    }
    constraints = circuit.constraint_system.constraints
    name = f"robust-mnist, {more['weights']}, {system}"
    return Row(name, constraints, certified["prove"], threads=THREADS, more=more)


def _made(graph: QuantGraph, circuit: Robustness | Inference, q: Any, system: str) -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        party = Party(registry.find(system), Path(folder), silent)
        party.commit({"model": parameters(graph)} if circuit.commitments else {}, 0)
        file, basis = Path(folder) / "key", party.basis if circuit.commitments else None
        key, setup = timed(lambda: proving.setup(party.system, circuit, basis, file, THREADS, silent))
        if isinstance(circuit, Robustness):
            radius = RADII[circuit.certificate.norm]
            values, witness = circuit.values(q, radius), partial(circuit.witness, q, radius)
        else:
            values, witness = circuit.values(q), partial(circuit.witness, q)
        commitments = {name: party.openings[name].commitment.hex() for name in circuit.commitments}
        statement = make_statement(key, values=values, commitments=commitments, made_at=MADE_AT)
        openings, given = party.openings, partial(witness, statement=statement.scalar)
        asked = party.system, circuit, file, given, lambda _: openings, THREADS, silent
        proof, prove = timed(lambda: proving.prove(*asked))
        made = Keyed(ProofDocument.of(statement, [proof]), key, circuit=party.file_of(circuit, key))
    document = Proof(made.document, made.key, circuit=made.circuit)
    verdict, taken = timed(lambda: verify(document))
    if not verdict.valid:
        raise RuntimeError(f"the proof does not verify: {verdict.reason}")
    return {"setup": setup, "prove": prove, "verify": taken, "bytes": len(proof)}
