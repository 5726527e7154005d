"""Reading and checks of callers' data: networks, samples, inputs, images for references.

``UNTRUSTED`` operations take and return bytes: they parse files, so they run in ``submissions.sandbox``. The
others check numbers that were parsed already against a registered network. Nothing here compiles a circuit.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from typing import Any, Final, NamedTuple, Self, cast, get_args

import numpy as np
from numpy.typing import NDArray

from zenserve import circuits
from zenserve.circuits import QuantGraph, banks, samples
from zenserve.circuits.comparison import gaps
from zenserve.circuits.comparison.differences import Difference, require_near
from zenserve.circuits.comparison.integers import compare_integers
from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.lowering.parameters import DIGEST_LIMBS
from zenserve.circuits.networks.stored import graph_to_bytes
from zenserve.circuits.quantisation import report
from zenserve.circuits.quantised import QuantInput
from zenserve.circuits.quantised.graph import BEYOND
from zenserve.circuits.quantised.typed import TypedGraph
from zenserve.circuits.schemes import planned
from zenserve.circuits.schemes.accuracy import (
    SAMPLES,
    measured_output,
    require_all_weights,
    target_type,
)
from zenserve.circuits.schemes.circuit import most_labels, require_classes
from zenserve.circuits.schemes.inference import all_shown, require_outputs
from zenserve.circuits.schemes.inputs import sample_values
from zenserve.circuits.schemes.intervals import integer_bounds
from zenserve.circuits.schemes.outputs import committed_outputs, taking
from zenserve.circuits.schemes.recognition import embedding_type
from zenserve.circuits.schemes.robustness import require_certificates
from zenserve.circuits.tuning import Tuned
from zenserve.errors import ConflictError, RequestError, StatementError, TensorError
from zenserve.service import deleted
from zenserve.service.encryption import Integers, Secret, pack
from zenserve.verifier.datasets import LabelledData, Samples, one_input, quantise_targets
from zenserve.verifier.measures import takes_targets
from zenserve.verifier.schemes import BOUNDED, Compared, Measure, Norm, Privacy, Reveal, called, furthest
from zenserve.verifier.stream import MOST_OUTPUTS, MOST_SAMPLES
from zenserve.verifier.table import TableSchema, is_rows

Floats = NDArray[np.float64]
COUNT_BYTES: Final = 8
_KEPT_BYTES: Final = 1 << 20
_PROFILED: Final = "profile.samples"
_RIGHT: Final = "profile.labels"


class _Read(NamedTuple):
    """A network with typical ``inputs`` by their names, what is ``right`` for each, its integers, how far its
    file, its floats and its integers are apart, and the ``schema`` of the table whose rows it reads, if the
    file has one."""

    graph: Graph
    inputs: Mapping[str, NDArray[Any]]
    right: NDArray[Any] | None
    tuned: Tuned
    differences: Sequence[Difference]
    schema: TableSchema | None


def read_model(onnx: bytes, calibration: bytes, precision: bytes, labels: bytes, sizes: bytes) -> bytes:
    """A line of JSON, then the quantised network and the float one. The JSON: ``quantised_bytes``, the length
    of the first; the ``report`` on quantisation (``zenserve.circuits.quantisation``), with the
    ``differences`` that ``zenserve.circuits.comparison`` finds; the circuits that a registration makes keys
    of, ``planned`` (``zenserve.circuits.schemes.planned``); ``weight_privacy``, the precision's or else the
    most private that the network takes; ``committed``, by which the basis of a committed network is chosen;
    ``table``, the schema in the file, or null.

    ``labels``: of the calibration's samples, or nothing: then those that the calibration's file has beside
    the samples; without any the report has no accuracies. ``precision``: JSON, what
    ``zenserve.circuits.tune`` is to be called with. ``sizes``: JSON, of dimensions by name.

    Raises ``ModelError``, ``TensorError``.
    """
    read = _read(onnx, calibration, precision, labels, sizes)
    qgraph = read.tuned.qgraph
    weight_privacy = json.loads(precision)["weight_privacy"] or TypedGraph.most_private(qgraph)
    with _of_calibration():
        found = report(read.graph, qgraph, read.inputs, read.right).to_json()
    quantised, differences = qgraph.to_bytes(), [each.to_json() for each in read.differences]
    said = {
        "quantised_bytes": len(quantised),
        "weight_privacy": weight_privacy,
        "report": found | {"tuning": read.tuned.to_json(), "differences": differences},
        "planned": [asdict(each) for each in planned.registered(qgraph, weight_privacy)],
        "committed": count_of(qgraph, weight_privacy) if weight_privacy == "committed" else None,
        "table": read.schema and json.loads(read.schema.to_json()),
    }
    line = json.dumps(said, allow_nan=False).encode()
    return b"".join((line, b"\n", quantised, graph_to_bytes(read.graph)))


def quantise(
    onnx: bytes, calibration: bytes, precision: bytes = b"{}", labels: bytes = b"", sizes: bytes = b"{}"
) -> bytes:
    """The network of ``read_model`` alone."""
    return _read(onnx, calibration, precision, labels, sizes).tuned.qgraph.to_bytes()


def _read(onnx: bytes, calibration: bytes, precision: bytes, labels: bytes, sizes: bytes) -> _Read:
    from zenserve.circuits.onnx.described import schema_of  # slow to import, and for the sandbox alone

    named, asked = json.loads(sizes), json.loads(precision)
    graph, accept = circuits.load_onnx(onnx, named), asked.pop("accept_difference", False)
    if taken := asked.pop("taken", None):
        graph = taking(graph, taken)
    schema = schema_of(onnx, graph)
    given = samples.parse(calibration, graph.entries, "calibration", schema=schema)
    compared = gaps.chosen(graph, given.inputs)
    of_file = circuits.compare_source(onnx, named, None, compared, own=False)
    if not accept:
        require_near(of_file)
    right = samples.parse_labels(labels, "calibration_labels", schema=schema) if labels else given.labels
    ends = None
    if schema and schema.columns:
        ends = {name: schema.spread(values) for name, values in given.inputs.items()}
    with _of_calibration():
        tuned = circuits.tune(graph, given.inputs, labels=right, ends=ends, **asked)
    of_integers = compare_integers(graph, tuned.qgraph, compared, own=False)
    if not accept:
        require_near([of_integers])
    differences = [*of_file, of_integers]
    return _Read(graph, given.inputs, right, tuned, differences, schema)


@contextmanager
def _of_calibration() -> Iterator[None]:
    """Attribute errors in ``labels`` to the field ``calibration_labels``."""
    try:
        yield
    except TensorError as error:
        error.field = "calibration_labels" if error.field == "labels" else error.field
        raise


def read_dataset(
    quantised: bytes,
    output: bytes,
    content: bytes,
    labels: bytes,
    saturate: bytes = b"",
    table: bytes = b"",
) -> bytes:
    """The content hash (32 bytes), how many samples there are (``COUNT_BYTES``), then samples
    int64[n, *input_shape], quantised, of several inputs by their names, and labels int64[n], packed.
    ``output``: the name of the one that labels are of. ``labels``: a file of them, or nothing: then
    ``content`` has them. ``saturate``: anything, where samples beyond the input's range are taken as its
    ends. ``table``: the model's schema, if it has one.

    Raises ``TensorError``: files that cannot be read, other shapes, labels that are no class; and
    ``StatementError`` for an output without classes, or one that no accuracy can be of.
    """
    graph = QuantGraph.from_bytes(quantised)
    size = graph.size(output.decode())
    require_classes(size, "labels", "give targets, to measure errors by")
    require_all_weights(graph, output.decode())
    inputs = graph.inputs_of(output.decode())
    schema = TableSchema.parse(table) if table else None
    given = samples.parse(content, {entry.name: entry.shape for entry in inputs}, "samples", schema=schema)
    classes = _classes(_labels(given, labels, schema=schema), size, "labels")
    _require_one_each(given.inputs, classes, "labels")
    secrets = _quantised_all(graph, inputs, given.inputs, saturate=bool(saturate))
    data = LabelledData.of(_hashed(given.inputs), classes)
    return _counted(data.sha256, data.size) + pack(secrets | {"labels": Secret(classes)})


def read_measured(
    quantised: bytes,
    output: bytes,
    weight_privacy: bytes,
    content: bytes,
    targets: bytes,
    saturate: bytes = b"",
    table: bytes = b"",
) -> bytes:
    """``read_dataset`` of samples with targets, one of each sample or as many as the output has values:
    int64[n, values], quantised. Raises ``StatementError`` for an output without one scale, or one that no
    accuracy can be of.
    """
    graph, privacy = QuantGraph.from_bytes(quantised), cast("Privacy", weight_privacy.decode())
    kind = target_type(graph, privacy, output.decode())
    require_all_weights(graph, output.decode())
    inputs = graph.inputs_of(output.decode())
    schema = TableSchema.parse(table) if table else None
    given = samples.parse(content, {entry.name: entry.shape for entry in inputs}, "samples", schema=schema)
    values = samples.parse_labels(targets, "targets")
    _require_one_each(given.inputs, values, "targets")
    data = LabelledData.with_targets(_hashed(given.inputs), values)
    secrets = _quantised_all(graph, inputs, given.inputs, saturate=bool(saturate)) | {
        "labels": Secret(data.labels),
        "targets": Secret(quantise_targets(data.targets_of(graph.size(output.decode())), kind)),
    }
    return _counted(data.sha256, data.size) + pack(secrets)


def _counted(sha256: bytes, count: int) -> bytes:
    return sha256 + count.to_bytes(COUNT_BYTES, "little")


def _hashed(inputs: Mapping[str, NDArray[Any]]) -> Samples:
    """As ``LabelledData`` takes them: an only input has no name."""
    return next(iter(inputs.values())) if len(inputs) == 1 else inputs


def _require_one_each(inputs: Mapping[str, NDArray[Any]], others: NDArray[Any], field: str) -> None:
    for name, each in inputs.items():
        if each.shape[:1] != others.shape[:1]:
            raise TensorError(
                "input.shape",
                f"{_placed_in(name, inputs)} have shape {list(each.shape)}, and there are {len(others)}"
                f" {field}: one for each",
                field="samples",
            )


def _placed_in(name: str, inputs: Collection[Any]) -> str:
    """Return the name of an input's samples in messages.

    The name of one of several inputs follows a dot.
    """
    return called("samples", name, inputs).replace("/", ".")


def _quantised_all(
    graph: QuantGraph, inputs: Sequence[QuantInput], samples: Mapping[str, NDArray[Any]], *, saturate: bool
) -> dict[str, Secret]:
    """Of each input by the name of its samples (``zenserve.circuits.schemes.accuracy.SAMPLES``)."""
    secrets = {}
    for entry in inputs:
        own, field = samples[entry.name].astype(np.float64), _placed_in(entry.name, inputs)
        if not saturate:
            _require_inside(entry, own, field)
        each = [
            _fitting(graph, entry, sample, "samples", f"{field}[{index}]", saturate=saturate)
            for index, sample in enumerate(own)
        ]
        secrets[called(SAMPLES, entry.name, inputs)] = Secret(np.stack(each))
    return secrets


def _require_inside(entry: QuantInput, samples: Floats, field: str) -> None:
    """Raises ``TensorError`` (``input.out_of_range``) that says how many samples are beyond the range."""
    low, high = entry.type.interval
    beyond = ((samples < low) | (samples > high)).reshape(len(samples), -1).any(axis=1)
    if beyond.sum() > 1:
        raise TensorError(
            "input.out_of_range",
            f"{field}: {beyond.sum():,} of {len(samples):,} rows reach beyond the calibration's range,"
            f" [{low:.6g}, {high:.6g}], first {field}[{beyond.argmax()}]: {BEYOND}",
            field="samples",
        )


def _labels(
    given: samples.Samples, labels: bytes, field: str = "labels", schema: TableSchema | None = None
) -> NDArray[Any]:
    if labels:
        return samples.parse_labels(labels, field, schema=schema)
    if given.labels is None:
        raise TensorError(
            "input.unreadable",
            f"{field}: the samples' file has none; give them in a file of their own, as a column `label` of a"
            " .csv file or as the array `labels` of a .npz file",
            field=field,
        )
    return given.labels


def as_json(quantised: bytes, data: bytes, field: bytes, name: bytes = b"", table: bytes = b"") -> bytes:
    """The input in a file as JSON, as requests have it; ``name``: which one, where it is of several;
    ``table``: the model's schema, if it has one. Raises ``TensorError``.
    """
    entry = _entry(_graph(quantised), name.decode() or None)
    schema = TableSchema.parse(table) if table else None
    given = samples.parse(data, {entry.name: entry.shape}, field.decode(), schema=schema)
    return json.dumps(given.as_json()).encode()


def read_profile(content: bytes, labels: bytes, most: bytes, *members: bytes) -> bytes:
    """``profiled`` of the samples in a file, packed. ``labels``: a file of them, or nothing: then ``content``
    has them. ``most``: how many there may be. ``members``: three of each of a bank's models that takes inputs
    in its own way, the first one's, too: its place, its network, and anything where numbers beyond its
    input's range are taken as its ends. Raises ``TensorError``, ``RequestError``.
    """
    bank = {
        int(place): FrameInput.of(network, saturate=bool(saturate))
        for place, network, saturate in zip(members[::3], members[1::3], members[2::3], strict=True)
    }
    entry = bank[0].entry
    given = samples.parse(content, {entry.name: entry.shape}, _PROFILED)
    right = _labels(given, labels, _RIGHT)
    return pack(_profiled(bank, given.inputs[entry.name].astype(np.float64), right, int(most)))


def ask(quantised: bytes, question: bytes) -> bytes:
    """The answer to a question of ``ASKED``, as JSON: its name, arguments and options."""
    name, arguments, options = json.loads(question)
    return json.dumps(ASKED[name](quantised, *arguments, **options)).encode()


UNTRUSTED: dict[str, Callable[..., bytes]] = {
    "read_model": read_model,
    "read_dataset": read_dataset,
    "read_measured": read_measured,
    "read_profile": read_profile,
    "as_json": as_json,
    "ask": ask,
}


def numbers(value: Any, field: str) -> Floats:
    """A nested list as float64[...]. Raises ``TensorError`` where it is ragged or holds other things."""
    array = samples.as_array(value)
    if array.dtype.kind not in "iuf":
        raise TensorError(
            "input.not_numeric",
            f"{field} must be a rectangular array of numbers: every list of one depth as long as the others,"
            " no null, text or boolean, no integer beyond 64 bits",
            field=field,
        )
    return array.astype(np.float64)


def committed_count(quantised: bytes, weight_privacy: Privacy) -> int:
    """``count_of`` the quantised network."""
    return count_of(_graph(quantised), weight_privacy)


def count_of(graph: QuantGraph, weight_privacy: Privacy) -> int:
    """By which a model's basis is chosen, and never another (``zenserve.service.basis``): how many values the
    commitment to its weights takes, or else one to its largest input. Raises ``StatementError``
    (``statement.no_weights``).
    """
    if weight_privacy == "committed":
        return len(circuits.parameters(graph))
    return max(
        len(circuits.input_values(graph, name=entry.name)) + math.prod(entry.shape) for entry in graph.inputs
    )


def committed_values(quantised: bytes, *parts: Integers, name: str | None = None) -> Integers:
    """Return the values that a commitment to an input is to: ``zenserve.circuits.input_values``."""
    return circuits.input_values(_graph(quantised), *parts, name=name)


def committed_samples(quantised: bytes, compared: Compared, output: str | None, *parts: Integers) -> Integers:
    """Return the values that a commitment to samples is to, with their labels or targets.

    Raises ``StatementError`` as ``measured_output``.
    """
    graph = _graph(quantised)
    return sample_values(graph.inputs_of(measured_output(graph, compared, output)), *parts)


def committed_input(quantised: bytes, values: Integers, name: str | None = None) -> Integers:
    """The input that is in ``committed_values``, int64[*shape]; ``name``: of several. Raises
    ``ConflictError`` (``conflict.commitment``) where there is none: earlier versions committed to bare
    integers, and of several inputs it may be another.
    """
    graph = _graph(quantised)
    shape = _entry(graph, name).shape
    q = values.ravel()[-math.prod(shape) :].reshape(shape)
    if not np.array_equal(circuits.input_values(graph, q, name=name), values.ravel()):
        reason = "an earlier version committed to this input, without its type: commit to it anew"
        if name is not None:
            reason = f"the commitment is not to the input {name}"
        raise ConflictError(
            "conflict.commitment", reason, field="input_id" if name is None else f"inputs.{name}.id"
        )
    return q


def check_privacy(
    quantised: bytes, input_privacy: Privacy | Mapping[str, Privacy], weight_privacy: Privacy
) -> None:
    """Check that the names are inputs of the network. Raises ``StatementError`` (``statement.privacy``)."""
    TypedGraph(_graph(quantised), input_privacy, weight_privacy)


def output_integers(values: Integers) -> list[int]:
    """The integers of what a commitment to an output is to."""
    integers: list[int] = values[DIGEST_LIMBS:].tolist()
    return integers


def outputs_kept(
    quantised: bytes, weight_privacy: Privacy, reveal: Reveal | dict[str, Reveal]
) -> dict[str, int]:
    """To how many values the commitments to outputs are that a proof makes, by their segments. Raises
    ``StatementError`` for outputs that nothing commits to.
    """
    graph = _graph(quantised)
    kept = committed_outputs(TypedGraph(graph, "private", weight_privacy), all_shown(graph, reveal))
    return {each.name: DIGEST_LIMBS + each.size for each in kept.values()}


def output_type(quantised: bytes, weight_privacy: Privacy, name: str) -> dict[str, Any]:
    """The type of what commitments to an output are to, "" of an only one, as ``taking`` takes it. Raises
    ``RequestError`` where there is no such output, ``StatementError`` where nothing commits to it.
    """
    graph = _graph(quantised)
    own = name or (next(iter(graph.outputs)) if len(graph.outputs) == 1 else "")
    if own not in graph.outputs:
        known = ", ".join(graph.outputs)
        reason = f"input_from: name one of the outputs behind a slash: {known}"
        raise RequestError("request.invalid", reason, field="input_from")
    kept = committed_outputs(TypedGraph(graph, "private", weight_privacy), {own: "commitment"})
    return dict(kept[own].described)


def taken_output(quantised: bytes, values: Integers) -> Integers:
    """The input that a commitment to an output is to, int64[*shape]; ``values``: what it is to. Raises
    ``ConflictError`` (``conflict.commitment``) where the output is not of the input's type, and
    ``StatementError`` (``statement.several``) for a network of several inputs.
    """
    graph = _graph(quantised)
    if len(graph.inputs) > 1:
        reason = "a model of one input takes an output: commitments to one of several inputs name it"
        raise StatementError("statement.several", reason, field="input_id")
    if not np.array_equal(circuits.input_values(graph), values[:DIGEST_LIMBS]):
        kind = graph.input.type
        raise ConflictError(
            "conflict.commitment",
            f"the output is of another type than the model's input: shape {list(graph.input.shape)},"
            f" {kind.bits} bits, steps of {kind.scale:g}, zero at {kind.zero_point}; register the model with"
            " input_from, the model that has the output",
            field="input_id",
        )
    return values[DIGEST_LIMBS:].reshape(graph.input.shape)


def check_inputs(quantised: bytes, names: Iterable[str] | None) -> None:
    """Check that the names are the network's inputs. None: the network has one input.

    Raises ``TensorError`` (``input.names``).
    """
    graph = _graph(quantised)
    if names is None and len(graph.inputs) > 1:
        known = ", ".join(graph.entries)
        raise TensorError(
            "input.names", f"the model has several inputs: give each by its name, {known}", field="inputs"
        )
    if names is not None and (len(graph.inputs) == 1 or {*names} != {*graph.entries}):
        known = ", ".join(graph.entries) if len(graph.inputs) > 1 else "one, which is given as input"
        raise TensorError("input.names", f"inputs: the model's are {known}", field="inputs")


def _entry(graph: QuantGraph, name: str | None) -> QuantInput:
    """Raises ``TensorError`` (``input.names``)."""
    entry = graph.entries.get(name or "") if len(graph.inputs) > 1 else graph.input
    if entry is None or (name and len(graph.inputs) == 1):
        raise TensorError(
            "input.names", f"name one of the model's inputs: {', '.join(graph.entries)}", field="name"
        )
    return entry


def output_names(quantised: bytes) -> list[str]:
    return [*_graph(quantised).outputs]


def measured_name(quantised: bytes, compared: Compared, asked: str | None) -> str:
    """``zenserve.circuits.schemes.accuracy.measured_output``."""
    return measured_output(_graph(quantised), compared, asked)


def samples_in(quantised: bytes, compared: Compared, output: str | None, values: int) -> int:
    """Return the number of samples, with their labels or targets, that a commitment to so many values holds.

    Raises ``StatementError`` as ``measured_output``.
    """
    graph = _graph(quantised)
    measured = measured_output(graph, compared, output)
    inputs, targets = graph.inputs_of(measured), graph.size(measured) if compared == "targets" else 0
    room = max(0, values - len(sample_values(inputs)))
    return room // (sum(math.prod(entry.shape) for entry in inputs) + targets + 1)


def fillings(
    quantised: bytes, weight_privacy: Privacy, compared: Compared, output: str | None
) -> dict[str, int]:
    """Return the padding of a shard (``zenserve.verifier.datasets``).

    The padding has one value for the samples of all inputs, one for labels and, where there are any, one for
    targets.
    """
    graph = _graph(quantised)
    output = measured_output(graph, compared, output)
    if compared == "labels":
        return {"samples": 0, "labels": graph.size(output)}
    return {"samples": 0, "labels": 1, "targets": target_type(graph, weight_privacy, output).minimum}


def read_input(
    quantised: bytes,
    values: Any,
    field: str,
    name: str | None = None,
    *,
    saturate: bool = False,
    table: Mapping[str, Any] | None = None,
) -> Integers:
    """The network's input in its integers, of several the one of this name. ``saturate``: a value out of
    range is its end. ``table``: the model's schema, by whose columns ``values`` may have cells.

    Raises ``TensorError`` for a wrong shape, a NaN (which index) or a value out of range.
    """
    graph = _graph(quantised)
    if is_rows(values):
        if table is None or not schema_of_model(table).columns:
            reason = f"{field}: the model's file does not name columns: give numbers in the input's shape"
            raise TensorError("input.not_numeric", reason, field=field)
        values = schema_of_model(table).encode(values, field).tolist()
    columns = schema_of_model(table).entries if table else ()
    entry = _entry(graph, name)
    return _fitting(graph, entry, numbers(values, field), field, saturate=saturate, columns=columns)


def schema_of_model(table: Mapping[str, Any]) -> TableSchema:
    """As the database has it."""
    return TableSchema.parse(json.dumps(table))


@dataclass(frozen=True)
class FrameInput:
    """The form in which a bank's model takes frames. ``saturate``: as for ``read_input``."""

    form: banks.Form
    entry: QuantInput
    saturate: bool

    @classmethod
    def of(cls, quantised: bytes, *, saturate: bool) -> Self:
        """Raises ``ModelError`` (``model.bank``) where the network is none of a bank."""
        graph = _graph(quantised)
        form = banks.form_of(graph)
        return cls(form, graph.entries[form.input], saturate)

    def takes(self, other: Self) -> bool:
        """Return whether both inputs make the same integers of the same numbers."""
        own, others = ((each.entry.shape, each.entry.type, each.saturate) for each in (self, other))
        return own == others

    def read(self, values: Floats, field: str, index: int | None = None) -> Integers:
        """As ``read_input``."""
        fitted, place = _fitted(values, self.entry.shape), field if index is None else f"{field}[{index}]"
        return _placed(partial(self.entry.quantise, fitted, saturate=self.saturate), field, place)


