"""A verifier of ZenServe's transparent proofs in one file: Python and blake3 (docs/spartan.md).

It judges proofs, keys, openings and sums of `spartan-bls12-381`, not documents, and shares no code with the
verifier that it agrees with. Nothing in it is made fast: code words are evaluated one place at a time.
"""

import hashlib
import json
import re
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import accumulate, islice, pairwise
from math import prod
from typing import Any, NamedTuple

from blake3 import blake3

Json = dict[str, Any]
R = 0x73EDA753299D7D483339D80809A1D80553BDA402FFFE5BFEFFFFFFFF00000001
QUERY_BITS, MOST_LINKS, MOST_VARIABLES, MOST_BASIS = 135, 4, 36, 16
MOST_UNREAD = 1 << 16
NAME, TRANSCRIPT = "zenserve spartan 1: ", "zenserve spartan 2: transcript"
LEAF, NODE, ROOT = (blake3((NAME + kind).encode()).digest() for kind in ("leaf", "node", "root"))


class Refused(Exception):  # noqa: N818
    """The reason."""


def require(right: object, reason: str) -> None:
    if not right:
        raise Refused(reason)


# Numbers, and polynomials over them.
def u64(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(8, "little") for number in numbers)


def to_bytes(values: Iterable[int]) -> bytes:
    return b"".join(value.to_bytes(32, "little") for value in values)


def from_bytes(data: bytes) -> list[int]:
    return [int.from_bytes(data[i : i + 32], "little") for i in range(0, len(data), 32)]


def dot(a: Iterable[int], b: Iterable[int]) -> int:
    return sum(x * y for x, y in zip(a, b, strict=False)) % R


def eq(point: Sequence[int]) -> list[int]:
    """eq(point, i) of all i, the first number of the point for the highest bit."""
    table = [1]
    for r in point:
        table = [value * factor % R for value in table for factor in (1 - r, r)]
    return table


def eq_at(point: Sequence[int], other: Sequence[int]) -> int:
    return prod(1 - a - b + 2 * a * b for a, b in zip(point, other, strict=True)) % R


def code_word(coefficients: Sequence[int], place: int, log_length: int) -> int:
    """One entry of the row's code word."""
    x, value = pow(5, (R - 1 >> log_length) * place, R), 0
    for coefficient in reversed(coefficients):
        value = (value * x + coefficient) % R
    return value


class Code(NamedTuple):
    """Of K = 2^log_degree coefficients at n = 2^log_length places."""

    log_degree: int
    log_length: int
    bits: int = QUERY_BITS

    @property
    def degree(self) -> int:
        return 1 << self.log_degree

    @property
    def length(self) -> int:
        return 1 << self.log_length

    @property
    def radius(self) -> int:
        return (self.length - self.degree) // 2

    def missed(self, queries: int) -> Fraction:
        n, right = self.length, self.length - self.radius - 1
        return Fraction(prod(right - i for i in range(queries)), prod(n - i for i in range(queries)))

    @property
    def queries(self) -> int:
        missing, every = 1 << self.bits, 1
        for i in range(self.length):
            if missing <= every:
                return i
            missing, every = missing * (self.length - self.radius - 1 - i), every * (self.length - i)
        return self.length


def root(top: bytes, code: Code, values: int, tail: int) -> bytes:
    return blake3(top + u64(values, tail, code.log_degree, code.log_length), key=ROOT).digest()


