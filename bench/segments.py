"""Proofs with committed segments: a large convolution, and verification, one by one and batched.

    python -m bench.segments [--json FILE] [--quick]

The convolution is that of ``bench.counts``, image, weights and outputs committed; a proof is timed from the
three tensors: witness and proof. Verification takes one core. Every proof there has 100 public inputs, one
challenge, one segment and one link; "bytes" are inputs below 256, as pixels are, "random" ones fill the
field. "plain" is Groth16 with the same inputs and no segment. The time of a batch is given for each proof in
it. Verification runs on the native kernels; its peer is the same on py_arkworks_bls12381, in turn.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from bench import counts
from bench.measure import Timing, alone, arguments, measure
from bench.report import Report, Row
from zenserve.circuits.r1cs.products import Convolution
from zenserve.kernels import FrArray, fr
from zenserve.prover import groth16
from zenserve.prover.blocks import ProductBlock
from zenserve.prover.constraint_system import ConstraintSystem, Segment
from zenserve.prover.groth16 import Claim, CommitmentKey, VerifyingKey
from zenserve.verifier.groth16 import verification

INPUTS = 100
CHALLENGE, ROOT, WEIGHTED = INPUTS + 1, INPUTS + 2, INPUTS + 4
BATCH = 100
THREADS = (1, 2)
PEER = "py_arkworks_bls12381"

Verify = Callable[[VerifyingKey, Sequence[int], bytes | groth16.Proof, Sequence[bytes]], groth16.Verdict]
VerifyBatch = Callable[[VerifyingKey, Sequence[Claim]], list[groth16.Verdict]]


def linked_statement() -> ConstraintSystem:
    """root² = input 0 and c · root = weighted. Variables: 1 | inputs | c | root, its blinding | weighted."""
    product = ProductBlock(
        "products", np.array([ROOT, CHALLENGE]), np.array([ROOT, ROOT]), np.array([1, WEIGHTED])
    )
    return ConstraintSystem(INPUTS, 1, (product,), 1, (Segment("root", 1, linked=True),))


def complete(z: FrArray, challenges: FrArray) -> None:
    z[WEIGHTED] = fr.mul(z[ROOT], challenges[0])


def linked_claims(bits: int, proofs: int) -> tuple[VerifyingKey, list[Claim]]:
    """A key, and ``proofs`` proofs under it with inputs of so many bits; all of one witness."""
    system = linked_statement()
    basis = CommitmentKey.generate(2)
    key = groth16.setup(system, basis=basis)
    public = [49, *(secrets.randbits(bits) for _ in range(INPUTS - 1))]
    witness = fr.from_ints([1, *public, 0, 7, 0, 0])
    opening = basis.commit(witness[ROOT : ROOT + 1])
    made = (
        groth16.prove(key, system, witness, openings=[opening], post_challenge=complete).to_bytes()
        for _ in range(proofs)
    )
    return key.verifying_key, [Claim(public, proof, [opening.commitment]) for proof in made]


def plain_claim(bits: int) -> tuple[VerifyingKey, Claim]:
    root = 1 + INPUTS
    system = ConstraintSystem(
        INPUTS, 1, (ProductBlock("square", np.array([root]), np.array([root]), np.array([1])),)
    )
    key = groth16.setup(system)
    public = [49, *(secrets.randbits(bits) for _ in range(INPUTS - 1))]
    proof = groth16.prove(key, system, fr.from_ints([1, *public, 7]))
    return key.verifying_key, Claim(public, proof.to_bytes())


def check(verify: Verify, key: VerifyingKey, claim: Claim) -> None:
    assert verify(key, claim.public_inputs, claim.proof, claim.commitments)


def check_batch(verify: VerifyBatch, key: VerifyingKey, claims: list[Claim]) -> None:
    assert all(verify(key, claims))


def time_check(key: VerifyingKey, claim: Claim, repetitions: int) -> Timing:
    ours, peer = (partial(check, verify, key, claim) for verify in (groth16.verify, verification.verify))
    return measure(ours, peer, repetitions=repetitions)


def convolution_rows(shape: Convolution, repetitions: int) -> list[Row]:
    """Setup and proof of one convolution whose image, weights and outputs are committed."""
    rows = []
    for threads in THREADS:
        (constraints, setup, proof), peak = alone(_prove_convolution, shape, threads, repetitions)
        for name, timing in (("convolution_setup", setup), ("convolution_prove", proof)):
            rows.append(Row.of(name, constraints, timing, threads=threads, peak_mb=peak))
    return rows


def _prove_convolution(shape: Convolution, threads: int, repetitions: int) -> tuple[int, Timing, Timing]:
    program = counts.convolution(shape)
    system = program.constraint_system
    draw = np.random.default_rng(1)
    x = draw.integers(0, 256, (shape.batch, shape.inputs, *shape.image))
    w = draw.integers(-128, 128, (shape.outputs, shape.inputs, *shape.kernel))
    tensors = {"tensor0": x, "tensor1": w, "tensor2": shape.apply(x, w)}

    def prove() -> groth16.Proof:
        witness = program.witness(tensors)
        return groth16.prove(
            key,
            system,
            witness,
            post_challenge=partial(program.post_challenge, threads=threads),
            threads=threads,
        )

    setup = measure(lambda: groth16.setup(system, threads=threads), repetitions=min(repetitions, 2))
    key = groth16.setup(system, threads=threads)
    proof = measure(prove, repetitions=repetitions)
    assert groth16.verify(key.verifying_key, [], prove())
    return system.constraints, setup, proof


def rows(scalars: str, bits: int, batch: int, repetitions: int) -> list[Row]:
    def row(name: str, timing: Timing, size: int = 1) -> Row:
        each = replace(timing, median=timing.median / size)
        return Row.of(name, size, each, threads=1, peer=PEER, more={"scalars": scalars})

    plain = time_check(*plain_claim(bits), 4 * repetitions)
    key, claims = linked_claims(bits, batch)
    single = time_check(key, claims[0], 4 * repetitions)
    together = measure(
        partial(check_batch, groth16.verify_batch, key, claims),
        partial(check_batch, verification.verify_batch, key, claims),
        repetitions=repetitions,
    )
    return [
        row("verify_plain", plain),
        row("verify_linked", single),
        row("verify_linked_batch", together, len(claims)),
    ]


def main() -> None:
    options = arguments(__doc__)
    repetitions, batch = (1, 3) if options.quick else (5, BATCH)
    report = Report("segments", f"median of {repetitions} (singles {4 * repetitions})")
    shape = Convolution(1, 2, 2, (6, 6), (3, 3)) if options.quick else counts.WIDE_CONVOLUTION
    title = f"Convolution {shape.inputs} to {shape.outputs} channels, {shape.kernel} on {shape.image}"
    report.show(f"{title}, everything private; size = constraints", convolution_rows(shape, repetitions))
    for scalars, bits in (("bytes", 8), ("random", 254)):
        title = f"Verification, {INPUTS} public inputs; size = proofs, time for each"
        report.show(title, rows(scalars, bits, batch, repetitions))
    report.write(options.json)


if __name__ == "__main__":
    main()
