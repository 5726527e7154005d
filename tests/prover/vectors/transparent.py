"""transparent.json: a proof without a setup, what becomes of it where something is changed, proofs of what
is false, commitments opened, renewed and added up. By ``tests.prover.spartan.reference`` alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Final

from tests.prover.spartan.reference import (
    Dense,
    Lie,
    Matrix,
    Noise,
    Proof,
    matrix,
    prove,
    renew,
    truthful,
)
from tests.prover.statements import CUBIC_Z, R, committed_statement, cubic_statement
from tests.prover.vectors.circuits import damaged
from zenserve.prover.constraint_file import save_statement
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.prover.spartan.layout import sizes_of
from zenserve.verifier.spartan import chain
from zenserve.verifier.spartan import circuit as circuits
from zenserve.verifier.spartan.admission import Commitment, shape_of
from zenserve.verifier.spartan.code import LOG_BLOWUP, Code
from zenserve.verifier.spartan.commitment import SEED_BYTES, Rows, commit
from zenserve.verifier.spartan.field import FR
from zenserve.verifier.spartan.key import SpartanKey
from zenserve.verifier.spartan.shape import Shape
from zenserve.verifier.spartan.system import SpartanVerifier
from zenserve.verifier.system import Claim

LOG_DEGREE: Final = 8
"""The least whose rows have room for values."""
SYSTEM: Final = committed_statement()
# 1 | y | c | model: w_0, w_1 | input: x | products: p_0, p_1 | c w_1, c p_1.
Z: Final = (1, 56, 0, 3, 5, 7, 21, 35, 0, 0)
ROWS: Final = [
    ({2: 1}, {4: 1}, {8: 1}),
    ({2: 1}, {7: 1}, {9: 1}),
    ({3: 1, 8: 1}, {5: 1}, {6: 1, 9: 1}),
    ({6: 1, 7: 1}, {0: 1}, {1: 1}),
]
MODEL, INPUT = list(Z[3:5]), list(Z[5:6])
Json = dict[str, Any]


def rows(log_degree: int = LOG_DEGREE) -> Rows:
    code = Code(FR, log_degree, log_degree + LOG_BLOWUP)
    return Rows(code, code.queries)


class Maker:
    """Proves the statement under commitments of its own."""

    def __init__(self, seed: int, log_degree: int = LOG_DEGREE) -> None:
        self.rows, self.noise = rows(log_degree), Noise(FR, random=Random(seed))
        self.key = SpartanKey(SYSTEM.digest, sizes_of(SYSTEM), self.rows.code, self.rows.tail)
        self.old, self.model, self.input = (self.committed(values) for values in (MODEL, MODEL, INPUT))

    def committed(self, values: Sequence[int]) -> Matrix:
        return matrix(self.rows.code, values, self.rows.tail, self.noise)

    def proof(self, public: int = Z[1], lie: Lie = truthful) -> Proof:
        def complete(z: list[int], challenges: Sequence[int]) -> None:
            z[8:] = [challenges[0] * value % R for value in (z[4], z[7])]

        z = [1, public, *Z[2:]]
        dense = Dense(FR, ROWS, SYSTEM.digest)
        linked = [self.model, self.input]
        return prove(self.key.shape, dense, z, linked=linked, complete=complete, noise=self.noise, lie=lie)

    def renewal(self, values: Sequence[int], old: Matrix, new: Matrix, lie: Lie = truthful) -> bytes:
        made, _ = renew(self.rows, len(values), old, new, self.noise, lie)
        return made.to_bytes(FR)


def places(shape: Shape, length: int) -> dict[str, int]:
    """Where each part of a proof of so many bytes begins, and its last hash ends, behind two empty chains."""
    number = FR.element_bytes
    sizes = {
        "a linked root": 2 * 32,
        "a segment's root": 32,
        "the private root": 32,
        "the pads' root": 32,
        "an outer round": 2 * number * shape.log_rows,
        "a claim": 3 * number,
        "an inner round": 2 * number * shape.variables,
        "the mask's product": number,
        "the row's product": number,
        **_folded(shape),
        "the triple": 2 * number,
        "the pads' mask": number,
        "the pads' row": number * shape.pads.code.degree,
        "a salt": 32,
        "a column": 0,
    }
    starts = itertools.accumulate(sizes.values(), initial=2)
    return dict(zip(sizes, starts, strict=False)) | {"the last hash": length + 1}


def _folded(shape: Shape) -> dict[str, int]:
    number, sizes = FR.element_bytes, dict[str, int]()
    for level, rounds in enumerate(shape.folding.rounds):
        last = level == len(shape.folding.levels)
        sizes["the row" if last else f"the root of level {level}"] = (
            number << shape.folding.told if last else 32
        )
        sizes[f"a round about {'the row' if last else f'level {level}'}"] = 2 * number * rounds
    return sizes


def long(seed: int) -> Json:
    """Of rows so long that their combination is folded twice."""
    system, code = cubic_statement(), Code(FR, 14, 14 + LOG_BLOWUP)
    key = SpartanKey(system.digest, sizes_of(system), code, None)
    # x³ + x + 5 = y and x + 1 = w. Variables: 1 | y, w | x, x², x³.
    rows = [
        ({3: 1}, {3: 1}, {4: 1}),
        ({4: 1}, {3: 1}, {5: 1}),
        ({5: 1, 3: 1, 0: 5}, {0: 1}, {1: 1}),
        ({3: 1, 0: 1}, {0: 1}, {2: 1}),
    ]
    noise = Noise(FR, random=Random(seed))
    made = prove(key.shape, Dense(FR, rows, system.digest), list(CUBIC_Z), noise=noise)
    proofs, public = {"honest": made.data}, [str(value) for value in CUBIC_Z[1:3]]
    starts = {name: at - 2 for name, at in places(key.shape, len(made.data)).items()}
    # Where the columns of the levels begin.
    at = len(made.data) - sum(len(opening.to_bytes()) for opening in made.openings[1:])
    for level, opening in enumerate(made.openings[1:-1]):
        starts[f"a column of level {level}"], at = at, at + len(opening.to_bytes())
        starts[f"the last hash of level {level}"] = at - 1
    of_rows = ("level", "row", "last")
    cases = [
        case("honest", [], public=public, chains=()),
        case("cut within the openings of levels", [], public=public, chains=(), keep=at - 1),
        *(
            case(f"{name}: one bit", [], public=public, chains=(), change={place: 1})
            for name, place in starts.items()
            if any(each in name for each in of_rows)
        ),
    ]
    file = circuit_file(system)
    return {
        "verifying_key": key.to_json(),
        "circuit": file.hex(),
        "proofs": {name: data.hex() for name, data in proofs.items()},
        "links": {},
        "cases": [each | {"reason": reason(key, each, proofs, {}, file)} for each in cases],
    }


def renewed(seed: int) -> Json:
    """A link whose two rows are folded, and no proof behind it: where it holds, that is what is missing."""
    maker = Maker(seed, log_degree=10)
    link = _link(maker.model, maker.renewal(MODEL, maker.old, maker.model))
    # The number of links, the root and the length come before, and the masks' root and the product.
    starts = {"the level's root": 1 + 36 + 64, "a round": 1 + 36 + 96, "the row": 1 + 36 + 96 + 4 * 32}
    starts["the last hash"] = len(link)
    roots, proofs, links = [maker.old.root, maker.input.root], {"none": b""}, {"right": link}
    make = partial(case, commitments=roots, proof="none", chains=["01", "@right", "00"])
    cases = [make("renewed"), *(make(f"{name}: one bit", change={at: 1}) for name, at in starts.items())]
    file = circuit_file(SYSTEM)
    return {
        "verifying_key": maker.key.to_json(),
        "circuit": file.hex(),
        "proofs": {name: data.hex() for name, data in proofs.items()},
        "links": {name: data.hex() for name, data in links.items()},
        "cases": [each | {"reason": reason(maker.key, each, proofs, links, file)} for each in cases],
    }


def document(seed: int) -> Json:
    maker = Maker(seed)
    made = maker.proof()
    honest, roots = made.data, [maker.model.root, maker.input.root]
    starts = places(maker.key.shape, len(honest))
    cases = [
        case("honest", roots),
        case("another public input", roots, public=["57"]),
        case("a public input that is not canonical", roots, public=[str(Z[1] + R)]),
        case("a public input more", roots, public=[str(Z[1]), "0"]),
        case("other commitments", roots[::-1]),
        case("another first commitment", [maker.old.root, roots[1]]),
        case("another second commitment", [roots[0], maker.old.root]),
        case("a commitment less", roots[:1]),
        case("cut short", roots, keep=len(honest) + 1),
        case("cut to its head", roots, keep=100),
        case("empty", roots, keep=0),
        case("a byte more", roots, more="00"),
        case("a chain that is not there", roots, chains=["0100"]),
        case("a chain of five", roots, chains=["05" + "00" * 200]),
        case("a link cut short", roots, chains=["01" + "00" * 32 + "ffffff7f00"]),
        *(case(f"{name}: one bit", roots, change={at: 1}) for name, at in starts.items()),
        # The highest byte of a number: what is not below the modulus has another spelling.
        *(
            case(f"{name}: not canonical", roots, change={starts[name] + FR.element_bytes - 1: 0x80})
            for name in (
                "an outer round",
                "a claim",
                "an inner round",
                "the row's product",
                "the row",
                "a round about the row",
                "the triple",
                "the pads' row",
            )
        ),
        *(
            case(name, roots, change=change)
            for name, change in moved(maker.key.shape, made, starts["an outer round"]).items()
        ),
    ]
    new, between = maker.model, [maker.old, *(maker.committed(MODEL) for _ in range(4)), maker.model]
    changed = matrix(maker.rows.code, [3, 6], maker.rows.tail, Noise(FR, random=Random(seed + 1)))
    links = {
        "right": _link(new, maker.renewal(MODEL, maker.old, new)),
        "of a row of others": _link(new, maker.renewal(MODEL, maker.old, new, _once("row"))),
        "of other values": _link(new, maker.renewal(MODEL, changed, new)),
    }
    for index, (one, after) in enumerate(itertools.pairwise(between)):
        links[f"{index}"] = _link(after, maker.renewal(MODEL, one, after))
    links["a bit another"] = _flipped(links["right"], 100)
    before, once = [maker.old.root, roots[1]], ["01", "@right", "00"]
    five, four = (["@0", "@1", "@2", "@3", "@4"][start:] for start in (0, 1))
    cases += [
        case("renewed", before, chains=once),
        case("renewed, of another commitment", roots, chains=once),
        case("renewed, a bit of the link", before, chains=["01", "@a bit another", "00"]),
        case("renewed by a row of others", before, chains=["01", "@of a row of others", "00"]),
        case("renewed four times", [between[1].root, roots[1]], chains=["04", *four, "00"]),
        case("renewed five times, each of them right", before, chains=["05", *five, "00"]),
        case("renewed to other values", [changed.root, roots[1]], chains=["01", "@of other values", "00"]),
    ]
    cases.append(case("false, and proven", roots, public=["57"], proof="false"))
    cases.append(case("a row that is another, and proven", roots, proof="row"))
    cases.append(case("a row of pads that is another, and proven", roots, proof="pads"))
    cases.append(case("false, and proven by zeros", roots, public=["57"], proof="zeros"))
    proofs = {
        "honest": honest,
        "false": maker.proof(57).data,
        "row": maker.proof(lie=_once("row")).data,
        "pads": maker.proof(lie=_once("pad row")).data,
        "zeros": maker.proof(57, _zeros).data,
    }
    maker.model = matrix(maker.rows.code, MODEL, maker.rows.tail + 1, maker.noise)
    proofs["budget"] = maker.proof().data
    cases.append(case("a commitment of another tail", [maker.model.root, roots[1]], proof="budget"))
    file = circuit_file(SYSTEM)
    return {
        "format": "zenserve transparent vectors",
        "version": 1,
        "generator": f"tests/prover/vectors/generate.py, seed {seed}",
        "verifying_key": maker.key.to_json(),
        "key_digest": maker.key.digest.hex(),
        "circuit": file.hex(),
        "proofs": {name: data.hex() for name, data in proofs.items()},
        "links": {name: data.hex() for name, data in links.items()},
        "cases": [each | {"reason": reason(maker.key, each, proofs, links, file)} for each in cases],
        "circuits": damaged(circuit_file(SYSTEM), last_of_a_segment=5),
        "keys": keys(maker.key),
        "openings": openings(maker, Random(seed + 2)),
        "sums": sums(Maker(seed + 3)),
        "long": long(seed + 4),
        "renewed": renewed(seed + 5),
    }


def reason(
    key: SpartanKey, case: Json, proofs: Mapping[str, bytes], links: Mapping[str, bytes], circuit: bytes
) -> str:
    """What the verifier says: of a changed byte it depends on places that are drawn whether the proof is too
    long for them, or opens something else."""
    system = SpartanVerifier()
    system.take_circuit(circuit)
    public, commitments = map(int, case["public_inputs"]), map(bytes.fromhex, case["commitments"])
    claim = Claim(list(public), proof_of(case, proofs, links), list(commitments))
    return system.verify(key, claim).reason


def _once(label: str) -> Lie:
    told = []

    def lie(which: str, values: list[int]) -> list[int]:
        told.append(which)
        return [(values[0] + 1) % R, *values[1:]] if which == label and told.count(label) == 1 else values

    return lie


def _zeros(label: str, values: list[int]) -> list[int]:
    return [0] * len(values) if label in ("round", "claims") else values


def moved(shape: Shape, proof: Proof, rounds: int) -> dict[str, dict[int, int]]:
    """What becomes of an honest proof, behind two empty chains, where its parts stand elsewhere. ``rounds``:
    where those begin."""
    data, number, (linked, other, made, private, *_) = bytes(2) + proof.data, FR.element_bytes, proof.openings
    lengths = [len(opening.to_bytes()) for opening in proof.openings]
    starts = itertools.accumulate(lengths, initial=len(data) - sum(lengths))
    one, two, three, four, *_ = starts
    column = len(made.columns[0])
    step, path = 32 + column, three + len(made.salts) * (32 + column)
    roots = 2 + 32 * shape.parts.index(shape.parts[-1])

    def exchanged(one: int, other: int, length: int) -> dict[int, int]:
        changes = enumerate(a ^ b for a, b in zip(data[one:][:length], data[other:][:length], strict=True))
        return {at + start: change for at, change in changes for start in (one, other)}

    def copied(one: int, other: int, length: int) -> dict[int, int]:
        """In the second place, too."""
        return dict(itertools.islice(exchanged(other, one, length).items(), 0, None, 2))

    def spelt(at: int) -> dict[int, int]:
        """The number's other spelling."""
        value = int.from_bytes(data[at : at + number], "little")
        spelling = (value + R).to_bytes(number, "little")
        return {at + i: old ^ new for i, (old, new) in enumerate(zip(data[at:], spelling, strict=False))}

    assert len(linked.columns[0]) == len(other.columns[0])
    assert len(private.columns[0]) > number
    return {
        "two salts exchanged": exchanged(three, three + step, 32),
        "a salt told of two places": copied(three, three + step, 32),
        "two columns exchanged": exchanged(three + 32, three + step + 32, column),
        "two places exchanged": exchanged(three, three + step, step),
        "a place told twice": copied(three, three + step, step),
        "two commitments' salts exchanged": exchanged(one, two, 32),
        "two commitments' columns exchanged": exchanged(one + 32, two + 32, number),
        "a commitment's salt told as the proof's": copied(one, three, 32),
        "two numbers of a column exchanged": exchanged(four, four + number, number),
        "two hashes of a path exchanged": exchanged(path, path + 32, 32),
        "a number of a column spelt otherwise": spelt(four),
        "two rounds exchanged": exchanged(rounds, rounds + 2 * number, 2 * number),
        "the private root and the pads' exchanged": exchanged(roots, roots + 32, 32),
    }


