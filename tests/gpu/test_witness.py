"""Witnesses that a GPU makes are the processor's, and so are the proofs that are made of them there."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.lowbit import image, quantised
from tests.circuits.operators.test_arithmetic import model
from tests.circuits.operators.test_matmul import of_two
from tests.circuits.quantised import networks
from tests.circuits.support import PRIVACIES
from tests.circuits.test_accuracy_inputs import network as two_inputs
from tests.circuits.test_lowering import compiled
from tests.circuits.test_robustness import certified
from tests.gpu.emulator.place import EMULATED
from zenserve.base.progress import silent
from zenserve.circuits import (
    compile_accuracy,
    compile_inference,
    compile_recognition,
    compile_registration,
    load_onnx,
    parameters,
    quantise,
)
from zenserve.circuits.lowering import Level
from zenserve.circuits.r1cs import resident
from zenserve.circuits.r1cs.steps import Choose, Constant, Step
from zenserve.circuits.schemes import proving
from zenserve.circuits.schemes.accuracy import Parts
from zenserve.circuits.schemes.circuit import Circuit
from zenserve.errors import ResourceError
from zenserve.gpu.device import missing
from zenserve.kernels import FrArray, fr
from zenserve.prover import registry
from zenserve.prover.backends import gpu
from zenserve.prover.backends.cpu import CPU
from zenserve.prover.witness import DeviceWitness
from zenserve.verifier.schemes import Privacy

ON = gpu.backend(0)


def completed(circuit: Circuit, z: Any) -> FrArray:
    """With challenges that nobody drew, on the host."""
    system = circuit.constraint_system
    z[1 + system.public : system.instance] = drawn = fr.from_ints(range(12345, 12345 + system.challenges))
    circuit.program.post_challenge(z, drawn)
    complete: FrArray = z[:]
    return complete


def require_same(circuit: Any, *asked: Any) -> None:
    made = circuit.witness(*asked, statement=7, on=ON)
    assert isinstance(made, DeviceWitness)
    own = circuit.witness(*asked, statement=7)
    np.testing.assert_array_equal(made[:], own)
    np.testing.assert_array_equal(completed(circuit, made), completed(circuit, own))


@pytest.mark.parametrize("level", [0, 3, 4, 5])
@pytest.mark.parametrize("privacy", PRIVACIES[:2])
def test_witnesses_are_those_of_the_processor(privacy: tuple[Privacy, Privacy], level: Level) -> None:
    """Those that follow the first one are made in the same place."""
    for seed, kinds in enumerate([("conv", "max", "tabulated"), ("sum", "add", "bent")]):
        graph = networks.of_kinds(seed, *kinds, shape=(2, 3, 3), most_bits=3)
        circuit = compiled(graph, privacy, level)
        for q in networks.inputs(graph, 2):
            require_same(circuit, q)


def test_witnesses_of_packed_columns_too() -> None:
    """Of computed matrices, which share field elements."""
    calibration = np.random.default_rng(4).normal(size=(32, 5))
    graph = quantise(load_onnx(model(of_two(np.random.default_rng(3), (1, 64), (64, 8)))), calibration)
    circuit = compile_inference(graph)
    assert "matmul1/product/slots" in circuit.layout
    require_same(circuit, networks.inputs(graph, 1)[0])


@pytest.mark.parametrize("weights", ["public", "committed"])
def test_witnesses_of_few_bits_too(weights: Privacy) -> None:
    """Of the latter with long sums at challenges."""
    graph = quantised("lenet-mnist-w1a2")
    circuit = compile_inference(graph, weight_privacy=weights)
    require_same(circuit, image(graph))
    assert circuit.program.resident(0).asked == 0


def test_witnesses_of_the_other_schemes_too() -> None:
    """Accuracy's with kernels that slide over several samples, and with samples of two inputs."""
    graph = networks.of_kinds(5, "conv", "sum", shape=(1, 3, 3), most_bits=3)
    samples = networks.inputs(graph, 3)
    labels = np.array([0, 1, 0])
    for weights in ("public", "committed"):
        circuit = compile_accuracy(graph, batch=3, weight_privacy=weights)
        require_same(circuit, samples, labels)
        np.testing.assert_array_equal(circuit.counts(samples, labels, on=ON), circuit.counts(samples, labels))
        batches: list[Parts] = [(samples, labels), (samples[::-1], 1 - labels)]
        made, own = ([*circuit.counts_of(batches, on=on)] for on in (ON, CPU))
        np.testing.assert_array_equal(made, own)
        assert circuit.program.resident(0).asked == 0
    both = two_inputs()
    circuit = compile_accuracy(both, batch=3, output="scores")
    given = {name: np.array([[0, 7], [3, 1], [2, 2]]) for name in ("a", "b")}
    require_same(circuit, given, labels)
    batches = [(given, labels), ({name: each[::-1] for name, each in given.items()}, 1 - labels)]
    made, own = ([*circuit.counts_of(batches, on=on)] for on in (ON, CPU))
    np.testing.assert_array_equal(made, own)
    require_same(compile_registration(graph))
    embedding = networks.embedding(1)
    (q,) = networks.inputs(embedding, 1)
    recognition = compile_recognition(embedding)
    require_same(recognition, q, np.array(recognition.qgraph.run(q[np.newaxis])[0]).ravel(), 5)


