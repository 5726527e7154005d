"""Proofs without a setup, which are judged by the circuit: it is given beside the key."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.client import makers
from tests.client.makers import rehashed
from tests.prover.vectors.transparent import rows
from tests.vectors.world import Json, World, dumped, with_proof
from tests.vectors.writing import Vectors
from zenserve.base.progress import silent
from zenserve.circuits import compile_inference, compile_registration
from zenserve.circuits.schemes.circuit import Circuit
from zenserve.kernels import FrArray, fr
from zenserve.prover.constraint_file import save_statement
from zenserve.prover.spartan.system import CommitmentKey, Spartan
from zenserve.verifier.documents import (
    KeyFile,
    OpeningFile,
    OpeningPart,
    ProofDocument,
    checked,
    key_id,
    named,
)
from zenserve.verifier.keys import key_file
from zenserve.verifier.spartan.key import SpartanKey
from zenserve.verifier.system import VerifyingSystem

SYSTEM = Spartan()
BASIS: Any = CommitmentKey(rows())


class Maker(makers.Maker):
    """Proves without a setup."""

    @classmethod
    def of_circuit(cls, circuit: Circuit) -> Maker:
        with TemporaryDirectory() as folder:
            file = Path(folder) / "key"
            SYSTEM.setup(circuit.constraint_system, file, basis=BASIS, threads=1, progress=silent)
            key: Any = SYSTEM.load_key(file)
        return cls(circuit, key, BASIS)

    @cached_property
    def key_file(self) -> KeyFile:
        description = json.loads(json.dumps(self.circuit.describe()))
        return key_file(SYSTEM, self.proving_key.verifying_key, description)

    @cached_property
    def circuit_file(self) -> bytes:
        with TemporaryDirectory() as folder:
            save_statement(file := Path(folder) / "circuit", self.circuit.constraint_system)
            return file.read_bytes()

    def prove(self, witness: FrArray, openings: Sequence[Any]) -> bytes:
        key: Any = self.proving_key
        return SYSTEM.prove(
            key,
            self.circuit.constraint_system,
            witness,
            openings=openings,
            post_challenge=self.circuit.program.post_challenge,
            threads=1,
            progress=silent,
        )


def write(vectors: Vectors, world: World) -> None:
    privacy: dict[str, Any] = {"input_privacy": "committed", "weight_privacy": "committed"}
    maker = Maker.of_circuit(compile_inference(world.graph, reveal="logits", **privacy))
    registrar = Maker.of_circuit(compile_registration(world.graph))
    model = makers.model_opening(world.graph, BASIS)
    held = {"model": model, "input": maker.commit(world.values(0))}
    document = makers.inference(maker, world.inputs[0], held)
    registered = makers.registration(registrar, model)
    _judged_by_circuits(vectors, maker, document)
    _beside(vectors, world, maker, document, held["input"])
    _registered(vectors, world, maker, document, registrar, registered)


def _judged_by_circuits(vectors: Vectors, maker: Maker, document: ProofDocument) -> None:
    case, key, file = vectors.case, maker.key_file, maker.circuit_file
    cut = with_proof(document, bytes.fromhex(document.proofs[0])[:99])
    case("transparent/valid", "No setup; the circuit is given.", document, key, circuit=file)
    unknown = key.key | {"circuit": "00" * 32}
    digest = SpartanKey.from_json(unknown).digest
    renamed_ = dumped(key, key=unknown, id=key_id(SYSTEM.id, digest, key.circuit))
    named_ = rehashed(cut, verification_key={"id": renamed_["id"], "setup": key.setup})
    case("transparent/unknown", "Nobody has its circuit.", named_, renamed_, "circuit_unknown")
    damaged = file[:-1] + bytes([file[-1] ^ 1])
    case("transparent/damaged", "The circuit's file is.", document, key, "file.hash", circuit=damaged)
    case("transparent/cut", "The proof is cut short.", cut, key, "malformed", circuit=file)


def _beside(vectors: Vectors, world: World, maker: Maker, document: ProofDocument, held: Any) -> None:
    """What a verifier is told beside it."""
    case, real = vectors.case, world.real(0)

    def opening(system: VerifyingSystem, shown: Json, commitment: str) -> OpeningFile:
        part = {"commitment": commitment, "opening": shown}
        return OpeningFile(**named(system), kind="input", parts=[checked(OpeningPart, part)])

    shown = BASIS.reveal(held, fr.from_int64(world.values(0))).to_json()
    own = opening(SYSTEM, shown, held.commitment.hex())
    told: Json = {"circuit": maker.circuit_file, "opening": own}
    key = maker.key_file
    case("transparent/opened", "The input was committed to.", document, key, input=real, **told)
    other = told | {"input": world.real(1)}
    case("transparent/other-input", "Another input.", document, key, "input_mismatch", **other)
    seed = opening(SYSTEM, shown | {"blinding": "00" * 32}, held.commitment.hex())
    other = told | {"input": real, "opening": seed}
    case("transparent/other-seed", "Another seed.", document, key, "input_mismatch", **other)
    scheme = world.opening(world.held["input"], 0)
    other = told | {"input": real, "opening": scheme}
    case("transparent/other-scheme", "Of another system.", document, key, "input_mismatch", **other)


def _registered(
    vectors: Vectors,
    world: World,
    maker: Maker,
    document: ProofDocument,
    registrar: Maker,
    registered: ProofDocument,
) -> None:
    case, key = vectors.case, maker.key_file
    told: Json = {"circuit": maker.circuit_file}
    own: Json = {"registration_key": registrar.key_file, "registration_circuit": registrar.circuit_file}
    shown = told | own | {"registration": registered}
    case("transparent/registered", "Its registration is there, too.", document, key, **shown)
    other = shown | {"registration_key": world.registrar.key_file}
    del other["registration_circuit"]
    reason = "registration_mismatch"
    case("transparent/registered-elsewhere", "Under another system.", document, key, reason, **other)
    bare, other_key = with_proof(document, b""), world.committed.key_file
    case("transparent/other-key", "The key is another system's.", bare, other_key, "system_mismatch")
    plain, file = world.plain.key_file, maker.circuit_file
    case("transparent/no-circuit", "This key takes none.", world.bare, plain, "file.system", circuit=file)
