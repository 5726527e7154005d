"""Honest ceremonies: what they make, judged by exponents, by proofs and by what each share changes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from tests.prover.ceremony.support import (
    ALPHA,
    BETA,
    TAU,
    Case,
    in_g1,
    in_g2,
    known_powers,
    known_shares,
    secrets,
    with_shares,
)
from tests.prover.statements import (
    R,
    committed_statement,
    complete_committed,
    csr,
    cubic_statement,
    satisfied,
)
from tests.refusals import refuses
from zenserve.errors import Cancelled
from zenserve.kernels import FrArray, fr, g1, g2
from zenserve.prover import groth16
from zenserve.prover.blocks import SparseBlock
from zenserve.prover.constraint_system import ConstraintSystem, Segment
from zenserve.prover.groth16 import CommitmentKey, ProvingKey, VerifyingKey, ceremony, reference
from zenserve.prover.groth16.ceremony import State, chain, contribution
from zenserve.prover.groth16.ceremony.initial import required_power
from zenserve.prover.groth16.commitment import blinding_point
from zenserve.prover.groth16.powers_of_tau import PowersOfTau
from zenserve.prover.groth16.reference import Trapdoor
from zenserve.prover.groth16.reference.exponents import roots_of_unity


def trapdoor(case: Case) -> Trapdoor:
    state = case.state
    count = state.multiplied + state.added
    known = secrets(state, [known_shares(index, count) for index in range(3)])
    delta, sigma, k = known[0], known[1 : state.multiplied], known[state.multiplied :]
    return Trapdoor(TAU, ALPHA, BETA, 1, delta, tuple(sigma), tuple(zip(k[::2], k[1::2], strict=True)))


def test_the_key_is_what_the_exponents_say(case: Case) -> None:
    key, secret = ceremony.finish(case.state, case.system, case.powers, development=True), trapdoor(case)
    expected = reference.key_exponents(case.system, secret)
    for name in ("private", "segments", "knowledge"):
        np.testing.assert_array_equal(getattr(key, name), in_g1(expected[name]), err_msg=name)
    np.testing.assert_array_equal(key.a, in_g1([expected["a"][j] for j in key.a_columns]))
    np.testing.assert_array_equal(key.b_g1, in_g1([expected["b"][j] for j in key.b_columns]))
    np.testing.assert_array_equal(key.b_g2, in_g2([expected["b"][j] for j in key.b_columns]))
    assert np.flatnonzero(expected["a"]).tolist() == key.a_columns.tolist()
    assert np.flatnonzero(expected["b"]).tolist() == key.b_columns.tolist()
    vk = key.verifying_key
    assert b"".join(vk.ic) == g1.compress(in_g1(expected["public"]))
    assert vk.alpha_g1 + g1.compress(key.beta_g1) == g1.compress(in_g1([ALPHA, BETA]))
    assert g1.compress(key.delta_g1) == g1.compress(in_g1([secret.delta]))
    assert vk.beta_g2 + vk.gamma_g2 + vk.delta_g2 == g2.compress(in_g2([BETA, 1, secret.delta]))


def test_the_quotient_is_that_of_the_exponents_but_for_a_multiple_of_z(case: Case) -> None:
    """L_i − x_i / 2n X^(n−1) Z: what keeps the degree below 2n − 1, where powers of tau end."""
    secret, n = trapdoor(case), len(case.state.quotient)
    exact = reference.key_exponents(case.system, secret)["quotient"]
    extra = pow(TAU, n - 1, R) * (pow(TAU, n, R) - 1) * pow(2 * n * secret.delta, -1, R)
    odd = roots_of_unity(2 * n)[1::2]
    expected = [(value - x * extra) % R for value, x in zip(exact, odd, strict=True)]
    np.testing.assert_array_equal(case.state.quotient, in_g1(expected))


def test_segment_keys_and_links_are_what_the_exponents_say(committed: Case) -> None:
    key, secret = (
        ceremony.finish(committed.state, committed.system, committed.powers, development=True),
        trapdoor(committed),
    )
    for segment, sigma in zip(key.verifying_key.segments, secret.sigma, strict=True):
        assert segment.knowledge_g2 == g2.compress(in_g2([sigma]))
    for index, (k_1, k_2) in enumerate(secret.links):
        link = key.verifying_key.segments[index].link_g2
        assert link is not None
        assert b"".join(link) == g2.compress(in_g2([k_1, k_2]))
    segments = reference.key_exponents(committed.system, secret)["segments"]
    expected = []
    for part, (k_1, k_2) in zip((segments[:3], segments[3:5]), secret.links, strict=True):
        *values, blinding = part
        expected += [*in_g1([k_1 * value + k_2 * pow(TAU, i, R) for i, value in enumerate(values)])]
        expected += [*in_g1([k_1 * blinding]), *g1.mul(blinding_point(), fr.from_ints([k_2]))]
    np.testing.assert_array_equal(key.links, np.stack(expected))


def prove_and_verify(case: Case, key: ProvingKey) -> str:
    witness = fr.from_ints(case.z)
    if not case.system.segments:
        proof = groth16.prove(key, case.system, witness)
        return groth16.verify(key.verifying_key, case.z[1 : 1 + case.system.public], proof).reason
    basis = CommitmentKey.of(case.powers)
    openings = (basis.commit(witness[3:5]), basis.commit(witness[6:7]))
    proof = groth16.prove(key, case.system, witness, openings=openings, post_challenge=complete_committed)
    outside = [opening.commitment for opening in openings]
    assert not groth16.verify(key.verifying_key, case.z[1:2], proof, outside[::-1])
    return groth16.verify(key.verifying_key, case.z[1:2], proof, outside).reason


def test_three_contributors_make_a_key_that_proves(case: Case, tmp_path: Path) -> None:
    for state in case.states:
        ceremony.verify(state, case.system, case.powers, threads=2)
    case.state.save(tmp_path / "state")
    state = State.load(tmp_path / "state", threads=2)
    key = ceremony.finish(state, case.system, case.powers, development=True)
    key.save(tmp_path / "key")
    assert prove_and_verify(case, ProvingKey.load(tmp_path / "key")) == "ok"


def test_one_linked_segment_and_one_contributor(powers: PowersOfTau) -> None:
    """w x = y, w linked: variables 1 | y | challenge | w, blinding | x."""
    block = SparseBlock("product", csr([{3: 1}]), csr([{5: 1}]), csr([{1: 1}]))
    system = ConstraintSystem(1, 1, (block,), 1, (Segment("model", 1, linked=True),))
    state = ceremony.contribute(ceremony.start(system, powers), "Ada")
    key, basis = ceremony.finish(state, system, powers, development=True), CommitmentKey.of(powers)
    opening = basis.commit(fr.from_ints([5]))
    proof = groth16.prove(key, system, fr.from_ints([1, 35, 0, 5, 0, 7]), openings=[opening])
    assert groth16.verify(key.verifying_key, [35], proof, [opening.commitment])
    other = basis.commit(fr.from_ints([6])).commitment
    assert not groth16.verify(key.verifying_key, [35], proof, [other])


@settings(max_examples=10)
@given(satisfied())
def test_ceremonies_for_any_statement(case: tuple[ConstraintSystem, list[int]]) -> None:
    (system, z), powers = case, known_powers(5)
    state = ceremony.contribute(ceremony.start(system, powers), "Ada")
    key = ceremony.finish(state, system, powers, development=True)
    proof = groth16.prove(key, system, fr.from_ints(z))
    assert groth16.verify(key.verifying_key, z[1 : 1 + system.public], proof)


def test_labels_say_who_made_the_key(case: Case) -> None:
    with refuses("ceremony.no_contributions") as refused:
        ceremony.finish(case.state, case.system, case.powers)
    assert refused.value.field == "development"
    alone = ceremony.finish(case.state, case.system, case.powers, development=True).verifying_key
    _, hashes = case.state.chain
    assert (alone.setup, alone.contributions) == ("development", hashes)
    shared = replace(case.powers, contributions=2)
    start = ceremony.start(case.system, shared)
    with refuses("ceremony.no_contributions"):
        ceremony.finish(start, case.system, shared)
    state = ceremony.contribute(start, "Ada")
    together = ceremony.finish(state, case.system, shared).verifying_key
    assert (together.setup, together.contributions) == ("ceremony", state.chain[1])
    assert VerifyingKey.from_bytes(together.to_bytes()) == together
    with refuses("ceremony.origin"):
        ceremony.finish(
            replace(case.state, powers_contributions=2), case.system, case.powers, development=True
        )


def test_each_contributor_finds_the_own_hash_in_the_key(case: Case) -> None:
    _, hashes = case.state.chain
    for index, state in enumerate(case.states[1:]):
        assert state.chain[1] == hashes[: index + 1]
    assert len(set(hashes)) == 3


def test_the_start_is_the_same_for_all_who_compute_it(case: Case, powers: PowersOfTau) -> None:
    power = required_power(case.system)
    again = ceremony.start(case.system, powers.first(power), threads=2)
    assert again.origin == case.states[0].origin
    others = {
        ceremony.start(case.system, known_powers(power, tau=TAU + 1)).origin,
        ceremony.start(case.system, replace(powers, contributions=1)).origin,
        ceremony.start(committed_statement(linked=False), powers).origin,
        again.origin,
    }
    assert len(others) == 4


def test_every_share_changes_every_element_that_depends_on_it(committed: Case) -> None:
    """One honest share among known ones: were it left out, some element would be as an attacker knows it."""
    state = committed.states[2]
    count = state.multiplied + state.added
    known = with_shares(state, "x", known_shares(2, count))
    parts = {0: ("delta_g1", slice(None)), 4: ("links", slice(0, 4)), 6: ("links", slice(4, 7))}
    parts |= {5: ("links", slice(0, 4)), 7: ("links", slice(4, 7))}
    ends = [0, 3, 5, 8]
    parts |= {1 + i: ("knowledge", slice(ends[i], ends[i + 1])) for i in range(3)}
    outside_k = {4: [3], 5: [2], 6: [2], 7: [1]}  # H does not depend on k_1, the blinding not on k_2
    for index in range(count):
        shares = known_shares(2, count)
        shares[index] = (shares[index] + 1) % R
        changed = with_shares(state, "x", shares)
        name, part = parts[index]
        for array in ("delta_g1", "private", "quotient", "knowledge", "links"):
            same = (getattr(known, array) == getattr(changed, array)).all(axis=(1, 2))
            may = np.zeros(len(same), dtype=np.bool_)
            if array == name or (index == 0 and array in ("private", "quotient")):
                chosen = np.arange(len(same))[part if array == name else slice(None)]
                may[np.delete(chosen, outside_k.get(index, []))] = True
            finite = ~g1.is_infinity(getattr(known, array))
            assert (same == ~(may & finite)).all(), (index, array)
        after = known.chain[0], changed.chain[0]
        assert [(p != q).any() for p, q in zip(*after, strict=True)] == [i == index for i in range(count)]


def test_two_contributions_share_nothing(case: Case) -> None:
    first, second = (ceremony.contribute(case.states[1], "Emmy") for _ in range(2))
    for name in ("delta_g1", "private", "quotient", "knowledge", "links"):
        finite = ~g1.is_infinity(getattr(first, name))
        equal = (getattr(first, name) == getattr(second, name)).all(axis=(1, 2))
        assert not (equal & finite).any()
    for name in ("secrets_g2", "nonces", "responses"):
        one, two = getattr(first.contributions[1], name), getattr(second.contributions[1], name)
        assert (one != two).reshape(len(one), -1).any(axis=1).all()


def test_shares_and_nonces_are_wiped(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[FrArray] = []

    def spy(count: int) -> FrArray:
        drawn.append(fr.from_ints(range(1, count + 1)))
        return drawn[-1]

    monkeypatch.setattr(contribution, "random_elements", spy)
    monkeypatch.setattr(chain, "random_elements", spy)
    ceremony.contribute(case.state, "Ada")
    assert len(drawn) == 2
    assert not any(array.any() for array in drawn)

    def stop(stage: str, fraction: float) -> None:
        if stage == "segments":
            raise Cancelled

    with pytest.raises(Cancelled):
        ceremony.contribute(case.state, "Ada", progress=stop)
    assert len(drawn) == 4
    assert not drawn[-1].any()


def test_a_zero_share_is_drawn_again(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    count = case.state.multiplied + case.state.added
    draws = [fr.from_ints([*range(count)]), fr.from_ints([*range(2, count + 2)])]
    monkeypatch.setattr(contribution, "random_elements", lambda _: draws.pop(0))
    state = ceremony.contribute(case.state, "Ada")
    assert not draws
    ceremony.verify(state, case.system, case.powers)


@pytest.mark.parametrize("name", ["", " Ada", "Ada\n", "A" * 81, "é" * 41, "\0"])
def test_names_that_would_not_print_or_fit_are_refused(case: Case, name: str) -> None:
    with refuses("ceremony.name", "name"):
        ceremony.contribute(case.state, name)


def test_the_powers_must_reach_the_rows_and_the_longest_linked_segment(powers: PowersOfTau) -> None:
    assert required_power(cubic_statement()) == 3
    long = ConstraintSystem(0, 0, (), 1, (Segment("model", 64, linked=True),))
    assert required_power(long) == 6
    assert len(known_powers(6).tau_g1) >= 64 > len(powers.tau_g1)
    with refuses("ceremony.powers_too_small", "powers"):
        ceremony.start(long, powers)
    with refuses("ceremony.powers_too_small"):
        ceremony.start(cubic_statement(), powers.first(2))


def test_progress_names_the_stages(case: Case) -> None:
    stages: list[str] = []

    def listen(stage: str, fraction: float) -> None:
        assert 0 <= fraction <= 1
        if stage not in stages:
            stages.append(stage)

    ceremony.verify(case.state, case.system, case.powers, progress=listen)
    assert stages == ["origin", "contributions"]
    stages.clear()
    ceremony.contribute(case.state, "Ada", progress=listen)
    assert stages == ["check", "private", "quotient", "segments"]
