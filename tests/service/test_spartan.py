"""Models of a proof system without a setup, whose commitments hold for a few proofs each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from sqlalchemy import select, update

from tests.patience import until
from tests.service.conftest import open_runtime
from tests.service.support import (
    heart,
    labelled,
    proving_key_files,
    serving,
    shards_of,
    tiny_calibration,
    tiny_onnx,
    work_on,
    work_on_all,
)
from zenserve.base.memory import Kept
from zenserve.base.randomness import Secrets
from zenserve.client import ApiError, Client, Model
from zenserve.kernels import FrArray
from zenserve.prover.registry import SYSTEMS
from zenserve.prover.spartan import commitment
from zenserve.prover.spartan.renewal import renew
from zenserve.prover.spartan.system import CommitmentKey, Opening, Renewed, Spartan
from zenserve.service import encryption, engine, openings
from zenserve.service.api import effort
from zenserve.service.api.routes import verification
from zenserve.service.api.schemas import VerifyRequest
from zenserve.service.deleted import forget_deleted
from zenserve.service.runtime import Runtime
from zenserve.service.storage.records.openings import Ledger, Root
from zenserve.service.storage.records.resources import Proof
from zenserve.service.storage.repositories import Circuits, Models
from zenserve.verifier import receipts
from zenserve.verifier.documents import KeyFile, OpeningFile, ProofDocument, Receipt, checked
from zenserve.verifier.expected import Expected
from zenserve.verifier.judging import Known, Registration, Verification, judge
from zenserve.verifier.keys import key_file, opened
from zenserve.verifier.recent import Recent
from zenserve.verifier.spartan import chain
from zenserve.verifier.spartan.chain import Link
from zenserve.verifier.spartan.commitment import Rows
from zenserve.verifier.spartan.key import SpartanKey
from zenserve.verifier.spartan.ledger import MOST_LINKS
from zenserve.verifier.spartan.system import SpartanVerifier

INPUT = [0.1, 0.2, 0.3, 0.4]
BODY_BYTES = 16 << 20
Json = dict[str, Any]


@dataclass
class Service:
    runtime: Runtime
    api: Client
    verifier: SpartanVerifier = field(default_factory=SpartanVerifier)
    """A stranger's: it has the circuits that it fetched."""

    def registered(self, onnx: bytes | None = None, **how: Any) -> Model:
        model = self.api.create_model(
            onnx or tiny_onnx(), tiny_calibration(), system="spartan", **({"weight_privacy": "public"} | how)
        )
        work_on(self.runtime, model.id)
        model = self.api.get_model(model.id)
        assert (model.state, model.system, model.setup) == ("succeeded", Spartan.id, "transparent")
        return model

    def made(self, model: Model, *values: Any, **fields: Any) -> Json:
        proof = self.api.create_proof(model.id, *values, **fields)
        (work_on_all if fields.get("scheme") == "accuracy" else work_on)(self.runtime, proof.id)
        proof = self.api.get_proof(proof.id)
        assert (proof.state, proof.system) == ("succeeded", Spartan.id), proof.problem
        return self.api.get_proof_document(proof.id)

    def judged(
        self, document: Json, known: Known | None = None, expected: Expected | None = None
    ) -> Verification:
        key = checked(KeyFile, self.api.get_verification_key(document["statement"]["verification_key"]["id"]))
        verifying: Any = opened(key).verifying
        if self.verifier.circuit_bytes(verifying) is None:
            self.verifier.take_circuit(self.api.get_circuit_of_key(key.id))
        systems = {self.verifier.id: self.verifier}
        return judge(checked(ProofDocument, document), key, known=known, expected=expected, systems=systems)

    def roots(self) -> list[Root]:
        with self.runtime.database.read() as session:
            return list(session.scalars(select(Root).order_by(Root.created_at)))


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    runtime = open_runtime(tmp_path_factory.mktemp("spartan") / "data", max_body_bytes=BODY_BYTES)
    with serving(runtime) as url, Client(url) as client:
        yield Service(runtime, client)
    runtime.close()


@pytest.fixture(scope="module")
def committed(service: Service) -> Model:
    return service.registered(weight_privacy="committed")


