"""The prover again, in plain Python over any prime field: slow, obvious, and leaky where it is told to be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

from blake3 import blake3

from zenserve.verifier.spartan.claims import Drawn, Known, Said, combined, forms
from zenserve.verifier.spartan.code import Code
from zenserve.verifier.spartan.commitment import Rows
from zenserve.verifier.spartan.field import Field
from zenserve.verifier.spartan.merkle import LEAF_KEY, NODE_KEY, root, siblings
from zenserve.verifier.spartan.proof import Body, Folded, Opening
from zenserve.verifier.spartan.renewal import Renewal
from zenserve.verifier.spartan.renewal import begin as begin_renewal
from zenserve.verifier.spartan.renewal import weights as weights_of
from zenserve.verifier.spartan.shape import Folding, Segment, Shape, renewal_folding
from zenserve.verifier.spartan.transcript import Transcript
from zenserve.verifier.spartan.verification import begin, known_part

Row = dict[int, int]
"""Coefficients by variable."""


@dataclass(frozen=True)
class Dense:
    """A, B and C as lists of rows (``zenserve.verifier.spartan.verification.Matrices``).

    Variables are ``1 | public | challenges | segments | private``, without blinding ones.
    """

    over: Field
    rows: Sequence[tuple[Row, Row, Row]]
    digest: bytes = bytes(32)

    def evaluate(
        self, shape: Shape, rows: Sequence[int], places: Sequence[int], weights: Sequence[int]
    ) -> int:
        table = self.combined(shape, self.over.eq(rows), weights)
        return self.over.dot(table, self.over.eq(places))

    def combined(self, shape: Shape, rows: Sequence[int], weights: Sequence[int]) -> list[int]:
        table, where = [0] * (1 << shape.variables), places_of(shape)
        for weight, matrices in zip(rows, self.rows, strict=False):
            for factor, row in zip(weights, matrices, strict=True):
                for variable, coefficient in row.items():
                    place = where[variable]
                    table[place] = (table[place] + weight * factor * coefficient) % self.over.modulus
        return table


def places_of(shape: Shape) -> list[int]:
    """Of each variable, in order."""
    found = list(range(shape.known))
    for part in shape.parts:
        width = shape.code.degree - part.tail
        found += [(part.first + i // width) * shape.code.degree + i % width for i in range(part.size)]
    return found


# The same in each run: what chance decides in a test, it decides once.
_RANDOM = Random(20261123)


@dataclass
class Noise:
    """Where randomness comes from. ``zero``: what is zero instead, by its name: "mask", "pad mask", "pad i"
    for the i-th pad, "masks" of a renewal, "tails of" and "salts of" a matrix.
    """

    over: Field
    zero: frozenset[str] = frozenset()
    random: Random = field(default_factory=lambda: _RANDOM)

    def elements(self, what: str, count: int) -> list[int]:
        drawn = self.draw(what, count)
        return [0 if {what, f"{what} {i}"} & self.zero else value for i, value in enumerate(drawn)]

    def draw(self, what: str, count: int) -> list[int]:
        return [self.random.randrange(self.over.modulus) for _ in range(count)]

    def salts(self, name: str, count: int) -> list[bytes]:
        drawn = [self.random.randbytes(32) for _ in range(count)]
        return [bytes(32)] * count if f"salts of {name}" in self.zero else drawn

    def pads(self, shape: Shape) -> list[int]:
        places, p = shape.pads, self.over.modulus
        pads = self.elements("pad", places.count)
        pads[places.product] = pads[places.claims] * pads[places.claims + 1] % p
        pads[places.triple + 2] = pads[places.triple] * pads[places.triple + 1] % p
        return pads


class Matrix:
    """Rows, their code words, and the tree over the columns, with these ``salts``. ``salted``: whether its
    openings have them, or another one's, at the same places."""

    def __init__(
        self,
        code: Code,
        rows: list[list[int]],
        values: int,
        tail: int,
        salts: Sequence[bytes],
        *,
        salted: bool = True,
    ) -> None:
        self._code, self._field, self.rows = code, code.field, rows
        words = [code.field.encode(row, code.log_length) for row in rows]
        self.columns = [list(column) for column in zip(*words, strict=True)]
        self.salts, self._salted = salts, salted
        leaves = [
            blake3(salt + code.field.to_bytes(column), key=LEAF_KEY).digest()
            for salt, column in zip(self.salts, self.columns, strict=True)
        ]
        self._nodes = [b""] * code.length + leaves
        for node in reversed(range(1, code.length)):
            pair = self._nodes[2 * node] + self._nodes[2 * node + 1]
            self._nodes[node] = blake3(pair, key=NODE_KEY).digest()
        self.root = root(self._nodes[1], values, tail, code.log_degree, code.log_length)

    def open(self, places: Sequence[int]) -> Opening:
        columns = [self._field.to_bytes(self.columns[place]) for place in places]
        path = [self._nodes[node] for node in siblings(places, self._code.log_length)]
        return Opening([self.salts[place] for place in places], columns, path, self._salted)


