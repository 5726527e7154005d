"""The papers' nine networks, for any weights: ZEN's six, and ZENO's three at a quarter of their width."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.types import FloatArray, Shape
from zenserve.circuits.networks.language import Tensor, tensor

# Weights of a shape, for the layer of this name.
Weights = Callable[[str, Shape], FloatArray]


def shallownet(weights: Weights) -> Graph:
    """784-128-10 on MNIST."""
    x = tensor("image", 1, 28, 28).flatten()
    return _head(x, weights, 128, 10)


def lenet(weights: Weights, shape: Shape, channels: tuple[int, int, int], hidden: int, classes: int) -> Graph:
    """Three convolutions, the first two averaged 2 x 2, and two dense layers (ZEN, table 5.1)."""
    x = lenet_features(tensor("image", *shape), weights, channels)
    return _head(x, weights, hidden, classes)


def lenet_embedding(weights: Weights, shape: Shape, channels: tuple[int, int, int], hidden: int) -> Graph:
    """The same without the last layer: what faces are compared by."""
    x = lenet_features(tensor("image", *shape), weights, channels)
    return _dense(x, weights, "fc1", hidden).relu().graph()


def lenet_features(x: Tensor, weights: Weights, channels: tuple[int, int, int]) -> Tensor:
    x = _conv(x, weights, "conv1", channels[0], 5).relu().average_pool(2)
    x = _conv(x, weights, "conv2", channels[1], 5).relu().average_pool(2)
    return _conv(x, weights, "conv3", channels[2], 4).relu().flatten()


def vgg16(weights: Weights) -> Graph:
    """Thirteen 3 x 3 convolutions in five blocks, each averaged 2 x 2, and three dense layers."""
    names = _names("conv")
    x = tensor("image", 3, 32, 32)
    for block in ((16, 16), (32, 32), (64, 64, 64), (128, 128, 128), (128, 128, 128)):
        for channels in block:
            x = _conv(x, weights, next(names), channels, 3).relu()
        x = x.average_pool(2)
    x = _dense(x.flatten(), weights, "fc1", 64).relu()
    return _head(x, weights, 32, 10, first=2)


def resnet18(weights: Weights) -> Graph:
    """Four stages of two blocks of two 3 x 3 convolutions, averaged 2 x 2 between them."""
    names = _names("conv")
    x = tensor("image", 3, 32, 32)
    for stage, channels in enumerate((16, 32, 64, 128)):
        x = x.average_pool(2) if stage else x
        for block in range(2):
            y = _conv(x, weights, next(names), channels, 3).relu()
            y = _conv(y, weights, next(names), channels, 3).relu()
            x = y + (x if block else _conv(x, weights, f"shortcut{stage + 1}", channels, 1).relu())
    return _dense(x.global_average_pool(), weights, "fc1", 10).graph()


def resnet50(weights: Weights) -> Graph:
    """Four stages of 3, 4, 6 and 3 bottlenecks, 1 x 1, 3 x 3, 1 x 1, averaged 2 x 2 between them."""
    names = _names("conv")
    x = tensor("image", 3, 32, 32)
    for stage, (narrow, wide, blocks) in enumerate(((16, 64, 3), (32, 128, 4), (64, 256, 6), (128, 512, 3))):
        x = x.average_pool(2) if stage else x
        for block in range(blocks):
            y = _conv(x, weights, next(names), narrow, 1).relu()
            y = _conv(y, weights, next(names), narrow, 3).relu()
            y = _conv(y, weights, next(names), wide, 1).relu()
            x = y + (x if block else _conv(x, weights, f"shortcut{stage + 1}", wide, 1).relu())
    return _dense(x.global_average_pool(), weights, "fc1", 10).graph()


def _names(word: str) -> Iterator[str]:
    return (f"{word}{index}" for index in range(1, 1 << 10))


def _conv(x: Tensor, weights: Weights, name: str, channels: int, kernel: int) -> Tensor:
    """LeNet's 5 x 5 and 4 x 4 kernels have no padding, the others keep the plane."""
    padding = kernel // 2 if kernel in (1, 3) else 0
    return x.conv(weights(name, (channels, x.shape[0], kernel, kernel)), padding=padding)


def _dense(x: Tensor, weights: Weights, name: str, outputs: int) -> Tensor:
    return x.dense(weights(name, (outputs, x.shape[0])))


def _head(x: Tensor, weights: Weights, hidden: int, classes: int, first: int = 1) -> Graph:
    x = _dense(x, weights, f"fc{first}", hidden).relu()
    return _dense(x, weights, f"fc{first + 1}", classes).graph()
