"""How far one network comes: loaded, compiled, executed, proven.

    loaded      ``load_onnx`` reads it, whole: values are shown, not labels
    compiled    quantised on its own input and small variations of it, to as many bits as ``--bits auto
                --max-loss 1 --measure values`` takes, and compiled, the input private, weights committed, or
                public where there are none to commit to
    executed    on its own input the witness satisfies all constraints and shows the executor's outputs; of
                these 95 % are within 2 % of the outputs' range of onnxruntime's ("floats" says where those
                are onnx's own, of files that onnxruntime refuses), and within 2 steps of a reference in
                floats that rounds every tensor to its type
    proven      a development setup, the registration of committed weights, a proof, and zenserve-verify's
                verdict on the files

The variations are those of ``zenserve.onecall.networks.varied``, or what is beside the network to calibrate
with. The outputs' range is that of onnxruntime's on all of these.
"""

from __future__ import annotations

import io
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import onnxruntime
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from numpy.typing import NDArray
from onnx import ModelProto, load
from onnx.reference import ReferenceEvaluator
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidGraph

from bench.measure import timed
from bench.suite import Arrays, calibration, inputs, is_constant, sizes
from zenserve.base.processors import usable_cores
from zenserve.circuits import (
    Graph,
    Inference,
    QuantGraph,
    compile_inference,
    load_onnx,
    parameters,
    tune,
)
from zenserve.circuits.graphs.node import Node, QuantNode
from zenserve.circuits.graphs.types import FloatArray
from zenserve.circuits.operators import ONNX
from zenserve.circuits.operators.features import QuantFeatures
from zenserve.circuits.operators.forest import Forest
from zenserve.circuits.operators.weighted import Parametric, WeightedSum
from zenserve.circuits.quantisation.plan import input_names, output_names, plan
from zenserve.circuits.quantised import Integers
from zenserve.errors import ZenError, in_words
from zenserve.kernels import fr
from zenserve.onecall.networks import varied
from zenserve.onecall.proof import PROOF, REGISTRATION, Proof
from zenserve.onecall.proving import Party
from zenserve.prover import registry
from zenserve.prover.system import Opening
from zenserve.relations.integers import IntArray
from zenserve.verifier import command
from zenserve.verifier.registry import FIRST
from zenserve.verifier.schemes import Privacy

STAGES: Final = ("loaded", "compiled", "executed", "proven")
THREADS: Final = usable_cores()
_SHARE, _OF_RANGE, _STEPS = 0.95, 0.02, 2.0
# Steps in the range of outputs that have no type: as many as 8 bits have.
_UNTYPED: Final = 255
# Below it onnxruntime's floats are not told apart.
_LEAST_NORMAL: Final = float(np.finfo(np.float32).tiny)
# As errors name the node that they are about.
_OPERATOR: Final = re.compile(r"^(?:the )?node .+? \((\w+)\)")

Findings = dict[str, Any]


class FailedError(Exception):
    """The network comes no further. ``blockers``: what must change, an operator where it is one's fault."""

    def __init__(self, reason: str, *blockers: str) -> None:
        super().__init__(reason)
        self.blockers = blockers


def attempt(network: Path, most: str) -> Iterator[Findings]:
    """What is found of the network, stage by stage up to ``most``; the last has a "reason" and its "blockers"
    where it failed."""
    try:
        model = load(network, load_external_data=False)
    except DecodeError:
        yield {"reason": "the file is not an ONNX model", "blockers": ["model.not_onnx"]}
        return
    try:
        yield {"constant": is_constant(model)}
        for stage, found in zip(STAGES[: STAGES.index(most) + 1], _stages(network), strict=False):
            yield found | {stage: True}
    except ZenError as error:
        yield explained(model, error)
    except FailedError as failure:
        yield {"reason": str(failure), "blockers": list(failure.blockers)}


def _stages(network: Path) -> Iterator[Findings]:
    try:
        given, source = inputs(network)
    except ValueError as error:
        raise FailedError(str(error), "its input") from error
    graph = load_onnx(network, sizes(network, given), whole=True)
    yield {}
    samples = samples_of(graph, given, calibration(network))
    weights: Privacy = "committed" if any(isinstance(n, Parametric) for n in graph.nodes) else "public"
    tuned = tune(
        graph,
        samples,
        bits=None,
        max_loss=100 * _OF_RANGE / 2,
        measure="values",
        weight_privacy=weights,
    )
    qgraph = tuned.qgraph
    circuit = compile_inference(qgraph, weight_privacy=weights, reveal="values")
    bits = max(layer.bits or 0 for layer in tuned.layers)
    constraints = circuit.constraint_system.constraints
    yield {"input": source, "weights": weights, "bits": bits, "constraints": constraints}
    names = input_names(graph)
    q = qgraph.quantise_inputs({names[name]: each[0] for name, each in samples.items()})
    require_shown(circuit, q)
    expected, floats = outputs(network, fed(given, samples), list(graph.outputs))
    yield {"floats": floats, "error": _require_near(graph, qgraph, q, expected)}
    yield prove(circuit, q)


