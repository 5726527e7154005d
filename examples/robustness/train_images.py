"""Train two convolutions and a dense layer so that bounds prove their answers: CIFAR-10 within 2/255, MNIST
within 8/255.

    pip install 'zenserve[torch]'
    python -m examples.robustness.train_images --data FOLDER      (docs/robustness.md)

Writes ``mnist.npz`` and ``cifar.npz`` beside this file, rounded to float16. The loss is the cross-entropy of
logits and that of the worst which intervals leave (Gowal et al. 2018), the lead over each rival in one with
the last layer; the radius rises over the first half. Pixels are divided by 255. Seeded, though PyTorch
promises no equal results between machines.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from examples.robustness.network import HERE, KERNEL, PADDING, STRIDE
from examples.zoo.data import SEED, Split, cifar, mnist

BATCH: Final = 128
RATE: Final = 1e-3
SHARE: Final = 0.7
"""Of the worst logits in the loss, in the end."""


class Recipe(NamedTuple):
    """``radius``: a little more than what is certified. ``moved``: images are turned round, and shifted by as
    many pixels."""

    split: Callable[[Path], Split]
    channels: tuple[int, int]
    radius: float
    epochs: int
    moved: int


RECIPES: Final = {
    "mnist": Recipe(mnist, (8, 16), 9 / 255, 6, 0),
    "cifar": Recipe(cifar, (12, 24), 2.2 / 255, 14, 2),
}


class Network(nn.Module):
    def __init__(self, image: tuple[int, ...], channels: tuple[int, int]) -> None:
        super().__init__()
        inputs, size = image[0], image[1] // STRIDE // STRIDE
        first, second = channels
        self.conv1 = nn.Conv2d(inputs, first, KERNEL, STRIDE, PADDING)
        self.conv2 = nn.Conv2d(first, second, KERNEL, STRIDE, PADDING)
        self.dense = nn.Linear(second * size * size, 10)

    def forward(self, images: Tensor) -> Tensor:
        inner = self.conv2(self.conv1(images).relu()).relu()
        return self.dense(inner.flatten(1))

    def worst(self, images: Tensor, labels: Tensor, reach: float) -> Tensor:
        """The largest that each logit can get beyond the true one within ``reach``, [n, 10]."""
        low, high = (images - reach).clamp(0, 1), (images + reach).clamp(0, 1)
        for layer in (self.conv1, self.conv2):
            centre = layer((low + high) / 2)
            radius = functional.conv2d((high - low) / 2, layer.weight.abs(), None, STRIDE, PADDING)
            low, high = (centre - radius).relu(), (centre + radius).relu()
        rivals = self.dense.weight - self.dense.weight[labels][:, None]
        leads = self.dense.bias - self.dense.bias[labels][:, None]
        centre, radius = ((high + low) / 2).flatten(1)[:, :, None], ((high - low) / 2).flatten(1)[:, :, None]
        return leads + (rivals @ centre + rivals.abs() @ radius)[:, :, 0]


def moved(images: Tensor, most: int) -> Tensor:
    if torch.rand(()) < 0.5:
        images = images.flip(3)
    down, right = torch.randint(0, 2 * most + 1, (2,)).tolist()
    height, width = images.shape[2:]
    return functional.pad(images, (most,) * 4)[:, :, down : down + height, right : right + width]


def train(recipe: Recipe, folder: Path) -> Network:
    seen = recipe.split(folder).seen
    torch.manual_seed(SEED)
    pixels, labels = torch.from_numpy(seen.pixels), torch.from_numpy(seen.labels).long()
    model = Network(tuple(pixels.shape[1:]), recipe.channels)
    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=1e-4)
    steps = recipe.epochs * -(-len(pixels) // BATCH)
    schedule, step = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, steps, pct_start=0.2), 0
    for epoch in range(recipe.epochs):
        for part in torch.randperm(len(pixels)).split(BATCH):
            share = min(1.0, 2 * step / steps)
            images = pixels[part].float() / 255
            if recipe.moved:
                images = moved(images, recipe.moved)
            worst = model.worst(images, labels[part], share * recipe.radius)
            natural, certain = (
                functional.cross_entropy(each, labels[part]) for each in (model(images), worst)
            )
            loss = (1 - SHARE * share) * natural + SHARE * share * certain
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            step += 1
        print(f"epoch {epoch + 1}: loss {loss.item():.3f}", flush=True)
    return model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--networks", nargs="+", choices=RECIPES, default=[*RECIPES])
    options = parser.parse_args()
    for name in options.networks:
        model = train(RECIPES[name], options.data)
        weights = {each: value.detach().half().numpy() for each, value in model.named_parameters()}
        np.savez_compressed(HERE / f"{name}.npz", **weights)


if __name__ == "__main__":
    main()
