"""Verification of a proof: its messages by the protocol's steps, and the claims left against the roots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from blake3 import blake3

from zenserve.verifier.spartan import folding
from zenserve.verifier.spartan.code import Code
from zenserve.verifier.spartan.field import Field
from zenserve.verifier.spartan.merkle import leaf, top
from zenserve.verifier.spartan.proof import MalformedError, Opening, Reader
from zenserve.verifier.spartan.transcript import Transcript
from zenserve.verifier.tensor.hidden import Channel, Hidden
from zenserve.verifier.tensor.protocol import Left, RefusedError, bits_of, counted, run
from zenserve.verifier.tensor.statement import Statement, StatementError

REASONS: Final = {
    "ok": "The proof is valid.",
    "malformed": "These bytes are no proof of this statement.",
    "link_mismatch": "The proof is not about this commitment.",
    "opening": "What the proof opens is not what it committed to, or the proof is of another statement.",
    "pole": "A sum of fractions has the denominator zero.",
    "claims": "What the proof claims does not follow from what it committed to.",
}

_START: Final = "zenserve tensor 1: transcript"
_ROOT_KEY: Final = blake3(b"zenserve tensor 1: root").digest()
ENTRIES: Final = 8
"""A leaf hashes a multiple of so many entries: rows that there are not are zero."""


class Matrix(NamedTuple):
    """Rows over the base field that have one root: so many, of which each has so many places of tail."""

    code: Code
    rows: int
    tail: int


def matrices(statement: Statement) -> list[list[Matrix]]:
    """Of each class its roots and its mask; then the pads, whose row and mask share one root."""
    rows = statement.over.degree
    found = [
        [*(Matrix(each.code, root.rows, each.tail) for root in each.roots), Matrix(each.code, rows, 0)]
        for each in statement.classes
    ]
    return [*found, [Matrix(statement.pads, 2 * rows, statement.pads.queries)]]


def root(matrix: Matrix, top: bytes) -> bytes:
    """Return the commitment to a tree: the hash of its node 1 and of the matrix's shape."""
    code = matrix.code
    shape = (matrix.rows, matrix.tail, code.log_degree, code.log_length)
    return blake3(top + b"".join(number.to_bytes(8, "little") for number in shape), key=_ROOT_KEY).digest()


def padded(code: Code, column: bytes) -> bytes:
    """The column with zeros for the rows that its last eight lack."""
    return column + bytes(-len(column) % (ENTRIES * code.field.element_bytes))


def begin(statement: Statement, linked: Sequence[bytes], made: Sequence[bytes]) -> Transcript:
    """Return the transcript of what is fixed before the first challenge: the statement, and all roots."""
    transcript = Transcript(statement.over, statement.digest, _START)
    for each in linked:
        transcript.absorb("linked", each)
    for each in made:
        transcript.absorb("root", each)
    return transcript


def verify(statement: Statement, linked: Sequence[bytes], proof: bytes) -> str:
    """One of ``REASONS``. ``linked``: the commitments of the classes' linked roots, in order; the statement
    the caller trusts."""
    if len(linked) != sum(root.linked for each in statement.classes for root in each.roots):
        return "malformed"
    try:
        return _Verifier(statement, linked, proof).reason()
    except MalformedError:
        return "malformed"
    except RefusedError:
        return "pole"


class _Listening(Channel):
    """The verifier's end: numbers come as the proof has them."""

    def __init__(self, over: Field, transcript: Transcript, numbers: Sequence[int]) -> None:
        super().__init__(over)
        self._transcript, self._numbers = transcript, iter(numbers)

    def draw(self, label: str, count: int) -> list[int]:
        return self._transcript.challenges(label, count)

    def clear(self, label: str, count: int) -> list[int]:
        said = [next(self._numbers) for _ in range(count)]
        self._transcript.say(label, said)
        return said

    def _padded(self, label: str, pads: Sequence[Hidden]) -> list[int]:
        return self.clear(label, len(pads))


