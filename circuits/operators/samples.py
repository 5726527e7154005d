"""A first dimension above 1 that the file fixes, before what slides windows over images: those of all samples
are as many channels of one where channels are apart, and else samples one after the other, which share their
weights. All other operators take it as any axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from zenserve.circuits.graphs.types import Shape
from zenserve.circuits.onnx.step import Data, Held, Operator, Step
from zenserve.circuits.operators.reshape import shaped
from zenserve.circuits.operators.tensor_lists import joined, taken

Read = Callable[[Step], Held | Sequence[Held]]


def of_samples(name: str, operator: Operator) -> Operator:
    """The operator, and for several samples what ``_BY`` says of it."""
    by = _BY.get(name)
    return replace(operator, read=partial(by, read=operator.read)) if by else operator


def _by_channel(step: Step, read: Read) -> Held | Sequence[Held]:
    whole = _samples(step)
    if not whole:
        return read(step)
    image = shaped(step, step.data(), (1, whole[0] * whole[1], *whole[2:]))
    made = read(replace(step, inputs=[image, *step.inputs[1:]]))
    return [
        shaped(step, each, (*whole[:2], *_shape(step, each)[2:])) if isinstance(each, Data) else each
        for each in ([made] if isinstance(made, Held) else made)
    ]


def _by_sample(step: Step, read: Read) -> Held | Sequence[Held]:
    whole = _samples(step)
    if not whole:
        return read(step)
    parts, building = list[Data](), step.building
    steps = list[tuple[int, int]]()
    for at in range(whole[0]):
        part = taken(step, step.data(), 0, at, at + 1)
        start = len(building.makers)
        made = read(replace(step, inputs=[part, *step.inputs[1:]]))
        steps.append((start, len(building.makers)))
        assert isinstance(made, Data)  # noqa: S101  a convolution of a computed tensor is one
        parts.append(replace(made, shape=_shape(step, made), kind=step.data().kind))
    nodes = building.nodes
    first = nodes[slice(*steps[0])]
    for each in steps[1:]:
        building.tie(first, nodes[slice(*each)])
    return joined(step, parts, 0)


def _samples(step: Step) -> Shape:
    """The shape of a computed tensor of several samples; empty of others."""
    if not step.is_data(0):
        return ()
    whole = step.whole()
    return whole if len(whole) > 2 and whole[0] > 1 else ()


def _shape(step: Step, data: Data) -> Shape:
    return data.shape or (1, *step.building.shapes[data.tensor])


_BY: Final[dict[str, Callable[..., Held | Sequence[Held]]]] = {
    **dict.fromkeys(("AveragePool", "LpPool", "MaxPool", "QLinearAveragePool"), _by_channel),
    **dict.fromkeys(("Conv", "ConvInteger", "ConvTranspose", "FusedConv", "QLinearConv"), _by_sample),
}
