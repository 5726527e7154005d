"""How far networks agree with onnxruntime, in floats and in integers, and what ``--bits auto`` takes of them:
the stages of large networks, whose circuits bench/coverage.py could not compile on this machine.

    python -m bench.agreement --suite DIR [--only NAME...] [--most STAGE] [--json FILE [--resume]]

    loaded    ``load_onnx`` reads the file, whole, with the sizes of its input
    floats    on all samples the float graph is within 0.2 % of the outputs' range of onnxruntime's; that of
              a file which rounds to integers itself, which integers alone have here, within 2 %
    integers  at ``--bits 16``, or 12 where sums of 16 would not fit, 95 % of all outputs are within 2 % of
              their range of onnxruntime's
    auto      ``--bits auto --max-loss 1 --measure values`` ends within 60 processor seconds

Samples are the network's input and what is beside it to calibrate with (bench/suite.py). The range is that of
an output's values in onnxruntime on all of them, and of an output of one value how large that gets. A process
of its own with 600 processor seconds and 8 GB of address space tries each network.
"""

from __future__ import annotations

import time
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from onnx import ModelProto, load

from bench.coverage import Limits, alone, commit
from bench.report import Cells, Report, Row, more, number, read
from bench.stages import FailedError, Findings, explained, fed, outputs, samples_of
from bench.suite import calibration, inputs, members, sizes
from zenserve.circuits import Graph, QuantGraph, load_onnx, tune
from zenserve.circuits.graphs.types import FloatArray
from zenserve.circuits.quantisation.plan import input_names, output_names
from zenserve.errors import ZenError

STAGES: Final = ("loaded", "floats", "integers", "auto")
_FLOATS: Final = 0.002
_OF_RANGE: Final = 0.02
_SHARE: Final = 0.95
_BITS: Final = (16, 12)
_AUTO_SECONDS: Final = 60
_MAX_LOSS: Final = 1.0
_LIMITS: Final = Limits(seconds=600, clock=1200, size=8 << 30)
_WORDS: Final = 400


def agree(network: Path, most: str) -> Iterator[Findings]:
    """What is found, stage by stage; a stage that fails has its reason, and what follows is tried all the
    same."""
    model = load(network, load_external_data=False)
    try:
        given, _ = inputs(network)
        graph = load_onnx(network, sizes(network, given), whole=True)
        yield {"loaded": True}
        samples = samples_of(graph, given, calibration(network))
        expected, _ = outputs(network, fed(given, samples), list(graph.outputs))
        for stage, found in _tried(graph, samples, expected, _OF_RANGE if _is_rounded(model) else _FLOATS):
            yield {stage: not found.get("reason"), **found}
            if stage == most:
                return
    except ZenError as error:
        yield explained(model, error)
    except FailedError as error:
        yield {"reason": str(error), "blockers": list(error.blockers)}


def _tried(
    graph: Graph, samples: Mapping[str, FloatArray], expected: Mapping[str, FloatArray], most: float
) -> Iterator[tuple[str, Findings]]:
    tensors = graph.run_all(samples, {*graph.outputs.values()})
    floats = {name: tensors[tensor] for name, tensor in graph.outputs.items()}
    _require_sizes(floats, expected)
    error = max(float(far.max()) for far in _far(floats, expected).values())
    yield (
        "floats",
        {"float_error": error} | _failed(error > most, f"in floats {error:.2%} of the range off"),
    )
    start = time.process_time()
    bits, qgraph = _quantised(graph, samples)
    made = integers(qgraph, graph, samples)
    near = min(float((far <= _OF_RANGE).mean()) for far in _far(made, expected).values())
    found = {"near": near, "integer_bits": bits, "quantise_s": time.process_time() - start}
    yield "integers", found | _failed(near < _SHARE, f"{1 - near:.1%} of the outputs are off at {bits} bits")
    start = time.process_time()
    judged: Findings = {}
    try:
        tuned = tune(graph, samples, bits=None, max_loss=_MAX_LOSS, measure="values")
        judged = {"bits": max(layer.bits or 0 for layer in tuned.layers)}
    except ZenError as refusal:
        judged = {"auto_refused": str(refusal)[:_WORDS]}
    taken = time.process_time() - start
    yield (
        "auto",
        judged | {"auto_s": taken} | _failed(taken > _AUTO_SECONDS, f"--bits auto takes {taken:.0f} s"),
    )


