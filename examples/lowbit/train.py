"""Train low-bit networks on real images: quantisation-aware, by a straight-through estimator.

    pip install torch onnxscript
    python -m examples.lowbit.train --data FOLDER      (docs/lowbit.md)

Writes NAME.npz into ``circuits/zoo/trained`` (``zenserve.circuits.zoo.lowbit``), and lowbit.json, which says
how good they are on images that no training saw. What is trained is the network of integers itself (Hubara et
al. 2016): the forward pass rounds as the circuit does, and the backward pass takes rounding for the identity
within the type's range. Sums are centred by channel, as batch normalisation does, but have one scale for a
layer, a power of two: so rescaling them is a shift, and biases are all that is left of the rest. Seeded,
though PyTorch promises no equal results between machines.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from examples.zoo.data import SEED, Images, Split, cifar, mnist
from examples.zoo.train import moved
from zenserve.circuits.zoo.lowbit import (
    ARCHITECTURES,
    IMAGE,
    SPREAD,
    TRAINED_BITS,
    Integers,
    Layer,
    Network,
    called,
    read_by,
    save,
    shift_of,
    tell,
)

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
BATCH, RATE = 250, 4e-3
_MOMENTUM = 0.05
# Of the steps: from then on shifts stay as they are.
_SETTLED = 0.4


def through(value: Tensor, rounded: Tensor) -> Tensor:
    """``rounded``, with the gradient of ``value``."""
    return value + (rounded - value).detach()


def to_integers(weight: Tensor, bits: int) -> Tensor:
    """±1 for a bit, else two's complement: steps by the mean of the absolute values (Esser et al. 2020)."""
    if bits == 1:
        clipped = weight.clamp(-1, 1)
        return through(clipped, torch.where(weight >= 0, 1.0, -1.0))
    top = 2 ** (bits - 1) - 1
    scaled = weight / (2 * weight.detach().abs().mean() / math.sqrt(top))
    kept = scaled.clamp(-top - 1, top)
    return through(kept, kept.round())


class Rounded(nn.Module):
    """A layer of integers. Its sums are centred, and shifted to ``bits`` bits; those of the last one are the
    logits, by a factor of their own."""

    mean: Tensor
    deviation: Tensor

    def __init__(self, layer: Layer) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(layer.shape))
        self.bias = nn.Parameter(torch.zeros(layer.shape[0]))
        self.gain = nn.Parameter(torch.tensor(2.0))
        self.register_buffer("mean", torch.zeros(layer.shape[0]))
        self.register_buffer("deviation", torch.tensor(1.0))
        self.layer, self.seen, self.settled = layer, False, False

    def forward(self, x: Tensor) -> Tensor:
        y = sums(x, to_integers(self.weight, self.layer.weight_bits), self.layer)
        axes, along = ((0, 2, 3), (1, -1, 1, 1)) if y.ndim == 4 else ((0,), (1, -1))
        if not self.training:
            bias = self.whole_bias.view(along)
            return y + bias if self.layer.bits is None else self._rounded((y + bias) / self._step)
        mean = y.mean(axes)
        self._follow(mean.detach(), (y - mean.view(along)).detach().std())
        if self.layer.bits is None:
            return self.gain * y / self.deviation + self.bias.view(along)
        y = (y - mean.view(along)) / self._step + self.bias.view(along)
        return through(y.clamp(-0.5, 2**self.layer.bits - 0.5), self._rounded(y))

    def _follow(self, mean: Tensor, deviation: Tensor) -> None:
        """What the sums of late are like."""
        part = _MOMENTUM if self.seen else 1.0
        self.seen = True
        self.mean += part * (mean - self.mean)
        if not self.settled:
            self.deviation += part * (deviation - self.deviation)

    @property
    def _step(self) -> Tensor:
        """2^shift, of the shift that fits the sums: ``shift_of``, without a wait for the device."""
        bits = self.layer.bits
        assert bits is not None  # noqa: S101  the last layer's sums stay as they are
        return 2.0 ** ((self.deviation / 2**bits).log2() + SPREAD).round().clamp(min=0)

    def _rounded(self, y: Tensor) -> Tensor:
        assert self.layer.bits is not None  # noqa: S101  the last layer's sums stay as they are
        return torch.floor(y + 0.5).clamp(0, 2**self.layer.bits - 1)

    @property
    def whole_bias(self) -> Tensor:
        """Of the network of integers."""
        if self.layer.bits is None:
            return torch.round(self.bias.detach() * self.deviation / self.gain.detach())
        return torch.round(self.bias.detach() * self._step - self.mean)

    def integers(self) -> Integers:
        weight = to_integers(self.weight.detach(), self.layer.weight_bits)
        weights, bias = (part.cpu().numpy().astype(np.int64) for part in (weight, self.whole_bias))
        shift = 0 if self.layer.bits is None else shift_of(float(self.deviation), self.layer.bits)
        return Integers(weights, bias, shift)


