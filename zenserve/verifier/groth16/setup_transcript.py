"""How a ceremony's key came to its secrets, shown without the ceremony's files, in Python alone.

    check(document, key)       document as ``State.transcript`` of a ceremony makes it

It shows that δ, every σ and every k of ``key`` are what the contributions whose hashes it carries made of
one, or of zero, each by a party that knew its share, and that none of them leaves a secret as it was. Whether
a party kept its share secret, no transcript can show. It does not show what the ceremony started from:
whether the rest of the key is for a statement, its state and the powers of tau tell (docs/ceremony.md).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from py_arkworks_bls12381 import G2Point, Scalar

from zenserve.errors import CeremonyError, FileFormatError
from zenserve.verifier.beacon import Beacon, is_reserved
from zenserve.verifier.document import as_list, check_header, from_hex, hex_list, is_printable
from zenserve.verifier.groth16.verifying_key import VerifyingKey
from zenserve.verifier.points import SCALAR_MODULUS, PointError, decode_g2

MAX_NAME_BYTES: Final = 80
MOST_CONTRIBUTIONS: Final = 1024
HEADER: Final[Mapping[str, str | int]] = {"format": "zenserve ceremony transcript", "version": 1}

_LIKE_A_BEACON: Final = re.compile(r"2\^[0-9]+ [0-9a-f]{64}$|\(a beacon\)$")
_CHALLENGE_TAG: Final = b"zenserve contribution 1"
_HASH_TAG: Final = b"zenserve contribution hash 1"
_BYTES: Final = 32
_PARTS: Final = ("secrets", "nonces", "responses")


@dataclass(frozen=True)
class Contribution:
    """``name``: whose it is; ``secrets``: [secret]_2 after it, compressed; ``nonces``, compressed, and
    ``responses``, 32 bytes each, big-endian, prove that its share of each was known.
    """

    name: str
    secrets: tuple[bytes, ...]
    nonces: tuple[bytes, ...]
    responses: tuple[bytes, ...]

    def challenge(self, previous: bytes) -> int:
        """What the proofs answer: bound to everything before, the name, the results and the nonces."""
        digest = hashlib.sha512(_CHALLENGE_TAG + self._transcript(previous)).digest()
        return int.from_bytes(digest, "big") % SCALAR_MODULUS

    def hash(self, previous: bytes) -> bytes:
        """SHA-256 of all of it and of the hash before it: 32 bytes."""
        return hashlib.sha256(_HASH_TAG + self._transcript(previous) + b"".join(self.responses)).digest()

    def to_json(self) -> dict[str, Any]:
        """A JSON object, bytes in hex."""
        parts = {part: [value.hex() for value in getattr(self, part)] for part in _PARTS}
        return {"name": self.name, **parts}

    def _transcript(self, previous: bytes) -> bytes:
        name = self.name.encode()
        head = [previous, len(name).to_bytes(4, "big"), name, len(self.secrets).to_bytes(4, "big")]
        return b"".join([*head, *self.secrets, *self.nonces])


def check_name(name: str) -> None:
    """``CeremonyError`` (``ceremony.name``) unless it is 1 to 80 bytes of printable text, no space around,
    and not what a beacon's could be taken for.
    """
    disguised = _LIKE_A_BEACON.search(name) and not is_reserved(name)
    printable = is_printable(name) and name.strip() == name and 1 <= len(name.encode()) <= MAX_NAME_BYTES
    if disguised or not printable:
        raise CeremonyError(
            "ceremony.name",
            f"a contributor's name is 1 to {MAX_NAME_BYTES} bytes of printable text without space around it,"
            " and does not look like a beacon's",
            field="name",
        )


def people_and_beacon(names: Sequence[str]) -> tuple[int, Beacon | None]:
    """How many contributions of these names are people's, and the beacon, if one closed the ceremony.

    Nobody contributes after a beacon: it is there to be the last.
    Raises ``CeremonyError``: ``ceremony.name``, ``ceremony.beacon``.
    """
    for name in names:
        check_name(name)
    people = next((index for index, name in enumerate(names) if is_reserved(name)), len(names))
    if people >= MOST_CONTRIBUTIONS:
        raise CeremonyError(
            "ceremony.contribution",
            f"a ceremony has less than {MOST_CONTRIBUTIONS} contributors: the last place is a beacon's",
            field="contributions",
        )
    if people < len(names) - 1:
        raise CeremonyError(
            "ceremony.beacon",
            f"contribution {people + 1} is a beacon's, so none can follow it",
            field=f"contributions[{people + 1}]",
        )
    return people, Beacon.of(names[people]) if people < len(names) else None


def require_people(people: int) -> None:
    """``CeremonyError`` (``ceremony.no_contributions``) where ``people`` is none: everybody knows the secrets
    that a beacon alone makes.
    """
    if not people:
        raise CeremonyError(
            "ceremony.no_contributions",
            "nobody has contributed, beacons not counted, so everybody knows this key's secrets",
            field="contributions",
        )


def require_changed(secrets: Sequence[bytes], earlier: Sequence[set[bytes]], field: str) -> None:
    """``CeremonyError`` (``ceremony.contribution``) where a contribution leaves a secret as it was, or leads
    back to what it was at any time ``earlier``: everybody knows that share, or a product of shares.
    ``secrets``: [secret]_2 after the contribution, compressed; they are added to ``earlier``.
    """
    if any(secret in known for secret, known in zip(secrets, earlier, strict=True)):
        raise CeremonyError(
            "ceremony.contribution",
            f"{field} leaves a secret as it was before, so its share is no secret",
            field=field,
        )
    for secret, known in zip(secrets, earlier, strict=True):
        known.add(secret)


def require_drawn(holds: bool) -> None:
    """``CeremonyError`` (``ceremony.beacon``) unless a beacon's contribution is what it determines."""
    if not holds:
        raise CeremonyError(
            "ceremony.beacon", "the last contribution is not what its beacon makes of it", field="beacon"
        )


