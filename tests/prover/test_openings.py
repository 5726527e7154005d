"""Commitments opened in public, and counted together: honest ones hold, and forgers try."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from py_arkworks_bls12381 import G1Point, Scalar

from tests.prover.segments import compressed
from tests.prover.statements import EDGES, R, commitment_basis, elements
from tests.refusals import refuses
from zenserve.kernels import fr, g1, g2
from zenserve.prover.groth16 import Opening, Revealed, Verdict, check_opening, check_sum, sum_blindings
from zenserve.verifier.groth16 import opening, transcript
from zenserve.verifier.groth16.opening import second_generator
from zenserve.verifier.groth16.transcript import fold

TAU = 0x5EED
BASIS = commitment_basis(8, TAU)
H = second_generator()
INFINITY = b"\xc0" + bytes(47)
VALUES = [3, -5, 2**200, 7]

vectors = st.lists(elements, max_size=8)


def scalar(data: bytes) -> int:
    return int.from_bytes(data, "big")


def opened(values: Sequence[int], *, hiding: bool = True) -> tuple[bytes, Revealed]:
    mine = BASIS.commit(fr.from_ints(values), hiding=hiding)
    return mine.commitment, BASIS.reveal(mine, fr.from_ints(values))


def committed(values: Sequence[int], blinding: int) -> bytes:
    """cm as it is defined, by whoever knows τ."""
    return compressed(G1Point() * Scalar(fold(values, TAU)) + H * Scalar(blinding % R))


def forged(cm: bytes, values: Sequence[int], blinding: int, exponent: int) -> Revealed:
    """An opening of ``cm`` that would hold if cm - ρ H had the logarithm ``exponent``, by one who knows τ."""
    encoded = (blinding % R).to_bytes(32, "big")
    canonical = [value % R for value in values]
    z = transcript.opening_point(BASIS.identity, cm, encoded, canonical)
    quotient = (exponent - fold(canonical, z)) * pow(TAU - z, -1, R) % R
    point = compressed(G1Point() * Scalar(quotient)) if quotient else INFINITY
    return Revealed(encoded, point, g2.compress(BASIS.tau_g2))


def check(cm: bytes, values: Any, revealed: Revealed) -> str:
    return check_opening(BASIS.identity, cm, values, revealed).reason


# Honest openings


@given(values=vectors)
def test_what_was_committed_to_opens(values: list[int]) -> None:
    cm, revealed = opened(values)
    assert cm == committed(values, scalar(revealed.blinding))
    assert check(cm, values, revealed) == "ok"
    assert check(cm, tuple(value % R for value in values), revealed) == "ok"
    assert check(cm, [value - R for value in values], revealed) == "ok"
    assert Revealed.from_json(json.loads(json.dumps(revealed.to_json()))) == revealed


@given(values=vectors, other=vectors, blinding=elements, another=elements)
def test_what_was_not_committed_to_does_not(
    values: list[int], other: list[int], blinding: int, another: int
) -> None:
    """By a forger who has the honest quotient for the very vector and ρ that are claimed."""
    cm = committed(values, blinding)
    if cm == INFINITY:
        return
    true = fold(values, TAU)
    same = cm == committed(other, another)
    claim = forged(cm, other, another, fold(other, TAU))
    assert check(cm, other, claim) == ("ok" if same else "opening_mismatch")
    claim = forged(cm, values, another, true)
    assert check(cm, values, claim) == ("ok" if (another - blinding) % R == 0 else "opening_mismatch")


def test_the_quotient_of_the_reference_is_the_provers() -> None:
    cm, revealed = opened(VALUES)
    blinding = scalar(revealed.blinding)
    assert forged(cm, VALUES, blinding, fold(VALUES, TAU)) == revealed


def test_a_commitment_that_hides_nothing_is_a_function_of_the_values() -> None:
    cm, revealed = opened(VALUES, hiding=False)
    assert cm == opened(VALUES, hiding=False)[0] == committed(VALUES, 0)
    assert revealed.blinding == bytes(32)
    assert check(cm, VALUES, revealed) == "ok"
    assert opened(VALUES)[0] != opened(VALUES)[0]


@pytest.mark.parametrize("values", [[], [0], [0, 0, 0], [R, -R]])
def test_zeros_need_a_blinding_factor(values: list[int]) -> None:
    with refuses("statement.commitment_at_infinity", "values"):
        BASIS.commit(fr.from_ints(values), hiding=False)
    cm, revealed = opened(values)
    assert revealed.quotient == INFINITY
    assert check(cm, values, revealed) == "ok"


def test_only_what_opens_is_revealed() -> None:
    mine, other = BASIS.commit(fr.from_ints(VALUES)), BASIS.commit(fr.from_ints(VALUES))
    for wrong, values in (
        (mine, [4, *VALUES[1:]]),
        (mine, VALUES[:3]),
        (Opening(mine.commitment, other.blinding), VALUES),
        (Opening(other.commitment, mine.blinding), VALUES),
    ):
        with refuses("statement.openings"):
            BASIS.reveal(wrong, fr.from_ints(values))


def test_openings_in_bytes() -> None:
    mine = BASIS.commit(fr.from_ints(VALUES))
    data = mine.to_bytes()
    assert data == mine.commitment + mine.blinding_bytes
    again = Opening.from_bytes(data)
    assert again.to_bytes() == data
    assert BASIS.reveal(again, fr.from_ints(VALUES)) == BASIS.reveal(mine, fr.from_ints(VALUES))
    for wrong in (b"", data[:-1], data + b"\0", data[:48] + R.to_bytes(32, "big"), bytes(48) + data[48:]):
        with refuses("statement.openings"):
            Opening.from_bytes(wrong)


def test_blinding_factors_are_not_printed() -> None:
    mine = BASIS.commit(fr.from_ints(VALUES))
    revealed = BASIS.reveal(mine, fr.from_ints(VALUES))
    for text in (repr(mine), repr(revealed)):
        assert "blinding" not in text
        assert str(revealed.blinding) not in text


# Forged openings


def test_a_changed_vector_is_refused() -> None:
    cm, revealed = opened(VALUES)
    changed = [
        *([*VALUES[:i], VALUES[i] + 1, *VALUES[i + 1 :]] for i in range(len(VALUES))),
        VALUES[::-1],
        [VALUES[1], VALUES[0], *VALUES[2:]],
        VALUES[:-1],
        [*VALUES, 0],
        [0, *VALUES],
        [],
        [-value for value in VALUES],
    ]
    for values in changed:
        assert check(cm, values, revealed) == "opening_mismatch"


def test_zeros_at_the_end_are_the_same_vector_but_not_the_same_opening() -> None:
    """The commitment cannot tell them apart, so a verifier must know the length. The hash has it."""
    mine = BASIS.commit(fr.from_ints([*VALUES, 0]))
    for values in (VALUES, [*VALUES, 0], [*VALUES, 0, 0]):
        revealed = BASIS.reveal(mine, fr.from_ints(values))
        for claimed in (VALUES, [*VALUES, 0], [*VALUES, 0, 0]):
            expected = "ok" if claimed == values else "opening_mismatch"
            assert check(mine.commitment, claimed, revealed) == expected


def test_a_vector_longer_than_the_basis_is_refused_unless_it_ends_with_zeros() -> None:
    values = list(range(1, 9))
    mine = BASIS.commit(fr.from_ints(values))
    for longer, expected in (([*values, 0], "ok"), ([*values, 1], "opening_mismatch")):
        blinding = scalar(mine.blinding_bytes)
        claim = forged(mine.commitment, longer, blinding, fold(longer, TAU))
        assert check(mine.commitment, longer, claim) == expected
        with refuses("statement.basis_length"):
            BASIS.commit(fr.from_ints(longer))


def test_parts_of_two_openings_do_not_mix() -> None:
    """The same values under two blinding factors, and all mixtures of what was shown for them."""
    (cm, mine), (_, other) = opened(VALUES), opened(VALUES)
    assert check(cm, VALUES, other) == "opening_mismatch"
    assert check(cm, VALUES, replace(mine, blinding=other.blinding)) == "opening_mismatch"
    assert check(cm, VALUES, replace(mine, quotient=other.quotient)) == "opening_mismatch"
    negated = compressed(-G1Point.from_compressed_bytes(mine.quotient))
    assert check(cm, VALUES, replace(mine, quotient=negated)) == "opening_mismatch"
    assert check(cm, VALUES, replace(mine, quotient=INFINITY)) == "opening_mismatch"


def test_another_basis_is_refused() -> None:
    other = commitment_basis(4, TAU + 1)
    mine = other.commit(fr.from_ints(VALUES))
    theirs = other.reveal(mine, fr.from_ints(VALUES))
    assert check_opening(other.identity, mine.commitment, VALUES, theirs)
    assert check(mine.commitment, VALUES, theirs) == "opening_basis"
    ours = replace(theirs, tau_g2=g2.compress(BASIS.tau_g2))
    assert check(mine.commitment, VALUES, ours) == "opening_mismatch"
    swapped = check_opening(other.identity, mine.commitment, VALUES, ours)
    assert swapped.reason == "opening_basis"


def test_whoever_knows_tau_opens_to_anything() -> None:
    """So U_1 must come from a key that is trusted, and never along with the opening."""
    cm, revealed = opened(VALUES)
    claim = forged(cm, [1, 2], scalar(revealed.blinding), fold(VALUES, TAU))
    assert check(cm, [1, 2], claim) == "ok"


@pytest.mark.parametrize("part", ["identity", "commitment", "blinding", "values", "count"])
def test_the_point_of_evaluation_hashes_all_there_is(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def shortened(identity: bytes, cm: bytes, blinding: bytes, values: Sequence[int]) -> int:
        parts: dict[str, Any] = {"identity": identity, "commitment": cm, "blinding": blinding}
        parts["values"] = [*values, 0] if part == "count" else values
        if part != "count":
            parts[part] = [] if part == "values" else b""
        return full(*parts.values())

    full = transcript.opening_point
    monkeypatch.setattr(transcript, "opening_point", shortened)
    cm, revealed = opened(VALUES)
    assert check(cm, VALUES, revealed) == "ok"
    monkeypatch.undo()
    assert check(cm, VALUES, revealed) == "opening_mismatch"


def forget(monkeypatch: pytest.MonkeyPatch, change: Callable[..., tuple[Any, ...]]) -> None:
    full = transcript.opening_point
    monkeypatch.setattr(transcript, "opening_point", lambda *parts: full(*change(*parts)))


def test_a_point_that_forgets_the_values_opens_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """With z known before the values, there are others that agree with the committed ones at z."""
    forget(monkeypatch, lambda u, cm, rho, values: (u, cm, rho, []))
    cm, revealed = opened(VALUES)
    z = transcript.opening_point(BASIS.identity, cm, revealed.blinding, ())
    lie = [VALUES[0] + 17 * z, VALUES[1] - 17, *VALUES[2:]]
    assert check(cm, VALUES, revealed) == check(cm, lie, revealed) == "ok"
    monkeypatch.undo()
    assert check(cm, lie, revealed) == "opening_mismatch"


def test_a_point_that_forgets_the_commitment_opens_a_made_up_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """With z known before cm, a commitment to the single value v(z) passes for one to all of v."""
    forget(monkeypatch, lambda u, cm, rho, values: (u, b"", rho, values))
    canonical = [value % R for value in VALUES]
    z = transcript.opening_point(BASIS.identity, b"", bytes(32), canonical)
    cm = compressed(G1Point() * Scalar(fold(canonical, z)))
    claim = Revealed(bytes(32), INFINITY, g2.compress(BASIS.tau_g2))
    assert check(cm, VALUES, claim) == "ok"
    monkeypatch.undo()
    assert check(cm, VALUES, claim) == "opening_mismatch"


def test_values_that_are_not_reduced_before_they_are_hashed_open_to_nothing_else() -> None:
    """v and v + r are one vector with one z: nobody gets a second draw by writing it otherwise."""
    cm, revealed = opened(VALUES)
    for spelling in ([v + 5 * R for v in VALUES], [v - 3 * R for v in VALUES]):
        assert check(cm, spelling, revealed) == "ok"


def test_whoever_knows_the_logarithm_of_h_opens_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it, ρ cannot move what the first value loses."""
    monkeypatch.setattr(opening, "second_generator", lambda: G1Point() * Scalar(77))
    cm = compressed(G1Point() * Scalar((5 + 77 * 1000) % R))
    for value, blinding in ((5, 1000), (5 + 77, 999)):
        claim = Revealed(blinding.to_bytes(32, "big"), INFINITY, g2.compress(BASIS.tau_g2))
        assert check(cm, [value], claim) == "ok"
    monkeypatch.undo()
    assert check(cm, [5], claim) == "opening_mismatch"


