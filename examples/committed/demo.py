"""One commitment, several circuits: ``python -m examples.committed.demo``.

An owner commits once to the secret kernels of a convolution. Two circuits, one for each of two strides,
get their keys from a ceremony with two contributors. Both proofs, for an image that stays secret too, are
linked to the one commitment: whoever verifies them knows that the same kernels made both outputs. Another
owner's commitment and a changed output are refused. The last line is for machines.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console

from zenserve.circuits.r1cs.builder import Builder
from zenserve.circuits.r1cs.linear import Linear
from zenserve.circuits.r1cs.lookups import Lookups
from zenserve.circuits.r1cs.products import Convolution, Products, product_interval
from zenserve.circuits.r1cs.program import Program
from zenserve.circuits.r1cs.ranges import RangeChecks
from zenserve.kernels import fr
from zenserve.prover import groth16
from zenserve.prover.groth16 import Claim, CommitmentKey, Opening, ceremony
from zenserve.prover.groth16.powers_of_tau import PowersOfTau, generate
from zenserve.relations.integers import IntArray

DIGITS = Path(__file__).parents[1] / "digits" / "held_out.npz"
KERNELS = 4
WEIGHT_BITS, PIXEL_BITS = 4, 5
POWER = 10

console = Console(highlight=False)


@dataclass(frozen=True)
class Filter:
    """A circuit: ``output = convolution(image, kernels)`` for committed kernels, a secret image and a public
    output; and its key."""

    shape: Convolution
    program: Program
    key: groth16.ProvingKey

    @classmethod
    def with_stride(cls, stride: int, powers: PowersOfTau) -> Filter:
        shape = Convolution(1, 1, KERNELS, (8, 8), (3, 3), stride=(stride, stride))
        program = compile_filter(shape)
        state = ceremony.start(program.constraint_system, powers)
        for name in ("Alice", "Bob"):
            state = ceremony.contribute(state, name)
        return cls(
            shape, program, ceremony.finish(state, program.constraint_system, powers, development=True)
        )

    def prove(self, kernels: IntArray, image: IntArray, opening: Opening) -> Claim:
        """The output for ``image`` (int64[8, 8]) and that ``kernels`` (int64[KERNELS, 3, 3]) made it."""
        output = self.shape.apply(image[None, None], kernels[:, None])
        values = {"kernels": kernels.ravel(), "image": image.ravel(), "output": output.ravel()}
        proof = groth16.prove(
            self.key,
            self.program.constraint_system,
            self.program.witness(values),
            openings=[opening],
            post_challenge=self.program.post_challenge,
        )
        # A public input is an element of Fr: a negative output v is written as r + v.
        public = [value % fr.modulus for value in output.ravel().tolist()]
        return Claim(public, proof.to_bytes(), [opening.commitment])

    def verify(self, claim: Claim) -> bool:
        key = self.key.verifying_key
        return bool(groth16.verify(key, claim.public_inputs, claim.proof, claim.commitments))


def compile_filter(shape: Convolution) -> Program:
    builder = Builder()
    builder.segment("model", linked=True)
    output = builder.public("output", shape.outputs * shape.out[0] * shape.out[1])
    kernels = builder.committed("model", "kernels", shape.outputs * shape.kernel[0] * shape.kernel[1])
    image = builder.auxiliary("image", shape.image[0] * shape.image[1])
    x, w, y = (Linear.wires(wires) for wires in (image, kernels, output))
    ranges = RangeChecks(Lookups(builder))
    ranges.check("image", x, PIXEL_BITS)
    ranges.check("kernels", w, WEIGHT_BITS, -(1 << (WEIGHT_BITS - 1)))
    terms = shape.inputs * shape.kernel[0] * shape.kernel[1]
    product_interval("filter", terms, (1 << PIXEL_BITS, 1 << (WEIGHT_BITS - 1)))
    Products(builder).convolve("filter", x, w, y, shape)
    return builder.program()


def main() -> int:
    """Run the demonstration; 0 if everything went as it should."""
    draw = np.random.default_rng()
    lowest = -(1 << (WEIGHT_BITS - 1))
    kernels, others = (draw.integers(lowest, -lowest, (KERNELS, 3, 3)) for _ in range(2))
    image = np.load(DIGITS, allow_pickle=False)["images"][0].reshape(8, 8).astype(np.int64)

    started = time.perf_counter()
    powers = generate(POWER)
    filters = [Filter.with_stride(stride, powers) for stride in (1, 2)]
    console.print(f"Powers of tau, and two ceremonies with two contributors: {_since(started)}")

    basis = CommitmentKey.of(powers)
    mine, another = (basis.commit(fr.from_int64(weights.ravel())) for weights in (kernels, others))
    console.print(f"The owner commits to the kernels: {mine.commitment.hex()[:32]}…")

    verified = refused = True
    for circuit in filters:
        started = time.perf_counter()
        claim = circuit.prove(kernels, image, mine)
        rows, stride = circuit.program.constraint_system.constraints, circuit.shape.stride[0]
        console.print(f"Stride {stride}: {rows} constraints, proven in {_since(started)}")
        verified &= circuit.verify(claim)
        changed = [(claim.public_inputs[0] + 1) % fr.modulus, *claim.public_inputs[1:]]
        refused &= not circuit.verify(Claim(changed, claim.proof, claim.commitments))
        refused &= not circuit.verify(Claim(claim.public_inputs, claim.proof, [another.commitment]))
    console.print("Both are about the same kernels; a changed output and another owner's are refused.")
    print(f"demo: {json.dumps({'verified': verified, 'tampered_refused': refused})}", flush=True)
    return 0 if verified and refused else 1


def _since(start: float) -> str:
    return f"{time.perf_counter() - start:.2f} s"


if __name__ == "__main__":
    raise SystemExit(main())
