"""``zenserve import``: a model of Python's as the ONNX file that everything else here takes."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from inspect import isfunction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from circuits.comparison.differences import require_near
from service.cli import terminal
from service.cli.answers import Answer, answering
from service.cli.precision import AcceptDifference
from service.cli.terminal import in_words
from zenerrors import ModelError, RequestError, TensorError, naming

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from circuits import Graph
    from circuits.comparison.files import Exported
    from circuits.onnx.frames.exported import Tabular
    from circuits.samples.schema import Column, TableSchema


@answering
def import_model(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODULE:NAME",
            help="Where Python finds it: an estimator or a pipeline, a booster, a module of PyTorch's, a "
            "model of Keras', or a function that returns one. Or a .pkl or .joblib file of one.",
        ),
    ],
    file: Annotated[Path, typer.Argument(help="The ONNX file to write.")],
    inputs: Annotated[
        Path,
        typer.Option(
            "--input",
            exists=True,
            help="What it takes: one sample or several, .npy, JSON, or .csv with names.",
        ),
    ],
    output: Annotated[
        list[str] | None,
        typer.Option(help="Keep this output and what it needs: as often as you like. All of them otherwise."),
    ] = None,
    accept_difference: AcceptDifference = False,
) -> Answer:
    """Write a model that Python has in memory as an ONNX file, if that gives the model's own answers. Its
    module, or its file, is run: import what you trust."""
    from circuits import load_onnx

    found, rows = _found(model), _rows(inputs)
    whole, exported, tabular = _exported(found, rows)
    made = _keeping(whole, output) if output else whole
    with naming(model):
        graph = load_onnx(made)
        samples = tabular.encode(rows, "input") if tabular else exported.examples[0]
        differences = _differences(made, graph, exported, samples, accept=accept_difference)
    file.write_bytes(made)
    takes = {name: [*shape] for name, shape in graph.entries.items()}
    makes = {name: [*graph.shapes[tensor]] for name, tensor in graph.outputs.items()}
    said = ", ".join(f"{name} {shape}" for name, shape in {**takes, **makes}.items())
    document: dict[str, Any] = {"file": str(file), "inputs": takes, "outputs": makes}
    document |= {"differences": differences}
    lines = [f"{file}: {said}", *map(in_words, differences)]
    if tabular:
        document["table"] = json.loads(tabular.schema.to_json())
        lines += _table_in_words(tabular.schema)
    return Answer(document, tuple(lines))


def _rows(inputs: Path) -> Any:
    """Typical inputs: an array, or a table with names. Raises ``ZenError``."""
    from verifier.datasets import load_array

    with naming(str(inputs)):
        if inputs.suffix.lower() != ".csv":
            return load_array(inputs)
        try:
            import pandas
        except ImportError:
            reason = "a .csv file takes pandas: pip install pandas, or give an array as .npy"
            raise ModelError("model.no_exporter", reason) from None
        try:
            return pandas.read_csv(inputs)
        except (ValueError, UnicodeDecodeError):  # their words may quote cells
            raise TensorError("input.unreadable", "it is no table with a line of names") from None


def _exported(model: Any, rows: Any) -> tuple[bytes, Exported, Tabular | None]:
    """The file, what to compare it with, and the schema of its table if rows have names, words or gaps."""
    from circuits import export_model
    from circuits.comparison.files import Exported
    from circuits.onnx.estimators import export_tabular, is_of_tables

    if is_of_tables(model, rows):
        tabular = export_tabular(model, rows)
        return tabular.file, Exported.of_table(tabular), tabular
    whole = export_model(model, rows)
    return whole, Exported.of(model, (rows,), whole), None


def _table_in_words(schema: TableSchema) -> list[str]:
    """Which columns a row has, what its classes are called, and what is not proven of it."""
    lines = [f"a row has {', '.join(map(_column_in_words, schema.columns))}"]
    lines += [f"its classes are {', '.join(schema.classes)}"] if schema.classes else []
    return lines + ([schema.unproven] if schema.unproven else [])


def _column_in_words(column: Column) -> str:
    name = terminal.escape(column.name)
    if column.kind == "category":
        return f"{name} (one of {len(column.categories)})"
    return f"{name} (may be missing)" if column.missing else name


def _differences(
    file: bytes, graph: Graph, exported: Exported, rows: NDArray[Any], *, accept: bool
) -> list[dict[str, Any]]:
    """How far the file is from the model and from what reads it, on the examples: one input, or rows of
    them. Raises ``ModelError`` (``model.differs``) unless ``accept``."""
    from circuits import compare_source
    from circuits.comparison import gaps

    ((name, shape),) = graph.entries.items()
    samples = rows.reshape(-1, *shape)
    compared = gaps.chosen(graph, {name: samples.astype(float)})
    if len(samples) > 1 and exported.rows is None:
        exported = exported._replace(examples=(rows[0],))
    found = compare_source(file, {}, exported, compared, own=False)
    if not accept:
        require_near(found)
    return [each.to_json() for each in found]


def _found(place: str) -> Any:
    """The object that MODULE:NAME names, seen from the folder that the command runs in."""
    if Path(place).suffix in (".pkl", ".joblib") and Path(place).is_file():
        return _unpickled(Path(place))
    module, _, name = place.partition(":")
    if not module or not name:
        raise RequestError("request.invalid", f"{place!r} is no MODULE:NAME", field="model")
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
    """What a file of Python's own holds: whatever is in there is run."""
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


def _keeping(made: bytes, wanted: list[str]) -> bytes:
    """With these outputs alone."""
    from onnx import ModelProto

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
