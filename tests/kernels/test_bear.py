"""BabyBear and its extension on every target, against integers of Python."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from blake3 import blake3

from tests.kernels.targets import PROCESSOR, each
from zenserve import kernels
from zenserve.kernels.babybear import DEGREE, MODULUS, BearArray, BearDomain
from zenserve.verifier.spartan.field import BEAR, BEAR5, Field

EDGES = [0, 1, 2, 3, MODULUS - 1, MODULUS - 2, MODULUS // 2, MODULUS // 2 + 1, (1 << 31) - 1 - MODULUS % 2]
# Less than a vector, several of each width, and what is left of one.
COUNTS = [1, 3, 4, 8, 16, 17, 61]


@pytest.fixture(params=each(PROCESSOR), scope="module")
def k(request: pytest.FixtureRequest) -> kernels.Kernels:
    return kernels.load(request.param)


def drawn(count: int, seed: int = 0) -> list[int]:
    """Edges among them."""
    random = Random(seed)
    choices = [value % MODULUS for value in EDGES]
    return [
        random.choice(choices) if random.random() < 0.3 else random.randrange(MODULUS) for _ in range(count)
    ]


def base(k: kernels.Kernels, values: list[int]) -> BearArray:
    return k.bear.from_canon(np.array(values, dtype=np.uint32))


def plain(k: kernels.Kernels, elements: BearArray) -> list[int]:
    found = k.bear.to_canon(elements)
    assert (found < MODULUS).all()
    return [int(value) for value in found.ravel()]


def extension(k: kernels.Kernels, count: int, seed: int) -> tuple[BearArray, list[int]]:
    """Planes, and the same elements as ``BEAR5`` has them."""
    coefficients = np.array(drawn(DEGREE * count, seed), dtype=np.uint32).reshape(DEGREE, count)
    return k.bear.from_canon(coefficients), from_planes(coefficients)


def from_planes(coefficients: BearArray) -> list[int]:
    return BEAR5.from_bytes(coefficients.T.astype("<u4").tobytes())


def elements(k: kernels.Kernels, planes: BearArray) -> list[int]:
    return from_planes(k.bear.to_canon(planes))


@pytest.mark.parametrize("count", COUNTS)
def test_base_field(k: kernels.Kernels, count: int) -> None:
    a, b = drawn(count, 1), drawn(count, 2)
    x, y = base(k, a), base(k, b)
    assert plain(k, x) == a
    assert plain(k, k.bear.add(x, y)) == [(i + j) % MODULUS for i, j in zip(a, b, strict=True)]
    assert plain(k, k.bear.sub(x, y)) == [(i - j) % MODULUS for i, j in zip(a, b, strict=True)]
    assert plain(k, k.bear.mul(x, y)) == [i * j % MODULUS for i, j in zip(a, b, strict=True)]
    assert plain(k, k.bear.mul(x, y[:1])) == [i * b[0] % MODULUS for i in a]


def test_products_of_all_edges(k: kernels.Kernels) -> None:
    """Of words as they are in memory, which are the largest there."""
    edges = np.array([value % MODULUS for value in EDGES], dtype=np.uint32)
    x, y = (part.ravel() for part in np.meshgrid(edges, edges))
    inverse = pow(1 << 32, -1, MODULUS)
    found = k.bear.mul(x, y)
    assert found.tolist() == [int(i) * int(j) * inverse % MODULUS for i, j in zip(x, y, strict=True)]


@pytest.mark.parametrize("count", COUNTS)
def test_extension(k: kernels.Kernels, count: int) -> None:
    (x, a), (y, b) = extension(k, count, 3), extension(k, count, 4)
    products = [BEAR5.reduce(i * j) for i, j in zip(a, b, strict=True)]
    assert elements(k, k.bear5.mul(x, y)) == products
    assert elements(k, k.bear5.mul(x, y[:, :1])) == [BEAR5.reduce(i * b[0]) for i in a]
    scalars = drawn(count, 5)
    scaled = [BEAR5.reduce(i * j) for i, j in zip(a, scalars, strict=True)]
    assert elements(k, k.bear5.scale(x, base(k, scalars))) == scaled
    (total,) = elements(k, k.bear5.dot(x, y)[:, np.newaxis])
    assert total == BEAR5.dot(a, b)


def test_the_largest_product_of_the_extension(k: kernels.Kernels) -> None:
    """All words p - 1: no sum of four or five products is larger."""
    x = np.full((DEGREE, 16), MODULUS - 1, dtype=np.uint32)
    a = elements(k, x)
    assert elements(k, k.bear5.mul(x, x)) == [BEAR5.reduce(i * i) for i in a]


def test_repeated_products(k: kernels.Kernels) -> None:
    (x, a), (y, b) = extension(k, 9, 9), extension(k, 9, 10)
    k.bear.multiply_repeatedly(x, y, 3)
    assert elements(k, x) == [BEAR5.reduce(BEAR5.reduce(i * j * j) * j) for i, j in zip(a, b, strict=True)]
    p, q = base(k, [3, 5]), base(k, [7, MODULUS - 1])
    k.bear.multiply_repeatedly(p, q, 3)
    assert plain(k, p) == [3 * 7**3, MODULUS - 5]
    with pytest.raises(ValueError, match="b must have shape"):
        k.bear.multiply_repeatedly(x, q, 1)


@pytest.mark.parametrize("variables", [0, 1, 2, 5, 7])
def test_eq(k: kernels.Kernels, variables: int) -> None:
    x, point = extension(k, variables, 6)
    assert elements(k, k.bear5.eq(x)) == list(BEAR5.eq(point))


def entries(kind: type[np.generic], rows: int, width: int) -> Any:
    random = np.random.default_rng(rows * width)
    if kind is np.uint32:
        return random.integers(0, MODULUS, (rows, width), dtype=np.uint32)
    limits = np.iinfo(kind)  # type: ignore[type-var]
    found = random.integers(limits.min, limits.max + 1, (rows, width)).astype(kind)
    found[0] = limits.min
    return found


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.uint32])
@pytest.mark.parametrize(("rows", "width"), [(1, 1), (2, 16), (3, 17), (9, 40), (17, 530)])
def test_rows(k: kernels.Kernels, kind: type[np.generic], rows: int, width: int) -> None:
    matrix = entries(kind, rows, width)
    (x, a), (y, b) = extension(k, rows, 7), extension(k, width, 8)
    columns = [[int(value) for value in column] for column in matrix.T]
    assert elements(k, k.bear5.combine_rows(matrix, x, threads=2)) == [BEAR5.dot(a, each) for each in columns]
    lines = [[int(value) for value in row] for row in matrix]
    assert elements(k, k.bear5.row_products(matrix, y, threads=2)) == [BEAR5.dot(b, each) for each in lines]


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.uint32])
def test_the_largest_sums_of_rows(k: kernels.Kernels, kind: type[np.generic]) -> None:
    """More rows than are added up before a reduction, where that is few, all of the largest entries."""
    count = (1 << 14) + 9
    largest = MODULUS - 1 if kind is np.uint32 else np.iinfo(kind).min  # type: ignore[type-var]
    matrix = np.full((count, 2), largest, dtype=kind)
    x = np.full((DEGREE, count), MODULUS - 1, dtype=np.uint32)
    weight = elements(k, x[:, :1])[0]
    expected = BEAR5.reduce(int(largest) * count * weight)
    assert elements(k, k.bear5.combine_rows(matrix, x)) == [expected] * 2
    assert elements(k, k.bear5.row_products(np.ascontiguousarray(matrix.T), x)) == [expected] * 2


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.uint32])
@pytest.mark.parametrize("log_length", [2, 3, 4, 5, 6, 9])
@pytest.mark.parametrize("rows", [1, 8, 11])
def test_code_words(k: kernels.Kernels, kind: type[np.generic], log_length: int, rows: int) -> None:
    degree = 1 << (log_length - 2)
    width = degree - degree // 8
    values = entries(kind, rows, width)
    tails = entries(np.uint32, rows, degree - width)
    words = k.bear_domain(log_length).encode(values, tails, threads=2)
    for row in range(8 * len(words)):
        if row < rows:
            coefficients = [int(value) for value in (*values[row], *tails[row])]
            expected = list(slow_words(BEAR, coefficients, log_length))
        else:
            expected = [0] * (1 << log_length)
        assert words[row // 8, :, row % 8].tolist() == expected


def slow_words(field: Field, coefficients: list[int], log_length: int) -> list[int]:
    """Values of the polynomial, by Horner's rule."""
    root, found = field.root_of_unity(log_length), []
    for place in range(1 << log_length):
        x, value = pow(root, place, field.modulus), 0
        for coefficient in reversed(coefficients):
            value = (value * x + coefficient) % field.modulus
        found.append(value)
    return found


