"""Counts of the constraints that the compiler makes of a network, by layer and by purpose.

Circuits are counted while they are lowered and never laid out: level 0 of the largest network, with
1.5 · 10^9 constraints, takes seconds and fits in memory. Counts are kept in ``zenserve.circuits.cache``.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import astuple, dataclass
from functools import cached_property
from math import prod
from typing import Literal, NamedTuple, get_args

import numpy as np

from zenserve.circuits import cache, zoo
from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.types import FloatArray
from zenserve.circuits.lowering import Level
from zenserve.circuits.networks.language import tensor
from zenserve.circuits.papers.figures import DENSE_OUTPUTS
from zenserve.circuits.quantisation import quantise
from zenserve.circuits.quantised import QuantGraph
from zenserve.circuits.quantised.typed import TypedGraph
from zenserve.circuits.r1cs.builder import Builder
from zenserve.circuits.r1cs.linear import LinearCombinations
from zenserve.circuits.r1cs.tiles import Products
from zenserve.circuits.schemes.accuracy import plan_accuracy
from zenserve.circuits.schemes.cost import layer_of
from zenserve.circuits.schemes.inference import all_shown, lower_inference
from zenserve.circuits.schemes.registration import lower_registration
from zenserve.circuits.zoo.weights import initial
from zenserve.relations.integers import IntArray
from zenserve.verifier.schemes import Privacy

LEVELS: tuple[Level, ...] = get_args(Level)

Kind = Literal["input", "weights", "products", "sums", "rescaling", "clamps", "output", "tables"]
# By the word after a layer's name: ranges of sums and of what lies between them where products are packed,
# then rescaling and clamps. All else is a layer's products.
_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("weight", "bias"), "weights"),
    **dict.fromkeys(("sums", "between"), "sums"),
    **dict.fromkeys(("requantise", "divide", "quotient", "remainder"), "rescaling"),
    **dict.fromkeys(("clamp", "cap", "sign", "lower"), "clamps"),
}
# More wires than this at once are the digits of level 0's sign checks: nothing but rows reads them.
_UNREAD = 1 << 27
_NO_WIRES: IntArray = np.zeros(0, dtype=np.int64)


class Part(NamedTuple):
    """``operator`` of the layer; empty for the input, the output, and tables, which layers share."""

    operator: str
    kind: Kind


@dataclass(frozen=True)
class Circuit:
    """The compilation of a network: to one inference with a private input, to its registration, or to its
    accuracy over so many images."""

    weights: Privacy
    level: Level
    bits: int = 8
    registration: bool = False
    images: int = 0

    @property
    def label(self) -> str:
        if self.registration:
            return "registration, once"
        if self.images:
            return f"accuracy, {self.weights}"
        return f"level {self.level}" + (", committed" if self.weights == "committed" else "")


PUBLIC = tuple(Circuit("public", level) for level in LEVELS)
# The last one's weights stand in a segment that proofs are linked to. REGISTRATION proves once what they are.
PRIVATE = (*(Circuit("private", level) for level in LEVELS), Circuit("committed", LEVELS[-1]))
REGISTRATION = Circuit("committed", LEVELS[-1], registration=True)


@dataclass(frozen=True)
class Count:
    """``rows``: by name of block; ``operators``: of the network's nodes."""

    rows: dict[str, int]
    operators: dict[str, str]

    @cached_property
    def parts(self) -> Counter[Part]:
        parts = Counter[Part]()
        for name, rows in self.rows.items():
            parts[self._part(name)] += rows
        return parts

    def total(self, *kinds: Kind, operator: str | None = None) -> int:
        """The rows of these kinds, of all if none is named; of one operator's layers only where it is."""
        return sum(
            rows
            for part, rows in self.parts.items()
            if (not kinds or part.kind in kinds) and operator in (None, part.operator)
        )

    @property
    def inference(self) -> int:
        """All but the range checks of private weights, which say nothing of an input."""
        return self.total() - self.total("weights")

    @property
    def checks(self) -> int:
        """Range checks and divisions: what ties inputs, sums, quotients, remainders and signs down."""
        return self.total("input", "sums", "rescaling", "clamps", "tables")

    @property
    def shared(self) -> int:
        """The constraints that many inferences by the same network need once: range checks of weights, and
        tables."""
        return self.total("weights", "tables")

    def over(self, images: int) -> int:
        """The constraints of so many inferences in one statement, each row for row as on its own."""
        return images * (self.total() - self.shared) + self.shared

    def _part(self, name: str) -> Part:
        layer = layer_of(name, self.operators)
        if layer in self.operators:
            # Blocks are called layer/gadget_step or layer/gadget/step.
            word = name.removeprefix(f"{layer}/").split("/")[0].split("_")[0]
            return Part(self.operators[layer], _KINDS.get(word, "products"))
        return Part("", "input" if layer == "input" else "output" if layer == "output" else "tables")