def parents(level: dict[int, bytes]) -> dict[int, bytes]:
    return {i // 2: blake3(level[i] + level[i + 1], key=NODE).digest() for i in level if i % 2 == 0}


class Transcript:
    def __init__(self, statement: bytes) -> None:
        first = u64(32) + to_bytes([R]) + statement
        self.state = blake3(first, derive_key_context=TRANSCRIPT).digest()

    def absorb(self, label: str, data: bytes) -> None:
        message = self.state + bytes([len(label)]) + label.encode() + u64(len(data)) + data
        self.state = blake3(message, derive_key_context=NAME + "absorb").digest()

    def say(self, label: str, values: Iterable[int]) -> None:
        self.absorb(label, to_bytes(values))

    def stream(self, length: int) -> bytes:
        return blake3(self.state, derive_key_context=NAME + "challenge").digest(length=length)

    def draw(self, label: str, count: int) -> list[int]:
        self.absorb("challenge", label.encode())
        data = self.stream(64 * count)
        return [int.from_bytes(data[64 * i : 64 * i + 64], "little") % R for i in range(count)]

    def places(self, label: str, code: Code) -> list[int]:
        self.absorb("challenge", label.encode())
        found: list[int] = []
        length = 1024
        while len(found) < code.queries:
            words = struct.unpack(f"<{length}I", self.stream(4 * length))
            found = list(dict.fromkeys(word % code.length for word in words))
            length *= 2
        return sorted(found[: code.queries])


class Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, length: int) -> bytes:
        self.at += length
        require(self.at <= len(self.data), "malformed")
        return self.data[self.at - length : self.at]

    def numbers(self, count: int) -> list[int]:
        values = from_bytes(self.take(32 * count))
        require(all(value < R for value in values), "malformed")
        return values

    def opening(
        self, rows: int, places: Sequence[int], code: Code, salts: list[bytes] | None = None
    ) -> tuple[list[list[int]], bytes]:
        """The columns at these places, and the top of the tree that they are in. ``salts``: if it is empty
        they stand here, and it has them afterwards."""
        columns, level = [], {}
        for i, place in enumerate(places):
            if salts is not None and len(salts) == i:
                salts.append(self.take(32))
            columns.append(self.numbers(rows))
            salt = b"" if salts is None else salts[i]
            level[place] = blake3(salt + to_bytes(columns[-1]), key=LEAF).digest()
        for _ in range(code.log_length):
            for node in sorted(level):
                if node ^ 1 not in level:
                    level[node ^ 1] = self.take(32)
            level = parents(level)
        return columns, level[0]

    def finish(self) -> None:
        require(self.at == len(self.data), "malformed")


# Inner products with a vector that is folded, level by level.
def levels_of(variables: int, bits: int) -> tuple[list[tuple[int, Code]], int]:
    """How many rounds each level has, and its rows' code; how many variables are left behind them. ``bits``:
    of the columns beside."""
    levels = []
    while variables > 10:
        rounds = min(3, variables - 9)
        variables -= rounds
        levels.append((rounds, Code(variables, variables + 3, bits + 3)))
    return levels, variables


class Folded:
    """What a proof says of a vector of 2^variables numbers: messages, each with its rounds."""

    def __init__(self, variables: int, bits: int, reader: Reader) -> None:
        self.levels, self.rest = levels_of(variables, bits)
        self.messages: list[bytes] = []
        self.rounds = []
        for rounds, _ in self.levels:
            self.messages.append(reader.take(32))
            self.rounds.append([reader.numbers(2) for _ in range(rounds)])
        self.vector = reader.numbers(1 << self.rest)
        self.messages.append(to_bytes(self.vector))
        self.rounds.append([reader.numbers(2) for _ in range(self.rest)])

    def check(
        self, claim: int, weight: Callable[[list[int]], int], transcript: Transcript, reader: Reader
    ) -> None:
        """That the inner product is the claim, with what has ``weight`` for its multilinear extension. The
        first message is absorbed, and all that the claim is made of."""
        point: list[int] = []
        opened: list[Callable[[list[int]], int]] = [weight]
        for i, said in enumerate(self.rounds):
            for constant, square in said:
                transcript.say("round", [constant, square])
                (s,) = transcript.draw("round", 1)
                claim = (constant + s * (claim - 2 * constant - square) + s * s * square) % R
                point.append(s)
            if i == len(self.levels):
                break
            rounds, code = self.levels[i]
            transcript.absorb("row", self.messages[i + 1])
            places = transcript.places("places", code)
            weights = transcript.draw("weights", len(places))
            columns, top = reader.opening(1 << rounds, places, code)
            require(root(top, code, code.degree << rounds, 0) == self.messages[i], "opening")
            by_row = eq(point[-rounds:])
            claim += dot(weights, [dot(by_row, column) for column in columns])
            opened.append(partial(weight_of_places, code, places, weights))
        found = dot(eq(point[-self.rest :]), self.vector) * sum(each(point) for each in opened)
        require((claim - found) % R == 0, "proximity")


