"""Networks of few bits by name: ``alexnet-cifar-w1a2`` has weights of one bit and activations of two.

LeNet, and the three of APNN-TC (Feng et al. 2021): AlexNet, the variant of VGG in HWGQ (Cai et al. 2017), and
ResNet-18.
``-imagenet`` has their sizes, 224 x 224 pixels and 1,000 classes, ``-cifar`` a quarter of the channels for
32 x 32. The first layer has weights of at least four bits, and the last of eight, as is usual.

They are trained as they are proven, with integers (docs/lowbit.md): each layer has integers for weights, and
one scale, a power of two, so that its sums become the next tensor's integers by a shift. What has a residual
is the sum itself, of as many bits as it takes.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.types import Declared, FloatArray, Shape
from zenserve.circuits.networks.language import Tensor, tensor
from zenserve.circuits.zoo.weights import uniform
from zenserve.relations.integers import IntArray

# Of weights and activations.
Bits = tuple[int, int]
TRAINED_BITS: Final[tuple[Bits, ...]] = ((1, 2), (2, 2), (4, 4))
TRAINED: Final = Path(__file__).parent / "trained"
"""NAME.npz of each network that is trained, and how good they are."""
_REPORT: Final = TRAINED / "lowbit.json"
IMAGE: Final = "image"
_PIXEL: Final = 1 / 255
_PIXEL_BITS: Final = 8
_FIRST, _LAST = 4, 8


@dataclass(frozen=True)
class Layer:
    """``shape``: of its weights. ``bits``: of what it makes, None of the last one's sums. ``reads``: a layer,
    the one before by default; ``whole``: its sums over each channel's plane. ``pool``: kernel, stride and
    padding of a max pool behind it. ``adds``: a layer whose tensor is added to its own."""

    name: str
    shape: Shape
    weight_bits: int
    bits: int | None
    stride: int = 1
    padding: int = 0
    pool: tuple[int, int, int] | None = None
    reads: str | None = None
    whole: bool = False
    adds: str | None = None


@dataclass(frozen=True)
class Network:
    """Layers in an order that they can be run in, of pixels [0, 255]."""

    shape: Shape
    layers: tuple[Layer, ...]


def lenet(bits: Bits) -> Network:
    """Two convolutions and two dense layers, for MNIST."""
    weights, made = bits
    return Network(
        (1, 28, 28),
        (
            Layer("conv1", (16, 1, 5, 5), weights, made, pool=(2, 2, 0)),
            Layer("conv2", (32, 16, 5, 5), weights, made, pool=(2, 2, 0)),
            Layer("fc1", (128, 512), weights, made),
            Layer("fc2", (10, 128), weights, None),
        ),
    )


def alexnet(bits: Bits, *, small: bool) -> Network:
    """Five convolutions and three dense layers."""
    if small:
        layers = [
            _conv("conv1", (24, 3, 5), pool=(3, 2, 1)),
            _conv("conv2", (64, 24, 5), pool=(3, 2, 1)),
            _conv("conv3", (96, 64, 3)),
            _conv("conv4", (96, 96, 3)),
            _conv("conv5", (64, 96, 3), pool=(3, 2, 1)),
            *_head(64 * 4 * 4, 256, 10),
        ]
        return _network((3, 32, 32), layers, bits)
    layers = [
        replace(_conv("conv1", (96, 3, 11), pool=(3, 2, 0)), stride=4, padding=2),
        _conv("conv2", (256, 96, 5), pool=(3, 2, 0)),
        _conv("conv3", (384, 256, 3)),
        _conv("conv4", (384, 384, 3)),
        _conv("conv5", (256, 384, 3), pool=(3, 2, 0)),
        *_head(256 * 6 * 6, 4096, 1000),
    ]
    return _network((3, 224, 224), layers, bits)


def vgg(bits: Bits, *, small: bool) -> Network:
    """Ten convolutions and three dense layers: of each plane three with 3 x 3 kernels."""
    part = 4 if small else 1
    stem = _conv("conv1", (96 // part, 3, 3 if small else 7), pool=(2, 2, 0))
    layers, channels = [stem if small else replace(stem, stride=2)], stem.shape[0]
    for block, wide in enumerate((256 // part, 512 // part, 512 // part), 2):
        for index in range(1, 4):
            pool = (2, 2, 0) if index == 3 else None
            layers.append(_conv(f"conv{block}_{index}", (wide, channels, 3), pool=pool))
            channels = wide
    if small:
        return _network((3, 32, 32), [*layers, *_head(channels * 2 * 2, 256, 10)], bits)
    return _network((3, 224, 224), [*layers, *_head(channels * 7 * 7, 4096, 1000)], bits)


def resnet18(bits: Bits, *, small: bool) -> Network:
    """Four stages of two blocks of two convolutions, the second of each with what the block reads added."""
    part = 4 if small else 1
    stem = _conv("conv1", (64 // part, 3, 3 if small else 7), pool=None if small else (3, 2, 1))
    layers, channels = [stem if small else replace(stem, stride=2)], stem.shape[0]
    for stage in range(1, 5):
        wide = 32 * 2**stage // part
        for block in (1, 2):
            name, read = f"stage{stage}_{block}", layers[-1].name
            stride = 2 if wide > channels else 1
            if stride == 2:
                layers.append(replace(_conv(f"shortcut{stage}", (wide, channels, 1), read), stride=2))
            kept = layers[-1].name
            layers += [
                replace(_conv(f"{name}a", (wide, channels, 3), read), stride=stride),
                replace(_conv(f"{name}b", (wide, wide, 3)), adds=kept),
            ]
            channels = wide
    classes, side = (10, 32) if small else (1000, 224)
    layers.append(Layer("fc1", (classes, channels), 0, None, whole=True))
    return _network((3, side, side), layers, bits)


ARCHITECTURES: Final[dict[str, Callable[[Bits], Network]]] = {
    "lenet-mnist": lenet,
    **{f"{build.__name__}-cifar": partial(build, small=True) for build in (alexnet, vgg, resnet18)},
    **{f"{build.__name__}-imagenet": partial(build, small=False) for build in (alexnet, vgg, resnet18)},
}
"""For any bits."""
TRAINED_ARCHITECTURES: Final = tuple(name for name in ARCHITECTURES if not name.endswith("imagenet"))


def _conv(
    name: str, sizes: tuple[int, int, int], reads: str | None = None, pool: tuple[int, int, int] | None = None
) -> Layer:
    """Padded so that a stride of 1 keeps the plane. ``sizes``: outputs, inputs and the kernel's side."""
    outputs, inputs, kernel = sizes
    shape = (outputs, inputs, kernel, kernel)
    return Layer(name, shape, 0, 0, padding=kernel // 2, pool=pool, reads=reads)


def _head(inputs: int, hidden: int, classes: int) -> list[Layer]:
    return [
        Layer("fc1", (hidden, inputs), 0, 0),
        Layer("fc2", (hidden, hidden), 0, 0),
        Layer("fc3", (classes, hidden), 0, None),
    ]


def _network(shape: Shape, layers: list[Layer], bits: Bits) -> Network:
    """``layers`` with these bits."""
    weights, made = bits
    first, *between, last = layers
    return Network(
        shape,
        (
            replace(first, weight_bits=max(_FIRST, weights), bits=made),
            *(replace(layer, weight_bits=weights, bits=made) for layer in between),
            replace(last, weight_bits=_LAST),
        ),
    )


def called(architecture: str, bits: Bits) -> str:
    return f"{architecture}-w{bits[0]}a{bits[1]}"


_NAME: Final = re.compile(rf"({'|'.join(ARCHITECTURES)})-w([1-8])a([1-8])")


def is_name(name: str) -> bool:
    """Return whether the name is that of a network of 1 to 8 bits."""
    return _NAME.fullmatch(name) is not None


def network_of(name: str) -> Network:
    found = _NAME.fullmatch(name)
    assert found is not None  # noqa: S101  ``is_name``
    return ARCHITECTURES[found[1]]((int(found[2]), int(found[3])))


@dataclass(frozen=True, eq=False)
class Integers:
    """Of a layer: weights of its shape, biases [outputs], and by how many bits sums are shifted."""

    weight: IntArray
    bias: IntArray
    shift: int


def save(name: str, layers: Mapping[str, Integers]) -> None:
    """Write what was trained to where ``load`` finds it."""
    arrays = {f"{layer}.weight": each.weight.astype(np.int8) for layer, each in layers.items()}
    arrays |= {f"{layer}.bias": each.bias.astype(np.int32) for layer, each in layers.items()}
    arrays |= {f"{layer}.shift": np.array(each.shift, np.uint8) for layer, each in layers.items()}
    np.savez_compressed(TRAINED / f"{name}.npz", **arrays)  # type: ignore[arg-type]


def load(name: str) -> dict[str, Integers]:
    """The integers of a trained network, by the names of its layers."""
    with np.load(TRAINED / f"{name}.npz", allow_pickle=False) as file:
        arrays = {key: file[key].astype(np.int64) for key in file.files}
    names = [key.removesuffix(".shift") for key in arrays if key.endswith(".shift")]
    return {
        name: Integers(arrays[f"{name}.weight"], arrays[f"{name}.bias"], int(arrays[f"{name}.shift"]))
        for name in names
    }


def report() -> dict[str, dict[str, float]]:
    """The shares of held-out images that training got right, by architecture: of its ``floats``, and of the
    integers of ``w1a2`` and others."""
    found: dict[str, dict[str, float]] = json.loads(_REPORT.read_text())
    return found


def tell(architecture: str, shares: Mapping[str, float]) -> None:
    """Write them to where ``report`` finds them."""
    found = report() if _REPORT.is_file() else {}
    _REPORT.write_text(json.dumps(found | {architecture: shares}, indent=2, sort_keys=True) + "\n")


def trained() -> tuple[str, ...]:
    """The names of networks that ``load`` finds."""
    return tuple(sorted(path.stem for path in TRAINED.glob("*.npz") if is_name(path.stem)))


def untrained(network: Network, seed: str) -> dict[str, Integers]:
    """Integers of a fixed random stream, the same everywhere, shifted as training would: enough to count and
    to time."""
    tops, made = {IMAGE: (1 << _PIXEL_BITS) - 1}, dict[str, Integers]()
    for layer, read in read_by(network):
        weight = _drawn(uniform(f"{seed}/{layer.name}", layer.shape), layer.weight_bits)
        # Values are spread evenly, more or less.
        deviation = math.sqrt(math.prod(layer.shape[1:]) * np.square(weight).mean() / 3) * tops[read]
        shift = 0 if layer.bits is None else shift_of(deviation, layer.bits)
        made[layer.name] = Integers(weight, np.zeros(len(weight), np.int64), shift)
        tops[layer.name] = _top(layer, tops)
    return made


def _drawn(even: FloatArray, bits: int) -> IntArray:
    """Weights of numbers in [0, 1)."""
    if bits == 1:
        return np.where(even < 0.5, -1, 1)
    return np.floor(even * (1 << bits)).astype(np.int64) - (1 << bits - 1)


# A tensor's type spans 2^1.3 standard deviations of its sums, above the mean.
SPREAD: Final = 1.3


def shift_of(deviation: float, bits: int) -> int:
    """By how many bits sums of this standard deviation are shifted."""
    return max(0, round(math.log2(deviation / 2**bits) + SPREAD))


def read_by(network: Network) -> Iterator[tuple[Layer, str]]:
    """Each layer, and what it reads."""
    before = IMAGE
    for layer in network.layers:
        yield layer, layer.reads or before
        before = layer.name


def _top(layer: Layer, tops: Mapping[str, int]) -> int:
    """The largest integer of what a layer makes."""
    own = 0 if layer.bits is None else (1 << layer.bits) - 1
    return own + (tops[layer.adds] if layer.adds else 0)


def graph(name: str) -> Graph:
    """The network of this name, with trained integers where there are any."""
    network = network_of(name)
    return graph_of(network, load(name) if name in trained() else untrained(network, name))


def graph_of(network: Network, integers: Mapping[str, Integers]) -> Graph:
    """The network with these integers by the names of its layers, each tensor's type prescribed: sums of
    products in steps of 2^-shift, of which its own type has the whole ones."""
    made = {IMAGE: tensor(IMAGE, *network.shape).quantised(_PIXEL, bits=_PIXEL_BITS)}
    tops = {IMAGE: (1 << _PIXEL_BITS) - 1}
    for layer, read in read_by(network):
        x, pixel = made[read], _PIXEL
        if layer.whole:
            x, pixel = _summed(x, tops[read])
        x = _weighted(x, layer, integers[layer.name], pixel)
        x = x if layer.bits is None else x.quantised(_PIXEL, bits=layer.bits)
        x = x.max_pool(*layer.pool) if layer.pool else x
        tops[layer.name] = top = _top(layer, tops)
        made[layer.name] = (
            (x + made[layer.adds]).quantised(_PIXEL, bits=top.bit_length()) if layer.adds else x
        )
    return made[network.layers[-1].name].graph()


def _summed(x: Tensor, top: int) -> tuple[Tensor, float]:
    """The sums over each channel's plane, exactly, and their step: they stand for the mean."""
    height, width = x.shape[1:]
    step, bits = _PIXEL / (height * width), (top * height * width).bit_length()
    return x.average_pool((height, width)).quantised(step, bits=bits), step


def _weighted(x: Tensor, layer: Layer, made: Integers, pixel: float) -> Tensor:
    step = 2.0**-made.shift
    weight, bias = made.weight * step, made.bias * (step * pixel)
    declared = Declared(np.array(step), np.array(0), layer.weight_bits, signed=True)
    if len(layer.shape) == 4:
        return x.conv(weight, bias, stride=layer.stride, padding=layer.padding, declared=declared)
    return (x.flatten() if len(x.shape) > 1 else x).dense(weight, bias, declared=declared)
