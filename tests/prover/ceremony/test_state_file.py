"""The file that contributors pass on: it round-trips, and nothing dangerous gets past its door."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import py_ecc.optimized_bls12_381 as curve
import pytest

from tests.prover.ceremony.support import Case, altered, forge, nudged
from tests.refusals import refuses
from zenserve.base import container
from zenserve.errors import CeremonyError, FileFormatError
from zenserve.kernels import fp, fr, g1, g2
from zenserve.prover.groth16 import ceremony
from zenserve.prover.groth16.ceremony import State
from zenserve.prover.groth16.ceremony.state import CHANGING, FIXED
from zenserve.verifier.preamble import CEREMONY_STATE


def refused(state: State, path: Path, code: str, field: str | None = None) -> None:
    state.save(path)
    with refuses(code, field):
        State.load(path)


def test_a_state_survives_its_file(case: Case, tmp_path: Path) -> None:
    for state in case.states:
        state.save(tmp_path / "state")
        again = State.load(tmp_path / "state", threads=2)
        for field in fields(State):
            if field.name != "contributions":
                np.testing.assert_array_equal(getattr(again, field.name), getattr(state, field.name))
        assert again.chain[1] == state.chain[1]
        assert [c.name for c in again.contributions] == [c.name for c in state.contributions]


def test_a_contribution_goes_from_file_to_file(case: Case, tmp_path: Path) -> None:
    path = tmp_path / "state"
    ceremony.start(case.system, case.powers).save(path)
    for name in ("Ada", "Érdös Pál"):
        ceremony.contribute(State.load(path), name).save(path)
    state = State.load(path)
    ceremony.verify(state, case.system, case.powers)
    assert [c.name for c in state.contributions] == ["Ada", "Érdös Pál"]


@pytest.mark.parametrize("name", [*CHANGING, *(name for name in FIXED if "columns" not in name)])
def test_points_that_would_betray_shares_are_refused(committed: Case, tmp_path: Path, name: str) -> None:
    """Off the curve or of small order, times a secret share, a point tells part of it."""
    array = getattr(committed.state, name).copy()
    array[-1, 0] = array[-1, 1]
    refused(altered(committed.state, name, array), tmp_path / "state", "file.point_not_on_curve")
    array = getattr(committed.state, name).copy()
    array[-1] = small_order(array.ndim)
    refused(
        altered(committed.state, name, array),
        tmp_path / "state",
        "file.point_not_in_subgroup",
        f"{name}[{len(array) - 1}]",
    )


def small_order(ndim: int) -> np.ndarray:
    """A point of order 3 in G1's curve, (0, 2); in G2's the first outside the subgroup."""
    if ndim == 3:
        return fp.from_ints([0, 2]).reshape(g1.shape)
    for x in range(1, 50):
        value = curve.FQ2([x, 0]) ** 3 + curve.b2
        for twist in range(8):
            p = curve.field_modulus
            root = value ** ((p**2 + 7) // 16) * curve.FQ2([1, 1]) ** ((p**2 - 1) // 8 * twist)
            if root * root == value:
                return fp.from_ints([x, 0, *map(int, root.coeffs)]).reshape(g2.shape)
    raise AssertionError


@pytest.mark.parametrize("name", ["delta_g1", "quotient", "a", "b_g2", "ic", "basis"])
def test_points_at_infinity_are_refused(committed: Case, tmp_path: Path, name: str) -> None:
    array = getattr(committed.state, name).copy()
    array[0] = 0
    refused(altered(committed.state, name, array), tmp_path / "state", "file.point_at_infinity")


def test_coordinates_and_responses_beyond_the_modulus_are_refused(case: Case, tmp_path: Path) -> None:
    private = case.state.private.copy()
    value = int.from_bytes(private[0, 0].tobytes(), "little") + fp.modulus
    private[0, 0] = np.frombuffer(value.to_bytes(48, "little"), np.uint64)
    refused(replace(case.state, private=private), tmp_path / "state", "file.point_not_canonical")
    responses = case.state.contributions[1].responses.copy()
    value = int.from_bytes(responses[0].tobytes(), "little") + fr.modulus
    responses[0] = np.frombuffer(value.to_bytes(32, "little"), np.uint64)
    refused(forge(case.state, 1, responses=responses), tmp_path / "state", "file.shape", "responses")


def test_a_wrong_proof_is_found_without_statement_or_powers(case: Case, tmp_path: Path) -> None:
    points = nudged(case.state.contributions[2].nonces, 0, g2)
    refused(forge(case.state, 2, nonces=points), tmp_path / "state", "ceremony.contribution")
    infinite = case.state.contributions[2].secrets_g2 * np.uint64(0)
    refused(forge(case.state, 2, secrets_g2=infinite), tmp_path / "state", "file.point_at_infinity")
    with pytest.raises(CeremonyError):
        ceremony.contribute(forge(case.state, 2, nonces=points), "Ada")


@pytest.mark.parametrize("name", ["a", "ic", "b_g2", "segments", "knowledge", "links", "basis", "delta_g1"])
def test_arrays_that_do_not_fit_each_other_are_refused(committed: Case, tmp_path: Path, name: str) -> None:
    array = getattr(committed.state, name)
    field = {"b_g2": "b_g1", "ic": "ic"}.get(name, name)
    short = array[:0] if name == "ic" else array[:-1]
    refused(altered(committed.state, name, short), tmp_path / "state", "file.shape", field)


def test_sections_of_contributions_must_be_equally_long(case: Case, tmp_path: Path) -> None:
    case.state.save(tmp_path / "state")
    arrays = case.state._arrays()
    for name in ("names", "secrets_g2", "nonces", "responses"):
        cut = arrays | {name: arrays[name][:-1]}
        container.write(tmp_path / "state", CEREMONY_STATE, cut)
        with refuses("file.shape"):
            State.load(tmp_path / "state")
    orphans = arrays | {"names": arrays["names"][:0]}
    container.write(tmp_path / "state", CEREMONY_STATE, orphans)
    with refuses("file.shape", "names"):
        State.load(tmp_path / "state")


def test_names_in_the_file_are_checked(case: Case, tmp_path: Path) -> None:
    arrays = case.state._arrays()
    names = arrays["names"].copy()
    names[0, :2] = (0xFF, 0x0A)
    container.write(tmp_path / "state", CEREMONY_STATE, arrays | {"names": names})
    with refuses("ceremony.name"):
        State.load(tmp_path / "state")


@pytest.mark.parametrize("offset", [8, 12, 40, 2000, -1])
def test_a_damaged_file_is_refused(case: Case, tmp_path: Path, offset: int) -> None:
    case.state.save(tmp_path / "state")
    data = bytearray((tmp_path / "state").read_bytes())
    data[offset] ^= 1
    (tmp_path / "state").write_bytes(data)
    with pytest.raises(FileFormatError):
        State.load(tmp_path / "state")