def matrix(
    code: Code,
    values: Sequence[int],
    tail: int,
    noise: Noise,
    name: str = "commitment",
    *,
    mask: list[int] | None = None,
    salts: Sequence[bytes] | None = None,
) -> Matrix:
    """``name``: what ``noise`` knows it by; ``salts``: another one's, whose openings have them."""
    rows = rows_of(code, values, tail, noise, name) + ([mask] if mask else [])
    own = noise.salts(name, code.length) if salts is None else salts
    return Matrix(code, rows, len(values), tail, own, salted=salts is None)


def rows_of(code: Code, values: Sequence[int], tail: int, noise: Noise, name: str) -> list[list[int]]:
    width, rows = code.degree - tail, list[list[int]]()
    for start in range(0, len(values), width):
        part = [*values[start : start + width]]
        rows.append(part + [0] * (width - len(part)) + noise.elements(f"tails of {name}", tail))
    return rows


def combine(
    over: Field, row: Sequence[int], weights: Sequence[int], rows: Sequence[Sequence[int]]
) -> list[int]:
    """``row``, and ``weights`` times ``rows``, which may be fewer."""
    return [
        (first + sum(weight * value for weight, value in zip(weights, rest, strict=False))) % over.modulus
        for first, *rest in zip(row, *rows, strict=True)
    ]


Lie = Callable[[str, list[int]], list[int]]


def truthful(label: str, values: list[int]) -> list[int]:
    return values


class Folder:
    """``zenserve.prover.spartan.folding.Folder``, of numbers."""

    def __init__(self, folding: Folding, vector: list[int], lie: Lie = truthful) -> None:
        self._folding, self._vector, self._lie = folding, vector, lie
        self._made = list[Matrix]()
        self.message = self._commit()

    def fold(self, transcript: Transcript, columns: int, weigh: Weigh) -> tuple[Folded, list[Opening]]:
        over = self._folding.beside.field
        messages, said, openings = [self.message], list[list[list[int]]](), list[Opening]()
        table = weigh(transcript.challenges("weights", columns))
        for index, count in enumerate(self._folding.rounds):
            told = list[list[int]]()
            for _ in range(count):
                table = self._round(transcript, table, told)
            said.append(told)
            if index < len(self._folding.levels):
                self._vector = self._lie("folded", self._vector)
                messages.append(self._commit())
                transcript.absorb("row", messages[-1])
                code = self._folding.levels[index].code
                places = transcript.places("places", code.queries, code.log_length)
                openings.append(self._made[index].open(places))
                words = words_table(code, places, transcript.challenges("weights", len(places)))
                table = [over.reduce(x + y) for x, y in zip(table, words, strict=True)]
        return Folded(messages, said), openings

    def _round(self, transcript: Transcript, table: list[int], told: list[list[int]]) -> list[int]:
        tables, over = [table, self._vector], self._folding.beside.field
        coefficients = round_polynomial(tables, lambda w, x: w * x, 2, over)
        told.append(self._lie("fold", [coefficients[0], coefficients[2]]))
        transcript.say("round", told[-1])
        bind(tables, transcript.challenge("round"), over)
        self._vector = tables[1]
        return tables[0]

    def _commit(self) -> bytes:
        if len(self._made) == len(self._folding.levels):
            return self._folding.beside.field.to_bytes(self._vector)
        code, values = self._folding.levels[len(self._made)].code, self._vector
        rows = [values[start : start + code.degree] for start in range(0, len(values), code.degree)]
        self._made.append(Matrix(code, rows, len(values), 0, [b""] * code.length))
        return self._made[-1].root


