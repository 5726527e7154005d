"""auto_LiRPA's bounds of a network of dense layers, convolutions, ReLUs and average pools.

    python lirpa.py FILE.npz OUT.npz        in an environment of its own (bench/peers/README.md)

FILE has ``layers``, JSON of [kind, {…}] each, arrays weight0, bias0, …, ``x`` float32[n, …], ``labels``,
``radii`` float[k], ``most`` and ``rounds``. OUT has for each method and radius the least margins [n], for
each method the certified radii by halving, and seconds for one pass.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np
import torch
from auto_LiRPA import BoundedModule, BoundedTensor, PerturbationLpNorm
from torch import Tensor, nn

METHODS = {"ibp": "IBP", "crown-ibp": "CROWN-IBP", "crown": "CROWN"}


def built(given: Any) -> nn.Module:
    layers: list[nn.Module] = []
    for index, (kind, said) in enumerate(json.loads(str(given["layers"]))):
        if kind == "flatten":
            layers.append(nn.Flatten())
        elif kind == "relu":
            layers.append(nn.ReLU())
        elif kind == "pool":
            layers.append(nn.AvgPool2d(said["size"]))
        else:
            weight, bias = (torch.tensor(given[f"{name}{index}"]).double() for name in ("weight", "bias"))
            made = (
                nn.Linear(weight.shape[1], weight.shape[0])
                if kind == "dense"
                else nn.Conv2d(weight.shape[1], weight.shape[0], weight.shape[2:])
            ).double()
            made.weight.data, made.bias.data = weight, bias
            layers.append(made)
    return nn.Sequential(*layers)


def main() -> None:
    given = np.load(sys.argv[1], allow_pickle=False)
    torch.set_default_dtype(torch.float64)
    x, labels = torch.tensor(given["x"]).double(), torch.tensor(given["labels"]).long()
    module = BoundedModule(built(given), x, device="cpu")
    classes = module(x).shape[1]
    rivals = torch.eye(classes)[labels][:, None] - torch.eye(classes)[None]

    def least(radius: Tensor, method: str) -> Tensor:
        around = radius.reshape(-1, *[1] * (x.ndim - 1))
        box = PerturbationLpNorm(norm=np.inf, x_L=(x - around).clamp(0, 1), x_U=(x + around).clamp(0, 1))
        low, _ = module.compute_bounds(
            (BoundedTensor(x, box),), C=rivals, method=METHODS[method], bound_upper=False
        )
        own = torch.nn.functional.one_hot(labels, classes).bool()
        return low.detach().masked_fill(own, np.inf).amin(1)

    found: dict[str, Any] = {}
    for method in METHODS:
        for index, radius in enumerate(given["radii"]):
            found[f"{method}-{index}"] = least(torch.full((len(x),), float(radius)), method).numpy()
        start = time.perf_counter()
        least(torch.full((len(x),), float(given["radii"][0])), method)
        found[f"{method}-seconds"] = time.perf_counter() - start
        low, high = torch.zeros(len(x)), torch.full((len(x),), float(given["most"]))
        for _ in range(int(given["rounds"])):
            middle = (low + high) / 2
            held = least(middle, method) > 0
            low, high = torch.where(held, middle, low), torch.where(held, high, middle)
        found[f"{method}-radius"] = low.numpy()
    np.savez(sys.argv[2], **found)


if __name__ == "__main__":
    main()
