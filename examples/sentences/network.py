"""Sentences as small transformers read them, as ``train`` made them: words' embeddings in, two logits out.

Post-norm encoders of 1 to 6 layers as Faith's (Feng et al., PPoPP 2022): 128 numbers a word, four heads, 512
inside with a ReLU, norms that take the mean away and do not divide; the mean of all words is classified.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from zenserve.circuits.graphs.graph import Graph, Input
from zenserve.circuits.graphs.node import Node
from zenserve.circuits.graphs.types import FloatArray
from zenserve.circuits.operators.add import Add
from zenserve.circuits.operators.average_pool import AveragePool
from zenserve.circuits.operators.clip import Clip
from zenserve.circuits.operators.convolution import Conv
from zenserve.circuits.operators.dense import Dense
from zenserve.circuits.operators.matmul import MatMul
from zenserve.circuits.operators.reshape import Reshape
from zenserve.circuits.operators.softmax import Softmax
from zenserve.circuits.operators.transpose import Transpose

READER = Path(__file__).parent / "reader.npz"
"""Of one layer and the words that SST-2 has 15 times (``train --layers 1 --seen 15``)."""
WIDTH = 128
HEADS = 4
INSIDE = 512
LAYERS = range(1, 7)
LONGEST = 64


def labelled(file: Path) -> list[tuple[str, int]]:
    """Sentences of a file of SST-2, of words between blanks, and whether they praise."""
    rows = [line.split("\t") for line in file.read_text().splitlines()[1:]]
    return [(sentence, int(label)) for label, sentence in rows]


@dataclass(frozen=True)
class Reader:
    """``words``: numbers of known words, as rows of ``embedding`` float64[words, 128]; ``positions``
    float64[64, 128]. ``matrices`` and ``offsets`` by the names of their nodes."""

    words: dict[str, int]
    embedding: FloatArray
    positions: FloatArray
    matrices: dict[str, FloatArray]
    offsets: dict[str, FloatArray]

    @classmethod
    def load(cls, file: Path) -> Self:
        with np.load(file, allow_pickle=False) as held:
            arrays = {name: held[name] for name in held.files}
        words = {str(word): number for number, word in enumerate(arrays.pop("words"))}
        whole = {
            name.removesuffix("/scale"): arrays[name.removesuffix("/scale")] * arrays[name].astype(np.float64)
            for name in arrays
            if name.endswith("/scale")
        }
        offsets = {
            name.removesuffix("/bias"): arrays[name].astype(np.float64)
            for name in arrays
            if name.endswith("/bias")
        }
        return cls(words, whole.pop("embedding"), whole.pop("positions"), whole, offsets)

    @property
    def layers(self) -> int:
        return sum(name.endswith("/mixed") for name in self.matrices)

    def known(self, sentence: str) -> list[str]:
        """Its words, in order; unknown words are none."""
        return [word for word in sentence.split() if word in self.words][:LONGEST]

    def embedded(self, sentence: str) -> FloatArray:
        """[128, words]: what ``network`` of so many words reads."""
        return self.choices([[word] for word in self.known(sentence)])[:, 0].T

    def choices(self, words: Sequence[Sequence[str]]) -> FloatArray:
        """[words, choices, 128]: in each place any of these words; where there are fewer, the first again."""
        most = max(map(len, words))
        rows = [[self.words[(*some, *[some[0]] * most)[at]] for at in range(most)] for some in words]
        made: FloatArray = self.embedding[np.array(rows)] + self.positions[: len(rows), np.newaxis]
        return made

    def by_word(self, count: int) -> Graph:
        """``network``, of sentences [words, 128]."""
        graph = self.network(count)
        turned = Transpose(graph.input.name, ("sentence",), (1, 0))
        return Graph((Input("sentence", (count, WIDTH)),), (turned, *graph.nodes), graph.outputs)

    def network(self, count: int) -> Graph:
        """Of sentences of ``count`` words: [128, words] to [2]."""
        nodes: list[Node] = [Reshape("x0", ("words",), (WIDTH, count, 1))]
        for layer in range(self.layers):
            nodes += self._layer(layer, count)
        nodes += [
            AveragePool("mean", (f"x{self.layers}",), (count, 1), (count, 1), (0, 0, 0, 0)),
            Reshape("flat", ("mean",), (WIDTH,)),
            Dense("said", ("flat",), self.matrices["said"], self.offsets["said"]),
        ]
        return Graph((Input("words", (WIDTH, count)),), tuple(nodes), {"said": "said"})

    def _layer(self, layer: int, count: int) -> Iterator[Node]:
        x, own, size = f"x{layer}", f"{layer}", WIDTH // HEADS

        def over_words(name: str, read: str) -> Conv:
            matrix, offset = self.matrices[f"{own}/{name}"], self.offsets[f"{own}/{name}"]
            return Conv(f"{own}/{name}", (read,), matrix[:, :, None, None], offset, (1, 1), (0, 0, 0, 0), 1)

        for name in ("query", "key", "value"):
            yield over_words(name, x)
            yield Reshape(f"{own}/{name}.heads", (f"{own}/{name}",), (HEADS, size, count))
        yield Transpose(f"{own}/query.turned", (f"{own}/query.heads",), (0, 2, 1))
        yield MatMul(f"{own}/scores", (f"{own}/query.turned", f"{own}/key.heads"), size**-0.5)
        yield Reshape(f"{own}/rows", (f"{own}/scores",), (1, HEADS * count, count))
        yield Softmax(f"{own}/shares", (f"{own}/rows",))
        yield Reshape(f"{own}/shares.heads", (f"{own}/shares",), (HEADS, count, count))
        yield Transpose(f"{own}/shares.turned", (f"{own}/shares.heads",), (0, 2, 1))
        yield MatMul(f"{own}/read", (f"{own}/value.heads", f"{own}/shares.turned"))
        yield Reshape(f"{own}/joined", (f"{own}/read",), (WIDTH, count, 1))
        yield over_words("mixed", f"{own}/joined")
        yield Add(f"{own}/first", (x, f"{own}/mixed"))
        yield over_words("norm", f"{own}/first")
        yield over_words("inside", f"{own}/norm")
        yield Clip(f"{own}/bent", (f"{own}/inside",))
        yield over_words("outside", f"{own}/bent")
        yield Add(f"{own}/second", (f"{own}/norm", f"{own}/outside"))
        yield Conv(
            f"x{layer + 1}",
            (f"{own}/second",),
            self.matrices[f"{own}/last"][:, :, None, None],
            self.offsets[f"{own}/last"],
            (1, 1),
            (0, 0, 0, 0),
            1,
        )