def _link(new: Matrix, proof: bytes) -> bytes:
    return chain.to_bytes([chain.Link(new.root, proof)])[1:]


def _flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def case(
    name: str,
    commitments: Sequence[bytes],
    *,
    public: Sequence[str] = (str(Z[1]),),
    proof: str = "honest",
    chains: Sequence[str] = ("0000",),
    keep: int | None = None,
    change: Mapping[int, int] | None = None,
    more: str = "",
) -> Json:
    return {
        "name": name,
        "public_inputs": list(public),
        "commitments": [root.hex() for root in commitments],
        "proof": proof,
        "chains": list(chains),
        "keep": keep,
        "change": {str(at): f"{bits:02x}" for at, bits in (change or {}).items()},
        "more": more,
    }


def proof_of(case: Json, proofs: Mapping[str, bytes], links: Mapping[str, bytes]) -> bytes:
    """The bytes that a case is about: its chains, of hex and of names of links behind an @, and the proof of
    its name; of these the first ``keep`` where that is a number, XOR ``change`` at each place, and ``more``.
    """
    parts = [links[part[1:]] if part.startswith("@") else bytes.fromhex(part) for part in case["chains"]]
    data = bytearray(b"".join([*parts, proofs[case["proof"]]])[: case["keep"]])
    for place, bits in case["change"].items():
        data[int(place)] ^= int(bits, 16)
    return bytes(data) + bytes.fromhex(case["more"])


