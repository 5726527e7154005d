"""The chain of contributions: what each did to the secrets, in G2, and the proof that its author knew it.

A ceremony has secrets δ, σ of each segment, k_1 and k_2 of each link, here in that order; [secret]_2 is
public. δ and every σ start at one and are multiplied by each contributor's share; the k start at zero and the
shares are added, because a key may only hold sums k_1 K_i + k_2 U_i, which nobody could multiply term by
term without knowing the terms. Each share comes with a Schnorr proof that its author knows it: without, the
last contributor could choose [secret]_2 at will. Kohlweiss, Maller, Siim, Volkhov, ePrint 2021/219, prove
ceremonies of this form secure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from zenserve.base.randomness import Secrets, random_elements
from zenserve.errors import CeremonyError
from zenserve.kernels import FrArray, WordArray, fr, g2
from zenserve.verifier.beacon import Beacon
from zenserve.verifier.groth16 import setup_transcript
from zenserve.verifier.groth16.setup_transcript import (
    check_name,
    people_and_beacon,
    require_changed,
    require_drawn,
)


@dataclass(frozen=True, eq=False)
class Contribution:
    """``name``: whose it is; ``secrets_g2``: [secret]_2 after it, uint64[secrets, 2, 2, 6]; ``nonces`` and
    ``responses``: the Schnorr proofs, uint64[secrets, 2, 2, 6] and uint64[secrets, 4] (Montgomery).
    """

    name: str
    secrets_g2: WordArray
    nonces: WordArray
    responses: FrArray

    def hash(self, previous: bytes) -> bytes:
        """SHA-256 of all of it and of the hash before it: 32 bytes."""
        return self.shown.hash(previous)

    def challenge(self, previous: bytes) -> FrArray:
        """What the proofs answer: bound to everything before, the name, the results and the nonces."""
        return fr.from_ints([self.shown.challenge(previous)]).reshape(4)

    @property
    def shown(self) -> setup_transcript.Contribution:
        """As transcripts have it."""
        return setup_transcript.Contribution(
            self.name,
            tuple(g2.compress(point) for point in self.secrets_g2),
            tuple(g2.compress(point) for point in self.nonces),
            tuple(value.to_bytes(32, "big") for value in fr.to_ints(self.responses)),
        )


def first_secrets(multiplied: int, added: int) -> WordArray:
    """[1]_2 for each secret that shares multiply, infinity for those that they are added to."""
    secrets = np.zeros((multiplied + added, *g2.shape), dtype=np.uint64)
    secrets[:multiplied] = g2.generator
    return secrets


def extend(
    previous: bytes, secrets_g2: WordArray, multiplied: int, name: str, shares: FrArray
) -> Contribution:
    """The contribution of ``shares`` (uint64[secrets, 4], none of them zero) to ``secrets_g2``.

    ``previous``: the hash of what came before. Raises ``CeremonyError`` (``ceremony.name``).
    """
    check_name(name)
    bases = _bases(secrets_g2, multiplied)
    after = _after(secrets_g2, bases, multiplied, shares)
    with Secrets() as secret:
        nonces = secret(random_elements(len(shares)))
        open_contribution = Contribution(name, after, g2.mul(bases, nonces), np.zeros_like(shares))
        challenge = open_contribution.challenge(previous)
        responses = fr.add(nonces, secret(fr.mul(shares, challenge)))
    return Contribution(name, after, open_contribution.nonces, responses)


def drawn(
    beacon: Beacon, previous: bytes, secrets_g2: WordArray, multiplied: int
) -> tuple[FrArray, Contribution]:
    """The shares of a beacon, uint64[secrets, 4], and its contribution, in which nothing is free to choose:
    each nonce is the point that the share multiplies.
    """
    shares = fr.from_ints(beacon.shares(previous, len(secrets_g2)))
    bases = _bases(secrets_g2, multiplied)
    after = _after(secrets_g2, bases, multiplied, shares)
    challenge = Contribution(beacon.name, after, bases, np.zeros_like(shares)).challenge(previous)
    one = np.broadcast_to(fr.from_ints([1]), shares.shape)
    return shares, Contribution(beacon.name, after, bases, fr.add(one, fr.mul(shares, challenge)))


def follow(
    origin: bytes, multiplied: int, added: int, contributions: Sequence[Contribution]
) -> tuple[WordArray, tuple[bytes, ...]]:
    """[secret]_2 and all hashes after ``contributions``, each of whose proofs is checked.

    Their points must be known to be in the subgroup. Raises ``CeremonyError``: ``ceremony.name``,
    ``ceremony.beacon``, ``ceremony.contribution``.
    """
    secrets_g2, previous, hashes = first_secrets(multiplied, added), origin, []
    people, beacon = people_and_beacon([contribution.name for contribution in contributions])
    earlier = [{g2.compress(point)} for point in secrets_g2]
    for index, contribution in enumerate(contributions):
        if beacon and index == people:
            _, expected = drawn(beacon, previous, secrets_g2, multiplied)
            require_drawn(contribution.shown == expected.shown)
        if not _holds(previous, secrets_g2, multiplied, contribution):
            raise CeremonyError(
                "ceremony.contribution",
                f"contribution {index + 1}, by {contribution.name!r}, does not prove that its author knew "
                "the shares, at this place in this ceremony and under this name",
                field=f"contributions[{index}]",
            )
        require_changed(contribution.shown.secrets, earlier, f"contributions[{index}]")
        secrets_g2, previous = contribution.secrets_g2, contribution.hash(previous)
        hashes.append(previous)
    return secrets_g2, tuple(hashes)


def _holds(previous: bytes, before: WordArray, multiplied: int, contribution: Contribution) -> bool:
    after, nonces = contribution.secrets_g2, contribution.nonces
    if g2.is_infinity(after).any() or g2.is_infinity(nonces).any():
        return False
    change = after.copy()
    change[multiplied:] = g2.add(after[multiplied:], g2.neg(before[multiplied:]))
    answers = g2.mul(_bases(before, multiplied), contribution.responses)
    challenge = contribution.challenge(previous)
    return np.array_equal(answers, g2.add(nonces, g2.mul(change, challenge)))


def _after(secrets_g2: WordArray, bases: WordArray, multiplied: int, shares: FrArray) -> WordArray:
    after = g2.mul(bases, shares)
    after[multiplied:] = g2.add(secrets_g2[multiplied:], after[multiplied:])
    return after


def _bases(secrets_g2: WordArray, multiplied: int) -> WordArray:
    """What each share multiplies in G2: the secret so far, or the generator where the share is added."""
    bases = np.broadcast_to(g2.generator, secrets_g2.shape).copy()
    bases[:multiplied] = secrets_g2[:multiplied]
    return bases
