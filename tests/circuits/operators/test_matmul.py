"""Products of computed matrices: as onnxruntime has them, for any shapes, and proven at every level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from onnx import NodeProto
from onnx.helper import make_node

from tests.circuits.operators.test_arithmetic import lines, model, prove, same_everywhere
from tests.circuits.operators.test_leaky_relu import SETTINGS
from tests.circuits.operators.test_moving import Case, Rng, floats
from tests.circuits.quantised import networks
from tests.circuits.support import R, challenged, forced
from tests.circuits.test_uniqueness import assert_unique
from tests.refusals import refuses
from zenserve import kernels
from zenserve.circuits import compile_inference, load_onnx, plan_inference, quantise
from zenserve.circuits.lowering import Level
from zenserve.circuits.lowering.encodings import Packed
from zenserve.circuits.lowering.matrices import Matrices, Slots
from zenserve.circuits.r1cs.builder import FR
from zenserve.circuits.schemes import inference
from zenserve.relations.relation import MatrixProduct
from zenserve.verifier.schemes import Privacy

Shape = tuple[int, ...]


def of_two(rng: Rng, left: Shape, right: Shape) -> Case:
    """Tensors of these shapes, made of the one that is read, and their product."""
    sizes = [int(np.prod(shape)) for shape in (left, right)]
    constants = {f"s{i}": np.array(shape) for i, shape in enumerate((left, right))}
    constants |= {f"g{i}": rng.integers(0, 5, size) for i, size in enumerate(sizes)}
    nodes: list[NodeProto] = []
    for i in (0, 1):
        nodes += [
            make_node("Gather", ["f", f"g{i}"], [f"t{i}"], axis=0),
            make_node("Reshape", [f"t{i}", f"s{i}"], [f"m{i}"]),
        ]
    constants["flat"] = np.array([-1])
    first = make_node("Reshape", ["x", "flat"], ["f"])
    return [first, *nodes, make_node("MatMul", ["m0", "m1"], ["h"])], constants, (5,)


SHAPES: list[tuple[Shape, Shape]] = [
    ((3, 4), (4, 2)),
    ((4,), (4, 3)),
    ((3, 4), (4,)),
    ((4,), (4,)),
    ((2, 3, 4), (2, 4, 3)),
    ((2, 1, 3, 2), (3, 2, 2)),
    ((1, 2, 3), (3, 3)),
    ((2, 3), (2, 1, 3, 2)),
    ((3,), (2, 3, 2)),
]


@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_two_tensors_agree_with_onnxruntime(left: Shape, right: Shape) -> None:
    rng = np.random.default_rng(5)
    same_everywhere(of_two(rng, left, right), rng)


@pytest.mark.parametrize(("left", "right"), SHAPES)
@pytest.mark.parametrize("constant", [0, 1])
def test_so_does_one_with_constants(left: Shape, right: Shape, constant: int) -> None:
    rng = np.random.default_rng(5)
    nodes, constants, shape = of_two(rng, left, right)
    kept = [node for node in nodes if f"m{constant}" not in node.output and f"t{constant}" not in node.output]
    wanted = {f"m{constant}": floats(rng, *(left, right)[constant])}
    same_everywhere((kept, {**constants, **wanted}, shape), rng)


@pytest.mark.parametrize("turned", range(4))
@pytest.mark.parametrize("bias", ["", "c", "v"])
def test_gemm_does(turned: int, bias: str) -> None:
    rng = np.random.default_rng(5)
    a, b = (3, 2) if turned & 1 else (2, 3), (4, 3) if turned & 2 else (3, 4)
    (*nodes, _), constants, shape = of_two(rng, a, b)
    said: dict[str, Any] = {"transA": turned & 1, "transB": turned >> 1, "alpha": 0.5, "beta": 2.0}
    nodes += [make_node("Slice", ["f", "from", "to"], ["v"])]
    nodes += [make_node("Gemm", ["m0", "m1", bias][: 2 + bool(bias)], ["h"], **said)]
    ends = {"from": np.array([1]), "to": np.array([5]), "c": floats(rng, 4)}
    same_everywhere((nodes, {**constants, **ends}, shape), rng)


def test_so_does_gemm_by_weights_whose_bias_is_computed() -> None:
    rng = np.random.default_rng(5)
    nodes = [make_node("Relu", ["x"], ["c"]), make_node("Gemm", ["x", "m", "c"], ["h"], alpha=0.5, beta=2.0)]
    same_everywhere((nodes, {"m": floats(rng, 3, 3)}, (3,)), rng)


EQUATIONS = {
    "bij,bjk->bik": ((2, 3, 4), (2, 4, 2)),
    "bqhd,bkhd->bhqk": ((1, 3, 2, 2), (1, 2, 2, 2)),
    "ij,kj": ((2, 3), (4, 3)),
    "i,j->ji": ((2,), (3,)),
    "ijk,kj->i": ((2, 3, 2), (2, 3)),
    "ij,ij->ij": ((2, 3), (2, 3)),
    "ijl,jk->i": ((2, 3, 2), (3, 2)),
    "iij,jk->ik": ((2, 2, 3), (3, 2)),
    "...ij,...jk->...ik": ((2, 2, 3), (2, 3, 2)),
    "a...,...b": ((2, 3), (3, 2)),
}


@pytest.mark.parametrize("equation", EQUATIONS)
@pytest.mark.parametrize("constant", [None, 0, 1])
def test_einsum_does(equation: str, constant: int | None) -> None:
    rng, shapes = np.random.default_rng(5), EQUATIONS[equation]
    (*nodes, _), constants, shape = of_two(rng, *shapes)
    if constant is not None:
        nodes = [node for node in nodes if f"m{constant}" not in node.output]
        constants = {**constants, f"m{constant}": floats(rng, *shapes[constant])}
    nodes += [make_node("Einsum", ["m0", "m1"], ["h"], equation=equation)]
    same_everywhere((nodes, constants, shape), rng)


@pytest.mark.parametrize("equation", ["aij -> jai", "aij->a", "aii->ai", "a...->...a"])
def test_einsum_of_one_tensor_moves_it_and_adds_it_up(equation: str) -> None:
    rng = np.random.default_rng(5)
    same_everywhere(([make_node("Einsum", ["x"], ["h"], equation=equation)], {}, (3, 3)), rng)


def test_einsum_of_three_tensors_multiplies_them_in_order() -> None:
    rng = np.random.default_rng(5)
    node = make_node("Einsum", ["x", "w", "v"], ["h"], equation="aij,jk,kl->ail")
    same_everywhere(([node], {"w": floats(rng, 3, 2), "v": floats(rng, 2, 4)}, (2, 3)), rng)


@pytest.mark.parametrize(
    ("equation", "code"),
    [
        *((each, "shape") for each in ("ij,jk", "", "aij,jka->k", "aai->i")),
        *((each, "unsupported_attribute") for each in ("aij,aij->b", "aij->aa", "a..i->a")),
    ],
)
def test_equations_that_make_no_sense_are_refused(equation: str, code: str) -> None:
    inputs = ["x"] * (1 + equation.count(","))
    with refuses(f"model.{code}"):
        load_onnx(model(([make_node("Einsum", inputs, ["h"], equation=equation)], {}, (3, 3))))


def self_product(k: int = 2, m: int = 2) -> Case:
    return lines((m, k), "Transpose x -> t", "Reshape t s -> r", "MatMul x r -> h", s=[1, k, m])


@pytest.mark.parametrize("tail", [(), ("Relu",)])
@pytest.mark.parametrize(("level", "weights"), [each for each in SETTINGS if each[1] != "committed"])
def test_it_is_proven(level: Level, weights: Privacy, tail: Sequence[str]) -> None:
    (*nodes, product), constants, shape = self_product()
    if tail:
        nodes += [make_node("MatMul", product.input, ["p"]), make_node("Relu", ["p"], ["h"])]
        prove((nodes, constants, shape), level, weights)
    else:
        prove(self_product(), level, weights)


def test_rows_are_the_fewer_of_products_and_of_a_check() -> None:
    """Of 8 by 8 matrices 512 products are more than 8 · 8 · 3 - 8 - 1 rows and powers."""
    network = quantise(load_onnx(model(self_product(8, 8))), np.random.default_rng(1).normal(size=(9, 8, 8)))
    plain, checked = (compile_inference(network, level=level) for level in (4, 5))

    def rows(circuit: Any) -> int:
        blocks = circuit.constraint_system.blocks
        return sum(block.rows for block in blocks if block.name.startswith("matmul1/product"))

    assert rows(plain) == 512
    assert rows(checked) == 183
    assert str(plan_inference(network).ways["matmul1"]).startswith("checked at a challenge")


@pytest.mark.parametrize("level", [4, 5])
def test_columns_share_a_field_element(level: Level) -> None:
    """At the cost that was said, with one value for each wire; what overflows from a slot into the next is
    refused by range checks alone."""
    case, rng = of_two(np.random.default_rng(3), (2, 3), (3, 5)), np.random.default_rng(4)
    network = quantise(load_onnx(model(case)), rng.normal(size=(32, 5)), 3)
    ways = plan_inference(network, level=level).explanation["matmul1"]
    packed, rows = next(each for each in ways if isinstance(each[0].encoding, Packed))
    with forced(inference, {"matmul1": packed}):
        circuit = compile_inference(network, level=level)
    assert circuit.constraint_system.constraints == rows
    q = networks.inputs(network, 1, 2)[0]
    honest = challenged(circuit.program, circuit.assign(q))
    assert_unique(circuit.program, honest)
    (relation,) = (each for each in circuit.relations.relations if isinstance(each, MatrixProduct))
    slots = Slots.of(Matrices.of(relation), relation.out.bound.interval, FR)
    assert slots.size == 5
    first, second, *_ = circuit.layout["matmul1/product"].ravel().tolist()
    lie = np.array(honest, object)
    lie[[first, second]] += [1 << slots.width, -1]
    system = circuit.constraint_system
    a, b, c = system.evaluate(kernels.fr.from_ints((lie % R).tolist()))
    noticed = np.flatnonzero((kernels.fr.mul(a, b) != c).any(axis=1)).tolist()
    names = {system.row_name(row).rpartition("[")[0] for row in noticed}
    assert "matmul1/product" not in names
    assert any(name.startswith(("matmul1/product_", "matmul1/product/top")) for name in names)


def test_a_vector_times_a_matrix_takes_a_row_for_several_columns() -> None:
    case = of_two(np.random.default_rng(3), (1, 64), (64, 8))
    network = quantise(load_onnx(model(case)), np.random.default_rng(4).normal(size=(32, 5)))
    ways = {type(way.encoding): rows for way, rows in plan_inference(network).explanation["matmul1"]}
    assert min(ways, key=ways.__getitem__) is Packed
    assert str(plan_inference(network).ways["matmul1"]).startswith("outer-product packing")


REFUSED: Mapping[str, Case] = {
    "other sizes": lines((2, 3), "MatMul x x -> h"),
    "other groups": lines(
        (4, 2, 2), "Slice x b e a -> c", "MatMul x c -> h", b=np.array([0]), e=np.array([3]), a=np.array([1])
    ),
    "a scalar": lines((2, 2), "MatMul x c -> h", c=np.float32(2)),
    "no matrix": lines((2, 2), "Gemm x x -> h"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_makes_no_sense_is_refused(name: str) -> None:
    with refuses("model.shape", match="multiplies"):
        load_onnx(model(REFUSED[name]))