def keys(key: SpartanKey) -> list[Json]:
    """Keys that a reader must refuse, by what is another."""
    changes: dict[str, Json] = {
        "another format": {"format": "zenserve key"},
        "another setup": {"setup": "development"},
        "a version that is no integer": {"version": True},
        "the version before": {"version": 1},
        "rows much longer than what they hold": {"log_degree": 17},
        "a circuit of 31 bytes": {"circuit": key.circuit.hex()[2:]},
        "capitals": {"circuit": key.circuit.hex().upper()},
        "rows that are negative": {"rows": -1},
        "a size of 2^40": {"private": 1 << 40},
        "no tail": {"tail": None},
        "a tail that hides nothing": {"tail": rows().tail - 1},
        "a tail as long as rows": {"tail": 1 << LOG_DEGREE},
        "rows without room": {"log_degree": 7},
        "more than the field's roots": {"log_degree": 31},
        "an absurd code": {"log_degree": (1 << 40) - 1},
        "nothing linked": {"segments": [[2, False], [1, False], [2, False]]},
        "more renewals than 128 bits are left for": {"segments": [[2, True]] * 100},
        "more variables than fit anywhere": {"private": (1 << 40) - 1},
        "nothing linked, in rows without room": {
            "segments": [[2, False]],
            "tail": None,
            "log_degree": 7,
        },
        "segments that are no list": {"segments": {}},
        "a segment without a flag": {"segments": [[2], [1, True], [2, False]]},
        "a field more": {"more": 0},
    }
    found = {name: key.to_json() | change for name, change in changes.items()}
    return [{"name": name, "key": fields, "code": "file.json"} for name, fields in found.items()]


