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

from zenserve.circuits import Graph, export_model, load_onnx
from zenserve.circuits.comparison.differences import Difference, require_near
from zenserve.circuits.comparison.files import Exported, compare_source
from zenserve.circuits.folders import Encoder, ModelFolder, open_folder, texts_in
from zenserve.circuits.graphs.graph import Values
from zenserve.circuits.graphs.tensors import by_name
from zenserve.circuits.graphs.types import FloatArray, Shape
from zenserve.circuits.onnx.constants import FLOATS
from zenserve.circuits.onnx.described import schema_of
from zenserve.circuits.onnx.estimators import export_tabular, is_of_tables
from zenserve.circuits.onnx.frames.exported import Tabular
from zenserve.circuits.onnx.message import entries, message, open_sizes
from zenserve.circuits.onnx.runtime import File
from zenserve.errors import TensorError
from zenserve.onecall.committed import Committed
from zenserve.verifier.datasets import numbers, one_input
from zenserve.verifier.table import TableSchema, is_rows

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
    only names. ``exported``: what the file was exported from, None where a file was handed in. ``schema``:
    of the table whose rows it takes, if it is known; ``tabular``: how a model in memory takes them.
    ``texts``: what makes its inputs of texts."""

    graph: Graph
    file: File
    sizes: Mapping[str, int]
    exported: Exported | None
    schema: TableSchema | None = None
    tabular: Tabular | None = None
    texts: Encoder | None = None

    def encoded(self, rows: Any, field: str) -> Any:
        """Return the network's input for rows of its table or for texts; anything else unchanged."""
        if self.texts is not None and texts_in(rows):
            return self.texts(rows)
        if self.schema is None or rows is None or not self.schema.columns:
            return rows
        _require_rows(rows, field)
        if self.tabular is not None:
            return self.tabular.encode(framed(rows), field)
        return self.schema.encode(rows, field) if is_rows(rows) else rows

    def ends(self, samples: Mapping[str, FloatArray]) -> dict[str, FloatArray] | None:
        """Rows that reach as far as the schema lets any."""
        if self.schema is None or not self.schema.columns:
            return None
        return {name: self.schema.spread(values) for name, values in samples.items()}

    def labels(self, labels: Any) -> NDArray[Any] | None:
        """Words by the places of their classes. Raises ``TensorError``."""
        if labels is None:
            return None
        known = array(labels)
        if known.dtype.kind not in "OUS" or self.schema is None or not self.schema.classes:
            return known
        places = {name: place for place, name in enumerate(self.schema.classes)}
        if not {*map(str, known)} <= {*places}:
            reason = f"labels: one is none of the classes {', '.join(map(repr, places))}"
            raise TensorError("input.out_of_range", reason, field="labels")
        return np.array([places[str(each)] for each in known])

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
        """Return the differences of the network that was read from the model in memory, and from other
        programs' results for its file, on ``samples`` (``gaps.chosen``). ``own``: whether the first sample is
        the one to be proven. Raises ``ModelError`` (``model.differs``) unless ``accept``."""
        differences = compare_source(self.file, self.sizes, self.exported, samples, own=own)
        if not accept:
            require_near(differences)
        return differences


def load(network: Any, x: Any, fixed: Mapping[str, int] | None = None, typical: Any = None) -> Loaded:
    """The network that takes ``x``: a model that is exported (``export_model``), the path or the bytes of an
    ONNX file, a folder of MLflow's or Hugging Face's, or an ONNX model. Dimensions that a file leaves open
    are as long as those of ``x``. ``fixed``: of a file's inputs of a single whole number those that ``x``
    has not. ``typical``: rows of a table that a model takes, beside ``x``. Raises ``ModelError``, and
    ``TensorError`` (``input.names``) for a module's inputs by names.
    """
    if isinstance(network, str | os.PathLike) and Path(network).is_dir():
        return _of_folder(open_folder(Path(network)), x, fixed or {}, typical)
    rows = framed(x if typical is None else typical)
    if is_of_tables(network, rows):
        tabular = export_tabular(network, rows)
        graph = load_onnx(tabular.file)
        return Loaded(graph, tabular.file, {}, Exported.of_table(tabular), tabular.schema, tabular)
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
    if is_rows(x):
        graph = load_onnx(file, fixed or {})
        if schema := schema_of(file, graph):
            return Loaded(graph, file, fixed or {}, exported, schema)
    sizes = _sizes(file, x, fixed or {})
    graph = load_onnx(file, sizes)
    return Loaded(graph, file, sizes, exported, schema_of(file, graph))


