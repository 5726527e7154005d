"""Keys, descriptions and documents with any field dropped or replaced: a verdict or a clean refusal, always.

The forger of a key makes its id fit, and a statement with the words that follow from its description.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from itertools import permutations
from typing import Any

import pytest

from tests.client.makers import AccuracyMaker, Maker, recognition
from zenserve.errors import FileFormatError
from zenserve.prover.registry import SYSTEMS
from zenserve.verifier import words
from zenserve.verifier.datasets import LabelledData
from zenserve.verifier.description import Description
from zenserve.verifier.documents import KeyFile, ProofDocument, Statement, checked, key_id
from zenserve.verifier.fields import canonical
from zenserve.verifier.judging import Case, Known, Verification, judge, judge_each
from zenserve.verifier.keys import opened
from zenserve.verifier.registry import FIRST

Json = Any
OTHERS: tuple[Json, ...] = (
    None, True, -1, 0, 2, 1 << 33, (1 << 53) + 1, 1.5, "", "x", "٣", "input", "00" * 48, [], [0], ["model"],
    {}, {"name": "match"},
)  # fmt: skip
FEW = 3
"""Of a list's items so many are changed: they are all of a kind."""
CASES = ("registration", "inference", "public inference", "recognition", "accuracy")


@pytest.fixture(scope="module")
def cases(
    registrar: Maker,
    registered: ProofDocument,
    inferrer: Maker,
    inferred: ProofDocument,
    shower: Maker,
    shown: ProofDocument,
    recogniser: Maker,
    inputs: Any,
    assessor: AccuracyMaker,
    assessed: ProofDocument,
) -> dict[str, tuple[ProofDocument, KeyFile]]:
    """A proof of each scheme, and its key with no more of a description than is read."""
    reference = inputs[0].ravel()[:3] % 16
    opening = recogniser.commit(reference)
    recognised = recognition(recogniser, inputs[0], reference, 9, {"reference": opening})
    files = [
        registrar.key_file,
        inferrer.key_file,
        shower.key_file,
        recogniser.key_file,
        assessor.maker.key_file,
    ]
    documents = [registered, inferred, shown, recognised, assessed]
    return dict(zip(CASES, zip(documents, map(shortened, files), strict=True), strict=True))


def shortened(key: KeyFile) -> KeyFile:
    circuit = {name: key.circuit[name] for name in Description.model_fields if name in key.circuit}
    return renamed(key.key, circuit | {"quantisation": {"input": circuit["quantisation"]["input"]}})


def renamed(key: Json, circuit: Json) -> KeyFile:
    """The file of this key and circuit, its id made to fit."""
    return KeyFile(
        id=key_id(FIRST, bytes.fromhex(key["digest"]), circuit), setup=key["setup"], key=key, circuit=circuit
    )


def changed(value: Json) -> Iterator[Json]:
    """``value`` with one part, at any depth, dropped, given twice or replaced."""
    places: list[Any] = list(value) if isinstance(value, dict) else list(range(min(FEW, len(value))))
    for place in places:
        whole = copy.copy(value)
        del whole[place]
        yield whole
        if isinstance(value, list):
            yield [*value, value[place]]
        inner: Iterator[Json] = changed(value[place]) if isinstance(value[place], dict | list) else iter(())
        for other in (*(other for other in OTHERS if other != value[place]), *inner):
            whole = copy.copy(value)
            whole[place] = other
            yield whole


def restated(document: ProofDocument, key: KeyFile) -> ProofDocument:
    """The document with a statement that says what this key's description has it say."""
    circuit = opened(key).circuit
    if any(group.count > 1000 for group in circuit.public_inputs):
        return document
    shown = {
        group.name: [group.minimum] * group.count if group.shape else group.minimum
        for group in circuit.public_inputs[1:]
    }
    said = document.statement
    if circuit.scheme == "accuracy":
        shown = dict(said.values)
    point = next(iter(said.commitments.values()), "97f1" + "00" * 46)
    outside = [name for name in circuit.commitments if name not in ("dataset", "correct")]
    fields = said.model_dump() | {
        "scheme": circuit.scheme,
        "network": circuit.network,
        "values": shown,
        "commitments": {name: said.commitments.get(name, point) for name in outside},
        "claim": words.claim(circuit, shown),
        "does_not_say": words.does_not_say(
            key.proof_system, circuit, key.setup, said.dataset, said.parent, saturates=False
        ),
        "verification_key": key.reference.model_dump(),
    }
    statement = checked(Statement, fields)
    return document.model_copy(update={"statement": statement, "statement_sha256": statement.sha256.hex()})


def outcome(document: ProofDocument, key: KeyFile) -> str:
    """A verdict's reason, or a refusal's code. Anything else is raised."""
    try:
        return judge(restated(document, key), key, systems=SYSTEMS).reason
    except FileFormatError as refusal:
        return refusal.code


@pytest.mark.parametrize("case", CASES)
def test_a_hostile_description(cases: dict[str, tuple[ProofDocument, KeyFile]], case: str) -> None:
    document, key = cases[case]
    assert outcome(document, key) in ("ok", "pairing_mismatch", "knowledge_mismatch")
    seen = set()
    for circuit in changed(key.circuit):
        try:
            hostile = renamed(key.key, circuit)
        except ValueError:  # no integer of JSON
            continue
        seen.add(outcome(document, hostile))
    assert {"file.json", "file.shape"} & seen