def openings(maker: Maker, draw: Random) -> list[Json]:
    seed, other = draw.randbytes(SEED_BYTES), draw.randbytes(SEED_BYTES)
    values, basis = [3, -5, 7], maker.rows
    root = commit(basis, [value % R for value in values], seed)
    long = [draw.randrange(-128, 128) for _ in range(2 * (basis.code.degree - basis.tail) + 1)]

    def opening(name: str, values: list[int], seed: bytes, reason: str, commitment: bytes = root) -> Json:
        shown = {"format": "zenserve opening", "version": 1, "system": "spartan", "blinding": seed.hex()}
        return {
            "name": name,
            "basis": basis.identity.hex(),
            "commitment": commitment.hex(),
            "values": [str(value) for value in values],
            "opening": shown,
            "reason": reason,
        }

    return [
        opening("honest", values, seed, "ok"),
        opening("by their residues", [value % R for value in values], seed, "ok"),
        opening("of three rows", long, other, "ok", commit(basis, [value % R for value in long], other)),
        opening("of another seed", values, other, "opening_mismatch"),
        opening("of another value", [3, -5, 8], seed, "opening_mismatch"),
        opening("a value less", values[:2], seed, "opening_mismatch"),
        opening("a zero more", [*values, 0], seed, "opening_mismatch"),
    ]


