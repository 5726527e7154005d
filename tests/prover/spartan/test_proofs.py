"""Proofs of small statements: accepted where they are true, refused however they are changed."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

from tests.prover.spartan import reference
from tests.prover.spartan.oracle import foreseen
from tests.prover.statements import (
    COMMITTED_Z,
    CUBIC_Z,
    IDLE_Z,
    R,
    committed_statement,
    complete_committed,
    cubic_statement,
    idle_statement,
)
from zenserve.base.randomness import Secrets, random_elements
from zenserve.errors import StatementError
from zenserve.kernels import FrArray, fr
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.prover.spartan import proving
from zenserve.prover.spartan.commitment import Committed, Linked, commit
from zenserve.prover.spartan.field import KERNEL_FR
from zenserve.prover.spartan.layout import SystemMatrices, sizes_of
from zenserve.verifier.spartan import merkle, verification
from zenserve.verifier.spartan import shape as geometry
from zenserve.verifier.spartan.admission import shape_of
from zenserve.verifier.spartan.code import Code
from zenserve.verifier.spartan.commitment import SEED_BYTES
from zenserve.verifier.spartan.field import FR
from zenserve.verifier.spartan.proof import Opening
from zenserve.verifier.spartan.proof import roots as roots_of
from zenserve.verifier.spartan.shape import Shape
from zenserve.verifier.spartan.verification import verify

CODE = Code(FR, 9, 11)
TAIL = 2 * CODE.queries


class Case:
    """A statement, its witness, and commitments to its linked segments."""

    def __init__(
        self,
        system: ConstraintSystem,
        z: Sequence[int],
        complete: Callable[[FrArray, FrArray], None] | None = None,
        code: Code = CODE,
    ) -> None:
        self.system, self.z, self._complete, self._code = system, list(z), complete, code
        self._secret, self._seeds = Secrets(), dict[bytes, bytes]()
        self.linked = [
            self.committed(self.z[place.start : place.stop - 1])
            for segment, place in zip(system.segments, system.segment_ranges, strict=True)
            if segment.linked
        ]
        self.shape = shape_of(sizes_of(system), code, [each.commitment for each in self.linked])
        self.public = self.z[1 : 1 + system.public]

    def committed(self, values: Sequence[int]) -> Committed:
        seed = secrets.token_bytes(SEED_BYTES)
        made = commit(fr.from_ints(values), self._code, TAIL, seed, secret=self._secret)
        self._seeds[made.root] = seed
        return made

    @property
    def links(self) -> list[Linked]:
        return [Linked(each.root, self._seeds[each.root]) for each in self.linked]

    def prove(self, z: Sequence[int] | None = None) -> bytes:
        witness = fr.from_ints(self.z if z is None else z)
        return proving.prove(
            self.system, self.shape, witness, linked=self.links, post_challenge=self._complete, threads=2
        )

    def reason(
        self,
        proof: bytes,
        *,
        public: Sequence[int] | None = None,
        commitments: Sequence[bytes] | None = None,
        system: ConstraintSystem | None = None,
        shape: Shape | None = None,
    ) -> str:
        """In plain Python, and by the kernels' field, which must agree."""
        asked = shape or self.shape
        plain, native = (
            verify(
                replace(asked, code=replace(asked.code, field=field)),
                SystemMatrices(system or self.system),
                self.public if public is None else public,
                [each.root for each in self.linked] if commitments is None else commitments,
                proof,
            )
            for field in (FR, KERNEL_FR)
        )
        assert plain == native
        return plain.reason


def test_the_kernels_field_is_the_plain_one() -> None:
    draw = np.random.default_rng(7)
    numbers = [int(word) ** 4 % R for word in draw.integers(0, 1 << 62, 64)]
    for point in (numbers[:5], []):
        assert list(KERNEL_FR.eq(point)) == FR.eq(point)
    for last, canonical in ((R - 1, True), (R, False), ((1 << 256) - 1, False)):
        data = FR.to_bytes([*numbers, last])
        assert KERNEL_FR.are_canonical(data) is FR.are_canonical(data) is canonical
    assert KERNEL_FR.are_canonical(b"")
    assert FR.are_canonical(b"")
    for log_length in (8, 9):
        assert list(KERNEL_FR.encode(numbers, log_length)) == FR.encode(numbers, log_length)
    columns = [FR.to_bytes(numbers[start : start + 3]) for start in range(8)]
    for weights in (numbers[:3], KERNEL_FR.eq(numbers[:2])[:3]):
        assert KERNEL_FR.combine(weights, columns) == FR.combine(list(weights), columns)
    with pytest.raises(ValueError, match="3 elements are not combined by 2"):
        KERNEL_FR.combine(numbers[:2], columns)
    for count in (1, 2, 5, 8):
        assert list(KERNEL_FR.eq_first(numbers[:3], count)) == FR.eq(numbers[:3])[:count]
    for log_length, places in ((3, [0, 1, 7]), (8, [5, 200]), (1, [1])):
        for variables in (0, 1, 5):
            of = log_length, places, numbers[: len(places)], numbers[7 : 7 + variables]
            assert KERNEL_FR.words_at(*of) == FR.words_at(*of)


