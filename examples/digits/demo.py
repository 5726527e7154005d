"""The whole way, on one handwritten digit: ``python -m examples.digits.demo [IMAGE]``, IMAGE 0 to 449.

Starts the service with a directory of its own, registers the digits network, proves what it makes of an
image that it has never seen, verifies the proof twice, tampers with it, and stops the service again.
The last line is for machines: ``demo: {"verified": …, "tampered_refused": …, …}``.
"""

from __future__ import annotations

import copy
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from zenserve.client import Client, Model, Proof
from zenserve.client.api import succeeded
from zenserve.prover.groth16 import VerifyingKey, reference
from zenserve.service.cli.terminal import show_progress

HERE = Path(__file__).parent
START_SECONDS = 60.0
STOP_SECONDS = 20.0
SHADES = " .:-=+*#%@"

console = Console(highlight=False)


def main() -> int:
    """Run the demonstration; 0 if everything went as it should."""
    held_out = np.load(HERE / "held_out.npz", allow_pickle=False)
    index = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    image, truth = held_out["images"][index], int(held_out["labels"][index])
    with tempfile.TemporaryDirectory(prefix="zenserve-demo-") as folder, service(Path(folder)) as client:
        model = register(client)
        proof, seconds = prove(client, model, image)
        document = client.get_proof_document(proof.id)
        key = client.get_verification_key(document["statement"]["verification_key"]["id"])["key"]
        console.print(f"The network says {proof.label}; the image shows a {truth}.\n")
        verified = verify_twice(client, document, key)
        refused = tamper(client, document)
    summary = {
        "verified": verified,
        "tampered_refused": refused,
        "prove_seconds": round(seconds, 3),
        "proof_bytes": len(document["proofs"][0]) // 2,
    }
    print(f"demo: {json.dumps(summary)}", flush=True)
    return 0 if verified and refused else 1


@contextmanager
def service(folder: Path) -> Iterator[Client]:
    """A running service and a client of it."""
    heading("Starting the service")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = "from zenserve.service.cli import main; main()"
    with (folder / "service.log").open("w+") as log:
        process = subprocess.Popen(  # noqa: S603  a fixed command
            [sys.executable, "-c", command, "serve", "--port", str(port), "--data-dir", str(folder / "data")],
            env=os.environ | {"ZENSERVE_HOST": "127.0.0.1"},
            stdout=log,
            stderr=log,
        )
        try:
            with Client(f"http://127.0.0.1:{port}") as client:
                deadline = time.monotonic() + START_SECONDS
                while not client.is_ready():
                    if process.poll() is not None or time.monotonic() > deadline:
                        log.seek(0)
                        raise SystemExit(f"the service did not start:\n{log.read()}")
                    time.sleep(0.1)
                console.print(f"http://127.0.0.1:{port} is ready.\n")
                yield client
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def register(client: Client) -> Model:
    """Register the network; its keys are made as a job."""
    heading("Registering the network: 64 inputs, 32 hidden, 10 classes")
    model = client.create_model(
        (HERE / "digits.onnx").read_bytes(),
        (HERE / "calibration.npy").read_bytes(),
        name="digits",
        weight_privacy="public",  # the reference verifier reads plain Groth16 alone
    )
    model = succeeded(show_progress(console, "compiling and making keys", client.follow(model)))
    constraints = (model.description or {})["constraints"]["total"]
    console.print(f"{constraints:,} constraints; keys made in {sum(model.timings.values()):.2f} s")
    console.print("(a development setup: whoever made these keys alone could forge proofs).\n")
    return model


def prove(client: Client, model: Model, image: NDArray[np.uint8]) -> tuple[Proof, float]:
    """Prove the label of ``image`` [8, 8]. The proof, and the seconds that the worker took."""
    heading("Proving what the network makes of an image that stays secret")
    show_image(image)
    proof = client.create_proof(model.id, image.tolist())
    proof = succeeded(show_progress(console, "proving", client.events(proof.id)))
    for stage, seconds in proof.timings.items():
        console.print(f"  {stage:<14}{1000 * seconds:8.1f} ms")
    total = sum(proof.timings.values())
    console.print(f"  [bold]{'together':<14}{1000 * total:8.1f} ms[/]\n")
    return proof, total


def verify_twice(client: Client, document: dict[str, Any], key: dict[str, Any]) -> bool:
    """Through the public endpoint, and with the reference verifier, which shares no code with it."""
    heading("Verifying")
    start = time.perf_counter()
    verdict = client.verify(document)
    say("POST /v1/verify", verdict.valid, verdict.detail, time.perf_counter() - start)
    start = time.perf_counter()
    hash_, values = bytes.fromhex(document["statement_sha256"]), document["statement"]["values"]
    public_inputs = [int.from_bytes(hash_[:31], "big"), values["label"]]
    proof = bytes.fromhex(document["proofs"][0])
    independent = reference.verify(VerifyingKey.from_json(key), public_inputs, proof)
    say("py_ecc reference", independent.valid, independent.detail, time.perf_counter() - start)
    console.print(f"The proof has {len(proof)} bytes. It says: {document['statement']['claim']}")
    for line in document["statement"]["does_not_say"]:
        console.print(f"[dim]It does not say: {line}[/]")
    console.print()
    return verdict.valid and independent.valid


def tamper(client: Client, document: dict[str, Any]) -> bool:
    """Change the document in several ways; whether each change is refused."""
    heading("Tampering")
    statement, proof = document["statement"], document["proofs"][0]
    label = statement["values"]["label"]
    other = (label + 1) % 10
    changed_words = statement["claim"].replace(f"is {label}", f"is {other}")
    changes: dict[str, dict[str, Any]] = {
        f"label {label} changed to {other}": {"statement": statement | {"values": {"label": other}}},
        "the words changed": {"statement": statement | {"claim": changed_words}},
        "the time changed": {"statement": statement | {"made_at": "2000-01-01T00:00:00Z"}},
        "one byte of the proof changed": {
            "proofs": [proof[:-60] + f"{int(proof[-60:-58], 16) ^ 1:02x}" + proof[-58:]]
        },
    }
    refused = True
    for what, change in changes.items():
        verdict = client.verify(copy.deepcopy(document) | change)
        console.print(
            f"  {what}: {'[red]accepted[/]' if verdict.valid else '[green]refused[/]'}, {verdict.detail}"
        )
        refused = refused and not verdict.valid
    console.print()
    return refused


def heading(text: str) -> None:
    console.print(f"[bold]{text}[/]")


def say(who: str, valid: bool, detail: str, seconds: float) -> None:
    verdict = "[green]valid[/]" if valid else "[red]NOT valid[/]"
    console.print(f"  {who:<18}{verdict}  {1000 * seconds:8.1f} ms  {'' if valid else detail}")


def show_image(image: NDArray[np.uint8]) -> None:
    """Eight rows of grey levels 0 to 16, each pixel two characters wide."""
    for row in image:
        console.print("    " + "".join(2 * SHADES[min(int(pixel) * len(SHADES) // 17, 9)] for pixel in row))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("stopped; the service is down and its files are gone")
