"""Ceremonies over HTTP: from their opening by way of contributors and a beacon to proofs with their keys."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.circuits.test_several import model as several
from tests.circuits.test_several import samples
from tests.service.ceremonies import (
    VALUE,
    accepted,
    contribute,
    extends,
    fetched,
    finish,
    made,
    open_for,
    powers_of_two_people,
)
from tests.service.conftest import open_runtime
from tests.service.support import (
    labelled,
    serving,
    tiny_calibration,
    tiny_onnx,
    work_on,
    work_on_all,
    working,
)
from zenserve.client import ApiError, Client, Model
from zenserve.client.resources import Ceremony, CircuitFields
from zenserve.kernels import g1
from zenserve.prover.constraint_file import load_statement
from zenserve.prover.groth16 import ceremony, powers_of_tau
from zenserve.prover.groth16.ceremony import Beacon, State
from zenserve.prover.groth16.iden3.ptau import read_ptau, write_ptau
from zenserve.service import keys, powers
from zenserve.service.runtime import Runtime
from zenserve.service.scheduler.retention import forget
from zenserve.service.storage.repositories import Ceremonies, Contributions, Models, stored
from zenserve.verifier.documents import KeyFile, ProofDocument
from zenserve.verifier.keys import opened

MAX_BODY_BYTES = 8 << 20
INPUT = [0.1, 0.2, 0.3, 0.4]
SHARD = 3
FORMS: tuple[CircuitFields, ...] = (
    {"scheme": "registration"},
    {"scheme": "inference"},
    {"scheme": "accuracy", "shard_size": SHARD},
)


@pytest.fixture(scope="module")
def powers_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("powers") / "p.ptau"
    write_ptau(file, powers_of_tau.generate(9))
    return file


@pytest.fixture(scope="module")
def _powers_of_two_people() -> Iterator[None]:
    with powers_of_two_people():
        yield


@pytest.fixture(scope="module")
def begun(
    powers_file: Path, tmp_path_factory: pytest.TempPathFactory, _powers_of_two_people: None
) -> tuple[Path, str, str]:
    """A data directory with a model and an open ceremony for its inference, to be copied; their ids."""
    folder = tmp_path_factory.mktemp("begun") / "data"
    runtime = open_runtime(folder, max_body_bytes=MAX_BODY_BYTES)
    powers.import_powers(runtime, powers_file, read_ptau(powers_file))
    with serving(runtime) as url, Client(url) as client:
        model = registered(runtime, client)
        held = open_for(runtime, client, model, [{"scheme": "inference"}])
    runtime.close()
    return folder, model.id, held.id


@pytest.fixture
def runtime(begun: tuple[Path, str, str], tmp_path: Path) -> Iterator[Runtime]:
    shutil.copytree(begun[0], tmp_path / "data")
    runtime = open_runtime(tmp_path / "data", max_body_bytes=MAX_BODY_BYTES)
    yield runtime
    runtime.close()


@pytest.fixture
def api(runtime: Runtime) -> Iterator[Client]:
    with serving(runtime) as url, Client(url, retry_seconds=0) as client:
        yield client


@pytest.fixture
def model(begun: tuple[Path, str, str], api: Client) -> Model:
    return api.get_model(begun[1])


@pytest.fixture
def held(begun: tuple[Path, str, str], api: Client) -> Ceremony:
    return api.get_ceremony(begun[2])


def registered(runtime: Runtime, api: Client, **how: object) -> Model:
    model = api.create_model(tiny_onnx(), tiny_calibration(), weight_privacy="committed", **how)  # type: ignore[arg-type]
    work_on(runtime, model.id)
    return api.get_model(model.id)


def of_one_party(runtime: Runtime, ceremony_id: str) -> None:
    """Nobody contributed to its powers of tau."""
    with runtime.database.write() as session:
        Ceremonies(session).get(ceremony_id).powers_contributions = 0


def refusal(call: Callable[[], object]) -> ApiError:
    with pytest.raises(ApiError) as error:
        call()
    return error.value


def test_three_contributors_and_a_beacon(
    runtime: Runtime, api: Client, model: Model, tmp_path: Path, powers_file: Path
) -> None:
    """Registration, inference and accuracy of one model, their keys made in one ceremony."""
    before = api.create_proof(model.id, INPUT)
    work_on(runtime, before.id)
    held = open_for(runtime, api, model, FORMS)
    assert [circuit["scheme"] for circuit in held.circuits or []] == ["registration", "inference", "accuracy"]
    hashes = [
        contribute(runtime, api, held.id, name, tmp_path).hashes or [] for name in ("Ada", "Emmy", "Sofja")
    ]
    held = finish(runtime, api, held.id)
    assert (held.phase, held.beacon, held.contributors_to_powers) == ("finished", VALUE, 2)
    assert held.setup == "ceremony"
    names = [each["name"] for each in held.contributions or []]
    assert names == ["Ada", "Emmy", "Sofja", Beacon(bytes.fromhex(VALUE), 2).name]

    kept = replace(read_ptau(powers_file), contributions=2)
    assert hashlib.sha256(powers_file.read_bytes()).hexdigest() == held.powers
    keys = {}
    for index, (circuit, state) in enumerate(
        zip(held.circuits or [], fetched(api, held, tmp_path), strict=True)
    ):
        key = KeyFile.model_validate(api.get_verification_key(circuit["verification_key_id"]))
        statement = tmp_path / "statement"
        statement.write_bytes(api.get_ceremony_file(held.id, circuit["statement"]))
        made_again = ceremony.finish(state, load_statement(statement), kept)
        assert made_again.verifying_key == opened(key).verifying
        assert [hash_.hex() for hash_ in made_again.verifying_key.contributions][:3] == [
            each[index] for each in hashes
        ]
        keys[circuit["scheme"]] = key

    assert api.get_model(model.id).setup == "ceremony"
    proof = api.create_proof(model.id, INPUT)
    work_on(runtime, proof.id)
    accepted(ProofDocument.model_validate(api.get_proof_document(proof.id)), keys["inference"])
    dataset = api.create_dataset(model.id, *labelled(5), privacy="public", shard_size=SHARD)
    work_on(runtime, dataset.id)
    accuracy = api.create_proof(model.id, scheme="accuracy", dataset_id=dataset.id)
    work_on_all(runtime, accuracy.id)
    accepted(ProofDocument.model_validate(api.get_proof_document(accuracy.id)), keys["accuracy"])
    version = registered(runtime, api, parent_id=model.id, require_ceremony=True)
    accepted(ProofDocument.model_validate(api.get_registration(version.id)), keys["registration"])
    earlier = ProofDocument.model_validate(api.get_proof_document(before.id))
    assert earlier.statement.verification_key.setup == "development"
    assert api.verify(earlier.model_dump(mode="json")).valid


def test_a_stale_contribution_is_told_to_fetch_again(
    runtime: Runtime, api: Client, held: Ceremony, tmp_path: Path
) -> None:
    stale = made(fetched(api, held, tmp_path), "Eve", tmp_path)
    contribute(runtime, api, held.id, "Ada", tmp_path)
    refused = refusal(lambda: api.create_contribution(held.id, extends(held), stale))
    assert (refused.status, refused.code) == (409, "conflict.stale")
    assert "fetch" in refused.detail
    gone = refusal(lambda: api.get_ceremony_file(held.id, extends(held)[0]))
    assert gone.status == 404


def test_one_is_verified_at_a_time(runtime: Runtime, api: Client, held: Ceremony, tmp_path: Path) -> None:
    states = fetched(api, held, tmp_path)
    first = api.create_contribution(held.id, extends(held), made(states, "Ada", tmp_path))
    second = made(states, "Emmy", tmp_path)
    refused = refusal(lambda: api.create_contribution(held.id, extends(held), second))
    assert (refused.status, refused.code) == (409, "conflict.contribution")
    assert refusal(lambda: api.close_ceremony(held.id, "drand")).code == "conflict.contribution"
    assert api.cancel_contribution(first.id).state == "canceled"
    taken = api.create_contribution(held.id, extends(held), second)
    work_on(runtime, taken.id)
    assert [each["name"] for each in api.get_ceremony(held.id).contributions or []] == ["Emmy"]
    with runtime.database.read() as session:
        assert Contributions(session).over_with_handed()
    forget(runtime)
    with runtime.database.read() as session:
        assert not Contributions(session).over_with_handed()


def test_the_same_request_again_is_the_same_contribution(
    runtime: Runtime, api: Client, held: Ceremony, tmp_path: Path
) -> None:
    files = made(fetched(api, held, tmp_path), "Ada", tmp_path)
    first, again = (
        api.create_contribution(held.id, extends(held), files, idempotency_key="once") for _ in range(2)
    )
    assert first.id == again.id


def test_what_has_another_size_is_not_even_read(api: Client, held: Ceremony) -> None:
    refused = refusal(lambda: api.create_contribution(held.id, extends(held), [b"no state"]))
    assert (refused.status, refused.code, refused.field) == (422, "request.size", "states.0.sha256")


def shams(state: State, folder: Path) -> Iterator[tuple[str, Path]]:
    """Files of the right size that are no contribution to ``state``, which has two; and why."""
    (folder / "zeros").write_bytes(bytes(state.file_bytes(3)))
    yield "file.magic", folder / "zeros"
    honest = ceremony.contribute(state, "Eve")
    ic = honest.ic.copy()
    ic[1] = g1.add(ic[1:2], g1.generator[None])[0]
    replace(honest, ic=ic).save(folder / "ic")
    yield "ceremony.origin", folder / "ic"
    private = honest.private.copy()
    private[0] = g1.add(private[:1], g1.generator[None])[0]
    replace(honest, private=private).save(folder / "private")
    yield "ceremony.key", folder / "private"
    first, *others = honest.contributions
    replace(honest, contributions=(others[0], first, *others[1:])).save(folder / "order")
    yield "ceremony.contribution", folder / "order"
    ceremony.add_beacon(state, Beacon(bytes(32), 0)).save(folder / "beacon")
    yield "ceremony.beacon", folder / "beacon"


def test_forgeries_are_refused_and_others_go_on(
    runtime: Runtime, api: Client, held: Ceremony, tmp_path: Path
) -> None:
    start = fetched(api, held, tmp_path)[0]
    for name in ("Ada", "Emmy"):
        contribute(runtime, api, held.id, name, tmp_path)
    held = api.get_ceremony(held.id)
    state = fetched(api, held, tmp_path)[0]

    alone = start
    for _ in range(3):
        alone = ceremony.contribute(alone, "Eve")
    alone.save(tmp_path / "alone")
    for code, file in [*shams(state, tmp_path), ("ceremony.extends", tmp_path / "alone")]:
        sham = api.create_contribution(held.id, extends(held), [file.read_bytes()])
        work_on(runtime, sham.id)
        sham = api.get_contribution(sham.id)
        assert (sham.state, (sham.problem or {})["code"]) == ("failed", code)
    assert extends(api.get_ceremony(held.id)) == extends(held)
    contribute(runtime, api, held.id, "Sofja", tmp_path)


def test_all_circuits_under_one_name(runtime: Runtime, api: Client, model: Model, tmp_path: Path) -> None:
    held = open_for(runtime, api, model, [{"scheme": "inference"}, {"scheme": "registration"}])
    states = fetched(api, held, tmp_path)
    files = [*made(states[:1], "Ada", tmp_path), *made(states[1:], "Eve", tmp_path)]
    for handed in (files[:1], files[:1] * 2):
        given = extends(held)[: len(handed)]
        refused = refusal(partial(api.create_contribution, held.id, given, handed))
        assert refused.status == 422
        assert (refused.field or "").startswith("states")
    mixed = api.create_contribution(held.id, extends(held), files)
    work_on(runtime, mixed.id)
    assert (api.get_contribution(mixed.id).problem or {})["code"] == "ceremony.name"


def test_phases_follow_each_other(runtime: Runtime, api: Client, held: Ceremony, tmp_path: Path) -> None:
    wrong = "conflict.ceremony_phase"
    assert refusal(lambda: api.close_ceremony(held.id, "drand")).code == wrong  # nobody has contributed
    assert refusal(lambda: api.finish_ceremony(held.id, VALUE)).code == wrong
    contribute(runtime, api, held.id, "Ada", tmp_path)
    api.close_ceremony(held.id, "drand, round 1")
    assert refusal(lambda: api.close_ceremony(held.id, "drand, round 2")).code == wrong
    late = made(fetched(api, api.get_ceremony(held.id), tmp_path), "Eve", tmp_path)
    now = extends(api.get_ceremony(held.id))
    assert refusal(lambda: api.create_contribution(held.id, now, late)).code == wrong
    of_one_party(runtime, held.id)
    assert api.get_ceremony(held.id).setup == "development"
    refused = refusal(lambda: api.finish_ceremony(held.id, VALUE))
    assert (refused.status, refused.code) == (422, "ceremony.no_contributions")
    assert refused.field == "development"
    closing = api.finish_ceremony(held.id, VALUE, development=True)
    work_on(runtime, closing.id)
    assert api.get_ceremony(held.id).phase == "finished"
    assert refusal(lambda: api.finish_ceremony(held.id, VALUE)).code == wrong
    api.delete_ceremony(held.id)
    assert refusal(lambda: api.get_ceremony(held.id)).status == 404
    assert refusal(lambda: api.get_contribution(closing.id)).status == 404


def test_downloads_are_taken_up_where_they_broke_off(
    api: Client, held: Ceremony, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = extends(held)[0]
    whole = api.get_ceremony_file(held.id, state)
    monkeypatch.setattr("zenserve.client.ceremonies._PIECE_BYTES", len(whole) // 3)
    assert api.get_ceremony_file(held.id, state) == whole
    path, wanted = f"/v1/ceremonies/{held.id}/files/{state}", {"Range": "bytes=5-"}
    part = api._http.get(path, headers=wanted)
    assert (part.status_code, part.content, part.headers["ETag"]) == (206, whole[5:], f'"{state}"')
    for none in (f"bytes={len(whole)}-", "bytes=7-6", "bytes=-5", "bytes=0-1,3-4", "lines=1-2"):
        beyond = api._http.get(path, headers={"Range": none})
        assert (beyond.status_code, beyond.json()["code"]) == (416, "request.range")


def test_a_service_without_powers_holds_no_ceremony(url: str, prepared: tuple[Path, Model]) -> None:
    with Client(url) as client:
        refused = refusal(lambda: client.open_ceremony(prepared[1].id, [{"scheme": "inference"}]))
    assert (refused.status, refused.code) == (409, "conflict.powers")
    assert "zenserve basis import" in refused.detail


@pytest.mark.parametrize(
    ("circuit", "field"),
    [
        ({}, "circuits.0"),
        ({"scheme": "registration", "reveal": "label"}, "circuits.0"),
        ({"scheme": "accuracy"}, "circuits.0"),
        ({"scheme": "inference", "reveal": "top"}, "circuits.0"),
        ({"scheme": "inference", "reveal": "range"}, "circuits.0"),
        ({"scheme": "inference", "reveal": "threshold", "bounds": 2}, "circuits.0"),
        ({"scheme": "inference", "verification_key_id": "5d"}, "circuits.0"),
        ({"scheme": "inference", "reveal": "label", "outputs": {"y": "label"}}, "circuits.0"),
        ({"scheme": "inference", "input_privacy": {"image": "public"}}, "circuits.0"),
        ({"verification_key_id": "5d" * 32}, "verification_key_id"),
    ],
)
def test_circuits_that_are_none(api: Client, model: Model, circuit: CircuitFields, field: str) -> None:
    refused = refusal(lambda: api.open_ceremony(model.id, [circuit]))
    assert refused.status in (404, 422)
    assert refused.field == field


def test_a_circuit_by_its_key_and_not_twice(runtime: Runtime, api: Client, model: Model) -> None:
    by_key: CircuitFields = {"verification_key_id": model.verification_key_id or ""}
    held = open_for(runtime, api, model, [by_key])
    assert (held.circuits or [])[0]["form"]["reveal"] == "label"
    twice = api.open_ceremony(model.id, [by_key, {"scheme": "inference"}])
    work_on(runtime, twice.id)
    twice = api.get_ceremony(twice.id)
    assert (twice.state, twice.phase) == ("failed", "opening")
    assert (twice.problem or {})["field"] == "circuits"


def test_a_circuit_by_what_is_public_and_shown_of_several(
    runtime: Runtime, api: Client, run: Any, tmp_path: Path
) -> None:
    np.savez(tmp_path / "c.npz", allow_pickle=False, **samples())
    model = api.create_model(several(), (tmp_path / "c.npz").read_bytes(), weight_privacy="public")
    work_on(runtime, model.id)
    circuit = "inference:input_privacy=mask=public,input_privacy=image=private,outputs=shifted=values"
    options = ("--circuit", circuit, "--no-wait", "--field", "id")
    ceremony_id = str(run("open", model.id, *options)[1]).strip()
    work_on(runtime, ceremony_id)
    held = (api.get_ceremony(ceremony_id).circuits or [])[0]
    own: Any = {name.replace("::", "__"): {"values": each[0].tolist()} for name, each in samples().items()}
    own["mask"]["privacy"] = "public"
    proof = api.create_proof(model.id, inputs=own, outputs={"shifted": "values"})
    work_on(runtime, proof.id)
    key = api.get_verification_key(str(api.get_proof(proof.id).verification_key_id))
    assert held["form"] == keys.form_of(key["circuit"])
    wrong: Any
    for wrong in ({"input_privacy": {"other": "public"}}, {"outputs": {"other": "values"}}):
        refused = refusal(partial(api.open_ceremony, model.id, [{"scheme": "inference"} | wrong]))
        assert (refused.status, refused.field) == (422, "circuits.0")


def test_powers_that_are_too_few(runtime: Runtime, api: Client, model: Model) -> None:
    large = api.open_ceremony(model.id, [{"scheme": "accuracy", "shard_size": 50}])
    work_on(runtime, large.id)
    assert (api.get_ceremony(large.id).problem or {})["code"] == "ceremony.powers_too_small"


def test_a_ceremony_that_nobody_could_contribute_to_is_not_opened(
    runtime: Runtime, api: Client, model: Model
) -> None:
    large = api.open_ceremony(model.id, [{"scheme": "inference"}])
    work_on(replace(runtime, settings=runtime.settings.model_copy(update={"max_body_bytes": 1000})), large.id)
    problem = api.get_ceremony(large.id).problem or {}
    assert (problem["code"], problem["field"]) == ("request.too_large", "circuits")


def test_files_of_another_ceremony_at_the_same_state_stay(
    runtime: Runtime, api: Client, model: Model, held: Ceremony
) -> None:
    other = open_for(runtime, api, model, [{"scheme": "inference"}])
    assert extends(other) == extends(held)
    api.delete_ceremony(held.id)
    runtime.store.delete_others(_stored(runtime), age_seconds=-60.0)
    assert api.get_ceremony_file(other.id, extends(other)[0])
    assert api.get_ceremony_file(other.id, other.powers)


def _stored(runtime: Runtime) -> set[str]:
    with runtime.database.read() as session:
        return stored(session)


def test_a_model_can_require_a_ceremony(
    runtime: Runtime, api: Client, model: Model, held: Ceremony, tmp_path: Path
) -> None:
    """Then no development key makes a proof of it: neither at the door, nor in a worker."""
    queued = api.create_proof(model.id, INPUT)
    assert api.change_model(model.id, require_ceremony=True).require_ceremony
    work_on(runtime, queued.id)
    assert (api.get_proof(queued.id).problem or {})["code"] == "conflict.ceremony"
    for ask in (api.create_proof, api.dry_run):
        refused = refusal(partial(ask, model.id, INPUT))
        assert (refused.status, refused.code) == (409, "conflict.ceremony")
        assert "POST /v1/ceremonies" in refused.detail

    contribute(runtime, api, held.id, "Ada", tmp_path)
    finish(runtime, api, held.id)
    proof = api.create_proof(model.id, INPUT)
    work_on(runtime, proof.id)
    statement = api.get_proof_document(proof.id)["statement"]
    assert statement["verification_key"]["setup"] == "ceremony"
    assert refusal(lambda: api.create_proof(model.id, INPUT, reveal="logits")).code == "conflict.ceremony"
    folding = api.create_proof(model.id, INPUT, fold_inputs=True)  # two inputs: the same circuit
    work_on(runtime, folding.id)
    assert api.get_proof(folding.id).verification_key_id == statement["verification_key"]["id"]
    shown = partial(api.create_proof, model.id, INPUT, input_privacy="public", fold_inputs=True)
    assert refusal(shown).code == "conflict.ceremony"
    dataset = api.create_dataset(model.id, *labelled(3), privacy="public", shard_size=SHARD)
    work_on(runtime, dataset.id)
    refused = refusal(lambda: api.create_proof(model.id, scheme="accuracy", dataset_id=dataset.id))
    assert refused.code == "conflict.ceremony"
    _rename_system(runtime, model.id, "another")  # whose ceremony is none of this one's
    assert refusal(lambda: api.create_proof(model.id, INPUT)).code == "conflict.ceremony"
    _rename_system(runtime, model.id, model.system)
    assert not api.change_model(model.id, require_ceremony=False).require_ceremony
    api.create_proof(model.id, INPUT, reveal="logits")


def _rename_system(runtime: Runtime, model_id: str, system: str) -> None:
    with runtime.database.write() as session:
        Models(session).get(model_id).system = system


def test_a_model_that_requires_one_is_registered_with_its_keys_alone(
    runtime: Runtime, api: Client, model: Model
) -> None:
    version = registered(runtime, api, parent_id=model.id, require_ceremony=True)
    assert version.require_ceremony
    assert (version.state, (version.problem or {})["code"]) == ("failed", "conflict.ceremony")


@pytest.fixture
def run(run: Any, api: Client, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Of ``zenserve ceremonies``."""
    monkeypatch.setenv("ZENSERVE_URL", str(api._http.base_url))
    return partial(run, "ceremonies")