def test_h_is_hashed_to_the_curve_and_no_power_of_tau() -> None:
    h = compressed(H)
    assert h == compressed(
        G1Point.hash_to_curve(b"H", b"ZENSERVE-V1-COMMITMENT_BLS12381G1_XMD:SHA-256_SSWU_RO_")
    )
    assert h not in [g1.compress(power[None]) for power in BASIS.points]


STRANGE: list[Any] = [
    None,
    "",
    "ab",
    1,
    1.5,
    [],
    {},
    b"",
    bytes(32),
    bytes(48),
    bytes(96),
    bytearray(48),
    object,
]


@pytest.mark.parametrize("strange", STRANGE, ids=repr)
def test_nothing_raises(strange: Any) -> None:
    cm, revealed = opened([5])
    verdicts = [
        check_opening(strange, cm, [5], revealed),
        check_opening(BASIS.identity, strange, [5], revealed),
        check_opening(BASIS.identity, cm, [5, strange], revealed),
        check_opening(BASIS.identity, cm, [5], strange),
        *(
            check_opening(BASIS.identity, cm, [5], replace(revealed, **{name: strange}))
            for name in ("blinding", "quotient", "tau_g2")
            if not (name == "blinding" and strange == bytes(32))
        ),
        check_sum([cm, strange], 5, revealed.blinding),
        check_sum([cm], strange if strange != 5 else 6, revealed.blinding),
        check_sum([cm], 5, strange),
    ]
    if strange != []:
        verdicts += [
            check_opening(BASIS.identity, cm, strange, revealed),
            check_sum(strange, 5, revealed.blinding),
        ]
    assert not any(verdicts)
    assert all(isinstance(verdict, Verdict) for verdict in verdicts)


