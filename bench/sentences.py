"""A sentence encoder in integers, and its first layer proven.

    python -m bench.sentences DIR [--only NAME...] [--json FILE]

DIR is what bench/minilm.py makes. Networks are quantised on the first 16 sentences, and their outputs on
others compared with onnxruntime's, by the cosine between the two.

    W8A12   what products of matrices multiply: weights of 8 bits, tensors of 12; all between them have 16
    W8A8    the same of 8
    layer   the embeddings and the first layer, weights of 8 bits, all tensors of 12; weights committed,
            tokens and mask private

and by its id each proof system: the layer's registration, a proof, and zenserve-verify, under keys of a
development setup where it takes any.
"""

from __future__ import annotations

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from bench.coverage import Limits, alone
from bench.report import Report, Row
from bench.stages import Findings, outputs, prove, require_shown
from zenserve.circuits import Graph, QuantGraph, compile_inference, load_onnx, parameters, quantise
from zenserve.circuits.graphs.types import FloatArray
from zenserve.circuits.operators.convolution import Conv
from zenserve.circuits.operators.dense import Dense
from zenserve.circuits.operators.matmul import MatMul
from zenserve.circuits.quantisation.plan import plan
from zenserve.circuits.quantisation.quantiser import Calibrated
from zenserve.prover.registry import SYSTEMS

# Sentences, and the first of those that are compared.
_CALIBRATION: Final = 16
_COMPARED: Final = 64
_FIRST: Final = 400
_WEIGHT_BITS: Final = 8
_BETWEEN: Final = 16
_LIMITS: Final = Limits(seconds=3 * 600)


def encoder(folder: Path, bits: int) -> Iterator[Findings]:
    graph, tokens = _read(folder)
    layers = dict.fromkeys(_between(graph, tokens), (_BETWEEN, _WEIGHT_BITS))
    yield _compared(folder, _quantised(graph, tokens, bits, layers), tokens, _FIRST, by_token=False)


def layer(folder: Path, bits: int, system: str | None) -> Iterator[Findings]:
    """``system``: what proves it, None for executed alone."""
    graph, tokens = _read(folder)
    qgraph = _quantised(graph, tokens, bits, {})
    yield _compared(folder, qgraph, tokens, _CALIBRATION, by_token=True)
    circuit = compile_inference(qgraph, weight_privacy="committed", reveal="values")
    q = qgraph.quantise_inputs({name: each[0] for name, each in tokens.items()})
    require_shown(circuit, q)
    yield {"constraints": circuit.constraint_system.constraints, "products": _products(graph)}
    if system is not None:
        yield prove(circuit, q, system)


def _read(folder: Path) -> tuple[Graph, dict[str, FloatArray]]:
    with np.load(folder / "tokens.npz") as file:
        tokens = {name: file[name].astype(np.float64) for name in file.files}
    return load_onnx(folder / "network.onnx"), tokens


def _quantised(
    graph: Graph, tokens: dict[str, FloatArray], bits: int, layers: dict[str, tuple[int, int]]
) -> QuantGraph:
    few, words = _few(tokens), int(tokens["ids"].max())
    return quantise(
        graph,
        few,
        bits,
        weight_bits=_WEIGHT_BITS,
        per_channel=True,
        ranges={"ids": (0, words)},
        layers=layers,
    )


def _few(tokens: dict[str, FloatArray]) -> dict[str, FloatArray]:
    return {name: each[:_CALIBRATION] for name, each in tokens.items()}


def _between(graph: Graph, tokens: dict[str, FloatArray]) -> set[str]:
    """The integer nodes that have bits and that no product of matrices reads; squares of rows are none."""
    slots = Calibrated.by(graph, _few(tokens), {"ids": (0, int(tokens["ids"].max()))}).slots
    called = {step.tensor: step.name for step in plan(graph)}
    factors = {called.get(_moved(graph, name)) for node in _matrices(graph) for name in node.inputs}
    return {name for slot in slots if not slot.weights for name in slot.names} - factors


def _matrices(graph: Graph) -> list[Any]:
    """The nodes that multiply matrices: two different ones, or one and weights."""
    layers = [node for node in graph.nodes if isinstance(node, Conv | Dense) and node.weight.shape[1] > 1]
    both = [node for node in graph.nodes if isinstance(node, MatMul)]
    return [*layers, *(node for node in both if len({_moved(graph, name) for name in node.inputs}) == 2)]


def _moved(graph: Graph, name: str) -> str:
    """What a tensor was before it moved."""
    makers = {node.name: node for node in graph.nodes}
    while name in makers and makers[name].permutes:
        name = makers[name].inputs[0]
    return name


def _products(graph: Graph) -> int:
    """Of weights and entries, and of entries: what a matrix product multiplies."""
    count = 0
    for node in _matrices(graph):
        size = int(np.prod(graph.shapes[node.name]))
        inner = node.weight[0].size if isinstance(node, Conv | Dense) else graph.shapes[node.inputs[0]][-1]
        count += size * inner
    return count


def _compared(
    folder: Path, qgraph: QuantGraph, tokens: dict[str, FloatArray], first: int, *, by_token: bool
) -> Findings:
    """The cosines of ``_COMPARED`` sentences from the ``first`` on, ``by_token`` of all tokens that count."""
    held = {name: each[first : first + _COMPARED] for name, each in tokens.items()}
    fed = [
        {name: each[place : place + 1].astype(np.int64) for name, each in held.items()}
        for place in range(len(held["ids"]))
    ]
    theirs = outputs(folder / "network.onnx", fed, ["y"])[0]["y"]
    assert qgraph.output_scale
    scale, zero = qgraph.output_scale
    q = {name: qgraph.entries[name].type.quantise(each) for name, each in held.items()}
    ours = scale * (qgraph.run(q).reshape(theirs.shape) - zero)
    if by_token:
        shown = np.repeat(held["mask"], theirs.shape[1] // held["mask"].shape[1], axis=1)
        ours, theirs = ours * shown, theirs * shown
    lengths = np.linalg.norm(ours, axis=1) * np.linalg.norm(theirs, axis=1)
    cosines = (ours * theirs).sum(axis=1) / lengths
    return {
        "sentences": len(cosines),
        "parameters": int(parameters(qgraph).size),
        "cosine": float(cosines.mean()),
        "least": float(cosines.min()),
    }


def main() -> None:
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="DIR", help="what bench/minilm.py made")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these rows")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows to FILE")
    options = parser.parse_args()
    report = Report("sentences", "all-MiniLM-L6-v2")
    whole, first = options.folder / "encoder", options.folder / "layer"
    tried: dict[str, Callable[[], Findings]] = {
        "W8A12": partial(alone, encoder, whole, 12, limits=_LIMITS),
        "W8A8": partial(alone, encoder, whole, 8, limits=_LIMITS),
        "layer": partial(alone, layer, first, 12, None, limits=_LIMITS),
    }
    tried |= {system: partial(alone, layer, first, 12, system, limits=_LIMITS) for system in SYSTEMS}
    rows = [row(name, attempt()) for name, attempt in tried.items() if name in (options.only or tried)]
    report.show("sentences", rows)
    report.write(options.json)


def row(name: str, found: Findings) -> Row:
    constraints, seconds, peak = (found.pop(key, None) for key in ("constraints", "seconds", "peak_mb"))
    return Row(name, constraints, seconds or 0.0, peak_mb=peak, more=found)


if __name__ == "__main__":
    main()