def check(document: Any, key: VerifyingKey) -> None:
    """Raises ``FileFormatError`` (``file.json``) for no transcript, and ``CeremonyError``
    (``ceremony.contribution``, ``ceremony.beacon``, ``ceremony.name``, ``ceremony.no_contributions``,
    ``ceremony.key``) for one that does not lead to ``key``.
    """
    check_header(document, "a ceremony's transcript", HEADER)
    if set(document) != {*HEADER, "origin", "contributions"}:
        raise FileFormatError("file.json", "a transcript has an origin, contributions, and no other field")
    previous = _exactly(from_hex(document.get("origin"), "origin"), "origin")
    secrets, multiplied, hashes = _first_secrets(key), 1 + len(key.segments), []
    contributions = list(_contributions(document, len(secrets)))
    people, beacon = people_and_beacon([each.name for each in contributions])
    require_people(people)
    earlier = [{bytes(secret.to_compressed_bytes())} for secret in secrets]
    for index, each in enumerate(contributions):
        if beacon and index == people:
            require_drawn(each == _drawn(beacon, previous, secrets, multiplied))
        secrets = _follow(previous, secrets, multiplied, each, f"contributions[{index}]")
        require_changed(each.secrets, earlier, f"contributions[{index}]")
        previous = each.hash(previous)
        hashes.append(previous)
    if tuple(hashes) != key.contributions:
        raise CeremonyError("ceremony.key", "the key names other contributions", field="contributions")
    if key.gamma_g2 != bytes(G2Point().to_compressed_bytes()):
        raise CeremonyError("ceremony.key", "γ is not one, as it is in every ceremony", field="gamma_g2")
    if [bytes(secret.to_compressed_bytes()) for secret in secrets] != list(_secrets_of(key)):
        raise CeremonyError("ceremony.key", "the key's secrets are not those of its ceremony", field="key")