def test_a_column_is_hashed_as_it_stands(k: kernels.Kernels) -> None:
    """Entries of 4 bytes, the rows that a block lacks among them, and of the extension: five rows."""
    key, values = bytes(range(32)), entries(np.uint32, 11, 8)
    words = k.bear_domain(5).encode(values)
    hashes = k.blake3.columns(words.view(np.uint64).reshape(-1, 32, 4), key)
    for place in range(32):
        column = np.concatenate([block[place] for block in words]).astype("<u4").tobytes()
        assert column[44:] == bytes(20)
        assert hashes[place].tobytes() == blake3(column, key=key).digest()


def test_what_does_not_fit_is_refused(k: kernels.Kernels) -> None:
    x = np.zeros((DEGREE, 4), dtype=np.uint32)
    rows = np.zeros((3, 4), dtype=np.int8)
    with pytest.raises(ValueError, match="b must have shape"):
        k.bear.add(x, x[:, :2])
    with pytest.raises(ValueError, match="must be uint32"):
        k.bear.add(x.astype(np.int64), x)
    with pytest.raises(ValueError, match=r"uint32\[5, n\]"):
        k.bear5.mul(x[:4], x)
    with pytest.raises(ValueError, match="4 elements or one"):
        k.bear5.mul(x, x[:, :2])
    with pytest.raises(ValueError, match="3 rows are not combined by 4 weights"):
        k.bear5.combine_rows(rows, x)
    with pytest.raises(ValueError, match="rows of 4 entries"):
        k.bear5.row_products(rows, x[:, :3])
    with pytest.raises(ValueError, match="int8, int16 or uint32"):
        k.bear5.combine_rows(rows.astype(np.int64), x)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="are no rows of 8"):
        k.bear_domain(5).encode(rows)
    with pytest.raises(ValueError, match="a domain has"):
        k.bear_domain(1)


