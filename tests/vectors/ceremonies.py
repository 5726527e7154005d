"""Keys with the transcripts of their ceremonies: such as lead to the key, and such as do not.

All secrets are known here, and each key has a proof that fits it: nothing but the transcript refuses it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from py_arkworks_bls12381 import G1Point, G2Point, Scalar

from tests.client.makers import MADE_AT, Maker, inference, registration
from tests.prover.ceremony.support import ALPHA, BETA, known_powers
from tests.prover.vectors.points import bad_encodings
from tests.vectors.world import World, dumped, without
from tests.vectors.writing import Vectors
from zenserve.circuits.schemes.circuit import Circuit
from zenserve.prover.groth16 import ceremony
from zenserve.prover.groth16.ceremony import State
from zenserve.prover.groth16.ceremony.initial import required_power
from zenserve.verifier.beacon import Beacon, iterate
from zenserve.verifier.documents import ProofDocument
from zenserve.verifier.groth16.proof import Proof
from zenserve.verifier.groth16.setup_transcript import HEADER, Contribution
from zenserve.verifier.groth16.system import Groth16Verifier
from zenserve.verifier.groth16.verifying_key import VerifyingKey
from zenserve.verifier.keys import key_file
from zenserve.verifier.points import SCALAR_MODULUS
from zenserve.verifier.system import DEVELOPMENT
from zenserve.verifier.words import make_statement

Json = dict[str, Any]
BASIS_TAU = 0x5EED
"""That of ``World.basis``."""
BEACON = Beacon(bytes(range(32)), 3)


class Step(NamedTuple):
    """A contribution to δ. ``answer``: its response, of the right one."""

    name: str
    share: int
    nonce: int = 5
    answer: Callable[[int], bytes] = lambda response: response.to_bytes(32, "big")


ADA, EMMY = Step("Ada", 1 << 200), Step("Emmy Noether, Göttingen", SCALAR_MODULUS - 7)


def write(vectors: Vectors, world: World) -> None:
    held = Plain(world)
    _valid(vectors, held)
    linked = _linked(vectors, world)
    _of_another_chain(vectors, held)
    _beacons(vectors, held)
    _names(vectors, held)
    _forms(vectors, held)
    _registered(vectors, world, *linked)


@dataclass(frozen=True)
class Plain:
    """Ceremonies of the plain circuit, whose only secret is δ."""

    world: World

    @cached_property
    def origin(self) -> bytes:
        return self._first.origin

    @cached_property
    def _first(self) -> State:
        system = self.world.plain.circuit.constraint_system
        powers = known_powers(required_power(system))
        return ceremony.contribute(ceremony.start(system, replace(powers, contributions=1)), "Ada")

    def make(
        self, steps: Sequence[Step | Beacon], gamma: int = 1, delta: int | None = None, **changes: Any
    ) -> tuple[ProofDocument, Json]:
        """A proof, and the file of the key that it fits. ``gamma``, ``delta``, ``changes``: of a key that is
        not the one that the steps lead to.
        """
        contributions, hashes, reached = transcript(self.origin, steps)
        delta = delta or reached
        points = {"gamma_g2": in_g2(gamma), "delta_g2": in_g2(delta), "contributions": tuple(hashes)}
        key = replace(ceremony.verifying_key(self._first), **(points | changes))
        shown = {**HEADER, "origin": self.origin.hex(), "contributions": contributions}
        file = key_file(Groth16Verifier(), key, self.world.plain.key_file.circuit, shown)
        statement = make_statement(
            file, values=self.world.bare.statement.values, made_at=MADE_AT, commitments={}
        )
        label = statement.values["label"]
        assert isinstance(label, int)
        proof = simulated(key, gamma, delta, [1, statement.scalar, label])
        return ProofDocument.of(statement, [proof.to_bytes()]), dumped(file)


def transcript(origin: bytes, steps: Sequence[Step | Beacon]) -> tuple[list[Json], list[bytes], int]:
    """The contributions, their hashes, and δ."""
    delta, previous, shown, hashes = 1, origin, [], []
    for step in steps:
        if isinstance(step, Beacon):
            step = Step(step.name, step.shares(previous, 1)[0], 1)
        nonce = in_g2(delta * step.nonce)
        delta = delta * step.share % SCALAR_MODULUS
        one = Contribution(step.name, (in_g2(delta),), (nonce,), ())
        response = (step.nonce + one.challenge(previous) * step.share) % SCALAR_MODULUS
        one = replace(one, responses=(step.answer(response),))
        previous = one.hash(previous)
        shown.append(one.to_json())
        hashes.append(previous)
    return shown, hashes, delta


def simulated(key: VerifyingKey, gamma: int, delta: int, inputs: Sequence[int]) -> Proof:
    """As who knows every secret makes it, without a witness."""
    a, b = 7, 11
    points = [G1Point.from_compressed_bytes(point) for point in key.ic]
    shown = G1Point.multiexp_unchecked(points, [Scalar(value) for value in inputs])
    rest = G1Point() * Scalar((a * b - ALPHA * BETA) % SCALAR_MODULUS) - shown * Scalar(gamma)
    c = rest * Scalar(pow(delta, -1, SCALAR_MODULUS))
    first = bytes((G1Point() * Scalar(a)).to_compressed_bytes())
    return Proof(first, in_g2(b), bytes(c.to_compressed_bytes()))


def in_g2(exponent: int) -> bytes:
    return bytes((G2Point() * Scalar(exponent % SCALAR_MODULUS)).to_compressed_bytes())


def _valid(vectors: Vectors, held: Plain) -> None:
    document, key = held.make([ADA, EMMY])
    vectors.case("ceremony/two", "Two contributors.", document, key)
    vectors.case("ceremony/beacon", "And a beacon.", *held.make([ADA, EMMY, BEACON]))
    often = Beacon(bytes(32), 16)
    vectors.case("ceremony/rounds", "Hashed 2^16 times.", *held.make([ADA, often]))
    document, key = held.make([ADA], setup=DEVELOPMENT)
    vectors.case("ceremony/powers", "Its powers had no contributors.", document, key)
    told: Json = {"require": "ceremony"}
    vectors.case(
        "ceremony/powers-required", "It is of no whole ceremony.", document, key, "setup_mismatch", **told
    )


def _by_ceremony(world: World, circuit: Circuit) -> tuple[Maker, State]:
    """Over the world's basis."""
    system = circuit.constraint_system
    powers = replace(known_powers(required_power(system), BASIS_TAU), contributions=1)
    state = ceremony.start(system, powers)
    for name in ("Ada", "Emmy"):
        state = ceremony.contribute(state, name)
    state = ceremony.add_beacon(state, BEACON)
    return Maker(circuit, ceremony.finish(state, system, powers), world.basis), state