@pytest.mark.parametrize("value", [True, 5.0, "5", None])
def test_values_are_integers(value: Any) -> None:
    cm, revealed = opened([5])
    assert check(cm, [value], revealed) == "opening_values"
    assert check(cm, value, revealed) == "opening_values"
    assert check(cm, iter([5]), revealed) == "opening_values"


def test_a_revealed_opening_in_json() -> None:
    document = opened(VALUES)[1].to_json()
    assert Revealed.from_json({**document, "kind": "input"}).to_json() == document
    for name, wrong in (
        ("format", "zenserve proof"),
        ("version", 2),
        ("curve", "bn254"),
        ("blinding", None),
        ("quotient", document["quotient"].upper()),
        ("tau_g2", "xyz"),
    ):
        with refuses("file.json", name):
            Revealed.from_json({**document, name: wrong})


# Sums


@given(counts=st.lists(st.integers(0, 1000), max_size=5), wrong=st.sampled_from([*EDGES, 1, 3]))
def test_counts_add_up(counts: list[int], wrong: int) -> None:
    mine = [BASIS.commit(fr.from_ints([count])) for count in counts]
    commitments = [each.commitment for each in mine]
    blinding = sum_blindings(each.blinding_bytes for each in mine)
    assert check_sum(commitments, sum(counts), blinding)
    if wrong % R:
        assert check_sum(commitments, (sum(counts) + wrong) % R, blinding).reason == "sum_mismatch"
        moved = ((scalar(blinding) + wrong) % R).to_bytes(32, "big")
        assert check_sum(commitments, sum(counts), moved).reason == "sum_mismatch"
    if commitments:
        assert check_sum(commitments[1:], sum(counts), blinding).reason == "sum_mismatch"
        assert check_sum([*commitments, commitments[0]], sum(counts), blinding).reason == "sum_mismatch"
        other = BASIS.commit(fr.from_ints([counts[0]])).commitment
        assert check_sum([other, *commitments[1:]], sum(counts), blinding).reason == "sum_mismatch"


