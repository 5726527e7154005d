"""What tests do to ceremonies over HTTP: open, contribute, finish, and judge the proofs that come of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.service.support import work_on
from zenserve.client import Client, Model
from zenserve.client.resources import Ceremony, CircuitFields, Contribution
from zenserve.prover.groth16 import ceremony, reference
from zenserve.prover.groth16.ceremony import State
from zenserve.prover.groth16.iden3.ptau import read_ptau
from zenserve.service import basis as bases
from zenserve.service.runtime import Runtime
from zenserve.verifier.documents import KeyFile, ProofDocument
from zenserve.verifier.groth16.system import groth16_key
from zenserve.verifier.judging import judge
from zenserve.verifier.keys import opened

VALUE = hashlib.sha256(b"what nobody knew").hexdigest()


@contextmanager
def powers_of_two_people() -> Iterator[None]:
    """Such are snarkjs' to make: these are one party's, and pass for others'."""
    bases._load.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "zenserve.service.powers.read_ptau",
            lambda *given, **how: replace(read_ptau(*given, **how), contributions=2),
        )
        yield
    bases._load.cache_clear()


def open_for(runtime: Runtime, api: Client, model: Model, circuits: Sequence[CircuitFields]) -> Ceremony:
    opened = api.open_ceremony(model.id, circuits, name="for production")
    assert opened.phase == "opening"
    work_on(runtime, opened.id)
    opened = api.get_ceremony(opened.id)
    assert (opened.state, opened.phase) == ("succeeded", "open"), opened.problem
    return opened


def fetched(api: Client, held: Ceremony, folder: Path) -> list[State]:
    """The present states, as a contributor loads them."""
    states = []
    for circuit in held.circuits or []:
        file = folder / circuit["state"]
        file.write_bytes(api.get_ceremony_file(held.id, circuit["state"]))
        assert file.stat().st_size == circuit["size"]
        states.append(State.load(file))
    return states


def made(states: Sequence[State], name: str, folder: Path) -> list[bytes]:
    files = []
    for index, state in enumerate(states):
        ceremony.contribute(state, name).save(folder / f"{name}{index}")
        files.append((folder / f"{name}{index}").read_bytes())
    return files


def contribute(runtime: Runtime, api: Client, ceremony_id: str, name: str, folder: Path) -> Contribution:
    held = api.get_ceremony(ceremony_id)
    files = made(fetched(api, held, folder), name, folder)
    contribution = api.create_contribution(held.id, extends(held), files)
    assert contribution.state == "queued"
    assert api.get_ceremony(held.id).pending == contribution.id
    work_on(runtime, contribution.id)
    contribution = api.get_contribution(contribution.id)
    assert contribution.state == "succeeded", contribution.problem
    return contribution


def extends(held: Ceremony) -> list[str]:
    return [circuit["state"] for circuit in held.circuits or []]


def finish(runtime: Runtime, api: Client, ceremony_id: str) -> Ceremony:
    assert api.close_ceremony(ceremony_id, "a round of drand", rounds=2).phase == "closing"
    closing = api.finish_ceremony(ceremony_id, VALUE)
    work_on(runtime, closing.id)
    assert api.get_contribution(closing.id).state == "succeeded", api.get_contribution(closing.id).problem
    return api.get_ceremony(ceremony_id)


def accepted(document: ProofDocument, key: KeyFile) -> None:
    """By the client, and by the slow reference."""
    statement = document.statement
    assert (statement.verification_key.setup, statement.verification_key.id) == ("ceremony", key.id)
    assert judge(document, key).valid
    verifying, circuit, *_ = opened(key)
    if statement.dataset is None:
        public = [statement.scalar, *circuit.public_values(statement.values)]
        commitments = [bytes.fromhex(statement.commitments["model"])]
        proof = bytes.fromhex(document.proofs[0])
        assert reference.verify(groth16_key(verifying), public, proof, commitments)