def sums(maker: Maker) -> list[Json]:
    """Of three commitments to two values each."""
    values = [[1, 2], [3, -4], [5, 6]]
    held = [maker.committed([value % R for value in each]) for each in values]
    totals = [sum(column) for column in zip(*values, strict=True)]

    def proof(totals: list[int]) -> bytes:
        circuit = circuits.totals(len(values), len(totals))
        linked = [Commitment(each.root, 2, maker.rows.tail) for each in held]
        entries = [
            ({2 + len(totals) + 2 * vector + i: 1 for vector in range(len(values))}, {0: 1}, {1 + i: 1})
            for i in range(len(totals))
        ]
        z = [1, *(total % R for total in totals), 0, *(value % R for each in values for value in each)]
        dense = Dense(FR, entries, circuit.digest)
        shape = shape_of(circuit.sizes, maker.rows.code, linked)
        return prove(shape, dense, z, linked=held, noise=maker.noise).data

    roots, shown = [each.root.hex() for each in held], proof(totals)

    def case(
        name: str, commitments: list[str], totals: list[int], proof: bytes, reason: str = "sum_mismatch"
    ) -> Json:
        return {
            "name": name,
            "basis": maker.rows.identity.hex(),
            "commitments": commitments,
            "totals": [str(total) for total in totals],
            "opening": proof.hex(),
            "reason": reason,
        }

    return [
        case("honest", roots, totals, shown, "ok"),
        case("a false total, proven", roots, [9, 5], proof([9, 5])),
        case("a commitment less", roots[:2], totals, b""),
        case("no commitments", [], totals, b""),
        case("no proof", roots, totals, b""),
    ]


def circuit_file(system: ConstraintSystem) -> bytes:
    with TemporaryDirectory() as folder:
        save_statement(file := Path(folder) / "circuit", system)
        return file.read_bytes()
