"""auto_LiRPA's bounds of ``examples.sentences``, one word of a sentence at a time: in the interpreter that
imports it (bench/peers/README.md)."""

from __future__ import annotations

from typing import Any

import torch
from auto_LiRPA import BoundedModule, BoundedTensor, PerturbationLpNorm
from torch import Tensor, nn


class Reads(nn.Module):  # type: ignore[misc]
    """Two logits of a sentence of which one word's embedding, [1, 1, 128], is read; others are known."""

    def __init__(self, reader: Any, x: Tensor, word: int) -> None:
        super().__init__()
        self.layers = reader.layers
        self.register_buffer("before", x[None, :word].clone())
        self.register_buffer("after", x[None, word + 1 :].clone())
        self.dense = nn.ModuleDict()
        for name, matrix in reader.matrices.items():
            made = nn.Linear(matrix.shape[1], matrix.shape[0])
            made.weight.data, made.bias.data = (
                torch.tensor(matrix).to(x),
                torch.tensor(reader.offsets[name]).to(x),
            )
            self.dense[name.replace("/", "_")] = made

    def forward(self, word: Tensor) -> Tensor:
        x = torch.cat([part for part in (self.before, word, self.after) if part.shape[1]], dim=1)
        for layer in range(self.layers):
            x = self._layer(x, layer)
        return self.dense["said"](x.mean(dim=1))

    def _layer(self, x: Tensor, layer: int) -> Tensor:
        def dense(name: str, read: Tensor) -> Tensor:
            made: Tensor = self.dense[f"{layer}_{name}"](read)
            return made

        count = x.shape[1]
        query, key, value = (
            dense(name, x).reshape(1, count, 4, 32).permute(0, 2, 1, 3) for name in ("query", "key", "value")
        )
        shares = torch.softmax(torch.matmul(query, key.transpose(-1, -2)) * 32**-0.5, dim=-1)
        read = torch.matmul(shares, value).permute(0, 2, 1, 3).reshape(1, count, 128)
        x = dense("norm", x + dense("mixed", read))
        return dense("last", x + dense("outside", torch.relu(dense("inside", x))))


class Words:
    """Margins of one sentence x [count, 128]."""

    def __init__(self, reader: Any, x: Tensor, word: int, label: int, method: str) -> None:
        self._word, self._method = x[None, word : word + 1], method
        self._module = BoundedModule(Reads(reader, x, word), self._word, device=str(x.device))
        step = torch.zeros(1, 1, 2).to(x)
        step[0, 0, label], step[0, 0, 1 - label] = 1, -1
        self._step = step

    def margin(self, radius: float) -> float:
        around = BoundedTensor(self._word, PerturbationLpNorm(norm=2, eps=radius))
        low, _ = self._module.compute_bounds((around,), C=self._step, method=self._method, bound_upper=False)
        return float(low)
