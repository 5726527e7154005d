"""ZENacc: how well a network does on a batch of samples, counted without telling.

The statement: of the samples and labels, or targets, that the commitment ``dataset`` is to, the counts of the
measure (``zenserve.verifier.measures``) are what the commitment ``correct`` is to, named for the first of
them: how many labels are right. What each sample adds stays hidden, and so do the counts: those of several
batches add up in their commitments, and the sums alone are opened. How many samples there are is public: a
batch that is not full is filled up with samples that add nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zenserve.base.randomness import Secrets
from zenserve.circuits.certificates.certificate import Certificate, counted
from zenserve.circuits.graphs.tensors import by_name
from zenserve.circuits.lowering import Cost, Lowering, Plan, arithmetic, best_plan
from zenserve.circuits.quantisation.labels import is_of_classes
from zenserve.circuits.quantised import Integers, QuantGraph, QuantInput
from zenserve.circuits.quantised.typed import TypedGraph
from zenserve.circuits.r1cs.builder import Builder
from zenserve.circuits.schemes import measures
from zenserve.circuits.schemes.certifying import (
    certificate_cost,
    checked_radius,
    described_norm,
    hold_chosen,
    hold_parameters,
    hold_radius,
    near,
    radius_group,
)
from zenserve.circuits.schemes.circuit import (
    Circuit,
    Values,
    checked_integers,
    public_group,
    require_known,
    require_one,
)
from zenserve.circuits.schemes.inputs import (
    begin,
    committed_type,
    described_types,
    sample_values,
    samples_cost,
)
from zenserve.circuits.schemes.measures import Samples
from zenserve.errors import StatementError, TensorError
from zenserve.kernels import FrArray, fr
from zenserve.prover.backends import Backend
from zenserve.prover.backends.cpu import CPU
from zenserve.relations.bounds import Bound, Proof
from zenserve.relations.integers import INTEGER_LIMIT, JSON_LIMIT, IntArray
from zenserve.relations.relation import Equal, Relations, Tensor, Total
from zenserve.verifier.datasets import LabelledData
from zenserve.verifier.description import Quantisation
from zenserve.verifier.fields import MOST_NAMES
from zenserve.verifier.measures import Measurement, Targets, takes_targets
from zenserve.verifier.schemes import INPUT, Compared, Measure, Norm, Privacy, called

DATASET, CORRECT = "dataset", "correct"
SAMPLES: Final = "samples"
"""The name of a dataset's samples. With several inputs, each input's name follows it (``called``)."""
Parts = tuple[Any, ...]
"""Of a batch its samples, ``Integers``, then labels, and targets where there are any: arrays."""
_LEVEL: Final = 5

_OF_LABELS: Final = "The prover knows the committed samples and labels, and "
_OF_TARGETS: Final = (
    "The prover knows the committed samples and targets, and {network} maps the samples to outputs "
)
_SAYS: Final[dict[Measure, str]] = {
    "accuracy": _OF_LABELS + "{network} gives as many of the samples their labels as is committed to.",
    "top-k": _OF_LABELS
    + "{network} has the labels of as many samples as is committed to among its TOP likeliest, the first of"
    " equals first.",
    "f1": _OF_LABELS
    + "{network} gives each class to as many samples, rightly and in all, and as many have it for their"
    " label, as is committed to.",
    "mse": _OF_TARGETS + "whose squared differences to the targets add up to what is committed to.",
    "mae": _OF_TARGETS + "whose absolute differences to the targets add up to what is committed to.",
    "certified": _OF_LABELS
    + "{network} gives as many of the samples as is committed to their labels, and the same label to every"
    " input of integers of their type NEAR: the label's output is larger than every other there.",
    "r2": _OF_TARGETS
    + "whose squared differences to the targets, and these and their squares, of each output add up to what"
    " is committed to.",
}


@dataclass(frozen=True, eq=False)
class Accuracy(Circuit):
    """The circuit of one batch. Linked segments: "model" where it is committed, "dataset" and "correct"."""

    measurement: Measurement
    output: str
    """The name of the one that is measured."""
    certificate: Certificate | None
    """Of the samples near which labels are certified."""
    scheme = "accuracy"

    @property
    def claim(self) -> str:
        measure = self.measurement.measure
        filling = "is never right" if measure in ("accuracy", "top-k", "certified") else "adds nothing"
        around = near(self.certificate.norm, "such a sample's") if self.certificate else ""
        of_output = f"Of the output {self.output}: " if len(self.qgraph.outputs) > 1 else ""
        return (
            of_output
            + _SAYS[measure].replace("TOP", str(self.measurement.top)).replace("NEAR", around)
            + f" The size says how many samples there are: what else fills the batch up {filling}."
        )

    @property
    def meaning(self) -> str:
        return self._says_network

    @property
    def inputs(self) -> Sequence[QuantInput]:
        """The inputs that samples consist of: those from which the output is computed."""
        return self.qgraph.inputs_of(self.output)

    @property
    def batch(self) -> int:
        """The number of samples that the circuit takes."""
        return self.typed.batch

    @property
    def public_layout(self) -> list[dict[str, Any]]:
        groups = [public_group("size", (), 0, self.batch)]
        if self.certificate:
            groups.append(radius_group(self.certificate, self.inputs[0]))
        return self._layout(*groups)

    def describe(self) -> dict[str, Any]:
        measure, top, classes, targets = self.measurement
        described = super().describe() | {"batch": self.batch, "classes": classes}
        if len(self.qgraph.outputs) > 1:
            described["output"] = self.output
        if measure != "accuracy":
            described["measure"] = measure
        if measure == "top-k":
            described["top"] = top
        if targets is not None:
            described["targets"] = targets.model_dump()
        if self.certificate:
            described |= described_norm(self.certificate)
        return described

    @property
    def filler(self) -> int:
        """The label of what fills up a batch: samples with targets have the label 0."""
        return _filler(self.measurement)

    def dataset_values(
        self,
        samples: Integers,
        labels: NDArray[np.integer[Any]],
        targets: NDArray[np.integer[Any]] | None = None,
    ) -> IntArray:
        """Return the values that the commitment to a batch commits to: the inputs' types, all samples row by
        row, of one input after the other, then their targets if any, then all labels
        (``zenserve.circuits.schemes.inputs.sample_values``), int64[n].

        ``samples``: integers [batch, *input_shape] of the input's type, of several inputs by their names;
        ``labels``: [batch], each from 0 to ``filler``: with that number, a sample does not count;
        ``targets``: [batch, outputs], as ``zenserve.verifier.measures.Targets`` has them, for measures that
        take any. Raises ``TensorError``.
        """
        return sample_values(self.inputs, *self._checked(samples, labels, targets).values())

    def shard_values(self, data: LabelledData) -> Iterator[IntArray]:
        """Yield the values that the commitments to a dataset's shards commit to: ``dataset_values`` of each
        shard, int64[n]. Raises ``TensorError``."""
        kinds, measured = Quantisation.model_validate(described_types(self.inputs)).types, self.measurement
        ordered = data.in_order([kind.name for kind in kinds.values()])
        for values in ordered.shard_values([*kinds.values()], self.batch, measured.outputs, measured.targets):
            yield np.array(values, dtype=np.int64)

    def _checked(
        self,
        samples: Integers,
        labels: NDArray[np.integer[Any]],
        targets: NDArray[np.integer[Any]] | None,
    ) -> dict[str, IntArray]:
        """By the names of the wires, in the order of the commitment."""
        kind, given = self.measurement.targets, dict[str, IntArray]()
        if (targets is None) != (kind is None):
            raise TensorError(
                "input.shape", "samples have targets where errors are measured", field="targets"
            )
        named = self._named(samples)
        for entry in self.inputs:
            name, shape = called(SAMPLES, entry.name, self.inputs), (self.batch, *entry.shape)
            given[name] = checked_integers(named[entry.name], shape, entry.type.top, name)
            self.qgraph.require_taken(entry.name, given[name], name)
        if targets is not None and kind is not None:
            beyond, shape = np.asarray(targets) - kind.minimum, (self.batch, self.measurement.outputs)
            top = kind.maximum - kind.minimum
            given["targets"] = checked_integers(beyond, shape, top, "targets") + kind.minimum
        return given | {"labels": checked_integers(labels, (self.batch,), self.filler, "labels")}

    def _named(self, samples: Integers) -> dict[str, IntArray]:
        """By the names of the inputs. Raises ``TensorError`` (``input.names``)."""
        return by_name(samples, [entry.name for entry in self.inputs], field=SAMPLES)

    def counts(
        self,
        samples: Integers,
        labels: NDArray[np.integer[Any]],
        targets: NDArray[np.integer[Any]] | None = None,
        *,
        radius: int | None = None,
        threads: int = 1,
        on: Backend = CPU,
    ) -> IntArray:
        """Return the values that the commitment ``correct`` commits to: the counts of the batch in order,
        int64[n]. ``radius``: of the measure ``certified``. On a GPU they are read from a witness. Raises as
        ``witness``."""
        if on.index is not None:
            with Secrets() as secret:
                made = self.witness(samples, labels, targets, radius=radius, threads=threads, on=on)
                return _integers(secret(made)[self._counts])
        if self.certificate:
            z = self.program.assign(self._given(samples, labels, targets, radius))
            return z[self.layout["certified"].ravel()]
        given = {name: np.asarray(each, np.int64) for name, each in self._named(samples).items()}
        (found,) = self._run(given, self.batch).values()
        return self._counted(found, labels, targets)

    def _run(self, samples: Mapping[str, IntArray], count: int, on: Backend = CPU) -> dict[str, IntArray]:
        """The output that is measured, by its tensor's name, of so many samples."""
        return self.qgraph.run_all({**samples, **self._unread(count)}, {self.qgraph.outputs[self.output]}, on)

    def counts_of(
        self,
        batches: Sequence[Parts],
        *,
        radius: int | None = None,
        threads: int = 1,
        on: Backend = CPU,
    ) -> Iterator[IntArray]:
        """``counts`` of batches in order, ``parts`` each. On a GPU the network runs for all of them at
        once."""
        if on.index is None or self.certificate or len(batches) == 1:
            yield from (self.counts(*each, radius=radius, threads=threads, on=on) for each in batches)
            return
        named = [self._named(parts[0]) for parts in batches]
        samples = {
            entry.name: np.concatenate(
                [each[entry.name].astype(np.min_scalar_type(entry.type.top)) for each in named]
            )
            for entry in self.inputs
        }
        (found,) = self._run(samples, self.batch * len(batches), on).values()
        outputs = np.split(found, len(batches))
        yield from (self._counted(made, *parts[1:]) for made, parts in zip(outputs, batches, strict=True))

    def _unread(self, count: int) -> dict[str, IntArray]:
        """Return zeros for the inputs from which the output is not computed."""
        read = {entry.name for entry in self.inputs}
        others = (each for each in self.qgraph.inputs if each.name not in read)
        return {each.name: np.zeros((count, *each.shape), np.int64) for each in others}

    def _counted(
        self,
        found: IntArray,
        labels: NDArray[np.integer[Any]],
        targets: NDArray[np.integer[Any]] | None = None,
    ) -> IntArray:
        outputs = found.reshape(len(found), -1)
        compared = outputs if targets is None else np.asarray(targets, np.int64)
        labelled = labels != self.filler, np.asarray(labels, np.int64)
        return measures.counted(self.measurement, outputs, *labelled, compared)

    @property
    def _counts(self) -> slice:
        """The variables that have them."""
        system = self.constraint_system
        index = [segment.name for segment in system.segments].index(CORRECT)
        part = system.segment_ranges[index]
        return slice(part.start, part.stop - 1)

    def parts(self, values: IntArray) -> Parts:
        """The inverse of ``dataset_values``: samples, labels, and targets where there are any."""
        shapes = [(self.batch, *entry.shape) for entry in self.inputs]
        if self.measurement.targets:
            shapes.append((self.batch, self.measurement.outputs))
        ends = np.cumsum([math.prod(shape) for shape in shapes])
        *split, labels = np.split(values[-(int(ends[-1]) + self.batch) :], ends)
        made = [part.reshape(shape) for part, shape in zip(split, shapes, strict=True)]
        samples, targets = made[: len(self.inputs)], made[len(self.inputs) :]
        if len(samples) == 1:
            return samples[0], labels, *targets
        return {entry.name: part for entry, part in zip(self.inputs, samples, strict=True)}, labels, *targets

    def totals(self, counts: Sequence[IntArray], size: int, *, radius: int | None = None) -> Values:
        """Return the public values of a statement about several batches: the sums of their counts, the number
        of samples, and the ``radius``. Raises ``StatementError`` (``statement.measure``) where a sum is more
        than a statement holds."""
        totals = [sum(column) for column in zip(*(each.tolist() for each in counts), strict=True)]
        if max(map(abs, totals)) >= JSON_LIMIT:
            raise StatementError(
                "statement.measure",
                "the sums over all samples are beyond 53 bits, which no statement holds: take fewer samples,"
                " or a network that ends in a ReLU or a clamp",
                field="measure",
            )
        return self.measurement.values(totals) | _shown(size, radius)

    def witness(
        self,
        samples: Integers,
        labels: NDArray[np.integer[Any]],
        targets: NDArray[np.integer[Any]] | None = None,
        *,
        radius: int | None = None,
        statement: int = 0,
        threads: int = 1,
        on: Backend = CPU,
    ) -> FrArray:
        """The satisfying assignment, uint64[variables, 4], Montgomery. Raises as ``dataset_values``, and for
        a ``radius`` that is none of the input's type."""
        return self._witness(self._given(samples, labels, targets, radius), statement, threads, on)

    def _given(
        self,
        samples: Integers,
        labels: NDArray[np.integer[Any]],
        targets: NDArray[np.integer[Any]] | None,
        radius: int | None,
    ) -> dict[str, IntArray]:
        given = {name: each.ravel() for name, each in self._checked(samples, labels, targets).items()}
        if (radius is None) != (self.certificate is None):
            raise TensorError(
                "input.shape", "what is certified has a radius, and nothing else", field="radius"
            )
        if self.certificate and radius is not None:
            given["radius"] = checked_radius(self.certificate, radius)
        return given

    def values(self, labels: NDArray[np.integer[Any]], *, radius: int | None = None) -> Values:
        """Return the public values of a proof, by the names of ``public_layout``."""
        return _shown(int((np.asarray(labels) != self.filler).sum()), radius)

    def public_inputs(
        self, labels: NDArray[np.integer[Any]], *, radius: int | None = None, statement: int = 0
    ) -> list[int]:
        """The statement's public inputs in order, as ``public_layout`` describes them."""
        return self._listed(self.values(labels, radius=radius), statement)