@pytest.mark.large
@pytest.mark.parametrize(
    ("name", "weights"),
    [("resnet18-cifar-w1a2", "public"), ("resnet18-cifar-w1a2", "committed"), ("vgg-cifar-w1a2", "public")],
)
def test_witnesses_of_large_networks_too(name: str, weights: Privacy) -> None:
    graph = quantised(name)
    require_same(compile_inference(graph, weight_privacy=weights), image(graph))


def every_kind(base: type[Step] = Step) -> list[type[Step]]:
    return [kind for below in base.__subclasses__() for kind in (below, *every_kind(below))]


def test_every_kind_of_step_is_made_on_the_card() -> None:
    """Constants come with the input."""
    made = set(resident._made.registry)
    assert {*every_kind(), Step} == {*made - {object}, Constant, Step}


def test_what_certificates_choose_the_processor_is_asked() -> None:
    """By rules in Python. No other circuit has any."""
    circuit, q, radius = certified("dense", "public")
    require_same(circuit, q, radius)
    assert circuit.program.resident(0).asked == sum(
        isinstance(step, Choose) for step in circuit.program.steps.integer
    )
    assert circuit.program.resident(0).asked > 0


def test_where_there_is_no_room_the_processor_makes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise ResourceError("resource.gpu_memory", "the GPU's memory is full")

    graph = networks.of_kinds(3, "conv", shape=(1, 3, 3), most_bits=3)
    circuit, (q,) = compile_inference(graph), networks.inputs(graph, 1)
    own = circuit.witness(q)
    monkeypatch.setattr(ON.device, "empty", full)
    made = circuit.witness(q, on=ON)
    assert isinstance(made, np.ndarray)
    np.testing.assert_array_equal(made, own)


class Party:
    """A circuit of a small network, and what proofs of an input take."""

    def __init__(self, system: str, weights: Privacy, folder: Path) -> None:
        graph = networks.of_kinds(2, "conv", "max", shape=(2, 3, 3), most_bits=3)
        self.system, (self.q,) = registry.find(system), networks.inputs(graph, 1)
        self.circuit = compile_inference(graph, weight_privacy=weights)
        self.openings, basis = dict[str, Any](), None
        if weights == "committed":
            own = fr.from_int64(parameters(graph))
            self.system.commitments.make_key(folder / "basis", len(own), 1, None)
            basis = self.system.commitments.load_key(folder / "basis")
            self.openings = {"model": basis.commit(own)}
        self._key = folder / "key"
        self.key = proving.setup(self.system, self.circuit, basis, self._key, 1, silent)

    def prove(self) -> bytes:
        witness = partial(self.circuit.witness, self.q, statement=5)
        return proving.prove(
            self.system, self.circuit, self._key, witness, lambda _: self.openings, 1, silent
        )


PROVEN = [
    pytest.param(system, weights, marks=pytest.mark.large if weights == "public" else ())
    for system in ("groth16", "spartan")
    for weights in ("public", "committed")
]


@pytest.mark.parametrize(("system", "weights"), PROVEN)
def test_from_an_input_to_the_same_proof(
    system: str,
    weights: Privacy,
    use: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """The witness stays on the device, and is erased there; so is what its steps read and write on the way,
    the weights included."""
    use("cpu")
    party, proofs = Party(system, weights, tmp_path), list[bytes]()
    second = [] if missing(1) else ["gpu:1"]
    for name in ("cpu", *second, "gpu"):
        use(name)
        proofs.append(party.prove())
    assert proofs == proofs[:1] * len(proofs)
    if not EMULATED:
        return  # what follows looks into the emulated device's memory
    device, complete = ON.device, resident.ResidentSteps.post_challenge
    made, down, arrays = list[FrArray](), list[Any](), list[Any]()

    def remembered(call: Callable[..., Any], into: list[Any]) -> Callable[..., Any]:
        def remember(*arguments: Any) -> Any:
            into.append(call(*arguments))
            return into[-1]

        return remember

    def completed(steps: resident.ResidentSteps, z: Any) -> None:
        complete(steps, z)
        made.append(z.view(np.ndarray).copy())

    monkeypatch.setattr(resident.ResidentSteps, "post_challenge", completed)
    for name in ("empty", "zeros", "upload", "bring"):
        monkeypatch.setattr(device, name, remembered(getattr(device, name), arrays))
    monkeypatch.setattr(device, "download", remembered(device.download, down))
    party.prove()
    (z,) = made
    private = z[party.circuit.constraint_system.first_private :]
    told = private[fr.to_canonical(private)[:, 1:3].all(axis=1)]
    telling = {row.tobytes() for row in (*told, *fr.to_canonical(told))}
    assert len(telling) > 30
    assert sum(array.dtype == np.int64 for array in arrays) >= 2
    for array in [*down, *(array.view(np.ndarray) for array in arrays)]:
        assert array.dtype != np.int64 or not array.any()
        rows = array.reshape(-1).view(np.uint8)
        if array.nbytes % 32 == 0:
            assert not telling & {row.tobytes() for row in rows.reshape(-1, 32)}