def count(network: str, circuit: Circuit) -> Count:
    """The constraints of ``network``, one of the zoo or of ``convolution`` and ``dense``. From the cache, if
    the compiler has not changed."""
    key = cache.key_of(
        b"constraints",
        cache.fingerprint("relations", "circuits", "base", "prover", "kernels"),
        json.dumps([network, *astuple(circuit)]).encode(),
    )
    known = cache.load(key)
    if known is not None:
        return Count(**known)
    graph, samples = _networks(network)
    found = count_graph(quantise(graph, samples, bits=circuit.bits), circuit)
    cache.save(key, {"rows": found.rows, "operators": found.operators})
    return found


def count_graph(qgraph: QuantGraph, circuit: Circuit) -> Count:
    """The constraints of ``compile_inference``, ``compile_registration`` or, without their parts,
    ``compile_accuracy``. Raises as they do."""
    ledger = _Ledger()
    if circuit.images:
        plan = plan_accuracy(qgraph, batch=circuit.images, weight_privacy=circuit.weights)
        return Count({"accuracy": plan.rows}, {})
    if circuit.registration:
        lower_registration(ledger, qgraph)
    else:
        lower_inference(
            ledger, TypedGraph(qgraph, "private", circuit.weights), circuit.level, all_shown(qgraph, "label")
        )
    return Count(ledger.close(), {node.name: node.operator() for node in qgraph.nodes})


def convolution(outputs: int, inputs: int) -> str:
    """The name of a network for ``count``: a 5×5 convolution of 28×28, its ReLU, and each channel's mean."""
    return f"conv {outputs}x{inputs}"


def dense(inputs: int) -> str:
    """The same of a dense layer and its ReLU."""
    return f"dense {DENSE_OUTPUTS}x{inputs}"


def _networks(name: str) -> tuple[Graph, FloatArray]:
    """A network and inputs to calibrate it with."""
    kind, _, shape = name.partition(" ")
    if not shape:
        return zoo.network(name), zoo.calibration(name)
    outputs, inputs = map(int, shape.split("x"))
    weights = initial(name)
    if kind == "conv":
        image = tensor("image", inputs, 28, 28)
        graph = image.conv(weights("conv", (outputs, inputs, 5, 5))).relu().global_average_pool().graph()
    else:
        graph = tensor("image", inputs).dense(weights("dense", (outputs, inputs))).relu().graph()
    samples = np.random.Generator(np.random.Philox(0)).random((8, *graph.input.shape))
    return graph, samples


class _Ledger(Builder):
    """A builder that writes down how many rows each block has, and keeps neither blocks nor wires."""

    def __init__(self) -> None:
        super().__init__()
        self._rows = Counter[str]()

    def close(self) -> dict[str, int]:
        """All rows by name of block, those of the steps that were deferred included."""
        while self._deferred:
            self._deferred.pop()()
        return dict(self._rows)

    def product(self, name: str, left: IntArray, right: IntArray, product: IntArray) -> None:
        self._rows[name] += left.size

    def boolean(self, name: str, wires: IntArray) -> None:
        self._rows[name] += wires.size

    def products(self, name: str, rows: int, make: Callable[[int, int], Products]) -> None:
        self._rows[name] += rows

    def multiply(
        self, name: str, a: LinearCombinations, b: LinearCombinations, c: LinearCombinations
    ) -> None:
        self._rows[name] += c.rows

    def fill(self, step: object) -> None: ...

    def derive(self, step: object) -> None: ...

    def post_challenge(self, step: object) -> None: ...

    def fixed(self, name: str, value: LinearCombinations) -> None: ...

    def _take(self, part: list[IntArray], name: str, shape: tuple[int, ...]) -> IntArray:
        if prod(shape) > _UNREAD:
            return np.broadcast_to(np.int64(1), shape)
        wires = super()._take(part if part is self._challenges else [], name, shape)
        self.layout[name] = _NO_WIRES
        return wires