@pytest.mark.parametrize("places", [[0], [7], [2, 3], [1, 2], [0, 1, 4, 5, 6], [*range(8)]])
def test_the_kernels_trees_are_the_plain_ones(places: list[int]) -> None:
    def digests(count: int, first: int) -> list[bytes]:
        return [bytes([first + index]) * 32 for index in range(count)]

    hashes = len(merkle.siblings(places, 3))
    assert hashes == merkle.siblings_count(places, 3)
    salted, plain = digests(len(places), 9), [b""] * len(places)
    openings = [
        Opening(salted, digests(len(places), 1), digests(hashes, 40)),
        Opening(plain, [each * 3 for each in digests(len(places), 2)], digests(hashes, 80)),
    ]
    tops = KERNEL_FR.tree_tops(3, places, openings)
    assert tops == FR.tree_tops(3, places, openings)
    assert len({*tops}) == 2


@pytest.fixture(scope="module")
def case() -> Case:
    return Case(committed_statement(), COMMITTED_Z, complete_committed)


@pytest.fixture(scope="module")
def proof(case: Case) -> bytes:
    return case.prove()


def test_true_statements_are_proven(case: Case, proof: bytes) -> None:
    assert case.reason(proof) == "ok"
    for each in (
        Case(cubic_statement(), CUBIC_Z),
        Case(idle_statement(), IDLE_Z),
        Case(committed_statement(linked=False), COMMITTED_Z, complete_committed),
    ):
        assert each.reason(each.prove()) == "ok"


@pytest.mark.parametrize("variable", [1, 3, 4, 6, 8, 9])
def test_a_wrong_witness_is_not_proven(case: Case, variable: int) -> None:
    """A public input, an entry of each segment. A proof would tell by how much it is wrong."""
    z = list(case.z)
    z[variable] = (z[variable] + 1) % R
    with pytest.raises(StatementError) as caught:
        case.prove(z)
    assert caught.value.code in ("statement.unsatisfied", "statement.openings")


