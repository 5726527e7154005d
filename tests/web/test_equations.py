"""The equations in TypeScript answer as those in Python do, on what changed at random, too."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from py_arkworks_bls12381 import G1Point, G2Point, Scalar

from tests.web.conftest import Node
from zenserve.errors import FileFormatError, ZenError
from zenserve.verifier.curve import ARKWORKS
from zenserve.verifier.fields import canonical
from zenserve.verifier.groth16 import transcript
from zenserve.verifier.groth16.opening import second_generator
from zenserve.verifier.groth16.proof import Proof
from zenserve.verifier.groth16.system import Groth16Verifier
from zenserve.verifier.groth16.verifying_key import SegmentKey, VerifyingKey
from zenserve.verifier.points import FIELD_MODULUS
from zenserve.verifier.points import SCALAR_MODULUS as R
from zenserve.verifier.preamble import PREAMBLE_BYTES
from zenserve.verifier.system import Claim
from zenserve.verifier.verdict import Verdict

Json = dict[str, Any]

SYSTEM: Final = Groth16Verifier()
VECTORS: Final = Path(__file__).parents[1] / "prover" / "vectors"
CEREMONIES: Final = Path(__file__).parents[1] / "vectors" / "documents" / "ceremony"
OPENINGS: Final[Json] = json.loads((VECTORS / "openings.json").read_text())


def g1(exponent: int) -> bytes:
    return bytes((G1Point() * Scalar(exponent % R)).to_compressed_bytes())


def g2(exponent: int) -> bytes:
    return bytes((G2Point() * Scalar(exponent % R)).to_compressed_bytes())


class Known:
    """A key of two public inputs, a challenge and two segments, of which the first is linked: whoever knows
    its secrets proves anything.
    """

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw
        self.alpha, self.beta, self.gamma, self.delta, self.k_1, self.k_2 = (self._fresh() for _ in range(6))
        self.ic, self.sigma = [self._fresh() for _ in range(4)], [self._fresh() for _ in range(2)]
        self.key = VerifyingKey(
            "development",
            draw.randbytes(32),
            g1(self.alpha),
            g2(self.beta),
            g2(self.gamma),
            g2(self.delta),
            tuple(map(g1, self.ic)),
            1,
            (
                SegmentKey(3, g2(self.sigma[0]), (g2(self.k_1), g2(self.k_2))),
                SegmentKey(5, g2(self.sigma[1])),
            ),
            g1(self._fresh()),
        )

    def _fresh(self) -> int:
        return self._draw.randrange(5, R)

    def claim(self, *inputs: int) -> Claim:
        a, b, cm, *segments = (self._fresh() for _ in range(5))
        commitment, committed = g1(cm), tuple(map(g1, segments))
        points = ([ARKWORKS.decode_g1(each) for each in part] for part in (committed, [commitment]))
        challenges = transcript.challenges(self.key, ARKWORKS, inputs, *points)
        shown = sum(x * y for x, y in zip(self.ic, [1, *inputs, *challenges], strict=True)) + sum(segments)
        c = (a * b - self.alpha * self.beta - shown * self.gamma) * pow(self.delta, -1, R)
        knowledge = tuple(g1(x * y) for x, y in zip(segments, self.sigma, strict=True))
        link = g1(self.k_1 * segments[0] + self.k_2 * cm)
        proof = Proof(g1(a), g2(b), g1(c), committed, knowledge, (link,))
        return Claim(list(inputs), proof.to_bytes(), [commitment])


def changed(draw: random.Random, data: bytes, places: Sequence[tuple[int, int]]) -> bytes:
    """A point among ``places`` (start, length), or any bit, is another."""
    start, length = draw.choice(places)
    point = data[start : start + length]
    x = int.from_bytes(point[:48], "big") % (1 << 381)
    flags = point[0] & 0xE0
    others = [start for start, one in places if one == length]
    other = draw.choice(others)

    def with_x(value: int) -> bytes:
        return bytes([value >> 376 | flags]) + (value % (1 << 376)).to_bytes(47, "big") + point[48:]

    def flipped() -> bytes:
        bit = draw.randrange(8 * length)
        return (int.from_bytes(point, "big") ^ 1 << bit).to_bytes(length, "big")

    match draw.randrange(9):
        case 0:
            position = draw.randrange(8 * len(data))
            return (int.from_bytes(data, "big") ^ 1 << position).to_bytes(len(data), "big")
        case 1:
            new = flipped()
        case 2:
            new = bytes([point[0] ^ 0x20]) + point[1:]
        case 3:
            new = b"\xc0" + bytes(length - 1)
        case 4:
            # Only where it fits beside the flags is this another way to write the same point.
            new = with_x((x + FIELD_MODULUS) % (1 << 381))
        case 5:
            new = with_x(draw.randrange(FIELD_MODULUS))
        case 6:
            new = g1(draw.randrange(1, R)) if length == 48 else g2(draw.randrange(1, R))
        case 7:
            new = data[other : other + length]
            data = data[:other] + point + data[other + length :]
        case _:
            cut = draw.randrange(len(data) + 1)
            return data[:cut] + draw.randbytes(draw.randrange(3))
    return data[:start] + new + data[start + length :]


def proofs() -> Iterator[Json]:
    """Groups of claims, most of them with one that was changed."""
    draw = random.Random(1)
    known = Known(draw)
    body = PREAMBLE_BYTES + 2
    places = [(body, 48), (body + 48, 96), *((body + 144 + 48 * index, 48) for index in range(6))]
    honest = [known.claim(*inputs) for inputs in ((0, 1), (R - 1, 0), (R - 1, R - 1), (7, 1 << 200))]
    groups = [honest, [honest[0]], []]
    for _ in range(20):
        inputs, proof, commitments = (vars(draw.choice(honest))[name] for name in Claim.__annotations__)
        match draw.randrange(8):
            case 0:
                at = draw.randrange(2)
                inputs = [*inputs[:at], inputs[at] + draw.choice([1, -1, R, -R]), *inputs[at + 1 :]]
            case 1:
                inputs = draw.choice([inputs[:1], [*inputs, 0], inputs[::-1]])
            case 2:
                commitments = [changed(draw, commitments[0], [(0, 48)])]
            case 3:
                commitments = draw.choice([[], commitments * 2, [known.claim(0, 1).commitments[0]]])
            case _:
                proof = changed(draw, proof, places)
        others = draw.choices(honest, k=draw.choice([0, 0, 1, 3]))
        others.insert(draw.randrange(len(others) + 1), Claim(inputs, proof, commitments))
        groups.append(others)
    yield asked_of(known.key, groups)
    plain = json.loads((VECTORS / "groth16.json").read_text())
    (first, *_) = plain["cases"]
    data = bytes.fromhex(first["proof"])
    inputs = [int(value) for value in first["public_inputs"]]
    places = [(0, 48), (48, 96), (144, 48)]
    wrong = [[Claim(inputs, changed(draw, data, places))] for _ in range(12)]
    yield asked_of(VerifyingKey.from_json(plain["verifying_key"]), wrong)
    folded = json.loads((VECTORS / "folded.json").read_text())
    claims = [
        [Claim([int(text) for text in case["public_inputs"]], bytes.fromhex(case["proof"]))]
        for case in folded["cases"]
    ]
    yield asked_of(VerifyingKey.from_json(folded["verifying_key"]), claims)


def asked_of(key: VerifyingKey, groups: Sequence[Sequence[Claim]]) -> Json:
    shown = [
        [
            {
                "inputs": [str(value) for value in claim.public_inputs],
                "proof": claim.proof.hex(),
                "commitments": [data.hex() for data in claim.commitments],
            }
            for claim in group
        ]
        for group in groups
    ]
    return {"ask": "groups", "key": key.to_json(), "groups": shown}


def keys() -> Iterator[Json]:
    draw = random.Random(2)
    known = Known(draw)
    data, document = known.key.to_bytes(), known.key.to_json()
    first = 416 + 48 * 4
    places = [(80, 48), (128, 96), (224, 96), (320, 96), *((416 + 48 * index, 48) for index in range(4))]
    places += [(first + 8 + 96 * index, 96) for index in range(3)] + [(first + 304, 96), (len(data) - 48, 48)]
    yield {"ask": "bytes", "data": data.hex()}
    for _ in range(60):
        yield {"ask": "bytes", "data": changed(draw, data, places).hex()}
    one = known.ic[1]
    for exponent in (one, -one, 2 * one, -3 * one, one * pow(4, -1, R), 3 * one * pow(4, -1, R), 5 * one):
        exponents = [known.ic[0], one, exponent, known.ic[3]]
        yield {"ask": "bytes", "data": (data[:416] + b"".join(map(g1, exponents)) + data[first:]).hex()}
    gamma_is_one = data[:224] + g2(1) + data[320:]
    for label in (b"development", b"imported", b"ceremony", b"Imported", b"\xff", b""):
        yield {"ask": "bytes", "data": (gamma_is_one[:16] + label.ljust(16, b"\0") + gamma_is_one[32:]).hex()}
    yield {"ask": "key", "key": document}
    folded = json.loads((VECTORS / "folded.json").read_text())
    for text in (folded["verifying_key_bytes"], *(case["key"] for case in folded["keys"])):
        yield {"ask": "bytes", "data": text}
    for case in folded["changes"]:
        yield {"ask": "key", "key": {**folded["verifying_key"], **case["fields"]}}
    for change in ({}, {"folded": 0}, {"folded": 4}, {"folded": None}, {"version": 3}, {"challenges": 1}):
        yield {"ask": "key", "key": {**folded["verifying_key"], **change}}
    yield {"ask": "key", "key": {**document, "folded": 1}}
    values: list[Any] = [None, True, 0, -1, 1, 2.0, 1 << 32, "", "00", "AA", [], ["00"], [{}], [None], {}]
    for field in document:
        for value in draw.sample(values, 6):
            yield {"ask": "key", "key": {**document, field: value}}
        yield {"ask": "key", "key": {name: value for name, value in document.items() if name != field}}
    yield {"ask": "key", "key": {**document, "challenges": 1.0, "version": 2.0}}
    yield {"ask": "key", "key": {**document, "more": None}}
    segment, plain = document["segments"]
    g2s = segment["link_g2"]
    for parts in (
        [segment],
        [plain],
        [segment, {**plain, "link_g2": g2s}],
        *([{**segment, **change}, plain] for change in ({"size": -1}, {"size": 1.5}, {"link_g2": g2s[:1]})),
        *(
            [{**segment, **change}, plain]
            for change in ({"link_g2": g2s * 2}, {"more": 1}, {"link_g2": "00"})
        ),
        [{**segment, "link_g2": g2s[::-1]}, plain],
        [segment, {**plain, "knowledge_g2": None}],
    ):
        yield {"ask": "key", "key": {**document, "segments": parts}}


def transcripts() -> Iterator[Json]:
    for file in sorted(CEREMONIES.glob("*-key.json")):
        held = json.loads(file.read_text())
        yield {"ask": "transcript", "key": held["key"], "transcript": held["transcript"]}
    held = json.loads((CEREMONIES / "two-key.json").read_text())
    yield {
        "ask": "transcript",
        "key": held["key"],
        "transcript": {**held["transcript"], "version": 1.0},
    }


def openings() -> Iterator[Json]:
    draw = random.Random(3)
    honest = OPENINGS["openings"][0]
    basis, commitment, opening = (honest[name] for name in ("identity", "commitment", "opening"))
    asked: Json = {"ask": "opening", "basis": basis, "commitment": commitment, "opening": opening}
    for values in (honest["values"], [], ["0"], [str(R - 1)], ["1", str(-R), str(3 * R)], ["5"] * 700):
        yield {**asked, "values": values}
    asked["values"] = honest["values"]
    for field, length in (("quotient", 48), ("tau_g2", 96), ("blinding", 32)):
        for _ in range(8):
            data = bytes.fromhex(opening[field])
            data = (
                changed(draw, data, [(0, length)]) if length > 32 else draw.randbytes(length + (data[0] == 1))
            )
            yield {**asked, "opening": {**opening, field: data.hex()}}
            yield {"ask": "form", "opening": {**opening, field: data.hex()}}
    for name in ("basis", "commitment"):
        for _ in range(5):
            yield {**asked, name: changed(draw, bytes.fromhex(asked[name]), [(0, 48)]).hex()}
    yield {"ask": "form", "opening": {**opening, "more": 1}}
    yield {"ask": "form", "opening": {**opening, "version": 1.0}}
    yield {"ask": "form", "opening": {}}
    yield from long_openings(draw)


def long_openings(draw: random.Random) -> Iterator[Json]:
    """Of more values than are summed up at once, opened by who knows τ."""
    tau, rho = draw.randrange(R), draw.randrange(R)
    for count in (1, 255, 256, 257, 600):
        values = [draw.choice([0, 1, -1, draw.randrange(R), draw.randrange(256)]) for _ in range(count)]
        at_tau = sum(value * pow(tau, power, R) for power, value in enumerate(values)) % R
        cm = G1Point() * Scalar(at_tau) + second_generator() * Scalar(rho)
        commitment, blinding = bytes(cm.to_compressed_bytes()), rho.to_bytes(32, "big")
        z = transcript.opening_point(g1(tau), commitment, blinding, [value % R for value in values])
        at_z = sum(value * pow(z, power, R) for power, value in enumerate(values)) % R
        quotient = g1((at_tau - at_z) * pow(tau - z, -1, R))
        shown = {"blinding": blinding.hex(), "quotient": quotient.hex(), "tau_g2": g2(tau).hex()}
        asked: Json = {
            "ask": "opening",
            "basis": g1(tau).hex(),
            "commitment": commitment.hex(),
            "opening": {**OPENINGS["openings"][0]["opening"], **shown},
        }
        yield {**asked, "values": [str(value) for value in values]}
        yield {**asked, "values": [str(value) for value in [*values[:-1], values[-1] + 1]]}


def sums() -> Iterator[Json]:
    draw = random.Random(4)
    values, blindings = ([draw.randrange(1 << 40) for _ in range(5)] for _ in range(2))
    h = second_generator()
    commitments = [
        bytes((G1Point() * Scalar(value) + h * Scalar(rho)).to_compressed_bytes())
        for value, rho in zip(values, blindings, strict=True)
    ]
    total, blinding = sum(values), sum(blindings).to_bytes(32, "big")
    asked = {
        "ask": "sum",
        "basis": OPENINGS["openings"][0]["identity"],
        "commitments": [data.hex() for data in commitments],
        "totals": [str(total)],
        "blinding": blinding.hex(),
    }
    yield asked
    yield {**asked, "commitments": asked["commitments"][:4]}
    yield {**asked, "commitments": [], "totals": ["0"], "blinding": "00" * 32}
    for other in (total + 1, total + R, -1):
        yield {**asked, "totals": [str(other)]}
    for data in (blinding[1:], (sum(blindings) + R).to_bytes(32, "big"), bytes(32)):
        yield {**asked, "blinding": data.hex()}
    for _ in range(10):
        wrong = changed(draw, commitments[4], [(0, 48)])
        yield {**asked, "commitments": [*asked["commitments"][:4], wrong.hex()]}
    yield from _sums_of_vectors(draw, asked)


def _sums_of_vectors(draw: random.Random, asked: Json) -> Iterator[Json]:
    """τ is known: a sum opened to several totals, then with each part changed."""
    tau, h = 7, second_generator()
    vectors = [[draw.randrange(-(1 << 40), 1 << 40) for _ in range(3)] for _ in range(2)]
    rhos = [draw.randrange(R) for _ in vectors]

    def at(values: list[int], point: int) -> int:
        return sum(value * pow(point, power, R) for power, value in enumerate(values)) % R

    points = [
        G1Point() * Scalar(at(own, tau)) + h * Scalar(rho) for own, rho in zip(vectors, rhos, strict=True)
    ]
    totals = [sum(column) for column in zip(*vectors, strict=True)]
    basis, blinding = g1(tau), (sum(rhos) % R).to_bytes(32, "big")
    added = bytes((points[0] + points[1]).to_compressed_bytes())
    z = transcript.opening_point(basis, added, blinding, [total % R for total in totals])
    quotient = (at(totals, tau) - at(totals, z)) * pow(tau - z, -1, R)
    opened = blinding + g1(quotient) + g2(tau)
    commitments = [bytes(point.to_compressed_bytes()).hex() for point in points]
    right = {**asked, "basis": basis.hex(), "commitments": commitments, "totals": [*map(str, totals)]}
    right |= {"blinding": opened.hex()}
    yield right
    yield right | {"commitments": commitments[:1]}
    yield right | {"commitments": [*commitments, commitments[0]]}
    yield right | {"basis": ""}
    yield right | {"basis": asked["basis"]}
    for place in range(3):
        yield right | {"totals": [str(total + (index == place)) for index, total in enumerate(totals)]}
    for data in (opened[:-1], opened + b"\0", blinding, b"", blinding + bytes(144)):
        yield right | {"blinding": data.hex()}
    for _ in range(6):
        yield right | {"blinding": changed(draw, opened, [(0, len(opened))]).hex()}


def key_of(document: Json) -> VerifyingKey:
    """As ``zenserve.verifier.keys`` reads it."""
    text = canonical(document)
    key = SYSTEM.read_key(json.loads(text))
    if canonical(key.to_json()) != text:
        raise FileFormatError("file.json", "the key has another spelling", field="key")
    return key


def hexes(values: Sequence[str]) -> list[bytes]:
    return [bytes.fromhex(value) for value in values]


def told(verdict: Verdict) -> Json:
    return {"reason": verdict.reason, "detail": verdict.detail, "index": verdict.index}


def groups_judged(request: Json) -> list[Json | None]:
    groups = [
        [
            Claim(list(map(int, claim["inputs"])), bytes.fromhex(claim["proof"]), hexes(claim["commitments"]))
            for claim in group
        ]
        for group in request["groups"]
    ]
    flaws = SYSTEM.verify_groups(key_of(request["key"]), groups)
    return [None if flaw is None else {"index": flaw.index, "verdict": told(flaw.verdict)} for flaw in flaws]


def opening_judged(request: Json) -> Json:
    basis, commitment = hexes([request["basis"], request["commitment"]])
    values = list(map(int, request["values"]))
    return told(SYSTEM.commitments.check_opening(basis, commitment, values, request["opening"]))


def sum_judged(request: Json) -> Json:
    basis, *commitments = hexes([request["basis"], *request["commitments"]])
    totals = list(map(int, request["totals"]))
    return told(SYSTEM.commitments.check_sum(basis, commitments, totals, bytes.fromhex(request["blinding"])))


ANSWERS: Final[dict[str, Callable[[Json], Any]]] = {
    "key": lambda request: key_of(request["key"]).digest.hex(),
    "bytes": lambda request: VerifyingKey.from_bytes(bytes.fromhex(request["data"])).digest.hex(),
    "transcript": lambda request: SYSTEM.check_transcript(
        json.loads(canonical(request["transcript"])), key_of(request["key"])
    ),
    "groups": groups_judged,
    "opening": opening_judged,
    "form": lambda request: SYSTEM.commitments.check_form(request["opening"]),
    "sum": sum_judged,
}


def answered(request: Json) -> Any:
    try:
        return ANSWERS[request["ask"]](request)
    except ZenError as error:
        return {"code": error.code, "field": error.field}


@pytest.mark.parametrize(
    "asked", [proofs, keys, pytest.param(transcripts, marks=pytest.mark.large), openings, sums]
)
def test_both_answer_the_same(node: Node, asked: Callable[[], Iterator[Json]]) -> None:
    requests = list(asked())
    found = node("tests/equations.ts", given="\n".join(map(json.dumps, requests)))
    assert found.returncode == 0, found.stderr
    answers = [json.loads(line) for line in found.stdout.splitlines()]
    for request, answer in zip(requests, answers, strict=True):
        assert answer == answered(request), request
