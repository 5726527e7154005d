"""A bank's proofs, and what a camera's owner pays for them: topics of ``bench.streams``.

"bank": the camera's networks (examples/camera), for CIFAR-10 and for faces, proven by Groth16, weights
committed and images private: seconds of a frame's proof, witness included, of a frame where four have one
proof, and of the accuracy that is claimed of a class. "cameras": streams of test images, of which either half
is profiled for streams of the other; each frame is the integers' answer of the network that its course asks
for, at what "bank" measured. "times" is how many times as long the full network takes for all; "in fours" the
same where four frames have one proof, those by the full network, too; "paid after" how many frames save what
a bank's claims take, and "claims counted" the times with those of both halves. "skews": of these streams how
many points the filter adds to the accuracy of the smallest network, and the course to that of the full one:
of all frames, of the worst stream, and of the frames between two switches. "batches": proofs of several
frames in a row by each bank's smallest network, beside as many proofs of one. Needs CIFAR-10, or ORL's faces,
or both (docs/zoo.md).
"""

from __future__ import annotations

import gc
import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import numpy as np

from bench.measure import Timing, alone, measure
from bench.report import Cells, Row, more, number
from examples.camera.network import CIFAR, FACES, Bank
from examples.zoo.data import FOLDER, Split, cifar, persons
from zenserve.base.processors import usable_cores
from zenserve.base.progress import silent
from zenserve.circuits import (
    Circuit,
    Graph,
    QuantGraph,
    compile_accuracy,
    compile_inference,
    load_onnx,
    parameters,
    plan_inference,
    quantise,
)
from zenserve.circuits.banks import MARGIN, profile
from zenserve.circuits.graphs.types import Affine, FloatArray
from zenserve.circuits.onnx.write import to_onnx
from zenserve.circuits.priors import Member, with_prior
from zenserve.circuits.schemes import proving
from zenserve.kernels import FrArray
from zenserve.onecall.proving import Party
from zenserve.prover import registry
from zenserve.relations.integers import IntArray
from zenserve.verifier.bank import ANSWER, PRIOR, SEEN
from zenserve.verifier.stream import Rules
from zenserve.verifier.streams.choice import Candidate, Choice
from zenserve.verifier.streams.course import Course
from zenserve.verifier.streams.detector import Detection

THREADS: Final = usable_cores()
SYSTEM: Final = "groth16-bls12-381"
CHANGES: Final = 6
BANKS: Final = {bank.name: bank for bank in (CIFAR, FACES)}
FOUR: Final = 4
BATCHES: Final = (1, FOUR, 16)
SHORTEST: Final = 30
"""Frames between two switches."""
SHARD: Final = 1 << 21
"""Constraints of a proof of an accuracy, at most: a service takes as many as fit its memory."""
LOSS: Final = 0.5
"""Points, which a skew may lose."""


class Together(NamedTuple):
    """Proofs of so many frames at a time, by one network of a bank."""

    batch: int
    seconds: Timing
    constraints: int


class Measured(NamedTuple):
    """A network of the bank: what it takes to prove a frame, ``each`` of as many as have one proof; a
    ``claim``, the accuracy on one class's samples; and its outputs of all test images."""

    seconds: Timing
    each: Mapping[int, float]
    claim: float
    constraints: int
    prior: float
    bit: int
    outputs: IntArray


def split(bank: Bank) -> Split:
    """What its networks were trained on, and what they were not."""
    return (cifar if bank is CIFAR else persons)(FOLDER)


