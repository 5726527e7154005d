from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from typing import Any

import pytest
from py_arkworks_bls12381 import G1Point, G2Point, Scalar

from tests.prover import verifiers
from tests.prover.bad_points import bad_points, flip
from tests.prover.statements import COMMITTED_Z, Committed, Example, complete_committed
from tests.refusals import refuses
from zenserve import kernels
from zenserve.errors import FileFormatError
from zenserve.prover import groth16
from zenserve.prover.groth16 import Proof, VerifyingKey
from zenserve.verifier.curve import ARKWORKS
from zenserve.verifier.points import SCALAR_MODULUS as R


def refusal(data: bytes) -> FileFormatError:
    with pytest.raises(FileFormatError) as error:
        VerifyingKey.from_bytes(data)
    return error.value


def test_a_key_survives_its_bytes_and_its_json(example: Example) -> None:
    key = example.verifying_key
    assert len(key.to_bytes()) == 416 + 48 * 3
    assert VerifyingKey.from_bytes(key.to_bytes()) == key
    assert VerifyingKey.from_json(key.to_json()) == key


def test_a_key_says_what_it_is_for(example: Example) -> None:
    key = example.verifying_key
    assert key.setup == "development"
    assert key.to_json()["setup"] == "development"
    assert key.public == example.system.public
    assert key.statement_digest == example.system.digest
    assert key.digest == sha256(key.to_bytes()).digest()


POINT_FIELDS = {"alpha_g1": 80, "beta_g2": 128, "gamma_g2": 224, "delta_g2": 320, "ic[0]": 416, "ic[2]": 512}


@pytest.mark.parametrize("field", POINT_FIELDS)
@pytest.mark.parametrize(
    "fault", ["encoding", "not_canonical", "not_on_curve", "not_in_subgroup", "at_infinity"]
)
def test_bad_points_are_refused_by_fault_and_field(example: Example, field: str, fault: str) -> None:
    length, position = 96 if field.endswith("g2") else 48, POINT_FIELDS[field]
    data = example.verifying_key.to_bytes()
    for bad in bad_points(length)[fault]:
        error = refusal(data[:position] + bad + data[position + length :])
        assert (error.code, error.field) == (f"file.point_{fault}", field)


@pytest.mark.parametrize("ratio", ["2", "-3", "3/4", "1/2"])
def test_public_inputs_must_not_be_in_small_proportion(example: Example, ratio: str) -> None:
    """Else what is proven of two of them is proven of others."""
    key, fraction = example.verifying_key, Fraction(ratio)
    scalar = Scalar(fraction.numerator * pow(fraction.denominator, -1, R) % R)
    other = bytes((G1Point.from_compressed_bytes(key.ic[1]) * scalar).to_compressed_bytes())
    with refuses("file.unsafe_key", "ic[2]", match=r"ic\[2\] and ic\[1\]"):
        replace(key, ic=(*key.ic[:2], other))


