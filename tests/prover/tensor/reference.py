"""The prover in plain Python over any field: slow, obvious, and leaky or lying where it is told to be."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from blake3 import blake3

from tests.prover.spartan.reference import Folder, bind, round_polynomial, words_table
from zenserve.verifier.spartan.field import Field
from zenserve.verifier.spartan.merkle import LEAF_KEY, NODE_KEY, siblings
from zenserve.verifier.spartan.proof import Folded, Opening
from zenserve.verifier.spartan.transcript import Transcript
from zenserve.verifier.tensor.hidden import Channel, Hidden
from zenserve.verifier.tensor.protocol import Claim, Functional, Keys, LeafView, Left, ask, counted, show
from zenserve.verifier.tensor.statement import Chunk, Root, Statement, View
from zenserve.verifier.tensor.verification import Matrix, begin, draw_places, matrices, padded, root

Values = Sequence[Sequence[int]]
"""Of each tensor its entries, elements of the base field."""

Lie = Callable[[str, list[int]], list[int]]
"""By a message's label and the truth, what is said."""

Steps = Generator[tuple[str, list[int]] | str, list[int], None]
"""A prover: it yields a label and the numbers that it tells, or the label of challenges, which it is sent."""


def truthful(label: str, values: list[int]) -> list[int]:
    return values


@dataclass
class Noise:
    """Where randomness comes from. ``zero``: what is zero instead: "pads", "factors", "tails", "mask i" of a
    class, "mask of pads", "tail of pads", "salts"."""

    over: Field
    zero: frozenset[str] = frozenset()
    random: Random = field(default_factory=lambda: Random(20261130))

    def base(self, what: str, count: int) -> list[int]:
        drawn = [self.random.randrange(self.over.modulus) for _ in range(count)]
        return [0] * count if what in self.zero else drawn

    def element(self, what: str) -> int:
        return self.over.from_coefficients(self.base(what, self.over.degree))

    def salts(self, count: int) -> list[bytes]:
        drawn = [self.random.randbytes(32) for _ in range(count)]
        return [bytes(32)] * count if "salts" in self.zero else drawn


class Committed:
    """A matrix' rows, over the base field, their code words and the tree over the columns."""

    def __init__(self, matrix: Matrix, rows: list[list[int]], noise: Noise) -> None:
        code = matrix.code
        self.rows, self._code, self.salts = rows, code, noise.salts(code.length)
        words = [code.field.encode(row, code.log_length) for row in rows]
        self._columns = [code.field.to_bytes(column) for column in zip(*words, strict=True)]
        self._nodes = [b""] * code.length + [
            blake3(salt + padded(code, column), key=LEAF_KEY).digest()
            for salt, column in zip(self.salts, self._columns, strict=True)
        ]
        for node in reversed(range(1, code.length)):
            pair = self._nodes[2 * node] + self._nodes[2 * node + 1]
            self._nodes[node] = blake3(pair, key=NODE_KEY).digest()
        self.root = root(matrix, self._nodes[1])

    def open(self, places: Sequence[int]) -> Opening:
        path = [self._nodes[node] for node in siblings(places, self._code.log_length)]
        return Opening([self.salts[i] for i in places], [self._columns[i] for i in places], path)


@dataclass(frozen=True)
class Proof:
    """``data`` is what a verifier gets; ``wrong``: what must be zero and is not, by its name; ``lacking``:
    what the claims about the combined rows and the pads, weighted, have too much; ``places``: of each class'
    columns.
    """

    data: bytes
    linked: list[bytes]
    wrong: list[str]
    lacking: int
    places: list[list[int]]
    numbers: list[int]
    folded: Folded
    openings: list[Opening]


