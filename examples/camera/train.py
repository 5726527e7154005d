"""Train a camera's networks on CIFAR-10 and on faces, and write their weights in 8 bits beside this file.

    pip install torch onnxscript
    python -m examples.camera.train --data FOLDER [--bank NAME] [--only NAME]      (docs/streams.md)

CIFAR-10 by two of its five batches, faces by one of the ten shots of each person; with flips and shifts. The
full network learns from labels, the others from these and from what it says (Hinton, Vinyals and Dean, 2015).
Seeded, though PyTorch promises no equal results between machines.
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

from examples.camera.network import CIFAR, FACES, Bank, Conv, Layer, Pool, Residual
from examples.zoo.data import SEED, Images, cifar, persons, second_shots
from zenserve.circuits.graphs.graph import Graph

BANKS: Final = {bank.name: bank for bank in (CIFAR, FACES)}
EPOCHS: Final = {
    "cifar": {"full": 16, "large": 25, "medium": 30, "small": 40, "tiny": 40},
    "faces": dict.fromkeys(FACES.networks, 300),
}
BATCH: Final = {"cifar": 64, "faces": 20}
RATE: Final = {"cifar": 0.15, "faces": 0.03}
SHIFT: Final = 3
SOFTNESS: Final = 2.0
TAUGHT: Final = 0.7


class Block(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first, self.second = convolved(channels, channels), convolved(channels, channels)

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(self.second(functional.relu(self.first(x))) + x)


def convolved(read: int, made: int, kernel: int = 3, stride: int = 1) -> nn.Sequential:
    convolution = nn.Conv2d(read, made, kernel, stride, kernel // 2, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(made))


def module(bank: Bank, layers: list[Layer]) -> nn.Sequential:
    parts: list[nn.Module] = []
    channels = bank.image[0]
    for layer in layers:
        match layer:
            case Conv(made, kernel, stride):
                parts += [convolved(channels, made, kernel, stride), nn.ReLU()]
                channels = made
            case Residual():
                parts.append(Block(channels))
            case Pool(size):
                parts.append(nn.AvgPool2d(size))
    made = nn.Sequential(*parts, nn.Flatten(), nn.LazyLinear(bank.classes))
    made(torch.zeros(2, *bank.image))  # which tells how much is left
    return made


def train(bank: Bank, model: nn.Module, seen: Images, epochs: int, taught: Tensor | None) -> None:
    images, labels = torch.from_numpy(seen.pixels).float() / 255, torch.from_numpy(seen.labels)
    rate, batch = RATE[bank.name], BATCH[bank.name]
    optimiser = torch.optim.SGD(model.parameters(), rate, 0.9, weight_decay=2e-4, nesterov=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, rate, epochs * (len(images) // batch))
    for epoch in range(epochs):
        for part in torch.randperm(len(images))[: len(images) // batch * batch].split(batch):
            said = model(moved(images[part]))
            loss = functional.cross_entropy(said, labels[part], label_smoothing=0.05)
            if taught is not None:
                loss = (1 - TAUGHT) * functional.cross_entropy(said, labels[part]) + TAUGHT * distance(
                    said, taught[part]
                )
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
        print(f"epoch {epoch + 1}: loss {loss.item():.3f}", flush=True)


def distance(said: Tensor, taught: Tensor) -> Tensor:
    """Between what two networks say, so softened that second and third guesses count."""
    softened = functional.log_softmax(said / SOFTNESS, 1), functional.softmax(taught / SOFTNESS, 1)
    return SOFTNESS**2 * functional.kl_div(*softened, reduction="batchmean")


def said_by(full: Graph, seen: Images) -> Tensor:
    """The mean of an image and the same one flipped."""
    parts = np.array_split(seen.pixels / 255, -(-len(seen.labels) // 100))
    return torch.from_numpy(
        np.concatenate([(full.run(part) + full.run(part[..., ::-1])) / 2 for part in parts])
    ).float()


def moved(images: Tensor) -> Tensor:
    """Flipped, half of the times, and shifted."""
    if torch.rand(1) < 0.5:
        images = images.flip(3)
    down, right = torch.randint(2 * SHIFT + 1, (2,)).tolist()
    high, wide = images.shape[2:]
    padded = functional.pad(images, (SHIFT,) * 4, mode="replicate")
    return padded[:, :, down : down + high, right : right + wide]


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
    parser.add_argument("--bank", choices=list(BANKS), default="cifar")
    parser.add_argument("--only", help="this network, and keep the others' weights")
    options = parser.parse_args()
    bank = BANKS[options.bank]
    seen = (cifar if bank is CIFAR else persons)(options.data).seen
    arrays = dict(np.load(bank.weights, allow_pickle=False)) if options.only else {}
    for name in [options.only] if options.only else bank.networks:
        torch.manual_seed(SEED)
        model = module(bank, bank.networks[name])
        taught = None if name == "full" else said_by(bank.network("full"), seen)
        train(bank, model, seen, EPOCHS[bank.name][name], taught)
        arrays |= in_bytes(name, model.eval())
        np.savez_compressed(bank.weights, **arrays)
        if bank is FACES:
            shown = second_shots(options.data)
            right = bank.network(name).run(shown.pixels / 255).argmax(axis=1) == shown.labels
            print(f"{name}: {right.mean():.1%} of the second shots", flush=True)


if __name__ == "__main__":
    main()
