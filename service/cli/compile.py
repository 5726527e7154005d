"""``zenserve compile``: what proofs of a network would take, before any key is made (docs/compiler.md).

The compiler is imported where it is needed: what the cache holds is shown without it.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import RenderableType
from rich.table import Table

from zenserve.base.processors import usable_cores
from zenserve.circuits import cache
from zenserve.errors import RequestError, StatementError, naming
from zenserve.service.cli import terminal
from zenserve.service.cli.answers import Answer, answering, err
from zenserve.service.cli.by_name import InputPrivacy, privacies
from zenserve.service.cli.precision import Bits, MaxLoss, Measure, Ranges, WeightBits
from zenserve.service.cli.samples import FILES, LabelColumn, LabelFile, Mean, Reading, Sizes, Std
from zenserve.service.submissions import named
from zenserve.verifier.schemes import Privacy

if TYPE_CHECKING:
    from zenserve.base.progress import Progress
    from zenserve.circuits import Circuit, Graph, QuantGraph
    from zenserve.circuits.samples import Samples

Scheme = Literal["inference", "recognition", "robustness"]

THREADS = usable_cores()
SAMPLES = 16
"""So many random inputs calibrate a network that comes without any."""


@answering
def compile_network(
    network: Annotated[
        str, typer.Argument(metavar="NAME_OR_ONNX", help="A network of the zoo, or an ONNX file.")
    ],
    input_privacy: InputPrivacy = "private",
    weight_privacy: Annotated[
        Privacy | None,
        typer.Option(
            help="committed hides the weights behind a commitment; public puts them in the key.",
            show_default="committed; public where there are none, or --level is below 5",
        ),
    ] = None,
    level: Annotated[
        int,
        typer.Option(min=0, max=5, help="The most that the compiler may use: 5 is all, 0 to 4 compare."),
    ] = 5,
    scheme: Annotated[
        Scheme,
        typer.Option(help="What proofs say: the class, a reference's person, or the class of all nearby."),
    ] = "inference",
    bits: Bits = 8,
    weight_bits: WeightBits = None,
    max_loss: MaxLoss = 1.0,
    range_: Ranges = None,
    measure: Annotated[
        Measure | None,
        typer.Option(help="Metric that --max-loss bounds. Default: accuracy with labels, agreement without."),
    ] = None,
    calibration: Annotated[Path | None, typer.Option(exists=True, help=f"Typical inputs: {FILES}")] = None,
    labels: LabelFile = None,
    label_column: LabelColumn = None,
    mean: Mean = None,
    std: Std = None,
    shape: Sizes = None,
    report: Annotated[
        Path | None,
        typer.Option(help="Write to this file what quantisation costs, with plots: a page of HTML."),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show each way to prove each layer, and what it costs.")
    ] = False,
) -> Answer:
    """Compile a network and show what its keys and proofs take."""
    if calibration is None and (report or labels):
        option = "report" if report else "labels"
        reason = f"--{option} takes inputs to run the network on: give --calibration"
        raise RequestError("request.invalid", reason, field=option)
    start = time.perf_counter()
    path = Path(network)
    reading = Reading(label_column, mean, std)
    options = {
        "scheme": scheme,
        "level": level,
        "bits": bits,
        "weight_bits": weight_bits,
        "max_loss": max_loss,
        "measure": measure,
        "privacy": {"input": privacies(input_privacy), "weights": weight_privacy},
        "ranges": named.ranges(range_),
        "sizes": named.sizes(shape),
    }
    key = cache.key_of(
        cache.fingerprint("relations", "circuits", "base", "prover", "kernels", "service"),
        _host(),
        json.dumps(options).encode(),
        *(cache.model_parts(path) if path.is_file() else [network.encode()]),
        repr(reading).encode(),
        *(cache.data_parts(calibration) if calibration else ()),
        labels.read_bytes() if labels else b"",
    )
    found = cache.load(key)
    if found is None:
        with terminal.show_stages(err, "compiling") as progress:
            found = options | _compile(network, options, calibration, labels, reading, progress)
        found["compiled"] = {"seconds": time.perf_counter() - start, "peak_memory": _peak_memory()}
        cache.save(key, found)
    document: dict[str, Any] = {"network": network} | found
    if report:
        from zenserve.circuits.quantisation import page

        report.write_text(page.html(f"Quantisation of {network}", document["report"]))
    return Answer(document, tuple(_shown(document, explain=explain)))


def _compile(
    network: str,
    options: dict[str, Any],
    calibration: Path | None,
    labels: Path | None,
    reading: Reading,
    progress: Progress,
) -> dict[str, Any]:
    from zenserve.circuits.schemes import cost
    from zenserve.prover import registry
    from zenserve.verifier.registry import FIRST

    progress("read", 0.0)
    graph = _graph(network, options["sizes"])
    given, origin = _samples(network, graph, calibration, reading, options["ranges"])
    progress("quantise", 0.1)
    if labels is not None:
        given = replace(given, labels=_labels(labels))
    qgraph, tuning = _quantised(graph, given, origin, options)
    progress("compile", 0.3)
    chosen = options["privacy"]["weights"] or _default_privacy(qgraph, options["level"])
    privacy = options["privacy"] | {"weights": chosen}
    circuit = _circuit(qgraph, options | {"privacy": privacy})
    progress("count", 0.6)
    circuit.constraint_system.survey  # noqa: B018  worked out here, for the sake of the bar
    progress("measure", 0.9)
    found = None if calibration is None else _report(graph, qgraph, given)
    differences = _differences(network, options["sizes"], graph, qgraph, given)
    answers = {
        "privacy": privacy,
        "calibration": origin,
        "tuning": tuning,
        "report": found,
        "differences": differences,
    }
    return answers | cost.report(circuit, registry.find(FIRST), THREADS)


def _graph(network: str, sizes: dict[str, int]) -> Graph:
    from zenserve.circuits import load_onnx, zoo

    with naming(network):
        return load_onnx(Path(network), sizes) if Path(network).is_file() else zoo.network(network)


def _samples(
    network: str,
    graph: Graph,
    calibration: Path | None,
    reading: Reading,
    ranges: Mapping[str, tuple[int, int]],
) -> tuple[Samples, str]:
    """Inputs to calibrate with, and where they come from."""
    import numpy as np

    from zenserve.circuits import zoo
    from zenserve.circuits.onnx.described import schema_of
    from zenserve.circuits.samples import Samples

    if calibration is not None:
        schema = schema_of(Path(network), graph) if Path(network).is_file() else None
        return reading.samples(calibration, "calibration", graph.entries, schema), "file"
    if not Path(network).is_file():
        return Samples({graph.input.name: zoo.calibration(network)}), "zoo"
    rng = np.random.default_rng(0)
    made = {
        entry.name: rng.random((SAMPLES, *entry.shape))
        if entry.values == "real"
        else rng.integers(*ranges.get(entry.name, (0, 1)), (SAMPLES, *entry.shape), endpoint=True)
        for entry in graph.inputs
    }
    return Samples(made), "random"


def _quantised(
    graph: Graph, given: Samples, origin: str, options: dict[str, Any]
) -> tuple[QuantGraph, dict[str, Any] | None]:
    """The network, and how it was tuned: inputs that are made up say nothing of what it loses."""
    from zenserve.circuits import quantise, tune

    bits, weight_bits = options["bits"], options["weight_bits"]
    if origin != "file" and bits != "auto":
        return quantise(graph, given.inputs, bits, weight_bits=weight_bits, ranges=options["ranges"]), None
    tuned = tune(
        graph,
        given.inputs,
        bits=None if bits == "auto" else bits,
        weight_bits=weight_bits,
        max_loss=options["max_loss"],
        measure=options["measure"],
        labels=given.labels,
        ranges=options["ranges"],
        weight_privacy=options["privacy"]["weights"],
    )
    return tuned.qgraph, tuned.to_json()


def _labels(file: Path) -> Any:
    from zenserve.circuits.samples import parse_labels

    return parse_labels(file.read_bytes(), "labels")


def _report(graph: Graph, qgraph: QuantGraph, given: Samples) -> dict[str, Any]:
    from zenserve.circuits.quantisation import report

    return report(graph, qgraph, given.inputs, given.labels).to_json()


def _differences(
    network: str, sizes: dict[str, int], graph: Graph, qgraph: QuantGraph, given: Samples
) -> list[dict[str, Any]]:
    """Return the differences between the file, the float network and the integers.

    A proof would be refused beyond tolerance.
    """
    from zenserve.circuits import compare_source
    from zenserve.circuits.comparison import gaps
    from zenserve.circuits.comparison.integers import compare_integers

    compared, file = gaps.chosen(graph, given.inputs), Path(network)
    of_file = compare_source(file, sizes, None, compared, own=False) if file.is_file() else ()
    return [each.to_json() for each in (*of_file, compare_integers(graph, qgraph, compared, own=False))]


def _circuit(qgraph: Any, options: dict[str, Any]) -> Circuit:
    from zenserve.circuits import compile_inference, compile_recognition, compile_robustness

    privacy = options["privacy"]
    chosen = {"input_privacy": privacy["input"], "weight_privacy": privacy["weights"]}
    if options["scheme"] == "robustness":
        if options["level"] != 5:
            reason = "certificates take level 5: lower levels have no challenges"
            raise StatementError("statement.level", reason, field="level")
        return compile_robustness(qgraph, **chosen)
    lower = compile_recognition if options["scheme"] == "recognition" else compile_inference
    return lower(qgraph, **chosen, level=options["level"])


def _default_privacy(qgraph: QuantGraph, level: int) -> Privacy:
    from zenserve.circuits.quantised.typed import TypedGraph

    return TypedGraph.most_private(qgraph) if level == 5 else "public"


def _host() -> bytes:
    """Return the host's name, its architecture and the number of threads.

    Estimates of time depend on them.
    """
    machine = os.uname()
    return json.dumps([machine.nodename, machine.machine, THREADS]).encode()


def _peak_memory() -> int:
    """The largest resident set of this process so far, in bytes."""
    status = Path("/proc/self/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))) << 10


def _shown(document: dict[str, Any], *, explain: bool) -> Iterator[RenderableType]:
    columns = ("constraints", "variables", "nonzeros")
    for title, rows, names in (
        ("By layer", document["layers"], ("name", "operator", *columns)),
        ("By gadget", document["gadgets"], ("name", "constraints", "nonzeros")),
    ):
        table = Table(title=title, title_justify="left")
        for name in names:
            table.add_column(_heading(name), justify="right" if name in columns else "left")
        for row in rows:
            table.add_row(*(_cell(row[name]) for name in names))
        yield table
    if document["tuning"] and document["bits"] == "auto":
        yield _tuning(document["tuning"])
    if document["report"]:
        yield _tensors(document["report"])
    if explain:
        yield _explanation(document)
    yield terminal.table_of(_summary(document))


def _tuning(tuning: dict[str, Any]) -> Table:
    """Return a table of the bits of each tensor and of the weights that make it, and why not fewer."""
    table = Table(title="Bits", title_justify="left")
    for name in ("name", "bits", "weights"):
        table.add_column(name, justify="left" if name == "name" else "right")
    table.add_column("fewer", ratio=1)
    for layer in tuning["layers"]:
        bits, weights = (str(layer[name] or "") for name in ("bits", "weight_bits"))
        table.add_row(terminal.escape(layer["name"]), bits, weights, layer["why"])
    return table


def _lost(tuning: dict[str, Any]) -> str:
    scales = "by channel" if tuning["per_channel"] else "by tensor"
    samples = "one sample" if tuning["samples"] == 1 else f"{tuning['samples']} samples"
    return (
        f"{tuning['loss']:.3g} % of {tuning['measure']} on {samples}, calibrated by "
        f"{tuning['method']}, weights {scales}"
    )


def _tensors(report: dict[str, Any]) -> Table:
    """Return a table of the quantisation errors of each tensor."""
    table = Table(title="By tensor", title_justify="left")
    for name in ("name", "bits", "SNR (dB)", "worst (steps)", "cut off"):
        table.add_column(name, justify="left" if name == "name" else "right")
    for each in report["tensors"]:
        cells = f"{each['bits']}", f"{each['snr']:.1f}", f"{each['worst']:.1f}", f"{each['saturated']:.2%}"
        table.add_row(terminal.escape(each["name"]), *cells)
    return table


def _explanation(document: dict[str, Any]) -> Table:
    """Each node's ways, the chosen one first, and how many constraints more the circuit would have."""
    table = Table(title="Ways to prove each layer", title_justify="left")
    table.add_column("name")
    table.add_column("way", ratio=1)
    table.add_column("constraints in all", justify="right")
    table.add_column("more", justify="right")
    for node in document["ways"]:
        for index, way in enumerate(node["ways"]):
            more = way["constraints"] - document["constraints"]
            table.add_row(
                "" if index else terminal.escape(node["name"]),
                way["way"],
                _cell(way["constraints"]),
                f"+{more:,}" if index else "chosen",
                end_section=index == len(node["ways"]) - 1,
            )
    return table