def compile_accuracy(
    qgraph: QuantGraph,
    *,
    batch: int,
    weight_privacy: Privacy = "public",
    measure: Measure = "accuracy",
    top: int = 1,
    output: str | None = None,
    norm: Norm = "inf",
) -> Accuracy:
    """The circuit of ``batch`` samples. Deterministic; with committed weights it depends on types only.
    ``top``: among how many labels, of the measure ``top-k``. ``norm``: of the radius of ``certified``.
    ``output``: as ``measured_output`` has it.

    Raises ``StatementError`` as ``compile_inference``, ``statement.batch`` for a batch of none, and
    ``statement.measure`` for a network that cannot be measured so, or not in batches so large.
    """
    typed, output, measurement = _typed(qgraph, batch, weight_privacy, measure, top, output)
    builder, made = Builder(), _made(typed, output, measurement, norm)
    inputs = qgraph.inputs_of(output)
    network, plan = made.network, _plan(typed, made, measurement, inputs)
    begin(builder, typed)
    tools = arithmetic(builder, _LEVEL)
    lowering = Lowering(tools, made.relations, _LEVEL, plan)
    if made.certificate:
        hold_parameters(lowering, tools, network, made.certificate)
    lowering.hold(made.size, builder.public("size", 1))
    if made.certificate:
        hold_radius(lowering, tools, made.certificate)
    committed_type(builder, DATASET, sample_values(inputs))
    builder.segment(CORRECT, linked=True)
    for entry in inputs:
        tensor, name = typed.inputs[entry.name], called(SAMPLES, entry.name, inputs)
        lowering.hold(tensor, builder.committed(DATASET, name, math.prod(tensor.shape)))
    for tensor in (*made.targets, made.labels):
        lowering.hold(tensor, builder.committed(DATASET, tensor.name, math.prod(tensor.shape)))
    for name, tensor in made.counts.items():
        lowering.hold(tensor, builder.committed(CORRECT, name, math.prod(tensor.shape)))
    for entry in inputs:
        group = called(INPUT, entry.name, inputs)
        tools.ranged(f"{group}/value", lowering.values(typed.inputs[entry.name]), entry.type.bits)
    for tensor in made.targets:
        tools.ranged(
            "output/target_range", lowering.values(tensor), tensor.bound.bits, tensor.bound.interval[0]
        )
    filler = _filler(measurement)
    for name, lowest in _label_ranges(filler):
        tools.ranged(name, lowering.values(made.labels), filler.bit_length(), lowest)
    if made.certificate:
        hold_chosen(lowering, tools, made.certificate)
    lowering.lower()
    proven = builder.program(), plan, made.relations, lowering.wires
    return Accuracy(typed, _LEVEL, *proven, measurement, output, made.certificate)