class Subject(NamedTuple):
    """A network of a bank with its prior, as it is registered."""

    bank: Bank
    graph: Graph
    member: Member
    qgraph: QuantGraph
    kind: Affine

    def proofs(self, batch: int, repetitions: int) -> Together:
        """Of so many frames each, witness included."""
        circuit = compile_inference(
            self.qgraph,
            input_privacy={"image": "private", PRIOR: "public"},
            weight_privacy="committed",
            reveal={SEEN: "label", ANSWER: "label"},
            batch=batch,
        )
        images = self.kind.quantise(split(self.bank).held_out.pixels[:batch] / 255)
        frames = {"image": images, PRIOR: np.full((batch, self.bank.classes), MARGIN)}
        given = frames if batch > 1 else {name: value[0] for name, value in frames.items()}
        timing = self._timed(circuit, {}, partial(circuit.witness, given), repetitions)
        return Together(batch, timing, circuit.constraint_system.constraints)

    def claim(self, constraints: int, repetitions: int) -> float:
        """Seconds to prove the accuracy on the profiled samples of a class, as ``zenserve banks register``
        does; ``constraints``: of a frame."""
        held_out = split(self.bank).held_out
        samples = profiled(held_out.labels, 0)
        shards = -(-samples // max(1, SHARD // constraints))
        circuit = compile_accuracy(
            self.qgraph, batch=-(-samples // shards), weight_privacy="committed", output=SEEN
        )
        places = np.flatnonzero(held_out.labels == 0)[: circuit.batch]
        shard = self.kind.quantise(held_out.pixels[places] / 255), held_out.labels[places]
        counted = {"dataset": circuit.dataset_values(*shard), "correct": circuit.counts(*shard)}
        return shards * self._timed(circuit, counted, partial(circuit.witness, *shard), repetitions).median

    def _timed(
        self,
        circuit: Circuit,
        committed: Mapping[str, IntArray],
        witness: Callable[..., FrArray],
        repetitions: int,
    ) -> Timing:
        """``committed``: to what, beside the weights."""
        with TemporaryDirectory() as folder:
            party = Party(registry.find(SYSTEM), Path(folder), silent)
            party.commit({"model": parameters(self.qgraph), **committed}, 0)
            proving.setup(party.system, circuit, party.basis, party.folder / "key", THREADS, silent)
            prove = partial(
                proving.prove,
                party.system,
                circuit,
                party.folder / "key",
                witness,
                lambda _: party.openings,
                THREADS,
                silent,
            )
            return measure(prove, repetitions=repetitions)


def profiled(labels: IntArray, half: int) -> int:
    """How many samples of each class are: as many as there are of the rarest."""
    return int(np.bincount(labels[half::2]).min())


def subject(of: str, name: str) -> Subject:
    """``of``: the bank's name."""
    bank = BANKS[of]
    images = split(bank).seen.pixels[:64] / 255
    graph = bank.network(name)
    member = with_prior(to_onnx(graph), images)
    calibration = {"image": images, PRIOR: member.priors(bank.classes, len(images))}
    qgraph = quantise(load_onnx(member.onnx), calibration)
    kind = next(entry.type for entry in qgraph.inputs if entry.name != PRIOR)
    return Subject(bank, graph, member, qgraph, kind)


def together(of: str, name: str, repetitions: int) -> list[Together]:
    """Proofs by this network of one frame, and of several."""
    return [subject(of, name).proofs(batch, repetitions) for batch in BATCHES]


def measured(of: str, name: str, repetitions: int) -> Measured:
    """``prior``: the share of its constraints that the prior takes."""
    own = subject(of, name)
    seen, test = split(own.bank).seen.pixels[:64] / 255, split(own.bank).held_out.pixels / 255
    (_, seconds, constraints), several = (own.proofs(size, repetitions) for size in (1, FOUR))
    without = plan_inference(quantise(own.graph, seen), weight_privacy="committed").rows
    outputs = profile(own.qgraph, own.kind.quantise(test))
    each = {1: seconds.median, FOUR: several.seconds.median / FOUR}
    claim = own.claim(constraints, repetitions)
    return Measured(seconds, each, claim, constraints, 1 - without / constraints, own.member.bit, outputs)


Banks = Mapping[str, Mapping[str, Measured]]
"""The networks of each bank, by their names."""


def there() -> list[Bank]:
    """Those whose images are there."""
    files = ((CIFAR, "cifar10_test_first1000"), (FACES, "orl_faces_112x92"))
    return [bank for bank, file in files if (FOLDER / f"{file}.npz").exists()]


def banks(quick: bool) -> Banks:
    """Each network in a process of its own."""
    return {
        bank.name: {
            name: alone(measured, bank.name, name, 1 if quick else 3)[0]
            for name in ([*bank.networks][-2:] if quick else bank.networks)
        }
        for bank in there()
    }


def networks(banks: Banks) -> Iterator[Row]:
    for of, models in banks.items():
        labels = split(BANKS[of]).held_out.labels
        for name, each in models.items():
            right = float((each.outputs.argmax(axis=1) == labels).mean())
            said = {
                "prior": 100 * each.prior,
                "accuracy": 100 * right,
                "four": round(each.each[FOUR], 3),
                "claim": round(each.claim, 2),
            }
            yield Row.of(f"{of}, {name}", each.constraints, each.seconds, threads=THREADS, more=said)


def batches(quick: bool) -> Iterator[Row]:
    """By the smallest network of each bank; ``times``: as long take proofs of one frame each."""
    for bank in there():
        name, repetitions = [*bank.networks][-1], 1 if quick else 3
        one, *several = alone(together, bank.name, name, repetitions)[0]
        for each in several:
            said = {"batch": each.batch, "times": each.batch * one.seconds.median / each.seconds.median}
            yield Row.of(f"{bank.name}, {name}", each.constraints, each.seconds, threads=THREADS, more=said)


class Shape(NamedTuple):
    """Of a camera's stream: minutes between switches, in the mean, and the most classes at a time."""

    minutes: int
    classes: int


SHAPES: Final = (Shape(2, 2), Shape(2, 3), Shape(8, 3), Shape(32, 2))


class Film(NamedTuple):
    """``choice``: by the samples that are profiled. ``pool``: of each class, images that are not."""

    choice: Choice
    pool: Sequence[IntArray]


def films(bank: Mapping[str, Measured], labels: IntArray) -> list[Film]:
    """Every second test image is profiled, and frames are the others; then the other way round."""
    made, classes = [], int(labels.max()) + 1
    for half in range(2):
        these = np.arange(len(labels)) % 2 == half
        least = profiled(labels, half)
        samples = np.concatenate([np.flatnonzero(these & (labels == own))[:least] for own in range(classes)])
        candidates = [Candidate(one.bit, MARGIN, one.outputs[samples].tolist()) for one in bank.values()]
        choice = Choice(classes, labels[samples].tolist(), candidates, Rules().caution)
        made.append(Film(choice, [np.flatnonzero(~these & (labels == own)) for own in range(classes)]))
    return made


FRAMES, SECONDS, FULL, RIGHT, BY_FULL, FILTERED, PLAIN = range(7)
"""Of a skew: its frames; the seconds of their proofs, and of those by the full network; how many answers are
right, and by the full network; and by the smallest with the course's prior, and without."""


class Filmed(NamedTuple):
    """Streams of one shape, float64[streams, skews, 7] each, of frames that have a proof each, and of those
    that have one in fours. ``slowest``: seconds of the slowest step of a course."""

    bank: str
    shape: Shape
    one: FloatArray
    four: FloatArray
    slowest: float

    @property
    def name(self) -> str:
        return f"{self.bank}, {self.shape.minutes} minutes, {self.shape.classes} classes"


def filmed(banks: Banks, each: int) -> Iterator[Filmed]:
    for of, shape in itertools.product(banks, SHAPES):
        models, labels = [*banks[of].values()], split(BANKS[of]).held_out.labels
        one, four = (
            [
                _filmed(shape, seed, film, models, labels, size)
                for film in films(banks[of], labels)
                for seed in range(each)
            ]
            for size in (1, FOUR)
        )
        parts, fours = (np.array([skews for skews, _ in some]) for some in (one, four))
        yield Filmed(of, shape, parts, fours, max(step for _, step in one))


def streams(banks: Banks, found: Sequence[Filmed]) -> Iterator[Row]:
    for film in found:
        one, four = film.one.sum(axis=(0, 1)), film.four.sum(axis=(0, 1))
        claims = BANKS[film.bank].classes * sum(each.claim for each in banks[film.bank].values())
        said = {
            "frames": one[FRAMES],
            "paid_after": round(claims * one[FRAMES] / (one[FULL] - one[SECONDS])),
            "with_claims": round(one[FULL] / (one[SECONDS] + 2 * claims), 1),
            "accuracy": 100 * one[RIGHT] / one[FRAMES],
            "full": 100 * one[BY_FULL] / one[FRAMES],
            "switch_ms": 1e3 * film.slowest,
            "four": round(four[FULL] / four[SECONDS], 1),
            "four_accuracy": round(100 * four[RIGHT] / four[FRAMES], 1),
        }
        yield Row(film.name, int(one[FRAMES]), one[FULL] / one[SECONDS], unit="times", more=said)


def skews(found: Sequence[Filmed]) -> Iterator[Row]:
    for film in found:
        for of, with_, without in (("filter", FILTERED, PLAIN), ("course", RIGHT, BY_FULL)):

            def points(part: FloatArray, with_: int = with_, without: int = without) -> FloatArray:
                return np.asarray(100 * (part[..., with_] - part[..., without]) / part[..., FRAMES])

            each = points(film.one)
            said = {
                "of": of,
                "stream": points(film.one.sum(axis=1)).min(),
                "skew": each.min(),
                "below": 100 * (each < -LOSS).mean(),
            }
            yield Row(
                film.name, each.size, points(film.one.sum(axis=(0, 1))).item(), unit="points", more=said
            )


def _filmed(
    shape: Shape,
    seed: int,
    film: Film,
    bank: Sequence[Measured],
    labels: IntArray,
    batch: int,
) -> tuple[list[FloatArray], float]:
    """Of one stream its skews, and the seconds of the course's slowest step, the processor's. ``batch``:
    frames that have one proof."""
    rng = np.random.default_rng([shape.minutes, shape.classes, seed])
    classes = film.choice.classes
    course = Course(film.choice, Detection(classes), Rules().patience)
    own, skews, slowest = np.zeros(0, np.int64), list[FloatArray](), 0.0
    said: list[int] = []
    smallest = bank[-1]
    gc.disable()  # as timeit does: a collection of all that the bench holds is no step's
    for _ in range(CHANGES):
        others, tally = np.setdiff1d(np.arange(classes), own), np.zeros(7)
        own = rng.choice(others, rng.integers(2, shape.classes + 1), replace=False)
        shares = rng.dirichlet(np.full(own.size, 8.0))
        for _ in range(max(SHORTEST, int(rng.poisson(60 * shape.minutes)))):
            image = rng.choice(film.pool[rng.choice(own, p=shares)])
            plan, truth = course.plan, labels[image]
            chosen = bank[plan.model]
            found = np.array(plan.prior) * smallest.bit / chosen.bit
            tally += (
                1,
                chosen.each[batch],
                bank[0].each[batch],
                (chosen.outputs[image] + plan.prior).argmax() == truth,
                bank[0].outputs[image].argmax() == truth,
                (smallest.outputs[image] + found).argmax() == truth,
                smallest.outputs[image].argmax() == truth,
            )
            said.append(int(chosen.outputs[image].argmax()))
            if len(said) == batch:
                start = time.thread_time()
                course.observe(said)
                slowest = max(slowest, time.thread_time() - start)
                said = []
        skews.append(tally)
    gc.enable()
    return skews, slowest


NETWORKS: Final[Cells] = {
    "network": lambda row: row.name,
    "constraints": lambda row: number(row.size),
    "for the prior %": lambda row: f"{row.more['prior']:.2f}",
    "accuracy %": lambda row: f"{row.more['accuracy']:.1f}",
    "s": lambda row: f"{row.median:.3f} ({row.spread:.0%})",
    "of four": more("four"),
    "a class's claim s": more("claim"),
}
TOGETHER: Final[Cells] = {
    "network": lambda row: row.name,
    "frames": lambda row: str(row.more["batch"]),
    "constraints": lambda row: number(row.size),
    "s": lambda row: f"{row.median:.3f} ({row.spread:.0%})",
    "s a frame": lambda row: f"{row.median / row.more['batch']:.3f}",
    "times": lambda row: f"{row.more['times']:.2f}",
}
STREAMS: Final[Cells] = {
    "stream": lambda row: row.name,
    "frames": lambda row: number(row.size),
    "times": lambda row: f"{row.median:.1f}",
    "in fours": more("four"),
    "paid after": more("paid_after"),
    "claims counted": more("with_claims"),
    "accuracy %": lambda row: f"{row.more['accuracy']:.1f}",
    "in fours %": more("four_accuracy"),
    "the full one's %": lambda row: f"{row.more['full']:.1f}",
    "slowest step ms": lambda row: f"{row.more['switch_ms']:.1f}",
}
SKEWS: Final[Cells] = {
    "stream": lambda row: row.name,
    "points of the": more("of"),
    "all frames": lambda row: f"{row.median:+.1f}",
    "worst stream": lambda row: f"{row.more['stream']:+.1f}",
    "worst skew": lambda row: f"{row.more['skew']:+.1f}",
    "skews": lambda row: str(row.size),
    f"below -{LOSS} %": lambda row: f"{row.more['below']:.0f}",
}
