"""What is proven, held against a recording: statements, descriptions and honest witnesses of the zoo.

``python -m tests.circuits.test_recorded [NETWORK ..]`` records them anew, all in about half an hour: for a
change that is meant to change what is proven. Keys that were made before are then of other statements.

Each network is compiled for every scheme, privacy and level, up to ``_MOST_ROWS`` rows: what is larger does
not fit into memory with its witness, and its rows are pinned in ``constraint_counts.json``. ``make test``
looks at small ones, ``make test-all`` at all.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np
import pytest

from tests.circuits.relation_checker import broken
from tests.circuits.support import held
from zenserve.base.processors import usable_cores
from zenserve.circuits import (
    QuantGraph,
    compile_accuracy,
    compile_inference,
    compile_recognition,
    compile_registration,
    plan_inference,
    quantise,
    zoo,
)
from zenserve.circuits.graphs.types import Affine
from zenserve.circuits.lowering import Level
from zenserve.circuits.operators.sums import Accumulating
from zenserve.circuits.schemes.circuit import Circuit
from zenserve.kernels import FrArray, fr
from zenserve.relations.integers import IntArray
from zenserve.verifier.schemes import Privacy, Reveal

PINNED = Path(__file__).parent / "recorded_statements.json"
NETWORKS = (*zoo.NAMES, zoo.EMBEDDING)
PRIVACIES: tuple[Privacy, ...] = get_args(Privacy)
LEVELS: tuple[Level, ...] = get_args(Level)
_MOST_ROWS = 1 << 24
# What ``make test`` compiles: a large network takes seconds to quantise alone.
_SAMPLED = ("shallownet-mnist", "lenet-small-cifar", zoo.EMBEDDING)
_SAMPLED_ROWS = 1 << 17
# In place of the hash of a document.
_STATEMENT = 21
_THREADS = usable_cores()


class Case(NamedTuple):
    """``shown``: what an inference reveals; ``reference``: the privacy of a recognition's."""

    scheme: str
    weights: Privacy
    input: Privacy = "private"
    level: Level = 5
    shown: Reveal = "label"
    reference: Privacy = "public"

    def __str__(self) -> str:
        of_scheme = {"inference": [f"shows {self.shown}"], "recognition": [f"{self.reference} reference"]}
        named = [self.scheme, f"{self.weights} weights"]
        if self.scheme in of_scheme:
            named += [f"{self.input} input", *of_scheme[self.scheme], f"level {self.level}"]
        return ", ".join(named)


def cases(network: str) -> Iterator[Case]:
    """All of a network, whatever their size."""
    yield Case("registration", "committed")
    yield from (Case("accuracy", weights) for weights in PRIVACIES)
    for level in LEVELS:
        known = [privacy for privacy in PRIVACIES if level == 5 or privacy != "committed"]
        for weights, given in product(known, known):
            yield Case("inference", weights, given, level)
        shows: tuple[Reveal, ...] = ("logits", "top")
        yield from (Case("inference", "public", "private", level, shown) for shown in shows)
        if network == zoo.EMBEDDING:
            for weights, given in product(known, known):
                yield Case("recognition", weights, given, level)
            for reference in known[1:]:
                yield Case("recognition", "public", "private", level, reference=reference)


@lru_cache(maxsize=1)
def quantised(name: str) -> tuple[QuantGraph, IntArray]:
    """A network and two inputs, int64[2, *input_shape].

    Where additions ask for one scale, that of a tensor has the last bits of a BLAS: they are left out.
    """
    samples = zoo.calibration(name)
    graph = quantise(zoo.network(name), samples)
    nodes = tuple(
        replace(node, rescale=replace(node.rescale, output=_rounded(node.rescale.output)))
        if isinstance(node, Accumulating) and node.rescale
        else node
        for node in graph.nodes
    )
    entry = replace(graph.input, type=_rounded(graph.input.type))
    graph = replace(graph, inputs=(entry,), nodes=nodes)
    return graph, graph.input.type.quantise(samples[:2])


def _rounded(kind: Affine) -> Affine:
    return replace(kind, scale=float(f"{kind.scale:.9g}"))


def compiled(network: str, case: Case) -> tuple[Circuit, FrArray]:
    """The circuit, and the honest witness up to the challenges."""
    graph, inputs = quantised(network)
    privacies: dict[str, Any] = {"input_privacy": case.input, "weight_privacy": case.weights}
    match case.scheme:
        case "registration":
            registration = compile_registration(graph)
            return registration, registration.witness(statement=_STATEMENT)
        case "accuracy":
            accuracy = compile_accuracy(graph, batch=2, weight_privacy=case.weights)
            # One that is right, and filling.
            labels = np.array([graph.execute(inputs[0]).label, graph.classes])
            return accuracy, accuracy.witness(inputs, labels, statement=_STATEMENT)
        case "inference":
            top = 2 if case.shown == "top" else 1
            inference = compile_inference(graph, **privacies, reveal=case.shown, top=top, level=case.level)
            return inference, inference.witness(inputs[0], statement=_STATEMENT)
        case _:
            of_reference: dict[str, Any] = {"reference_privacy": case.reference, "level": case.level}
            recognition = compile_recognition(graph, **privacies, **of_reference)
            first, reference = (recognition.embed(each) for each in inputs)
            distance = int(((first - reference) ** 2).sum())
            return recognition, recognition.witness(inputs[0], reference, distance, statement=_STATEMENT)


