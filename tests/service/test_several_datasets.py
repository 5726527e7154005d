"""Accuracies of models of several inputs through the service: datasets of named arrays, proofs on them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import masked_texts
from tests.masked_texts import CLASSES, LENGTH, WORDS, as_npz, scores, texts
from tests.service.conftest import open_runtime
from tests.service.support import npy, serving, work_on, work_on_all
from tests.service.test_measures import network
from zenserve.circuits.schemes.audit import recompile
from zenserve.client import ApiError, Client, Model
from zenserve.service.dashboard.layers import layers
from zenserve.service.dashboard.results import result
from zenserve.service.runtime import Runtime
from zenserve.verifier.command import main as verify
from zenserve.verifier.datasets import LabelledData
from zenserve.verifier.documents import KeyFile, OpeningFile, ProofDocument, checked
from zenserve.verifier.judging import Known, Verification, judge
from zenserve.verifier.registry import SYSTEMS
from zenserve.verifier.spartan.system import SpartanVerifier

GIVEN, SIZE = texts(5, seed=3), 5
LABELS = (scores(GIVEN).argmax(axis=1) + np.array([1, 0, 0, 0, 0])) % CLASSES  # the first is another
DATA = LabelledData.of(GIVEN, LABELS)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Runtime, Client]]:
    runtime = open_runtime(tmp_path_factory.mktemp("texts") / "data")
    with serving(runtime) as url, Client(url) as client:
        yield runtime, client
    runtime.close()


@pytest.fixture(scope="module")
def model(service: tuple[Runtime, Client]) -> Model:
    return registered(service, "groth16-bls12-381")


def registered(service: tuple[Runtime, Client], system: str) -> Model:
    runtime, api = service
    ranges = {"ids": (0, WORDS - 1)}
    made = api.create_model(masked_texts.network(), as_npz(**texts(16)), ranges=ranges, system=system)
    work_on_all(runtime, made.id)
    found = api.get_model(made.id)
    assert found.state == "succeeded", found.problem
    return found


def added(
    service: tuple[Runtime, Client], model: Model, samples: bytes, labels: bytes | None = None, **more: Any
) -> Any:
    runtime, api = service
    options: dict[str, Any] = {"privacy": "public", "shard_size": 3} | more
    dataset = api.create_dataset(model.id, samples, labels, **options)
    work_on(runtime, dataset.id)
    found = api.get_dataset(dataset.id)
    assert found.state == "succeeded", found.problem
    return found


def proven(service: tuple[Runtime, Client], model: Model, **asked: Any) -> tuple[ProofDocument, KeyFile]:
    runtime, api = service
    proof = api.create_proof(model.id, scheme="accuracy", **asked)
    work_on_all(runtime, proof.id)
    done = api.get_proof(proof.id)
    assert done.state == "succeeded", done.problem
    document = api.get_proof_document(proof.id)
    key = api.get_verification_key(str(done.verification_key_id))
    answer = result(document, key["circuit"]).answer
    assert answer in document["statement"]["claim"] or "measure" not in key["circuit"]
    again = recompile(network(runtime, model), key["circuit"]).describe()
    assert json.loads(json.dumps(again)) == key["circuit"]
    return checked(ProofDocument, document), checked(KeyFile, key)


def judged(
    made: tuple[ProofDocument, KeyFile],
    samples: Mapping[str, Any],
    opening: OpeningFile | None = None,
    circuit: bytes | None = None,
) -> Verification:
    """``circuit``: that of a key which only names it."""
    known, systems = Known(dataset=LabelledData.of(samples, LABELS), openings=opening), SYSTEMS
    if circuit is not None:
        verifier = SpartanVerifier()
        verifier.take_circuit(circuit)
        systems = {verifier.id: verifier}
    return judge(*made, known=known, systems=systems)


def exchanged() -> dict[str, Any]:
    """A text's parts in each other's place: both are whole numbers of the same shape."""
    return {"ids": GIVEN["mask"], "mask": GIVEN["ids"]}


def test_a_public_dataset_in_shards(service: tuple[Runtime, Client], model: Model) -> None:
    dataset = added(service, model, as_npz(labels=LABELS, **GIVEN))
    assert (dataset.size, dataset.sha256) == (SIZE, DATA.in_order(["ids", "mask"]).sha256.hex())
    assert [shard["size"] for shard in dataset.shards] == [3, 2]
    asked: dict[str, Any] = {"dataset_id": dataset.id}
    tried = service[1].dry_run(model.id, scheme="accuracy", **asked)
    assert tried.values == {"correct": 4, "size": SIZE}
    made = proven(service, model, **asked)
    assert made[0].statement.values == tried.values
    assert "4 of 5 labels" in made[0].statement.claim
    assert judged(made, GIVEN).valid
    assert service[1].verify(made[0].model_dump(mode="json")).valid
    for other in (exchanged(), {**GIVEN, "mask": np.ones((SIZE, LENGTH))}, {"ids": GIVEN["ids"]}):
        assert judged(made, other).reason == "dataset_mismatch"
    said = made[1].circuit
    assert [kind["name"] for kind in said["quantisation"]["inputs"]] == ["ids", "mask"]
    assert {layer.name for layer in layers(said, None)} > {"input/ids", "input/mask"}
    counted, _ = proven(service, model, **asked, measure="f1")
    assert "F1" in counted.statement.claim


@pytest.mark.parametrize(
    "system", ["groth16-bls12-381", pytest.param("spartan-bls12-381", marks=pytest.mark.large)]
)
def test_a_private_dataset_opens_to_who_has_it(
    service: tuple[Runtime, Client], model: Model, system: str
) -> None:
    own = model if system.startswith("groth16") else registered(service, system)
    dataset = added(service, own, as_npz(**GIVEN), npy(LABELS), privacy="private")
    assert dataset.sha256 is None
    _, key = made = proven(service, own, dataset_id=dataset.id)
    opening = checked(OpeningFile, service[1].get_dataset_opening(dataset.id))
    circuit = None if own is model else service[1].get_circuit_of_key(key.id)
    assert judged(made, GIVEN, opening, circuit).valid
    assert judged(made, exchanged(), opening, circuit).reason == "dataset_mismatch"
    assert judged(made, GIVEN, None, circuit).reason == "dataset_mismatch"


def test_errors_against_targets(service: tuple[Runtime, Client], model: Model) -> None:
    targets = scores(GIVEN).astype(np.float64)
    dataset = added(service, model, as_npz(**GIVEN), targets=npy(targets))
    document, key = proven(service, model, dataset_id=dataset.id, measure="r2")
    data = LabelledData.with_targets(GIVEN, targets)
    assert judge(document, key, known=Known(dataset=data)).valid
    assert dataset.sha256 == data.sha256.hex()


def test_every_kind_of_file_has_the_same_samples(service: tuple[Runtime, Client], model: Model) -> None:
    lists = {name: each.tolist() for name, each in GIVEN.items()}
    names = [f"{name}{place}" for name in GIVEN for place in range(LENGTH)]
    rows = np.concatenate([*GIVEN.values(), LABELS[:, None]], axis=1)
    csv = "\n".join([",".join([*names, "label"]), *(",".join(map(str, row)) for row in rows)])
    ezkl = {"input_data": [each.ravel().tolist() for each in GIVEN.values()]}
    for samples, labels in (
        (json.dumps(lists | {"labels": LABELS.tolist()}), None),
        (json.dumps(lists | {"more": [1]}), json.dumps(LABELS.tolist()).encode()),
        (csv, None),
        (json.dumps(ezkl), npy(LABELS)),
    ):
        found = added(service, model, samples.encode(), labels, shard_size=SIZE)
        assert found.sha256 == DATA.sha256.hex()


IDS, MASK = GIVEN.values()


@pytest.mark.parametrize(
    ("samples", "labels", "code", "field", "said"),
    [
        ({"ids": IDS}, LABELS, "input.unreadable", "samples", "no array for the input 'mask'"),
        ({"ids": IDS, "mask": MASK[1:]}, LABELS, "input.shape", "samples", "samples.mask have"),
        ({"ids": IDS, "mask": MASK[:, 1:]}, LABELS, "input.shape", "samples", "samples.mask[0]"),
        (GIVEN, LABELS[1:], "input.shape", "samples", "samples.ids have"),
        (GIVEN, LABELS + 3, "input.out_of_range", "labels", "is no class"),
        (exchanged(), LABELS, "input.out_of_range", "samples", "samples.mask: "),
    ],
)
def test_what_does_not_fit_is_refused(
    service: tuple[Runtime, Client],
    model: Model,
    samples: Mapping[str, Any],
    labels: Any,
    code: str,
    field: str,
    said: str,
) -> None:
    with pytest.raises(ApiError) as refused:
        service[1].create_dataset(model.id, as_npz(**samples), npy(labels), privacy="public")
    assert (refused.value.code, refused.value.field) == (code, field)
    assert said in refused.value.detail


def test_one_array_is_of_no_input(service: tuple[Runtime, Client], model: Model) -> None:
    with pytest.raises(ApiError) as refused:
        service[1].create_dataset(model.id, npy(GIVEN["ids"]), npy(LABELS), privacy="public")
    assert (refused.value.code, refused.value.field) == ("input.unreadable", "samples")
    assert "ids, mask" in refused.value.detail


def test_labels_near_samples_are_certified_of_one_input(
    service: tuple[Runtime, Client], model: Model
) -> None:
    _, api = service
    with pytest.raises(ApiError) as refused:
        api.create_dataset(
            model.id, as_npz(labels=LABELS, **GIVEN), privacy="public", shard_size=2, measure="certified"
        )
    assert refused.value.code == "statement.several"
    dataset = added(service, model, as_npz(labels=LABELS, **GIVEN))
    with pytest.raises(ApiError) as refused:
        api.create_proof(model.id, scheme="accuracy", dataset_id=dataset.id, measure="certified", radius=1)
    assert refused.value.code == "statement.several"


def test_the_commands_take_files_of_named_arrays(
    service: tuple[Runtime, Client],
    model: Model,
    run: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    runtime, api = service
    monkeypatch.setenv("ZENSERVE_URL", str(api._http.base_url))
    file, proof, key = (tmp_path / name for name in ("held-out.npz", "proof.json", "key.json"))
    file.write_bytes(as_npz(labels=LABELS, **GIVEN))
    code, said, err = run(
        "datasets", "add", model.id, file, "--privacy", "public", "--no-wait", "--field", "id"
    )
    assert code == 0, err
    work_on(runtime, said.strip())
    made = proven(service, model, dataset_id=said.strip())
    proof.write_text(made[0].model_dump_json())
    key.write_text(made[1].model_dump_json())

    def verdict(*arguments: object) -> int:
        code = verify([str(proof), "--key", str(key), *map(str, arguments)])
        capsys.readouterr()
        return code

    assert verdict("--dataset", file) == 0
    (tmp_path / "labels.npy").write_bytes(npy(LABELS))
    (tmp_path / "samples.json").write_text(json.dumps({name: each.tolist() for name, each in GIVEN.items()}))
    assert verdict("--dataset", tmp_path / "samples.json", "--labels", tmp_path / "labels.npy") == 0
    (tmp_path / "other.npz").write_bytes(as_npz(labels=LABELS, **exchanged()))
    assert verdict("--dataset", tmp_path / "other.npz") == 1
    (tmp_path / "one.npz").write_bytes(as_npz(labels=LABELS, samples=GIVEN["ids"]))
    assert verdict("--dataset", tmp_path / "one.npz") == 2
