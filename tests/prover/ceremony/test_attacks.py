"""What a dishonest contributor, or whoever carries the file, might try: each attempt must be found out."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from tests.prover.ceremony.support import (
    TAU,
    Case,
    altered,
    contribute_known,
    forge,
    in_g1,
    in_g2,
    known_powers,
    known_shares,
    nudged,
    scalar,
    secrets,
    with_arrays_of,
    with_shares,
)
from tests.prover.statements import R, cubic_statement
from tests.refusals import refuses
from zenserve.errors import CeremonyError, FileFormatError
from zenserve.kernels import WordArray, fr, g1, g2
from zenserve.prover.groth16 import ceremony
from zenserve.prover.groth16.ceremony import Contribution, State, chain
from zenserve.prover.groth16.ceremony.state import CHANGING, FIXED, Shape
from zenserve.prover.groth16.powers_of_tau import PowersOfTau
from zenserve.verifier.beacon import Beacon


def refused(case: Case, state: State, code: str, field: str | None = None) -> None:
    with refuses(f"ceremony.{code}", field):
        ceremony.verify(state, case.system, case.powers)


def count(state: State) -> int:
    return state.multiplied + state.added


# The key's arrays


@pytest.mark.parametrize("name", [*CHANGING, *(name for name in FIXED if "columns" not in name)])
def test_one_altered_point_anywhere(committed: Case, name: str) -> None:
    points = getattr(committed.state, name)
    group = g2 if points.ndim == 4 else g1
    for index in range(len(points)):
        nudge = altered(committed.state, name, nudged(points, index, group))
        refused(committed, nudge, "key" if name in CHANGING else "origin", name)


@pytest.mark.parametrize("name", CHANGING)
def test_an_array_times_a_factor(committed: Case, name: str) -> None:
    array = g1.mul(getattr(committed.state, name), scalar(2))
    refused(committed, altered(committed.state, name, array), "key", name)


@pytest.mark.parametrize("name", ["private", "quotient", "knowledge", "links"])
def test_points_in_another_order(committed: Case, name: str) -> None:
    array = getattr(committed.state, name)
    refused(committed, altered(committed.state, name, array[::-1].copy()), "key", name)


def test_changes_that_cancel_in_a_sum(committed: Case) -> None:
    private = nudged(committed.state.private, 0)
    private[1] = g1.add(private[1], g1.neg(g1.generator))
    refused(committed, replace(committed.state, private=private), "key", "private")


def test_changes_of_the_start_that_cancel(committed: Case) -> None:
    """Within an array, and between arrays that are summed up together."""
    state = committed.state
    for name in ("a", "first_private", "first_quotient"):
        points = nudged(getattr(state, name), 0)
        points[1] = g1.add(points[1], g1.neg(g1.generator))
        refused(committed, altered(state, name, points), "origin", name)
    a, variable = nudged(state.a, 0), int(np.flatnonzero(state.b_columns == state.a_columns[0])[0])
    b_g1, b_g2 = state.b_g1.copy(), state.b_g2.copy()
    b_g1[variable] = g1.add(b_g1[variable], g1.neg(g1.generator))
    b_g2[variable] = g2.add(b_g2[variable], g2.neg(g2.generator))
    refused(committed, replace(state, a=a, b_g1=b_g1, b_g2=b_g2), "origin", "a")
    refused(committed, replace(state, b_g1=b_g1, b_g2=b_g2), "origin", "b_g1")
    refused(committed, replace(state, b_g2=b_g2), "origin", "b_g2")


def test_other_columns_with_the_same_sums(committed: Case) -> None:
    """In another order, one with two points that add up to its own, one with the point at infinity."""
    state = committed.state
    columns, points = state.a_columns, state.a
    halves = np.concatenate([points[:1], points])
    halves[0] = g1.generator
    halves[1] = g1.add(points[0], g1.neg(g1.generator))
    (absent, *_) = np.setdiff1d(np.arange(20, dtype=np.uint32), columns)
    at = int(np.searchsorted(columns, absent))
    for other_columns, other_points in (
        (columns[::-1].copy(), points[::-1].copy()),
        (np.concatenate([columns[:1], columns]), halves),
        (np.insert(columns, at, absent), np.insert(points, at, np.zeros_like(points[0]), axis=0)),
    ):
        refused(committed, replace(state, a_columns=other_columns, a=other_points), "origin", "a_columns")


@pytest.mark.parametrize("name", ["a_columns", "b_columns"])
def test_columns_of_other_variables(case: Case, name: str) -> None:
    columns = getattr(case.state, name).copy()
    columns[-1] += 1
    refused(case, altered(case.state, name, columns), "origin", name)


@pytest.mark.parametrize("name", ["private", "quotient", "knowledge", "links", "a", "ic", "basis"])
def test_arrays_that_are_longer_or_shorter(committed: Case, name: str) -> None:
    array = getattr(committed.state, name)
    for other in (array[:-1], np.concatenate([array, array[-1:]])):
        refused(
            committed, altered(committed.state, name, other), "key" if name in CHANGING else "origin", name
        )


def test_links_with_their_parts_apart(committed: Case) -> None:
    """k_1 K_i alone where k_1 K_i + k_2 U_i belongs: who had both would link unequal vectors."""
    k_1, k_2 = k_of(committed.state)
    for alone in (
        [scalar_times(link.inside, k_1) for link in committed.state.iterate_links()][:1],
        [scalar_times(link.outside, k_2) for link in committed.state.iterate_links()][:1],
    ):
        links = committed.state.links.copy()
        links[: len(alone[0])] = alone[0]
        refused(committed, replace(committed.state, links=links), "key", "links")


def k_of(state: State) -> tuple[int, int]:
    known = secrets(state, [known_shares(index, count(state)) for index in range(3)])
    return known[state.multiplied], known[state.multiplied + 1]


def scalar_times(points: WordArray, value: int) -> WordArray:
    return g1.mul(points, scalar(value))


def test_links_to_another_basis(committed: Case) -> None:
    """k_2 [τ'^i]_1 in the links: commitments under another τ would pass for those under this one."""
    other = replace(committed.states[0], basis=in_g1([1, 2]))
    links = contribute_known(other, "Ada", 0).links
    refused(committed, replace(committed.states[1], links=links), "key", "links")


# What shares are made to multiply


def bait(state: State) -> list[State]:
    """``state`` with its honest chain, but other points for the next shares to multiply."""
    ic_over_delta = state.private.copy()
    ic_over_delta[0] = state.ic[1]
    blinding_is_k_0 = state.segments.copy()
    blinding_is_k_0[2] = state.segments[0]
    longer = [Shape(3, True), *state.shapes[1:]]
    return [
        replace(state, private=ic_over_delta),
        replace(state, private=np.concatenate([state.private, state.ic])),
        replace(
            state,
            private=np.concatenate([state.private, state.ic]),
            first_private=np.concatenate([state.first_private, state.ic]),
        ),
        replace(state, segments=blinding_is_k_0),
        replace(state, basis=g1.mul(state.basis, scalar(2))),
        replace(
            state,
            shapes=tuple(longer),
            segments=np.concatenate([state.segments[:3], state.segments]),
            knowledge=np.concatenate([state.knowledge[:3], state.knowledge]),
            links=np.concatenate([state.links[:3], state.links]),
        ),
    ]


def test_shares_touch_nothing_but_the_true_state(committed: Case) -> None:
    """A carrier who slips other points under a contributor's hands, keeps what comes back, and grafts the
    contribution on the true state, has k_1 K_0 apart from k_2 U_0, or a public input's point over δ.
    """
    for state in committed.states[1:]:
        for tampered in bait(state):
            with pytest.raises(CeremonyError) as error:
                ceremony.contribute(tampered, "Emmy")
            assert error.value.code in ("ceremony.key", "ceremony.contribution")
            with pytest.raises(CeremonyError):
                ceremony.finish(tampered, committed.system, committed.powers, development=True)


def test_a_contribution_to_a_start_with_other_points_fits_no_other(committed: Case) -> None:
    """Before the first contribution nothing contradicts a tampered start: there the proofs do not fit."""
    start = committed.states[0]
    segments = nudged(start.segments, 0)
    tampered = contribute_known(replace(start, segments=segments, knowledge=segments), "Ada", 0)
    honest = committed.states[1]
    np.testing.assert_array_equal(tampered.contributions[0].secrets_g2, honest.contributions[0].secrets_g2)
    grafted = replace(honest, contributions=tampered.contributions)
    refused(committed, grafted, "contribution", "contributions[0]")


# The chain of contributions


def test_arrays_of_fresh_shares_without_a_contribution(case: Case) -> None:
    """Replaced instead of extended: the attacker knows every secret of these arrays."""
    fresh = with_shares(case.states[0], "Eve", known_shares(9, count(case.state)))
    refused(case, with_arrays_of(case.state, fresh), "key", "delta_g1")
    refused(case, with_arrays_of(case.states[0], fresh), "key", "delta_g1")


def test_fresh_shares_under_a_chain_that_claims_the_others(case: Case) -> None:
    """The last contribution sets the secrets to the attacker's own, with proofs from a chain of its own."""
    fresh = with_shares(case.states[0], "Eve", known_shares(9, count(case.state)))
    stolen = replace(fresh, contributions=(*case.state.contributions, *fresh.contributions))
    refused(case, stolen, "contribution", "contributions[3]")
    # Made for the right place by one who knows the new secrets, but not the shares that lead there.
    _, hashes = case.state.chain
    own = chain.extend(
        hashes[-1],
        chain.first_secrets(case.state.multiplied, case.state.added),
        case.state.multiplied,
        "Eve",
        fr.from_ints(known_shares(9, count(case.state))),
    )
    placed = replace(fresh, contributions=(*case.state.contributions, own))
    refused(case, placed, "contribution", "contributions[3]")


@pytest.mark.parametrize("index", [0, 1, 2])
@pytest.mark.parametrize("field", ["secrets_g2", "nonces"])
def test_a_forged_point_in_a_contribution(committed: Case, index: int, field: str) -> None:
    points = getattr(committed.state.contributions[index], field)
    for which in range(len(points)):
        forged = forge(committed.state, index, **{field: nudged(points, which, g2)})
        refused(committed, forged, "contribution", f"contributions[{index}]")


@pytest.mark.parametrize("index", [0, 1, 2])
def test_a_forged_response(committed: Case, index: int) -> None:
    contribution = committed.state.contributions[index]
    for which in range(len(contribution.responses)):
        responses = contribution.responses.copy()
        responses[which] = fr.add(responses[which], scalar(1))
        forged = forge(committed.state, index, responses=responses)
        refused(committed, forged, "contribution", f"contributions[{index}]")


def test_a_contribution_under_another_name(case: Case) -> None:
    for index in range(3):
        refused(case, forge(case.state, index, name="Eve"), "contribution", f"contributions[{index}]")
    refused(case, forge(case.state, 0, name="Ada "), "name")


def test_dropped_and_reordered_contributions(case: Case) -> None:
    first, second, third = case.state.contributions
    for kept in ((second, third), (first, third), (second, first, third), (first, third, second)):
        refused(case, replace(case.state, contributions=kept), "contribution")
    for length in range(3):
        cut = replace(case.state, contributions=case.state.contributions[:length])
        refused(case, cut, "key", "delta_g1")
    refused(case, replace(case.state, contributions=(first, second, third, third)), "contribution")


def test_a_proof_from_another_ceremony(case: Case) -> None:
    """The same shares by the same name in a ceremony that starts from other powers."""
    powers = known_powers(5, tau=TAU + 1)
    elsewhere = contribute_known(ceremony.start(case.system, powers), "Ada", 0)
    here = case.states[1]
    np.testing.assert_array_equal(elsewhere.contributions[0].secrets_g2, here.contributions[0].secrets_g2)
    replayed = replace(here, contributions=elsewhere.contributions)
    refused(case, replayed, "contribution", "contributions[0]")


@pytest.mark.parametrize("shares", [[1], [3, pow(3, -1, R)], [5, 3, pow(3, -1, R)]])
def test_shares_that_leave_a_secret_as_it_was(powers: PowersOfTau, shares: list[int]) -> None:
    """Everybody knows a share of one. Two shares that cancel leave δ as it was, too."""
    state = ceremony.start(cubic_statement(), powers)
    plain = Case(cubic_statement(), [], powers, (state,))
    for share in shares:
        state = with_shares(state, "Idle", [share])
    refused(plain, state, "contribution", f"contributions[{len(shares) - 1}]")
    with refuses("ceremony.contribution", match="leaves a secret as it was"):
        ceremony.add_beacon(state, Beacon(bytes(32), 1))


def test_a_share_that_leaves_one_secret_of_many_as_it_was(committed: Case) -> None:
    shares = known_shares(9, count(committed.state))
    for index in range(len(shares)):
        unit = 1 if index < committed.state.multiplied else 0
        idle = with_shares(committed.states[1], "Idle", [*shares[:index], unit, *shares[index + 1 :]])
        refused(committed, idle, "contribution", "contributions[1]")


def test_a_rogue_share_that_cancels_the_others(committed: Case) -> None:
    """k' = k* − k with a chosen k*: needs a share that the attacker does not know."""
    state = committed.states[2]
    before, hashes = state.chain
    chosen = known_shares(9, count(state))
    rogue_secrets = before.copy()
    rogue_secrets[state.multiplied :] = in_g2(chosen[state.multiplied :])
    rogue_secrets[: state.multiplied] = g2.mul(
        before[: state.multiplied], fr.from_ints(chosen[: state.multiplied])
    )
    for proof in rogue_proofs(state, before, rogue_secrets, chosen, hashes[-1]):
        rogue = replace(state, contributions=(*state.contributions, proof))
        refused(committed, rogue, "contribution", "contributions[2]")


def rogue_proofs(
    state: State, before: WordArray, after: WordArray, chosen: list[int], previous: bytes
) -> list[Contribution]:
    """Schnorr proofs by one who knows k* and uses it as if it were the share."""
    honest = chain.extend(previous, before, state.multiplied, "Eve", fr.from_ints(chosen))
    zero = np.zeros_like(honest.responses)
    lie = Contribution("Eve", after, honest.nonces, zero)
    nonces = [3] * len(chosen)
    bases = np.broadcast_to(g2.generator, before.shape).copy()
    bases[: state.multiplied] = before[: state.multiplied]
    own = Contribution("Eve", after, g2.mul(bases, fr.from_ints(nonces)), zero)
    challenge = fr.to_ints(own.challenge(previous))[0]
    responses = fr.from_ints([(n + challenge * x) % R for n, x in zip(nonces, chosen, strict=True)])
    return [replace(lie, responses=honest.responses), replace(own, responses=responses)]


def test_the_same_proof_by_someone_who_knows_the_share_holds(committed: Case) -> None:
    """The control for the one above: its proofs fail for the share alone."""
    state = committed.states[2]
    before, hashes = state.chain
    shares = known_shares(9, count(state))
    after = chain.extend(hashes[-1], before, state.multiplied, "Eve", fr.from_ints(shares)).secrets_g2
    _, own = rogue_proofs(state, before, after, shares, hashes[-1])
    chain.follow(state.origin, state.multiplied, state.added, (*state.contributions, own))


def test_a_zero_share(committed: Case) -> None:
    """A zero δ or σ wipes out what all others did; zero k, before anyone else's, binds no link."""
    start = committed.states[0]
    for index in range(count(start)):
        shares = known_shares(0, count(start))
        shares[index] = 0
        zero = with_shares(start, "Eve", shares)
        refused(committed, zero, "contribution", "contributions[0]")


def test_a_challenge_ignores_nothing(committed: Case) -> None:
    contribution = committed.states[1].contributions[0]
    origin = committed.state.origin
    changes: list[Callable[[Contribution], Contribution]] = [
        lambda c: c,
        lambda c: replace(c, name="Eve"),
        lambda c: replace(c, secrets_g2=nudged(c.secrets_g2, -1, g2)),
        lambda c: replace(c, nonces=nudged(c.nonces, -1, g2)),
    ]
    challenges = [change(contribution).challenge(origin) for change in changes]
    challenges.append(contribution.challenge(bytes(32)))
    assert len({challenge.tobytes() for challenge in challenges}) == 5
    hashes = {change(contribution).hash(origin) for change in changes} | {contribution.hash(bytes(32))}
    hashes.add(replace(contribution, responses=contribution.responses[::-1].copy()).hash(origin))
    assert len(hashes) == 6


# Another statement, other powers


def test_a_state_for_another_statement(case: Case) -> None:
    other = replace(case.system, private=case.system.private + 1)
    with refuses("ceremony.statement"):
        ceremony.verify(case.state, other, case.powers)
    claimed = replace(case.state, statement_digest=other.digest)
    with refuses("ceremony.origin"):
        ceremony.verify(claimed, other, case.powers)


def test_a_state_from_other_powers(case: Case) -> None:
    other = known_powers(5, tau=TAU + 1)
    with refuses("ceremony.origin"):
        ceremony.verify(case.state, case.system, other)
    claimed = with_arrays_of(ceremony.start(case.system, other), case.state)
    with refuses("ceremony.key"):
        ceremony.verify(claimed, case.system, other)
    with refuses("ceremony.contribution"):
        ceremony.verify(replace(claimed, contributions=case.state.contributions), case.system, other)


def other_value(state: State, field: str) -> object:
    value = getattr(state, field)
    if field == "shapes":
        return (Shape(2, True), Shape(1, True), Shape(2, True))
    if isinstance(value, bytes):
        return bytes(32)
    if isinstance(value, int):
        return value + 1
    return value[::-1].copy() if len(value) > 1 else value * value.dtype.type(0)


@pytest.mark.parametrize("field", [each.name for each in fields(State)])
def test_no_field_changes_but_by_contributions(
    folding: Case, committed: Case, tmp_path: Path, field: str
) -> None:
    """Verifiers, the next contributor and the proofs of shares all find a field that differs."""
    for case in (folding, committed):
        state, before = case.state, case.states[-2]
        if not case.system.segments[0].linked and field in ("links", "basis"):
            continue  # there are none
        if field in CHANGING or field == "contributions":
            refused(case, altered(state, field, getattr(before, field)), "key")
            continue
        changed = altered(state, field, other_value(state, field))
        named = ("statement", "statement") if field == "statement_digest" else ("origin", field)
        refused(case, changed, *named)
        assert changed.origin != state.origin
        changed.save(tmp_path / "state")
        with pytest.raises((CeremonyError, FileFormatError)):
            ceremony.load_next(tmp_path / "state", before)


@pytest.mark.parametrize("folded", [0, 1, 2])
def test_a_ceremony_that_folds_other_inputs(folding: Case, tmp_path: Path, folded: int) -> None:
    """An input that is shown instead of committed to is a challenge of the prover's choice."""
    began_so = ceremony.contribute(altered(folding.states[0], "folded", folded), "Mallory")
    for state in (altered(folding.state, "folded", folded), began_so):
        refused(folding, state, "origin", "folded")
        with refuses("ceremony.origin", "folded"):
            ceremony.finish(state, folding.system, folding.powers, development=True)
    altered(folding.state, "folded", folded).save(tmp_path / "state")
    with refuses("ceremony.origin", "folded"):
        ceremony.load_next(tmp_path / "state", folding.states[-2])


def test_the_origin_is_what_the_documentation_says(folding: Case, committed: Case) -> None:
    """docs/ceremony.md. Ceremonies that fold nothing have the origin that they always had."""
    for case in (folding, committed):
        state = case.state
        numbers = [state.powers_contributions, state.challenges, len(state.shapes), *np.ravel(state.shapes)]
        data = b"zenserve ceremony 1" + state.statement_digest + np.array(numbers, "<u8").tobytes()
        for name in FIXED:
            array = getattr(state, name)
            data += len(array).to_bytes(8, "little") + array.tobytes()
        data += (3).to_bytes(8, "little") if case is folding else b""
        assert state.origin == hashlib.sha256(data).digest()