def _summary(document: dict[str, Any]) -> dict[str, str]:
    privacy, seconds, compiled = document["privacy"], document["seconds"], document["compiled"]
    calibration = {
        "file": "by the file given",
        "zoo": "by the zoo's own inputs",
        "random": "by random inputs: widths and accuracy will differ with real ones (--calibration)",
    }
    threads = seconds["threads"]
    few = f"as few bits as lose {document['max_loss']:g} %"
    bits = few if document["bits"] == "auto" else f"{document['bits']} bits"
    return {
        "network": terminal.escape(document["network"]),
        "proves": f"{document['scheme']}, {_inputs(privacy['input'])}, weights {privacy['weights']}",
        "quantised": f"to {bits}, {calibration[document['calibration']]}",
        **({"loses": _lost(document["tuning"])} if document["tuning"] else {}),
        **_answers(document["report"]),
        **{each["stage"]: terminal.in_words(each) for each in document["differences"]},
        "level": str(document["level"]),
        **{_heading(name): f"{document[name]:,}" for name in ("constraints", "variables", "nonzeros")},
        "public inputs": f"{document['public_inputs']:,}",
        **{f"segment {part['name']}": f"{part['size']:,} variables" for part in document["segments"]},
        "proving key": _bytes(document["key"]["proving"]),
        "verifying key": _bytes(document["key"]["verifying"]),
        "setup": _estimate(seconds["setup"], document["memory"]["setup"], threads),
        "proving": _estimate(seconds["proving"], document["memory"]["proving"], threads),
        "compiled": f"in {_duration(compiled['seconds'])}, {_bytes(compiled['peak_memory'])} of memory",
    }