def measured_output(qgraph: QuantGraph, compared: Compared, asked: str | None = None) -> str:
    """The output that samples' labels or targets are of: the one of the name ``asked``, else the only one
    that can be meant: against labels of classes; and of a network of several inputs the one that is computed
    from one alone, as a bank's models have one that sees.

    Raises ``StatementError`` (``statement.several``, ``output``) where there is no such one, or several.
    """
    known = [name for name in qgraph.outputs if qgraph.inputs_of(name)]
    if compared == "labels" and len(known) > 1:
        known = [name for name in known if is_of_classes(qgraph.shapes[qgraph.outputs[name]])]
    meant = known if asked is None else [name for name in known if name == asked]
    if len(meant) > 1:
        meant = [name for name in meant if len(qgraph.inputs_of(name)) == 1]
    if len(meant) != 1:
        raise StatementError(
            "statement.several",
            f"output: an accuracy is of one output, against {compared}"
            f" {'one of ' + ', '.join(known) if known else 'none of this network'}: name it",
            field="output",
        )
    return meant[0]


def require_all_weights(qgraph: QuantGraph, output: str) -> None:
    """Raises ``StatementError`` (``statement.several``) where the output does without some of the network's
    weights: commitments are to all of them."""
    if len(qgraph.inputs) > 1:
        _network(TypedGraph(qgraph, "public", "public"), output)


