"""Networks, inputs and typical inputs, as callers hand them in."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto

from circuits import Graph, export_model, load_onnx
from circuits.comparison.differences import Difference, require_near
from circuits.comparison.files import Exported, compare_source
from circuits.graphs.graph import Values
from circuits.graphs.tensors import by_name
from circuits.graphs.types import FloatArray, Shape
from circuits.onnx.constants import FLOATS
from circuits.onnx.message import entries, message, open_sizes
from circuits.onnx.runtime import File
from verifier.datasets import numbers, one_input
from zenerrors import TensorError
from zenserve.committed import Committed

VARIATIONS: Final = 15
VARIED: Final = 0.1


def plain(x: Any) -> Any:
    """``x`` with the real numbers of outputs that other proofs committed to."""
    if isinstance(x, Committed):
        return x.values
    if isinstance(x, Mapping):
        return {name: plain(each) for name, each in x.items()}
    return tuple(map(plain, x)) if isinstance(x, tuple) else x


class Loaded(NamedTuple):
    """A network as it was read. ``file``: the ONNX file, or its bytes. ``sizes``: of the dimensions that it
    only names. ``exported``: what the file was exported from, None where a file was handed in."""

    graph: Graph
    file: File
    sizes: Mapping[str, int]
    exported: Exported | None

    def shown_by(self, reveal: Any) -> Graph:
        """The network whose outputs a proof shows. An ArgMax at the end, which labels do without, is there
        where its ``values`` are asked for: they are the label, not the scores."""
        kinds = {each.type.tensor_type.elem_type for each in message(self.file).graph.output}
        asked = {reveal} if isinstance(reveal, str) else {*(reveal or {}).values()}
        if asked == {"values"} and self.graph.ranked and kinds.isdisjoint(FLOATS):
            return load_onnx(self.file, self.sizes, whole=True)
        return self.graph

    def differences(
        self, samples: Mapping[str, FloatArray], *, own: bool, accept: bool
    ) -> tuple[Difference, ...]:
        """How far the network that was read is from the model in memory and from what other programs make of
        its file, on ``samples`` (``gaps.chosen``). ``own``: whether the first is to be proven. Raises
        ``ModelError`` (``model.differs``) unless ``accept``."""
        differences = compare_source(self.file, self.sizes, self.exported, samples, own=own)
        if not accept:
            require_near(differences)
        return differences


def load(network: Any, x: Any, fixed: Mapping[str, int] | None = None) -> Loaded:
    """The network that takes ``x``: a model that is exported (``export_model``), the path or the bytes of an
    ONNX file, or an ONNX model. Dimensions that a file leaves open are as long as those of ``x``. ``fixed``:
    of a file's inputs of a single whole number those that ``x`` has not. Raises ``ModelError``, and
    ``TensorError`` (``input.names``) for a module's inputs by names.
    """
    file, exported = network, None
    if isinstance(network, ModelProto):
        file = network.SerializeToString()
    elif isinstance(network, str):
        file = Path(network)
    elif not isinstance(network, bytes | os.PathLike):
        if isinstance(x, Mapping):
            raise TensorError(
                "input.names", "a module takes its inputs in order: give a tuple", field="input"
            )
        examples = x if isinstance(x, tuple) else (x,)
        file = export_model(network, *examples)
        exported = Exported.of(network, tuple(map(array, examples)), file)
    sizes = _sizes(file, x, fixed or {})
    return Loaded(load_onnx(file, sizes), file, sizes, exported)


def _sizes(file: bytes | os.PathLike[str], x: Any, fixed: Mapping[str, int]) -> dict[str, int]:
    """``fixed``, and how long the inputs have the dimensions that the file leaves open; a batch of one is
    none."""
    known = {name: entry for name, entry in entries(file).items() if name not in fixed}
    sizes = dict(fixed)
    for name, given in by_name(_named(x, known), known, field="input").items():
        sizes |= open_sizes(known[name], array(given).shape)
    return sizes


def _named(values: Any, names: Iterable[str]) -> Any:
    """A tuple's by these names, in their order; others as they are."""
    return dict(zip(names, values, strict=False)) if isinstance(values, tuple) else values


def array(values: Any) -> NDArray[Any]:
    """Numbers of any kind, a tensor of PyTorch's too, and a table whose columns are of several."""
    made = np.asarray(values.detach().cpu() if hasattr(values, "detach") else values)
    if made.dtype == object:
        with suppress(TypeError, ValueError):
            return made.astype(np.float64)
    return made


def inputs(graph: Graph, x: Any) -> dict[str, FloatArray]:
    """One of each input by its name, float64[*shape], from the only one, a tuple or a mapping, each with a
    batch of one around it or without. Raises ``TensorError``."""
    given = by_name(_named(x, graph.entries), graph.entries, field="input")
    return {name: _fitted(given[name], shape, 0, "input") for name, shape in graph.entries.items()}


def samples(graph: Graph, calibration: Any) -> dict[str, FloatArray]:
    """Those of each input by its name, float64[n, *shape]; as ``inputs``."""
    given = by_name(_named(calibration, graph.entries), graph.entries, field="calibration")
    return {name: _fitted(given[name], shape, 1, "calibration") for name, shape in graph.entries.items()}


def _fitted(values: Any, shape: Shape, leading: int, field: str) -> FloatArray:
    """In this shape after ``leading`` axes, where a batch of one is all that differs."""
    x = array(values)
    x = numbers(x.astype(np.int64) if x.dtype == np.bool_ else x, field)
    return x.reshape(*x.shape[:leading], *shape) if one_input(x.shape[leading:], shape) else x


def varied(x: NDArray[Any], values: Values = "real") -> FloatArray:
    """``x`` and variations of it, [1 + VARIATIONS, *shape]: each value times 0.9 to 1.1, so that no range is
    a point, and signs and zeros stay. Integers stay such, between the least and the largest: they may be
    indices; booleans stay what they are."""
    most = 0.0 if values == "boolean" else VARIED
    factors = np.random.default_rng(0).uniform(1 - most, 1 + most, (VARIATIONS, *x.shape))
    made: FloatArray = np.concatenate([np.ones((1, *x.shape)), factors]) * x
    return made if values == "real" else np.rint(made).clip(x.min(), x.max())