def answered(circuit: Circuit, z: FrArray) -> FrArray:
    """The witness with challenges that are always the same."""
    system = circuit.constraint_system
    drawn = [hashlib.sha512(b"challenge %d" % index).digest() for index in range(system.challenges)]
    challenges = fr.from_ints([int.from_bytes(each, "big") for each in drawn])
    z[1 + system.public : system.instance] = challenges
    circuit.program.post_challenge(z, challenges, _THREADS)
    return z


def callables(part: Any, seen: set[int] | None = None) -> Iterator[Any]:
    """What can be called among all that the steps of a witness are made of."""
    seen = set() if seen is None else seen
    if id(part) in seen or isinstance(part, np.ndarray | str | int | float | None):
        return
    seen.add(id(part))
    if callable(part):
        yield part
    parts = part if isinstance(part, tuple | list) else vars(part).values()
    for each in parts:
        yield from callables(each, seen)


def digests(circuit: Circuit, z: FrArray) -> dict[str, Any]:
    """What is recorded of a case: its rows, and the first 16 hexadecimal digits of three digests."""
    description = json.dumps(circuit.describe(), sort_keys=True).encode()
    return {
        "rows": circuit.constraint_system.constraints,
        "statement": circuit.constraint_system.digest.hex()[:16],
        "description": hashlib.sha256(description).hexdigest()[:16],
        "witness": hashlib.sha256(fr.to_canonical(z, _THREADS).data).hexdigest()[:16],
    }


def recorded() -> dict[str, dict[str, dict[str, Any]]]:
    found: dict[str, dict[str, dict[str, Any]]] = json.loads(PINNED.read_text()) if PINNED.exists() else {}
    return found


def _params() -> Iterator[Any]:
    for network, pinned in recorded().items():
        for case in filter(lambda case: str(case) in pinned, cases(network)):
            marks = () if _is_sampled(network, case, pinned[str(case)]["rows"]) else pytest.mark.large
            yield pytest.param(network, case, marks=marks, id=f"{network}: {case}")


def _is_sampled(network: str, case: Case, rows: int) -> bool:
    # The embedding network is there for what no other can do.
    asked = network != zoo.EMBEDDING or case.scheme == "recognition"
    return asked and network in _SAMPLED and rows <= _SAMPLED_ROWS


@pytest.mark.parametrize(("network", "case"), list(_params()))
def test_what_is_proven_is_what_was_recorded(network: str, case: Case) -> None:
    circuit, z = compiled(network, case)
    assert broken(circuit.relations, held(circuit, z)) == []
    assert digests(circuit, answered(circuit, z)) == recorded()[network][str(case)]
    assert list(callables(circuit.program.steps)) == []


@pytest.mark.parametrize(
    "network", [pytest.param(name, marks=() if name in _SAMPLED else pytest.mark.large) for name in NETWORKS]
)
def test_nothing_is_missing_from_the_recording(network: str) -> None:
    assert list(recorded()[network]) == [str(case) for case in _recordable(network)]


def _recordable(network: str) -> list[Case]:
    graph, _ = quantised(network)

    @cache
    def rows(given: Privacy, weights: Privacy, level: Level) -> int:
        return plan_inference(graph, input_privacy=given, weight_privacy=weights, level=level).rows

    return [case for case in cases(network) if rows(case.input, case.weights, case.level) <= _MOST_ROWS]


def _record(networks: Sequence[str]) -> None:
    found = recorded()
    for network in networks:
        of_network = {}
        for case in _recordable(network):
            print(f"{network}: {case}", file=sys.stderr)
            circuit, z = compiled(network, case)
            circuit.constraint_system.check(answered(circuit, z), _THREADS)
            of_network[str(case)] = digests(circuit, z)
        found[network] = of_network
        PINNED.write_text(_written({name: found[name] for name in NETWORKS if name in found}))


def _written(found: dict[str, dict[str, dict[str, Any]]]) -> str:
    """A case to a line: so the difference of two recordings says which they are."""
    networks = (
        f"{json.dumps(network)}: {{\n"
        + ",\n".join(f"{json.dumps(case)}: {json.dumps(values)}" for case, values in of_network.items())
        + "\n}"
        for network, of_network in found.items()
    )
    return "{\n" + ",\n".join(networks) + "\n}\n"


if __name__ == "__main__":
    _record(sys.argv[1:] or NETWORKS)
