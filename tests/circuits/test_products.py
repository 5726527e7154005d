"""Products at a challenge: honest ones pass for every shape, and one wrong entry anywhere is refused."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.circuits.support import R, accepted_lies, answered, challenged, first_violation
from tests.refusals import refuses
from zenserve.circuits.r1cs.builder import Builder
from zenserve.circuits.r1cs.linear import Linear
from zenserve.circuits.r1cs.products import Convolution, Products, product_interval
from zenserve.circuits.r1cs.program import Program
from zenserve.prover import groth16
from zenserve.prover.groth16.reference import check
from zenserve.relations.integers import IntArray
from zenserve.relations.planes import reach


def multiplied(m: int, k: int, n: int) -> Program:
    """Z = X Y of wires ``x``, ``y``, ``z``."""
    builder = Builder()
    builder.segment("tensors")
    sides = [
        builder.committed("tensors", name, *shape)
        for name, shape in (("x", (m, k)), ("y", (k, n)), ("z", (m, n)))
    ]
    x, y, z = (Linear.wires(side.ravel()) for side in sides)
    Products(builder).matmul("product", x, y, z, (m, k, n))
    return builder.program()


def convolved(shape: Convolution) -> Program:
    builder = Builder()
    builder.segment("tensors")
    x = builder.committed("tensors", "x", shape.batch, shape.inputs, *shape.image)
    w = builder.committed("tensors", "w", shape.outputs, shape.inputs, *shape.kernel)
    y = builder.committed("tensors", "y", shape.batch, shape.outputs, *shape.out)
    image, kernel, out = (Linear.wires(side.ravel()) for side in (x, w, y))
    Products(builder).convolve("conv", image, kernel, out, shape)
    return builder.program()


def slow_convolution(shape: Convolution, x: IntArray, w: IntArray) -> IntArray:
    y = np.zeros((shape.batch, shape.outputs, *shape.out), dtype=np.int64)
    dilation = shape.dilation or (1,) * len(shape.kernel)
    for b, o, *at in np.ndindex(y.shape):
        for i, *tap in np.ndindex(shape.inputs, *shape.kernel):
            sizes = zip(at, tap, shape.stride, dilation, shape.padding, strict=True)
            place = tuple(by * r + step * p - before for r, p, by, step, (before, _) in sizes)
            if all(0 <= index < size for index, size in zip(place, shape.image, strict=True)):
                y[(b, o, *at)] += w[(o, i, *tap)] * x[(b, i, *place)]
    return y


def random_sides(
    shape: Convolution, seed: int, low: int = -127, high: int = 128
) -> tuple[IntArray, IntArray]:
    rng = np.random.default_rng(seed)
    x = rng.integers(low, high, (shape.batch, shape.inputs, *shape.image))
    return x, rng.integers(low, high, (shape.outputs, shape.inputs, *shape.kernel))


pairs = st.tuples(st.integers(1, 3), st.integers(1, 3))
ends = st.tuples(st.integers(0, 3), st.integers(0, 3))


@st.composite
def shapes(draw: st.DrawFn) -> Convolution:
    image = draw(st.tuples(st.integers(1, 6), st.integers(1, 6)))
    kernel, stride, padding = draw(pairs), draw(pairs), draw(st.tuples(ends, ends))
    dilation = draw(st.just(()) | pairs)
    far = reach(kernel, dilation)
    assume(all(image[axis] + sum(padding[axis]) >= far[axis] for axis in (0, 1)))
    sizes = draw(st.tuples(st.integers(1, 2), st.integers(1, 3), st.integers(1, 3)))
    return Convolution(*sizes, image, kernel, stride, padding, dilation)


EDGES = [
    Convolution(1, 1, 1, (1, 1), (1, 1)),
    Convolution(1, 2, 3, (4, 5), (1, 1)),
    Convolution(2, 3, 2, (5, 4), (5, 4)),
    Convolution(1, 2, 2, (4, 4), (1, 1), (2, 3)),
    Convolution(1, 1, 2, (2, 2), (3, 3), (1, 1), ((3, 3), (2, 2))),
    Convolution(3, 1, 2, (5, 7), (3, 2), (2, 3), ((0, 1), (2, 0))),
    Convolution(1, 2, 2, (6, 6), (2, 2), (2, 2)),
    Convolution(1, 1, 1, (7, 1), (3, 1), (3, 1), ((1, 0), (0, 0))),
    Convolution(2, 2, 1, (7, 6), (3, 2), (2, 1), ((1, 2), (0, 1)), (2, 3)),
    Convolution(1, 2, 2, (9,), (3,), (2,), ((2, 1),), (3,)),
    Convolution(1, 1, 2, (3, 4, 2), (2, 3, 1), (1, 2, 1), ((1, 0), (0, 1), (0, 0)), (1, 1, 2)),
]


@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 6), st.integers(0, 2**32))
def test_honest_matrix_products_pass(m: int, k: int, n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    program = multiplied(m, k, n)
    x, y = rng.integers(-255, 256, (m, k)), rng.integers(-255, 256, (k, n))
    z = challenged(program, program.assign({"x": x, "y": y, "z": x @ y}), seed)
    assert first_violation(program.constraint_system, z) is None
    assert check(program.constraint_system, z) is None
    powers = max(0, n - 2) + max(0, m - 1 - (n == 1))
    assert program.constraint_system.constraints == m * k + k * n + m * n - k - 1 + powers
    assert program.degree == m * n - 1


@given(shapes() | st.sampled_from(EDGES), st.integers(0, 2**32))
def test_honest_convolutions_pass(shape: Convolution, seed: int) -> None:
    x, w = random_sides(shape, seed)
    y = shape.apply(x, w)
    assert np.array_equal(y, slow_convolution(shape, x, w))
    program = convolved(shape)
    z = challenged(program, program.assign({"x": x, "w": w, "y": y}), seed)
    assert first_violation(program.constraint_system, z) is None
    assert check(program.constraint_system, z) is None
    kernel = math.prod(shape.kernel)
    most = int(shape.excess().max())
    assert program.degree == y.size - 1 + most
    powers = math.prod(shape.out) + most + shape.outputs + shape.batch
    limit = x.size + w.size + y.size + (2 * shape.batch - 1) * shape.inputs * kernel + kernel + powers
    assert program.constraint_system.constraints <= limit


@given(shapes() | st.sampled_from(EDGES), st.integers(0, 2**32), st.data())
def test_one_wrong_entry_of_a_convolution_is_refused(
    shape: Convolution, seed: int, data: st.DataObject
) -> None:
    x, w = random_sides(shape, seed)
    program = convolved(shape)
    y = shape.apply(x, w)
    tensors = {"x": x, "w": w, "y": y}
    tensor = tensors[data.draw(st.sampled_from(list(tensors)))]
    index = data.draw(st.integers(0, tensor.size - 1))
    tensor.ravel()[index] += data.draw(st.sampled_from([-1, 1, 1 << 20]))
    z = challenged(program, program.assign(tensors), seed)
    # An entry that no output depends on may be anything: the equation says so too.
    right = np.array_equal(y, slow_convolution(shape, x, w))
    assert (first_violation(program.constraint_system, z) is None) == right


def plain_convolution(
    c: int, x: Sequence[int], w: Sequence[int], y: Sequence[int], stride: int, padding: int
) -> bool:
    """The check of y = conv(x, w) at the challenge c, for one row of pixels, kernel positions and outputs.

    Pixel i stands at i + P = s R + ρ in the padded image, and meets the kernel position p = s β + ρ at output
    R - β. It is weighted once, by c^R: for p that is c^β too much, which c^(e - β) brings up to c^e for all.
    """
    most = (len(w) - 1) // stride
    computed = 0
    for p, weight in enumerate(w):
        ahead, rest = divmod(p, stride)
        places = (divmod(i + padding, stride) for i in range(len(x)))
        met = ((i, r) for i, (r, own) in enumerate(places) if own == rest and 0 <= r - ahead < len(y))
        computed += pow(c, most - ahead, R) * weight * sum(pow(c, r, R) * x[i] for i, r in met)
    claimed = sum(pow(c, n, R) * value for n, value in enumerate(y))
    return (computed - pow(c, most, R) * claimed) % R == 0


@settings(max_examples=60)
@given(st.data(), st.integers(0, 2**32), st.booleans(), st.booleans())
def test_a_convolution_in_one_dimension_is_the_plain_one(
    data: st.DataObject, seed: int, upright: bool, known: bool
) -> None:
    """Also for outputs that only one challenge cannot tell from the right ones."""
    size, taps, stride, padding = (data.draw(st.integers(*ends)) for ends in ((1, 6), (1, 4), (1, 3), (0, 3)))
    assume(size + 2 * padding >= taps)
    sides = [(length, 1) if upright else (1, length) for length in (size, taps)]
    across, nothing = (stride, 1) if upright else (1, stride), ((0, 0), (padding, padding))
    shape = Convolution(1, 1, 1, sides[0], sides[1], across, nothing[::-1] if upright else nothing)
    program = convolved(shape)
    x, w = random_sides(shape, seed)
    y = shape.apply(x, w)
    y.ravel()[data.draw(st.integers(0, y.size - 1))] += data.draw(st.sampled_from([0, 1]))
    z = challenged(program, program.assign({"x": x, "w": w, "y": y}), seed)
    wires = program.constraint_system.layout["y"].ravel()
    if known:
        # The first output makes up for the others.
        errors = (shape.apply(x, w) - y).ravel().tolist()
        z[wires[0]] += sum(pow(challenge_of(program, z), n, R) * error for n, error in enumerate(errors))
    for draw in (seed, seed + 1):
        z = challenged(program, z, draw)
        sides_and_claim = x.ravel().tolist(), w.ravel().tolist(), [z[wire] for wire in wires]
        plain = plain_convolution(challenge_of(program, z), *sides_and_claim, stride, padding)
        assert (first_violation(program.constraint_system, z) is None) == plain
        assert plain or not known or draw > seed


def challenge_of(program: Program, z: Sequence[int]) -> int:
    """Any value where there is none: then no power of it stands in a row either."""
    wires = program.constraint_system.layout.get("challenge0")
    return 1 if wires is None else z[wires[0]]


@settings(max_examples=40)
@given(shapes() | st.sampled_from(EDGES), st.integers(0, 2**32), st.data())
def test_a_convolution_holds_where_its_errors_cancel(
    shape: Convolution, seed: int, data: st.DataObject
) -> None:
    """``sum c^n error_n = 0``, for errors that are found with the challenge c and mean nothing to another."""
    program = convolved(shape)
    x, w = random_sides(shape, seed)
    z = challenged(program, program.assign({"x": x, "w": w, "y": shape.apply(x, w)}), seed)
    wires = program.constraint_system.layout["y"].ravel()
    n = data.draw(st.integers(0, len(wires) - 1))
    z[wires[n]] += 1
    z[wires[0]] -= pow(challenge_of(program, z), n, R)
    assert first_violation(program.constraint_system, challenged(program, z, seed)) is None
    assert (first_violation(program.constraint_system, challenged(program, z, seed + 1)) is None) == (n == 0)


@pytest.mark.parametrize("name", ["x", "y", "z"])
@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 2, 4), (1, 4, 3), (4, 3, 1)])
def test_one_wrong_entry_of_a_matrix_product_is_refused(name: str, shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    rng = np.random.default_rng(5)
    program = multiplied(m, k, n)
    x, y = rng.integers(1, 256, (m, k)), rng.integers(1, 256, (k, n))
    honest = {"x": x, "y": y, "z": x @ y}
    for index in range(honest[name].size):
        for change in (1, -1, 1 << 30):
            lie = {key: value.copy() for key, value in honest.items()}
            lie[name].ravel()[index] += change
            z = challenged(program, program.assign(lie))
            assert first_violation(program.constraint_system, z) == "product/check[0]"


def test_entries_that_move_together_are_refused() -> None:
    """Changes of Z that a check of its rows, columns or sum alone would miss."""
    program = multiplied(2, 3, 2)
    x, y = np.array([[1, 2, 3], [4, 5, 6]]), np.array([[1, 0], [2, 2], [0, 7]])
    for change in ([[1, -1], [0, 0]], [[1, 0], [-1, 0]], [[1, -1], [-1, 1]], [[0, 1], [-1, 0]]):
        z = challenged(program, program.assign({"x": x, "y": y, "z": x @ y + change}))
        assert first_violation(program.constraint_system, z) == "product/check[0]"


def test_a_challenge_known_beforehand_would_break_it() -> None:
    program = multiplied(1, 1, 2)
    z = challenged(program, program.assign({"x": [[3]], "y": [[5, 7]], "z": [[15, 21]]}))
    c = z[program.constraint_system.layout["challenge0"][0]]
    wires = program.constraint_system.layout["z"][0]
    z[wires[0]], z[wires[1]] = (15 - c) % R, 22
    assert first_violation(program.constraint_system, answered(program, z)) is None
    assert first_violation(program.constraint_system, answered(program, z, seed=1)) is not None


@pytest.mark.parametrize("shape", [(2, 3, 2), (3, 1, 1), (1, 2, 3)])
def test_every_wire_of_a_matrix_product_that_moves_is_noticed(shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    program = multiplied(m, k, n)
    x, y = np.arange(1, 1 + m * k).reshape(m, k), np.arange(2, 2 + k * n).reshape(k, n)
    assert accepted_lies(program, program.assign({"x": x, "y": y, "z": x @ y})) == []


@pytest.mark.parametrize("shape", EDGES[:3] + EDGES[5:])
def test_every_wire_of_a_convolution_that_moves_is_noticed(shape: Convolution) -> None:
    x, w = random_sides(shape, 1, low=1)
    program = convolved(shape)
    z = program.assign({"x": x, "w": w, "y": shape.apply(x, w)})
    met = set(shape.meetings()[1].tolist())
    image = math.prod(shape.image)
    unmet = [
        f"x{list(i)}" for i in np.ndindex(x.shape) if np.ravel_multi_index(i[2:], shape.image) not in met
    ]
    assert len(unmet) == shape.batch * shape.inputs * (image - len(met))
    assert sorted(accepted_lies(program, z)) == sorted(unmet)


def test_entries_may_be_linear_combinations() -> None:
    """Zero points: Z = (X - 3)(Y + 1) with X public, and gadgets that share powers."""
    builder = Builder()
    builder.segment("tensors")
    x = builder.public("x", 2, 2)
    y, z = (builder.committed("tensors", name, 2, 2) for name in "yz")
    products = Products(builder)
    sides = Linear.wires(x.ravel()).shift(-3), Linear.wires(y.ravel()).shift(1), Linear.wires(z.ravel())
    products.matmul("one", *sides, (2, 2, 2))
    products.matmul("two", *sides, (2, 2, 2))
    assert [name for name in builder.layout if name.startswith("powers")] == ["powers0/2"]
    program = builder.program()
    values = np.array([[1, 2], [3, 4]])
    for change, expected in ((0, None), (1, "one/check[0]")):
        claim = (values - 3) @ (values + 1) + change
        assignment = program.assign({"x": values, "y": values, "z": claim})
        assert first_violation(program.constraint_system, answered(program, assignment)) == expected


@pytest.mark.parametrize("name", ["x", "y", "z"])
def test_a_factor_left_out_of_the_segment_is_refused_by_name(name: str) -> None:
    builder = Builder()
    builder.segment("tensors")
    take = {
        side: builder.private if side == name else lambda *a: builder.committed("tensors", *a)
        for side in "xyz"
    }
    x, y, z = (Linear.wires(take[side](side, 9)) for side in "xyz")
    Products(builder).matmul("product", x, y, z, (3, 3, 3))
    with refuses("statement.adaptive", match=rf"reads {name}\[\d\]"):
        builder.program()


def test_products_of_integers_that_could_wrap_are_refused() -> None:
    assert product_interval("product", 2, (255, 256)) == (-2 * 255 * 256, 2 * 255 * 256)
    for terms, bounds in ((2, (1 << 30, 1 << 31)), (1, (1 << 62, 1)), (4, (1 << 30, 1 << 30))):
        with refuses("statement.could_wrap"):
            product_interval("product", terms, bounds)


def test_shapes_that_do_not_fit_are_refused() -> None:
    builder = Builder()
    side = Linear.wires(builder.public("x", 6))
    with refuses("statement.product_shape"):
        Products(builder).matmul("product", side, side, side, (2, 3, 3))
    with refuses("statement.product_shape"):
        Convolution(1, 1, 1, (2, 2), (3, 1))


def test_a_proof_of_products_verifies() -> None:
    shape = EDGES[5]
    x, w = random_sides(shape, 2)
    program = convolved(shape)
    key = groth16.setup(program.constraint_system)
    witness = program.witness({"x": x, "w": w, "y": shape.apply(x, w)})
    proof = groth16.prove(key, program.constraint_system, witness, post_challenge=program.post_challenge)
    assert groth16.verify(key.verifying_key, [], proof.to_bytes()).valid
    wrong = program.witness({"x": x, "w": w, "y": shape.apply(x, w) + 1})
    with refuses("statement.unsatisfied", match="conv/check"):
        groth16.prove(key, program.constraint_system, wrong, post_challenge=program.post_challenge)


def test_an_entry_that_depends_on_the_challenge_is_refused() -> None:
    """1 · (0, 7) = (4 x, 3) holds at every challenge x: both sides are 7 x."""
    builder = Builder()
    builder.segment("values")
    x, y = builder.committed("values", "x", 1), builder.committed("values", "y", 2)
    factor, last = builder.committed("values", "factor", 1), builder.committed("values", "last", 1)
    first = builder.private("first", 1)
    builder.product("by_challenge", np.array([builder.challenge(0)]), factor, first)
    z = np.concatenate([first, last])
    Products(builder).matmul("product", Linear.wires(x), Linear.wires(y), Linear.wires(z), (1, 1, 2))
    with refuses("statement.adaptive", match=r"product reads first\[0\]"):
        builder.program()
