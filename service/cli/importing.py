"""``zenserve import``: a model of Python's as the ONNX file that everything else here takes."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from inspect import isfunction, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from zenserve.errors import ModelError, RequestError, TensorError, naming
from zenserve.service.cli import terminal
from zenserve.service.cli.answers import Answer, answering
from zenserve.service.cli.precision import AcceptDifference
from zenserve.service.cli.terminal import in_words

if TYPE_CHECKING:
    from zenserve.verifier.table import Column, TableSchema


_KINDS: Final = "give MODULE:NAME, a .pkl or .joblib file, or a folder of MLflow's or Hugging Face's"


@answering
def import_model(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODULE:NAME",
            help="Where Python finds it: an estimator or a pipeline, a booster, a module of PyTorch's, a "
            "model of Keras', or a function that returns one. Or a .pkl or .joblib file of one, or a "
            "folder that MLflow or Hugging Face's libraries saved.",
        ),
    ],
    file: Annotated[Path, typer.Argument(help="The ONNX file to write.")],
    inputs: Annotated[
        list[Path] | None,
        typer.Option(
            "--input",
            exists=True,
            help="Typical rows, .npy, JSON, or .csv with names. Of several inputs an option for each in"
            " order, or one .npz with their names.",
        ),
    ] = None,
    output: Annotated[
        list[str] | None,
        typer.Option(help="Keep this output and what it needs: as often as you like. All of them otherwise."),
    ] = None,
    accept_difference: AcceptDifference = False,
) -> Answer:
    """Write a model that Python has in memory as an ONNX file, if that gives the model's own answers. Its
    module, or its file, is run: import what you trust."""
    from zenserve.circuits.folders import open_folder
    from zenserve.circuits.importing import copied, write

    folder = open_folder(Path(model)) if Path(model).is_dir() else None
    if folder and folder.onnx:
        file.write_bytes(copied(folder.onnx, folder.schema, output))
        table = folder.schema and json.loads(folder.schema.to_json())
        lines = _table_in_words(folder.schema) if folder.schema else []
        return Answer({"file": str(file), "table": table}, (f"{file}: {folder.onnx}, as it is", *lines))
    if folder and folder.example and not inputs:
        inputs = [folder.example]
    if not inputs:
        raise RequestError("request.invalid", "give typical rows of each input", field="inputs")
    found = _unpickled(folder.pickled) if folder and folder.pickled else _found(model)
    rows = _in_order(found, [_rows(each) for each in inputs])
    with naming(model):
        made = write(found, rows, output, accept=accept_difference)
    file.write_bytes(made.file)
    graph, differences = made.graph, [each.to_json() for each in made.differences]
    takes = {name: [*shape] for name, shape in graph.entries.items()}
    makes = {name: [*graph.shapes[tensor]] for name, tensor in graph.outputs.items()}
    said = ", ".join(f"{name} {shape}" for name, shape in {**takes, **makes}.items())
    document: dict[str, Any] = {"file": str(file), "inputs": takes, "outputs": makes}
    document |= {"differences": differences}
    lines = [f"{file}: {said}", *map(in_words, differences)]
    if made.schema:
        document["table"] = json.loads(made.schema.to_json())
        lines += _table_in_words(made.schema)
    return Answer(document, tuple(lines))


def _rows(inputs: Path) -> Any:
    """Typical inputs: an array, arrays by names, or a table with names. Raises ``ZenError``."""
    from zenserve.verifier.datasets import read_arrays

    with naming(str(inputs)):
        if inputs.suffix.lower() != ".csv":
            read = read_arrays(inputs)
            is_split = isinstance(read, dict) and {"columns", "data"} <= {*read}  # an example of MLflow's
            return _framed(read["columns"].tolist(), read["data"].tolist()) if is_split else read
        try:
            import pandas
        except ImportError:
            reason = "a .csv file takes pandas: pip install pandas, or give an array as .npy"
            raise ModelError("model.no_exporter", reason) from None
        try:
            return pandas.read_csv(inputs)
        except (ValueError, UnicodeDecodeError):  # their words may quote cells
            raise TensorError("input.unreadable", "it is no table with a line of names") from None


def _framed(columns: list[str], data: list[Any]) -> Any:
    try:
        import pandas
    except ImportError:
        reason = "rows with names take pandas: pip install pandas, or give an array as .npy"
        raise ModelError("model.no_exporter", reason) from None
    return pandas.DataFrame(data, columns=columns)


def _in_order(model: Any, given: list[Any]) -> tuple[Any, ...]:
    """Rows of each input as the model takes them; arrays by names in the order of its parameters, where these
    have the names, else of the file."""
    if len(given) > 1 or not isinstance(given[0], dict):
        return tuple(given)
    arrays = given[0]
    asked = [*signature(model.forward).parameters] if hasattr(model, "forward") else []
    return tuple(arrays[name] for name in (asked if {*asked} == {*arrays} else arrays))


def _table_in_words(schema: TableSchema) -> list[str]:
    """Return lines on a row's columns, on its classes' names, and on what is not proven of it."""
    lines = [f"a row has {', '.join(map(_column_in_words, schema.columns))}"] if schema.columns else []
    lines += [f"its classes are {', '.join(schema.classes)}"] if schema.classes else []
    return lines + ([schema.unproven] if schema.unproven else [])


def _column_in_words(column: Column) -> str:
    name = terminal.escape(column.name)
    if column.kind == "category":
        return f"{name} (one of {len(column.categories)})"
    return f"{name} (may be missing)" if column.missing else name


def _found(place: str) -> Any:
    """The object that MODULE:NAME names, seen from the folder that the command runs in."""
    if Path(place).suffix in (".pkl", ".joblib") and Path(place).is_file():
        return _unpickled(Path(place))
    module, _, name = place.partition(":")
    if not module or not name:
        raise RequestError("request.invalid", f"{place!r} is no model: {_KINDS}", field="model")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise RequestError("request.invalid", f"there is no {place}: {error}", field="model") from None
    finally:
        sys.path.pop(0)
    return found() if isfunction(found) else found


def _unpickled(file: Path) -> Any:
    """Load the object in a pickle or PyTorch file: any code in the file is run."""
    if file.suffix == ".pth":
        import torch

        return torch.load(file, weights_only=False, map_location="cpu")
    try:
        from joblib import load
    except ImportError:
        reason = "a .pkl or .joblib file takes joblib: pip install scikit-learn"
        raise ModelError("model.no_exporter", reason) from None
    sys.path.insert(0, str(Path.cwd()))
    try:
        return load(file)
    except Exception as error:  # whatever a module that it names may raise
        reason = f"{file} cannot be loaded: {type(error).__name__}: {str(error)[:200]}"
        raise RequestError("request.invalid", reason, field="model") from None
    finally:
        sys.path.pop(0)
