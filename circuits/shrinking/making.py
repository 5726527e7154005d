"""Banks made of one network: ``make_bank``, and the folder that it is written to (docs/streams.md)."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from zenserve.base.progress import Progress, silent
from zenserve.circuits import svg
from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.types import FloatArray
from zenserve.circuits.networks.files import load_onnx
from zenserve.circuits.shrinking import candidates, training
from zenserve.circuits.shrinking.candidates import BITS, Cut, Data, Model
from zenserve.errors import ModelError, StatementError, TensorError
from zenserve.verifier.fields import Document

_FITTED: Final = 256
"""Samples that weights are fitted to, in closed form."""
_HELD_OUT: Final = 4
"""One of so many samples of each class is for judging alone."""
_STYLE: Final = """
:root { color-scheme: light dark } svg { max-width: 100% }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 62rem; padding: 0 1rem }
td, th { padding: .2rem .8rem; text-align: right } td:first-child, td:last-child { text-align: left }
"""
BANK: Final = "bank.json"
PROFILE: Final = "profile.npz"


class Entry(Document):
    """A network of the folder: ``NAME.onnx``, calibrated by ``NAME.npz``."""

    name: str = Field(pattern="^[a-z0-9-]{1,40}$")
    made: str
    bits: int = Field(ge=2, le=16)
    constraints: int = Field(ge=1)
    seconds: float
    accuracy: float
    pairs: float


class BankFolder(Document):
    """The index of a bank's folder: its models, the full network first."""

    format: Literal["zenserve bank folder"] = "zenserve bank folder"
    version: int = Field(default=1, ge=1, le=1)
    classes: int = Field(ge=2)
    held_out: int
    epochs: int = Field(ge=0)
    models: list[Entry] = Field(min_length=1, max_length=64)