def weight_of_places(code: Code, places: Sequence[int], weights: Sequence[int], point: Sequence[int]) -> int:
    """The extension of the sum of weight · (1, x, x², ..), x the place's root of unity."""
    total = 0
    for place, weight in zip(places, weights, strict=True):
        x = pow(5, (R - 1 >> code.log_length) * place, R)
        for s in reversed(point[-code.log_degree :]):
            weight = weight * (1 - s + s * x) % R
            x = x * x % R
        total += weight
    return total


# Circuits.
class Matrix(NamedTuple):
    offsets: Sequence[int]
    columns: Sequence[int]
    coefficients: Sequence[int]
    pool: Sequence[int]


class Circuit(NamedTuple):
    public: int
    challenges: int
    segments: list[tuple[int, bool]]
    private: int
    blocks: list[tuple[Matrix, Matrix, Matrix]]

    @property
    def rows(self) -> int:
        return sum(len(a.offsets) - 1 for a, _, _ in self.blocks)

    @property
    def digest(self) -> bytes:
        def counted(numbers: Sequence[int], width: int) -> bytes:
            return u64(len(numbers)) + b"".join(number.to_bytes(width, "little") for number in numbers)

        sizes = [self.public, self.challenges, self.private, len(self.segments), len(self.blocks)]
        sizes += [int(number) for segment in self.segments for number in segment]
        data = b"zenserve r1cs 2" + counted(sizes, 8)
        for matrix in (matrix for block in self.blocks for matrix in block):
            data += counted(matrix.offsets, 8) + counted(matrix.columns, 4)
            data += counted(matrix.coefficients, 4)
            data += u64(32 * len(matrix.pool)) + to_bytes(matrix.pool)
        return hashlib.sha256(data).digest()


FORMS = {"counts": "Q", "segments": "II", "names": "B", "shapes": "QQQ", "offsets": "Q"}
FORMS |= {"columns": "I", "coefficients": "I", "pool": "32s", "description": "B"}


def read_sections(data: bytes) -> Iterator[list[Any]]:
    """Of the container of kind `stmt` (docs/ceremony.md)."""
    require(len(data) >= 16, "file.length")
    require(data[:8] == b"ZENSERVE", "file.magic")
    require(data[8:12] == struct.pack("<I", 2), "file.version")
    require(data[12:16] == b"stmt", "file.kind")
    require(len(data) >= 64 and u64(len(data)) == data[24:32], "file.length")
    require(hashlib.sha256(data[:32] + data[64:]).digest() == data[32:64], "file.hash")
    end = 64 + int.from_bytes(data[16:24], "little")
    try:
        counts = json.loads(data[64:end])
    except ValueError:
        raise Refused("file.header") from None
    require(isinstance(counts, dict) and list(counts) == list(FORMS), "file.header")
    for name, form in FORMS.items():
        start = end + -end % 64
        require(type(counts[name]) is int and counts[name] >= 0, "file.header")
        end = start + counts[name] * struct.calcsize("<" + form)
        require(end <= len(data), "file.header")
        items = list(struct.iter_unpack("<" + form, data[start:end]))
        yield items if len(form) > 1 and form != "32s" else [item for (item,) in items]
    require(end == len(data), "file.header")