def _secrets_of(key: VerifyingKey) -> Iterator[bytes]:
    """[δ]_2, every [σ]_2, every [k_1]_2 and [k_2]_2."""
    yield key.delta_g2
    yield from (segment.knowledge_g2 for segment in key.segments)
    for segment in key.segments:
        yield from segment.link_g2 or ()


def _first_secrets(key: VerifyingKey) -> list[G2Point]:
    """δ and σ begin at one, the k at zero."""
    links = sum(segment.link_g2 is not None for segment in key.segments)
    return [G2Point()] * (1 + len(key.segments)) + [G2Point.identity()] * (2 * links)


def _contributions(document: Mapping[str, Any], secrets: int) -> Iterator[Contribution]:
    entries = as_list(document.get("contributions"), "contributions")
    if not 1 <= len(entries) <= MOST_CONTRIBUTIONS:
        raise FileFormatError(
            "file.json", f"a ceremony has 1 to {MOST_CONTRIBUTIONS} contributions", field="contributions"
        )
    for index, entry in enumerate(entries):
        field = f"contributions[{index}]"
        if not isinstance(entry, Mapping) or set(entry) != {"name", *_PARTS}:
            raise FileFormatError("file.json", f"{field} must be a contribution", field=field)
        if not isinstance(entry["name"], str):
            raise FileFormatError("file.json", f"{field}.name must be a text", field=field)
        parts = {part: tuple(hex_list(entry[part], f"{field}.{part}")) for part in _PARTS}
        if any(len(values) != secrets for values in parts.values()):
            raise FileFormatError("file.json", f"{field} must be about {secrets} secrets", field=field)
        yield Contribution(entry["name"], **parts)


def _follow(
    previous: bytes, before: list[G2Point], multiplied: int, each: Contribution, field: str
) -> list[G2Point]:
    """The secrets after a contribution. Each share x is proven by s · base = nonce + c · (x · base)."""
    try:
        after, nonces = ([decode_g2(point) for point in points] for points in (each.secrets, each.nonces))
    except PointError:
        raise CeremonyError("ceremony.contribution", f"{field} holds what is no point", field=field) from None
    challenge = Scalar(each.challenge(previous))
    for index, (now, nonce, response) in enumerate(zip(after, nonces, each.responses, strict=True)):
        # Of a product the share is what the secret is multiplied by, of a sum what is added to it.
        base, change = (before[index], now) if index < multiplied else (G2Point(), now - before[index])
        if base * _scalar(response, field) != nonce + change * challenge:
            raise CeremonyError(
                "ceremony.contribution",
                f"{field} does not prove that its author knew the shares, at this place and under this name",
                field=field,
            )
    return after


def _drawn(beacon: Beacon, previous: bytes, before: list[G2Point], multiplied: int) -> Contribution:
    """What a beacon contributes. Nothing in it is free: each nonce is the point that its share multiplies."""
    shares = beacon.shares(previous, len(before))
    bases = [*before[:multiplied], *[G2Point()] * (len(before) - multiplied)]
    after = [base * Scalar(share) for base, share in zip(bases, shares, strict=True)]
    after[multiplied:] = [now + was for now, was in zip(after[multiplied:], before[multiplied:], strict=True)]
    secrets, nonces = (tuple(bytes(p.to_compressed_bytes()) for p in points) for points in (after, bases))
    challenge = Contribution(beacon.name, secrets, nonces, ()).challenge(previous)
    responses = ((1 + challenge * share) % SCALAR_MODULUS for share in shares)
    return Contribution(
        beacon.name, secrets, nonces, tuple(value.to_bytes(_BYTES, "big") for value in responses)
    )


def _scalar(response: bytes, field: str) -> Scalar:
    value = int.from_bytes(_exactly(response, field), "big")
    if value >= SCALAR_MODULUS:
        raise FileFormatError("file.json", f"{field}: a response is not below the group's order", field=field)
    return Scalar(value)


def _exactly(data: bytes, field: str) -> bytes:
    if len(data) != _BYTES:
        raise FileFormatError("file.json", f"{field} must have {_BYTES} bytes", field=field)
    return data