def _of_folder(folder: ModelFolder, x: Any, fixed: Mapping[str, int], typical: Any) -> Loaded:
    """Of texts all inputs are as long as the longest."""
    file, texts = folder.network, None
    if given := texts_in(x):
        texts = folder.encoder(entries(file), given + texts_in(typical))
        x = texts(x)
    elif folder.schema and folder.schema.columns and is_rows(x):
        x = folder.schema.encode(x)[0]
    loaded = load(file, x, fixed, typical)
    return loaded._replace(schema=folder.schema or loaded.schema, texts=texts)


def _require_rows(rows: Any, field: str) -> None:
    """Raises ``TensorError`` for a table without rows, and for an input of several."""
    count = len(rows) if hasattr(rows, "columns") else 1
    if count == 0:
        raise TensorError("input.empty", f"{field}: the table has no rows", field=field)
    if count > 1 and field == "input":
        reason = f"input: the table has {count} rows, and a proof is about one, such as table[:1]"
        raise TensorError("input.shape", reason, field="input")


def framed(rows: Any) -> Any:
    """A row of pandas' as a table of one."""
    is_row = hasattr(rows, "to_frame") and not hasattr(rows, "columns")
    return rows.to_frame().T.infer_objects() if is_row else rows


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


def first(samples: Any) -> Any:
    """One of the samples: of arrays, of each of several, or a row of a table."""
    if hasattr(samples, "iloc"):
        return samples.iloc[:1]
    if isinstance(samples, Mapping):
        return {name: first(each) for name, each in samples.items()}
    if isinstance(samples, tuple):
        return tuple(map(first, samples))
    if isinstance(samples, list) and is_rows(samples):
        return samples[:1]
    return array(samples)[0]


def each(rows: Any) -> list[Any]:
    """The rows of an array, or of a table each as a table of one."""
    if hasattr(rows, "iloc"):
        return [rows.iloc[place : place + 1] for place in range(len(rows))]
    return [*array(rows)]


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
    """Return the samples of each input by its name, float64[n, *shape]; as ``inputs``."""
    given = by_name(_named(calibration, graph.entries), graph.entries, field="calibration")
    return {name: _fitted(given[name], shape, 1, "calibration") for name, shape in graph.entries.items()}


def _fitted(values: Any, shape: Shape, leading: int, field: str) -> FloatArray:
    """In this shape after ``leading`` axes, where a batch of one is all that differs."""
    x = array(values)
    x = numbers(x.astype(np.int64) if x.dtype == np.bool_ else x, field)
    return x.reshape(*x.shape[:leading], *shape) if one_input(x.shape[leading:], shape) else x


def varied_rows(schema: TableSchema, x: FloatArray) -> FloatArray:
    """As ``varied``, of a row of a table: categories and missing values stay such."""
    factors = np.random.default_rng(0).uniform(1 - VARIED, 1 + VARIED, (VARIATIONS, len(schema.columns)))
    return schema.varied(x, factors)


def varied(x: NDArray[Any], values: Values = "real") -> FloatArray:
    """``x`` and variations of it, [1 + VARIATIONS, *shape]: each value times 0.9 to 1.1, so that no range is
    a point, and signs and zeros stay. Integers stay such, between the least and the largest: they may be
    indices; booleans stay what they are."""
    most = 0.0 if values == "boolean" else VARIED
    factors = np.random.default_rng(0).uniform(1 - most, 1 + most, (VARIATIONS, *x.shape))
    made: FloatArray = np.concatenate([np.ones((1, *x.shape)), factors]) * x
    return made if values == "real" else np.rint(made).clip(x.min(), x.max())
