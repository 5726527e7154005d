"""Whether the rows of a statement leave every variable one value, once inputs and weights are given.

It reads rows and knows nothing else of a circuit: no gadgets, no names, no honest witness. ``Uniqueness``
puts in what is given, and draws conclusions until none is left:

- a row with a factor of known value is a linear equation;
- a product that must be zero leaves a sum the roots of its factors, x (x - 1) = 0 two of them, and bounds y
  by x where it is (x - y) (x + y);
- x (x - y) = 0 makes x zero or y, an integer where an equation says that y is a bounded one;
- where an equation has one variable without bounds, others have in a multiple of them what it is instead;
- an equation of bounded integers that cannot reach another multiple of r is one of integers. It bounds each,
  and falls apart where some terms are known modulo what divides all others: digits, slots, quotients;
- rows with challenges hold for random ones, so as polynomials: coefficient by coefficient;
- equal sums of inverses at a challenge say that what is looked up stands in a table;
- of two values a variable does not have the one that leads to a contradiction, and what is looked up in a
  table of packed integers is no row that does.

Each holds for all witnesses, so that what has a value in the end has no other. Trusted are two lemmas, of
Schwartz and Zippel for rows as polynomials and of Haböck (ePrint 2022/1530) for inverses: degrees and lookups
are far below r here. It concludes for the values given, not for all, and takes Python integers: many inputs
of small circuits are what it is for.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tests.circuits.support import R
from zenserve.prover.constraint_system import ConstraintSystem

ONE = 0
# No range has integers as large, so those of a table that are larger are packed.
_PACKED = 1 << 20
# Variables and their coefficients in (-r/2, r/2), what is constant under ONE.
Form = dict[int, int]
# The same for each monomial, given as the exponents of the challenges.
Polynomial = dict[tuple[int, ...], Form]


class Row(NamedTuple):
    """a · b = c."""

    a: Form
    b: Form
    c: Form

    @property
    def variables(self) -> set[int]:
        return {*self.a, *self.b, *self.c} - {ONE}


class Member(NamedTuple):
    """The values of ``variables`` are one of ``rows``."""

    variables: tuple[int, ...]
    rows: Sequence[tuple[int, ...]]


class Contradiction(Exception):  # noqa: N818  ends a case that is ruled out
    """No witness has these values."""


def rows_of(system: ConstraintSystem) -> list[Row]:
    """All rows, entries of the same variable added up."""
    rows = []
    for _, matrices in system.matrices():
        forms = []
        for matrix in matrices:
            sums: list[Counter[int]] = [Counter() for _ in range(matrix.rows)]
            index = np.repeat(np.arange(matrix.rows), np.diff(matrix.offsets))
            entries = zip(index.tolist(), matrix.columns.tolist(), matrix.coefficients.tolist(), strict=True)
            for row, variable, place in entries:
                sums[row][variable] += matrix.pool[place]
            forms.append([_form(each) for each in sums])
        rows += [Row(*parts) for parts in zip(*forms, strict=True)]
    return rows


class Uniqueness:
    """``known``: the values of variables that have one, those given included. ``free``: the variables of the
    statement that may have several, whatever the challenges are.
    """

    def __init__(
        self, system: ConstraintSystem, given: Mapping[int, int], rows: Iterable[Row] | None = None
    ) -> None:
        """``rows``: in place of those of the statement."""
        rows = list(rows_of(system) if rows is None else rows)
        challenges = range(1 + system.public, system.instance)
        late = _late(rows, challenges, system)
        early = [row for row in rows if not row.variables & late]
        facts = _Facts(given, early, system.variables)
        self._late = _Late([row for row in rows if row.variables & late], challenges, late, facts)
        self._conclude(facts)
        blinding = set(system.anchored[system.instance :].tolist())
        asked = set(range(1, system.variables)) - blinding - set(challenges)
        self.known = {v: facts.known[v] for v in asked & facts.known.keys()}
        self.free = asked - self.known.keys() - self._late.determined()

    def _conclude(self, facts: _Facts) -> None:
        while True:
            facts.conclude()
            if not self._late.conclude() and not facts.rule_out():
                return


def _late(rows: Sequence[Row], challenges: range, system: ConstraintSystem) -> set[int]:
    """The challenges, and what rows connect with them that those without do not fix."""
    open_ = set(range(system.first_private, system.variables)) if challenges else set()
    before = [row for row in rows if not row.variables & set(challenges)]
    while found := {v for row in before for v in _fixed(row, open_)}:
        open_ -= found
    late = set(challenges)
    while found := {v for row in rows if row.variables & late for v in row.variables & open_ - late}:
        late |= found
    return late


def _fixed(row: Row, open_: set[int]) -> set[int]:
    """What the row determines by all others: what stands alone in c, or beside a constant factor."""
    unknown = row.variables & open_
    factors = [other for part, other in ((row.a, row.b), (row.b, row.a)) if unknown & part.keys()]
    constant = all(other.keys() == {ONE} for other in factors) and not (factors and unknown & row.c.keys())
    return unknown if len(unknown) == 1 and constant else set()


class _Facts:
    """What follows from rows without challenges, and from what those with challenges say.

    ``known``: values in [0, r). ``bounds``: variables that are integers of an interval, narrower than r.
    """

    def __init__(self, given: Mapping[int, int], rows: Iterable[Row], variables: int) -> None:
        self.known = {v: value % R for v, value in given.items()} | {ONE: 1}
        self.bounds: dict[int, tuple[int, int]] = {}
        self._facts: list[Row | Member | None] = []
        self._readers: defaultdict[int, list[int]] = defaultdict(list)
        self._queue: deque[int] = deque()
        self._queued: set[int] = set()
        self._variables = variables
        # Of those without bounds an equation that has no other without.
        self._loose: dict[int, Form] = {}
        # Those that are a product, and its factors.
        self._factors: dict[int, Row] = {}
        # Rows of which a factor is an integer, and a variable of our own for it.
        self._whole: list[tuple[Row, int]] = []
        for row in rows:
            self.add(row)
            if len(row.c) == 1 and not row.c.keys() & {ONE, *row.a, *row.b}:
                self._factors.setdefault(next(iter(row.c)), row)

    def copy(self) -> _Facts:
        other = _Facts({}, (), self._variables)
        other.known, other.bounds, other._facts = dict(self.known), dict(self.bounds), list(self._facts)
        other._readers = defaultdict(list, {v: list(readers) for v, readers in self._readers.items()})
        other._factors, other._loose, other._whole = self._factors, dict(self._loose), list(self._whole)
        return other

    def add(self, fact: Row | Member) -> None:
        index = len(self._facts)
        self._facts.append(fact)
        for v in fact.variables:
            self._readers[v].append(index)
        self._enqueue(index)

    def equate(self, form: Form) -> None:
        """``form`` = 0."""
        self.add(Row({}, {}, form))

    def new(self, low: int, high: int) -> int:
        """A variable of our own, an integer of this interval."""
        self._variables += 1
        self.bound(self._variables - 1, low, high)
        return self._variables - 1

    def settle(self, v: int, value: int) -> None:
        if v in self.known:
            if self.known[v] != value % R:
                raise Contradiction
            return
        low, high = self.bounds.pop(v, (0, R - 1))
        if low + (value - low) % R > high:
            raise Contradiction
        self.known[v] = value % R
        self._changed(v)

    def bound(self, v: int, low: int, high: int) -> None:
        if v in self.known:
            if low + (self.known[v] - low) % R > high:
                raise Contradiction
            return
        before = self.bounds.get(v)
        if before is not None:
            if max(high, before[1]) - min(low, before[0]) >= R:
                return
            low, high = max(low, before[0]), min(high, before[1])
        if low > high:
            raise Contradiction
        if low == high:
            self.settle(v, low)
        elif (low, high) != before:
            self.bounds[v] = low, high
            self._changed(v)

    def reduced(self, form: Form) -> Form:
        """With what is known put in."""
        sums: Form = {ONE: 0}
        for v, k in form.items():
            if v in self.known:
                sums[ONE] += k * self.known[v]
            else:
                sums[v] = k
        sums[ONE] = _signed(sums[ONE])
        if not sums[ONE]:
            del sums[ONE]
        return sums

    def conclude(self) -> None:
        """Raises ``Contradiction``."""
        while self._queue:
            index = self._queue.popleft()
            self._queued.discard(index)
            fact = self._facts[index]
            if isinstance(fact, Member):
                self._choose(fact)
            elif fact is not None and self._look_at(fact):
                self._facts[index] = None

    def rule_out(self) -> bool:
        """Whether a variable of two values, which a product waits for, turned out not to have one of them."""
        waiting = [self.reduced(part) for row in self._open() for part in (row.a, row.b)]
        # A difference waits for what it is of.
        pairs = [form for form in waiting if sorted(form.values()) == [-1, 1]]
        singles = [form for form in waiting if len(form) == 1]
        for v in dict.fromkeys(v for form in singles + pairs for v in form):
            low, high = self.bounds.get(v, (0, R))
            for value, other in ((low, high), (high, low)) if high == low + 1 else ():
                case = self.copy()
                try:
                    case.settle(v, value)
                    case.conclude()
                except Contradiction:
                    self.settle(v, other)
                    return True
        return any(self._rule_out_rows(index, fact) for index, fact in enumerate(self._facts))

    def _rule_out_rows(self, index: int, fact: Row | Member | None) -> bool:
        """Whether rows that are packed of several integers turned out not to be what is looked up."""
        if not isinstance(fact, Member) or all(v in self.known for v in fact.variables):
            return False
        if max(abs(value) for row in fact.rows for value in row) < _PACKED:
            return False
        rows = [row for row in fact.rows if self._could_be(fact, row)]
        if len(rows) == len(fact.rows):
            return False
        self._facts[index] = Member(fact.variables, rows)
        self._enqueue(index)
        return True

    def _could_be(self, member: Member, row: tuple[int, ...]) -> bool:
        case = self.copy()
        try:
            for v, value in zip(member.variables, row, strict=True):
                case.settle(v, value)
            case.conclude()
        except Contradiction:
            return False
        return True

    def _open(self) -> Iterator[Row]:
        for fact in self._facts:
            if isinstance(fact, Row) and fact.a and fact.b:
                yield fact

    def _enqueue(self, index: int) -> None:
        if index not in self._queued:
            self._queued.add(index)
            self._queue.append(index)

    def _changed(self, v: int) -> None:
        for index in self._readers[v]:
            self._enqueue(index)

    def _look_at(self, row: Row) -> bool:
        """Whether all that the row says has been said otherwise."""
        a, b, c = map(self.reduced, row)
        for factor, other in ((a, b), (b, a)):
            if factor.keys() <= {ONE}:
                form = _sum((factor.get(ONE, 0), other), (-1, c))
                self._equation(form)
                return form.keys() <= {ONE}
        if not c:
            self._opposites(_sum((1, a), (1, b)), _sum((1, a), (-1, b)))
        for factor, other in ((a, b), (b, a)):
            ratio = _ratio(c, factor)
            if ratio is not None:
                parts = [*self._split(factor), *self._split(_sum((1, other), (-ratio, {ONE: 1})))]
                said = self._roots(parts)
                if not said and not c:
                    self._zero_or(row, a, _sum((1, a), (-1, b)))
                return said
        return False

    def _zero_or(self, row: Row, x: Form, y: Form) -> None:
        """By ``row`` x (x - y) = 0."""
        low, high = self._integer(y)
        if high - low >= R:
            return
        low, high = min(0, low), max(0, high)
        whole = next((v for each, v in self._whole if each is row), None)
        if whole is not None:
            self.bound(whole, low, high)
            return
        self._whole.append((row, self.new(low, high)))
        self.equate(_sum((1, x), (-1, {self._whole[-1][1]: 1})))

    def _integer(self, form: Form) -> tuple[int, int]:
        """The narrowest interval that bounds leave it, or an equation and bounds; of all numbers, if none."""
        equal = [form]
        v = next(iter(_without_one(form)), ONE)
        for fact in (self._facts[index] for index in self._readers[v]):
            if isinstance(fact, Row) and not fact.a:
                equation = self.reduced(fact.c)
                scale = pow(equation.get(v, 0), -1, R) if v in equation else 0
                equal.append(_sum((1, form), (-scale * form[v], equation)))
        spans = [
            (rest.get(ONE, 0), *self._span(_without_one(rest).items()))
            for rest in equal
            if _without_one(rest).keys() <= self.bounds.keys()
        ]
        start, low, high = min(spans, key=lambda span: span[2] - span[1], default=(0, 0, R))
        return start + low, start + high

    def _opposites(self, total: Form, difference: Form) -> None:
        """The product of two variables, added up and less each other, is zero: each is as far from zero as
        the other."""
        if len(total) != 1 or len(difference) != 1 or ONE in {*total, *difference}:
            return
        ((v, k),), ((u, m),) = total.items(), difference.items()
        for one, other in ((v, u), (u, v)) if abs(k) == abs(m) else ():
            if one in self.bounds:
                reach = max(map(abs, self.bounds[one]))
                self.bound(other, -reach, reach)

    def _split(self, form: Form) -> list[Form]:
        """Its factors, where it is a variable that a row says is a product."""
        (v,) = form if len(form) == 1 else (ONE,)
        if v == ONE or v not in self._factors:
            return [form]
        row = self._factors[v]
        return [factor for part in (row.a, row.b) for factor in self._split(self.reduced(part))]

    def _roots(self, factors: list[Form]) -> bool:
        """One of the factors is zero. Whether that was said otherwise: where all are in the same sum."""
        factors = [factor for factor in factors if factor.keys() != {ONE}]
        if not all(factors):
            return True
        if not factors:
            raise Contradiction
        form = _without_one(factors[0])
        roots = set()
        for factor in factors:
            ratio = _ratio(_without_one(factor), form)
            if not ratio:
                return False
            roots.add(_signed(-factor.get(ONE, 0) * pow(ratio, -1, R)))
        low, *others = sorted(roots)
        if len(others) > 1:
            value = self.new(low, others[-1])
            self.equate(_sum((1, form), (-1, {value: 1})))
            self.add(Member((value,), [(root,) for root in roots]))
        elif others == [low + 1] and list(form.values()) == [1]:
            self.bound(next(iter(form)), low, low + 1)
        elif others:
            digit = self.new(0, 1)
            self.equate(_sum((1, form), (low - others[0], {digit: 1}), (-low, {ONE: 1})))
        else:
            self.equate(_sum((1, form), (-low, {ONE: 1})))
        return True

    def _choose(self, member: Member) -> None:
        rows = [row for row in member.rows if all(map(self._may_be, member.variables, row))]
        if not rows:
            raise Contradiction
        for v, values in zip(member.variables, zip(*rows, strict=True), strict=True):
            self.bound(v, min(values), max(values))

    def _may_be(self, v: int, value: int) -> bool:
        if v in self.known:
            return self.known[v] == value % R
        low, high = self.bounds.get(v, (value, value))
        return low + (value - low) % R <= high

    def _equation(self, form: Form) -> None:
        """``form`` = 0, of unknown variables."""
        constant, terms = form.get(ONE, 0), _without_one(form)
        loose = [v for v in terms if v not in self.bounds]
        if not terms and constant:
            raise Contradiction
        if len(terms) == 1:
            ((v, k),) = terms.items()
            self.settle(v, -constant * pow(k, -1, R))
        elif not loose and terms:
            low, high = self._span(terms.items())
            total = low + (-constant - low) % R
            if total > high:
                raise Contradiction
            if total + R > high:
                self._integers(sorted(terms.items(), key=lambda term: abs(term[1])), total)
        elif len(loose) == 1 and abs(terms[loose[0]]) == 1:
            k = -terms.pop(loose[0])
            low, high = self._span(terms.items())
            if high - low < R:
                self.bound(loose[0], *sorted((k * (constant + low), k * (constant + high))))
        elif len(loose) == 1 and loose[0] not in self._loose:
            self._loose[loose[0]] = form
            self._changed(loose[0])
        elif loose and all(self._loose.get(v, form) != form for v in loose):
            self._equation(self.reduced(self._eliminated(form, loose)))

    def _eliminated(self, form: Form, loose: Sequence[int]) -> Form:
        """A multiple of ``form`` without these, by the equation of each that has no other."""
        multiple = math.lcm(*(abs(self._loose[v][v]) for v in loose))
        others = ((-multiple * form[v] // self._loose[v][v], self._loose[v]) for v in loose)
        return _sum((multiple, form), *others)

    def _span(self, terms: Iterable[tuple[int, int]]) -> tuple[int, int]:
        ends = [sorted((k * self.bounds[v][0], k * self.bounds[v][1])) for v, k in terms]
        return sum(low for low, _ in ends), sum(high for _, high in ends)

    def _integers(self, terms: Sequence[tuple[int, int]], total: int) -> None:
        """``sum k v = total`` over the integers, the smallest coefficients first.

        The sum of the first terms is known modulo what divides the coefficients of all others. Where its
        bounds leave one such number it is that, and the others make up the rest.
        """
        spans = {v: sorted((k * self.bounds[v][0], k * self.bounds[v][1])) for v, k in terms}
        divisors = [0]
        for _, k in reversed(terms):
            divisors.append(math.gcd(divisors[-1], k))
        divisors.reverse()
        start = low = high = 0
        for index, (v, _) in enumerate(terms, 1):
            low, high, divisor = low + spans[v][0], high + spans[v][1], divisors[index]
            part = low + (total - low) % divisor if divisor else total
            if not low <= part <= high:
                raise Contradiction
            if not divisor or part + divisor > high:
                self._part(terms[start:index], part, whole=index - start == len(terms))
                start, low, high, total = index, 0, 0, total - part

    def _part(self, terms: Sequence[tuple[int, int]], total: int, *, whole: bool) -> None:
        if len(terms) == 1:
            ((v, k),) = terms
            if total % k:
                raise Contradiction
            self.settle(v, total // k)
            return
        if not whole:
            self._integers(terms, total)
            return
        low, high = self._span(terms)
        for v, k in terms:
            if v not in self.bounds:
                continue
            ends = sorted((k * self.bounds[v][0], k * self.bounds[v][1]))
            rest = total - (high - ends[1]), total - (low - ends[0])
            least, most = rest if k > 0 else rest[::-1]
            self.bound(v, -(-least // k), most // k)


class _Late:
    """Rows with challenges: what they say of variables that are fixed before, as polynomials."""

    def __init__(self, rows: Sequence[Row], challenges: range, late: set[int], facts: _Facts) -> None:
        self._rows, self._facts, self._late = list(rows), facts, late
        size = len(challenges)
        self._nothing = (0,) * size
        self._values: dict[int, Polynomial] = {
            v: {tuple(int(i == j) for j in range(size)): {ONE: 1}} for i, v in enumerate(challenges)
        }
        # Numerator and denominator.
        self._inverses: dict[int, tuple[Polynomial, Polynomial]] = {}
        self._sums: list[_Lookups] = []
        # A variable for each sum that was looked up, in units of it.
        self._looked_up: dict[tuple[tuple[int, int], ...], Form] = {}

    def determined(self) -> set[int]:
        """The variables that are functions of challenges and known values."""
        values = {v for v, value in self._values.items() if self._is_known(value)}
        return values | {v for v, parts in self._inverses.items() if all(map(self._is_known, parts))}

    def conclude(self) -> bool:
        """Whether anything new was said."""
        left = [row for row in self._rows if not self._say(row)]
        said = len(left) < len(self._rows)
        self._rows = left
        counted = [sums for sums in self._sums if self._count(sums)]
        self._sums = [sums for sums in self._sums if sums not in counted]
        return said or bool(counted)

    def _say(self, row: Row) -> bool:
        """Whether all that the row says has been said."""
        open_ = row.variables & self._late - self._values.keys()
        if open_ and open_ <= self._inverses.keys():
            return not (row.a or row.b) and self._look_up(row.c)
        if len(open_) > 1 or open_ & self._inverses.keys():
            return False
        for v in open_ - {*row.a, *row.b}:
            product, k = self._product(row.a, row.b), row.c[v]
            if product is None:
                return False
            rest = self._polynomial({u: value for u, value in row.c.items() if u != v})
            self._values[v] = self._added((pow(k, -1, R), product), (-pow(k, -1, R), rest))
            return True
        for v in open_:
            return self._invert(v, row)
        product = self._product(row.a, row.b)
        if product is None:
            return False
        for form in self._added((1, product), (-1, self._polynomial(row.c))).values():
            self._facts.equate(form)
        return True

    def _invert(self, v: int, row: Row) -> bool:
        """Where v stands alone in a factor: it is c over the other one, which is not zero at random."""
        for part, other in ((row.a, row.b), (row.b, row.a)):
            if part.keys() == {v} and v not in {*other, *row.c}:
                denominator = self._polynomial(other)
                if any(sum(m) and form.keys() == {ONE} for m, form in denominator.items()):
                    numerator = self._added((pow(part[v], -1, R), self._polynomial(row.c)))
                    self._inverses[v] = numerator, denominator
                    return True
        return False

    def _look_up(self, form: Form) -> bool:
        """``sum residue / (x - value) = 0`` for a challenge x: the residues at every value add up to zero.

        Those of looked-up values are one constant, which so few of them cannot cancel: each is a value of the
        table, whose residues are variables.
        """
        for x in range(len(self._nothing)):
            poles = [self._pole(x, k, *self._inverses[v]) for v, k in form.items()]
            found = [pole for pole in poles if pole is not None]
            entries = [pole for pole in found if pole.residue.keys() - {ONE}]
            looked_up = [pole for pole in found if not pole.residue.keys() - {ONE}]
            constants = {pole.residue.get(ONE, 0) for pole in looked_up}
            if len(found) < len(poles) or not entries or len(constants) != 1 or not all(constants):
                continue
            monomials = sorted({m for pole in found for m in pole.rest})
            table: dict[tuple[int, ...], list[Form]] = {}
            for entry in entries:
                if not _is_numeric(entry.rest):
                    return False
                scale = -pow(entry.scale, -1, R)
                values = (entry.rest.get(m, {}).get(ONE, 0) for m in monomials)
                table.setdefault(tuple(_signed(scale * value) for value in values), []).append(entry.residue)
            units = [
                tuple(self._unit(pole, m, i, table) for i, m in enumerate(monomials)) for pole in looked_up
            ]
            for unit in units:
                self._facts.add(Member(unit, list(table)))
            self._sums.append(_Lookups(units, constants.pop(), table))
            return True
        return False

    def _pole(self, x: int, k: int, numerator: Polynomial, denominator: Polynomial) -> _Pole | None:
        """Of k · numerator / denominator, where that is k · numerator / (scale · x + rest)."""
        monomial = tuple(int(i == x) for i in range(len(self._nothing)))
        numerator, rest = self._added((k, numerator)), self._added((1, denominator))
        scale = rest.pop(monomial, {})
        if scale.keys() != {ONE} or any(m[x] for m in rest) or numerator.keys() - {self._nothing}:
            return None
        residue = _sum((pow(scale[ONE], -1, R), numerator.get(self._nothing, {})))
        return _Pole(scale[ONE], rest, residue)

    def _unit(
        self, pole: _Pole, monomial: tuple[int, ...], column: int, table: Iterable[tuple[int, ...]]
    ) -> int:
        """A variable for what is looked up in this column: ``scale · unit + rest = 0``."""
        facts, rest = self._facts, pole.rest.get(monomial, {})
        values = [row[column] for row in table]
        unit = facts.new(min(values), max(values))
        facts.equate(_sum((1, rest), (pole.scale, {unit: 1})))
        inverse = pow(next(iter(rest.values()), 1), -1, R)
        key = tuple(sorted((v, k * inverse % R) for v, k in rest.items()))
        scale = pole.scale * inverse
        if key in self._looked_up:
            # The same sum once more, times a constant.
            ((other, before),) = self._looked_up[key].items()
            ratio = before * pow(scale, -1, R)
            pairs = (unit, other, ratio), (other, unit, pow(ratio, -1, R))
            left, right, factor = min(pairs, key=lambda pair: abs(_signed(pair[2])))
            facts.equate(_sum((1, {left: 1}), (-factor, {right: 1})))
        self._looked_up[key] = {unit: scale}
        return unit

    def _count(self, sums: _Lookups) -> bool:
        """Where all that was looked up is known, so is how often."""
        known = self._facts.known
        if not all(v in known for unit in sums.units for v in unit):
            return False
        counts = Counter(tuple(_signed(known[v]) for v in unit) for unit in sums.units)
        for row, residues in sums.table.items():
            if len(residues) == 1:
                self._facts.equate(_sum((1, residues[0]), (counts[row] * sums.constant, {ONE: 1})))
        return True

    def _polynomial(self, form: Form) -> Polynomial:
        return self._added(*((k, self._values.get(v, {self._nothing: {v: 1}})) for v, k in form.items()))

    def _product(self, a: Form, b: Form) -> Polynomial | None:
        """None where it is none of sums: where neither factor is known."""
        left, right = self._polynomial(a), self._polynomial(b)
        if not _is_numeric(left):
            left, right = right, left
        if not _is_numeric(left):
            return None
        return self._added(
            *(
                (factor[ONE], {tuple(map(sum, zip(m, n, strict=True))): form for n, form in right.items()})
                for m, factor in left.items()
            )
        )

    def _added(self, *parts: tuple[int, Polynomial]) -> Polynomial:
        forms: defaultdict[tuple[int, ...], list[tuple[int, Form]]] = defaultdict(list)
        for k, polynomial in parts:
            for m, form in polynomial.items():
                forms[m].append((k, form))
        reduced = {m: self._facts.reduced(_sum(*terms)) for m, terms in forms.items()}
        return {m: form for m, form in reduced.items() if form}

    def _is_known(self, polynomial: Polynomial) -> bool:
        return _is_numeric(self._added((1, polynomial)))


class _Pole(NamedTuple):
    """residue / (x + rest / scale)."""

    scale: int
    rest: Polynomial
    residue: Form


class _Lookups(NamedTuple):
    """What is looked up, ``constant / (x - units)``, and the residues of the table's rows."""

    units: list[tuple[int, ...]]
    constant: int
    table: dict[tuple[int, ...], list[Form]]


def _is_numeric(polynomial: Polynomial) -> bool:
    return all(form.keys() <= {ONE} for form in polynomial.values())


def _signed(value: int) -> int:
    value %= R
    return value - R if value > R // 2 else value


def _form(sums: Mapping[int, int]) -> Form:
    return {v: k for v, value in sums.items() if (k := _signed(value))}


def _sum(*terms: tuple[int, Form]) -> Form:
    sums: defaultdict[int, int] = defaultdict(int)
    for factor, form in terms:
        for v, k in form.items():
            sums[v] += factor * k
    return _form(sums)


def _without_one(form: Form) -> Form:
    return {v: k for v, k in form.items() if v != ONE}


def _ratio(form: Form, of: Form) -> int | None:
    """k where ``form`` is k times ``of``, which is not zero."""
    if not form:
        return 0
    v = next(iter(of))
    k = form.get(v, 0) * pow(of[v], -1, R)
    return _signed(k) if _sum((k, of)) == form else None