def test_from_a_registration_to_a_strangers_verdict(service: Service, committed: Model) -> None:
    api = service.api
    registration, receipt = api.get_registration(committed.id), api.get_receipt(committed.id)
    assert service.judged(registration).valid
    assert receipts.judge(checked(Receipt, receipt)).valid
    assert receipt["commitment"] == committed.commitment
    assert len(committed.commitment or "") == 64
    path = f"v1/verification-keys/{committed.registration_key_id}/circuit"
    copy = {"If-None-Match": api._http.get(path).headers["ETag"]}
    assert api._http.get(path, headers=copy).status_code == 304
    whole = api._http.get(path).content
    assert api._http.get(path, headers={"Range": "bytes=5-"}).content == whole[5:]
    for none in (f"bytes={len(whole)}-", "bytes=7-6", "bytes=-5", "bytes=0-1,3-4", "lines=1-2"):
        beyond = api._http.get(path, headers={"Range": none})
        assert (beyond.status_code, beyond.headers["Content-Type"]) == (416, "application/problem+json")
    key = opened(
        checked(KeyFile, api.get_verification_key(committed.registration_key_id or "")),
        {service.verifier.id: service.verifier},
    )
    known = Known(registration=Registration(checked(ProofDocument, registration), key))
    document = service.made(committed, INPUT)
    assert service.judged(document, known).valid
    said = api.verify(document, registration=registration)
    assert said.valid
    assert any("BLAKE3" in sentence for sentence in said.not_verified)
    spoilt = bytearray(bytes.fromhex(document["proofs"][0]))
    spoilt[-1] ^= 1
    assert not api.verify(document | {"proofs": [spoilt.hex()]}).valid