def _network(typed: TypedGraph, output: str) -> Relations:
    """The relations of the network; of several inputs those that make the output. Raises as
    ``require_all_weights``."""
    whole = typed.relations
    if len(typed.qgraph.inputs) == 1:
        return whole
    needed = whole.behind(typed.outputs[output])
    if needed.parameters != whole.parameters:
        raise StatementError(
            "statement.several",
            f"the output {output} is made without some of the network's weights: export it alone",
            field="output",
        )
    return needed


class _Made(NamedTuple):
    """``relations``: those of the ``network``, or of the certificates of its samples, and its counts. The
    tensors are given."""

    network: Relations
    relations: Relations
    targets: Sequence[Tensor]
    labels: Tensor
    size: Tensor
    counts: Mapping[str, Tensor]
    certificate: Certificate | None = None


def _made(typed: TypedGraph, output: str, measurement: Measurement, norm: Norm) -> _Made:
    network, scores = _network(typed, output), typed.outputs[output]
    batch, filler, kind = typed.batch, _filler(measurement), measurement.targets

    def tensor(name: str, most: int, *shape: int, proof: Proof = "relation") -> Tensor:
        return Tensor(name, shape, Bound.of(0, most, proof))

    labels, filling = tensor("labels", filler, batch, 1, proof="range"), tensor("output/filling", 1, batch, 1)
    size = tensor("output/size", batch, 1)
    bound = Bound.of(kind.minimum, kind.maximum, "range") if kind else None
    targets = [Tensor("targets", scores.shape, bound)] if bound else []
    counts = {
        count.name: Tensor(
            f"output/{count.name}", (count.size or 1,), Bound.of(batch * count.least, batch * count.most)
        )
        for count in measurement.counts
    }
    fill = Equal("output/filling", filling, labels, filler)
    sized = Total("output/size", size, filling, -1, batch)
    if measurement.measure == "certified":
        certificate = counted(network, labels, fill, counts["certified"], norm)
        relations = certificate.relations.extended([size], [sized])
        return _Made(network, relations, targets, labels, size, counts, certificate)
    measured = measures.measured(
        Samples(scores, labels, fill, next(iter(targets), None)), measurement, counts
    )
    given = (*targets, labels, size, *counts.values())
    return _Made(network, network.extended(given, (*measured, sized)), targets, labels, size, counts)


