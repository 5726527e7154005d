"""Train a camera's networks on CIFAR-10, and write their weights in 8 bits beside this file.

    pip install 'zenserve[torch]'
    python -m examples.camera.train --data FOLDER [--only NAME]      (docs/streams.md)

Trained on two of the five batches, with flips and shifts. Seeded, though PyTorch promises no equal results
between machines.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from examples.camera.network import CLASSES, HERE, NETWORKS, Conv, Layer, Pool, Residual
from examples.zoo.data import SEED, Images, cifar

EPOCHS: Final = {"full": 16, "large": 14, "medium": 16, "small": 20, "tiny": 20}
BATCH: Final = 64
RATE: Final = 0.1
SHIFT: Final = 3


class Block(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first, self.second = convolved(channels, channels), convolved(channels, channels)

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(self.second(functional.relu(self.first(x))) + x)


def convolved(read: int, made: int, kernel: int = 3, stride: int = 1) -> nn.Sequential:
    convolution = nn.Conv2d(read, made, kernel, stride, kernel // 2, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(made))


def module(layers: list[Layer]) -> nn.Sequential:
    parts: list[nn.Module] = []
    channels = 3
    for layer in layers:
        match layer:
            case Conv(made, kernel, stride):
                parts += [convolved(channels, made, kernel, stride), nn.ReLU()]
                channels = made
            case Residual():
                parts.append(Block(channels))
            case Pool(size):
                parts.append(nn.AvgPool2d(size))
    return nn.Sequential(*parts, nn.Flatten(), nn.Linear(channels, CLASSES))


def train(model: nn.Module, seen: Images, epochs: int) -> None:
    images, labels = torch.from_numpy(seen.pixels).float() / 255, torch.from_numpy(seen.labels)
    optimiser = torch.optim.SGD(model.parameters(), RATE, 0.9, weight_decay=5e-4, nesterov=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, epochs * (len(images) // BATCH))
    for epoch in range(epochs):
        for part in torch.randperm(len(images))[: len(images) // BATCH * BATCH].split(BATCH):
            loss = functional.cross_entropy(model(moved(images[part])), labels[part], label_smoothing=0.05)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
        print(f"epoch {epoch + 1}: loss {loss.item():.3f}", flush=True)


def moved(images: Tensor) -> Tensor:
    """Flipped, half of the times, and shifted."""
    if torch.rand(1) < 0.5:
        images = images.flip(3)
    down, right = torch.randint(2 * SHIFT + 1, (2,)).tolist()
    return functional.pad(images, (SHIFT,) * 4)[:, :, down : down + 32, right : right + 32]


def layers(model: nn.Module) -> Iterator[tuple[Tensor, Tensor]]:
    """Weights and biases, normalisations folded into them."""
    scale: Tensor
    for part in model.modules():
        if isinstance(part, nn.Sequential) and isinstance(part[-1], nn.BatchNorm2d):
            convolution, norm = part
            scale = norm.weight / torch.sqrt(norm.running_var + norm.eps)
            yield convolution.weight * scale[:, None, None, None], norm.bias - norm.running_mean * scale
        elif isinstance(part, nn.Linear):
            yield part.weight, part.bias


def in_bytes(name: str, model: nn.Module) -> dict[str, np.ndarray]:
    """Weights of 8 bits, with the scale of each output channel."""
    arrays: dict[str, np.ndarray] = {}
    for place, (weight, bias) in enumerate(layers(model)):
        values = weight.detach().numpy()
        scale = np.abs(values).reshape(len(values), -1).max(axis=1) / 127
        whole = np.rint(values / scale.reshape(-1, *[1] * (values.ndim - 1))).astype(np.int8)
        parts = {"weight": whole, "scale": scale.astype(np.float32), "bias": bias.detach().numpy()}
        arrays |= {f"{name}/{place}/{part}": array for part, array in parts.items()}
    return arrays


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", choices=list(NETWORKS), help="and keep the others' weights")
    options = parser.parse_args()
    seen, file = cifar(options.data).seen, HERE / "weights.npz"
    arrays = dict(np.load(file, allow_pickle=False)) if options.only else {}
    for name in [options.only] if options.only else NETWORKS:
        torch.manual_seed(SEED)
        model = module(NETWORKS[name])
        train(model, seen, EPOCHS[name])
        arrays |= in_bytes(name, model.eval())
    np.savez_compressed(file, **arrays)


if __name__ == "__main__":
    main()