def test_a_wrong_witness_s_proof_is_refused(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a prover who does not look."""

    def lie(z: FrArray, challenges: FrArray) -> None:
        complete_committed(z, challenges)
        z[12] = fr.add(z[12], fr.from_ints([1])[0])

    monkeypatch.setattr(fr, "first_unsatisfied", lambda *_: None)
    for variable in (1, 8, 9):
        z = list(case.z)
        z[variable] = (z[variable] + 1) % R
        assert case.reason(case.prove(z), public=z[1:2]) == "constraints"
    wrong = Case(case.system, case.z, lie)
    assert wrong.reason(wrong.prove()) == "constraints"


def test_another_statement_is_refused(case: Case, proof: bytes) -> None:
    assert case.reason(proof, public=[57]) != "ok"
    model, own_input = case.linked
    assert case.reason(proof, commitments=[own_input.root, model.root]) != "ok"
    again = case.committed(case.z[3:5])
    assert case.reason(proof, commitments=[again.root, own_input.root]) != "ok"
    other = Case(committed_statement(linked=False), COMMITTED_Z, complete_committed)
    assert other.reason(proof) != "ok"
    assert other.reason(other.prove(), system=case.system) != "ok"


def test_a_segment_is_the_commitment_itself(case: Case) -> None:
    """With another model the product is another: a proof about the registered one cannot be made of it."""
    other = Case(case.system, [1, 63, 0, 4, 5, 0, 7, 0, 28, 35, 0, 0, 0], complete_committed)
    assert other.reason(other.prove()) == "ok"
    honest = [each.root for each in case.linked]
    assert other.reason(other.prove(), commitments=honest) != "ok"


def test_each_changed_byte_is_refused(case: Case, proof: bytes) -> None:
    places = Random(1).sample(range(len(proof)), 60)
    for place in [*range(0, 200, 16), *places, len(proof) - 1]:
        changed = bytearray(proof)
        changed[place] ^= 1 << (place % 8)
        assert case.reason(bytes(changed)) != "ok", place


@pytest.fixture(scope="module")
def folded() -> Case:
    """Of rows so long that their combination is folded: 4,096 to 512 numbers."""
    return Case(committed_statement(), COMMITTED_Z, complete_committed, Code(FR, 12, 14))


def test_each_changed_byte_of_what_is_folded_is_refused(folded: Case) -> None:
    proof = folded.prove()
    assert folded.reason(proof) == "ok"
    (level,), numbers = (
        folded.shape.folding.levels,
        2 * folded.shape.log_rows + 3 + 2 * folded.shape.variables,
    )
    root = 32 * (len(folded.shape.parts) + 1 + numbers + 2)
    last = root + 32 + 2 * 32 * level.row_variables
    for place in [
        root - 32,
        root,
        root + 32,
        last,
        last + (32 << 9),
        *Random(2).sample(range(len(proof)), 30),
    ]:
        changed = bytearray(proof)
        changed[place] ^= 1 << (place % 8)
        assert folded.reason(bytes(changed)) != "ok", place
    for wrong in (proof[:-1], proof[:root], proof[:last], proof[: last + 700], proof + b"\0"):
        assert folded.reason(wrong) == "malformed"


@pytest.mark.parametrize(("name", "other"), [("MOST_TOLD", 12), ("MOST_TOLD", 8), ("_ROW_VARIABLES", 2)])
def test_a_proof_of_another_depth_is_refused(
    folded: Case, name: str, other: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(geometry, name, other)
        patch.setattr(geometry, "_LEAST_TOLD", min(other, 9) - (name == "MOST_TOLD"))
        otherwise = Case(committed_statement(), COMMITTED_Z, complete_committed, folded.shape.code)
        proof = otherwise.prove()
        assert otherwise.shape.folding.rounds != folded.shape.folding.rounds
        assert otherwise.reason(proof) == "ok"
    roots = [each.root for each in otherwise.linked]
    assert folded.reason(proof, commitments=roots) != "ok"


@pytest.mark.large
def test_a_byte_changed_is_refused_wherever_it_is(case: Case, proof: bytes) -> None:
    for place in range(0, len(proof), 97):
        changed = bytearray(proof)
        changed[place] = (changed[place] + 1) % 256
        assert case.reason(bytes(changed)) != "ok", place


def test_other_lengths_are_malformed(case: Case, proof: bytes) -> None:
    for wrong in (b"", proof[:-1], proof[:1000], proof + b"\0", proof[1:]):
        assert case.reason(wrong) == "malformed"
    assert case.reason(proof[:-32] + FR.modulus.to_bytes(32, "little")) != "ok"


def test_matrices_are_evaluated_last(case: Case, proof: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one cost that grows with the circuit is spent on nothing that is refused without it."""
    asked = list[bool]()
    evaluate = SystemMatrices.evaluate

    def counted(self: SystemMatrices, *arguments: Any) -> int:
        asked.append(True)
        return evaluate(self, *arguments)

    monkeypatch.setattr(SystemMatrices, "evaluate", counted)
    pad = bytes([proof[-1] ^ 1])  # of the last hash that opens the pads
    for wrong in (proof[:-1], proof + b"\0", proof[: len(proof) // 2], proof[:-1] + pad):
        assert case.reason(wrong) in ("malformed", "opening")
    assert not asked
    assert case.reason(proof) == "ok"
    assert len(asked) == 2


def test_a_number_has_one_spelling(case: Case, proof: bytes) -> None:
    """Adding r to a number, where 256 bits have room, is the same number: and no proof."""
    digests = 32 * 5
    value = int.from_bytes(proof[digests : digests + 32], "little")
    spelt = (value + R).to_bytes(32, "little")
    assert case.reason(proof[:digests] + spelt + proof[digests + 32 :]) == "malformed"


def test_a_public_input_has_one_spelling(case: Case) -> None:
    """Such a proof would be valid to whoever reduces, and its document would show another number."""
    for other in (case.public[0] + R, case.public[0] - R):
        assert case.reason(case.prove(), public=[other]) == "malformed"
    roots = [each.root for each in case.linked]
    assert case.reason(case.prove(), public=[]) == "malformed"
    assert case.reason(case.prove(), commitments=roots[:1]) == "malformed"
    assert case.reason(case.prove(), commitments=[*roots, roots[0]]) == "malformed"


@pytest.fixture
def openings(case: Case, monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], list[Opening]]:
    """What a proof opens, in order: two commitments, a segment, the private variables, the pads."""

    def found(proof: bytes) -> list[Opening]:
        seen = list[Opening]()
        real = roots_of

        def noted(*arguments: Any) -> list[bytes]:
            seen.extend(arguments[2])
            return real(*arguments)

        with monkeypatch.context() as patch:
            patch.setattr(verification, "roots", noted)
            roots = [each.root for each in case.linked]
            assert verify(case.shape, SystemMatrices(case.system), case.public, roots, proof)
        return seen

    return found


@pytest.fixture
def in_common(case: Case, openings: Any) -> Callable[[], tuple[set[int], set[int]]]:
    """Where two proofs, challenged alike, have the same words of 32 bytes; where the commitments' are."""

    def found() -> tuple[set[int], set[int]]:
        with foreseen():
            first, second = case.prove(), case.prove()
            parts = [len(each.to_bytes()) for each in openings(first)]
        start = len(first) - sum(parts)
        linked = {0, 1, *range(start // 32, (start + sum(parts[:2])) // 32)}
        return {i for i in range(len(first) // 32) if first[32 * i :][:32] == second[32 * i :][:32]}, linked

    return found


def test_two_proofs_have_nothing_in_common(in_common: Any) -> None:
    """No told number, row, salt, column or hash, but for the commitments that both are about."""
    same, linked = in_common()
    assert same == linked


@pytest.mark.parametrize("source", ["pads", "seeds"])
def test_random_numbers_of_two_proofs_are_noticed(
    source: str, in_common: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, real = dict[int, FrArray](), random_elements
    if source == "pads":
        monkeypatch.setattr(
            proving, "random_elements", lambda count: kept.setdefault(count, real(count)).copy()
        )
    else:
        monkeypatch.setattr(secrets, "token_bytes", bytes)
    same, linked = in_common()
    assert len(same - linked) > 8


def interpolated(points: dict[int, int]) -> list[int]:
    """The coefficients of the polynomial with these values at powers of the root of unity (Newton)."""
    x = [pow(FR.root_of_unity(CODE.log_length), place, R) for place in points]
    divided, count = list(points.values()), len(points)
    for step in range(1, count):
        inverses = inverted([x[i] - x[i - step] for i in range(step, count)])
        for i in reversed(range(step, count)):
            divided[i] = (divided[i] - divided[i - 1]) * inverses[i - step] % R
    result = [divided[-1]]
    for i in reversed(range(count - 1)):
        result = [(low - x[i] * high) % R for low, high in zip([0, *result], [*result, 0], strict=True)]
        result[0] = (result[0] + divided[i]) % R
    return result


def inverted(values: list[int]) -> list[int]:
    """Of all at once."""
    products = [1]
    for value in values:
        products.append(products[-1] * value % R)
    inverse, found = pow(products[-1], -1, R), list[int]()
    for value, before in zip(reversed(values), reversed(products[:-1]), strict=True):
        found.append(inverse * before % R)
        inverse = inverse * value % R
    return found[::-1]


def test_more_proofs_than_there_are_openings_tell_what_a_commitment_hides(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nobody counts them. In as many as are counted there are fewer columns than places of tail."""
    points, real = dict[int, int](), roots_of

    def noted(
        code: Code, places: Sequence[int], openings: Sequence[Opening], sizes: Sequence[tuple[int, int]]
    ) -> list[bytes]:
        for opening, size in zip(openings, sizes, strict=True):
            if size == (2, TAIL):  # the model's, not the input's
                told = (FR.from_bytes(column)[0] for column in opening.columns)
                points.update(zip(places, told, strict=True))
        return real(code, places, openings, sizes)

    monkeypatch.setattr(verification, "roots", noted)
    (model, _), proofs = case.linked, 0
    while len(points) < CODE.degree:
        assert case.reason(case.prove()) == "ok"
        proofs += 1
        assert proofs > model.commitment.openings(CODE) or len(points) <= TAIL
    assert proofs > model.commitment.openings(CODE)
    some = dict(list(points.items())[: CODE.degree])
    assert interpolated(some)[:2] == case.z[3:5]


def test_salts_are_of_one_place_and_one_proof(case: Case, openings: Any, proof: bytes) -> None:
    """But for the commitments', which are told at other places each time, and by the segment and the private
    variables together: who opens one opens both."""
    told = [openings(each) for each in (proof, case.prove())]
    for _, _, segment, private, _ in told:
        assert segment.salts == private.salts
        assert (segment.salted, private.salted) == (True, False)
    own = [salt for *_, segment, _, pads in told for each in (segment, pads) for salt in each.salts]
    linked = {salt for first, second, *_ in told for each in (first, second) for salt in each.salts}
    assert len({*own}) == len(own)
    assert linked.isdisjoint(own)


def test_salts_are_told_once(case: Case, openings: Any, proof: bytes) -> None:
    """Neither again, of the private variables, nor of these alone."""
    told = openings(proof)
    body = proof[: len(proof) - sum(len(each.to_bytes()) for each in told)]

    def put_together(**salted: bool) -> str:
        first, second, segment, private, pads = told
        segment = replace(segment, salted=salted["segment"])
        private = replace(private, salted=salted["private"])
        return case.reason(
            body + b"".join(each.to_bytes() for each in (first, second, segment, private, pads))
        )

    assert put_together(segment=True, private=False) == "ok"
    assert put_together(segment=True, private=True) == "malformed"
    assert put_together(segment=False, private=True) == "malformed"
    assert put_together(segment=False, private=False) == "malformed"


def test_a_proof_of_as_many_queries_as_renewals_have_is_another(case: Case) -> None:
    """By a prover of the version before, whose own columns were more."""
    before = replace(case.shape, code=CODE)
    assert before.code.queries > case.shape.code.queries
    proof = proving.prove(
        case.system,
        before,
        fr.from_ints(case.z),
        linked=case.links,
        post_challenge=complete_committed,
    )
    assert case.reason(proof, shape=before) == "ok"
    # What is read as numbers are hashes, and now and then they are some.
    assert case.reason(proof) in ("malformed", "opening")


def test_commitments_are_the_reference_s() -> None:
    """Code words, salts' places, hashes: by the same tails and salts the same root."""
    values = [*range(700), R - 1, 2**200]
    seed = bytes(SEED_BYTES)
    made = commit(fr.from_ints(values), CODE, TAIL, seed, secret=Secrets(), threads=2)
    rows = [fr.to_ints(row) for row in made.rows]
    slow = reference.Matrix(CODE, rows, len(values), TAIL, [bytes(salt) for salt in made.salts])
    assert slow.root == made.root
    width = CODE.degree - TAIL
    assert [value for row in rows for value in row[:width]][: len(values)] == values
    places = [0, 5, 2047]
    assert made.open(np.array(places, np.uint32)) == slow.open(places).to_bytes()
    assert commit(fr.from_ints(values), CODE, TAIL, seed, secret=Secrets()).root == made.root


def test_a_proof_of_the_slow_prover_is_one(case: Case) -> None:
    """Cubic, in plain Python: both provers, one verifier."""
    cubic = Case(cubic_statement(), CUBIC_Z)
    rows = [
        ({3: 1}, {3: 1}, {4: 1}),
        ({4: 1}, {3: 1}, {5: 1}),
        ({5: 1, 3: 1, 0: 5}, {0: 1}, {1: 1}),
        ({3: 1, 0: 1}, {0: 1}, {2: 1}),
    ]
    matrices = reference.Dense(FR, rows, cubic.system.digest)
    slow = reference.prove(cubic.shape, matrices, list(CUBIC_Z)).data
    assert cubic.reason(slow) == "ok"
    assert verify(cubic.shape, matrices, cubic.public, [], cubic.prove()).valid
    assert matrices.evaluate(
        cubic.shape, [5, 6], range(3, 3 + cubic.shape.variables), [7, 8, 9]
    ) == SystemMatrices(cubic.system).evaluate(
        cubic.shape, [5, 6], range(3, 3 + cubic.shape.variables), [7, 8, 9]
    )


def test_what_is_given_is_not_changed(case: Case) -> None:
    """But for the challenges and what follows from them."""
    z = fr.from_ints(case.z)
    before = z.copy()
    proving.prove(case.system, case.shape, z, linked=case.links, post_challenge=complete_committed)
    assert np.flatnonzero((z != before).any(axis=1)).tolist() == [2, 11, 12]
