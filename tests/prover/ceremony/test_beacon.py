"""Public randomness closes a ceremony: the same for all who compute it, and nothing else passes for it."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from tests.prover.ceremony.support import Case, contribute_known, forge, known_shares
from tests.prover.statements import R
from tests.refusals import refuses
from zenserve.kernels import fr, g2
from zenserve.prover.groth16 import ceremony
from zenserve.prover.groth16.ceremony import State, chain
from zenserve.verifier.beacon import MOST_ROUNDS, Beacon
from zenserve.verifier.groth16 import setup_transcript
from zenserve.verifier.groth16.setup_transcript import check

VALUE = hashlib.sha256(b"a round that nobody knew").digest()
BEACON = Beacon(VALUE, 3)


@pytest.fixture(scope="module")
def closed(committed: Case) -> State:
    return ceremony.add_beacon(committed.state, BEACON)


def refused(case: Case, state: State, code: str) -> None:
    """By whoever has the state, and by whoever has the key and its transcript alone."""
    for judge in (
        lambda: ceremony.verify(state, case.system, case.powers),
        lambda: ceremony.finish(state, case.system, case.powers, development=True),
    ):
        with refuses(f"ceremony.{code}"):
            judge()


def test_a_beacon_makes_a_key_that_its_transcript_shows(committed: Case, closed: State) -> None:
    assert (closed.people, closed.beacon) == (3, BEACON)
    key = ceremony.finish(closed, committed.system, committed.powers, development=True).verifying_key
    assert len(key.contributions) == 4
    check(closed.transcript, key)


def test_everybody_gets_the_same_file(committed: Case, closed: State, tmp_path: Path) -> None:
    closed.save(tmp_path / "a")
    ceremony.add_beacon(committed.state, BEACON, threads=2).save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert State.load(tmp_path / "a").beacon == BEACON


def test_the_shares_are_those_of_the_documented_rule(committed: Case, closed: State) -> None:
    seed = VALUE
    for _ in range(8):
        seed = hashlib.sha256(seed).digest()
    _, hashes = committed.state.chain
    before, after = committed.state.contributions[-1].secrets_g2, closed.contributions[-1].secrets_g2
    for index in range(len(before)):
        digest = hashlib.sha512(b"zenserve beacon 1" + seed + hashes[-1] + index.to_bytes(4, "big")).digest()
        share = fr.from_ints([int.from_bytes(digest, "big") % R])
        base = before[index : index + 1] if index < closed.multiplied else g2.generator[None]
        change = g2.mul(base, share)
        expected = change if index < closed.multiplied else g2.add(before[index : index + 1], change)
        assert (after[index] == expected[0]).all()


def disguised(case: Case, name: str, shares: list[int]) -> State:
    """A person's valid contribution of ``shares``, under a beacon's name."""
    _, hashes = case.state.chain
    secrets = case.state.contributions[-1].secrets_g2
    own = chain.extend(hashes[-1], secrets, case.state.multiplied, name, fr.from_ints(shares))
    return replace(case.state, contributions=(*case.state.contributions, own))


def test_a_person_under_a_beacon_s_name(committed: Case) -> None:
    """The last contributor, who proves shares of their own choice, would call them random."""
    count = committed.state.multiplied + committed.state.added
    refused(committed, disguised(committed, BEACON.name, known_shares(9, count)), "beacon")


def test_a_beacon_s_shares_with_other_nonces(committed: Case) -> None:
    """The hash in the key would be one of as many as somebody cares to try."""
    _, hashes = committed.state.chain
    count = committed.state.multiplied + committed.state.added
    refused(committed, disguised(committed, BEACON.name, BEACON.shares(hashes[-1], count)), "beacon")


def test_a_beacon_of_another_value_number_or_place(committed: Case, closed: State) -> None:
    for other in (Beacon(hashlib.sha256(VALUE).digest(), 3), Beacon(VALUE, 4)):
        refused(committed, forge(closed, 3, name=other.name), "beacon")
    first, second, _ = committed.state.contributions
    moved = replace(closed, contributions=(first, second, closed.contributions[-1]))
    refused(committed, moved, "beacon")


def test_the_transcript_alone_tells_as_well(committed: Case, closed: State) -> None:
    count = committed.state.multiplied + committed.state.added
    for state in (
        disguised(committed, BEACON.name, known_shares(9, count)),
        forge(closed, 3, name=Beacon(VALUE, 4).name),
        replace(closed, contributions=(*closed.contributions, *committed.state.contributions[:1])),
    ):
        with refuses("ceremony.beacon"):
            check(state.transcript, ceremony.verifying_key(closed))


def test_nobody_follows_a_beacon(committed: Case, closed: State) -> None:
    with refuses("ceremony.beacon"):
        contribute_known(closed, "Eve", 9)
    with refuses("ceremony.beacon"):
        ceremony.add_beacon(closed, BEACON)
    contributions = (*closed.contributions, closed.contributions[-1])
    refused(committed, replace(closed, contributions=contributions), "beacon")


def test_a_beacon_alone_is_nobody_s_contribution(committed: Case) -> None:
    """Everybody knows the secrets of such a key: it must not be one of a ceremony."""
    alone = ceremony.add_beacon(committed.states[0], BEACON)
    with refuses("ceremony.no_contributions"):
        ceremony.finish(alone, committed.system, committed.powers, development=True)
    with refuses("ceremony.no_contributions"):
        check(alone.transcript, ceremony.verifying_key(alone))


@pytest.mark.parametrize(
    "name", [BEACON.name, "beacon", "Beacon 7", "beacon 2^17 " + "00" * 32, "beacon 2^03 " + "00" * 32]
)
def test_people_s_names_are_no_beacon_s(committed: Case, name: str) -> None:
    with refuses("ceremony.beacon"):
        ceremony.contribute(committed.states[0], name)


@pytest.mark.parametrize(
    "name", ["b\u0435acon 2^10 " + "00" * 32, "\uff42eacon (a beacon)", "x 2^1 " + "ab" * 32]
)
def test_people_s_names_do_not_look_like_a_beacon_s(committed: Case, name: str) -> None:
    with refuses("ceremony.name"):
        ceremony.contribute(committed.states[0], name)


def test_the_last_place_is_the_beacon_s(committed: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key of more contributions than a transcript can have could be installed, and never be opened."""
    people = len(committed.state.contributions)
    monkeypatch.setattr(setup_transcript, "MOST_CONTRIBUTIONS", people + 1)
    closed = ceremony.add_beacon(committed.state, BEACON)
    check(closed.transcript, ceremony.verifying_key(closed))
    with refuses("ceremony.contribution", "contributions"):
        ceremony.contribute(committed.state, "one too many")


@pytest.mark.parametrize("rounds", [-1, MOST_ROUNDS + 1])
def test_what_is_no_beacon(rounds: int) -> None:
    for value, number in ((VALUE, rounds), (VALUE[1:], 3), (VALUE + b"0", 3)):
        with refuses("ceremony.beacon"):
            Beacon(value, number)
