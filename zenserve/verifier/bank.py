"""The check that a verification key is of a bank's model: a network that adds its prior to an output."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from zenserve.errors import FileFormatError
from zenserve.verifier.description import InputType
from zenserve.verifier.documents import checked
from zenserve.verifier.fields import Integer

PRIOR: Final = "prior"
"""The public input of a bank's model that is added to the outputs: for each class ``margin + p``."""
SEEN: Final = "seen"
"""The output without the prior. The stream's course follows its label, in which no prior hides a change."""
ANSWER: Final = "answer"
"""The output with the prior added. Its label is the answer."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True)


class _Layer(_Part):
    name: str
    operator: str
    reads: Sequence[str]
    shape: Sequence[Integer]
    factors: Sequence[Integer] = ()


class _Scales(_Part):
    name: str
    rescale: dict[str, Any] | None = None


class _Quantisation(_Part):
    inputs: list[InputType]
    layers: list[_Scales]


class _Network(_Part):
    """Of a circuit's description (``Circuit.describe``)."""

    architecture: list[_Layer]
    outputs: dict[str, str]
    quantisation: _Quantisation


def adds_prior(described: Mapping[str, Any], classes: int, margin: int) -> bool:
    """Return whether ``answer`` is the sum of ``seen`` and the prior, in the same steps and without rounding,
    both with one number for each class; whether the prior's integers are ``margin + p``; and whether ``seen``
    is computed without the prior."""
    try:
        network = checked(_Network, described)
    except FileFormatError:
        return False
    layers = {layer.name: layer for layer in network.architecture}
    inputs = {each.name: each for each in network.quantisation.inputs}
    seen, answer, prior = network.outputs.get(SEEN), network.outputs.get(ANSWER), inputs.get(PRIOR)
    if len(layers) < len(network.architecture) or layers.keys() & inputs.keys():
        return False  # a name has two meanings
    if seen not in layers or answer not in layers or prior is None:
        return False
    added = layers[answer]
    exact = not any(each.name == answer and each.rescale is not None for each in network.quantisation.layers)
    sums = added.operator == "Add" and sorted(added.reads) == sorted([seen, PRIOR])
    alike = [*added.factors] == [1, 1] and math.prod(added.shape) == math.prod(prior.shape) == classes
    return exact and sums and alike and prior.zero_point == margin and PRIOR not in _behind(seen, layers)


def _behind(name: str, layers: Mapping[str, _Layer]) -> set[str]:
    """Return the names of all layers and inputs that ``name`` is computed from, and ``name`` itself."""
    found, ahead = set[str](), [name]
    while ahead:
        here = ahead.pop()
        if here not in found:
            found.add(here)
            ahead += layers[here].reads if here in layers else []
    return found