def most_profiled(bank: Sequence[FrameInput]) -> int:
    """Return the largest number of samples in a profile.

    Raises ``RequestError`` for models of different numbers of classes.
    """
    classes = [each.form.classes for each in bank]
    if len({*classes}) > 1:
        raise RequestError(
            "request.invalid",
            f"models: they tell {classes} classes apart: give models of one",
            field="models",
        )
    return min(MOST_SAMPLES, MOST_OUTPUTS // sum(classes))


def apart(bank: Sequence[FrameInput]) -> dict[int, FrameInput]:
    """The first of a bank's models, and those that take inputs otherwise, by their places: in most banks all
    have one calibration."""
    return {place: each for place, each in enumerate(bank) if not place or not each.takes(bank[0])}


def profiled(bank: Sequence[FrameInput], values: Floats, labels: Sequence[int]) -> dict[str, Secret]:
    """Samples for each of a bank's models by its place, int64[n, *input_shape], and the ``labels`` of all.
    Raises ``TensorError``, ``RequestError``.
    """
    return _profiled(apart(bank), values, np.array(labels), most_profiled(bank))


def _profiled(
    bank: Mapping[int, FrameInput], values: Floats, labels: NDArray[Any], most: int
) -> dict[str, Secret]:
    classes = bank[0].form.classes
    right = _classes(labels, classes, _RIGHT)
    if len({*np.bincount(right, minlength=classes).tolist()}) > 1:
        raise RequestError("request.invalid", f"{_RIGHT}: give equally many of each class", field=_RIGHT)
    if len(right) > most:
        raise RequestError("request.invalid", f"{_RIGHT}: give {most} at most", field=_RIGHT)
    if values.shape[:1] != right.shape:
        raise TensorError(
            "input.shape", f"{_PROFILED}: give one for each of the {len(right)} labels", field=_PROFILED
        )
    read = {
        str(place): Secret(np.stack([each.read(x, _PROFILED, index) for index, x in enumerate(values)]))
        for place, each in bank.items()
    }
    return read | {"labels": Secret(right)}


def frame_values(bank: Sequence[FrameInput], values: Any) -> dict[str, Secret]:
    """The input of a frame for each of a bank's models, by its place: which one it is for is not known yet.
    Raises ``TensorError``.
    """
    real = numbers(values, "input")
    return {str(place): Secret(each.read(real, "input")) for place, each in apart(bank).items()}


def of_place(secrets: Mapping[str, Secret], place: int) -> Integers:
    """Of ``profiled`` or ``frame_values``."""
    return secrets.get(str(place), secrets["0"]).values


def read_reference(quantised: bytes, image: Any, field: str, *, saturate: bool = False) -> Integers:
    """The embedding of an image, int64[n]. ``saturate``: as for ``read_input``. Raises ``TensorError``, and
    ``StatementError`` for a network that makes none.
    """
    graph = _graph(quantised)
    embedding_type(graph)
    return graph.execute(_fitting(graph, graph.input, numbers(image, field), field, saturate=saturate)).logits


def check_threshold(quantised: bytes, threshold: int) -> None:
    """Raises ``TensorError`` for more than the largest squared distance, ``StatementError`` for a network
    that makes no embedding.
    """
    graph = _graph(quantised)
    most = graph.classes * embedding_type(graph).top ** 2
    if not 0 <= threshold <= most:
        raise TensorError(
            "input.out_of_range",
            f"threshold must be from 0 to {most}, the largest distance",
            field="threshold",
        )


def check_radius(quantised: bytes, radius: int, norm: Norm) -> None:
    """Raises ``TensorError`` for more than the input's integers reach, ``StatementError`` and ``ModelError``
    for a network that there are no certificates of.
    """
    graph = _graph(quantised)
    require_certificates(graph, norm)
    most = furthest(norm, graph.input.type.bits, math.prod(graph.input.shape))
    if not 0 <= radius <= most:
        raise TensorError(
            "input.out_of_range",
            f"radius must be from 0 to {most}, in steps of the input's integers",
            field="radius",
        )


def measured(compared: Compared, asked: Measure | None) -> Measure:
    """Return the measure of a network on a dataset; the default depends on what the dataset has.

    Raises ``RequestError`` where the dataset lacks what the measure takes.
    """
    measure: Measure = asked or ("mse" if compared == "targets" else "accuracy")
    if takes_targets(measure) != (compared == "targets"):
        wanted = [each for each in get_args(Measure) if takes_targets(each) == (compared == "targets")]
        raise RequestError(
            "request.invalid",
            f"measure: the dataset has {compared}, by which are measured {', '.join(wanted)}",
            field="measure",
        )
    return measure


def revealed(quantised: bytes, asked: Reveal | dict[str, Reveal] | None) -> Reveal | dict[str, Reveal]:
    """Return the part of the output that a proof reveals, or of each of several by its name.

    The default depends on the outputs. Raises ``StatementError`` for what this network's proofs cannot show.
    """
    graph = _graph(quantised)
    shown = all_shown(graph, asked)
    for name, reveal in shown.items():
        require_outputs(graph, name, reveal)
    return next(iter(shown.values())) if len(graph.outputs) == 1 else shown


def check_top(quantised: bytes, reveal: Reveal | dict[str, Reveal], top: int) -> None:
    """Raises ``TensorError`` for more labels than a proof can show."""
    graph = _graph(quantised)
    shown = [name for name, each in all_shown(graph, reveal).items() if each == "top"]
    most = min(most_labels(graph.size(name)) for name in shown)
    if not 1 <= top <= most:
        raise TensorError("input.out_of_range", f"top must be from 1 to {most}", field="top")


def bounded(
    quantised: bytes,
    weight_privacy: Privacy,
    reveal: Reveal | dict[str, Reveal],
    asked: Mapping[str, Any],
) -> dict[str, list[int]]:
    """Return the bounds that outputs are compared with, in their integers, by their names.

    ``asked``: the arguments of ``integer_bounds``, whose errors this raises.
    """
    graph = _graph(quantised)
    shown = all_shown(graph, reveal)
    if not (BOUNDED.keys() & shown.values() or any(each is not None for each in asked.values())):
        return {}
    return integer_bounds(TypedGraph(graph, "private", weight_privacy), shown, **asked)


def architecture(quantised: bytes) -> bytes:
    """The network with weights and biases blanked."""
    return _graph(quantised).architecture.to_bytes()


def _fitting(
    graph: QuantGraph,
    entry: QuantInput,
    values: Floats,
    field: str,
    place: str | None = None,
    *,
    saturate: bool,
    columns: Sequence[str] = (),
) -> Integers:
    """``place``: in the ``field``, as messages have it."""
    fitted = _fitted(values, entry.shape)
    read = partial(graph.quantise_entry, entry.name, fitted, saturate=saturate, columns=columns)
    return _placed(read, field, place or field)


def _placed(read: Callable[[], Integers], field: str, place: str) -> Integers:
    """Return the integers that ``read`` reads. Errors name the ``place`` in the ``field``."""
    try:
        return read()
    except TensorError as error:
        message = error.message.replace("input", place, 1)
        raise TensorError(error.code, message, field=field) from None


def _fitted(values: Floats, shape: Sequence[int]) -> Floats:
    """``values`` in ``shape``, where a batch of one is all that differs."""
    return values.reshape(shape) if one_input(values.shape, shape) else values


def _classes(values: NDArray[Any], classes: int, field: str) -> Integers:
    if values.ndim != 1 or len(values) == 0:
        raise TensorError("input.shape", f"{field} must be a flat list, one for each sample", field=field)
    with np.errstate(invalid="ignore"):  # what is no integer is refused below
        labels = values.astype(np.int64)
    wrong = np.flatnonzero((labels != values) | (labels < 0) | (labels >= classes))
    if len(wrong):
        raise TensorError(
            "input.out_of_range",
            f"{field}[{wrong[0]}] is no class: labels are whole numbers from 0 to {classes - 1}",
            field=field,
        )
    return labels


def _graph(quantised: bytes) -> QuantGraph:
    """Read once for requests that come together; not kept where it is large."""
    return _kept(quantised) if len(quantised) <= _KEPT_BYTES else QuantGraph.from_bytes(quantised)


_kept = lru_cache(maxsize=4)(QuantGraph.from_bytes)
deleted.forgets(_kept.cache_clear)


def values_count(quantised: bytes) -> int:
    """Return the number of values in all tensors of a network together."""
    return sum(map(math.prod, _graph(quantised).shapes.values()))


def _plan(planning: Callable[..., planned.Planned]) -> Callable[..., dict[str, Any]]:
    return lambda quantised, *arguments, **options: asdict(planning(_graph(quantised), *arguments, **options))


def _reference(quantised: bytes, image: Any, field: str, *, saturate: bool) -> list[int]:
    embedding: list[int] = read_reference(quantised, image, field, saturate=saturate).tolist()
    return embedding


ASKED: Final[Mapping[str, Callable[..., Any]]] = {
    "committed_count": committed_count,
    "check_privacy": check_privacy,
    "outputs_kept": outputs_kept,
    "output_type": output_type,
    "bounded": bounded,
    "check_radius": check_radius,
    "read_reference": _reference,
    "plan_registered": lambda quantised, weight_privacy: [
        asdict(each) for each in planned.registered(_graph(quantised), weight_privacy)
    ],
    "plan_accuracy": _plan(planned.accuracy),
    "plan_inference": _plan(planned.inference),
    "plan_robustness": _plan(planned.robustness),
}
"""The operations on a network that requests need beside its inputs; ``submissions.asking`` runs them."""