def read_circuit(data: bytes) -> Circuit:
    counts, flags, _, shapes, *entries, _ = read_sections(data)
    require(len(counts) == 3 and len(shapes) % 3 == 0, "file.shape")
    require(all(linked <= 1 for _, linked in flags), "file.shape")
    public, challenges, private = counts
    segments = [(size, bool(linked)) for size, linked in flags]
    # Behind each segment stands a variable that no row reads.
    unread = list(accumulate((size + 1 for size, _ in segments), initial=public + challenges))[1:]
    variables = 1 + (unread[-1] if segments else public + challenges) + private
    require(variables <= MOST_UNREAD + len(entries[1]), "file.shape")
    readable = {*range(variables)} - {*unread}
    left, matrices = [iter(items) for items in entries], []
    for rows, size, constants in shapes:
        sizes = rows + 1, size, size, constants
        require(max(sizes) <= len(data), "file.shape")
        offsets, columns, coefficients, pool = (
            list(islice(items, n)) for items, n in zip(left, sizes, strict=True)
        )
        right = (len(offsets), len(columns), len(coefficients), len(pool)) == sizes
        require(right and offsets[0] == 0 and offsets[-1] == size, "file.shape")
        require(offsets == sorted(offsets) and readable.issuperset(columns), "file.shape")
        require(max(coefficients, default=-1) < constants, "file.shape")
        matrices.append(Matrix(offsets, columns, coefficients, from_bytes(b"".join(pool))))
        require(max(matrices[-1].pool, default=0) < R, "file.shape")
    require(not any(list(items) for items in left), "file.shape")
    blocks = list(zip(matrices[::3], matrices[1::3], matrices[2::3], strict=True))
    require(all(len({len(each.offsets) for each in block}) == 1 for block in blocks), "file.shape")
    return Circuit(public, challenges, segments, private, blocks)


# Keys, and the shape of the proofs under them.
def folding_error(variables: int, bits: int) -> Fraction:
    levels, _ = levels_of(variables, bits)
    terms = len(levels) + 1 + 2 * variables + sum(rounds * code.length for rounds, code in levels)
    return Fraction(terms, R) + sum(code.missed(code.queries) for _, code in levels)


class Part(NamedTuple):
    """Rows of one root: so many from ``first`` on, each with values, then a tail."""

    size: int
    tail: int
    linked: bool
    first: int
    rows: int


