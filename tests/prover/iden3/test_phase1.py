"""Contributions to powers of tau: honest ones are found, and nobody is counted who did not contribute."""

from __future__ import annotations

import hashlib
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.prover.ceremony.support import known_powers
from tests.prover.iden3.support import VECTORS, File, take_apart
from tests.refusals import refuses
from zenserve.kernels import fr, g1, g2
from zenserve.prover.groth16 import iden3, powers_of_tau
from zenserve.prover.groth16.iden3 import blake2, phase1
from zenserve.prover.groth16.iden3.drawing import Source
from zenserve.prover.groth16.powers_of_tau import PowersOfTau

CONTRIBUTIONS = 7
RECORD = phase1._RECORD.itemsize
FIRST = 4
"""Where the first contribution begins, by ``first``; the beacon's is behind its parameters."""
BEACON = FIRST + RECORD + 8 + len(b"\1\5first")


@pytest.fixture(scope="module")
def file() -> File:
    return take_apart((VECTORS / "powers.ptau").read_bytes())


def read(file: File, folder: Path) -> PowersOfTau:
    (folder / "powers.ptau").write_bytes(file.to_bytes())
    return iden3.read_ptau(folder / "powers.ptau")


def refused(file: File, folder: Path) -> str:
    with refuses("ceremony.contribution") as error:
        read(file, folder)
    return str(error.value.field)


@given(st.binary(max_size=700), st.integers(0, 700))
def test_a_hash_goes_on_where_it_was_left(data: bytes, at: int) -> None:
    before, rest = data[:at], data[at:]
    h, count = list(blake2._IV), 0
    h[0] ^= 0x01010040  # 64 bytes, no key
    while len(before) - count > 128:
        count += 128
        h = blake2._compress(h, before[count - 128 : count], count, last=False)
    block = before[count:]
    state = struct.pack("<128s8QQQ8x", block, *h, count, len(block))
    assert len(state) == blake2.STATE_BYTES
    assert blake2.finish(state, rest) == hashlib.blake2b(data).digest()


def test_a_state_that_no_hash_has() -> None:
    with pytest.raises(ValueError, match="128"):
        blake2.finish(struct.pack("<128s8QQQ8x", b"", *blake2._IV, 0, 129), b"")


@settings(max_examples=10)
@given(st.binary(min_size=32, max_size=64))
def test_what_is_drawn_is_in_the_subgroup(seed: bytes) -> None:
    source, same = Source(seed), Source(seed[:32])
    scalar, first, second = source.scalar(), source.point_g1(), source.point_g2()
    assert fr.is_canonical(scalar).all()
    assert g1.in_subgroup(first).all()
    assert g2.in_subgroup(second).all()
    for one, other in ((scalar, same.scalar()), (first, same.point_g1()), (second, same.point_g2())):
        assert np.array_equal(one, other)


def test_snarkjs_contributors_are_found(file: File, tmp_path: Path) -> None:
    """The beacon's contribution is drawn again from its seed: points and scalars are those of snarkjs."""
    assert read(file, tmp_path).contributions == 1
    first, beacon = iden3.read_contributors(tmp_path / "powers.ptau")
    assert (first.name, first.is_beacon) == ("first", False)
    assert (beacon.name, beacon.is_beacon) == ("beacon", True)
    assert len({first.response, beacon.response}) == 2


def test_a_person_s_powers_under_others_names(file: File, tmp_path: Path) -> None:
    """Somebody's own powers, whose secret he knows, with the contributions of others."""
    iden3.write_ptau(tmp_path / "mine.ptau", powers_of_tau.generate(3))
    mine = take_apart((tmp_path / "mine.ptau").read_bytes())
    forged = mine.replacing({CONTRIBUTIONS: file.body(CONTRIBUTIONS)})
    assert refused(forged, tmp_path) == "contributions[1]"