class Float(nn.Module):
    """The same layer in floats: batch normalisation, and a ReLU behind all but the last."""

    def __init__(self, layer: Layer) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(layer.shape) * math.sqrt(2 / math.prod(layer.shape[1:])))
        kind = nn.BatchNorm2d if len(layer.shape) == 4 else nn.BatchNorm1d
        self.norm, self.layer = kind(layer.shape[0]), layer

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.norm(sums(x, self.weight, self.layer))
        return y if self.layer.bits is None else functional.relu(y)


def sums(x: Tensor, weight: Tensor, layer: Layer) -> Tensor:
    if weight.ndim == 4:
        return functional.conv2d(x, weight, stride=layer.stride, padding=layer.padding)
    return functional.linear(x.sum((2, 3)) if layer.whole else x.flatten(1), weight)


class Model(nn.Module):
    """``network``'s layers, each a ``kind``. Reads pixels [0, 255]."""

    def __init__(self, network: Network, kind: type[Rounded] | type[Float]) -> None:
        super().__init__()
        self.network = network
        self.layers = nn.ModuleList(kind(layer) for layer in network.layers)

    def forward(self, x: Tensor) -> Tensor:
        made = {IMAGE: x}
        for (layer, read), module in zip(read_by(self.network), self.layers, strict=True):
            x = module(made[read])
            if layer.pool:
                x = functional.max_pool2d(x, *layer.pool)
            made[layer.name] = x + made[layer.adds] if layer.adds else x
        return x


def train(model: Model, seen: Images, recipe: Recipe) -> None:
    images, labels = (torch.from_numpy(part).to(DEVICE) for part in seen)
    optimiser = torch.optim.AdamW(model.parameters(), weight_decay=0.0, fused=DEVICE.type == "cuda")
    count = len(images) // BATCH
    steps = recipe.epochs * count
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=RATE, total_steps=steps)
    model.train()
    for step in range(steps):
        if step % count == 0:
            order = torch.randperm(len(images), device=DEVICE)[: count * BATCH].reshape(count, BATCH)
        if step >= _SETTLED * steps:
            for layer in model.layers:
                layer.settled = True
        part = order[step % count]
        x = moved(images[part].float(), recipe.reach, recipe.mirror)
        loss = functional.cross_entropy(model(x), labels[part])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
    model.eval()


class Recipe(NamedTuple):
    """Of images of ``data``: shifted by up to ``reach`` pixels, and half of them mirrored."""

    data: Callable[[Path], Split]
    epochs: int
    reach: int
    mirror: bool


_CIFAR = Recipe(cifar, 32, 3, mirror=True)
RECIPES = {
    "lenet-mnist": Recipe(mnist, 6, 1, mirror=False),
    "alexnet-cifar": _CIFAR,
    "vgg-cifar": _CIFAR,
    "resnet18-cifar": _CIFAR,
}


def accuracy(model: Model, images: Images) -> float:
    parts = np.array_split(images.pixels, 20)
    with torch.no_grad():
        labels = [model(torch.from_numpy(part).to(DEVICE).float()).argmax(1) for part in parts]
    return float(np.mean(torch.cat(labels).cpu().numpy() == images.labels))


def trained(name: str, recipe: Recipe, split: Split) -> None:
    """Floats first, then each number of bits from the weights of the one before, the most bits first."""
    torch.manual_seed(SEED)
    model = Model(ARCHITECTURES[name](TRAINED_BITS[0]), Float).to(DEVICE)
    train(model, split.seen, recipe)
    shares = {"floats": accuracy(model, split.held_out)}
    for bits in reversed(TRAINED_BITS):
        before, model = model, Model(ARCHITECTURES[name](bits), Rounded).to(DEVICE)
        for layer, source in zip(model.layers, before.layers, strict=True):
            layer.weight.data.copy_(source.weight.data)
        train(model, split.seen, recipe)
        network = called(name, bits)
        shares[network.removeprefix(f"{name}-")] = accuracy(model, split.held_out)
        print(name, shares, flush=True)
        save(network, {layer.layer.name: layer.integers() for layer in model.layers})
    tell(name, shares)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", choices=RECIPES)
    options = parser.parse_args()
    for name, recipe in RECIPES.items():
        if options.only in (None, name):
            trained(name, recipe, recipe.data(options.data))


if __name__ == "__main__":
    main()
