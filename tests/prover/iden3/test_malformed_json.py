"""JSON from strangers: every way in which it can be no key, no proof or no list of public inputs."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from py_arkworks_bls12381 import G1Point, G2Point

from tests.prover.bad_points import bad_points
from tests.prover.iden3.support import VECTORS
from tests.prover.statements import R
from zenserve.errors import FileFormatError
from zenserve.prover.groth16 import iden3
from zenserve.verifier.points import FIELD_MODULUS

KEY: dict[str, Any] = json.loads((VECTORS / "verification_key.json").read_text())
PROOF: dict[str, Any] = json.loads((VECTORS / "proof.json").read_text())
Import = Callable[[str | bytes], object]
DOCUMENTS: list[tuple[Import, dict[str, Any]]] = [
    (iden3.import_verifying_key, KEY),
    (iden3.import_proof, PROOF),
]


def refused(read: Import, document: Any) -> FileFormatError:
    with pytest.raises(FileFormatError) as error:
        read(document if isinstance(document, str | bytes) else json.dumps(document))
    return error.value


@pytest.mark.parametrize("read", [iden3.import_verifying_key, iden3.import_proof, iden3.import_public_inputs])
@pytest.mark.parametrize(
    "text",
    ["", "{", "nonsense", b"\xff\xfe", "[" * 10**6, '{"a":' * 10**5, "1" * 10**5, '"text"', "null", "7"],
)
def test_what_is_no_document(read: Import, text: str | bytes) -> None:
    assert refused(read, text).code == "file.json"


@pytest.mark.parametrize(("read", "document"), DOCUMENTS)
def test_a_field_missing_or_of_another_kind(read: Import, document: dict[str, Any]) -> None:
    for name in document:
        if name == "vk_alphabeta_12":
            continue  # not read
        values: list[Any] = [None, 1, "1", [], ["1"], {}, [[]], [["1", "2"]]]
        for value in values:
            error = refused(read, document | {name: value})
            assert error.code in ("file.json", "file.shape")
        rest = {key: value for key, value in document.items() if key != name}
        assert refused(read, rest).code == "file.json"


@pytest.mark.parametrize(("read", "document"), DOCUMENTS)
def test_another_curve_or_protocol(read: Import, document: dict[str, Any]) -> None:
    for change in ({"curve": "bn128"}, {"curve": "BLS12381"}, {"protocol": "plonk"}):
        error = refused(read, document | change)
        assert (error.code, error.field) == ("file.json", *change)


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (5, "file.json"),
        ("", "file.json"),
        ("-1", "file.json"),
        ("0x10", "file.json"),
        ("1e3", "file.json"),
        (" 1", "file.json"),
        ("1_0", "file.json"),
        ("٣", "file.json"),
        ("9" * 10**5, "file.json"),
        ("01", "file.not_canonical"),
        (str(FIELD_MODULUS), "file.not_canonical"),
        ("3", "file.point_not_on_curve"),
    ],
)
@pytest.mark.parametrize("place", [("pi_a", 0), ("pi_a", 1), ("pi_b", 0, 0), ("pi_b", 1, 1), ("pi_c", 1)])
def test_coordinates(place: tuple[Any, ...], value: object, code: str) -> None:
    document = copy.deepcopy(PROOF)
    target: Any = document
    for step in place[:-1]:
        target = target[step]
    target[place[-1]] = value
    error = refused(iden3.import_proof, document)
    assert (error.code, error.field) == (code, place[0])


def test_points_outside_the_subgroup() -> None:
    (in_g1,), (in_g2,) = bad_points(48)["not_in_subgroup"], bad_points(96)["not_in_subgroup"]
    for name, value in (("pi_a", affine(in_g1)), ("pi_b", affine(in_g2))):
        error = refused(iden3.import_proof, PROOF | {name: value})
        assert (error.code, error.field) == ("file.point_not_in_subgroup", name)


def affine(encoded: bytes) -> list[Any]:
    if len(encoded) == 48:
        plain = bytes(G1Point.from_compressed_bytes_unchecked(encoded).to_xy_bytes_be())
    else:
        plain = bytes(G2Point.from_compressed_bytes_unchecked(encoded).to_xy_bytes_be())
    values = [str(int.from_bytes(plain[start : start + 48], "big")) for start in range(0, len(plain), 48)]
    return [*values, "1"] if len(values) == 2 else [values[:2], values[2:], ["1", "0"]]


def test_halves_of_g2_swapped() -> None:
    """As tools that put c1 first would write them."""
    swapped = [half[::-1] for half in PROOF["pi_b"][:2]] + [["1", "0"]]
    assert refused(iden3.import_proof, PROOF | {"pi_b": swapped}).code == "file.point_not_on_curve"


def test_a_point_that_is_not_affine() -> None:
    infinities = {"pi_a": ["0", "1", "0"], "pi_b": [["0", "0"], ["1", "0"], ["0", "0"]]}
    for name, value in infinities.items():
        error = refused(iden3.import_proof, PROOF | {name: value})
        assert (error.code, error.field) == ("file.point_at_infinity", name)
    for last in ("2", 1, None, ["1"]):
        assert refused(iden3.import_proof, PROOF | {"pi_a": [*PROOF["pi_a"][:2], last]}).code == "file.json"


def test_keys_of_another_shape() -> None:
    changes: list[dict[str, Any]] = [{"nPublic": 1}, {"nPublic": 3}, {"IC": KEY["IC"][:-1]}, {"IC": []}]
    for change in changes:
        assert refused(iden3.import_verifying_key, KEY | change).code == "file.shape"
    for number in (-1, 2**32, 2.0, True, "2"):
        assert refused(iden3.import_verifying_key, KEY | {"nPublic": number}).code == "file.json"


def test_keys_that_anyone_can_forge_under() -> None:
    error = refused(iden3.import_verifying_key, KEY | {"vk_delta_2": KEY["vk_gamma_2"]})
    assert (error.code, error.field) == ("file.unsafe_key", "delta_g2")


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ([5], "file.json"),
        (["-1"], "file.json"),
        ([None], "file.json"),
        ([["1"]], "file.json"),
        ({"0": "1"}, "file.json"),
        (["007"], "file.not_canonical"),
        (["0", str(R)], "file.not_canonical"),
    ],
)
def test_public_inputs(values: object, code: str) -> None:
    assert refused(iden3.import_public_inputs, values).code == code
