"""Inputs and labels that commands are given: files of all kinds, and folders of pictures (docs/inputs.md).

What the service reads itself goes to it as it is. Pictures become arrays here, and so does a file whose
column of labels is named.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from client.errors import ClientError
from zenerrors import RequestError

if TYPE_CHECKING:
    from circuits.samples import Samples, Shapes
    from client import Client

_ONE: Final = ".npy, .npz, JSON (also EZKL's input.json) or .csv"
FILES: Final = f"{_ONE}, or a folder of pictures."

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
        "--labels", exists=True, dir_okay=False, help="What is right for each, where that file has it not."
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
        metavar="X[,X,X]", help="Taken from pictures' values, 0 to 1: one, or one for each channel."
    ),
]
Std = Annotated[str | None, typer.Option(metavar="X[,X,X]", help="What these are then divided by, likewise.")]


@dataclass(frozen=True)
class Reading:
    """How files are read: ``column`` of labels, and what pictures' values are taken from and divided by."""

    column: str | None = None
    mean: str | None = None
    std: str | None = None

    def samples(self, path: Path, field: str, shapes: Shapes) -> Samples:
        """Raises ``RequestError``, ``TensorError``, as do the others."""
        from circuits import samples
        from circuits.samples.pictures import Scaling

        scaling = Scaling(_each("mean", self.mean or "0"), _each("std", self.std or "1"))
        return samples.read(path, shapes, field, column=self.column, scaling=scaling)

    def sent(self, path: Path, field: str, shapes: Callable[[], Shapes]) -> bytes:
        """A file for the service. ``shapes``: of the network's inputs, asked for where they are needed."""
        from circuits.samples import is_pictures

        if self.column is None and not is_pictures(path):
            return path.read_bytes()
        return self.samples(path, field, shapes()).to_npz()

    def one(self, path: Path, field: str, shapes: Callable[[], Shapes]) -> Any:
        """An input as requests have it: nested lists, those of several by their names."""
        from circuits.graphs.tensors import require_finite
        from circuits.samples import array, is_pictures

        if not is_pictures(path) and (given := array(path.read_bytes(), field)) is not None:
            require_finite(given, field)  # JSON has no others
            return given.tolist()
        return self.samples(path, field, shapes()).as_json()


def shapes_in(model: Path, sizes: Mapping[str, int]) -> Shapes:
    """Of the inputs of the network in an ONNX file."""
    from circuits import load_onnx

    return load_onnx(model, sizes).entries


def shapes_of(service: Client, model_id: str) -> Callable[[], Shapes]:
    """Of a registered model's inputs."""

    def ask() -> Shapes:
        described = service.get_model(model_id).description
        if described is None:
            raise ClientError(f"{model_id} is not registered yet: its inputs' shapes are not known")
        kinds = described["quantisation"]
        several = {kind["name"]: tuple(kind["shape"]) for kind in kinds.get("inputs", [])}
        return several or {"input": tuple(kinds["input"]["shape"])}

    return ask


def _each(field: str, text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        reason = f"--{field}: a number, or several with commas between them"
        raise RequestError("request.invalid", reason, field=field) from None