def samples_of(graph: Graph, given: Arrays, more: Arrays | None) -> dict[str, FloatArray]:
    """The input of each name first, then ``more``, else variations of it."""
    first = {entry.name: given[entry.name].reshape(entry.shape) for entry in graph.inputs}
    if more is None:
        return {entry.name: varied(first[entry.name], entry.values) for entry in graph.inputs}
    return {
        name: np.concatenate([[each], more[name].reshape(-1, *each.shape)]).astype(np.float64)
        for name, each in first.items()
    }


def fed(given: Arrays, samples: Mapping[str, FloatArray]) -> list[Arrays]:
    """The samples as onnxruntime takes them, in the shapes and kinds of ``given``, which has inputs besides
    that no output depends on."""
    return [
        given
        | {
            name: each[at].reshape(given[name].shape).astype(given[name].dtype)
            for name, each in samples.items()
        }
        for at in range(min(map(len, samples.values())))
    ]


def require_shown(circuit: Inference, q: Integers) -> None:
    """``StatementError`` unless the witness satisfies all rows, ``FailedError`` unless it shows what the
    executor has."""
    z = circuit.witness(q)
    circuit.program.check(z, THREADS)
    if fr.to_ints(z[1 : 1 + circuit.constraint_system.public]) != circuit.public_inputs(q):
        raise FailedError("the witness shows other outputs than the executor", "soundness")


def outputs(network: Path, fed: Sequence[Arrays], names: list[str]) -> tuple[dict[str, FloatArray], str]:
    """onnxruntime's, of each name [inputs, values], or those of onnx's own reference where onnxruntime takes
    the file for invalid; and whose they are."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    try:
        whose, session = "onnxruntime", onnxruntime.InferenceSession(network, options)
    except InvalidGraph:
        whose, session = "onnx.reference", ReferenceEvaluator(str(network))
    made, words = [session.run(names, one) for one in fed], _words(load(network, load_external_data=False))
    found = {
        name: np.array([_numbers(each, words) for each in values])
        for name, values in zip(names, zip(*made, strict=True), strict=True)
    }
    return found, whose


def _numbers(values: Any, words: Mapping[str, int]) -> FloatArray:
    """Of ZipMap's rows the scores of all classes, and of names of classes that are words their places."""
    if isinstance(values, list):
        values = np.array([[*row.values()] for row in values])
    if values.dtype.kind in "OU":
        values = np.vectorize(words.__getitem__, otypes=[np.float64])(values)
    numbers: FloatArray = values.ravel().astype(np.float64)
    return numbers


def _words(model: ModelProto) -> dict[str, int]:
    """The places of the classes that the file names by words."""
    said = [
        each for node in model.graph.node for each in node.attribute if each.name == "classlabels_strings"
    ]
    return {word.decode(): place for place, word in enumerate(said[0].strings)} if said else {}


def _require_near(
    graph: Graph, qgraph: QuantGraph, q: Mapping[str, IntArray], expected: Mapping[str, FloatArray]
) -> float:
    """How far the farthest output for ``q`` is from onnxruntime's, of which ``expected`` has those first.
    ``FailedError`` unless each output is near these, and near the reference in floats."""
    farthest = 0.0
    made = qgraph.run_all({name: each[np.newaxis] for name, each in q.items()}, {*qgraph.outputs.values()})
    reference = _reference(graph, qgraph, q)
    for name, called in output_names(graph).items():
        tensor, theirs = qgraph.outputs[called], expected[name]
        scales = qgraph.scale_of(tensor)
        if scales is None:
            raise FailedError("the outputs have no one scale", "output scale")
        if theirs.shape[1:] != (qgraph.size(called),):
            raise FailedError(
                f"onnxruntime has {theirs.shape[1]} outputs, the circuit {qgraph.size(called)}",
                "other outputs",
            )
        if not np.isfinite(theirs).all():
            raise FailedError("onnxruntime's outputs are not finite", "its input")
        span = max(float(np.ptp(theirs)) or float(np.abs(theirs).max()), _LEAST_NORMAL)
        scale, zero = scales
        ours = scale * (made[tensor] - zero)
        farthest = max(farthest, float(np.abs(ours.ravel() - theirs[0]).max()))
        _require_within(ours, theirs[0], _OF_RANGE * span, "onnxruntime's")
        step = scale if qgraph.types[tensor] else max(scale, span / _UNTYPED)
        _require_within(ours, reference[graph.outputs[name]], _STEPS * step, "the reference's")
    return farthest


def _require_within(ours: NDArray[Any], theirs: NDArray[Any], most: float, whose: str) -> None:
    share = float((np.abs(ours.ravel() - theirs.ravel()) <= most).mean())
    if share < _SHARE:
        raise FailedError(
            f"{1 - share:.0%} of the outputs are more than {most:.3g} from {whose}", "precision"
        )


