"""Train the transformers that read sentences on SST-2, and write a file of weights in 8 bits for each depth.

    pip install torch onnxscript
    python -m examples.sentences.train --data FOLDER --to FOLDER [--layers N ...] [--seen N]

Seeded, though PyTorch promises no equal results between machines.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from examples.sentences.network import HEADS, INSIDE, LAYERS, LONGEST, WIDTH, labelled

SEED: Final = 1
EPOCHS: Final = 6
BATCH: Final = 64
RATE: Final = 5e-4
SEEN: Final = 2
"""So often a word has to be there, to be one."""
START: Final = 0.02
"""How large weights are at first. From PyTorch's own start accuracy is the same, but radii are a small part:
bounds are as wide as absolute values of weights, which stay near where they start."""
DROPPED: Final = 0.2
UNKNOWN: Final = 0.1


class Sentences(NamedTuple):
    """``words``: of each sentence its numbers."""

    words: list[list[int]]
    labels: list[int]


def numbered(rows: list[tuple[str, int]], words: dict[str, int]) -> Sentences:
    known = [[words[word] for word in sentence.split() if word in words][:LONGEST] for sentence, _ in rows]
    kept = [place for place, each in enumerate(known) if each]
    return Sentences([known[place] for place in kept], [rows[place][1] for place in kept])


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.mixed = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.inside, self.outside = nn.Linear(WIDTH, INSIDE), nn.Linear(INSIDE, WIDTH)
        self.norm, self.last = Norm(), Norm()

    def forward(self, x: Tensor, there: Tensor) -> Tensor:
        heads = [
            part(x).unflatten(2, (HEADS, -1)).transpose(1, 2) for part in (self.query, self.key, self.value)
        ]
        read = functional.scaled_dot_product_attention(*heads, attn_mask=there[:, None, None])
        x = self.norm(x + dropped(self, self.mixed(read.transpose(1, 2).flatten(2))))
        return self.last(x + dropped(self, self.outside(functional.relu(self.inside(x)))))


class Norm(nn.Module):
    """Takes the mean away, and does not divide."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(WIDTH)), nn.Parameter(torch.zeros(WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        return (x - x.mean(dim=-1, keepdim=True)) * self.weight + self.bias


class Reads(nn.Module):
    def __init__(self, words: int, layers: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words + 1, WIDTH, padding_idx=words)
        self.positions = nn.Parameter(torch.zeros(LONGEST, WIDTH))
        self.layers = nn.ModuleList(Layer() for _ in range(layers))
        self.said = nn.Linear(WIDTH, 2)
        nn.init.normal_(self.embedding.weight, std=0.1)
        for layer in self.layers:
            for part in (layer.query, layer.key, layer.value, layer.mixed, layer.inside, layer.outside):
                nn.init.normal_(part.weight, std=START)
                nn.init.zeros_(part.bias)

    def forward(self, words: Tensor) -> Tensor:
        there = words != self.embedding.padding_idx
        x = dropped(self, self.embedding(words) + self.positions[: words.shape[1]])
        for layer in self.layers:
            x = layer(x, there)
        mean = (x * there[:, :, None]).sum(dim=1) / there.sum(dim=1, keepdim=True)
        return self.said(mean)


def dropped(module: nn.Module, x: Tensor) -> Tensor:
    return functional.dropout(x, DROPPED, module.training)


def batches(sentences: Sentences, none: int, order: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Sentences of about one length together, so that little is padded."""
    groups = [
        sorted(part.tolist(), key=lambda place: len(sentences.words[place]))
        for part in order.split(16 * BATCH)
    ]
    parts = [group[start : start + BATCH] for group in groups for start in range(0, len(group), BATCH)]
    for place in torch.randperm(len(parts)).tolist():
        words = [torch.tensor(sentences.words[each]) for each in parts[place]]
        padded = nn.utils.rnn.pad_sequence(words, batch_first=True, padding_value=none)
        yield padded, torch.tensor([sentences.labels[each] for each in parts[place]])


def train(model: Reads, sentences: Sentences, dev: Sentences) -> None:
    none, count = model.embedding.num_embeddings - 1, len(sentences.words)
    optimiser = torch.optim.AdamW(model.parameters(), RATE, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, EPOCHS * (count // BATCH + 17))
    for epoch in range(EPOCHS):
        model.train()
        for words, labels in batches(sentences, none, torch.randperm(count)):
            # Some words are as if unknown, but never the first: one has to be left.
            unknown = (torch.rand(words.shape) < UNKNOWN) & (torch.arange(words.shape[1]) > 0)
            loss = functional.cross_entropy(model(words.masked_fill(unknown, none)), labels)
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            schedule.step()
        print(f"epoch {epoch + 1}: loss {loss.item():.3f}, dev {accuracy(model.eval(), dev):.3f}", flush=True)


def accuracy(model: Reads, sentences: Sentences) -> float:
    none, right = model.embedding.num_embeddings - 1, 0
    with torch.no_grad():
        for words, labels in batches(sentences, none, torch.arange(len(sentences.words))):
            right += int((model(words).argmax(dim=1) == labels).sum())
    return right / len(sentences.words)


def arrays(model: Reads, words: dict[str, int]) -> dict[str, Any]:
    """As ``network.Reader`` reads them: what norms do is in matrices of their own."""
    matrices = {
        "embedding": model.embedding.weight[:-1],
        "positions": model.positions,
        "said": model.said.weight,
    }
    biases = {"said": model.said.bias}
    centred = torch.eye(WIDTH) - 1 / WIDTH
    for number, layer in enumerate(model.layers):
        for name in ("query", "key", "value", "mixed", "inside", "outside"):
            matrices[f"{number}/{name}"], biases[f"{number}/{name}"] = (
                getattr(layer, name).weight,
                getattr(layer, name).bias,
            )
        for name in ("norm", "last"):
            norm = getattr(layer, name)
            matrices[f"{number}/{name}"], biases[f"{number}/{name}"] = (
                norm.weight[:, None] * centred,
                norm.bias,
            )
    made: dict[str, Any] = {"words": np.array([*words])}
    for name, matrix in matrices.items():
        values = matrix.detach().numpy()
        scale = np.abs(values).max(axis=1, keepdims=True).clip(1e-9) / 127
        made |= {name: np.rint(values / scale).astype(np.int8), f"{name}/scale": scale.astype(np.float32)}
    return made | {f"{name}/bias": bias.detach().numpy() for name, bias in biases.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--to", type=Path, required=True)
    parser.add_argument("--layers", type=int, nargs="+", choices=LAYERS, default=[*LAYERS])
    parser.add_argument("--seen", type=int, default=SEEN, help="how often a word is there that is one")
    options = parser.parse_args()
    options.to.mkdir(parents=True, exist_ok=True)
    rows = labelled(options.data / "sst2_train.tsv")
    counts = Counter(word for sentence, _ in rows for word in sentence.split())
    words = {
        word: place
        for place, word in enumerate(sorted(w for w, count in counts.items() if count >= options.seen))
    }
    sentences = numbered(rows, words)
    dev, test = (numbered(labelled(options.data / f"sst2_{part}.tsv"), words) for part in ("dev", "test"))
    for layers in options.layers:
        torch.manual_seed(SEED)
        model = Reads(len(words), layers)
        train(model, sentences, dev)
        print(f"{layers} layers: {accuracy(model, test):.3f} of the test sentences", flush=True)
        np.savez_compressed(options.to / f"layers{layers}.npz", **arrays(model, words))


if __name__ == "__main__":
    main()