def test_a_contribution_is_left_out(file: File, tmp_path: Path) -> None:
    body = file.body(CONTRIBUTIONS)
    alone = struct.pack("<I", 1) + body[BEACON:]
    assert refused(file.replacing({CONTRIBUTIONS: alone}), tmp_path) == "contributions[0]"
    first = struct.pack("<I", 1) + body[FIRST:BEACON]
    assert refused(file.replacing({CONTRIBUTIONS: first}), tmp_path) == "contributions[0]"


def test_a_contribution_is_put_in(file: File, tmp_path: Path) -> None:
    """Twice the same one, and both the other way round: to look like more people, or earlier ones."""
    body = file.body(CONTRIBUTIONS)
    one, other = body[FIRST:BEACON], body[BEACON:]
    for parts in ((one, one, other), (one, other, other), (other, one)):
        forged = struct.pack("<I", len(parts)) + b"".join(parts)
        refused(file.replacing({CONTRIBUTIONS: forged}), tmp_path)


def test_a_beacon_is_passed_off_as_another(file: File, tmp_path: Path) -> None:
    at = file.body(CONTRIBUTIONS).index(bytes.fromhex("0102030405060708"))
    assert refused(file.patching(CONTRIBUTIONS, at, b"\xff"), tmp_path) == "contributions[1]"


def test_every_part_of_a_contribution_counts(file: File, tmp_path: Path) -> None:
    """Each point is replaced by another good one, each hash by one that differs in a bit."""
    body = file.body(CONTRIBUTIONS)
    for start in (FIRST, BEACON):
        for name, (kind, offset, *_) in (phase1._RECORD.fields or {}).items():
            if name == "hash_state" and start == FIRST:
                continue  # it makes the response that the contributor published, which no file can show
            item, at = kind.itemsize, start + offset
            if name in ("hash_state", "challenge"):
                changed = bytes([body[at] ^ 1])
            else:
                group = g2 if name.endswith("g2") else g1
                assert item % group.generator.nbytes == 0
                changed = group.mul(group.generator[None], fr.from_ints([12345])).tobytes()
            refused(file.patching(CONTRIBUTIONS, at, changed), tmp_path)


def test_parameters_that_mean_nothing(file: File, tmp_path: Path) -> None:
    at = file.body(CONTRIBUTIONS).index(b"\1\5first")
    for changed in (b"\0", b"\4", b"\1\6", b"\1\xff"):
        with refuses("file.shape", "contributions[0]"):
            read(file.patching(CONTRIBUTIONS, at, changed), tmp_path)


def test_a_contribution_that_changes_nothing(file: File, tmp_path: Path) -> None:
    """Its factors are one, which everybody knows. The contributions after it hold as they are."""
    record = np.zeros(1, phase1._RECORD)
    point, challenge = g1.generator[None], phase1._first_challenge(3)
    for name, result in phase1._generators().items():
        record[name] = result
    for index in range(3):
        record["proofs_g1"][0, index] = g1.generator
        record["proofs_g2"][0, index] = phase1._hashed_g2(index, challenge, point, point)
    record["challenge"] = np.frombuffer(challenge, np.uint8)
    idle = record.tobytes() + struct.pack("<II", 0, 0)
    forged = struct.pack("<I", 3) + idle + file.body(CONTRIBUTIONS)[FIRST:]
    with refuses("ceremony.contribution", "contributions[0]", match="leaves tau_g1 as it was"):
        read(file.replacing({CONTRIBUTIONS: forged}), tmp_path)


def test_new_powers_that_nobody_contributed_to(tmp_path: Path) -> None:
    """As `snarkjs powersoftau new` writes them: every secret is one."""
    iden3.write_ptau(tmp_path / "new.ptau", known_powers(3, tau=1, alpha=1, beta=1))
    with refuses("ceremony.no_contributions", "powers", match="τ is one"):
        iden3.read_ptau(tmp_path / "new.ptau")


def test_a_beacon_that_takes_years(file: File, tmp_path: Path) -> None:
    at = file.body(CONTRIBUTIONS).index(b"\2\x0a\3")
    with refuses("ceremony.beacon", "contributions[1]", match="2\\^24 times are the most"):
        read(file.patching(CONTRIBUTIONS, at, b"\2\x3f"), tmp_path)