def test_a_worker_keeps_the_code_words_of_weights(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until the model is deleted."""
    # Models of other tests, which this database does not know, else a heartbeat forgets whenever it beats.
    forget_deleted(service.runtime)
    kept, found = Kept(1 << 30, lambda: 1 << 40), list[bool]()
    get = kept.get

    def asked(key: Any) -> Any:
        found.append(get(key) is not None)
        return get(key)

    monkeypatch.setattr(commitment, "KEPT", kept)
    monkeypatch.setattr(kept, "get", asked)
    model = service.registered(weight_privacy="committed")
    assert found == [False]  # by the proof that registers it
    proof = service.api.create_proof(model.id, INPUT, input_privacy="private")
    work_on(service.runtime, proof.id)
    assert found == [False, True]
    assert service.judged(service.api.get_proof_document(proof.id)).valid
    with heart(service.runtime):
        assert kept.taken
        service.api.delete_proof(proof.id)
        assert engine._at_hand.taken
        service.api.delete_model(model.id)
        until(lambda: kept.taken == engine._at_hand.taken == 0)


def test_who_has_a_circuit_loaded_pays_for_it(
    service: Service, committed: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To load one takes longer than to judge by it, and a stranger chooses which."""
    document, charged = service.made(committed, INPUT), list[int]()
    request = VerifyRequest.model_validate({"proof": document})

    async def charge(_: object, verifications: int) -> None:
        charged.append(verifications)

    monkeypatch.setattr(verification, "charge_for", charge)
    monkeypatch.setattr(effort, "_LOADED_BYTES_OF_A_POINT", 1 << 4)
    monkeypatch.setattr(SYSTEMS[Spartan.id], "_circuits", Recent(1 << 30))
    assert service.api.verify(document).valid
    assert service.api.verify(document).valid
    with service.runtime.database.read() as session:
        circuit = Circuits(session).of_key(document["statement"]["verification_key"]["id"])
    assert circuit is not None
    points = (effort.loading(circuit.proving_key_bytes) + 1, 1)
    assert charged == [effort.verifications([request], more) for more in points]
    assert charged[0] > 2 * charged[1]
    monkeypatch.setattr(effort, "_JUDGED_BYTES_OF_A_POINT", 1)
    with pytest.raises(ApiError) as refused:
        service.api.verify(document)
    assert (refused.value.status, refused.value.code) == (422, "resource.verification")
    file = service.api.get_verification_key(document["statement"]["verification_key"]["id"])
    own = SpartanKey.from_json(file["key"] | {"log_degree": file["key"]["log_degree"] + 1})
    theirs = key_file(SYSTEMS[Spartan.id], own, file["circuit"]).model_dump(mode="json")
    with pytest.raises(ApiError) as refused:
        service.api.verify(document, theirs)
    assert (refused.value.status, refused.value.code) == (422, "resource.verification")


def test_an_input_that_was_committed_to(service: Service, committed: Model) -> None:
    held = service.api.create_commitment(committed.id, "input", INPUT)
    document = service.made(committed, input_id=held.id, reveal="logits")
    assert document["statement"]["commitments"]["input"] == held.commitment
    opening = checked(OpeningFile, service.api.get_commitment_opening(held.id))
    assert service.judged(document, Known(openings=opening)).valid
    mine = {root.root: root for root in service.roots()}
    assert mine[held.commitment].proofs == 10 - 5 - 1
    service.api.delete_commitment(held.id)
    assert held.commitment not in {root.root for root in service.roots()}


def test_recognition(service: Service) -> None:
    """Of an input, at no distance from a reference that was committed to, and is opened for it."""
    model = service.registered(tiny_onnx(embeds=True))
    held = service.api.create_commitment(model.id, "reference", INPUT)
    document = service.made(model, INPUT, scheme="recognition", reference_id=held.id, threshold=0)
    statement = document["statement"]
    assert statement["commitments"] == {"reference": held.commitment}
    assert (statement["values"]["match"], service.judged(document).valid) == (1, True)
    assert {root.root: root.proofs for root in service.roots()}[held.commitment] == 10 - 5 - 1
    other = service.api.create_commitment(model.id, "reference", [0.4, 0.3, 0.2, 0.1])
    found = service.judged(document, expected=Expected(reference=other.commitment))
    assert (found.valid, found.reason) == (False, "reference_mismatch")


@pytest.mark.parametrize("privacy", ["private", pytest.param("public", marks=pytest.mark.large)])
def test_accuracy(service: Service, committed: Model, privacy: Any) -> None:
    dataset = service.api.create_dataset(committed.id, *labelled(5), privacy=privacy, shard_size=3)
    work_on(service.runtime, dataset.id)
    before = service.roots()
    document = service.made(committed, scheme="accuracy", dataset_id=dataset.id)
    assert service.judged(document).valid
    assert service.api.verify(document).valid
    counted = [root for root in service.roots() if root.owner.startswith("prf")]
    assert {root.proofs for root in counted} == {10 - 5 - 2}  # the total, and the shard
    shards = [root.proofs for root in before if root.owner == dataset.id]
    assert shards == ([10 - 5] * 2 if privacy == "private" else [])


def forget_circuits(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process that has just started."""
    monkeypatch.setattr(SYSTEMS[Spartan.id], "_circuits", Recent(1 << 30))
    engine._at_hand.clear()


@pytest.mark.parametrize("lost", [False, True])
def test_another_worker_assembles_an_accuracy(
    service: Service, committed: Model, monkeypatch: pytest.MonkeyPatch, lost: bool
) -> None:
    """One that has not got the circuit, which the store may have lost meanwhile."""
    dataset = service.api.create_dataset(committed.id, *labelled(5), privacy="private", shard_size=3)
    work_on(service.runtime, dataset.id)
    proof = service.api.create_proof(committed.id, scheme="accuracy", dataset_id=dataset.id)
    work_on(service.runtime, proof.id)
    for shard in shards_of(service.runtime, proof.id):
        work_on(service.runtime, shard)
    forget_circuits(monkeypatch)
    if lost:
        for file in proving_key_files(service.runtime):
            file.unlink()
    work_on(service.runtime, proof.id)
    done = service.api.get_proof(proof.id)
    assert (done.state, done.attempt) == ("succeeded", 1), done.problem
    assert service.judged(service.api.get_proof_document(proof.id)).valid


def test_a_lost_circuit_is_written_anew(
    service: Service, committed: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key is the same, so earlier proofs are judged by it again."""
    document = service.made(committed, INPUT)
    forget_circuits(monkeypatch)
    for file in proving_key_files(service.runtime):
        file.write_bytes(file.read_bytes()[:-8])
    again = service.made(committed, INPUT)
    assert again["statement"]["verification_key"] == document["statement"]["verification_key"]
    forget_circuits(monkeypatch)
    assert service.api.verify(document).valid


def test_proofs_go_on_when_openings_are_spent(service: Service) -> None:
    """Each documents the commitment that was registered, and opens what took its place."""
    model = service.registered(weight_privacy="committed")
    leave(service, model, 2)
    with service.runtime.database.read() as session:
        found = openings.left(service.runtime, session, Models(session).get(model.id))
    assert found is not None
    assert (found.now, found.total > 4000) == (2, True)
    links = []
    for _ in range(3):
        document = service.made(model, INPUT)
        assert document["statement"]["commitments"]["model"] == model.commitment
        (made,), _ = chain.split(bytes.fromhex(document["proofs"][0]), 1)
        links.append(len(made))
        # Ahead of time: the next proof finds an opening.
        left = [root for root in service.roots() if root.owner == model.id]
        assert sum(root.proofs for root in left) >= openings._AHEAD
    assert links == [0, 0, 1]
    assert service.judged(document).valid
    forged = bytearray(bytes.fromhex(document["proofs"][0]))
    forged[40] ^= 1  # in the link
    refused = service.judged(document | {"proofs": [forged.hex()]})
    assert (refused.valid, refused.reason) == (False, "model_mismatch")


def leave(service: Service, model: Model, proofs: int) -> None:
    """Have so many openings left of a model's registered commitment."""
    with service.runtime.database.write() as session:
        session.execute(update(Root).where(Root.owner == model.id).values(proofs=proofs))


@pytest.mark.large
def test_a_chain_as_long_as_can_be(service: Service) -> None:
    model = service.registered(weight_privacy="committed")
    with service.runtime.database.write() as session:  # the trees of less height are used up
        mine = update(Root).where(Root.owner == model.id)
        session.execute(mine.values(proofs=0, renewals=1, height=MOST_LINKS - 1))
    document = service.made(model, INPUT)
    proof = bytes.fromhex(document["proofs"][0])
    (links,), _ = chain.split(proof, 1)
    assert len(links) == MOST_LINKS
    assert service.judged(document).valid
    assert service.api.verify(document).valid
    roots = sorted(
        (root.depth, root.proofs, root.renewals) for root in service.roots() if root.owner == model.id
    )
    assert roots == [(0, 0, 0), (1, 0, 8), (2, 0, 8), (3, 0, 8), (4, 8, 0)]


def test_a_renewal_to_other_weights_convinces_nobody(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = service.registered(weight_privacy="committed")
    leave(service, model, 0)
    used: list[tuple[Rows, int]] = []

    def cheat(key: CommitmentKey, opening: Opening, values: FrArray, *, threads: int = 1) -> Opening:
        other, seed = values.copy(), bytes(32)
        other[0], other[1] = values[1], values[0]
        used.append((key.rows, len(values)))
        with Secrets() as secret:
            old = key.opened(opening, values, secret, threads)
            new = key.committed(other, seed, secret, threads)
            link = Link(new.root, renew(key.rows, old, new, secret=secret))
        return replace(opening, renewals=(Renewed(link, seed),))

    monkeypatch.setattr(CommitmentKey, "renew", cheat)
    proof = service.api.create_proof(model.id, INPUT)
    work_on(service.runtime, proof.id)
    problem = service.api.get_proof(proof.id).problem
    assert problem is not None
    assert problem["code"] == "statement.openings"
    (root,) = (root for root in service.roots() if root.owner == model.id and root.depth)
    sealed = encryption.get(service.runtime, f"root:{root.root}", root.opening or "")
    links = [each.link for each in Opening.from_bytes(sealed).renewals]
    assert chain.end(*used[0], bytes.fromhex(model.commitment or ""), links) is None


def test_long_proofs_lie_in_the_store(service: Service, committed: Model) -> None:
    document = service.made(committed, INPUT)
    proof = next(service.api.proofs())
    with service.runtime.database.read() as session:
        row = session.get_one(Proof, proof.id)
    assert row.proofs is not None
    assert "proofs" not in (row.document or {})
    assert json.loads(service.runtime.store.get(row.proofs)) == document["proofs"]
    assert checked(ProofDocument, document).statement_sha256 == document["statement_sha256"]
    assert proof.values
    service.api.delete_proof(proof.id)
    assert service.runtime.store.missing({row.proofs})


def test_after_a_restore_nothing_is_proven(service: Service) -> None:
    """Not about a commitment; proofs of public networks go on."""
    model = service.registered(weight_privacy="committed")
    shown = service.registered()
    with service.runtime.database.write() as session:
        session.get_one(Ledger, 1).spent -= 1
    proof = service.api.create_proof(model.id, INPUT)
    work_on(service.runtime, proof.id)
    problem = service.api.get_proof(proof.id).problem
    assert problem is not None
    assert problem["code"] == "conflict.restored"
    service.made(shown, INPUT)
    openings.retire(service.runtime)
    with pytest.raises(ApiError) as refused:
        service.api.create_proof(model.id, INPUT)
    assert (refused.value.status, refused.value.code) == (409, "conflict.retired")
    again = service.registered(weight_privacy="committed", parent_id=model.id)
    assert service.judged(service.made(again, INPUT)).valid


def test_there_are_no_ceremonies(service: Service) -> None:
    with pytest.raises(ApiError, match="there are no ceremonies for keys of spartan-bls12-381"):
        service.api.create_model(
            tiny_onnx(), tiny_calibration(), system=Spartan.id, require_ceremony=True, weight_privacy="public"
        )
    model = service.registered(tiny_onnx(hidden=3))
    with pytest.raises(ApiError, match="ceremon"):
        service.api.open_ceremony(model.id, [{"scheme": "inference"}])


def test_a_key_of_groth16_goes_with_no_circuit(shared_url: str, model: Model) -> None:
    with Client(shared_url) as api, pytest.raises(ApiError) as refused:
        api.get_circuit_of_key(model.verification_key_id or "")
    assert refused.value.status == 404