class Shape:
    """Of proofs of a constraint system, under a code, with tails of so many places in linked roots."""

    def __init__(self, sizes: Circuit, rows: int, log_degree: int, tail: int | None) -> None:
        require(log_degree + 2 <= 32, "key")
        self.rows_code = Code(log_degree, log_degree + 2)
        count = sum(linked for _, linked in sizes.segments)
        self.code = code = self.rows_code._replace(bits=130 if count <= 8 else 131)
        queries = self.rows_code.queries
        require(queries <= code.radius and queries < code.degree, "key")
        require(tail is None or queries <= tail < code.degree, "key")
        require((tail is None) != any(linked for _, linked in sizes.segments), "key")
        self.public, self.challenges, self.tail = sizes.public, sizes.challenges, tail or 0
        first = -(-(1 + sizes.public + sizes.challenges) // code.degree)
        self.parts: list[Part] = []
        for size, linked in [*sizes.segments, (sizes.private, False)]:
            own = self.tail if linked else code.queries
            here = -(-size // (code.degree - own))
            self.parts.append(Part(size, own, linked, first, here))
            first += here
        self.linked = [part for part in self.parts if part.linked]
        self.log_rows = max(1, (rows - 1).bit_length())
        self.row_variables = (first - 1).bit_length()
        self.variables = self.row_variables + log_degree
        require(max(self.log_rows, self.variables) <= MOST_VARIABLES, "key")
        variables = 1 + self.public + self.challenges + sum(part.size for part in self.parts)
        require(log_degree <= max(MOST_BASIS, (variables - 1).bit_length()), "key")
        self.pads = 2 * self.log_rows + 3 + 2 * self.variables + 1 + 1 + 3
        log = self.pads.bit_length()
        while self.pads + Code(log, log + 3, code.bits).queries > 1 << log:
            log += 1
        self.pads_code = Code(log, log + 3, code.bits)

    def error(self, links: int) -> Fraction:
        """What a false statement passes with at most, if each commitment was renewed so often."""
        code, pads = self.code, self.pads_code
        terms = 3 * self.log_rows + 2 * self.variables + 5
        terms += (self.row_variables + 1) * code.length + pads.length
        missed = code.missed(code.queries)
        total = Fraction(terms, R) + missed + pads.missed(pads.queries)
        total += folding_error(code.log_degree, code.bits)
        if self.linked:
            log_rows = max(part.rows - 1 for part in self.linked).bit_length()
            terms = log_rows + code.log_degree + 1 + 2 * (log_rows + 1) * code.length
            code = self.rows_code
            link = Fraction(terms, R) + code.missed(code.queries)
            link += folding_error(code.log_degree + 1, code.bits)
            total += links * len(self.linked) * link
        return total


KEY = "format version setup circuit public challenges segments private rows log_degree tail"


def key_digest(key: Json) -> str:
    return hashlib.sha256(json.dumps(key, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def read_key(key: Json) -> Shape:
    """The shape of proofs under a key, as JSON."""

    def natural(value: object) -> bool:
        return type(value) is int and 0 <= value < 1 << 40

    require(set(key) == set(KEY.split()), "key")
    require((key["format"], key["setup"]) == ("zenserve transparent key", "transparent"), "key")
    require(type(key["version"]) is int and key["version"] == 2, "key")
    require(isinstance(key["circuit"], str) and re.fullmatch("[0-9a-f]{64}", key["circuit"]), "key")
    numbers = [key[name] for name in ("public", "challenges", "private", "rows", "log_degree")]
    numbers += [] if key["tail"] is None else [key["tail"]]
    require(isinstance(key["segments"], list), "key")
    for segment in key["segments"]:
        require(isinstance(segment, list) and len(segment) == 2 and type(segment[1]) is bool, "key")
        numbers.append(segment[0])
    require(all(natural(number) for number in numbers), "key")
    segments = [(size, linked) for size, linked in key["segments"]]
    sizes = Circuit(key["public"], key["challenges"], segments, key["private"], [])
    shape = Shape(sizes, key["rows"], key["log_degree"], key["tail"])
    require(shape.error(MOST_LINKS) <= Fraction(1, 1 << 128), "key")
    return shape


# Renewals.
def renewed_root(shape: Shape, size: int, old: bytes, chain: Sequence[tuple[bytes, bytes]]) -> bytes:
    for new, proof in chain:
        try:
            check_renewal(shape, size, old, new, Reader(proof))
        except Refused:
            raise Refused("link_mismatch") from None
        old = new
    return old


def check_renewal(shape: Shape, size: int, old: bytes, new: bytes, reader: Reader) -> None:
    code, tail = shape.rows_code, shape.tail
    width = code.degree - tail
    rows = -(-size // width)
    masks_root, (product,) = reader.take(32), reader.numbers(1)
    u = Folded(code.log_degree + 1, code.bits, reader)
    statement = u64(code.log_degree, code.log_length, QUERY_BITS, tail, size)
    transcript = Transcript(b"renewal" + statement)
    for label, said in (("old", old), ("new", new), ("mask", masks_root)):
        transcript.absorb(label, said)
    r = transcript.draw("rows", (rows - 1).bit_length())
    s = transcript.draw("columns", code.log_degree)
    transcript.say("product", [product])
    (gamma,) = transcript.draw("mask", 1)
    transcript.absorb("row", u.messages[0])
    places = transcript.places("places", code)
    openings = [reader.opening(count, places, code, []) for count in (rows, rows, 2)]
    shapes = ((old, size, tail), (new, size, tail), (masks_root, 2 * code.degree, 0))
    for (_, top), (expected, count, own) in zip(openings, shapes, strict=True):
        require(root(top, code, count, own) == expected, "opening")
    (olds, _), (news, _), (masks, _) = openings
    by_row, by_column = eq(r), eq(s)[:width]
    values = [
        mask[which] + gamma * dot(by_row, column)
        for which, columns in enumerate((olds, news))
        for mask, column in zip(masks, columns, strict=True)
    ]
    weights = transcript.draw("weights", 2 * len(places))

    def weight(point: list[int]) -> int:
        """The first variable chooses the row."""
        chosen, *rest = point
        halves = weights[: len(places)], weights[len(places) :]
        both = [before + chosen * (after - before) for before, after in zip(*halves, strict=True)]
        return (1 - 2 * chosen) * dot(by_column, eq(rest)) + weight_of_places(code, places, both, rest)

    u.check(product + dot(weights, values), weight, transcript, reader)
    reader.finish()


# Proofs.
def verify(key: Json, file: bytes, public: Sequence[int], commitments: Sequence[bytes], proof: bytes) -> str:
    """`ok`, or why the proof is refused. ``file``: the circuit's, which whoever verifies trusts."""
    shape = read_key(key)
    try:
        circuit = read_circuit(file)
    except Refused as refused:
        return str(refused)
    sizes = circuit.public, circuit.challenges, circuit.private, circuit.rows
    known = circuit.digest.hex() == key["circuit"]
    known &= sizes == tuple(key[name] for name in ("public", "challenges", "private", "rows"))
    if not known or circuit.segments != [(size, linked) for size, linked in key["segments"]]:
        return "circuit_unknown"
    try:
        reader = Reader(proof)
        chains = []
        for _ in shape.linked:
            (links,) = reader.take(1)
            require(links <= MOST_LINKS, "malformed")
            chains.append(
                [
                    (reader.take(32), reader.take(int.from_bytes(reader.take(4), "little")))
                    for _ in range(links)
                ]
            )
        require(len(commitments) == len(shape.linked), "malformed")
        roots = [
            renewed_root(shape, part.size, commitment, chain)
            for part, commitment, chain in zip(shape.linked, commitments, chains, strict=True)
        ]
        check_proof(shape, circuit, public, roots, reader)
    except Refused as refused:
        return str(refused)
    return "ok"


def check_proof(
    shape: Shape, circuit: Circuit, public: Sequence[int], commitments: Sequence[bytes], reader: Reader
) -> None:
    require(len(public) == shape.public and all(0 <= value < R for value in public), "malformed")
    code, pads_code = shape.code, shape.pads_code
    roots, pads_root = [reader.take(32) for _ in shape.parts], reader.take(32)
    outer = [reader.numbers(2) for _ in range(shape.log_rows)]
    claims = reader.numbers(3)
    inner = [reader.numbers(2) for _ in range(shape.variables)]
    (mask, product), u = reader.numbers(2), Folded(code.log_degree, code.bits, reader)
    opened, (pads_mask,), pads_u = reader.numbers(2), reader.numbers(1), reader.numbers(pads_code.degree)

    transcript = Transcript(
        u64(code.log_degree, code.log_length, code.bits, shape.log_rows)
        + u64(shape.public, shape.challenges, len(shape.parts))
        + circuit.digest
    )
    transcript.say("public", public)
    for commitment in commitments:
        transcript.absorb("commitment", commitment)
    for part, said in zip(shape.parts[:-1], roots, strict=False):
        if not part.linked:
            transcript.absorb("segment", said)
    known = [1, *public, *transcript.draw("statement", shape.challenges)]
    linked = [said for part, said in zip(shape.parts, roots, strict=True) if part.linked]
    require(linked == list(commitments), "link_mismatch")
    transcript.absorb("private", roots[-1])
    transcript.absorb("pads", pads_root)

    def rounds(told: Sequence[Sequence[int]]) -> list[int]:
        point = []
        for coefficients in told:
            transcript.say("round", coefficients)
            point += transcript.draw("round", 1)
        return point

    tau = transcript.draw("zero", shape.log_rows)
    r_x = rounds(outer)
    transcript.say("claims", claims)
    rho = transcript.draw("matrices", 3)
    r_y = rounds(inner)
    transcript.say("mask", [mask])
    (gamma,) = transcript.draw("mask", 1)
    transcript.say("product", [product])
    transcript.absorb("row", u.messages[0])
    (epsilon,) = transcript.draw("triple", 1)
    transcript.say("opened", opened)
    places = transcript.places("columns", code)

    # What is opened is what was committed to, and u combines it.
    low_point = r_y[shape.row_variables :]
    high, low = eq(r_y[: shape.row_variables]), eq(low_point)
    totals = [0] * len(places)
    salts: list[bytes] = []  # of all roots that the proof makes
    openings = [
        reader.opening(part.rows + (part is shape.parts[-1]), places, code, [] if part.linked else salts)
        for part in shape.parts
    ]
    for part, (columns, top), said in zip(shape.parts, openings, roots, strict=True):
        require(root(top, code, part.size, part.tail) == said, "opening")
        weights = [gamma * high[part.first + i] for i in range(part.rows)]
        # The mask is the private root's last row.
        weights += [1] * (part is shape.parts[-1])
        totals = [total + dot(weights, column) for total, column in zip(totals, columns, strict=True)]
    weights = transcript.draw("weights", len(places))

    def weight(point: list[int]) -> int:
        return eq_at(low_point, point) + weight_of_places(code, places, weights, point)

    u.check(product + dot(weights, totals), weight, transcript, reader)

    # The pads' opening, before the matrices are evaluated, which nothing that is drawn depends on.
    combiners = transcript.draw("forms", 5)
    transcript.say("pad mask", [pads_mask])
    (gamma_pads,) = transcript.draw("pad mask", 1)
    transcript.say("pad row", pads_u)
    places = transcript.places("pad columns", pads_code)
    columns, top = reader.opening(2, places, pads_code, [])
    reader.finish()
    require(root(top, pads_code, shape.pads, pads_code.queries) == pads_root, "opening")
    for place, (row, pad_mask) in zip(places, columns, strict=True):
        told = code_word(pads_u, place, pads_code.log_length)
        require((pad_mask + gamma_pads * row - told) % R == 0, "proximity")

    # What was told is consistent, less its pads.
    matrix = evaluate(shape, circuit, rho, r_x, r_y)
    first_rows = range(0, len(known), code.degree)
    known_z = sum(high[i // code.degree] * dot(known[i : i + code.degree], low) for i in first_rows)
    f, g = opened

    def equations(pads: Sequence[int]) -> list[int]:
        """What is zero if these are the pads."""
        following = iter(pads)

        def truths(told: Sequence[int]) -> list[int]:
            return [each - next(following) for each in told]

        outer_end = 0
        for coefficients, w, r in zip(outer, tau, r_x, strict=True):
            linear, square = truths(coefficients)
            constant = outer_end - w * (linear + square)
            outer_end = (constant + linear * r + square * r * r) % R
        pad_a, pad_b, _ = pads[2 * shape.log_rows : 2 * shape.log_rows + 3]
        a, b, c = truths(claims)
        inner_end = dot(rho, (a, b, c))
        for coefficients, r in zip(inner, r_y, strict=True):
            constant, square = truths(coefficients)
            linear = inner_end - 2 * constant - square
            inner_end = (constant + linear * r + square * r * r) % R
        (mask_product,) = truths([mask])
        pad_ab, x, y, xy = following
        ab = claims[0] * claims[1] - claims[0] * pad_b - claims[1] * pad_a + pad_ab
        return [
            outer_end - ab + c,
            gamma * inner_end - matrix * (product - mask_product + gamma * known_z),
            f - epsilon * pad_a - x,
            g - pad_b - y,
            f * g - f * y - g * x + xy - epsilon * pad_ab,
        ]

    constant = dot(combiners, equations([0] * shape.pads))
    units = ([int(i == pad) for i in range(shape.pads)] for pad in range(shape.pads))
    coefficients = [dot(combiners, equations(unit)) - constant for unit in units]
    require((dot(coefficients, pads_u) - pads_mask + gamma_pads * constant) % R == 0, "constraints")


def evaluate(
    shape: Shape, circuit: Circuit, rho: Sequence[int], r_x: Sequence[int], r_y: Sequence[int]
) -> int:
    """The combined matrices at both points."""
    by_row, by_place, degree = eq(r_x), eq(r_y), shape.code.degree
    columns = by_place[: 1 + shape.public + shape.challenges]
    for part in shape.parts:
        width = degree - part.tail
        columns += [by_place[(part.first + i // width) * degree + i % width] for i in range(part.size)]
        # Behind each segment stands a variable that no row reads.
        columns += [0] * (part is not shape.parts[-1])
    total, first = 0, 0
    for block in circuit.blocks:
        for weight, matrix in zip(rho, block, strict=True):
            for row, (start, end) in enumerate(pairwise(matrix.offsets)):
                for i in range(start, end):
                    value = matrix.pool[matrix.coefficients[i]] * columns[matrix.columns[i]]
                    total += weight * by_row[first + row] % R * value
        first += len(block[0].offsets) - 1
    return total % R


# Commitments that are opened: to values, or to a sum.
def read_basis(basis: bytes) -> tuple[Code, int]:
    require(len(basis) == 16, "basis")
    log_degree, tail = struct.unpack("<QQ", basis)
    require(log_degree <= MOST_BASIS, "basis")
    code = Code(log_degree, log_degree + 2)
    require(code.queries <= tail < code.degree, "basis")
    return code, tail


def check_opening(basis: bytes, commitment: bytes, values: Sequence[int], opening: Json) -> str:
    (code, tail), header = (
        read_basis(basis),
        {"format": "zenserve opening", "version": 1, "system": "spartan"},
    )
    require({**opening, "blinding": ""} == {**header, "blinding": ""}, "file")
    require(re.fullmatch("[0-9a-f]{64}", opening["blinding"]), "file")
    values = [value % R for value in values]
    seed = blake3(to_bytes(values), key=bytes.fromhex(opening["blinding"])).digest()
    width = code.degree - tail
    rows = [list(values[i : i + width]) for i in range(0, len(values), width)]
    stream = blake3(seed, derive_key_context=NAME + "tails").digest(length=64 * (tail * len(rows) + 128))
    tails = (word for word in (each % 2**255 for each in from_bytes(stream)) if word < R)
    for row in rows:
        row += [0] * (width - len(row))
        row += [next(tails) for _ in range(tail)]
    salts = blake3(seed, derive_key_context=NAME + "salts").digest(length=32 * code.length)
    level = {}
    for place in range(code.length):
        column = to_bytes(code_word(row, place, code.log_length) for row in rows)
        level[place] = blake3(salts[32 * place : 32 * place + 32] + column, key=LEAF).digest()
    for _ in range(code.log_length):
        level = parents(level)
    return "ok" if root(level[0], code, len(values), tail) == commitment else "opening_mismatch"


def check_sum(basis: bytes, commitments: Sequence[bytes], totals: Sequence[int], opening: bytes) -> str:
    """A proof of the circuit of so many rows: the vectors' values · 1 = the total."""
    (code, tail), count, size = read_basis(basis), len(commitments), len(totals)
    if not count:
        return "sum_mismatch"
    terms = [2 + size + vector * (size + 1) + i for i in range(size) for vector in range(count)]
    block = (
        Matrix([count * i for i in range(size + 1)], terms, [0] * len(terms), [1]),
        Matrix(range(size + 1), [0] * size, [0] * size, [1]),
        Matrix(range(size + 1), range(1, size + 1), [0] * size, [1]),
    )
    circuit = Circuit(size, 1, [(size, True)] * count, 0, [block])
    try:
        shape = Shape(circuit, size, code.log_degree, tail)
        require(shape.error(0) <= Fraction(1, 1 << 128), "basis")
        reader = Reader(opening)
        check_proof(shape, circuit, [total % R for total in totals], commitments, reader)
    except Refused:
        return "sum_mismatch"
    return "ok"
