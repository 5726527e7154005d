"""Networks of floats in PyTorch, as they are run there: halves on a card, channels last, all samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.node import Node
from zenserve.circuits.graphs.types import Affine
from zenserve.circuits.operators.add import Add
from zenserve.circuits.operators.average_pool import AveragePool
from zenserve.circuits.operators.clip import Clip
from zenserve.circuits.operators.convolution import Conv
from zenserve.circuits.operators.dense import Dense
from zenserve.circuits.operators.max_pool import MaxPool
from zenserve.circuits.operators.reshape import Reshape


def network(graph: Graph, kind: Affine, device: str) -> Callable[[NDArray[np.uint8]], NDArray[np.float16]]:
    """Of integers of this type, bytes on the host, to the outputs there. Of nodes that small networks for
    images have: ``ValueError`` for others."""
    own = {
        node.name: [_half(getattr(node, name), device) for name in ("weight", "bias")]
        for node in graph.nodes
        if isinstance(node, (Conv, Dense))
    }
    if others := {type(node).__name__ for node in graph.nodes} - {each.__name__ for each in _KNOWN}:
        raise ValueError(f"{', '.join(sorted(others))} in no network here")

    def run(q: NDArray[np.uint8]) -> NDArray[np.float16]:
        with torch.inference_mode():
            x = torch.from_numpy(q).to(device).to(torch.half, memory_format=torch.channels_last)
            values = {graph.input.name: (x - kind.zero_point) * kind.scale}
            for node in graph.nodes:
                values[node.name] = _KNOWN[type(node)](node, own, *(values[name] for name in node.inputs))
            made: NDArray[np.float16] = values[graph.output].cpu().numpy()
            return made

    return run


def _half(values: NDArray[Any], device: str) -> Tensor:
    return torch.from_numpy(values).to(device, torch.half)


def _convolved(node: Any, own: Mapping[str, list[Tensor]], x: Tensor) -> Tensor:
    rank = len(node.kernel)
    if node.padding[:rank] != node.padding[rank:]:
        raise ValueError("pads that differ before and behind")
    return functional.conv2d(
        x, *own[node.name], node.stride, node.padding[:rank], node.dilation or 1, node.groups
    )


def _averaged(node: Any, _: object, x: Tensor) -> Tensor:
    return functional.avg_pool2d(
        x, node.kernel, node.stride, node.padding[:2], count_include_pad=node.counts_padding
    )


_KNOWN: Mapping[type[Node], Callable[..., Tensor]] = {
    Conv: _convolved,
    Dense: lambda node, own, x: functional.linear(x, *own[node.name]),
    AveragePool: _averaged,
    MaxPool: lambda node, _, x: functional.max_pool2d(x, node.kernel, node.stride, node.padding[:2]),
    Clip: lambda node, _, x: x.clamp(node.low, node.high),
    Add: lambda node, _, x, *others: sum(others, x),
    Reshape: lambda node, _, x: x.reshape(len(x), *node.target),
}