@pytest.mark.parametrize("case", CASES)
def test_groups_and_commitments_of_other_schemes(
    cases: dict[str, tuple[ProofDocument, KeyFile]], case: str
) -> None:
    """As many as the key has, of any names: what a proof shows must make sense in its scheme."""
    document, key = cases[case]
    circuit = key.circuit
    names = ("label", "top", "logits", "threshold", "match", "correct", "size", "input", "reference")
    groups = circuit["public_inputs"]
    for chosen in permutations(names, min(len(groups) - 1, 2)):
        renamed_groups = [group | {"name": name} for group, name in zip(groups[1:], chosen, strict=False)]
        outcome(document, renamed(key.key, circuit | {"public_inputs": [groups[0], *renamed_groups]}))
    linked = ("model", "input", "reference", "dataset", "correct")
    for commitments in permutations(linked, len(circuit["commitments"])):
        found = outcome(document, renamed(key.key, circuit | {"commitments": list(commitments)}))
        assert found != "ok" or list(commitments) == circuit["commitments"]


@pytest.mark.parametrize("case", ["inference", "accuracy"])
def test_a_hostile_key(cases: dict[str, tuple[ProofDocument, KeyFile]], case: str) -> None:
    document, key = cases[case]
    for other in changed(key.key):
        with pytest.raises(FileFormatError):
            judge(document, key.model_copy(update={"key": other}), systems=SYSTEMS)


@pytest.mark.parametrize("case", CASES)
def test_a_hostile_document(cases: dict[str, tuple[ProofDocument, KeyFile]], case: str) -> None:
    """Its statement's hash made to fit, where it is a statement."""
    document, key = cases[case]
    seen: set[str] = set()
    for fields in changed(document.model_dump()):
        try:
            made = checked(ProofDocument, fields)
        except FileFormatError as refusal:
            seen.add(refusal.code)
            continue
        hashed = made.model_copy(update={"statement_sha256": made.statement.sha256.hex()})
        seen.update(judge(each, key, systems=SYSTEMS).reason for each in (made, hashed))
    assert "file.json" in seen
    assert "ok" not in seen


def test_a_hostile_key_spoils_no_other_verdict(
    cases: dict[str, tuple[ProofDocument, KeyFile]], inferrer: Maker, inferred: ProofDocument
) -> None:
    """Those that can be read at all."""
    good = Case(inferred, opened(inferrer.key_file, SYSTEMS))
    document, key = cases["accuracy"]
    hostile = []
    for circuit in changed(key.circuit):
        try:
            other = renamed(key.key, circuit)
            hostile.append(Case(restated(document, other), opened(other, SYSTEMS)))
        except (FileFormatError, ValueError):
            continue
    assert hostile
    verdicts: list[Verification] = judge_each([*hostile, good])
    assert verdicts[-1] == judge(inferred, inferrer.key_file, systems=SYSTEMS)
    assert verdicts[-1].valid
    assert json.loads(canonical(verdicts[0]))


@pytest.mark.parametrize(
    ("changes", "shape"),
    [
        ({"batch": 1 << 40}, [1, 3, 3]),
        ({"batch": 1 << 24}, [1, 3, 3]),
        ({"batch": 1}, [1 << 50] * 3),
        ({"batch": 1}, [3] * 100_000),
        ({"batch": 4}, [1, 3, 3]),
        ({"batch": 3}, [1, 3, 2]),
        ({"batch": 3}, [9, 0, 1]),
    ],
    ids=["petabytes", "gigabytes", "large sides", "many sides", "a sample more", "smaller", "nothing"],
)
def test_what_a_description_says_of_sizes_is_held_against_the_key(
    cases: dict[str, tuple[ProofDocument, KeyFile]], changes: dict[str, int], shape: list[int]
) -> None:
    """Else whoever compares a dataset would fill its last shard up with as much as they say."""
    _, key = cases["accuracy"]
    kind = key.circuit["quantisation"]["input"] | {"shape": shape}
    hostile = renamed(key.key, key.circuit | changes | {"quantisation": {"input": kind}})
    with pytest.raises(FileFormatError, match=r"circuit|commitments|shape"):
        opened(hostile)


def test_a_dataset_that_does_not_fit_is_another(
    cases: dict[str, tuple[ProofDocument, KeyFile]], data: LabelledData
) -> None:
    """With labels or samples of another network, and the right hash; the proofs taken for good ones."""
    document, key = cases["accuracy"]
    for samples, labels in ((data.samples, data.labels + 9), (data.samples[..., :2], data.labels)):
        other = LabelledData.of(samples, labels)
        hashed = document.statement.dataset
        assert hashed is not None
        known = Known(dataset=other)
        claimed = document.statement.model_copy(
            update={"dataset": hashed.model_copy(update={"sha256": other.sha256.hex()})}
        )
        case = Case(document.model_copy(update={"statement": claimed}), opened(key), known=known)
        assert case.answer(None).reason == "dataset_mismatch"
