"""Models of Python's as ONNX files that give the models' own answers."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto

from zenserve.circuits.comparison import gaps
from zenserve.circuits.comparison.differences import Difference, require_near
from zenserve.circuits.comparison.files import Exported, compare_source
from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.networks.files import load_onnx
from zenserve.circuits.onnx.described import with_schema
from zenserve.circuits.onnx.estimators import export_model, export_tabular, is_of_tables
from zenserve.errors import ModelError
from zenserve.verifier.table import TableSchema


class Imported(NamedTuple):
    """A file as it was read, how far it is from its model, and the schema of its table if it has one."""

    file: bytes
    graph: Graph
    differences: list[Difference]
    schema: TableSchema | None


def write(model: Any, rows: tuple[Any, ...], output: list[str] | None, *, accept: bool) -> Imported:
    """The model as an ONNX file with these outputs, or all. ``rows``: typical ones of each input, [n, …].

    The file takes any number of rows, or, where no exporter writes that of a module, as many as ``rows`` has.
    Raises ``ModelError``: ``model.differs`` unless ``accept``.
    """
    if len(rows) == 1 and is_of_tables(model, rows[0]):
        tabular = export_tabular(model, rows[0])
        exported = Exported.of_table(tabular)
        made = _made(tabular.file, exported, (tabular.encode(rows[0], "input"),), output, accept=accept)
        return made._replace(schema=tabular.schema)
    if hasattr(model, "forward") and all(each.ndim > 1 for each in rows):
        with suppress(ModelError):
            whole = export_model(model, *(np.concatenate([each, each])[:2] for each in rows), batched=True)
            exported = Exported.of(model, tuple(each[:1] for each in rows), whole)
            return _made(whole, exported, rows, output, accept=False)
    whole = export_model(model, *rows)
    return _made(whole, Exported.of(model, rows, whole), rows, output, accept=accept)


def copied(onnx: Path, schema: TableSchema | None, output: list[str] | None) -> bytes:
    """The file with these outputs, or all, and with the names of columns and classes in it."""
    file = onnx.read_bytes()
    kept = _keeping(file, output) if output else file
    return with_schema(kept, schema) if schema else kept


def _made(
    whole: bytes, exported: Exported, rows: tuple[Any, ...], output: list[str] | None, *, accept: bool
) -> Imported:
    file = _keeping(whole, output) if output else whole
    graph = load_onnx(file)
    return Imported(file, graph, _differences(file, graph, exported, rows, accept=accept), None)


def _differences(
    file: bytes, graph: Graph, exported: Exported, rows: tuple[NDArray[Any], ...], *, accept: bool
) -> list[Difference]:
    """Return the differences between the file, the model and the network that is read from the file, on the
    examples: one of each input, or rows of them. Raises ``ModelError`` (``model.differs``) unless ``accept``.
    """
    if len(graph.entries) != len(rows):
        reason = f"{len(rows)} inputs are given, and the file takes {', '.join(graph.entries)}"
        raise ModelError("model.inputs", reason, field="input")
    named = zip(graph.entries.items(), rows, strict=True)
    samples = {name: each.reshape(-1, *shape).astype(float) for (name, shape), each in named}
    compared = gaps.chosen(graph, samples)
    if len(next(iter(samples.values()))) > 1 and len(exported.examples[0]) > 1 and exported.rows is None:
        exported = exported._replace(examples=tuple(each[0] for each in exported.examples))
    found = compare_source(file, {}, exported, compared, own=False)
    if not accept:
        require_near(found)
    return [*found]


def _keeping(made: bytes, wanted: list[str]) -> bytes:
    """With these outputs alone."""
    model = ModelProto.FromString(made)
    outputs = {each.name: each for each in model.graph.output}
    if unknown := set(wanted) - set(outputs):
        raise ModelError(
            "model.outputs",
            f"there is no output {min(unknown)[:80]!r}; those that there are: {', '.join(outputs)}",
            field="output",
        )
    kept = [outputs[name] for name in outputs if name in wanted]
    del model.graph.output[:]
    model.graph.output.extend(kept)
    return bytes(model.SerializeToString())
