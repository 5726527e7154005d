"""The contributors to a ``.ptau`` file, and the checks that ``snarkjs powersoftau verify`` makes.

Each contributor draws factors of τ, α and β, multiplies the powers by them, and leaves [τ]_1, [τ]_2, [α]_1,
[β]_1, [β]_2 as they are then; and for each factor x a proof of knowledge (Bowe, Gabizon, Miers, ePrint
2017/1050, section 3): s and x s in G1, x q in G2 for a q that is hashed from s, x s and the transcript
before.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from zenserve.errors import CeremonyError, FileFormatError
from zenserve.kernels import Group, WordArray, fp, g1, g2
from zenserve.prover.groth16.iden3 import blake2
from zenserve.prover.groth16.iden3.binfile import Bytes, Reader
from zenserve.prover.groth16.iden3.drawing import Source
from zenserve.prover.groth16.point_arrays import check_points, pairings_cancel
from zenserve.prover.groth16.powers_of_tau import PowersOfTau
from zenserve.verifier.beacon import iterate

_SECRETS: Final = ("tau", "alpha", "beta")
_RECORD: Final = np.dtype(
    [
        ("tau_g1", "<u8", g1.shape),
        ("tau_g2", "<u8", g2.shape),
        ("alpha_g1", "<u8", g1.shape),
        ("beta_g1", "<u8", g1.shape),
        ("beta_g2", "<u8", g2.shape),
        ("proofs_g1", "<u8", (3, 2, *g1.shape)),
        ("proofs_g2", "<u8", (3, *g2.shape)),
        ("hash_state", "u1", (blake2.STATE_BYTES,)),
        ("challenge", "u1", (64,)),
    ]
)
_RESULTS: Final = {"tau_g1": g1, "tau_g2": g2, "alpha_g1": g1, "beta_g1": g1, "beta_g2": g2}
_FACTORS: Final = tuple(f"{name}_g1" for name in _SECRETS)
_BY_A_PERSON, _BY_A_BEACON = 0, 1
_NAME, _ROUNDS, _BEACON = 1, 2, 3
_MOST_ROUNDS: Final = 24
"""A beacon is hashed 2^rounds times: that many take seconds."""
_AT_ONCE: Final = 1 << 16


class Contributor(NamedTuple):
    """``name``: as the contributor gave it, "" without one; ``response``: the hash that they could publish,
    64 bytes; ``is_beacon``: whether the factors are everybody's, drawn from public randomness.
    """

    name: str
    response: bytes
    is_beacon: bool


@dataclass(frozen=True, eq=False)
class Contribution:
    """``results`` by the names of ``_RESULTS``, uint64[1, ...]; ``proofs_g1`` s and x s, uint64[3, 2, 2, 6],
    and ``proofs_g2`` x q, uint64[3, 2, 2, 6], of the factors of τ, α and β; ``challenge``: the hash of all
    that the next one is handed, 64 bytes.
    """

    results: dict[str, WordArray]
    proofs_g1: WordArray
    proofs_g2: WordArray
    hash_state: bytes
    challenge: bytes
    name: str
    beacon: bytes | None
    rounds: int

    @property
    def response(self) -> bytes:
        """The hash of what was handed over and of the proofs, 64 bytes."""
        proofs = _encode(self.proofs_g1, g1) + _encode(self.proofs_g2, g2)
        return blake2.finish(self.hash_state, proofs)


def read(body: Bytes) -> list[Contribution]:
    """Section 7. Raises ``FileFormatError``: ``file.length``, ``file.shape``, ``file.point_*``, and
    ``CeremonyError`` (``ceremony.beacon``) for a beacon that is hashed too often.
    """
    reader = Reader(body, "the list of contributions")
    contributions = [_read_one(reader, f"contributions[{index}]") for index in range(reader.u32())]
    reader.finish()
    return contributions


def verify(contributions: Sequence[Contribution], powers: PowersOfTau, ceremony_power: int) -> None:
    """Check that ``powers``, known to be powers of one secret, result from these contributions in turn,
    starting from 1.

    ``ceremony_power``: of the ceremony; the powers may be the first of a longer list. Raises
    ``CeremonyError`` (``ceremony.contribution``, its place as the field).
    """
    if not contributions:
        return
    results, challenge = _generators(), _first_challenge(ceremony_power)
    earlier = {name: {results[name].tobytes()} for name in _FACTORS}
    for index, each in enumerate(contributions):
        field = f"contributions[{index}]"
        _require(field, _follows(each, results, challenge), "does not follow from the one before it")
        _require(field, _is_its_beacon_s(each, challenge), "is not what its beacon makes of it")
        for name, known in earlier.items():
            now = each.results[name].tobytes()
            _require(field, now not in known, f"leaves {name} as it was before, so its factor is no secret")
            known.add(now)
        results, challenge = each.results, each.challenge
    for name in _RESULTS:
        point = getattr(powers, name)[1 if name.startswith("tau") else 0]
        _require(
            field, np.array_equal(results[name][0], point), f"did not lead to these powers: {name} differs"
        )
    if powers.power == ceremony_power:
        handed_on = _challenge(
            each.response, ((group, getattr(powers, name)) for name, group in _RESULTS.items())
        )
        _require(field, handed_on == challenge, "did not hand these powers on: their hash differs")


def contributor(contribution: Contribution) -> Contributor:
    return Contributor(contribution.name, contribution.response, contribution.beacon is not None)


def _read_one(reader: Reader, field: str) -> Contribution:
    record = reader.take(_RECORD.itemsize).tobytes()
    fields: Any = np.frombuffer(record, dtype=_RECORD)[0]
    results = {name: fields[name][None].copy() for name in _RESULTS}
    proofs_g1, proofs_g2 = fields["proofs_g1"].copy(), fields["proofs_g2"].copy()
    kind, parameters = reader.u32(), _parameters(reader.take(reader.u32()).tobytes(), field)
    if (kind, _BEACON in parameters) not in ((_BY_A_PERSON, False), (_BY_A_BEACON, True)):
        raise FileFormatError("file.shape", f"{field} is neither a person's nor a beacon's", field=field)
    rounds = parameters.get(_ROUNDS, b"\0")[0]
    if _BEACON in parameters and rounds > _MOST_ROUNDS:
        raise CeremonyError(
            "ceremony.beacon",
            f"a beacon hashed 2^{rounds} times takes too long to check: 2^{_MOST_ROUNDS} times are the most",
            field=field,
        )
    for name, group in _RESULTS.items():
        check_points(results[name], group, f"{field}.{name}", finite=True)
    check_points(proofs_g1.reshape(-1, *g1.shape), g1, f"{field}.proofs_g1", finite=True)
    check_points(proofs_g2, g2, f"{field}.proofs_g2", finite=True)
    return Contribution(
        results,
        proofs_g1,
        proofs_g2,
        fields["hash_state"].tobytes(),
        fields["challenge"].tobytes(),
        parameters.get(_NAME, b"").decode(errors="replace"),
        parameters.get(_BEACON),
        rounds,
    )


def _parameters(data: bytes, field: str) -> dict[int, bytes]:
    """By number, in ascending order: a name and a beacon with their lengths, rounds in a byte."""
    found: dict[int, bytes] = {}
    while data:
        number, start = data[0], 1 if data[0] == _ROUNDS else 2
        end = start + (1 if number == _ROUNDS else int.from_bytes(data[1:2], "little"))
        if number not in (_NAME, _ROUNDS, _BEACON) or end > len(data) or number <= max(found, default=0):
            raise FileFormatError("file.shape", f"{field} has parameters that mean nothing", field=field)
        found[number], data = data[start:end], data[end:]
    return found


def _follows(each: Contribution, before: dict[str, WordArray], challenge: bytes) -> bool:
    """Every factor is known, and is what the results are multiplied by."""
    known = {}
    for index, name in enumerate(_SECRETS):
        s, s_by_x = (each.proofs_g1[index, i][None] for i in range(2))
        q, q_by_x = _hashed_g2(index, challenge, s, s_by_x), each.proofs_g2[index][None]
        known[name] = s, s_by_x, q, q_by_x
        if not _same_ratio(s, s_by_x, q, q_by_x):
            return False
    after = each.results
    return all(
        _same_ratio(before[f"{name}_g1"], after[f"{name}_g1"], *known[name][2:]) for name in _SECRETS
    ) and all(
        _same_ratio(*known[name][:2], before[f"{name}_g2"], after[f"{name}_g2"]) for name in ("tau", "beta")
    )


def _is_its_beacon_s(each: Contribution, challenge: bytes) -> bool:
    """Return whether the proofs are the ones that the beacon determines; true without a beacon."""
    if each.beacon is None:
        return True
    source = Source(iterate(each.beacon, each.rounds))
    factors = [source.scalar() for _ in _SECRETS]
    for index, x in enumerate(factors):
        s = source.point_g1()
        s_by_x = g1.mul(s, x)
        q_by_x = g2.mul(_hashed_g2(index, challenge, s, s_by_x), x)
        if not (
            np.array_equal(each.proofs_g1[index], np.concatenate([s, s_by_x]))
            and np.array_equal(each.proofs_g2[index], q_by_x[0])
        ):
            return False
    return True


def _same_ratio(p: WordArray, p_by_x: WordArray, q: WordArray, q_by_x: WordArray) -> bool:
    """Return whether one x takes p to ``p_by_x`` in G1 and q to ``q_by_x`` in G2."""
    return pairings_cancel([(p[0], q_by_x[0]), (g1.neg(p_by_x)[0], q[0])])


def _hashed_g2(secret: int, challenge: bytes, s: WordArray, s_by_x: WordArray) -> WordArray:
    points = _encode(s, g1) + _encode(s_by_x, g1)
    return Source(hashlib.blake2b(bytes([secret]) + challenge + points).digest()).point_g2()


def _generators() -> dict[str, WordArray]:
    return {name: group.generator[None] for name, group in _RESULTS.items()}


def _first_challenge(power: int) -> bytes:
    """Return the challenge to the first contributor: the hash of the powers of τ = α = β = 1."""
    n = 1 << power
    counts = (2 * n - 1, n, n, n, 1)
    points = (
        (group, group.generator[None], count) for group, count in zip(_RESULTS.values(), counts, strict=True)
    )
    repeated = ((group, part) for group, point, count in points for part in _repeated(point, count))
    return _challenge(hashlib.blake2b().digest(), repeated)


def _repeated(point: WordArray, count: int) -> Iterator[WordArray]:
    block = np.repeat(point, min(count, _AT_ONCE), axis=0)
    yield from itertools.repeat(block, count // len(block))
    yield block[: count % len(block)]


def _challenge(response: bytes, arrays: Iterable[tuple[Group, WordArray]]) -> bytes:
    """BLAKE2b of a response and of all points that are handed on, 64 bytes."""
    hasher = hashlib.blake2b(response)
    for group, points in arrays:
        for start in range(0, len(points), _AT_ONCE):
            hasher.update(_encode(points[start : start + _AT_ONCE], group))
    return hasher.digest()


def _encode(points: WordArray, group: Group) -> bytes:
    """Finite points, uncompressed: x and y big-endian, of Fp2 the higher part first."""
    words = fp.to_canonical(points.reshape(-1, 6)).astype("<u8", copy=False)
    coordinate = 8 * math.prod(group.shape[1:])
    return words.view(np.uint8).reshape(-1, coordinate)[:, ::-1].tobytes()


def _require(field: str, holds: bool, message: str) -> None:
    if not holds:
        raise CeremonyError("ceremony.contribution", f"{field} to the powers of tau {message}", field=field)