def words_table(code: Code, places: Sequence[int], weights: Sequence[int]) -> list[int]:
    """By coefficient of a row: the sum of the weights times what it adds to the code word at these places."""
    field = code.field
    points = [pow(field.root_of_unity(code.log_length), place, field.modulus) for place in places]
    table, powers = list[int](), list(weights)
    for _ in range(code.degree):
        table.append(field.reduce(sum(powers)))
        powers = [field.reduce(power * x) for power, x in zip(powers, points, strict=True)]
    return table


Weigh = Callable[[list[int]], list[int]]
"""By the weights of what columns claim of a vector, the table of all claims' weights."""


def weigh_columns(code: Code, by_column: Sequence[int], places: Sequence[int]) -> Weigh:
    """Of a proof's row."""

    def weigh(weights: list[int]) -> list[int]:
        words = words_table(code, places, weights)
        return [(x + y) % code.field.modulus for x, y in zip(by_column, words, strict=True)]

    return weigh


def weigh_compared(rows: Rows, compared: Sequence[int], places: Sequence[int]) -> Weigh:
    """Of a renewal's two rows, of which the columns of values are ``compared`` with these weights."""
    ahead = [*compared, *[0] * rows.tail]

    def weigh(weights: list[int]) -> list[int]:
        half = len(places)
        first = weigh_columns(rows.code, ahead, places)(weights[:half])
        return first + weigh_columns(rows.code, [-value for value in ahead], places)(weights[half:])

    return weigh


@dataclass(frozen=True)
class Proof:
    """``body`` and ``openings`` are what the bytes are made of."""

    body: Body
    openings: list[Opening]
    data: bytes

    @classmethod
    def of(cls, over: Field, body: Body, openings: list[Opening]) -> Proof:
        return cls(body, openings, body.to_bytes(over) + b"".join(each.to_bytes() for each in openings))