def test_a_domain_of_every_size_has_the_root(k: kernels.Kernels) -> None:
    """The second coefficient alone: the code word is the root's powers."""
    for log_length in (3, 8, 13):
        row = np.zeros((1, 1 << (log_length - 2)), dtype=np.int8)
        row[0, 1] = 1
        words: BearArray = k.bear_domain(log_length).encode(row)[0, :, 0]
        assert int(words[1]) == BEAR.root_of_unity(log_length)
        assert isinstance(k.bear_domain(log_length), BearDomain)


def children(n: list[int], d: list[int]) -> tuple[list[int], list[int]]:
    """The layer above."""
    half, reduce = len(n) // 2, BEAR5.reduce
    return (
        [reduce(n[i] * d[half + i] + n[half + i] * d[i]) for i in range(half)],
        [reduce(d[i] * d[half + i]) for i in range(half)],
    )


def bound(table: list[int], r: int) -> list[int]:
    half = len(table) // 2
    return [BEAR5.reduce(a + r * (b - a)) for a, b in zip(table[:half], table[half:], strict=True)]


@pytest.mark.parametrize("log_leaves", [1, 2, 3, 5, 7])
@pytest.mark.parametrize("threads", [1, 3])
def test_fraction_tree(k: kernels.Kernels, log_leaves: int, threads: int) -> None:
    """From the root to the leaves, each message against sums of products of whole tables."""
    count, random = 1 << log_leaves, Random(log_leaves)
    n, (planes, d) = drawn(count, 11), extension(k, count, 12)
    layers = [(n, d)]
    while len(layers[-1][0]) > 1:
        layers.append(children(*layers[-1]))
    layers.reverse()
    tree = k.fraction_tree(base(k, n), planes, threads)
    assert elements(k, tree.root().T) == [each[0] for each in layers[0]]
    for variables, (numerators, denominators) in enumerate(layers[1:]):
        half, (join, r), left = 1 << variables, (one(k, random) for _ in range(2)), variables
        tables = [numerators[:half], numerators[half:], denominators[:half], denominators[half:]]
        tree.begin(join[0])
        while left:
            left -= 1
            split = left // 2
            (outer, a), (inner, b) = (
                extension(k, 1 << (left - split), left),
                extension(k, 1 << split, left + 50),
            )
            weights = [BEAR5.reduce(x * y) for x in a for y in b]
            told = tree.round(None if left == variables - 1 else r[0], outer, inner)
            if left < variables - 1:
                tables = [bound(table, r[1]) for table in tables]
            assert elements(k, told.T) == expected_round(tables, weights, join[1])
        last = tree.halves(None if not variables else r[0])
        if variables:
            tables = [bound(table, r[1]) for table in tables]
        assert elements(k, last.T) == [table[0] for table in tables]


