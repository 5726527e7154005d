"""The digits network beside EZKL, the tool a user would pick today, in one run on the same image.

    python -m bench.ezkl [--json FILE] [--quick]

Both keep the input private, publish the weights through the key, and use all cores. "default" is EZKL as its
guide has it, settings calibrated for resources; "tuned" the fastest settings that we found for this network
by hand, at a quarter of its precision. A proof is timed from the image: witness and proof. The peak memory is
of a process that holds the keys and proves.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import chdir, contextmanager
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import ezkl
import numpy as np
import onnx
from numpy.typing import NDArray

from bench import digits
from bench.measure import Timing, alone, arguments, measure, seconds
from bench.report import Report, Row
from zenserve.base.processors import usable_cores
from zenserve.prover import groth16

VISIBILITY: dict[str, object] = {
    "input_visibility": "private",
    "param_visibility": "fixed",
    "output_visibility": "public",
}
DEFAULT: dict[str, int] = {}
COMMITTED = {"param_visibility": "polycommit"}
TUNED = {"input_scale": 4, "param_scale": 4, "logrows": 11, "decomp_base": 128, "decomp_legs": 3}


def call(function: Any, *arguments: object, **options: object) -> Any:
    """EZKL functions are plain or asynchronous, depending on the function and the release."""

    async def run() -> Any:
        result = function(*arguments, **options)
        return await result if inspect.isawaitable(result) else result

    return asyncio.run(run())


@contextmanager
def working_directory() -> Iterator[None]:
    with tempfile.TemporaryDirectory() as directory, chdir(directory):
        yield


def prepare(options: dict[str, int]) -> None:
    """The files of EZKL's guide for the digits network, up to the proving key, in the working directory."""
    image = np.load(digits.DIGITS / "held_out.npz")["images"][0]
    compile_network(onnx.load(digits.DIGITS / "digits.onnx"), [image], options)
    setup()


def compile_network(model: onnx.ModelProto, inputs: Iterable[NDArray[Any]], options: dict[str, Any]) -> None:
    """The same up to what the keys are made from, of any network, for a batch of one."""
    for value in (*model.graph.input, *model.graph.output):
        for dimension in value.type.tensor_type.shape.dim:
            dimension.dim_value = dimension.dim_value or 1
    onnx.save(model, "network.onnx")
    Path("input.json").write_text(json.dumps({"input_data": [each.ravel().tolist() for each in inputs]}))
    run_args = ezkl.PyRunArgs()
    for name, value in (VISIBILITY | options).items():
        setattr(run_args, name, value)
    call(ezkl.gen_settings, "network.onnx", "settings.json", py_run_args=run_args)
    if "logrows" not in options:
        call(ezkl.calibrate_settings, "input.json", "network.onnx", "settings.json", "resources")
    call(ezkl.compile_circuit, "network.onnx", "network.ezkl", "settings.json")
    call(ezkl.gen_srs, "srs", json.loads(Path("settings.json").read_text())["run_args"]["logrows"])


def make_keys(folder: Path, model: bytes, image: NDArray[Any]) -> float:
    """EZKL's files in ``folder``, weights committed, up to the keys: the seconds that these take."""
    with chdir(folder):
        compile_network(onnx.load_from_string(model), [image], COMMITTED)
        return seconds(setup)


def setup() -> None:
    call(ezkl.setup, "network.ezkl", "vk", "pk", "srs")


def prove_and_verify(folder: Path, repetitions: int) -> tuple[Timing, Timing]:
    """The times of both, with the files of ``make_keys``."""
    with chdir(folder):
        return measure(prove_committed, repetitions=repetitions), measure(verify, repetitions=repetitions)


def prove_committed() -> None:
    """As ``prove``, the commitment to the weights included, for which EZKL wants key and powers of tau."""
    prove("vk", "srs")


def prove(*for_commitments: str) -> None:
    call(ezkl.gen_witness, "input.json", "network.ezkl", "witness.json", *for_commitments)
    call(ezkl.prove, "witness.json", "network.ezkl", "pk", "proof.json", "srs")


def verify() -> None:
    assert call(ezkl.verify, "proof.json", "settings.json", "vk", "srs")


def prove_alone(options: dict[str, int]) -> None:
    with working_directory():
        prepare(options)
        prove()
        verify()


def ours_alone() -> None:
    circuit = digits.digits_circuit("public")
    key = groth16.setup(circuit.constraint_system)
    groth16.prove(
        key, circuit.constraint_system, circuit.witness(digits.image(circuit)), threads=usable_cores()
    )


def rows(name: str, options: dict[str, int], repetitions: int) -> list[Row]:
    threads = usable_cores()
    circuit = digits.digits_circuit("public")
    key = groth16.setup(circuit.constraint_system, threads=threads)
    q = digits.image(circuit)

    def ours() -> groth16.Proof:
        return groth16.prove(key, circuit.constraint_system, circuit.witness(q), threads=threads)

    with working_directory():
        prepare(options)
        prove()
        timing = measure(ours, prove, repetitions=repetitions)
        peers = measure(prove, repetitions=repetitions)
    row = partial(Row.of, size=circuit.constraint_system.constraints, threads=threads)
    tool = f"ezkl {version('ezkl')} {name}"
    return [
        row("digits_prove", timing=timing, peer=tool, peak_mb=alone(ours_alone)[1]),
        row(f"ezkl_{name}_prove", timing=peers, peak_mb=alone(prove_alone, options)[1]),
    ]


def main() -> None:
    options = arguments(__doc__)
    report = Report("ezkl")
    for name, settings in (("tuned", TUNED), ("default", DEFAULT)):
        report.show("Digits 64-32-10, one proof", rows(name, settings, 1 if options.quick else 5))
    report.write(options.json)


if __name__ == "__main__":
    main()