def prove(
    statement: Statement,
    values: Values,
    noise: Noise | None = None,
    lie: Lie = truthful,
    steps: type[Prover] | None = None,
) -> Proof:
    """``values``: of each tensor, multiplicities among them (``counted_in`` makes these). ``lie``: what is
    said in place of the truth, by label, before pads come on top; of "pads" what is committed to."""
    over, noise = statement.over, noise or Noise(statement.over)
    prover = (steps or Prover)(statement, values, noise)
    pads = lie("pads", prover.draw_pads())
    made = prover.commit(pads)
    roots = [each.root for group in made for each in group]
    flags = [root.linked for of in statement.classes for root in (*of.roots, Root(1))] + [False]
    linked = [root for root, flag in zip(roots, flags, strict=True) if flag]
    own = [root for root, flag in zip(roots, flags, strict=True) if not flag]
    transcript = begin(statement, linked, own)
    channel = _Telling(prover, pads, transcript, lie)
    channel.follow(prover.fractions())
    claims = ask(statement, channel)
    channel.follow(prover.rows(claims))
    left = show(statement, channel, claims)
    vector = lie("row", prover.combined(left))
    folder = Folder(statement.folding, [*vector], lie)
    transcript.absorb("row", folder.message)
    places = draw_places(statement, transcript)
    columns = len(statement.classes) + sum(map(len, places))
    folded, levels = folder.fold(transcript, columns, lambda weights: prover.weigh(left, places, weights))
    openings = [each.open(where) for group, where in zip(made, places, strict=True) for each in group]
    data = b"".join(own) + over.to_bytes(channel.numbers) + folded.to_bytes(over)
    data += b"".join(each.to_bytes() for each in (*openings, *levels))
    wrong = [name for name, form in channel.zeros if form.at(pads)]
    lacking = prover.lacking(left, vector)
    return Proof(data, linked, wrong, lacking, places, channel.numbers, folded, openings)


def counted_in(statement: Statement, chunk: Chunk, table: int, values: Values) -> list[int]:
    """How often each row of the table is looked up."""
    found = dict.fromkeys(statement.tables[table].rows, 0)
    for lookup in chunk.lookups:
        if lookup.table == table:
            for row in zip(*(seen(statement, view, values) for view in lookup.views), strict=True):
                found[row] = found.get(row, 0) + 1
    rows = statement.tables[table].rows
    return [found[row] if rows.index(row) == i else 0 for i, row in enumerate(rows)]


def seen(statement: Statement, view: View, values: Values) -> list[int]:
    """The entries of a view."""
    p, total = statement.over.modulus, None
    for tensor, coefficient in view.terms:
        part = [coefficient * value for value in values[tensor]]
        total = part if total is None else [x + y for x, y in zip(total, part, strict=True)]
    return [(each + view.constant) % p for each in total or []]


class _Telling(Channel):
    """The prover's end: what is said is the truth, by its steps, and a pad."""

    def __init__(self, prover: Prover, pads: Sequence[int], transcript: Transcript, lie: Lie) -> None:
        super().__init__(prover.statement.over)
        self._prover, self.pads, self._transcript, self._lie = prover, pads, transcript, lie
        self._last = list[int]()
        self.numbers = list[int]()

    def follow(self, steps: Steps) -> None:
        self._steps: Steps = steps
        self._next: tuple[str, list[int]] | str | None = next(steps, None)

    def draw(self, label: str, count: int) -> list[int]:
        self._last = self._transcript.challenges(label, count)
        if self._next == label:
            self._send(self._last)
        return self._last

    def clear(self, label: str, count: int) -> list[int]:
        if label == "scaled":
            truth = [self.over.reduce(self._denominator * self.pads[self.count - 1])]
        elif label == "pads' mask":
            form = self.combined(self._last)
            truth = [self.over.reduce(sum(c * self._prover.pads_mask[i] for i, c in form.pads.items()))]
        elif label == "opened":
            truth = self._opening(self._last[0])
        else:
            truth = self._truth(label, count)
        return self._say(label, self._lie(label, truth))

    def _padded(self, label: str, pads: Sequence[Hidden]) -> list[int]:
        truth = self._lie(label, self._truth(label, len(pads)))
        if label == "denominator":
            (self._denominator,) = truth
        said = [value + pad.at(self.pads) for value, pad in zip(truth, pads, strict=True)]
        return self._say(label, [self.over.reduce(each) for each in said])

    def _opening(self, challenge: int) -> list[int]:
        found = list[int]()
        for triple in self.triples:
            x, y = self.pads[triple.first : triple.first + 2]
            found.append(self.over.reduce(challenge * triple.left.at(self.pads) + x))
            found.append(self.over.reduce(triple.right.at(self.pads) + y))
        return found

    def _truth(self, label: str, count: int) -> list[int]:
        if not isinstance(self._next, tuple) or (self._next[0], len(self._next[1])) != (label, count):
            raise AssertionError(f"the prover has {self._next!r} in place of {count} of {label}")
        values = self._next[1]
        self._send([])
        return values

    def _say(self, label: str, said: list[int]) -> list[int]:
        self._transcript.say(label, said)
        self.numbers += said
        return said

    def _send(self, drawn: list[int]) -> None:
        try:
            self._next = self._steps.send(drawn)
        except StopIteration:
            self._next = None