def one(k: kernels.Kernels, random: Random) -> tuple[BearArray, int]:
    planes, (value,) = extension(k, 1, random.randrange(1 << 30))
    return np.ascontiguousarray(planes[:, 0]), value


def expected_round(tables: list[list[int]], weights: list[int], join: int) -> list[int]:
    """The value at 1, and the coefficient of X^2."""
    half, reduce, found = len(tables[0]) // 2, BEAR5.reduce, [0, 0]
    for i, weight in enumerate(weights):
        for which in range(2):
            n0, n1, d0, d1 = (table[half + i] - which * table[i] for table in tables)
            found[which] += weight * reduce(reduce(n0 + join * d0) * d1 + n1 * d0)
    return [reduce(each) for each in found]


def test_a_tree_is_gone_down_in_order(k: kernels.Kernels) -> None:
    n, (d, _), (join, _) = base(k, [1, 2, 3, 4]), extension(k, 4, 1), one(k, Random(1))
    weight = extension(k, 1, 2)[0]
    tree = k.fraction_tree(n, d)
    with pytest.raises(ValueError, match="rounds are left"):
        tree.halves(None)
    tree.begin(join)
    with pytest.raises(ValueError, match="a variable is bound"):
        tree.halves(join)
    with pytest.raises(ValueError, match="a layer begins when"):
        tree.begin(join)
    with pytest.raises(ValueError, match="a round with 0 variables"):
        tree.round(None, weight, weight)
    tree.halves(None)
    tree.begin(join)
    with pytest.raises(ValueError, match="1 rounds are left"):
        tree.halves(None)
    with pytest.raises(ValueError, match="a round with 1 variables"):
        tree.round(None, weight, extension(k, 2, 3)[0])
    tree.round(None, weight, weight)
    tree.halves(join)
    with pytest.raises(ValueError, match="above the leaves"):
        tree.begin(join)
    with pytest.raises(ValueError, match="make no tree"):
        k.fraction_tree(n[:3], d[:, :3])
