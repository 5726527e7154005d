"""The ceremony of ``test_ceremonies`` for the papers' networks: three contributors and a beacon over HTTP.

It is for registration, inference and accuracy, whose proofs the client and the slow reference accept.

    python -m tests.service.hold_ceremony [shallownet] [lenet-small]

shallownet takes minutes on two cores of their own, most of them for the starts. The powers of tau are made
here, and pass for those of two people: such are snarkjs' to make (tests/prover/iden3).
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

import numpy as np

from tests.service.ceremonies import accepted, contribute, finish, open_for, powers_of_two_people
from tests.service.conftest import open_runtime
from tests.service.support import npy, serving, work_on, work_on_all
from zenserve.circuits import compile_accuracy, compile_inference, compile_registration, quantise, zoo
from zenserve.circuits.onnx.write import to_onnx
from zenserve.client import Client
from zenserve.client.resources import CircuitFields
from zenserve.prover.groth16 import powers_of_tau
from zenserve.prover.groth16.ceremony.initial import required_power
from zenserve.prover.groth16.iden3.ptau import read_ptau, write_ptau
from zenserve.service import powers as imported
from zenserve.verifier.documents import KeyFile, ProofDocument

T = TypeVar("T")
SHARDS: Final = {"shallownet": 10, "lenet-small": 2}
THREADS: Final = 2


def timed(what: str, work: Callable[[], T]) -> T:
    start = time.perf_counter()
    result = work()
    print(f"{what:<40} {time.perf_counter() - start:7.1f} s", flush=True)
    return result


def hold(net: str, folder: Path) -> None:
    shard, samples, graph = SHARDS[net], zoo.calibration(net), zoo.network(net)
    network = quantise(graph, samples)
    power = max(
        required_power(circuit.constraint_system)
        for circuit in (
            compile_registration(network),
            compile_inference(network, weight_privacy="committed"),
            compile_accuracy(network, batch=shard, weight_privacy="committed"),
        )
    )
    file = folder / "p.ptau"
    powers = timed(f"{net}: 2^{power} powers", lambda: powers_of_tau.generate(power, threads=THREADS))
    write_ptau(file, powers)
    runtime = open_runtime(folder / "data", max_body_bytes=1 << 30, threads=THREADS)
    imported.import_powers(runtime, file, read_ptau(file, known=True))
    images = np.resize(samples, (shard, *samples.shape[1:]))
    with serving(runtime) as url, Client(url, timeout=600) as api:
        onnx, calibration = to_onnx(graph), npy(samples)

        def register(parent_id: str | None = None) -> str:
            model = api.create_model(onnx, calibration, weight_privacy="committed", parent_id=parent_id)
            work_on(runtime, model.id)
            return model.id

        model = api.get_model(timed("register", register))
        forms: list[CircuitFields] = [
            {"scheme": "registration"},
            {"scheme": "inference"},
            {"scheme": "accuracy", "shard_size": shard},
        ]
        held = timed("open", lambda: open_for(runtime, api, model, forms))
        for name in ("Ada", "Emmy", "Sofja"):
            timed(f"contribute and verify: {name}", lambda: contribute(runtime, api, held.id, name, folder))  # noqa: B023
        finished = timed("close and finish", lambda: finish(runtime, api, held.id))
        keys = [
            KeyFile.model_validate(api.get_verification_key(circuit["verification_key_id"]))
            for circuit in finished.circuits or []
        ]

        version = timed("register anew", lambda: register(model.id))
        timed(
            "judge it", lambda: accepted(ProofDocument.model_validate(api.get_registration(version)), keys[0])
        )
        proof = api.create_proof(model.id, images[0].tolist())
        timed("prove an inference", lambda: work_on(runtime, proof.id))
        document = ProofDocument.model_validate(api.get_proof_document(proof.id))
        timed("judge it", lambda: accepted(document, keys[1]))
        labels = npy(np.zeros(shard, np.int64))
        dataset = api.create_dataset(model.id, npy(images), labels, privacy="public", shard_size=shard)
        work_on(runtime, dataset.id)
        accuracy = api.create_proof(model.id, scheme="accuracy", dataset_id=dataset.id)
        timed("prove an accuracy", lambda: work_on_all(runtime, accuracy.id))
        document = ProofDocument.model_validate(api.get_proof_document(accuracy.id))
        timed("judge it", lambda: accepted(document, keys[2]))
    runtime.close()


def main() -> None:
    for net in sys.argv[1:] or list(SHARDS):
        with tempfile.TemporaryDirectory() as folder, powers_of_two_people():
            hold(net, Path(folder))


if __name__ == "__main__":
    main()