def target_type(qgraph: QuantGraph, weight_privacy: Privacy, output: str) -> Targets:
    """Return the quantisation of an output's targets, whatever measure uses them. Raises ``StatementError``
    (``statement.measure``) where targets cannot be quantised."""
    typed = TypedGraph(qgraph, "committed", weight_privacy)
    return measures.targets(qgraph, output, typed.outputs[output].bound.interval)


def plan_accuracy(
    qgraph: QuantGraph,
    *,
    batch: int,
    weight_privacy: Privacy = "public",
    measure: Measure = "accuracy",
    top: int = 1,
    output: str | None = None,
    norm: Norm = "inf",
) -> Plan:
    """Plan the way in which ``compile_accuracy`` proves each node, and count all rows, without building
    anything."""
    typed, output, measurement = _typed(qgraph, batch, weight_privacy, measure, top, output)
    made = _made(typed, output, measurement, norm)
    return _plan(typed, made, measurement, qgraph.inputs_of(output))


def _typed(
    qgraph: QuantGraph,
    batch: int,
    weight_privacy: Privacy,
    measure: Measure,
    top: int,
    output: str | None,
) -> tuple[TypedGraph, str, Measurement]:
    require_known(_LEVEL, weight_privacy=weight_privacy)
    if batch < 1:
        raise StatementError("statement.batch", "a batch has at least one sample", field="batch")
    output = measured_output(qgraph, "targets" if takes_targets(measure) else "labels", output)
    if measure == "certified":
        require_one(qgraph, "a certificate")
    if len(qgraph.inputs_of(output)) > MOST_NAMES:
        reason = f"an accuracy is of an output that is computed from at most {MOST_NAMES} inputs"
        raise StatementError("statement.several", reason, field="output")
    typed = TypedGraph(qgraph, "committed", weight_privacy, batch)
    measurement = measures.measurement(qgraph, output, typed.outputs[output].bound.interval, measure, top)
    if any(batch * max(-count.least, count.most) >= INTEGER_LIMIT for count in measurement.counts):
        raise StatementError(
            "statement.measure",
            f"the sums of {batch} samples could exceed 62 bits: take fewer samples at a time",
            field="batch",
        )
    return typed, output, measurement