def _inputs(privacy: str | dict[str, str]) -> str:
    """Of all inputs, or of those that are named."""
    if isinstance(privacy, str):
        return f"input {privacy}"
    return ", ".join(f"{terminal.escape(name)} {each}" for name, each in privacy.items())


def _answers(report: dict[str, Any] | None) -> dict[str, str]:
    """Return rows that compare the answers that users of the proofs will get with the float network's."""
    if report is None:
        return {}
    from zenserve.circuits.quantisation.reporting import sentences

    rows = {"answers" if not index else " " * index: each for index, each in enumerate(sentences(report))}
    return rows | ({"warning": report["warning"]} if report["warning"] else {})


def _heading(name: str) -> str:
    return "non-zeros" if name == "nonzeros" else name


def _cell(value: str | int) -> str:
    return f"{value:,}" if isinstance(value, int) else terminal.escape(value)


def _estimate(seconds: float, memory: int, threads: int) -> str:
    where = f"{threads} threads" if threads > 1 else "one thread"
    return f"about {_duration(seconds)} on {where} here, {_bytes(memory)} beside the circuit"


def _duration(seconds: float) -> str:
    return f"{seconds:.2g} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def _bytes(count: float) -> str:
    units = ["bytes", "kB", "MB", "GB", "TB"]
    while count >= 999.5 and len(units) > 1:
        count, units = count / 1000, units[1:]
    return f"{count:.3g} {units[0]}"
