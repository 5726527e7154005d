"""Suites of networks: folders of folders, each with an ONNX file and, where there are any, its own inputs.

``bench/suites/NAME.txt`` lists what belongs to a folder NAME, or NAME-OF-SOME-KIND, a line each that begins
with a network's name; of a folder without a list all that has an ONNX file does. Inputs are an ``input.json``
of EZKL's, a flat list for each, {"input_data": [[…], …]}; an ``input.npy``, or an ``input.npz`` by the
inputs' names; else random numbers. A ``calibration.npy`` of an only input, or a ``calibration.npz``, has
samples that say more of the inputs' ranges than small variations of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from onnx import GraphProto, ModelProto, ValueInfoProto, load
from onnx.helper import tensor_dtype_to_np_dtype

from zenserve.circuits import samples
from zenserve.circuits.onnx.message import open_sizes

LISTS: Final = Path(__file__).parent / "suites"
# What makes of a tensor's shape what is known from the file alone.
_OF_SHAPES: Final = ("Shape", "Size")

Arrays = dict[str, NDArray[Any]]


def members(suite: Path) -> list[Path]:
    """The networks' files. Raises ``FileNotFoundError`` for one that is listed and not there, and where
    there are none."""
    listed = LISTS / f"{suite.name.partition('-')[0]}.txt"
    if not listed.exists():
        found = [path for folder in sorted(suite.glob("*/")) if (path := _network(folder))]
        if not found:
            raise FileNotFoundError(f"{suite} has no folders with ONNX files")
        return found
    lines = listed.read_text().splitlines()
    names = [line.split()[0] for line in lines if line and not line.startswith("#")]
    files = {name: _network(suite / name) for name in names}
    missing = [name for name, file in files.items() if file is None]
    if missing:
        raise FileNotFoundError(f"{listed} names what {suite} has not: {', '.join(missing)}")
    return [file for file in files.values() if file]


def _network(folder: Path) -> Path | None:
    """Its network.onnx, or the first file of another name."""
    usual = folder / "network.onnx"
    return usual if usual.exists() else min(folder.glob("*.onnx"), default=None)


def inputs(network: Path) -> tuple[Arrays, str]:
    """What the network is to be run on, by the names of its inputs, and the file that it is from. Raises
    ``TensorError``, and ``ValueError`` where the file has another number of values than the network takes."""
    wanted = entries(load(network, load_external_data=False).graph)
    for name in ("input.json", "input.npz", "input.npy"):
        if (file := network.parent / name).exists():
            given = _read(file, {each: _shape(entry) for each, entry in wanted.items()})
            return {each: _as(entry, given[each]) for each, entry in wanted.items()}, name
    rng = np.random.default_rng(0)
    return {name: _random(entry, rng) for name, entry in wanted.items()}, "random"


def sizes(network: Path, given: Mapping[str, NDArray[Any]]) -> dict[str, int]:
    """How long the inputs have the dimensions that the file leaves open, where that is not 1, and inputs of a
    single whole number, such as a sampling rate."""
    wanted = entries(load(network, load_external_data=False).graph)
    found = [open_sizes(entry, given[name].shape) for name, entry in wanted.items()]
    lengths = {name: size for each in found for name, size in each.items()}
    single = {name: each for name, each in given.items() if each.dtype.kind in "iu" and each.ndim < 2}
    return lengths | {name: int(each.item()) for name, each in single.items() if each.size == 1}


def calibration(network: Path) -> Arrays | None:
    """What is beside a network to calibrate with, [n, *shape] by the names of its inputs: a
    ``calibration.npz``, or a ``calibration.npy`` of an only one; None where there is neither."""
    if (file := network.parent / "calibration.npz").exists():
        return dict(_read(file, {}))
    file = network.parent / "calibration.npy"
    if not file.exists():
        return None
    (name,) = entries(load(network, load_external_data=False).graph)
    return {name: np.load(file, allow_pickle=False)}


def entries(graph: GraphProto) -> dict[str, ValueInfoProto]:
    """The inputs of a network by name: those that the file does not hold itself."""
    held = {each.name for each in graph.initializer}
    return {entry.name: entry for entry in graph.input if entry.name not in held}


def is_constant(model: ModelProto) -> bool:
    """Whether no output depends on any input but for its shape."""
    writers = {name: node for node in model.graph.node for name in node.output}
    wanted, given = {each.name for each in model.graph.output}, set(entries(model.graph))
    seen: set[str] = set()
    while wanted:
        name = wanted.pop()
        seen.add(name)
        if name in writers and writers[name].op_type not in _OF_SHAPES:
            wanted |= set(writers[name].input) - seen
    return not seen & given


def _read(file: Path, shapes: Mapping[str, tuple[int, ...]]) -> Mapping[str, NDArray[Any]]:
    if file.suffix == ".npz":
        with np.load(file, allow_pickle=False) as arrays:
            return dict(arrays)
    return samples.read(file, shapes, file.name).inputs


def _as(entry: ValueInfoProto, values: Any) -> NDArray[Any]:
    """In the shape that the file fixes; dimensions that it leaves open are as long as the values' own."""
    array, dimensions = np.asarray(values), entry.type.tensor_type.shape.dim
    fits = len(dimensions) == array.ndim and all(
        dimension.dim_value < 1 or dimension.dim_value == size
        for dimension, size in zip(dimensions, array.shape, strict=True)
    )
    shape = array.shape if fits else _shape(entry)
    if array.size != math.prod(shape):
        raise ValueError(f"{array.size} values for the input {entry.name!r} of shape {list(shape)}")
    return array.reshape(shape).astype(tensor_dtype_to_np_dtype(entry.type.tensor_type.elem_type))


def _random(entry: ValueInfoProto, rng: np.random.Generator) -> NDArray[Any]:
    """Floats from 0.1 to 0.9, which roots, logarithms, divisors and arcs all take; else zeros and ones."""
    shape, kind = _shape(entry), tensor_dtype_to_np_dtype(entry.type.tensor_type.elem_type)
    values = rng.uniform(0.1, 0.9, shape) if kind.kind == "f" else rng.integers(0, 2, shape)
    return values.astype(kind)


def _shape(entry: ValueInfoProto) -> tuple[int, ...]:
    """With 1 for what the file does not fix."""
    return tuple(max(1, each.dim_value) for each in entry.type.tensor_type.shape.dim)
