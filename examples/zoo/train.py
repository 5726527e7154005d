"""Train the zoo's shallownet, lenet-small and lenet-face-small on real images.

    pip install torch onnxscript
    python -m examples.zoo.train --data FOLDER      (docs/zoo.md)

Writes NAME.npz, weights rounded to float16, into ``circuits/zoo/trained``; ``examples.zoo.evaluate`` then
says how good they are. Pixels are divided by 255. Seeded, though PyTorch promises no equal results between
machines.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from examples.zoo.data import SEED, SPLITS, Images
from zenserve.circuits import zoo


class Shallow(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(784, 128, bias=False), nn.Linear(128, 10, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.fc2(functional.relu(self.fc1(x.flatten(1))))
        return out


class LeNet(nn.Module):
    def __init__(self, channels: int, flat: int, classes: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 6, 5, bias=False)
        self.conv2 = nn.Conv2d(6, 16, 5, bias=False)
        self.conv3 = nn.Conv2d(16, 120, 4, bias=False)
        self.fc1, self.fc2 = nn.Linear(flat, 84, bias=False), nn.Linear(84, classes, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        x = functional.avg_pool2d(functional.relu(self.conv1(x)), 2)
        x = functional.avg_pool2d(functional.relu(self.conv2(x)), 2)
        x = functional.relu(self.conv3(x))
        out: Tensor = self.fc2(functional.relu(self.fc1(x.flatten(1))))
        return out


def moved(images: Tensor, reach: int, mirror: bool) -> Tensor:
    """Shifted by up to ``reach`` pixels, and half of them mirrored."""
    if reach:
        down, across = torch.randint(-reach, reach + 1, (2,)).tolist()
        images = functional.pad(images, (reach,) * 4, mode="replicate")
        height, width = images.shape[2] - 2 * reach, images.shape[3] - 2 * reach
        images = images[:, :, reach + down :, reach + across :][:, :, :height, :width]
    if mirror:
        flip = torch.rand(len(images), device=images.device) < 0.5
        images = torch.where(flip[:, None, None, None], images.flip(3), images)
    return images


class Run(NamedTuple):
    make: Callable[[], nn.Module]
    epochs: int
    reach: int
    mirror: bool
    batch: int


def train(model: nn.Module, seen: Images, run: Run) -> None:
    images, labels = torch.from_numpy(seen.pixels).float() / 255, torch.from_numpy(seen.labels)
    epochs, batch = run.epochs, run.batch
    optimiser = torch.optim.AdamW(model.parameters(), weight_decay=1e-2)
    steps = epochs * (len(images) // batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=4e-3, total_steps=steps)
    for _ in range(epochs):
        for part in torch.randperm(len(images))[: len(images) // batch * batch].reshape(-1, batch):
            loss = functional.cross_entropy(model(moved(images[part], run.reach, run.mirror)), labels[part])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()


RUNS = {
    "shallownet-mnist": Run(Shallow, epochs=8, reach=1, mirror=False, batch=128),
    "lenet-small-cifar": Run(lambda: LeNet(3, 480, 10), epochs=30, reach=2, mirror=True, batch=64),
    "lenet-face-small-orl": Run(lambda: LeNet(1, 4800, 40), epochs=120, reach=2, mirror=True, batch=36),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    folder = parser.parse_args().data
    zoo.TRAINED.mkdir(exist_ok=True)
    for name, run in RUNS.items():
        torch.manual_seed(SEED)
        model = run.make()
        train(model, SPLITS[name](folder).seen, run)
        weights = {key.split(".")[0]: value.half().numpy() for key, value in model.state_dict().items()}
        np.savez_compressed(zoo.TRAINED / f"{name}.npz", **weights)
        print(name, "trained", flush=True)


if __name__ == "__main__":
    main()
