"""Train 784-128-10 on MNIST so that linear bounds prove its answers within 8/255 of an image.

    pip install torch onnxscript
    python -m examples.robustness.train --data FOLDER      (docs/robustness.md)

Writes ``weights.npz`` beside this file, rounded to float16. The loss is the cross-entropy of the worst
logits that lines through the hidden layer leave (CROWN: Zhang et al. 2018; training by it: Wong and Kolter
2018, Zhang et al. 2020): the difference of each rival to the true class, maximised over the box around the
image. Pixels are divided by 255. Seeded, though PyTorch promises no equal results between machines.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from examples.zoo.data import SEED, mnist

HERE = Path(__file__).parent
EPSILON = 9 / 255  # one step more than what is certified
EPOCHS, NATURAL, RISING, BATCH = 24, 2, 8, 256


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(784, 128), nn.Linear(128, 10)

    def worst(self, images: Tensor, labels: Tensor, reach: float) -> Tensor:
        """The largest that each logit can get beyond the true one within ``reach``, [n, 10]."""
        low, high = (images - reach).clamp(0, 1), (images + reach).clamp(0, 1)
        centre, radius = (low + high) / 2, (high - low) / 2
        weight, bias = self.fc1.weight, self.fc1.bias
        middle, around = functional.linear(centre, weight, bias), functional.linear(radius, weight.abs())
        least, most = middle - around, middle + around
        crossing = (least < 0) & (most > 0)
        chord = torch.where(crossing, most / (most - least).clamp(min=1e-9), (least >= 0).float())
        below = torch.where(crossing, (most > -least).float(), (least >= 0).float())
        offset = torch.where(crossing, -chord * least, 0.0)
        rivals = self.fc2.weight - self.fc2.weight[labels][:, None]
        through = rivals.clamp(min=0) * chord[:, None] + rivals.clamp(max=0) * below[:, None]
        constant = (
            (rivals.clamp(min=0) * offset[:, None]).sum(2) + self.fc2.bias - self.fc2.bias[labels][:, None]
        )
        lines = through @ weight
        reached: Tensor = (lines @ centre[:, :, None] + lines.abs() @ radius[:, :, None])[:, :, 0]
        return reached + through @ bias + constant


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    seen = mnist(parser.parse_args().data).seen
    torch.manual_seed(SEED)
    images, labels = (
        torch.from_numpy(seen.pixels).float().flatten(1) / 255,
        torch.from_numpy(seen.labels).long(),
    )
    model = Network()
    optimiser = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, EPOCHS)
    for epoch in range(EPOCHS):
        reach = EPSILON * min(1.0, max(0, epoch + 1 - NATURAL) / RISING)
        for part in torch.randperm(len(images)).split(BATCH):
            loss = functional.cross_entropy(model.worst(images[part], labels[part], reach), labels[part])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        schedule.step()
        print(f"epoch {epoch + 1}: reach {reach * 255:.1f}/255, loss {loss.item():.3f}", flush=True)
    weights = {name: value.detach().half().numpy() for name, value in model.named_parameters()}
    np.savez_compressed(HERE / "weights.npz", **weights)


if __name__ == "__main__":
    main()