def _quantised(graph: Graph, samples: Mapping[str, FloatArray]) -> tuple[int, QuantGraph]:
    """As ``--bits`` has it, of as many as ``_BITS`` that make a network."""
    for bits in _BITS:
        try:
            return bits, tune(graph, samples, bits=bits, measure="values").qgraph
        except ZenError as error:
            if error.code != "model.range_too_wide" or bits == _BITS[-1]:
                raise
    raise AssertionError("the last attempt returns or raises")


def integers(qgraph: QuantGraph, graph: Graph, samples: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """The outputs of all samples, as the real numbers that the integers stand for."""
    names = input_names(graph)
    q = {names[name]: qgraph.entries[names[name]].type.quantise(each) for name, each in samples.items()}
    made, found = qgraph.run_all(q, {*qgraph.outputs.values()}), dict[str, FloatArray]()
    for name, called in output_names(graph).items():
        scales = qgraph.scale_of(qgraph.outputs[called])
        if scales is None:
            raise FailedError("the outputs have no one scale", "output scale")
        found[name] = scales[0] * (made[qgraph.outputs[called]] - scales[1]).astype(np.float64)
    return found


def _is_rounded(model: ModelProto) -> bool:
    return any("Quantize" in node.op_type for node in model.graph.node)


def _require_sizes(ours: Mapping[str, FloatArray], theirs: Mapping[str, FloatArray]) -> None:
    for name, each in ours.items():
        if each.size != theirs[name].size:
            reason = f"onnxruntime has {theirs[name][0].size} values of {name!r}, the graph {each[0].size}"
            raise FailedError(reason, "other outputs")


def _far(ours: Mapping[str, FloatArray], theirs: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """How far each value is from onnxruntime's, in the range of these."""
    found = {}
    for name, each in ours.items():
        other = theirs[name].reshape(each.shape)
        if not np.isfinite(other).all():
            raise FailedError("onnxruntime's outputs are not finite", "its input")
        span = float(np.ptp(other)) if other[0].size > 1 else float(np.abs(other).max())
        found[name] = np.abs(each - other) / (span or float(np.abs(other).max()) or 1.0)
    return found


def _failed(failed: bool, reason: str) -> Findings:
    return {"reason": reason, "blockers": ["precision"]} if failed else {}


def row(suite: str, network: Path, made: Mapping[str, str]) -> Row:
    said: dict[str, Any] = (
        {"suite": suite} | dict.fromkeys(STAGES, False) | {"reason": "", "blockers": [], **made}
    )
    said |= alone(agree, network, made["most"], limits=_LIMITS)
    taken, peak = said.pop("seconds", 0.0), said.pop("peak_mb", None)
    said["reason"] = said["reason"][:_WORDS]
    return Row(network.parent.name, None, taken, peak_mb=peak, more=said)


def counts(rows: Iterable[Row]) -> dict[str, int]:
    """How many networks there are, and come to each stage."""
    rows = list(rows)
    return {"networks": len(rows), **{stage: sum(each.more[stage] for each in rows) for stage in STAGES}}


CELLS: Final[Cells] = {
    "network": lambda row: row.name,
    "loads": lambda row: "yes" if row.more["loaded"] else "",
    "floats %": lambda row: number(100 * row.more["float_error"]) if "float_error" in row.more else "",
    "integers %": lambda row: f"{100 * row.more['near']:.1f}" if "near" in row.more else "",
    "at bits": more("integer_bits"),
    "auto s": more("auto_s"),
    "auto bits": more("bits"),
    "commit": more("commit"),
    "reason": more("reason"),
}


def main() -> None:
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--suite", type=Path, required=True, metavar="DIR", help="its folder")
    parser.add_argument("--most", choices=STAGES, default=STAGES[-1], help="the stage to end with")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these networks")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows to FILE")
    parser.add_argument("--resume", action="store_true", help="keep the rows that FILE has of the same code")
    options = parser.parse_args()
    made, suite = {"commit": commit(), "most": options.most}, options.suite.name
    kept = {}
    if options.resume and options.json and options.json.exists():
        kept = {each.name: each for each in read(options.json)[1] if made.items() <= each.more.items()}
    report, rows = Report("coverage", f"up to {options.most}, {made['commit']}"), list[Row]()
    for network in members(options.suite):
        name = network.parent.name
        if name in (options.only or [name]):
            rows.append(kept.get(name) or row(suite, network, made))
            report.say(f"{name}: {' '.join(s for s in STAGES if rows[-1].more[s])} {rows[-1].more['reason']}")
            report.write(options.json, [replace(each, topic=suite) for each in rows])
    report.show(suite, rows, CELLS)
    report.write(options.json)


if __name__ == "__main__":
    main()