@pytest.mark.parametrize("sign", [1, -1])
def test_gamma_and_delta_must_not_be_related(
    example: Example, sign: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under δ = ±γ anyone proves anything; so such a key must not come to life."""
    key = example.verifying_key
    gamma = G2Point.from_compressed_bytes(key.gamma_g2)
    related = (gamma if sign == 1 else -gamma).to_compressed_bytes()
    with refuses("file.unsafe_key"):
        replace(key, delta_g2=related)

    monkeypatch.setattr(VerifyingKey, "_refuse_related_points", lambda _: None)
    broken = replace(key, delta_g2=related)
    for inputs in ([35, 4], [36, 4], [0, 0]):
        sum_of_inputs = G1Point.multiexp_unchecked(
            broken.prepared(ARKWORKS).ic, [Scalar(1), *map(Scalar, inputs)]
        )
        c = -sum_of_inputs if sign == 1 else sum_of_inputs
        forged = Proof(key.alpha_g1, key.beta_g2, c.to_compressed_bytes())
        assert verifiers.verify(broken, inputs, forged).reason == "ok"
        assert verifiers.verify(key, inputs, forged).reason == "pairing_mismatch"


@pytest.mark.parametrize("field", ["beta_g2", "gamma_g2", "delta_g2"])
@pytest.mark.parametrize("point", [G2Point(), -G2Point()], ids=["generator", "negated"])
def test_known_exponents_are_refused(example: Example, field: str, point: G2Point) -> None:
    changes: dict[str, Any] = {field: point.to_compressed_bytes()}
    with refuses("file.unsafe_key", field):
        replace(example.verifying_key, **changes)


def test_other_setups_are_unknown(example: Example) -> None:
    data = example.verifying_key.to_bytes()
    for label in (b"trusted", b"", b"developmenT", b"\xff"):
        error = refusal(data[:16] + label.ljust(16, b"\0") + data[32:])
        assert (error.code, error.field) == ("file.setup_label", "setup")


def test_every_other_length_is_refused(example: Example) -> None:
    data = example.verifying_key.to_bytes()
    for length in set(range(len(data) + 48)) - {len(data)}:
        assert refusal((data * 2)[:length]).code == "file.length"


@pytest.mark.parametrize(
    ("position", "code"), [(0, "file.magic"), (7, "file.magic"), (8, "file.version"), (12, "file.kind")]
)
def test_the_preamble_is_checked(example: Example, position: int, code: str) -> None:
    assert refusal(flip(example.verifying_key.to_bytes(), position, 4)).code == code


def test_a_key_of_the_old_version_proves_and_verifies(committed: Committed) -> None:
    key = committed.key.verifying_key
    old = VerifyingKey.from_bytes(flip(key.to_bytes(), 8, 1))
    assert (old, old.version, key.version) == (replace(key, version=2), 2, 3)
    assert VerifyingKey.from_json(old.to_json()) == old
    proof = groth16.prove(
        replace(committed.key, verifying_key=old),
        committed.system,
        kernels.fr.from_ints(COMMITTED_Z),
        openings=committed.openings,
        post_challenge=complete_committed,
    )
    commitments = [opening.commitment for opening in committed.openings]
    assert verifiers.verify(old, committed.public, proof, commitments)
    assert verifiers.verify(key, committed.public, proof, commitments).reason == "pairing_mismatch"
    assert verifiers.verify(old, committed.public, committed.proof, commitments).reason == "pairing_mismatch"


def test_a_flipped_bit_never_gives_the_same_key(example: Example) -> None:
    data = example.verifying_key.to_bytes()
    for position in range(len(data)):
        changed = flip(data, position, 1 << (position % 8))
        try:
            key = VerifyingKey.from_bytes(changed)
        except FileFormatError:
            continue
        assert key.to_bytes() == changed
        assert key.digest != example.verifying_key.digest


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("format", "another", "file.json"),
        ("version", 1, "file.json"),
        ("version", True, "file.json"),
        ("version", "3", "file.json"),
        ("version", 5, "file.json"),
        ("version", 4, "file.shape"),
        ("protocol", "plonk", "file.json"),
        ("curve", "bn254", "file.json"),
        ("setup", "ceremony", "file.shape"),
        ("setup", "trusted", "file.setup_label"),
        ("challenges", 1, "file.shape"),
        ("challenges", -1, "file.json"),
        ("challenges", True, "file.json"),
        ("segments", None, "file.json"),
        ("segments", [{}], "file.json"),
        ("segments", ["00"], "file.json"),
        ("contributions", ["00"], "file.shape"),
        ("contributions", "00", "file.json"),
        ("setup", None, "file.setup_label"),
        ("statement_digest", "00", "file.shape"),
        ("alpha_g1", "zz", "file.json"),
        ("alpha_g1", "AA" * 48, "file.json"),
        ("alpha_g1", "a1 " * 48, "file.json"),
        ("beta_g2", 17, "file.json"),
        ("gamma_g2", "00", "file.point_encoding"),
        ("delta_g2", None, "file.json"),
        ("ic", [], "file.shape"),
        ("ic", "00", "file.json"),
        ("ic", [None], "file.json"),
        ("digest", "00", "file.hash"),
        ("digest", None, "file.hash"),
    ],
)
def test_json_is_checked_field_by_field(example: Example, field: str, value: Any, code: str) -> None:
    document = example.verifying_key.to_json()
    for changed in ({**document, field: value}, {k: v for k, v in document.items() if k != field}):
        with pytest.raises(FileFormatError):
            VerifyingKey.from_json(changed)
    with refuses(code):
        VerifyingKey.from_json({**document, field: value})


@pytest.mark.parametrize(("folded", "code"), [(1, "file.shape"), (-1, "file.json"), (None, "file.json")])
def test_keys_of_version_3_fold_nothing(example: Example, folded: Any, code: str) -> None:
    with refuses(code, "folded"):
        VerifyingKey.from_json({**example.verifying_key.to_json(), "folded": folded})


@pytest.mark.parametrize("document", [None, [], "key", 5])
def test_json_that_is_no_object_is_refused(document: Any) -> None:
    with refuses("file.json"):
        VerifyingKey.from_json(document)
