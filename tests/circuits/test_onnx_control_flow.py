"""Branches, loops, lists of tensors and local functions: as onnxruntime, or ONNX's reference, runs them."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import parser
from onnx.reference import ReferenceEvaluator

from tests.refusals import refuses
from zenserve.circuits import load_onnx, quantise

_HEAD = '<ir_version: 10, opset_import: ["" : 18, "pkg" : 1]>'


def _model(nodes: str, weights: str = "", functions: str = "") -> bytes:
    """A network from x [1, 4] to y."""
    text = f"{_HEAD} g (float[1,4] x) => (float y) <{weights}> {{ {nodes} }} {functions}"
    return bytes(parser.parse_model(text).SerializeToString())


_BRANCHES = "then_branch = t () => (float a) { a = Neg(x) }, else_branch = e () => (float b) { b = Exp(x) }"
_TWICE = "then_branch = t () => (float[1,4] a) { a = Add(x, x) }"

CASES: dict[str, tuple[str, ...]] = {
    "a branch": (f"y = If(c) <{_BRANCHES}>", "bool c = {1}"),
    "the other": (f"y = If(c) <{_BRANCHES}>", "bool c = {0}"),
    "by a shape": (
        f"s = Shape(x) d = Gather(s, i) c = Equal(d, n) y = If(c) <{_BRANCHES}>",
        "int64 i = {1}, int64 n = {4}",
    ),
    "of two shapes": (
        "z = If(c) <then_branch = t () => (float a) { a = Transpose(x) },"
        "else_branch = e () => (float b) { b = Identity(x) }> y = Exp(z)",
        "bool c = {1}",
    ),
    "of outputs": (
        "a, b = If(c) <then_branch = t () => (float p, float q) { p = Neg(x) q = Exp(x) },"
        "else_branch = e () => (float r, float s) { r = Exp(x) s = Neg(x) }> y = Sub(a, b)",
        "bool c = {0}",
    ),
    "of values around it": (
        "k = Mul(x, w) y = If(c) <then_branch = t () => (float a) { j = Add(k, v) a = Mul(j, w) },"
        "else_branch = e () => (float b) { b = Identity(k) }>",
        "bool c = {1}, float[4] w = {1, 2, 3, 4}, float v = {0.5}",
    ),
    "a branch that cannot be read is not taken": (
        "y = If(c) <then_branch = t () => (float a) { a = Neg(x) },"
        "else_branch = e () => (float b) { b = RandomNormalLike(x) }>",
        "bool c = {1}",
    ),
    "in a branch": (
        "y = If(c) <then_branch = t () => (float a) { k = Neg(x) a = If(d) <then_branch = u () => (float p)"
        "{ p = Exp(k) }, else_branch = v () => (float q) { q = Add(k, x) }> },"
        "else_branch = e () => (float b) { b = Identity(x) }>",
        "bool c = {1}, bool d = {0}",
    ),
    "by a computed condition": (
        "s = ReduceSum <keepdims = 0> (x) c = Less(s, z) y = If(c) <then_branch = t () => (float[1,4] a)"
        "{ a = Neg(x) }, else_branch = e () => (float[1,4] b) { b = Mul(x, w) }>",
        "float z = {0.25}, float[4] w = {1, 2, 3, 4}",
    ),
    "by a condition of two axes": (
        "s = ReduceSum <keepdims = 1> (x) c = Less(s, z) y = If(c) <then_branch = t () => (float[1,4] a)"
        "{ a = Neg(x) }, else_branch = e () => (float[1,4] b) { b = Exp(x) }>",
        "float z = {0.25}",
    ),
    "a loop": (
        "y = Loop(n, c, x) <body = b (int64 i, bool k, float s) => (bool l, float t)"
        "{ l = Identity(k) f = Cast <to = 1> (i) u = Add(s, f) t = Tanh(u) }>",
        "int64 n = {3}, bool c = {1}",
    ),
    "a loop that hands out": (
        "s, y = Loop(n, , x) <body = b (int64 i, bool k, float s) => (bool k, float t, float u)"
        "{ t = Mul(s, w) u = Add(s, x) }>",
        "int64 n = {3}, float w = {0.5}",
    ),
    "a loop that ends by a condition": (
        "y, j = Loop( , c, x, o) <body = b (int64 i, bool k, float s, int64 m) => (bool l, float t, int64 q)"
        "{ q = Add(m, o) l = Less(q, e) t = Add(s, x) }>",
        "bool c = {1}, int64 o = {1}, int64 e = {4}",
    ),
    "a loop that does not run": (
        "z = Loop(n, , x) <body = b (int64 i, bool k, float s) => (bool k, float t) { t = Neg(s) }>"
        "y = Exp(z)",
        "int64 n = {0}",
    ),
    "a loop that gathers": (
        "s = Shape(x) n = Gather(s, o) z, y = Loop(n, , x) <body = b (int64 i, bool k, float[1,4] s) =>"
        "(bool k, float[1,4] t, float[1] u) { t = Identity(s) u = Gather <axis = 1> (s, i) }>",
        "int64 o = {1}",
    ),
    "a loop in a loop": (
        "y = Loop(n, , x) <body = b (int64 i, bool k, float s) => (bool k, float t) { t = Loop(n, , s)"
        "<body = d (int64 j, bool m, float p) => (bool m, float q) { r = Sin(p) q = Add(r, s) }> }>",
        "int64 n = {2}",
    ),
    "a scan": (
        "r = Transpose(x) s, y = Scan <num_scan_inputs = 1, body = b (float[1] p, float[1] e) =>"
        "(float[1] q, float[1] f)"
        "{ q = Add(p, e) f = Identity(q) }> (z, r)",
        "float[1] z = {0.5}",
    ),
    "a scan backward along another axis": (
        "s, y = Scan <num_scan_inputs = 1, scan_input_axes = [1], scan_input_directions = [1],"
        "scan_output_axes = [1], scan_output_directions = [1], body = b (float[1] p, float[1] e) =>"
        "(float[1] q, float[1] f) { q = Add(p, e) f = Mul(q, q) }> (z, x)",
        "float[1] z = {0.5}",
    ),
    "parts of one size": (
        "s = SplitToSequence <axis = 1> (x, k) y = SequenceAt(s, i)",
        "int64 k = {3}, int64 i = {-1}",
    ),
    "parts of several sizes": (
        "s = SplitToSequence <axis = 1> (x, k) y = SequenceAt(s, i)",
        "int64[2] k = {1, 3}, int64 i = {1}",
    ),
    "parts without their axis": (
        "s = SplitToSequence <axis = 1, keepdims = 0> (x) a = SequenceAt(s, i) y = Exp(a)",
        "int64 i = {2}",
    ),
    "a list": (
        "e = SequenceEmpty() a = SequenceInsert(e, x) n = Neg(x) b = SequenceInsert(a, n, o)"
        "c = SequenceInsert(b, n) d = SequenceErase(c, o) y = ConcatFromSequence <axis = 0, new_axis = 1>"
        "(d)",
        "int64 o = {0}",
    ),
    "a list that is joined": (
        "n = Neg(x) s = SequenceConstruct(x, n, x) y = ConcatFromSequence <axis = -1> (s)",
    ),
    "how long a list is": (
        "s = SequenceConstruct(x, x, x) n = SequenceLength(s) f = Cast <to = 1> (n) y = Mul(x, f)",
    ),
    "a list of constants": (
        "s = SequenceConstruct(v, w) c = SequenceAt(s, i) y = Mul(x, c)",
        "float v = {2}, float w = {3}, int64 i = {1}",
    ),
    "a list in a loop": (
        "e = SequenceConstruct(x) l = Loop(n, , e) <body = b (int64 i, bool k, seq(float) s) =>"
        "(bool k, seq(float) t) { a = SequenceAt(s, i) c = Sin(a) t = SequenceInsert(s, c) }>"
        "y = ConcatFromSequence <axis = 0> (l)",
        "int64 n = {2}",
    ),
    "a list that is mapped": (
        "n = Neg(x) s = SequenceConstruct(x, n) m = SequenceMap <body = b (float[1,4] p, float[4] q) =>"
        "(float[1,4] r)"
        "{ r = Add(p, q) }> (s, w) y = ConcatFromSequence <axis = 0> (m)",
        "float[4] w = {1, 2, 3, 4}",
    ),
    "an optional": (
        "o = Optional(x) h = OptionalHasElement(o) e = OptionalGetElement(o) y = If(h) <"
        "then_branch = t () => (float a) { a = Neg(e) }, else_branch = f () => (float b) { b = Exp(e) }>",
    ),
    "a function": (
        "y = pkg.f <alpha = 0.25> (x, w)",
        "float[4] w = {1, 2, 3, 4}",
        '<opset_import: ["" : 18], domain: "pkg"> f <alpha> (a, b) => (c)'
        "{ d = Mul(a, b) c = LeakyRelu <alpha: float = @alpha> (d) }",
    ),
    "a function in a function": (
        "k = pkg.f(x) y = pkg.f(k)",
        "",
        '<opset_import: ["" : 18, "pkg" : 1], domain: "pkg"> f (a) => (c) { d = pkg.g(a) c = pkg.g(d) }'
        '<opset_import: ["" : 18], domain: "pkg"> g (a) => (c) { c = Tanh(a) }',
    ),
    "a function of an older operator set": (
        "y = pkg.f(x)",
        "",
        '<opset_import: ["" : 17], domain: "pkg"> f (a) => (c) { c = Tanh(a) }',
    ),
    "a function in a branch": (
        "y = If(c) <then_branch = t () => (float a) { a = pkg.f(x) },"
        "else_branch = e () => (float b) { b = Exp(x) }>",
        "bool c = {1}",
        '<opset_import: ["" : 18], domain: "pkg"> f (a) => (c) { c = Tanh(a) }',
    ),
}
# Forms that onnxruntime refuses or gives no shape.
_REFERENCE = {"a branch that cannot be read is not taken"}


@pytest.mark.parametrize("name", CASES)
def test_control_flow_becomes_what_runs(name: str) -> None:
    data = _model(*CASES[name])
    for seed in range(3):
        x = np.random.default_rng(seed).normal(size=(1, 4)).astype(np.float32)
        session = ReferenceEvaluator(data) if name in _REFERENCE else onnxruntime.InferenceSession(data)
        (expected,) = session.run(None, {"x": x})
        made = load_onnx(data, whole=True).run(x.astype(np.float64))
        np.testing.assert_allclose(made.ravel(), np.ravel(expected), atol=1e-5)


def test_a_loop_is_quantised_as_the_nodes_that_it_becomes() -> None:
    data = _model(*CASES["a loop"])
    graph = load_onnx(data, whole=True)
    x = np.random.default_rng(0).normal(size=(64, 4))
    network = quantise(graph, x, bits=12)
    (name,) = network.outputs.values()
    told = network.scale_of(name)
    assert told is not None
    scale, zero = told
    found = scale * (network.run(network.quantise_input(x[0])[np.newaxis]) - zero)
    np.testing.assert_allclose(found, graph.run(x[:1]), atol=0.01)


@pytest.mark.parametrize(
    ("nodes", "weights", "functions", "code", "words"),
    [
        (
            "s = ReduceSum <keepdims = 0> (x) c = Less(s, z) y = If(c) <then_branch = t () => (float a)"
            "{ a = Transpose(x) }, else_branch = e () => (float b) { b = Identity(x) }>",
            "float z = {0}",
            "",
            "unsupported_operator",
            "two shapes",
        ),
        (
            "s = ReduceSum <keepdims = 0> (x) n = Cast <to = 7> (s) y = Loop(n, , x) <body = b (int64 i,"
            "bool k, float s) => (bool k, float t) { t = Neg(s) }>",
            "",
            "",
            "unsupported_operator",
            "fixes",
        ),
        (
            "y = Loop(n, c, x) <body = b (int64 i, bool k, float s) => (bool l, float t)"
            "{ t = Neg(s) r = ReduceSum <keepdims = 0> (t) l = Less(r, z) }>",
            "int64 n = {3}, bool c = {1}, float z = {0}",
            "",
            "unsupported_operator",
            "computed condition",
        ),
        ("y = Loop(n, , x) <body = b (int64 i, bool k, float s) => (bool k, float t) { t = Neg(s) }>",
         "int64 n = {4611686018427387904}", "", "too_large", "unroll"),
        ("y = Loop( , c, x) <body = b (int64 i, bool k, float s) => (bool k, float s) { }>",
         "bool c = {1}", "", "too_large", "unroll"),
        ("s = SequenceConstruct(x, x) y = SequenceAt(s, i)", "int64 i = {2}", "", "shape", "place 2"),
        ("y = SequenceConstruct(x, x)", "", "", "outputs", "list of tensors"),
        ("s = SequenceConstruct(x, x) y = Relu(s)", "", "", "tensor_type", "list"),
        (
            "y = pkg.f(x)", "", '<opset_import: ["" : 11], domain: "pkg"> f (a) => (c) { c = Softmax(a) }',
            "opset", "pkg.f",
        ),
    ],
)  # fmt: skip
def test_what_an_input_decides_is_refused(
    nodes: str, weights: str, functions: str, code: str, words: str
) -> None:
    with refuses(f"model.{code}", match=words):
        load_onnx(_model(nodes, weights, functions))


def test_a_shadowed_name_is_that_of_the_inner_graph() -> None:
    """What a branch calls k is its own, and what follows the branch reads the outer one."""
    branch = onnx.helper.make_graph(
        [
            onnx.helper.make_node("Neg", ["x"], ["inner"]),
            onnx.helper.make_node("Exp", ["inner"], ["out"]),
        ],
        "branch",
        [],
        [onnx.helper.make_empty_tensor_value_info("out")],
    )
    nodes: list[Any] = [
        onnx.helper.make_node("Abs", ["x"], ["inner"]),
        onnx.helper.make_node("If", ["c"], ["z"], then_branch=branch, else_branch=branch),
        onnx.helper.make_node("Add", ["z", "inner"], ["y"]),
    ]
    x = np.array([[1.0, -2.0, 0.5, 3.0]])
    info = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        nodes,
        "g",
        [info("x", 1, [1, 4])],
        [info("y", 1, None)],
        [onnx.numpy_helper.from_array(np.array(True), "c")],
    )
    data = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)]).SerializeToString()
    np.testing.assert_allclose(load_onnx(data).run(x), np.exp(-x) + np.abs(x))