def _plan(typed: TypedGraph, made: _Made, measurement: Measurement, inputs: Sequence[QuantInput]) -> Plan:
    tools, network, filler = arithmetic(Builder(), _LEVEL), made.network, _filler(measurement)
    labels = Cost.range_checks(filler.bit_length(), typed.batch * len(_label_ranges(filler)))
    others = [samples_cost(typed, inputs), labels]
    for tensor in made.targets:
        others.append(Cost.range_checks(tensor.bound.bits, math.prod(tensor.shape)))
    planned = network
    if made.certificate:
        planned = made.certificate.relations
        others.append(certificate_cost(tools, network, made.certificate))
    own = made.relations.relations[len(planned.relations) :]
    others += [measures.cost(tools, relation) for relation in own]
    return best_plan(tools, planned, _LEVEL, Cost.sum(others))


def _shown(size: int, radius: int | None) -> Values:
    return {"size": size} if radius is None else {"size": size, "radius": radius}


def _filler(measurement: Measurement) -> int:
    return 1 if measurement.targets else measurement.outputs


def _label_ranges(classes: int) -> list[tuple[str, int]]:
    """Names and lowest values of ranges of ``classes.bit_length()`` bits: what is in all of them is a class,
    or the label that none has."""
    beyond = 1 << classes.bit_length()
    least, most = ("output/least_label", 0), ("output/most_label", classes + 1 - beyond)
    return [least] if classes + 1 == beyond else [least, most]


def _integers(elements: FrArray) -> IntArray:
    """Return field elements that are less than 2^63 from zero, as int64."""
    found = fr.to_ints(elements)
    return np.array([each - fr.modulus if each > fr.modulus // 2 else each for each in found], np.int64)