def prove(
    shape: Shape,
    matrices: Dense,
    z: list[int],
    *,
    linked: Sequence[Matrix] = (),
    complete: Callable[[list[int], Sequence[int]], None] | None = None,
    noise: Noise | None = None,
    lie: Lie = truthful,
) -> Proof:
    """As ``zenserve.prover.spartan.proving.prove``, of the values ``z``. ``lie``: what is said in place of
    the truth, by its label, before the pads come on top; of "pads" and "masks" what is committed to."""
    code, over, pads = shape.code, shape.code.field, shape.pads
    p, noise = over.modulus, noise or Noise(over)
    starts = [shape.known]
    for part in shape.parts:
        starts.append(starts[-1] + part.size)
    pad = noise.pads(shape)
    transcript = begin(shape, matrices.digest, z[1 : 1 + shape.public], [each.root for each in linked])
    given, parts, salts = iter(linked), list[Matrix](), None
    for part, start in zip(shape.parts[:-1], starts, strict=False):
        if part.linked:
            parts.append(next(given))
            continue
        name = f"segment {len(parts)}"
        parts.append(matrix(code, z[start : start + part.size], part.tail, noise, name, salts=salts))
        salts = parts[-1].salts
        transcript.absorb("segment", parts[-1].root)
    challenges = transcript.challenges("statement", shape.challenges)
    z[1 + shape.public : shape.known] = challenges
    if complete is not None:
        complete(z, challenges)
    mask = noise.elements("mask", code.degree)
    own = z[starts[-2] :]
    parts.append(matrix(code, own, shape.parts[-1].tail, noise, "private", mask=mask, salts=salts))
    pad_mask = noise.elements("pad mask", pads.code.degree)
    pads_matrix = matrix(pads.code, lie("pads", pad), pads.code.queries, noise, "pads", mask=pad_mask)
    transcript.absorb("private", parts[-1].root)
    transcript.absorb("pads", pads_matrix.root)

    def say(label: str, truth: list[int], place: int) -> list[int]:
        said = [(value + pad[place + i]) % p for i, value in enumerate(lie(label, truth))]
        transcript.say(label, said)
        return said

    zero = transcript.challenges("zero", shape.log_rows)
    size = 1 << shape.log_rows
    tables = [[0] * size for _ in range(3)]
    for i, constraint in enumerate(matrices.rows):
        for table, entries in zip(tables, constraint, strict=True):
            table[i] = sum(coefficient * z[variable] for variable, coefficient in entries.items()) % p
    outer, outer_said = _zerocheck(tables, zero, over, transcript, say)
    claims = say("claims", [table[0] for table in tables], pads.claims)
    weights = transcript.challenges("matrices", 3)
    combined_table = matrices.combined(shape, over.eq(outer), weights)
    witness = [0] * (1 << shape.variables)
    witness[: shape.known] = z[: shape.known]
    for part, made in zip(shape.parts, parts, strict=True):
        flat = [value for row in made.rows[: part.rows] for value in row]
        witness[part.first * code.degree : part.first * code.degree + len(flat)] = flat
    tables = [combined_table, witness]
    inner, inner_said = _sumcheck(tables, lambda m, w: m * w, (0, 2), over, transcript, say, pads.inner)

    row_weights, column_weights = over.eq(inner[: shape.row_variables]), over.eq(inner[shape.row_variables :])
    (mask_said,) = say("mask", [over.dot(mask, column_weights)], pads.mask)
    factor = transcript.challenge("mask")
    rows = [row for part, made in zip(shape.parts, parts, strict=True) for row in made.rows[: part.rows]]
    own_weights = [factor * weight for weight in row_weights[shape.parts[0].first :]]
    row = combine(over, mask, own_weights, rows)
    row = lie("row", row)
    (product,) = lie("product", [over.dot(row, column_weights)])
    transcript.say("product", [product])
    folder = Folder(shape.folding, row, lie)
    transcript.absorb("row", folder.message)
    triple = transcript.challenge("triple")
    opened = [
        (triple * pad[pads.claims] + pad[pads.triple]) % p,
        (pad[pads.claims + 1] + pad[pads.triple + 1]) % p,
    ]
    opened = lie("opened", opened)
    transcript.say("opened", opened)
    places = transcript.places("columns", code.queries, code.log_length)
    weigh = weigh_columns(code, column_weights, places)
    folded, fold_openings = folder.fold(transcript, len(places), weigh)
    said = Said(outer_said, claims, inner_said, mask_said, opened)
    known = Known(
        tables[0][0],
        known_part(over, z[: shape.known], row_weights, column_weights),
        product,
    )
    equations = forms(pads, said, Drawn(zero, outer, weights, inner, factor, triple), known)
    functional, _ = combined(equations, transcript.challenges("forms", len(equations)), pads.count)
    (pad_product,) = lie("pad mask", [over.dot(functional, pad_mask[: pads.count])])
    transcript.say("pad mask", [pad_product])
    pad_factor = transcript.challenge("pad mask")
    pad_row = [(x + pad_factor * y) % p for x, y in zip(pad_mask, pads_matrix.rows[0], strict=True)]
    pad_row = lie("pad row", pad_row)
    transcript.say("pad row", pad_row)
    pad_places = transcript.places("pad columns", pads.code.queries, pads.code.log_length)
    body = Body(
        [*(part.root for part in parts), pads_matrix.root],
        said,
        product,
        folded,
        pad_product,
        over.to_bytes(pad_row),
    )
    openings = [*(part.open(places) for part in parts), *fold_openings, pads_matrix.open(pad_places)]
    return Proof.of(over, body, openings)


