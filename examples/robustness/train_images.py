"""Train networks of images so that bounds prove their answers: two convolutions and a dense layer on MNIST
within 8/255, on CIFAR-10 within 2/255 and on ORL's faces within 4/255, and lenet-small on CIFAR-10.

    pip install torch onnxscript
    python -m examples.robustness.train_images --data FOLDER      (docs/robustness.md)

Writes ``NAME.npz`` beside this file, rounded to float16. The loss is the cross-entropy of
logits and that of the worst which intervals leave (Gowal et al. 2018), the lead over each rival in one with
the last layer; the radius rises over the first half. Pixels are divided by 255. Seeded, though PyTorch
promises no equal results between machines.
"""

from __future__ import annotations

import argparse
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from examples.robustness.network import HERE, KERNEL, PADDING, STRIDE
from examples.zoo.data import SEED, Split, cifar, faces, mnist

RATE: Final = 1e-3
SHARE: Final = 0.7
"""Of the worst logits in the loss, in the end."""


def convolutions(image: tuple[int, int, int], channels: tuple[int, int], classes: int) -> nn.Sequential:
    inputs, height, width = image
    first, second = channels
    left = second * (height // STRIDE // STRIDE) * (width // STRIDE // STRIDE)
    return nn.Sequential(
        OrderedDict[str, nn.Module](
            conv1=nn.Conv2d(inputs, first, KERNEL, STRIDE, PADDING),
            relu1=nn.ReLU(),
            conv2=nn.Conv2d(first, second, KERNEL, STRIDE, PADDING),
            relu2=nn.ReLU(),
            flat=nn.Flatten(),
            dense=nn.Linear(left, classes),
        )
    )


def lenet() -> nn.Sequential:
    """As the zoo's lenet-small-cifar is made."""
    return nn.Sequential(
        OrderedDict[str, nn.Module](
            conv1=nn.Conv2d(3, 6, 5, bias=False),
            relu1=nn.ReLU(),
            pool1=nn.AvgPool2d(2),
            conv2=nn.Conv2d(6, 16, 5, bias=False),
            relu2=nn.ReLU(),
            pool2=nn.AvgPool2d(2),
            conv3=nn.Conv2d(16, 120, 4, bias=False),
            relu3=nn.ReLU(),
            flat=nn.Flatten(),
            fc1=nn.Linear(480, 84, bias=False),
            relu4=nn.ReLU(),
            fc2=nn.Linear(84, 10, bias=False),
        )
    )


class Recipe(NamedTuple):
    """``radius``: a little more than what is certified. ``moved``: images are shifted by as many pixels, and
    turned round."""

    split: Callable[[Path], Split]
    make: Callable[[], nn.Sequential]
    radius: float
    epochs: int
    moved: int
    batch: int = 128


RECIPES: Final = {
    "mnist": Recipe(mnist, partial(convolutions, (1, 28, 28), (8, 16), 10), 9 / 255, 6, 0),
    "cifar": Recipe(cifar, partial(convolutions, (3, 32, 32), (12, 24), 10), 2.2 / 255, 14, 2),
    "lenet": Recipe(cifar, lenet, 1.2 / 255, 24, 2, 64),
    "faces": Recipe(faces, partial(convolutions, (1, 56, 46), (8, 8), 40), 4.4 / 255, 120, 2, 24),
}


def worst(layers: nn.Sequential, images: Tensor, labels: Tensor, reach: float) -> Tensor:
    """The largest that each logit can get beyond the true one within ``reach``, [n, classes]."""
    low, high = (images - reach).clamp(0, 1), (images + reach).clamp(0, 1)
    *before, last = layers
    for layer in before:
        match layer:
            case nn.Conv2d() | nn.Linear():
                centre, radius = layer((low + high) / 2), _absolute(layer, (high - low) / 2)
                low, high = centre - radius, centre + radius
            case _:  # rises with its input
                low, high = layer(low), layer(high)
    assert isinstance(last, nn.Linear)  # noqa: S101  all networks end in one
    rivals = last.weight - last.weight[labels][:, None]
    centre, radius = ((high + low) / 2)[:, :, None], ((high - low) / 2)[:, :, None]
    leads = (rivals @ centre + rivals.abs() @ radius)[:, :, 0]
    return leads if last.bias is None else leads + last.bias - last.bias[labels][:, None]


def _absolute(layer: nn.Conv2d | nn.Linear, radius: Tensor) -> Tensor:
    weight = layer.weight.abs()
    if isinstance(layer, nn.Linear):
        return functional.linear(radius, weight)
    return functional.conv2d(radius, weight, None, layer.stride, layer.padding)


def moved(images: Tensor, most: int) -> Tensor:
    if torch.rand(()) < 0.5:
        images = images.flip(3)
    down, right = torch.randint(0, 2 * most + 1, (2,)).tolist()
    height, width = images.shape[2:]
    return functional.pad(images, (most,) * 4)[:, :, down : down + height, right : right + width]


def train(recipe: Recipe, folder: Path) -> nn.Sequential:
    seen = recipe.split(folder).seen
    torch.manual_seed(SEED)
    pixels, labels = torch.from_numpy(seen.pixels), torch.from_numpy(seen.labels).long()
    model, batch = recipe.make(), recipe.batch
    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=1e-4)
    steps = recipe.epochs * -(-len(pixels) // batch)
    schedule, step = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, steps, pct_start=0.2), 0
    for epoch in range(recipe.epochs):
        for part in torch.randperm(len(pixels)).split(batch):
            share = min(1.0, 2 * step / steps)
            images = pixels[part].float() / 255
            if recipe.moved:
                images = moved(images, recipe.moved)
            reached = worst(model, images, labels[part], share * recipe.radius)
            natural, certain = (
                functional.cross_entropy(each, labels[part]) for each in (model(images), reached)
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
