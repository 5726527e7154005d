"""A model of a table with words and gaps, small enough to be proven in a second or two."""

from __future__ import annotations

import numpy as np

from zenserve.circuits.onnx.described import with_schema
from zenserve.circuits.onnx.tables.ensemble import LEQ, Ensemble, Trees
from zenserve.verifier.table import Column, TableSchema

SCHEMA = TableSchema(
    columns=(
        Column(name="age", missing=(-128.0, 128.0)),
        Column(name="city", kind="category", categories=("Berlin", "Hamburg", None)),
    ),
    classes=("approve", "decline"),
)
TYPICAL = "age,city,label\n20,Berlin,decline\n61.5,Hamburg,approve\n,Hamburg,approve\n44,,decline\n"


def network() -> bytes:
    """Approves of whoever is from Hamburg, and over 30 or of unknown age."""
    trees = Trees()
    approve, decline = trees.leaf([1.0, 0.0]), trees.leaf([0.0, 1.0])
    old = trees.split(1, LEQ, [30.0], decline, approve)
    from_hamburg = trees.split(2, LEQ, [1.5], old, decline)
    trees.add(trees.split(2, LEQ, [0.5], decline, from_hamburg))
    read = Ensemble(trees, np.zeros(2), classes=[*(SCHEMA.classes or ())])
    return with_schema(read.model(SCHEMA.size), SCHEMA)


ROW = {"age": 61.5, "city": "Hamburg"}
CALIBRATION = [
    dict(zip(("age", "city"), line.split(",")[:2], strict=True)) for line in TYPICAL.splitlines()[1:]
]