@dataclass(frozen=True, eq=False)
class MadeBank:
    """``models``: the full network, then cheaper ones, each less accurate than the one before but, where it
    is trained, perhaps the full one."""

    data: Data = field(repr=False)
    models: Sequence[Model]
    epochs: int

    @property
    def document(self) -> BankFolder:
        entries = [
            Entry(
                name=name,
                made=str(model.cut),
                bits=model.bits,
                constraints=model.constraints,
                seconds=round(model.seconds, 4),
                accuracy=round(model.accuracy, 4),
                pairs=round(model.pairs, 4),
            )
            for name, model in zip(self._names, self.models, strict=True)
        ]
        labels = self.data.held_out[1]
        return BankFolder(
            classes=int(labels.max()) + 1, held_out=len(labels), epochs=self.epochs, models=entries
        )

    def save(self, folder: Path) -> None:
        """Networks, their calibrations, the samples to be profiled, ``bank.json`` and ``report.html``."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, model in zip(self._names, self.models, strict=True):
            (folder / f"{name}.onnx").write_bytes(model.member.onnx)
            (folder / f"{name}.npz").write_bytes(_npz(**model.calibration))
        images, labels = self.data.held_out
        (folder / PROFILE).write_bytes(_npz(samples=images, labels=labels))
        (folder / BANK).write_text(self.document.model_dump_json(indent=1) + "\n")
        (folder / "report.html").write_text(html(self.document))

    @property
    def _names(self) -> list[str]:
        return ["full", *(f"small-{place}" for place in range(1, len(self.models)))]


def make_bank(
    network: bytes | Graph,
    images: ArrayLike,
    labels: ArrayLike,
    *,
    epochs: int = 0,
    progress: Progress = silent,
) -> MadeBank:
    """A bank of ``network``, one input and a number for each class, from labelled samples [n, *shape]: one
    of four of each class is held out to judge by. Smaller networks are fitted in closed form; with
    ``epochs`` they are trained, by PyTorch.

    Raises ``ModelError`` (``model.no_pytorch`` among its codes), and ``TensorError`` for samples that do not
    fit."""
    if epochs:
        training.require_pytorch()
    graph = network if isinstance(network, Graph) else load_onnx(network)
    data = _split(graph, images, labels)
    full = candidates.measured(Cut(1, False, 1.0), graph, BITS[0], data)
    seen, right = data.seen
    some = seen[np.linspace(0, len(seen) - 1, min(_FITTED, len(seen))).astype(int)]
    larger: dict[str, FloatArray] = {}
    for name, values in graph.tensors(some):
        halved: Any = values.astype(np.float32)  # of the memory
        larger[name] = halved
    tried = []
    for place, (cut, smaller) in enumerate(candidates.cuts(graph, larger)):
        progress("shrink", min(1.0, place / candidates.MOST))
        tried += _measured(cut, smaller, BITS[0], data)
    chosen = candidates.by_octave([model for model in tried if model.constraints < full.constraints])
    if epochs:
        taught = np.concatenate([graph.run(part) for part in np.array_split(seen, -(-len(seen) // 100))])
        retrained = []
        for place, model in enumerate(chosen):

            def told(_: str, done: float, place: int = place) -> None:
                progress("train", (place + done) / len(chosen))

            smaller = training.trained(model.graph, seen, right, taught, epochs, told)
            retrained += _measured(model.cut, smaller, BITS[0], data)
        chosen = retrained
    fewer = [
        each
        for model in chosen
        for bits in BITS[1:]
        for each in _measured(model.cut, model.graph, bits, data)
    ]
    return MadeBank(data, candidates.front(full, [*chosen, *fewer]), epochs)


def _measured(cut: Cut, graph: Graph, bits: int, data: Data) -> list[Model]:
    """None where the compiler has no integers for it."""
    try:
        return [candidates.measured(cut, graph, bits, data)]
    except (ModelError, StatementError):
        return []


def _split(graph: Graph, images: ArrayLike, labels: ArrayLike) -> Data:
    """Raises ``TensorError`` (``input.shape``, ``input.out_of_range``)."""
    x, y = np.asarray(images, np.float32), np.asarray(labels)
    classes = graph.shapes[graph.output]
    if len(classes) != 1 or classes[0] < 2:
        raise ModelError("model.shape", "a bank's network has a number for each of two classes or more")
    if x.shape[1:] != graph.input.shape or y.shape != x.shape[:1]:
        raise TensorError(
            "input.shape",
            f"data: samples are {[*x.shape]} and labels {[*y.shape]}; the network takes"
            f" [n, {', '.join(map(str, graph.input.shape))}], and one label of each",
            field="data",
        )
    if y.dtype.kind not in "iu" or y.min(initial=0) < 0 or y.max(initial=0) >= classes[0]:
        raise TensorError(
            "input.out_of_range", f"labels: give classes from 0 to {classes[0] - 1}", field="labels"
        )
    of_class = [np.flatnonzero(y == own) for own in range(classes[0])]
    fewest, rarest = min((len(own), place) for place, own in enumerate(of_class))
    if fewest < _HELD_OUT:
        raise TensorError(
            "input.shape",
            f"data: {fewest} samples of the class {rarest}; give {_HELD_OUT} or more of each: one of four is"
            " held out to judge by",
            field="data",
        )
    held = np.concatenate([own[::_HELD_OUT][: fewest // _HELD_OUT] for own in of_class])
    rest = np.setdiff1d(np.arange(len(y)), held)
    whole = y.astype(np.int64)
    return Data((x[rest], whole[rest]), (x[held].astype(np.float64), whole[held]))


def _npz(**arrays: FloatArray | NDArray[np.int64]) -> bytes:
    file, given = io.BytesIO(), dict[str, Any](arrays)
    np.savez_compressed(file, **given)
    return file.getvalue()


def html(document: BankFolder) -> str:
    """A page of its own."""
    points = sorted((each.constraints, 100 * each.accuracy) for each in document.models)
    pairs = sorted((each.constraints, 100 * each.pairs) for each in document.models)
    chart = svg.line_chart(
        "A bank", "constraints", "% right", {"all classes": points, "two classes, with their prior": pairs}
    )
    heads = ("network", "constraints", "s", "% right", "of two classes", "bits", "how it was made")
    rows = [
        (
            each.name,
            f"{each.constraints:,}",
            f"{each.seconds:.2f}",
            f"{100 * each.accuracy:.1f}",
            f"{100 * each.pairs:.1f}",
            str(each.bits),
            each.made,
        )
        for each in document.models
    ]
    trained = f", after {document.epochs} epochs" if document.epochs else ", in closed form"
    cells = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A bank</title>'
        f"<style>{_STYLE}</style></head><body><h1>A bank of {len(rows)} networks</h1>"
        f"<p>Accuracy on {document.held_out} samples that were held out{trained}.</p>{chart}"
        f"<table><tr>{''.join(f'<th>{escape(head)}</th>' for head in heads)}</tr>{cells}</table>"
        "</body></html>\n"
    )
