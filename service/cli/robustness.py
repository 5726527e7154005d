"""``zenserve robustness``: which inputs near given ones keep their label for certain (docs/robustness.md)."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from zenserve.errors import RequestError, naming
from zenserve.service.cli import terminal
from zenserve.service.cli.answers import Answer, answering
from zenserve.service.cli.precision import Bits
from zenserve.service.cli.samples import FILES, LabelColumn, LabelFile, Mean, Reading, Sizes, Std
from zenserve.service.submissions import named

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from zenserve.circuits import Graph, QuantGraph

Norm = Literal["inf", "2", "1"]
Method = Literal["crown", "crown-ibp", "forward", "ibp"]


@answering
def show_robustness(
    network: Annotated[
        str, typer.Argument(metavar="NAME_OR_ONNX", help="A network of the zoo, or an ONNX file.")
    ],
    inputs: Annotated[Path, typer.Argument(metavar="INPUTS", exists=True, help=f"Samples: {FILES}")],
    eps: Annotated[str, typer.Option(help="How far inputs may move, in their own units: 0.03 or 8/255.")],
    norm: Annotated[Norm, typer.Option(help="How that is measured.")] = "inf",
    method: Annotated[Method, typer.Option(help="From the tightest to the fastest.")] = "crown",
    labels: LabelFile = None,
    within: Annotated[
        str | None, typer.Option(metavar="LOW:HIGH", help="What inputs can be at all, as pixels are 0:1.")
    ] = None,
    where: Annotated[
        Path | None,
        typer.Option(exists=True, help="Entries that may change: booleans of the input's shape, .npy."),
    ] = None,
    calibration: Annotated[
        Path | None,
        typer.Option(exists=True, help="Typical inputs: bounds are of the integers that proofs speak of."),
    ] = None,
    bits: Bits = 8,
    label_column: LabelColumn = None,
    mean: Mean = None,
    std: Std = None,
    shape: Sizes = None,
    plot: Annotated[
        Path | None, typer.Option(file_okay=False, help="Write a page with plots, and each plot, there.")
    ] = None,
) -> Answer:
    """Find the samples whose label no small change of the input can alter, and prove bounds for it."""
    from zenserve.bounds.report import assess, classes
    from zenserve.circuits import load_onnx, zoo
    from zenserve.circuits.graphs.tensors import as_finite_tensor
    from zenserve.circuits.samples import parse_labels

    reach, ends = _number(eps, "eps"), _ends(within)
    with naming(network):
        found = Path(network).is_file()
        graph = load_onnx(Path(network), named.sizes(shape)) if found else zoo.network(network)
    reading = Reading(label_column, mean, std)
    samples = reading.samples(inputs, "inputs", graph.entries)
    given = parse_labels(labels.read_bytes(), "labels") if labels else samples.labels
    x = as_finite_tensor(samples.inputs[graph.input.name], (None, *graph.input.shape), field="inputs")
    bounded = graph if calibration is None else _integers(graph, calibration, reading, bits)
    report = assess(
        bounded,
        x,
        classes(graph, given, len(x)),
        eps=reach,
        norm=norm,
        method=method,
        domain=ends,
        where=_mask(where),
        name=Path(network).name,
    )
    document = report.to_json()
    if plot:
        plot.mkdir(parents=True, exist_ok=True)
        for name, _, chart in report.charts():
            (plot / f"{name}.svg").write_text(chart)
        (plot / "robustness.html").write_text(report.html())
        (plot / "robustness.json").write_text(json.dumps(document, indent=1) + "\n")
    return Answer(document, tuple(terminal.escape(f"{each}.") for each in report.sentences()))


def _integers(graph: Graph, calibration: Path, reading: Reading, bits: Any) -> QuantGraph:
    """As a service quantises it."""
    from zenserve.circuits import tune

    given = reading.samples(calibration, "calibration", graph.entries)
    return tune(graph, given.inputs, bits=None if bits == "auto" else bits, labels=given.labels).qgraph


def _number(text: str, field: str) -> float:
    """A positive number, or a fraction of two."""
    above, _, below = text.partition("/")
    try:
        value = float(above) / float(below or 1)
    except (ValueError, ZeroDivisionError):
        value = math.nan
    if not 0 < value < math.inf:
        reason = f"{field}: {text[:40]!r} is no positive number, such as 0.03 or 8/255"
        raise RequestError("request.invalid", reason, field=field)
    return value


def _mask(file: Path | None) -> NDArray[Any] | None:
    from zenserve.verifier.datasets import load_array

    return None if file is None else load_array(file)


def _ends(text: str | None) -> tuple[float, float]:
    if text is None:
        return -math.inf, math.inf
    low, _, high = text.partition(":")
    try:
        ends = float(low), float(high)
    except ValueError:
        ends = math.nan, math.nan
    if not ends[0] < ends[1]:
        reason = f"within: {text[:40]!r} is no interval, such as 0:1"
        raise RequestError("request.invalid", reason, field="within")
    return ends
