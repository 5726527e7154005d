"""Transformers that read sentences, beside the same written down plainly, and choices of synonyms."""

from __future__ import annotations

import itertools
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from examples.sentences import demo
from examples.sentences.network import HEADS, INSIDE, READER, WIDTH, Reader, labelled
from zenserve import bounds
from zenserve.circuits.graphs.types import FloatArray

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


PAGE = Path(__file__).parents[2] / "docs" / "robustness.md"


@pytest.fixture(scope="module")
def trained() -> Reader:
    return Reader.load(READER)


@pytest.mark.parametrize(
    "sentence", [pytest.param(demo.SENTENCES[0], marks=pytest.mark.large), *demo.SENTENCES[1:]]
)
def test_what_is_said_of_all_choices_is_so_of_each(trained: Reader, sentence: str) -> None:
    """And a choice of which the reader says otherwise is one."""
    synonyms = demo.sets(demo.SETS)
    words = [synonyms.get(word, [word]) for word in trained.known(sentence)]
    x = np.array([trained.embedded(" ".join(each)) for each in itertools.product(*words)])
    said = trained.network(len(words)).run(x)
    answer = demo.asked(trained, sentence, synonyms)
    assert answer.choices == len(x)
    assert answer.label == said[0].argmax()
    assert answer.margin <= (said[:, answer.label] - said[:, 1 - answer.label]).min()
    if answer.other is not None:
        assert all(word in some for word, some in zip(answer.other.split(), words, strict=True))
        other = trained.embedded(answer.other)
        assert trained.network(len(words)).run(other[np.newaxis])[0].argmax() != answer.label


def test_words_are_turned_by_the_network_alone(trained: Reader) -> None:
    x = trained.embedded("a good film")
    np.testing.assert_array_equal(
        trained.by_word(3).run(x.T[np.newaxis]), trained.network(3).run(x[np.newaxis])
    )


@pytest.mark.large
def test_what_the_page_says_is_answered(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = PAGE.read_text()
    (line,) = re.findall(r"^python -m examples\.sentences\.demo (.*)$", page, re.MULTILINE)
    monkeypatch.setattr("sys.argv", ["demo", *shlex.split(line)])
    assert demo.main() == 0
    certain, other = capsys.readouterr().out.splitlines()
    assert "praises. So do all 72 choices of synonyms, by " in certain
    assert 'Of 12 choices not all do: "' in other
    (block,) = (each for each in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "Synonyms" in each)
    exec(block, {"np": np})  # noqa: S102  our own page
    assert capsys.readouterr().out == "[ True]\n"


def test_a_sentence_of_unknown_words_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["demo", "Zweifellos"])
    with pytest.raises(SystemExit):
        demo.main()
    assert "of 'Zweifellos' the reader knows no word" in capsys.readouterr().err
