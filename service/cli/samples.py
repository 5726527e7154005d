"""Inputs and labels that commands are given: files of all kinds, and folders of pictures (docs/inputs.md).

What the service reads itself goes to it as it is. Pictures become arrays here, and so does a file whose
column of labels is named.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

import typer

from zenserve.client.errors import ClientError
from zenserve.errors import RequestError

if TYPE_CHECKING:
    from zenserve.circuits.samples import Samples, Shapes
    from zenserve.client import Client
    from zenserve.verifier.table import TableSchema

_ONE: Final = ".npy, .npz, JSON (also EZKL's input.json) or .csv"
FILES: Final = f"{_ONE}, or a folder of pictures. Several inputs: arrays by their names (.npz, JSON)."

InputFile = Annotated[
    Path,
    typer.Argument(metavar="INPUT", exists=True, dir_okay=False, help=f"One input: {_ONE}, or a picture."),
]
MaybeInputFile = Annotated[
    Path | None,
    typer.Argument(metavar="INPUT", exists=True, dir_okay=False, help=f"One input: {_ONE}, or a picture."),
]
LabelFile = Annotated[
    Path | None,
    typer.Option(
        "--labels", exists=True, dir_okay=False, help="Label of each sample, unless the samples' file has it."
    ),
]
LabelColumn = Annotated[
    str | None, typer.Option(help="The column of labels in a .csv file.", show_default="label")
]
Sizes = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=SIZE", help="Of a dimension that the file only names, such as tokens=128."),
]
Mean = Annotated[
    str | None,
    typer.Option(
        metavar="X[,X,X]",
        rich_help_panel="Pictures",
        help="Mean subtracted from pixels of 0 to 1: one number, or one per channel.",
    ),
]
Std = Annotated[
    str | None,
    typer.Option(
        metavar="X[,X,X]",
        rich_help_panel="Pictures",
        help="Standard deviation that pixels are divided by: one number, or one per channel.",
    ),
]


@dataclass(frozen=True)
class Reading:
    """Options for reading files.

    ``column``: of labels. ``mean`` is subtracted from pictures' values, and ``std`` divides them.
    """

    column: str | None = None
    mean: str | None = None
    std: str | None = None

    def samples(self, path: Path, field: str, shapes: Shapes, schema: TableSchema | None = None) -> Samples:
        """Raises ``RequestError``, ``TensorError``, as do the others."""
        from zenserve.circuits import samples
        from zenserve.circuits.samples.pictures import Scaling

        scaling = Scaling(_each("mean", self.mean or "0"), _each("std", self.std or "1"))
        return samples.read(path, shapes, field, column=self.column, scaling=scaling, schema=schema)

    def sent(self, path: Path, field: str, ask: Callable[[], Taken]) -> bytes:
        """A file for the service. ``ask``: what the network takes, asked for where it is needed."""
        from zenserve.circuits.samples import is_pictures

        if self.column is None and not is_pictures(path):
            return path.read_bytes()
        return self.samples(path, field, *ask()).to_npz()

    def one(self, path: Path, field: str, ask: Callable[[], Taken]) -> Any:
        """An input as requests have it: nested lists, those of several by their names."""
        from zenserve.circuits.graphs.tensors import require_finite
        from zenserve.circuits.samples import array, cells, is_pictures

        if not is_pictures(path) and cells(path.read_bytes(), field) is not None and ask().schema:
            return self.samples(path, field, *ask()).as_json()
        if not is_pictures(path) and (given := array(path.read_bytes(), field)) is not None:
            require_finite(given, field)  # JSON has no others
            return given.tolist()
        return self.samples(path, field, *ask()).as_json()


class Taken(NamedTuple):
    """The shapes of a network's inputs, and the schema of the table whose rows it reads, if it is known."""

    shapes: Shapes
    schema: TableSchema | None = None


def taken_in(model: Path, sizes: Mapping[str, int]) -> Taken:
    """By the network in an ONNX file."""
    from zenserve.circuits import load_onnx
    from zenserve.circuits.onnx.described import schema_of

    graph = load_onnx(model, sizes)
    return Taken(graph.entries, schema_of(model, graph))


def taken_by(service: Client, model_id: str) -> Callable[[], Taken]:
    """By a registered model."""

    @cache
    def ask() -> Taken:
        from zenserve.verifier.table import TableSchema

        model = service.get_model(model_id)
        described = model.description
        if described is None:
            raise ClientError(f"{model_id} is not registered yet: its inputs' shapes are not known")
        kinds = described["quantisation"]
        several = {kind["name"]: tuple(kind["shape"]) for kind in kinds.get("inputs", [])}
        schema = TableSchema.parse(json.dumps(model.table)) if model.table else None
        return Taken(several or {"input": tuple(kinds["input"]["shape"])}, schema)

    return ask


def _each(field: str, text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        reason = f"--{field}: a number, or several with commas between them"
        raise RequestError("request.invalid", reason, field=field) from None