def test_from_the_command_line(run: Any, runtime: Runtime, model: Model, tmp_path: Path) -> None:
    named = f"inference:reveal=top,top=2,input_privacy=public --circuit {model.verification_key_id}"
    code, out, _ = run("open", model.id, "--no-wait", "--field", "id", "--circuit", *named.split())
    assert code == 0
    ceremony_id = out.strip()
    work_on(runtime, ceremony_id)
    of_one_party(runtime, ceremony_id)
    with working(runtime):
        code, out, err = run("join", ceremony_id, "--name", "[red]Ada")
        assert (code, "[red]Ada" in out) == (0, True), err
        assert err.startswith("note nobody contributed to these powers of tau"), err
        hashes = [line.split()[-1] for line in out.splitlines() if line.split()[0] == "hash"]
        assert run("close", ceremony_id, "--beacon", "drand, round 1")[0] == 0
        assert run("join", ceremony_id, "--name", "Eve")[0] == 2
        code, _, err = run("finish", ceremony_id, "--value", VALUE)
        assert (code, "ceremony.no_contributions" in err) == (2, True), err
        assert run("finish", ceremony_id, "--value", VALUE, "--development")[0] == 0
    code, out, _ = run("show", ceremony_id)
    assert code == 0
    assert all(hash_ in out for hash_ in hashes)
    assert "finished" in out
    assert ceremony_id in run("list")[1]
    assert run("fetch", ceremony_id, "-o", tmp_path / "all")[0] == 0
    for index in range(2):
        state = State.load(tmp_path / f"all/{index}.state")
        statement = load_statement(tmp_path / f"all/{index}.stmt")
        kept = replace(read_ptau(tmp_path / "all/powers.ptau"), contributions=2)
        ceremony.verify(state, statement, kept)
    assert run("delete", ceremony_id)[0] == 0
