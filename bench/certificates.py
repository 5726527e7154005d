"""Certificates of the network of ``examples.robustness``, proven: what they reach, and what they take.

A topic of ``bench.robustness``. The input is public; an inference of it, with the same privacies, is beside.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np

import bounds
from base.progress import silent
from bench.measure import timed
from bench.report import Row
from bounds import Ball, Method
from circuits import (
    Inference,
    QuantGraph,
    Robustness,
    compile_inference,
    compile_robustness,
    parameters,
    quantise,
)
from circuits.schemes import proving
from examples.robustness import network as robust
from prover import registry
from verifier.documents import ProofDocument
from verifier.schemes import Privacy
from verifier.words import make_statement
from zenserve.proof import Keyed, Proof, verify
from zenserve.proving import THREADS, Party

SYSTEMS: Final = ("groth16-bls12-381", "spartan-bls12-381")
STEPS: Final = (1, 2, 4, 8)
RADIUS: Final = 8
MADE_AT: Final = "2026-11-23T00:00:00Z"


def certificates(quick: bool) -> Iterator[Row]:
    """Of 100 images, how many have a certificate by the circuit, and by bounds of other methods. Then keys,
    proofs and verdicts of the first image within 8 of 255 steps."""
    graph = quantise(robust.network(), robust.calibration())
    images, _ = robust.held_out()
    q = np.stack([graph.quantise_input(image) for image in images[: 4 if quick else 100]])
    yield from _reached(graph, q, STEPS[-1:] if quick else STEPS)
    weights: tuple[Privacy, ...] = ("public",) if quick else ("public", "committed")
    for each in weights:
        circuit = compile_robustness(graph, weight_privacy=each)
        inference = compile_inference(graph, weight_privacy=each, input_privacy="public")
        for system in SYSTEMS:
            yield _proven(graph, circuit, inference, q[0], system)


def _reached(graph: QuantGraph, q: Any, steps: tuple[int, ...]) -> Iterator[Row]:
    circuit = compile_robustness(graph)
    network, kind, labels = bounds.read(graph), graph.input.type, graph.run(q).argmax(axis=1)
    for radius in steps:
        found = sum((circuit.margins(each, radius) > 0).all() for each in q)
        yield Row("certified", radius, 100 * found / len(q), unit="%", more={"method": "circuit"})
        centre, radii = (q - kind.zero_point) * 1.0, np.full(len(q), float(radius))
        around = Ball(centre, radii, domain=kind.centred, whole=True)
        methods: tuple[Method, ...] = ("ibp", "crown-ibp", "crown")
        for method in methods:
            share = float(bounds.certify(network, around, labels, method).robust.mean())
            yield Row("certified", radius, 100 * share, unit="%", more={"method": method})


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
            values, witness = circuit.values(q, RADIUS), partial(circuit.witness, q, RADIUS)
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