def _linked(vectors: Vectors, world: World) -> tuple[ProofDocument, Json]:
    """With a secret for each segment, and two for each link."""
    maker, state = _by_ceremony(world, world.committed.circuit)
    document = inference(maker, world.inputs[0], world.held)
    key = dumped(maker.key_file, transcript=state.transcript)
    vectors.case("ceremony/linked", "Segments and links; a beacon.", document, key)
    *others, last = state.transcript["contributions"]
    for part in ("secrets", "responses"):
        *kept, k_1, k_2 = last[part]
        swapped = last | {part: [*kept, k_2, k_1]}
        changed = key | {"transcript": state.transcript | {"contributions": [*others, swapped]}}
        comment = f"The last two {part} have changed places."
        vectors.case(f"ceremony/linked-{part}", comment, document, changed, "file.transcript")
    return document, key


def _registered(vectors: Vectors, world: World, document: ProofDocument, key: Json) -> None:
    """Where a ceremony is required, the registration's key must be of one, too."""
    maker, state = _by_ceremony(world, world.registrar.circuit)
    shown = dumped(maker.key_file, transcript=state.transcript)
    of_one: Json = {"registration": registration(maker, world.model), "registration_key": shown}
    silent = of_one | {"registration_key": maker.key_file}
    single: Json = {"registration": world.registered, "registration_key": world.registrar.key_file}
    told: Json = {"require": "ceremony"}
    vectors.case("ceremony/registered", "Both keys are of ceremonies.", document, key, **told, **of_one)
    vectors.case("ceremony/registered-said", "Its file only says so.", document, key, **silent)
    for name, other in (("silent", silent), ("single", single)):
        comment = "The registration's key is not shown to be of one."
        reason = "registration_mismatch"
        vectors.case(f"ceremony/registered-{name}", comment, document, key, reason, **told, **other)
    vectors.case("ceremony/registered-alone", "None is required.", document, key, **single)


