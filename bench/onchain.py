"""Gas of verification in a contract, beside snarkjs' contract for the same statement, and EZKL's.

    python -m bench.onchain [--snarkjs PROGRAM] [--ezkl FOLDER] [--json FILE] [--quick]

Every contract is compiled by solc and called in the EVM of web/tests/evm.ts, with the hard fork Prague. Gas
is that of a whole transaction: 21,000, calldata, and execution with precompiles that are warm, as they are in
transactions. Keys are of one party, or of a ceremony, whose γ is the generator. ``--snarkjs``: its program,
as ``npm install snarkjs@0.7.6`` puts it into node_modules/.bin; it proves the plain statement over bn128.
``--ezkl``: where ``create_evm_verifier`` and ``encode_evm_calldata`` of ezkl wrote v.sol and calldata.bin, of
the digits network as ``bench.ezkl`` has it by default, its ten logits public.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from bench import digits
from bench.measure import argument_parser
from bench.report import Report, Row
from tests.onchain.evm import Answer, Step, in_evm
from tests.prover.statements import csr
from zenserve.circuits import compile_inference
from zenserve.kernels import FrArray, fr
from zenserve.prover import groth16
from zenserve.prover.blocks import SparseBlock
from zenserve.prover.constraint_system import ConstraintSystem, Segment
from zenserve.prover.groth16 import CommitmentKey, ProvingKey, ceremony, iden3, powers_of_tau
from zenserve.prover.groth16.iden3.binfile import modulus_header
from zenserve.verifier.onchain.calldata import Arguments
from zenserve.verifier.onchain.contract import solidity
from zenserve.verifier.onchain.gas import gas_of_calldata
from zenserve.verifier.onchain.layout import encode_proof

WEB: Final = Path(__file__).parents[1] / "web"
TRANSACTION_GAS: Final = 21_000
BN128: Final = 21888242871839275222246405745257275088548364400416034343698204186575808495617
EVM: Final = "@ethereumjs/evm 10.1.3, Prague, solc 0.8.37"


class Shape(NamedTuple):
    """Of a statement: its public inputs, segments, and how many of these are linked."""

    inputs: int
    segments: int = 0
    links: int = 0


class Proven(NamedTuple):
    key: ProvingKey
    call: Arguments


SHAPES: Final = {
    "plain": (Shape(1), Shape(2), Shape(10)),
    "committed": (Shape(1, 2, 1), Shape(2, 2, 1), Shape(1, 3, 2)),
}
IMAGE: Final = 64
"""Pixels of a digit."""


def evm(*arguments: str) -> subprocess.CompletedProcess[str]:
    node = Path(sys.prefix) / "bin" / "node"
    command = [str(node), *arguments]
    return subprocess.run(command, cwd=WEB, capture_output=True, text=True, check=False)  # noqa: S603


def statement(shape: Shape) -> ConstraintSystem:
    """One row, one value in each segment, and a challenge where there are segments."""
    segments = tuple(Segment(f"s{i}", 1, linked=i < shape.links) for i in range(shape.segments))
    challenges = min(1, shape.segments)
    last = 1 + shape.inputs + challenges + 2 * shape.segments
    row = csr([{last: 1}])
    return ConstraintSystem(shape.inputs, 1, (SparseBlock("row", row, row, row),), challenges, segments)


def proven(shape: Shape, setup: str) -> Proven:
    system = statement(shape)
    z = fr.from_ints([1, *range(5, 5 + shape.inputs), *[1] * (system.variables - 1 - shape.inputs)])
    powers = powers_of_tau.generate(4)
    basis = CommitmentKey.of(powers)
    if setup == "ceremony":
        state = ceremony.contribute(ceremony.start(system, powers), "Ada")
        key = ceremony.finish(state, system, powers, development=True)
    else:
        key = groth16.setup(system, basis=basis if shape.links else None)
    return prove(key, system, z, basis)


def prove(
    key: ProvingKey,
    system: ConstraintSystem,
    z: FrArray,
    basis: CommitmentKey,
    post_challenge: Callable[..., None] | None = None,
) -> Proven:
    openings = [
        basis.commit(z[part.start : part.stop - 1])
        for part, segment in zip(system.segment_ranges, system.segments, strict=True)
        if segment.linked
    ]
    proof = groth16.prove(key, system, z, openings=openings, post_challenge=post_challenge)
    inputs = [*fr.to_ints(z[1 : 1 + system.public]), *fr.to_ints(z[system.folded_inputs])]
    return Proven(key, Arguments(encode_proof(proof, [each.commitment for each in openings]), inputs))


def digit(*, image: bool, fold: bool = False) -> Proven:
    """The label of a digit under committed weights; ``image``: the pixels are public inputs, too."""
    quantised = digits.quantised()
    circuit = compile_inference(
        quantised,
        input_privacy="public" if image else "private",
        weight_privacy="committed",
        reveal="label",
        fold_inputs=fold,
    )
    system, basis = circuit.constraint_system, CommitmentKey.generate(1 << 12)
    key = groth16.setup(system, basis=basis)
    z = circuit.witness(digits.image(circuit), statement=12345)
    return prove(key, system, z, basis, circuit.program.post_challenge)


def digit_of_public_weights() -> Proven:
    """A plain proof of its ten logits."""
    circuit = compile_inference(digits.quantised(), weight_privacy="public", reveal="logits", level=2)
    system = circuit.constraint_system
    z = circuit.witness(digits.image(circuit), statement=12345)
    return prove(groth16.setup(system), system, z, CommitmentKey.generate(2))


def row(name: str, made: Proven) -> Row:
    key = made.key.verifying_key
    steps = [Step("v.sol:ZenServeVerifier"), Step(0, made.call.encode().hex(), measured=True)]
    contract, answer = in_evm(evm, {"v.sol": solidity(key)}, steps)
    assert answer.outcome == "true", answer
    shape = Shape(key.public, len(key.segments), len(key.linked_sizes))
    return measured(name, shape, contract, answer, made.call.encode(), folded=key.folded)


def measured(name: str, shape: Shape, contract: Answer, answer: Answer, calldata: bytes, **more: int) -> Row:
    gas = gas_of_calldata(calldata)
    said = {
        **shape._asdict(),
        **more,
        "gas_execution": answer.gas,
        "gas_calldata": gas,
        "gas_total": TRANSACTION_GAS + gas + answer.gas,
        "bytes_contract": contract.bytes,
        "bytes_calldata": len(calldata),
    }
    return Row(name, shape.inputs, said["gas_total"], unit="gas", more=said)


def ours(*, quick: bool) -> Iterator[Row]:
    for kind, shapes in SHAPES.items():
        for shape in shapes[:1] if quick else shapes:
            for setup in ("development", "ceremony"):
                yield row(f"{kind}, {setup}", proven(shape, setup))
    if not quick:
        yield row("digits, weights in the key", digit_of_public_weights())
        yield row("digits", digit(image=False))
        yield row("digits and image", digit(image=True))
        yield row("digits and image, folded", digit(image=True, fold=True))


def of_snarkjs(program: Path, inputs: int) -> Row:
    """Its contract for the same plain statement, over bn128."""
    with TemporaryDirectory() as folder:
        where = Path(folder)

        def run(*arguments: str) -> str:
            command = [str(program.resolve()), *arguments]
            done = subprocess.run(command, cwd=where, capture_output=True, text=True, check=True)  # noqa: S603
            return done.stdout

        system = statement(Shape(inputs))
        iden3.write_r1cs(where / "s.r1cs", system)
        iden3.write_wtns(where / "s.wtns", fr.from_ints([1, *range(5, 5 + inputs), 1]))
        for file in (where / "s.r1cs", where / "s.wtns"):  # all numbers in them are below both moduli
            data = file.read_bytes().replace(modulus_header(fr.modulus), modulus_header(BN128))
            file.write_bytes(data)
        run("powersoftau", "new", "bn128", "4", "0.ptau")
        run("powersoftau", "contribute", "0.ptau", "1.ptau", "--name=Ada", "--entropy=first")
        run("powersoftau", "prepare", "phase2", "1.ptau", "2.ptau")
        run("groth16", "setup", "s.r1cs", "2.ptau", "0.zkey")
        run("zkey", "contribute", "0.zkey", "1.zkey", "--name=Ada", "--entropy=second")
        run("groth16", "prove", "1.zkey", "s.wtns", "proof.json", "public.json")
        run("zkey", "export", "solidityverifier", "1.zkey", "v.sol")
        parts = json.loads(f"[{run('zkey', 'export', 'soliditycalldata', 'public.json', 'proof.json')}]")
        source = (where / "v.sol").read_text()
    calldata = _selector(inputs) + b"".join(_words(parts))
    steps = [Step("v.sol:Groth16Verifier"), Step(0, calldata.hex(), measured=True)]
    contract, answer = in_evm(evm, {"v.sol": source}, steps)
    assert answer.outcome == "true", answer
    return measured("snarkjs on bn128", Shape(inputs), contract, answer, calldata)


def of_ezkl(folder: Path) -> Row:
    calldata = (folder / "calldata.bin").read_bytes()
    steps = [Step("v.sol:Halo2Verifier"), Step(0, calldata.hex(), measured=True)]
    contract, answer = in_evm(evm, {"v.sol": (folder / "v.sol").read_text()}, steps)
    assert answer.outcome == "true", answer
    return measured("ezkl, digits", Shape(10), contract, answer, calldata)


def _selector(inputs: int) -> bytes:
    """Of ``verifyProof(uint256[2],uint256[2][2],uint256[2],uint256[inputs])``."""
    return bytes.fromhex({1: "43753b4d", 2: "f5c9d69e"}[inputs])


def _words(parts: Sequence[object] | str) -> Iterator[bytes]:
    if isinstance(parts, str):
        yield int(parts, 16).to_bytes(32, "big")
        return
    for part in parts:
        yield from _words(part)  # type: ignore[arg-type]


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--snarkjs", type=Path, metavar="PROGRAM", help="snarkjs, to compare with")
    parser.add_argument("--ezkl", type=Path, metavar="FOLDER", help="EZKL's contract, to compare with")
    options = parser.parse_args()
    report = Report("onchain", EVM)
    report.show("Contracts", ours(quick=options.quick))
    if options.snarkjs is not None:
        report.show("snarkjs", [of_snarkjs(options.snarkjs, inputs) for inputs in (1, 2)])
    if options.ezkl is not None:
        report.show("EZKL", [of_ezkl(options.ezkl)])
    report.write(options.json)


if __name__ == "__main__":
    main()