class _Verifier:
    def __init__(self, statement: Statement, linked: Sequence[bytes], proof: bytes) -> None:
        self._statement, self._linked = statement, linked
        self._over = statement.over
        self._matrices = matrices(statement)
        self._reader = Reader(self._over, proof)
        self._counted = counted(statement)
        if self._counted.count + statement.pads.queries > statement.pads.degree:
            raise StatementError("the pads' row has no room for them and a tail")

    def reason(self) -> str:
        statement, reader = self._statement, self._reader
        made = sum(map(len, self._matrices)) - len(self._linked)
        roots = reader.digests(made)
        numbers = reader.elements(self._counted.numbers)
        folded = reader.folded(statement.folding)
        transcript = begin(statement, self._linked, roots)
        left = run(statement, _Listening(self._over, transcript, numbers))
        transcript.absorb("row", folded.messages[0])
        places = draw_places(statement, transcript)
        given, own, columns = iter(self._linked), iter(roots), list[list[bytes]]()
        for group, where, of in zip(self._matrices, places, [*statement.classes, None], strict=True):
            opened = list[Sequence[bytes]]()
            for index, matrix in enumerate(group):
                is_linked = of is not None and index < len(of.roots) and of.roots[index].linked
                opening = self._open(matrix, where)
                if self._root_of(matrix, where, opening) != next(given if is_linked else own):
                    return "link_mismatch" if is_linked else "opening"
                opened.append(opening.columns)
            columns.append([b"".join(parts) for parts in zip(*opened, strict=True)])
        claim = _Claims(statement, left, places).claim(columns)
        reason = folding.shown(statement.folding, claim, folded, transcript, reader)
        reader.finish()
        return "claims" if reason == "proximity" else reason

    def _open(self, matrix: Matrix, places: Sequence[int]) -> Opening:
        code = matrix.code
        (opening,) = self._reader.openings([matrix.rows], places, code.log_length, [True], code.field)
        return opening

    @staticmethod
    def _root_of(matrix: Matrix, places: Sequence[int], opening: Opening) -> bytes:
        pairs = zip(opening.salts, opening.columns, strict=True)
        leaves = [leaf(salt, padded(matrix.code, column)) for salt, column in pairs]
        node = top(dict(zip(places, leaves, strict=True)), matrix.code.log_length, opening.path)
        return root(matrix, node)


def draw_places(statement: Statement, transcript: Transcript) -> list[list[int]]:
    """Of each class, and of the pads."""
    return [
        transcript.places(f"columns {index}", code.queries, code.log_length)
        for index, code in enumerate(statement.codes)
    ]


class _Claims:
    """The claims about the classes' combined rows and the pads' row, which are concatenated."""

    def __init__(self, statement: Statement, left: Left, places: Sequence[Sequence[int]]) -> None:
        self._statement, self._over = statement, statement.over
        self._left, self._places = left, places

    def claim(self, columns: Sequence[Sequence[bytes]]) -> folding.Claim:
        """By the bytes of all roots' columns, of each class and of the pads, its masks' last."""
        first, *products = [each.product for each in self._left.classes] + [self._left.value]
        entries = [self._entries(index, each) for index, each in enumerate(columns)]
        return folding.Claim(first, [*products, *(entry for part in entries for entry in part)], self._at)

    def _entries(self, index: int, columns: Sequence[bytes]) -> list[int]:
        over = self._over
        units = [
            over.from_coefficients([int(i == j) for j in range(over.degree)]) for i in range(over.degree)
        ]
        if index < len(self._left.classes):
            each, of = self._left.classes[index], self._statement.classes[index]
            weights = [over.reduce(each.mask * weight) for weight in over.eq(each.rows)[: of.rows]]
        else:
            weights = [over.reduce(self._left.mask * unit) for unit in units]
        field = self._statement.codes[index].field
        return [over.dot([*weights, *units], field.from_bytes(column)) for column in columns]

    def _at(self, weights: Sequence[int], point: Sequence[int]) -> int:
        over, total, statement = self._over, 0, self._statement
        products = [1, *weights[: len(statement.classes)]]
        at = len(statement.classes)
        for index, (code, offset) in enumerate(zip(statement.codes, statement.offsets, strict=True)):
            high, low = point[: -code.log_degree], point[-code.log_degree :]
            of_columns = weights[at : at + code.queries]
            at += code.queries
            value = products[index] * self._functional(index, low)
            value += over.words_at(code.log_length, self._places[index], of_columns, low)
            total += over.eq_at(high, bits_of(offset >> code.log_degree, len(high))) * over.reduce(value)
        return over.reduce(total)

    def _functional(self, index: int, point: Sequence[int]) -> int:
        if index < len(self._left.classes):
            return self._over.eq_at(self._left.classes[index].low, point)
        coefficients = self._left.coefficients
        return self._over.dot(coefficients, self._over.eq(point)[: len(coefficients)])
