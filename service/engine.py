"""Every call that the service makes into ``circuits`` and ``prover``, and nothing else.

Ceremonies run in the command line alone (``service.ceremony_cli``) and call ``prover.ceremony`` themselves.

Operations on untrusted files take and return bytes: they run in ``service.sandbox``.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import circuits
import prover
from circuits import Inference
from circuits.typed import Privacy
from prover import Progress, Proof, ProvingKey, Verdict, VerifyingKey, iden3
from prover.cost import Size
from zenerrors import ModelError, TensorError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Result:
    """What a proof job makes."""

    proof: bytes
    public_inputs: list[int]
    label: int


def quantise(onnx: bytes, calibration: bytes, bits: bytes) -> bytes:
    """The quantised network, in its own byte format. Raises ``ModelError``, ``TensorError``."""
    graph = circuits.load_onnx(onnx)
    return circuits.quantise(graph, read_calibration(calibration), bits=int(bits)).to_bytes()


UNTRUSTED: dict[str, Callable[..., bytes]] = {"quantise": quantise}


def read_calibration(data: bytes) -> Floats:
    """Samples as float64[n, *input_shape], from ``.npy`` bytes (never a pickle) or a JSON array."""
    try:
        if data.startswith(b"\x93NUMPY"):
            return numbers(np.load(io.BytesIO(data), allow_pickle=False), "calibration")
        return numbers(json.loads(data), "calibration")
    except (ValueError, RecursionError, EOFError) as error:
        raise TensorError(
            "input.unreadable",
            "the calibration is neither a .npy file of numbers nor a JSON array of numbers",
            field="calibration",
        ) from error


def numbers(value: Any, field: str) -> Floats:
    """A nested list as float64[...]. Raises ``TensorError`` where it is ragged or holds other things."""
    try:
        array = np.asarray(value)
    except (ValueError, RecursionError):
        array = np.empty(0, dtype=object)
    if array.dtype.kind not in "iuf":
        raise TensorError(
            "input.not_numeric",
            f"{field} must be a rectangular array of numbers: every list of one depth as long as the others,"
            " no null, text or boolean, no integer beyond 64 bits",
            field=field,
        )
    return array.astype(np.float64)


# The proofs of this level are plain Groth16: snarkjs and contracts verify them, too.
_LEVEL: Final = 2
# What a circuit may hold to make its proofs faster (docs/performance.md, "Caching and sharing").
_KEPT_BYTES: Final = 256 << 20


@lru_cache(maxsize=2)
def compile_model(quantised: bytes, input_privacy: Privacy, weight_privacy: Privacy) -> Inference:
    """The circuit of a quantised network. Those used last are at hand: all images of a model share its."""
    graph = circuits.QuantGraph.from_bytes(quantised)
    circuit = circuits.compile_inference(
        graph, input_privacy=input_privacy, weight_privacy=weight_privacy, level=_LEVEL
    )
    circuit.keep_matrices(_KEPT_BYTES)
    return circuit


def require_memory(circuit: Inference, threads: int) -> None:
    """``ModelError`` (``model.memory``) where keys or proofs would take more memory than is free."""
    size = Size.of(circuit.statement)
    # Estimates leave out what Python and the kernels hold besides: up to a third more was seen.
    needed, free = max(size.setup_memory, size.proving_memory(threads)) * 4 // 3, free_memory()
    if needed > free:
        raise ModelError(
            "model.memory",
            f"{circuit.statement.constraints:,} constraints take about {needed / 1e9:.1f} GB of memory, and "
            f"{free / 1e9:.1f} GB are free: `zenserve compile` says what a smaller network, fewer bits or "
            "public weights would take",
        )


def free_memory() -> int:
    """Bytes that new work can have without swapping."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("MemAvailable:"))) << 10


def setup(circuit: Inference, key_file: Path, threads: int, progress: Progress) -> VerifyingKey:
    """Make the keys; the proving key goes to ``key_file``."""
    proving_key = prover.setup(circuit.statement, threads=threads, progress=progress)
    proving_key.save(key_file)
    return proving_key.verifying_key


def check_input(quantised: bytes, values: Floats) -> None:
    """Raises ``TensorError`` for a wrong shape, a NaN (which index) or a value out of range."""
    circuits.QuantGraph.from_bytes(quantised).quantise_input(values)


def prove(circuit: Inference, key_file: Path, values: Floats, threads: int, progress: Progress) -> Result:
    """Run the network on ``values`` and prove it."""
    progress("load key", 0.0)
    proving_key = ProvingKey.load(key_file)
    progress("witness", 0.0)
    quantised = circuit.quantise_input(values)
    output = circuit.execute(quantised)
    witness = circuit.witness(quantised)
    proof = prover.prove(proving_key, circuit.statement, witness, threads=threads, progress=progress)
    public_inputs = circuit.public_inputs(quantised, output)
    progress("self-check", 0.0)
    verdict = prover.verify(proving_key.verifying_key, public_inputs, proof)
    if not verdict.valid:
        raise RuntimeError(f"the fresh proof does not verify: {verdict.reason}")
    return Result(proof.to_bytes(), public_inputs, output.label)


def read_key(document: dict[str, Any]) -> VerifyingKey:
    """A verification key from its JSON form.

    Raises ``InputError`` where it is none, or not the one its digest says. Keys read lately are at hand:
    to decode one takes longer than to verify a proof.
    """
    return _read_key(json.dumps(document, sort_keys=True))


# By all of the text, not by the digest that it claims, so that nobody can pass a key off as another.
@lru_cache(maxsize=64)
def _read_key(text: str) -> VerifyingKey:
    return VerifyingKey.from_json(json.loads(text))


SNARKJS_FILES = ("verification_key.json", "public.json", "proof.json")


def export_snarkjs(key: dict[str, Any], public_inputs: Sequence[str], proof: str) -> dict[str, Any]:
    """``SNARKJS_FILES`` with their contents, for a key's JSON form, decimal inputs and a proof in hex.

    Raises ``InputError`` where they are no key or proof, or have segments, which snarkjs does not know.
    """
    contents = (
        iden3.export_verifying_key(read_key(key)),
        iden3.export_public_inputs([int(value) for value in public_inputs]),
        iden3.export_proof(Proof.from_bytes(bytes.fromhex(proof))),
    )
    return dict(zip(SNARKJS_FILES, contents, strict=True))


def verify(key: VerifyingKey, public_inputs: Sequence[int], proof: bytes) -> Verdict:
    """Judge a proof."""
    return prover.verify(key, public_inputs, proof)
