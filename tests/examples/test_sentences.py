"""Transformers that read sentences, beside the same written down plainly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bounds
from circuits.graphs.types import FloatArray
from examples.sentences.network import HEADS, INSIDE, WIDTH, Reader, labelled

WORDS = ["a", "dull", "film"]


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    """Of two layers, as ``train`` writes them."""
    rng = np.random.default_rng(3)
    shapes = {"embedding": (3, WIDTH), "positions": (64, WIDTH), "said": (2, WIDTH)}
    for layer in range(2):
        named = dict.fromkeys(("query", "key", "value", "mixed", "norm", "last"), (WIDTH, WIDTH))
        named |= {"inside": (INSIDE, WIDTH), "outside": (WIDTH, INSIDE)}
        shapes |= {f"{layer}/{name}": shape for name, shape in named.items()}
    arrays: dict[str, Any] = {"words": np.array(WORDS)}
    for name, shape in shapes.items():
        arrays[name] = rng.integers(-127, 128, shape).astype(np.int8)
        arrays[f"{name}/scale"] = np.full((shape[0], 1), 1 / 2000, np.float32)
        if name not in ("embedding", "positions"):
            arrays[f"{name}/bias"] = rng.normal(size=shape[0]).astype(np.float32)
    np.savez(tmp_path / "layers2.npz", **arrays)
    return Reader.load(tmp_path / "layers2.npz")


def test_a_network_is_the_transformer(reader: Reader) -> None:
    x = reader.embedded("a dull unheard-of film")
    assert x.shape == (WIDTH, 3)
    assert np.array_equal(x[:, 2], reader.embedding[2] + reader.positions[2])
    said = reader.network(3).run(x[np.newaxis])[0]
    assert said == pytest.approx(plainly(reader, x.T), abs=1e-9)


def plainly(reader: Reader, x: FloatArray) -> FloatArray:
    """``x`` [words, 128]."""

    def times(name: str, read: FloatArray) -> FloatArray:
        return read @ reader.matrices[name].T + reader.offsets[name]

    size = WIDTH // HEADS
    for layer in range(reader.layers):
        query, key, value = (times(f"{layer}/{name}", x) for name in ("query", "key", "value"))
        heads = []
        for start in range(0, WIDTH, size):
            own = slice(start, start + size)
            scores = np.exp(query[:, own] @ key[:, own].T / size**0.5)
            heads.append(scores / scores.sum(axis=1, keepdims=True) @ value[:, own])
        x = times(f"{layer}/norm", x + times(f"{layer}/mixed", np.concatenate(heads, axis=1)))
        inside = np.maximum(times(f"{layer}/inside", x), 0)
        x = times(f"{layer}/last", x + times(f"{layer}/outside", inside))
    return times("said", x.mean(axis=0))


def test_a_word_that_does_not_move_is_certified(reader: Reader) -> None:
    x = reader.embedded("a film")[np.newaxis]
    network = bounds.read(reader.network(2))
    label = network.run(x).argmax(axis=1)
    where = np.arange(2) == 1
    radii = np.array([1e-9, 1e3])
    region = bounds.Ball(np.repeat(x, 2, axis=0), radii, "2", where=where)
    assert bounds.certify(network, region, label.repeat(2), "crown-ibp").robust.tolist() == [True, False]


def test_sentences_are_read_with_their_labels(tmp_path: Path) -> None:
    file = tmp_path / "sst2_test.tsv"
    file.write_text("label\tsentence\n1\ta film\n0\ta dull film\n")
    assert labelled(file) == [("a film", 1), ("a dull film", 0)]
