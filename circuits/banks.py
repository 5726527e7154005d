"""Models of banks (``zenserve.circuits.priors``): what is known of one, and what it computes of profiled
samples.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from zenserve.circuits.quantised.graph import QuantGraph
from zenserve.errors import ModelError
from zenserve.prover.backends import Backend
from zenserve.prover.backends.cpu import CPU
from zenserve.relations.integers import IntArray
from zenserve.verifier.bank import ANSWER, PRIOR, SEEN
from zenserve.verifier.streams.skew import PARTS

MARGIN: Final = 255
"""The most steps that a prior takes off: the integers of the input ``prior`` are ``MARGIN + p``."""


class Form(NamedTuple):
    """The facts that a bank needs about a network of integers. ``input``: the name of the input that is not
    the prior; ``prior``: the prior's shape."""

    input: str
    prior: tuple[int, ...]
    classes: int
    bit: int


def form_of(network: QuantGraph) -> Form:
    """Of a network that ``with_prior`` made. Raises ``ModelError`` (``model.bank``) for another."""
    prior = network.entries.get(PRIOR)
    own = [entry.name for entry in network.inputs if entry.name != PRIOR]
    if (
        prior is None
        or len(own) != 1
        or {*network.outputs} != {SEEN, ANSWER}
        or prior.type.centred != (-MARGIN, 0)
        or {network.size(SEEN), network.size(ANSWER)} != {math.prod(prior.shape)}
    ):
        raise ModelError(
            "model.bank",
            f"a model of a bank has the inputs x and {PRIOR}, and the outputs {SEEN} and {ANSWER}:"
            " zenserve.circuits.priors.with_prior makes it of a network of one input",
        )
    return Form(own[0], prior.shape, math.prod(prior.shape), bit_of(prior.type.scale))


def bit_of(step: float) -> int:
    """256 times the steps that double the odds, of outputs that are logits, each step worth ``step``."""
    return max(1, round(PARTS * math.log(2) / step))


def profile(network: QuantGraph, images: IntArray, on: Backend = CPU) -> IntArray:
    """int64[n, classes]: what the network computes of the integers of ``images`` without a prior."""
    (name,) = {entry.name for entry in network.inputs} - {PRIOR}
    (prior,) = (entry for entry in network.inputs if entry.name == PRIOR)
    none = np.full((len(images), *prior.shape), MARGIN)
    tensor = network.outputs[ANSWER]
    return network.run_all({name: images, PRIOR: none}, {tensor}, on)[tensor]
