"""``zenserve import``: a model of Python's as the ONNX file that everything else here takes."""

from __future__ import annotations

import sys
from importlib import import_module
from inspect import isfunction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from circuits.comparison.differences import require_near
from service.cli.answers import Answer, answering
from service.cli.precision import AcceptDifference
from service.cli.terminal import in_words
from zenerrors import ModelError, RequestError, naming

if TYPE_CHECKING:
    from circuits import Graph
    from circuits.comparison.files import Exported


@answering
def import_model(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODULE:NAME",
            help="Where Python finds it: an estimator or a pipeline, a booster, a module of PyTorch's, a "
            "model of Keras', or a function that returns one.",
        ),
    ],
    file: Annotated[Path, typer.Argument(help="The ONNX file to write.")],
    inputs: Annotated[
        Path,
        typer.Option("--input", exists=True, help="What it takes: one sample or several, .npy or JSON."),
    ],
    output: Annotated[
        list[str] | None,
        typer.Option(help="Keep this output and what it needs: as often as you like. All of them otherwise."),
    ] = None,
    accept_difference: AcceptDifference = False,
) -> Answer:
    """Write a model that Python has in memory as an ONNX file, if that gives the model's own answers. Its
    module is run: import what you trust."""
    from circuits import export_model, load_onnx
    from circuits.comparison.files import Exported
    from verifier.datasets import load_array

    with naming(str(inputs)):
        rows = load_array(inputs)
    found = _found(model)
    whole = export_model(found, rows)
    made = _keeping(whole, output) if output else whole
    with naming(model):
        graph = load_onnx(made)
        exported = Exported.of(found, (rows,), whole)
        differences = _differences(made, graph, exported, accept=accept_difference)
    file.write_bytes(made)
    takes = {name: [*shape] for name, shape in graph.entries.items()}
    makes = {name: [*graph.shapes[tensor]] for name, tensor in graph.outputs.items()}
    said = ", ".join(f"{name} {shape}" for name, shape in {**takes, **makes}.items())
    document = {"file": str(file), "inputs": takes, "outputs": makes, "differences": differences}
    return Answer(document, (f"{file}: {said}", *map(in_words, differences)))


def _differences(file: bytes, graph: Graph, exported: Exported, *, accept: bool) -> list[dict[str, Any]]:
    """How far the file is from the model and from what reads it, on the examples: one input, or rows of
    them. Raises ``ModelError`` (``model.differs``) unless ``accept``."""
    from circuits import compare_source
    from circuits.comparison import gaps

    ((name, shape),), (rows,) = graph.entries.items(), exported.examples
    samples = rows.reshape(-1, *shape)
    compared = gaps.chosen(graph, {name: samples.astype(float)})
    if len(samples) > 1:
        exported = exported._replace(examples=(rows[0],))
    found = compare_source(file, {}, exported, compared, own=False)
    if not accept:
        require_near(found)
    return [each.to_json() for each in found]


def _found(place: str) -> Any:
    """The object that MODULE:NAME names, seen from the folder that the command runs in."""
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