def _reference(graph: Graph, qgraph: QuantGraph, q: Mapping[str, IntArray]) -> dict[str, FloatArray]:
    """The float network's tensors for ``q``, its weights those of ``qgraph``, and each rounded to its
    type."""
    made = {node.name: node for node in qgraph.nodes}
    values = {
        name: qgraph.entries[called].type.real(q[called][np.newaxis])
        for name, called in input_names(graph).items()
    }
    for step in plan(graph):
        node = _with_weights(step.node, made[step.name], qgraph)
        value = node.run(*(values[name] for name in node.inputs))
        if step.clip:
            value = step.clip.run(value)
        kind = qgraph.types[step.name]
        values[step.tensor] = kind.real(kind.quantise(value)) if kind else value
    return values


def _with_weights(node: Node, made: QuantNode, qgraph: QuantGraph) -> Node:
    """The node with the weights that its integers stand for, if it has any."""
    if isinstance(node, Forest) and (kind := qgraph.types[made.inputs[0]]):
        # Up to half a step beyond the last integer that leads to the first child.
        last = np.rint(node.threshold / kind.scale) - (node.strict != 0)
        return replace(node, threshold=kind.scale * (last + 0.5), strict=np.zeros_like(node.strict))
    if not (isinstance(node, Parametric) and isinstance(made, WeightedSum)):
        return node
    weight, bias = made.real(qgraph.types_of(made), qgraph.shapes_of(made))
    before = next((each for each in qgraph.nodes if each.name == f"{made.name}.level"), None)
    if isinstance(before, QuantFeatures) and before.rescale and (given := qgraph.types[before.inputs[0]]):
        # Features have units of their own there, less an offset.
        rescale = before.rescale
        units = given.scale * 2.0**rescale.shift / (rescale.multiplier.ravel() * rescale.output.scale)
        weight = weight / (units if weight.ndim == 2 else units.reshape(-1, 1, 1, 1))
        moved = weight.reshape(len(weight), -1) * given.real(before.middle).reshape(-1, weight[0].size)
        bias = bias - moved.sum(axis=1)
    return replace(node, weight=weight, bias=bias)


def prove(circuit: Inference, q: Integers, system: str = FIRST) -> Findings:
    """By this proof ``system``. ``FailedError`` unless zenserve-verify takes the proof."""
    with TemporaryDirectory() as name:
        folder, watch = Path(name), _Watch()
        party, start = Party(registry.find(system), folder, watch), time.perf_counter()
        registration = None
        if circuit.commitments:
            party.commit({"model": parameters(circuit.qgraph)}, 0)
            registration = party.register(circuit.qgraph)
        registered = time.perf_counter()
        made = party.prove(circuit, circuit.values(q), partial(circuit.witness, q))
        end = time.perf_counter()
        Proof(made.document, made.key, registration, circuit=made.circuit).save(folder / "proof")
        options = _options(folder / "proof", circuit, party.openings)
        with redirect_stdout(io.StringIO()) as said:
            code, verify_s = timed(lambda: command.main(options))
        key_mb = (folder / circuit.scheme).stat().st_size / (1 << 20)
    if code:
        raise FailedError(said.getvalue().partition("\n")[0], "verification")
    return {
        "registration_s": registered - start,
        "setup_s": watch.began["load key"] - registered,
        "prove_s": end - watch.began["witness"],
        "verify_s": verify_s,
        "proof_bytes": len(made.document.proofs[0]) // 2,
        "key_mb": key_mb,
    }


class _Watch:
    """When stages began last, by the clock."""

    def __init__(self) -> None:
        self.began: dict[str, float] = {}

    def __call__(self, stage: str, fraction: float) -> None:
        if not fraction:
            self.began[stage] = time.perf_counter()


def _options(folder: Path, circuit: Inference, commitments: Mapping[str, Opening]) -> list[str]:
    """What zenserve-verify takes, of a proof that was saved there."""
    names = ("key", "circuit", "registration", "registration-key", "registration-circuit")
    files = zip(names, (folder / file for file in (*PROOF[1:], *REGISTRATION)), strict=True)
    said = {name: str(file) for name, file in files if file.exists()}
    said |= {name: opening.commitment.hex() for name, opening in commitments.items()}
    said["network"] = circuit.network.hex()
    return [str(folder / PROOF[0]), *(word for name, value in said.items() for word in (f"--{name}", value))]


def explained(model: ModelProto, error: ZenError) -> Findings:
    """The reason, and what must change: all operators that have no circuit, and where the error is about
    anything else the operator that it names, or its code."""
    missing = sorted({node.op_type for node in model.graph.node if (node.domain, node.op_type) not in ONNX})
    if error.code == "model.unsupported_operator" and error.message.startswith("no circuit for "):
        return {"reason": f"no circuit for {', '.join(missing)} [{error.code}]", "blockers": missing}
    found = _OPERATOR.match(error.message)
    other = f"{found[1]}, {error.code}" if found else error.code
    return {"reason": in_words(error), "blockers": [other, *missing]}
