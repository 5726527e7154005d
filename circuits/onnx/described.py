"""The schema of a table inside an ONNX file: metadata that no other program reads, and no circuit has."""

from __future__ import annotations

from typing import Final

from onnx import ModelProto

from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.onnx.message import message
from zenserve.circuits.onnx.runtime import File
from zenserve.errors import ModelError
from zenserve.verifier.table import TableSchema

KEY: Final = "zenserve.table"


def with_schema(file: bytes, schema: TableSchema) -> bytes:
    """The file, with this schema in the place of the one that it has."""
    model = ModelProto.FromString(file)
    kept = [each for each in model.metadata_props if each.key != KEY]
    del model.metadata_props[:]
    model.metadata_props.extend(kept)
    model.metadata_props.add(key=KEY, value=schema.to_json())
    return bytes(model.SerializeToString())


def schema_of(file: File, graph: Graph) -> TableSchema | None:
    """The schema in the file of a network that reads rows of a table, or whose classes have names; None where
    there is none. Raises ``ModelError`` for a schema that cannot be read, or of rows of another size."""
    found = [each.value for each in message(file).metadata_props if each.key == KEY]
    schema = TableSchema.parse(found[-1]) if found else None
    if schema is None or not schema.columns:
        return schema
    if len(graph.inputs) != 1 or len(graph.input.shape) != 1:
        return None
    size = graph.input.shape[0]
    if schema.size != size:
        raise ModelError(
            "model.unreadable",
            f"the file describes columns of {schema.size} entries, and its network reads {size}",
        )
    return schema