def _of_another_chain(vectors: Vectors, held: Plain) -> None:
    document, key = held.make([ADA, EMMY])
    shown = key["transcript"]
    first, second = shown["contributions"]
    (_, another), (_, empty) = held.make([ADA, EMMY._replace(share=3)]), held.make([ADA])
    raw = in_g2(3).hex()
    changed: dict[str, tuple[str, Json]] = {
        "another": ("Another key's.", another["transcript"]),
        "shorter": ("Another key's, whose ceremony ended earlier.", empty["transcript"]),
        "left-out": ("The first contribution is left out.", {"contributions": [second]}),
        "reordered": ("The second comes first.", {"contributions": [second, first]}),
        "repeated": ("The second comes twice.", {"contributions": [first, second, second]}),
        "origin": ("It begins elsewhere.", {"origin": "00" * 32}),
        "name": ("Somebody else's name.", {"contributions": [first, second | {"name": "Eve"}]}),
        "secret": ("Another δ.", {"contributions": [first | {"secrets": [raw]}, second]}),
        "nonce": ("Another nonce.", {"contributions": [first | {"nonces": [raw]}, second]}),
        "response": (
            "Another response.",
            {"contributions": [first | {"responses": second["responses"]}, second]},
        ),
    }
    for name, (comment, changes) in changed.items():
        other = key | {"transcript": shown | changes}
        vectors.case(f"ceremony/{name}", comment, document, other, "file.transcript")

    def case(name: str, comment: str, *parts: Any, **changes: Any) -> None:
        vectors.case(f"ceremony/{name}", comment, *held.make(*parts, **changes), "file.transcript")

    def answered(name: str, comment: str, answer: Callable[[int], bytes]) -> None:
        case(name, comment, [ADA, EMMY._replace(answer=answer)])

    answered("unproven", "No response, and the key is of this.", lambda _: (1).to_bytes(32, "big"))
    answered("response-beyond", "The response plus r.", lambda s: (s + SCALAR_MODULUS).to_bytes(32, "big"))
    answered("long-response", "A response of 33 bytes.", lambda s: s.to_bytes(33, "big"))
    case("gamma", "γ is not one.", [ADA, EMMY], 9)
    case("names-others", "The key names other contributions.", [ADA], contributions=(bytes(32),))
    case("names-none", "The key is of no ceremony.", [ADA], 9, contributions=(), setup=DEVELOPMENT)
    undone = Step("Eve", pow(ADA.share, -1, SCALAR_MODULUS))
    case("unchanged", "The only person's share is one, which everybody knows.", [Step("Eve", 1), BEACON])
    case("unchanged-later", "The second person's share is one.", [ADA, Step("Eve", 1), BEACON])
    case("undone", "The second person's share undoes the first.", [ADA, undone, BEACON])
    case("undone-later", "The third person's share undoes the second.", [EMMY, ADA, undone])
    case("delta", "The key has a δ that nobody has shown to know.", [ADA], delta=3)


def _beacons(vectors: Vectors, held: Plain) -> None:
    def case(name: str, comment: str, *steps: Step | Beacon) -> None:
        vectors.case(f"ceremony/beacon-{name}", comment, *held.make(steps), "file.transcript")

    case("alone", "Everybody knows the key's secrets.", BEACON)
    case("followed", "Somebody came after it.", ADA, BEACON, EMMY)
    case("twice", "Two beacons.", ADA, BEACON, Beacon(bytes(32), 0))
    case("shares", "Its share is somebody's choice.", ADA, Step(BEACON.name, 3, 1))
    _, hashes, _ = transcript(held.origin, [ADA])
    (share,) = BEACON.shares(hashes[-1], 1)
    case("nonce", "Its nonce is, and so the key's last hash.", ADA, Step(BEACON.name, share, 2))
    value = BEACON.value.hex()
    seed = b"zenserve beacon 1" + iterate(BEACON.value, 17) + hashes[-1] + bytes(4)
    often = int.from_bytes(hashlib.sha512(seed).digest(), "big") % SCALAR_MODULUS
    case("too-often", "It is hashed 2^17 times.", ADA, Step(f"beacon 2^17 {value}", often, 1))
    names = {
        "rounds": f"beacon 2^4 {value}",
        "value": f"beacon 2^3 {'00' * 32}",
        "zeros": f"beacon 2^03 {value}",
        "capitals": f"Beacon 2^3 {value}",
        "word": "beacon",
    }
    for name, text in names.items():
        case(name, f"It bears the name {text}.", ADA, Step(text, share, 1))


def _names(vectors: Vectors, held: Plain) -> None:
    names = {
        "none": "",
        "space": " Ada",
        "control": "Ada\u001b[2J",
        "long": "ä" * 40 + "x",
        "like-a-beacon": f"x 2^3 {BEACON.value.hex()}",
        "called-a-beacon": "drand (a beacon)",
    }
    for name, text in names.items():
        comment = "A name that nobody has."
        vectors.case(
            f"ceremony/name-{name}", comment, *held.make([ADA._replace(name=text)]), "file.transcript"
        )


def _forms(vectors: Vectors, held: Plain) -> None:
    """What is no transcript."""
    document, key = held.make([ADA])
    shown = key["transcript"]
    (first,) = shown["contributions"]

    def case(name: str, comment: str, changed: Any) -> None:
        vectors.case(f"ceremony/{name}", comment, document, key | {"transcript": changed}, "file.transcript")

    def contribution(name: str, comment: str, changed: Any) -> None:
        case(name, comment, shown | {"contributions": [changed]})

    case("empty", "Without contributions.", shown | {"contributions": []})
    case("format", "Of another format.", shown | {"format": "zenserve transcript"})
    case("version", "Of version 2.", shown | {"version": 2})
    case("field", "A field more.", shown | {"more": 1})
    case("missing", "A field less.", without(shown, "origin"))
    case("short-origin", "Its origin has 31 bytes.", shown | {"origin": shown["origin"][2:]})
    contribution("field-contribution", "A field more in a contribution.", first | {"more": 1})
    contribution("name-number", "A name that is no text.", first | {"name": 7})
    contribution("two-secrets", "Of more secrets than the key.", first | {"secrets": first["secrets"] * 2})
    contribution("upper-case", "Hex in capitals.", first | {"nonces": [first["nonces"][0].upper()]})
    for fault, point in bad_encodings(bytes.fromhex(first["secrets"][0])).items():
        contribution(f"secret-{fault}", f"The point is no such: {fault}.", first | {"secrets": [point.hex()]})
