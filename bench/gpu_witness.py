"""Witnesses on a card beside the processor's, and proofs from an input to their bytes with either.

    python -m bench.gpu_witness [--json FILE] [--topics witnesses batch ..] [--only NAME ..] [--quick]

Witnesses are complete: challenges are drawn as soon as they wait for them. Those of the card and of the
processor, on all cores, are timed in turn by the host's clock, and compared. ``batch``: 64 one after the
other, beside two threads. ``accuracy``: what a proof of accuracy counts of some samples, which a GPU reads
from their witness, beside the executor; their proofs, two at once, beside one alone. ``dataset``: all
shards of many samples, two at once: each is counted, committed to, witnessed and proven; ``kernels_s``: what
Groth16's kernels take for as many shards, one at a time (Spartan's are recorded by then). ``activations``:
outputs of many samples, which are bytes on the host, beside two threads of the executor and, where they are
installed, of onnxruntime, and PyTorch in halves on the card, of the same network of floats; ``launched_s``:
without the way there and back. ``proofs`` are
made on the card in either case: what differs is who makes the witness, and whether it crosses the bus. Inputs
are of a fixed random stream. ``kernels``: the seconds of each, one at a time, which takes longer than in a
graph; ``load_s``: of the first one; ``asked``: in how many steps the processor is.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

import numpy as np

from bench.lowbit import quantised
from bench.measure import in_turn, seconds, timed
from bench.report import Report, Row, rows_of
from bench.roofline import card_argument_parser, machine, profile
from zenserve.base.processors import usable_cores
from zenserve.base.progress import silent
from zenserve.base.randomness import Secrets, random_elements
from zenserve.circuits import (
    Inference,
    QuantGraph,
    compile_accuracy,
    compile_inference,
    parameters,
    quantise,
    zoo,
)
from zenserve.circuits.onnx.write import to_onnx
from zenserve.circuits.quantised.resident import ResidentNetwork
from zenserve.circuits.quantised.typed import TypedGraph
from zenserve.circuits.schemes import proving
from zenserve.circuits.schemes.circuit import Circuit
from zenserve.circuits.zoo import lowbit
from zenserve.gpu.device import Device
from zenserve.kernels import FrArray, fr
from zenserve.prover import backends, registry
from zenserve.prover.backends import Backend
from zenserve.prover.backends.cpu import CPU
from zenserve.prover.system import Opening
from zenserve.prover.witness import DeviceWitness, Witness
from zenserve.relations.integers import IntArray
from zenserve.verifier.schemes import Privacy
from zenserve.verifier.system import Claim

PROCESSOR: Final = "processor"
TWO_THREADS: Final = "two_threads"
ALONE: Final = "alone"
ONNXRUNTIME: Final = "onnxruntime"
PYTORCH: Final = "pytorch"
SYSTEMS: Final = ("groth16", "spartan")


class Network(NamedTuple):
    name: str
    weights: Privacy

    def __str__(self) -> str:
        return f"{self.name}, {self.weights} weights"


NETWORKS: Final = (
    Network("lenet-face-small", "committed"),
    Network("lenet-face-large", "committed"),
    Network("resnet18-cifar", "public"),
    Network("resnet18-cifar-w1a2", "public"),
    Network("resnet18-cifar-w1a2", "committed"),
)
QUICK: Final = (Network("lenet-mnist-w1a2", "public"),)
BATCH: Final = Network("resnet18-cifar", "public")
MEASURED: Final = Network("lenet-medium", "public")
PROVEN: Final = NETWORKS[:4]
IN_A_BATCH: Final = 64
IN_A_SHARD: Final = 16
IN_A_DATASET: Final = 10_000
IN_TURN: Final = 8
SAMPLES: Final = {"lenet-medium": 10_000}
FEWER: Final = 1_000
"""Of larger networks."""
IN_A_PART: Final = 100
EXECUTED: Final = (
    Network("lenet-medium", "public"),
    Network("resnet18-cifar", "public"),
    Network("resnet18-cifar-w1a2", "public"),
)


class Bench(NamedTuple):
    backend: Backend
    device: Device
    repetitions: int
    in_a_batch: int
    in_a_shard: int
    samples: int
    """Of a dataset."""


class Subject:
    """A compiled network, and pixels for it."""

    def __init__(self, network: Network) -> None:
        self.graph = _graph(network.name)
        self.circuit: Inference = compile_inference(self.graph, weight_privacy=network.weights)
        entry = self.graph.input
        self.q = np.random.default_rng(1).integers(0, entry.type.top + 1, size=entry.shape)
        self.challenges = random_elements(self.circuit.constraint_system.challenges)

    def complete(self, z: Any, threads: int) -> Any:
        system = self.circuit.constraint_system
        z[1 + system.public : system.instance] = self.challenges
        self.circuit.program.post_challenge(z, self.challenges, threads)
        return z

    def on_the_processor(self, threads: int) -> FrArray:
        found: FrArray = self.complete(self.circuit.witness(self.q, threads=threads), threads)
        return found

    def on_the_card(self, bench: Bench) -> Any:
        """To be erased."""
        z = self.complete(self.circuit.witness(self.q, on=bench.backend), 1)
        if not isinstance(z, DeviceWitness):
            raise MemoryError("the card has no room for the steps of this witness")
        bench.device.synchronize()
        return z

    def made(self, bench: Bench) -> None:
        with Secrets() as secret:
            secret(self.on_the_card(bench))

    def loaded_anew(self) -> Subject:
        """Whose steps are not on the card yet."""
        twin = copy(self)
        twin.circuit = replace(self.circuit, program=replace(self.circuit.program))
        return twin


def witnesses(bench: Bench, network: Network) -> Iterator[Row]:
    subject, free = Subject(network), bench.device.free_bytes()
    load_s = seconds(lambda: subject.made(bench))
    held_mb = (free - bench.device.free_bytes()) / 2**20
    with Secrets() as secret:
        found = subject.on_the_card(bench)
        secret(found)
        if not np.array_equal(found[:], subject.on_the_processor(usable_cores())):
            raise AssertionError(f"{network}: the card has another witness")
    timings = in_turn(
        {
            "": lambda: seconds(lambda: subject.made(bench)),
            PROCESSOR: lambda: seconds(partial(subject.on_the_processor, usable_cores())),
        },
        repetitions=bench.repetitions,
    )
    alone = subject.loaded_anew()
    kernels = profile(lambda: alone.made(bench))
    asked = subject.circuit.program.resident(bench.device.index).asked
    more = {"asked": asked, "load_s": load_s, "memory_mb": held_mb, "kernels": kernels}
    system = subject.circuit.constraint_system
    yield from rows_of(Row(str(network), system.variables, 0, more=more), timings)


def batch(bench: Bench, network: Network) -> Iterator[Row]:
    """Seconds of all, one after the other."""
    subject, count = Subject(network), bench.in_a_batch

    def repeated(make: Callable[[], object]) -> float:
        start = time.perf_counter()
        for _ in range(count):
            make()
        return time.perf_counter() - start

    timings = in_turn(
        {
            "": lambda: repeated(lambda: subject.made(bench)),
            TWO_THREADS: lambda: repeated(partial(subject.on_the_processor, 2)),
        },
        repetitions=min(3, bench.repetitions),
    )
    yield from rows_of(Row(str(network), count, 0), timings)


def accuracy(bench: Bench, network: Network) -> Iterator[Row]:
    """Of a shard of samples: its counts, and its proofs by two threads, seconds for each."""
    graph, count, threads = _graph(network.name), bench.in_a_shard, usable_cores()
    circuit, entry = compile_accuracy(graph, batch=count, weight_privacy=network.weights), graph.input
    samples = np.random.default_rng(1).integers(0, entry.type.top + 1, size=(count, *entry.shape))
    given = samples, np.zeros(count, np.int64)
    on_the_card = partial(circuit.counts, *given, threads=threads, on=bench.backend)
    executed = partial(circuit.counts, *given, threads=threads)
    if not np.array_equal(on_the_card(), executed()):
        raise AssertionError(f"{network}: the card counts otherwise")
    counted = {"": lambda: seconds(on_the_card), PROCESSOR: lambda: seconds(executed)}
    constraints = circuit.constraint_system.constraints
    row = Row(str(network), constraints, 0, more={"samples": count})
    yield from rows_of(row, in_turn(counted, repetitions=bench.repetitions))
    values = {"dataset": circuit.dataset_values(*given), "correct": executed()}
    for system in SYSTEMS:
        with TemporaryDirectory() as folder:
            proven = _Proven(circuit, values, circuit.public_inputs(given[1]), system, Path(folder))
            witness = partial(circuit.witness, *given)
            timings = in_turn(
                {"": partial(proven.two_at_once, witness), ALONE: partial(proven.prove, witness)},
                repetitions=bench.repetitions,
            )
        yield from rows_of(replace(row, more={"samples": count, "system": system}), timings)


def dataset(bench: Bench, network: Network) -> Iterator[Row]:
    """Seconds of all shards."""
    graph, count, threads = _graph(network.name), bench.in_a_shard, usable_cores()
    circuit, entry = compile_accuracy(graph, batch=count, weight_privacy=network.weights), graph.input
    shards = -(-bench.samples // count)
    shape = shards * count, *entry.shape
    samples = np.random.default_rng(1).integers(0, entry.type.top + 1, size=shape, dtype=np.uint8)
    labels = np.zeros(count, np.int64)

    def values(number: int) -> dict[str, IntArray]:
        given = samples[number * count :][:count].astype(np.int64), labels
        counted = circuit.counts(*given, threads=threads, on=bench.backend)
        return {"dataset": circuit.dataset_values(*given), "correct": counted}

    for system in SYSTEMS:
        with TemporaryDirectory() as folder:
            public = circuit.public_inputs(labels)
            proven = _Proven(circuit, values(0), public, system, Path(folder))

            def prove(number: int, proven: _Proven = proven) -> None:
                given = samples[number * count :][:count].astype(np.int64), labels
                proven.made(partial(circuit.witness, *given), proven.commit(values(number)))

            prove(0)
            kernels = shards * sum(profile(partial(prove, 0)).values())
            start = time.perf_counter()
            with ThreadPoolExecutor(2) as pool:
                list(pool.map(prove, range(shards)))
            taken = time.perf_counter() - start
        taken_by = {"kernels_s": kernels} if system == "groth16" else {}
        more = {"system": system, "shards": shards, "samples": len(samples), **taken_by}
        yield Row(str(network), circuit.constraint_system.constraints, taken, more=more)


def activations(bench: Bench, network: Network) -> Iterator[Row]:
    """Seconds of all."""
    graph, count = _graph(network.name), SAMPLES.get(network.name, FEWER)
    rng, name = np.random.default_rng(1), graph.input.name
    q = rng.integers(0, graph.input.type.top + 1, size=(count, *graph.input.shape), dtype=np.uint8)
    typed, parts = TypedGraph(graph, "private", "public"), np.array_split(q, -(-count // IN_A_PART))

    def executed() -> IntArray:
        with ThreadPoolExecutor(2) as pool:
            return np.concatenate([*pool.map(graph.run, parts)])

    contestants = {TWO_THREADS: lambda: seconds(executed)}
    if session := _floats(network.name, 2):
        entry = session.get_inputs()[0].name
        x = [graph.input.type.real(part.astype(np.int64)).astype(np.float32) for part in parts]
        contestants[ONNXRUNTIME] = lambda: seconds(lambda: [session.run(None, {entry: part}) for part in x])
    if halves := _halves(network.name, graph, bench.device.index):
        contestants[PYTORCH] = lambda: seconds(lambda: halves(q))
        halves(q)
    with ResidentNetwork(bench.device, typed, [graph.output], count) as resident:
        made, load_s = timed(lambda: resident.run({name: q}))
        if not np.array_equal(made[graph.output].reshape(count, -1), executed()):
            raise AssertionError(f"{network}: the card computes otherwise")
        launched_s = bench.device.milliseconds(resident.launch) / 1000
        timings = in_turn(
            {"": lambda: seconds(lambda: resident.run({name: q})), **contestants},
            repetitions=min(3, bench.repetitions),
        )
        at_once = resident.samples
    with ResidentNetwork(bench.device, typed, [graph.output], count) as alone:
        kernels = profile(lambda: alone.launch())
    more = {"launched_s": launched_s, "load_s": load_s, "at_once": at_once, "kernels": kernels}
    yield from rows_of(Row(str(network), count, 0, more=more), timings)


def _floats(name: str, threads: int) -> Any:
    """The network of floats in onnxruntime, where that is installed, and there are any floats."""
    if lowbit.is_name(name) or find_spec("onnxruntime") is None:
        return None
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(to_onnx(zoo.network(name)), options, ["CPUExecutionProvider"])


def _halves(name: str, graph: QuantGraph, index: int) -> Any:
    """The same in PyTorch, on the card."""
    if lowbit.is_name(name) or find_spec("torch") is None:
        return None
    from bench.peers import halves

    return halves.network(zoo.network(name), graph.input.type, f"cuda:{index}")


def proofs(bench: Bench, network: Network) -> Iterator[Row]:
    """From an input to the bytes of a proof, each of which is verified."""
    subject = Subject(network)
    circuit, values = subject.circuit, {"model": parameters(subject.graph)}
    for system in SYSTEMS:
        with TemporaryDirectory() as folder:
            proven = _Proven(circuit, values, circuit.public_inputs(subject.q), system, Path(folder))

            def prove(made_on: Backend, proven: _Proven = proven) -> float:
                return proven.prove(
                    lambda threads, on: circuit.witness(subject.q, threads=threads, on=made_on)
                )

            timings = in_turn(
                {"": partial(prove, bench.backend), PROCESSOR: partial(prove, CPU)},
                repetitions=bench.repetitions,
            )
        constraints = circuit.constraint_system.constraints
        yield from rows_of(Row(str(network), constraints, 0, more={"system": system}), timings)


class _Proven:
    """A circuit with its keys, and commitments to the ``values`` that it links to, by their names."""

    def __init__(
        self, circuit: Circuit, values: Mapping[str, IntArray], public: list[int], system: str, folder: Path
    ) -> None:
        self._circuit, self._public, self._system = circuit, public, registry.find(system)
        self._threads, self._basis = usable_cores(), None
        if circuit.commitments:
            length = max(values[name].size for name in circuit.commitments)
            self._system.commitments.make_key(folder / "basis", length, self._threads, None)
            self._basis = self._system.commitments.load_key(folder / "basis")
        self._openings = self.commit(values)
        self._key = folder / "key"
        proving.setup(self._system, circuit, self._basis, self._key, self._threads, silent)
        self._verifying = self._system.load_key(self._key).verifying_key

    def commit(self, values: Mapping[str, IntArray]) -> dict[str, Opening]:
        """To those that the circuit links to."""
        if self._basis is None:
            return {}
        linked = {name: fr.from_int64(values[name].ravel()) for name in self._circuit.commitments}
        return {name: self._basis.commit(each, threads=self._threads) for name, each in linked.items()}

    def prove(self, witness: Callable[..., Witness]) -> float:
        """Seconds."""
        proof, taken = timed(lambda: self.made(witness, self._openings))
        self._require_valid(proof)
        return taken

    def two_at_once(self, witness: Callable[..., Witness]) -> float:
        """Seconds for each of several, by two threads."""
        with ThreadPoolExecutor(2) as pool:
            openings = [self._openings] * IN_TURN
            made, taken = timed(lambda: list(pool.map(self.made, [witness] * IN_TURN, openings)))
        self._require_valid(made[-1])
        return taken / len(made)

    def made(self, witness: Callable[..., Witness], openings: Mapping[str, Opening]) -> bytes:
        asked = self._key, witness, lambda _: openings, self._threads, silent
        return proving.prove(self._system, self._circuit, *asked)

    def _require_valid(self, proof: bytes) -> None:
        commitments = [opening.commitment for opening in self._openings.values()]
        (flaw,) = self._system.verify_groups(self._verifying, [[Claim(self._public, proof, commitments)]])
        if flaw is not None:
            raise AssertionError(flaw)


def _graph(name: str) -> QuantGraph:
    return quantised(name) if lowbit.is_name(name) else quantise(zoo.network(name), zoo.calibration(name))


def main(arguments: Sequence[str] | None = None) -> None:
    topics: dict[str, tuple[str, Callable[[Bench, Network], Iterator[Row]], Sequence[Network]]] = {
        "witnesses": ("Witnesses", witnesses, NETWORKS),
        "batch": ("One after the other", batch, (BATCH,)),
        "accuracy": ("Samples of an accuracy", accuracy, (MEASURED,)),
        "dataset": ("All samples of a dataset", dataset, (MEASURED,)),
        "activations": ("Outputs of samples", activations, EXECUTED),
        "proofs": ("From an input to a proof", proofs, PROVEN),
    }
    parser = card_argument_parser(__doc__)
    parser.add_argument("--topics", nargs="*", choices=topics, default=list(topics))
    parser.add_argument("--only", nargs="*", help="these networks")
    options = parser.parse_args(arguments)
    os.environ[backends.VARIABLE] = f"gpu:{options.device}"
    device = Device(options.device)
    bench = Bench(
        backends.chosen(),
        device,
        1 if options.quick else 7,
        *((2, 2, 4) if options.quick else (IN_A_BATCH, IN_A_SHARD, IN_A_DATASET)),
    )
    report = Report("gpu_witness", f"median of {bench.repetitions}", machine(device))
    for topic in options.topics:
        title, run, networks = topics[topic]
        chosen = QUICK if options.quick else networks
        wanted = [each for each in chosen if not options.only or each.name in options.only]
        report.show(title, (row for network in wanted for row in run(bench, network)))
    report.write(options.json)


if __name__ == "__main__":
    main()