def test_a_total_has_one_spelling() -> None:
    mine = BASIS.commit(fr.from_ints([7]))
    for total in (7 + R, 7 - R, True, 7.0, "7", None):
        verdict = check_sum([mine.commitment], total, mine.blinding_bytes)  # type: ignore[arg-type]
        assert verdict.reason == "sum_total"


def test_a_sum_of_vectors_says_nothing_of_each() -> None:
    """What is added up must be linked to segments of one value: here (4, 1) and (5, -1) pass for 4 and 5."""
    mine = [BASIS.commit(fr.from_ints(values)) for values in ([4, 1], [5, -1])]
    blinding = sum_blindings(each.blinding_bytes for each in mine)
    assert check_sum([each.commitment for each in mine], 9, blinding)


@pytest.mark.parametrize(
    "wrong", [b"", bytes(31), bytes(33), R.to_bytes(32, "big"), b"\xff" * 32, None, "00"]
)
def test_blinding_factors_are_canonical(wrong: Any) -> None:
    with refuses("encoding.opening_blinding", "blinding"):
        sum_blindings([bytes(32), wrong])
    assert sum_blindings([]) == bytes(32)
    assert sum_blindings([(R - 1).to_bytes(32, "big"), (3).to_bytes(32, "big")]) == (2).to_bytes(32, "big")


WITHOUT_KERNELS = """
import json, sys
sys.modules.update(dict.fromkeys(["zenserve.kernels", "numpy"]))
from zenserve.verifier.groth16.opening import Revealed, check_opening, check_sum, sum_blindings
identity, commitment, document = json.loads(sys.argv[1])
revealed = Revealed.from_json(document)
for values in ([9], [10]):
    print(check_opening(bytes.fromhex(identity), bytes.fromhex(commitment), values, revealed).reason)
print(check_sum([bytes.fromhex(commitment)], 9, sum_blindings([revealed.blinding])).reason)
"""


def test_an_opening_is_checked_with_neither_kernels_nor_numpy() -> None:
    cm, revealed = opened([9])
    argument = json.dumps([BASIS.identity.hex(), cm.hex(), revealed.to_json()])
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT_KERNELS, argument],
        cwd=Path(opening.__file__).parent.parent,
        env={**os.environ, "PYTHONPATH": "."},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.split() == ["ok", "opening_mismatch", "ok"]
