"""Train a camera's networks on CIFAR-10 and on faces, and write their weights in 8 bits beside this file.

    pip install 'zenserve[torch]'
    python -m examples.camera.train --data FOLDER [--bank NAME] [--only NAME]      (docs/streams.md)

CIFAR-10 by two of its five batches, with flips and shifts; faces by one of the ten shots of each person,
turned, stretched, bent and lit anew each time. The full network learns from labels, the others from these and
from what it says of the same images (Hinton, Vinyals and Dean, 2015). Of faces it is the best of three tries,
by the second shots. Seeded, though PyTorch promises no equal results between machines.
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

from examples.camera.network import CIFAR, FACES, Bank, Conv, Layer, Pool, Residual, parameters
from examples.zoo.data import Images, cifar, persons, second_shots

DEVICE: Final = torch.device("cuda" if torch.cuda.is_available() else "cpu")
BANKS: Final = {bank.name: bank for bank in (CIFAR, FACES)}
EPOCHS: Final = {
    "cifar": {"full": 16, "large": 25, "medium": 30, "small": 40, "tiny": 40},
    "faces": dict.fromkeys(FACES.networks, 2500) | {"large": 2300},
}
TRIES: Final = {"cifar": 1, "faces": 3}
"""Of the full network."""
COPIES: Final = {"cifar": 1, "faces": 8}
"""How often an epoch has each image, each time varied."""
BATCH: Final = {"cifar": 64, "faces": 320}
RATE: Final = {"cifar": 0.15, "faces": 0.05}
SHIFT: Final = 3
"""Pixels."""
TURN, STRETCH, MOVE, SHEAR, BEND, LIGHT = 0.2, 0.15, 0.08, 0.1, 0.06, 0.5
"""Of faces: radians; logarithms of factors; parts of half an image; its brightness."""
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
    return made.to(DEVICE)


def restored(bank: Bank, name: str) -> nn.Module:
    """A network as it was written: what its normalisations did is in its weights."""
    model = module(bank, bank.networks[name]).eval()
    for part, (weight, bias) in zip(weighted(model), parameters(bank, name), strict=True):
        convolution, norm = part if isinstance(part, nn.Sequential) else (part, part)
        convolution.weight.data = torch.from_numpy(weight).float().to(DEVICE)
        norm.bias.data = torch.from_numpy(bias).float().to(DEVICE)
        if isinstance(norm, nn.BatchNorm2d):
            nn.init.zeros_(norm.running_mean)
            nn.init.constant_(norm.running_var, 1 - norm.eps)
    return model


def train(bank: Bank, model: nn.Module, seen: Images, epochs: int, teacher: nn.Module | None) -> None:
    images = torch.from_numpy(seen.pixels).to(DEVICE).float() / 255
    labels = torch.from_numpy(seen.labels).to(DEVICE)
    rate, batch, copies = RATE[bank.name], BATCH[bank.name], COPIES[bank.name]
    steps = len(images) * copies // batch
    optimiser = torch.optim.SGD(model.parameters(), rate, 0.9, weight_decay=2e-4, nesterov=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, rate, epochs * steps)
    vary = moved if bank is CIFAR else warped
    for epoch in range(epochs):
        order = torch.randperm(len(images), device=DEVICE).repeat(copies)
        for part in order[: steps * batch].split(batch):
            shown = vary(images[part])
            said = model(shown)
            if teacher is None:
                loss = functional.cross_entropy(said, labels[part], label_smoothing=0.05)
            else:
                with torch.no_grad():
                    taught = teacher(shown)
                loss = (1 - TAUGHT) * functional.cross_entropy(said, labels[part])
                loss = loss + TAUGHT * distance(said, taught)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
        if epoch % (epochs // 10) == 0:
            print(f"epoch {epoch + 1}: loss {loss.item():.3f}", flush=True)


def best_of_tries(bank: Bank, name: str, seen: Images, folder: Path) -> nn.Module:
    """Of several, by the second shots, which no try has seen and no figure is of."""
    teacher, tries = (restored(bank, "full"), 1) if name != "full" else (None, TRIES[bank.name])
    models, right = [], []
    for seed in range(1, tries + 1):
        torch.manual_seed(seed)
        models.append(module(bank, bank.networks[name]))
        train(bank, models[-1], seen, EPOCHS[bank.name][name], teacher)
        right.append(accuracy(models[-1].eval(), second_shots(folder)) if bank is FACES else 0.0)
        print(f"{name}, try {seed}: {right[-1]:.1%} of the second shots", flush=True)
    return models[right.index(max(right))]


def accuracy(model: nn.Module, shown: Images) -> float:
    with torch.no_grad():
        said = model(torch.from_numpy(shown.pixels).to(DEVICE).float() / 255).argmax(1).cpu().numpy()
    return float((said == shown.labels).mean())


def distance(said: Tensor, taught: Tensor) -> Tensor:
    """Between what two networks say, so softened that second and third guesses count."""
    softened = functional.log_softmax(said / SOFTNESS, 1), functional.softmax(taught / SOFTNESS, 1)
    return SOFTNESS**2 * functional.kl_div(*softened, reduction="batchmean")


def moved(images: Tensor) -> Tensor:
    """Flipped, half of the times, and shifted."""
    if torch.rand(1) < 0.5:
        images = images.flip(3)
    down, right = torch.randint(2 * SHIFT + 1, (2,)).tolist()
    high, wide = images.shape[2:]
    padded = functional.pad(images, (SHIFT,) * 4, mode="replicate")
    return padded[:, :, down : down + high, right : right + wide]


def warped(images: Tensor) -> Tensor:
    """Each otherwise: flipped, half of the times, turned, stretched, moved, sheared, bent and lit."""
    count, _, high, wide = images.shape
    tall = high / wide

    def some(*shape: int) -> Tensor:
        return 2 * torch.rand(*shape, device=images.device) - 1

    turn, side = TURN * some(count), torch.sign(some(count))
    across, down = torch.exp(STRETCH * some(count)), torch.exp(STRETCH * some(count))
    rows = [
        (side * across * turn.cos(), SHEAR * some(count) - tall * turn.sin(), MOVE * some(count)),
        (side * across * turn.sin() / tall, down * turn.cos(), MOVE * some(count)),
    ]
    turned = torch.stack([torch.stack(row, 1) for row in rows], 1)
    grid = functional.affine_grid(turned, list(images.shape), align_corners=False)
    bends = BEND * torch.randn(count, 2, 4, 4, device=images.device)
    bends = functional.interpolate(bends, (high, wide), mode="bicubic", align_corners=True)
    made = functional.grid_sample(
        images, grid + bends.permute(0, 2, 3, 1), padding_mode="border", align_corners=False
    )
    light = LIGHT / 4 * torch.randn(count, 1, 2, 2, device=images.device)
    light = functional.interpolate(light, (high, wide), mode="bilinear", align_corners=True)
    middle = made.mean((1, 2, 3), keepdim=True)
    contrast = torch.exp(LIGHT * some(count, 1, 1, 1))
    lit = (made - middle) * contrast + middle + light + LIGHT / 3 * some(count, 1, 1, 1)
    return lit.clamp(0, 1)


def weighted(model: nn.Module) -> Iterator[nn.Sequential | nn.Linear]:
    """Its layers in order: convolutions with the normalisations behind them, and dense ones."""
    for part in model.modules():
        normalised = isinstance(part, nn.Sequential) and isinstance(part[-1], nn.BatchNorm2d)
        if normalised or isinstance(part, nn.Linear):
            yield part


def layers(model: nn.Module) -> Iterator[tuple[Tensor, Tensor]]:
    """Weights and biases, normalisations folded into them."""
    scale: Tensor
    for part in weighted(model):
        if isinstance(part, nn.Linear):
            yield part.weight, part.bias
        else:
            convolution, norm = part
            scale = norm.weight / torch.sqrt(norm.running_var + norm.eps)
            yield convolution.weight * scale[:, None, None, None], norm.bias - norm.running_mean * scale


def in_bytes(name: str, model: nn.Module) -> dict[str, np.ndarray]:
    """Weights of 8 bits, with the scale of each output channel."""
    arrays: dict[str, np.ndarray] = {}
    for place, (weight, bias) in enumerate(layers(model)):
        values = weight.detach().cpu().numpy()
        scale = np.abs(values).reshape(len(values), -1).max(axis=1) / 127
        whole = np.rint(values / scale.reshape(-1, *[1] * (values.ndim - 1))).astype(np.int8)
        parts = {"weight": whole, "scale": scale.astype(np.float32), "bias": bias.detach().cpu().numpy()}
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
        model = best_of_tries(bank, name, seen, options.data)
        arrays |= in_bytes(name, model)
        np.savez_compressed(bank.weights, **arrays)


if __name__ == "__main__":
    main()
