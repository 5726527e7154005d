"""Training of a smaller network on labels and on what the larger one says of the same samples (Hinton,
Vinyals and Dean, Distilling the Knowledge in a Neural Network, 2015). PyTorch is imported where it is
needed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from zenserve.base.progress import Progress
from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.node import Node
from zenserve.circuits.graphs.types import FloatArray
from zenserve.circuits.operators.add import Sum
from zenserve.circuits.operators.average_pool import AveragePool
from zenserve.circuits.operators.clip import Clip
from zenserve.circuits.operators.convolution import Conv
from zenserve.circuits.operators.dense import Dense
from zenserve.circuits.operators.max_pool import MaxPool
from zenserve.circuits.operators.reshape import Reshape
from zenserve.errors import ModelError

if TYPE_CHECKING:
    from torch import Tensor

_BATCH: Final = 64
_RATE: Final = 0.1
_DECAY: Final = 5e-4
_SOFTNESS: Final = 2.0
"""The divisor of the larger network's outputs (distillation temperature), so that its second and third
guesses count."""
_TAUGHT: Final = 0.7
"""Their part of the loss; the labels have the rest."""
_SHIFT: Final = 10
"""Images are moved by up to this part of their sides, larger ones than 16 pixels."""
_SEED: Final = 7


def require_pytorch() -> None:
    """Raises ``ModelError`` (``model.no_pytorch``)."""
    try:
        import torch  # noqa: F401
    except ImportError:
        raise ModelError(
            "model.no_pytorch",
            "networks are trained by PyTorch: pip install torch onnxscript, or leave epochs out, and what"
            " remains of them is fitted in closed form",
            field="epochs",
        ) from None


def trained(
    graph: Graph,
    images: FloatArray,
    labels: NDArray[np.int64],
    taught: FloatArray,
    epochs: int,
    progress: Progress,
) -> Graph:
    """``graph`` after so many epochs on images float32[n, *shape]; ``taught``: the larger network's outputs,
    [n, classes]. Seeded, though PyTorch promises no equal results between machines. Raises ``ModelError``:
    ``model.no_pytorch``, ``model.unsupported_operator`` for layers that are not trained here."""
    require_pytorch()
    import torch
    from torch.nn import functional

    torch.manual_seed(_SEED)
    x, y = torch.from_numpy(images.astype(np.float32)), torch.from_numpy(labels)
    soft = functional.softmax(torch.from_numpy(taught).float() / _SOFTNESS, 1)
    network = _Trainable(graph, x[:512])
    batch = min(_BATCH, len(x))
    optimiser = torch.optim.SGD(network.parameters, _RATE, 0.9, weight_decay=_DECAY, nesterov=True)
    steps = epochs * (len(x) // batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, _RATE, steps)
    for epoch in range(epochs):
        progress("train", epoch / epochs)
        for part in torch.randperm(len(x))[: len(x) // batch * batch].split(batch):
            said = network(_moved(x[part]))
            far = functional.kl_div(
                functional.log_softmax(said / _SOFTNESS, 1), soft[part], reduction="batchmean"
            )
            loss = _TAUGHT * _SOFTNESS**2 * far + (1 - _TAUGHT) * functional.cross_entropy(said, y[part])
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters, 5.0)
            optimiser.step()
            schedule.step()
    return network.folded()


def _moved(images: Tensor) -> Tensor:
    from torch import randint
    from torch.nn import functional

    if images.ndim != 4 or min(images.shape[2:]) <= 16:
        return images
    high, wide = images.shape[2:]
    far = min(high, wide) // _SHIFT
    down, right = randint(2 * far + 1, (2,)).tolist()
    return functional.pad(images, (far,) * 4)[:, :, down : down + high, right : right + wide]


class _Trainable:
    """A graph as PyTorch computes it, with a normalisation behind each convolution that is there to train
    with: at first it changes nothing, and ``folded`` makes it part of the weights."""

    def __init__(self, graph: Graph, x: Tensor) -> None:
        import torch

        self._graph = graph
        self._weights: dict[str, Tensor] = {}
        self._biases: dict[str, Tensor] = {}
        self._norms: dict[str, Any] = {}
        self._learning = False
        for node in graph.nodes:
            if isinstance(node, Conv | Dense):
                self._weights[node.name] = torch.from_numpy(node.weight).float().requires_grad_()
                self._biases[node.name] = torch.from_numpy(node.bias).float()
        with torch.no_grad():
            self(x)
        self._learning = True

    @property
    def parameters(self) -> list[Tensor]:
        norms = [each for norm in self._norms.values() for each in norm.parameters()]
        biases = [self._biases[node.name] for node in self._graph.nodes if isinstance(node, Dense)]
        return [*self._weights.values(), *norms, *(bias.requires_grad_() for bias in biases)]

    def __call__(self, x: Tensor) -> Tensor:
        values = {self._graph.input.name: x}
        for node in self._graph.nodes:
            values[node.name] = self._made(node, [values[name] for name in node.inputs])
        return values[self._graph.output]

    def _made(self, node: Node, read: list[Tensor]) -> Tensor:
        from torch.nn import functional

        (x, *others) = read
        match node:
            case Conv() if len(node.kernel) == 2 and not node.dilation:
                padded = functional.pad(x, _sides(node.padding))
                made = functional.conv2d(
                    padded, self._weights[node.name], None, node.stride, 0, 1, node.groups
                )
                return self._normalised(node.name, made)
            case Dense():
                return functional.linear(x, self._weights[node.name], self._biases[node.name])
            case Clip():
                return x.clamp(node.low, node.high)
            case AveragePool() if not (any(node.padding) or node.dilation):
                return functional.avg_pool2d(x, node.kernel, node.stride)
            case MaxPool() if not node.dilation:
                padded = functional.pad(x, _sides(node.padding), value=float("-inf"))
                return functional.max_pool2d(padded, node.kernel, node.stride)
            case Sum():
                return sum(
                    (sign * each for sign, each in zip(node.signs[1:], others, strict=True)),
                    node.signs[0] * x,
                )
            case Reshape():
                return x.reshape(len(x), *node.target)
        raise ModelError(
            "model.unsupported_operator",
            f"node {node.name[:80]!r} ({node.operator()}) is not trained here: leave epochs out, or train the"
            " network elsewhere",
            field="epochs",
        )

    def _normalised(self, name: str, made: Tensor) -> Tensor:
        import torch

        if not self._learning:
            norm = torch.nn.BatchNorm2d(made.shape[1])
            mean, spread = made.mean((0, 2, 3)), made.var((0, 2, 3)).clamp(min=1e-6)
            norm.running_mean, norm.running_var = mean, spread
            norm.weight.copy_(spread.sqrt())
            norm.bias.copy_(mean + self._biases[name])
            self._norms[name] = norm
            return made + self._biases[name][:, None, None]
        normalised: Tensor = self._norms[name](made)
        return normalised

    def folded(self) -> Graph:
        nodes: list[Node] = []
        for node in self._graph.nodes:
            if isinstance(node, Conv | Dense):
                weight, bias = self._weights[node.name].detach(), self._biases[node.name].detach()
                if norm := self._norms.get(node.name):
                    scale = (norm.weight / (norm.running_var + norm.eps).sqrt()).detach()
                    weight = weight * scale[:, None, None, None]
                    bias = norm.bias.detach() - norm.running_mean * scale
                node = replace(node, weight=weight.double().numpy(), bias=bias.double().numpy())
            nodes.append(node)
        return replace(self._graph, nodes=tuple(nodes))


def _sides(padding: tuple[int, ...]) -> tuple[int, int, int, int]:
    """As PyTorch has them: left, right, top, bottom."""
    top, left, bottom, right = padding
    return left, right, top, bottom