def renew(
    rows: Rows, size: int, old: Matrix, new: Matrix, noise: Noise, lie: Lie = truthful
) -> tuple[Renewal, list[Opening]]:
    """``zenserve.prover.spartan.renewal.renew``, and the openings that are in it."""
    code, over = rows.code, rows.code.field
    width = code.degree - rows.tail
    masks = lie("masks", noise.elements("masks", 2 * code.degree))
    halves = [masks[: code.degree], masks[code.degree :]]
    masked = Matrix(code, halves, len(masks), 0, noise.salts("masks", code.length))
    transcript = begin_renewal(rows, size, old.root, new.root)
    transcript.absorb("mask", masked.root)
    r, s = weights_of(rows, size, transcript)
    compared = over.eq(s)[:width]
    ahead, behind = (over.dot(compared, mask[:width]) for mask in halves)
    (product,) = lie("product", [(ahead - behind) % over.modulus])
    transcript.say("product", [product])
    factor = transcript.challenge("mask")
    by_row, both = [factor * weight for weight in over.eq(r)], list[int]()
    for mask, each in zip(halves, (old, new), strict=True):
        both += combine(over, mask, by_row, each.rows)
    folder = Folder(renewal_folding(code), lie("row", both), lie)
    transcript.absorb("row", folder.message)
    places = transcript.places("places", code.queries, code.log_length)
    weigh = weigh_compared(rows, compared, places)
    folded, levels = folder.fold(transcript, 2 * len(places), weigh)
    openings = [*(each.open(places) for each in (old, new, masked)), *levels]
    return Renewal(masked.root, product, folded, [each.to_bytes() for each in openings]), openings


def _sumcheck(
    tables: list[list[int]],
    term: Callable[..., int],
    sent: tuple[int, ...],
    over: Field,
    transcript: Transcript,
    say: Callable[[str, list[int], int], list[int]],
    place: int,
) -> tuple[list[int], list[list[int]]]:
    """The point and what was said: of each round's polynomial the coefficients ``sent``. Folds ``tables``."""
    point, told = list[int](), list[list[int]]()
    while len(tables[0]) > 1:
        coefficients = round_polynomial(tables, term, len(sent), over)
        told.append(say("round", [coefficients[i] for i in sent], place + len(sent) * len(told)))
        point.append(transcript.challenge("round"))
        bind(tables, point[-1], over)
    return point, told


def _zerocheck(
    tables: list[list[int]],
    zero: Sequence[int],
    over: Field,
    transcript: Transcript,
    say: Callable[[str, list[int], int], list[int]],
) -> tuple[list[int], list[list[int]]]:
    """Of the sum of eq(zero, x) (a b - c)(x) the point and what was said: in each round the coefficients of X
    and X^2, without eq's factor of its own variable and those before. Folds ``tables``."""
    point, told = list[int](), list[list[int]]()
    for index in range(len(zero)):
        rest = [*over.eq(zero[index + 1 :])]  # the same at both values of the round's variable
        weighted = [rest * 2, *tables]
        _, *sent = round_polynomial(weighted, lambda e, a, b, c: e * (a * b - c), 2, over)
        told.append(say("round", sent, 2 * index))
        point.append(transcript.challenge("round"))
        bind(tables, point[-1], over)
    return point, told


def round_polynomial(
    tables: Sequence[list[int]], term: Callable[..., int], degree: int, over: Field
) -> list[int]:
    """The coefficients of the sum's polynomial in the first variable."""
    half = len(tables[0]) // 2
    values = [
        over.reduce(
            sum(term(*(table[i] + x * (table[half + i] - table[i]) for table in tables)) for i in range(half))
        )
        for x in range(degree + 1)
    ]
    return _interpolated(values, over)


def bind(tables: Sequence[list[int]], r: int, over: Field) -> None:
    """The first variable becomes ``r``, in place."""
    for table in tables:
        half = len(table) // 2
        table[:] = [over.reduce(table[i] + r * (table[half + i] - table[i])) for i in range(half)]


def _interpolated(values: Sequence[int], over: Field) -> list[int]:
    """The coefficients of the polynomial with these values at 0, 1, 2, .. (Lagrange)."""
    result, p = [0] * len(values), over.modulus
    for i, value in enumerate(values):
        basis, scale = [1], 1
        for j in range(len(values)):
            if j != i:
                basis = [(low - j * high) % p for low, high in zip([0, *basis], [*basis, 0], strict=True)]
                scale = scale * (i - j) % p
        factor = value * pow(scale, -1, p)
        result = [over.reduce(sum_ + factor * part) for sum_, part in zip(result, basis, strict=True)]
    return result


def shape_of(
    code: Code, rows: int, public: int, segments: Sequence[Segment], private: int, challenges: int
) -> Shape:
    return Shape(code, public, challenges, tuple(segments), private, max(1, (rows - 1).bit_length()))
