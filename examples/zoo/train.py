"""Train the zoo's shallownet, lenet-small and lenet-face-small on real images.

    pip install 'zenserve[torch]'
    python -m examples.zoo.train --data FOLDER      (mnist_train.npz and the like: see docs/zoo.md)

Writes NAME.npz (weights, rounded to float16) and report.json (accuracies on images that no training saw) into
``circuits/zoo/trained``. Pixels are divided by 255. Seeded, though PyTorch promises no equal results between
machines.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

import circuits.zoo

TRAINED = Path(circuits.zoo.__file__).parent / "trained"
SEED = 7
Images = NDArray[np.uint8]
Split = tuple[Images, NDArray[np.int64], Images, NDArray[np.int64]]


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


def mnist(data: Path) -> Split:
    with np.load(data / "mnist_train.npz") as seen, np.load(data / "mnist_test.npz") as held_out:
        return seen["images"][:, None], seen["labels"], held_out["images"][:, None], held_out["labels"]


def cifar(data: Path) -> Split:
    batches = [np.load(data / f"cifar10_{name}.npz") for name in ("train_b1", "train_b2", "test_first1000")]
    images = [batch["images"].transpose(0, 3, 1, 2) for batch in batches]
    labels = [batch["labels"] for batch in batches]
    return np.concatenate(images[:2]), np.concatenate(labels[:2]), images[2], labels[2]


def faces(data: Path) -> Split:
    """Every second pixel; one of the ten shots of each person, drawn at random, is held out."""
    with np.load(data / "orl_faces_112x92.npz") as orl:
        images, labels = orl["images"][:, None, ::2, ::2], orl["labels"]
    rng = np.random.default_rng(SEED)
    held_out = np.concatenate([rng.choice(np.flatnonzero(labels == person), 1) for person in range(40)])
    seen = np.setdiff1d(np.arange(len(labels)), held_out)
    return images[seen], labels[seen], images[held_out], labels[held_out]


def moved(images: Tensor, reach: int, mirror: bool) -> Tensor:
    """Shifted by up to ``reach`` pixels, and half of them mirrored."""
    if reach:
        down, across = torch.randint(-reach, reach + 1, (2,)).tolist()
        images = functional.pad(images, (reach,) * 4, mode="replicate")
        height, width = images.shape[2] - 2 * reach, images.shape[3] - 2 * reach
        images = images[:, :, reach + down :, reach + across :][:, :, :height, :width]
    if mirror:
        flip = torch.rand(len(images)) < 0.5
        images = torch.where(flip[:, None, None, None], images.flip(3), images)
    return images


def train(model: nn.Module, split: Split, epochs: int, reach: int, mirror: bool, batch: int) -> None:
    images, labels = torch.from_numpy(split[0]).float() / 255, torch.from_numpy(split[1])
    optimiser = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-2)
    steps = epochs * (len(images) // batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 4e-3, total_steps=steps)
    for _ in range(epochs):
        for part in torch.randperm(len(images))[: len(images) // batch * batch].reshape(-1, batch):
            loss = functional.cross_entropy(model(moved(images[part], reach, mirror)), labels[part])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()


def accuracy(model: nn.Module, images: Images, labels: NDArray[np.int64]) -> float:
    with torch.no_grad():
        guess = model(torch.from_numpy(images).float() / 255).argmax(1).numpy()
    return round(float(np.mean(guess == labels)), 4)


RUNS: dict[str, tuple[Callable[[], nn.Module], Callable[[Path], Split], dict[str, int]]] = {
    "shallownet-mnist": (Shallow, mnist, {"epochs": 8, "reach": 1, "mirror": 0, "batch": 128}),
    "lenet-small-cifar": (
        lambda: LeNet(3, 480, 10),
        cifar,
        {"epochs": 30, "reach": 2, "mirror": 1, "batch": 64},
    ),
    "lenet-face-small-orl": (
        lambda: LeNet(1, 4800, 40),
        faces,
        {"epochs": 120, "reach": 2, "mirror": 1, "batch": 36},
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    data = parser.parse_args().data
    report = {}
    for name, (make, load, how) in RUNS.items():
        torch.manual_seed(SEED)
        model, split = make(), load(data)
        train(model, split, how["epochs"], how["reach"], bool(how["mirror"]), how["batch"])
        for parameter in model.parameters():
            parameter.data = parameter.data.half().float()
        weights = {key.split(".")[0]: value.half().numpy() for key, value in model.state_dict().items()}
        TRAINED.mkdir(exist_ok=True)
        np.savez_compressed(TRAINED / f"{name}.npz", **weights)
        report[name] = {
            "train_images": len(split[0]),
            "test_images": len(split[2]),
            "train_accuracy": accuracy(model, *split[:2]),
            "test_accuracy": accuracy(model, *split[2:]),
        }
        print(name, report[name], flush=True)
    (TRAINED / "report.json").write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