class Prover:
    """The honest one. ``fractions`` and ``rows`` are its answers, in the order of the protocol."""

    def __init__(self, statement: Statement, values: Values, noise: Noise) -> None:
        self.statement, self.values, self._noise, self.over = statement, values, noise, statement.over
        self._matrices = matrices(statement)
        tails = [[noise.base("tails", of.tail) for _ in range(of.rows)] for of in statement.classes]
        self.by_class = [
            [[0] * of.width + tail for tail in own] for of, own in zip(statement.classes, tails, strict=True)
        ]
        for tensor, entries in zip(statement.tensors, values, strict=True):
            for i, value in enumerate(entries):
                row = self.by_class[tensor.of][tensor.first + (i >> tensor.log_block)]
                row[tensor.offset + i % (1 << tensor.log_block)] = value % self.over.modulus
        self.masks = [
            [noise.element(f"mask {index}") for _ in range(of.code.degree)]
            for index, of in enumerate(statement.classes)
        ]
        self.pads_mask = [noise.element("mask of pads") for _ in range(statement.pads.degree)]

    def draw_pads(self) -> list[int]:
        """All of them, products where they are such; triples' as well."""
        counting = counted(self.statement)
        pads = [self._noise.element("pads") for _ in range(counting.count)]
        for place in counting.nonzero:
            while not pads[place]:
                pads[place] = self._noise.element("factors")
        for (i, j), place in counting.products.items():
            pads[place] = self.over.reduce(pads[i] * pads[j])
        for triple in counting.triples:
            x, y = pads[triple.first : triple.first + 2]
            pads[triple.first + 2] = self.over.reduce(x * y)
        return pads

    def commit(self, pads: list[int]) -> list[list[Committed]]:
        """By class its roots and its mask, then the pads."""
        found = []
        for of, rows, mask, group in zip(
            self.statement.classes, self.by_class, self.masks, self._matrices[:-1], strict=True
        ):
            made, first = list[Committed](), 0
            for matrix, each in zip(group, of.roots, strict=False):
                made.append(Committed(matrix, rows[first : first + each.rows], self._noise))
                first += each.rows
            found.append([*made, Committed(group[-1], self._planes(mask), self._noise)])
        room = self.statement.pads.degree - len(pads)
        tail = [self._noise.element("tail of pads") for _ in range(room)]
        self.pads_row = [*pads, *tail]
        (matrix,) = self._matrices[-1]
        rows = self._planes(self.pads_row) + self._planes(self.pads_mask)
        return [*found, [Committed(matrix, rows, self._noise)]]

    def _planes(self, row: Sequence[int]) -> list[list[int]]:
        return [list(plane) for plane in zip(*map(self.over.coefficients, row), strict=True)]

    def fractions(self) -> Steps:
        """Trees' roots, then each tree from its root to its leaves; the classes' parts of the leaves."""
        pole, tag, *further = yield "keys"
        self.keys = Keys(pole, tag, further)
        trees = [self._layers(*self.leaves(index)) for index in range(len(self.statement.chunks))]
        for layers in trees:
            yield "denominator", [layers[0][1][0]]
        self.points = list[list[int]]()
        for layers in trees:
            point = list[int]()
            for numerators, denominators in layers[1:]:
                point = yield from self._layer(numerators, denominators, point)
            self.points.append(point)
        weights = yield "chunks"
        parts = self.parts(weights)
        yield "parts", [parts[of] for of in sorted(parts)[1:]]

    def leaves(self, index: int) -> tuple[list[int], list[int]]:
        """Numerators and denominators of a chunk's tree."""
        statement, chunk = self.statement, self.statement.chunks[index]
        size = 1 << statement.log_leaves(chunk)
        numerators, denominators = [0] * size, [1] * size
        multiplicities = dict(chunk.multiplicities)
        for leaves in statement.leaves(chunk):
            count = 1 << leaves.log_size
            if leaves.is_table:
                table = statement.tables[leaves.which]
                rows = list(table.rows)
                over = [-each for each in self.values[multiplicities[leaves.which]]]
            else:
                lookup = chunk.lookups[leaves.which]
                table, over = statement.tables[lookup.table], [1] * count
                part = slice(leaves.block * count, (leaves.block + 1) * count)
                columns = [seen(statement, view, self.values)[part] for view in lookup.views]
                rows = list(zip(*columns, strict=True))
            for i, (numerator, row) in enumerate(zip(over, rows, strict=True)):
                numerators[leaves.start + i] = self.over.reduce(numerator)
                denominators[leaves.start + i] = self.over.reduce(self.keys.denominator(table, row))
        return numerators, denominators

    def _layers(self, n: list[int], d: list[int]) -> list[tuple[list[int], list[int]]]:
        """From the root on."""
        found, reduce = [(n, d)], self.over.reduce
        while len(n) > 1:
            half = len(n) // 2
            n, d = (
                [reduce(n[i] * d[half + i] + n[half + i] * d[i]) for i in range(half)],
                [reduce(d[i] * d[half + i]) for i in range(half)],
            )
            found.append((n, d))
        return found[::-1]

    def _layer(
        self, n: list[int], d: list[int], point: Sequence[int]
    ) -> Generator[tuple[str, list[int]] | str, list[int], list[int]]:
        """The point that it ends at."""
        (join,) = yield "layer"
        over, half, at = self.over, len(n) // 2, list[int]()
        tables = [n[:half], n[half:], d[:half], d[half:]]

        def term(e: int, n0: int, n1: int, d0: int, d1: int) -> int:
            return over.reduce(e * over.reduce((n0 + over.reduce(join * d0)) * d1 + n1 * d0))

        for variable in range(len(point)):
            rest = [*over.eq(point[variable + 1 :])]  # the same at both values of the round's variable
            _, *sent = round_polynomial([rest * 2, *tables], term, 2, over)
            yield "tree", sent
            (r,) = yield "round"
            bind(tables, r, over)
            at.append(r)
        yield "halves", [table[0] for table in tables]
        (bit,) = yield "half"
        return [bit, *at]

    def parts(self, weights: Sequence[int]) -> dict[int, int]:
        """By class, what its tensors are of all denominators, weighted by chunk."""
        found = dict[int, int]()
        for chunk, weight, point in zip(self.statement.chunks, weights, self.points, strict=True):
            for functional in LeafView(self.statement, self.keys, chunk, point).denominators(weight)[0]:
                of = functional.tensor.of
                found[of] = self.over.reduce(found.get(of, 0) + self.product(functional))
        return found

    def product(self, functional: Functional) -> int:
        """The functional's value."""
        low = self.low(functional)
        rows = self.by_class[functional.tensor.of]
        terms = (
            outer * self.over.dot(low, rows[functional.tensor.first + block])
            for block, outer in enumerate(functional.outer)
        )
        return self.over.reduce(sum(terms))

    def low(self, functional: Functional) -> list[int]:
        """By place of a row."""
        tensor, table = functional.tensor, [1]
        for axis in functional.axes:
            table = [self.over.reduce(value * each) for value in table for each in axis]
        degree = self.statement.classes[tensor.of].code.degree
        return [*[0] * tensor.offset, *table, *[0] * (degree - tensor.offset - len(table))]

    def rows(self, claims: Sequence[Claim]) -> Steps:
        """Each class' claims become one of a row; its product with the mask, and with the row combined."""
        lows, points, over = list[list[int]](), list[list[int]](), self.over
        for index, of in enumerate(self.statement.classes):
            own = [claim for claim in claims if claim.of == index]
            weights = yield "claims"
            weighted = [
                (weight, functional)
                for claim, weight in zip(own, weights, strict=True)
                for functional in claim.functionals
            ]
            left = [[over.reduce(weight * each) for each in self.low(f)] for weight, f in weighted]
            right = [self._own_rows(functional) for _, functional in weighted]
            low = yield from self._rounds("low", left, right, of.code.log_degree)
            by_row = [0] * (1 << of.row_variables)
            for weight, f in weighted:
                factor = over.reduce(weight * f.low_at(over, low))
                for block, outer in enumerate(f.outer):
                    by_row[f.tensor.first + block] += factor * outer
            eq = over.eq(low)
            products = [over.dot(eq, row) for row in self.by_class[index]]
            products += [0] * (len(by_row) - len(products))
            rows = yield from self._rounds(
                "high", [[*map(over.reduce, by_row)]], [products], of.row_variables
            )
            lows, points = [*lows, low], [*points, rows]
        yield "masks", [over.dot(mask, over.eq(low)) for mask, low in zip(self.masks, lows, strict=True)]
        factors = yield "masks"
        self.combined_rows = [
            self._combined(index, factor, rows)
            for index, (factor, rows) in enumerate(zip(factors, points, strict=True))
        ]
        yield "rows", [over.dot(row, over.eq(low)) for row, low in zip(self.combined_rows, lows, strict=True)]

    def _own_rows(self, functional: Functional) -> list[int]:
        """The tensor's rows, combined by what the functional has for blocks."""
        rows = self.by_class[functional.tensor.of][functional.tensor.first :]
        columns = zip(*rows[: functional.tensor.blocks], strict=True)
        return [self.over.dot(functional.outer, column) for column in columns]

    def _rounds(
        self, label: str, left: list[list[int]], right: list[list[int]], variables: int
    ) -> Generator[tuple[str, list[int]] | str, list[int], list[int]]:
        """Of the sum of products of tables; the point."""
        point = list[int]()
        for _ in range(variables):
            sums = [0, 0, 0]
            for a, b in zip(left, right, strict=True):
                found = round_polynomial([a, b], lambda x, y: x * y, 2, self.over)
                sums = [x + y for x, y in zip(sums, found, strict=True)]
            yield label, [self.over.reduce(sums[0]), self.over.reduce(sums[2])]
            (r,) = yield "round"
            bind([*left, *right], r, self.over)
            point.append(r)
        return point

    def _combined(self, index: int, factor: int, point: Sequence[int]) -> list[int]:
        weights = [self.over.reduce(factor * each) for each in self.over.eq(point)]
        rows = self.by_class[index]
        return [
            self.over.reduce(mask + self.over.dot(weights[: len(rows)], column))
            for mask, column in zip(self.masks[index], zip(*rows, strict=True), strict=True)
        ]

    def combined(self, left: Left) -> list[int]:
        """The combined rows and the pads' row, one behind the other."""
        pads = [
            self.over.reduce(mask + left.mask * pad)
            for mask, pad in zip(self.pads_mask, self.pads_row, strict=True)
        ]
        return self._stacked([*self.combined_rows, pads])

    def _stacked(self, vectors: Sequence[Sequence[int]]) -> list[int]:
        found = [0] * (1 << self.statement.folding.variables)
        for offset, vector in zip(self.statement.offsets, vectors, strict=True):
            found[offset : offset + len(vector)] = vector
        return found

    def weigh(self, left: Left, places: Sequence[Sequence[int]], weights: Sequence[int]) -> list[int]:
        """What the stacked vector is weighted by, of all that is claimed of it."""
        over, statement = self.over, self.statement
        self._products, at, vectors = (
            [1, *weights[: len(statement.classes)]],
            len(statement.classes),
            list[list[int]](),
        )
        for code, functional, factor, where in zip(
            statement.codes, self._functionals(left), self._products, places, strict=True
        ):
            words = words_table(replace(code, field=over), where, weights[at : at + len(where)])
            at += len(where)
            vectors.append([over.reduce(factor * x + y) for x, y in zip(functional, words, strict=True)])
        return self._stacked(vectors)

    def _functionals(self, left: Left) -> list[list[int]]:
        room = [0] * (self.statement.pads.degree - len(left.coefficients))
        return [*([*self.over.eq(each.low)] for each in left.classes), [*left.coefficients, *room]]

    def lacking(self, left: Left, vector: Sequence[int]) -> int:
        """The weighted sum of what is claimed of the vector's parts, less the truth."""
        total, told = 0, [*(each.product for each in left.classes), left.value]
        for factor, value, offset, functional in zip(
            self._products, told, self.statement.offsets, self._functionals(left), strict=True
        ):
            part = vector[offset : offset + len(functional)]
            total += factor * (value - self.over.dot(functional, part))
        return self.over.reduce(total)
