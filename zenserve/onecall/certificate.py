"""A proof that a network keeps its label near an input, in one call (docs/robustness.md)."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from zenserve.base.progress import Progress, silent
from zenserve.circuits import compile_robustness, parameters
from zenserve.circuits.comparison import gaps
from zenserve.circuits.comparison.differences import require_near
from zenserve.circuits.comparison.integers import compare_integers
from zenserve.circuits.quantised.typed import TypedGraph
from zenserve.circuits.tuning import tune
from zenserve.onecall import networks
from zenserve.onecall.proof import Proof, verify
from zenserve.onecall.proving import Party, calibrated
from zenserve.prover import registry
from zenserve.verifier.registry import FIRST
from zenserve.verifier.schemes import Norm, Privacy, PublicOrPrivate


def certify(
    network: Any,
    x: Any,
    *,
    eps: float,
    norm: Norm = "inf",
    calibration: Any = None,
    bits: int | None = 8,
    input_privacy: PublicOrPrivate = "public",
    weight_privacy: Privacy | None = None,
    challenge: str | None = None,
    accept_difference: bool = False,
    system: str = FIRST,
    progress: Progress = silent,
) -> Proof:
    """A proof, verified, that ``network`` gives the label of ``x`` to every input near it.

    ``eps``: by how much each entry may differ, in the input's units, of which whole steps of the quantised
    input count; or, of the ``norm`` "2", the root of what all differences, squared, add up to. All else as
    ``prove`` takes it. The proof is of the network of integers that
    ``calibration`` makes. Raises as ``prove``, ``ModelError`` (``model.unsupported_operator``) where there
    are no certificates of such a network, and ``StatementError`` (``statement.not_certified``) where there
    is none that reaches so far: ``robustness`` says how far they do.
    """
    progress("read", 0.0)
    x = networks.plain(x)
    loaded = networks.load(network, x)
    graph = loaded.graph
    own = networks.inputs(graph, x)
    samples = calibrated(graph, own, calibration)
    compared = gaps.chosen(graph, samples, own)
    differences = loaded.differences(compared, own=True, accept=accept_difference)
    qgraph = tune(graph, samples, bits=bits, weight_privacy=weight_privacy, progress=progress).qgraph
    weight_privacy = weight_privacy or TypedGraph.most_private(qgraph)
    differences += (compare_integers(graph, qgraph, compared, own=True),)
    if not accept_difference:
        require_near(differences)
    progress("compile", 0.0)
    circuit = compile_robustness(
        qgraph, input_privacy=input_privacy, weight_privacy=weight_privacy, norm=norm
    )
    (given,) = own.values()
    q, radius = qgraph.quantise_input(given), steps(eps, qgraph.input.type.scale)
    with TemporaryDirectory() as folder:
        party = Party(registry.find(system), Path(folder), progress)
        weights = {"model": parameters(qgraph)} if weight_privacy == "committed" else {}
        party.commit(weights, 0)
        registration = party.register(qgraph) if weights else None
        judged = party.prove(
            circuit, circuit.values(q, radius), partial(circuit.witness, q, radius), challenge
        )
    progress("verify", 0.0)
    proof = Proof(judged.document, judged.key, registration, circuit=judged.circuit, differences=differences)
    if not (verdict := verify(proof)).valid:
        raise RuntimeError(f"the fresh proof does not verify: {verdict.reason}")
    return proof


def steps(eps: float, scale: float) -> int:
    """Whole ones, where a quotient of floats may be short of one by its rounding."""
    return math.floor(eps / scale * (1 + 2**-40))
