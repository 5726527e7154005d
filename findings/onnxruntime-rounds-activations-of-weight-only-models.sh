#!/usr/bin/env bash
# onnxruntime, by default, rounds the float inputs of a MatMul to 8 bits if the file quantises the weights alone.
#
# Versions: onnxruntime 1.32.0, onnx 1.23.2, numpy 2.4.6, on x86-64.
# Behaviour: a file with DequantizeLinear on int8 weights and a MatMul of float32 activations asks for a product in
# floats. At the default optimisation level the pair becomes MatMulNBits with accuracy_level=4, which quantises the
# activations, too. Without optimisations, and at the basic level, answers are those of the file to 1e-6. No warning
# is written. (session.qdq_matmulnbits_accuracy_level is said to choose; its default is 4.)
# Output seen:
#   none: 0.0000 % of the range off; basic: 0.0000 %; default: 0.3589 %
#   the default runs MatMulNBits with accuracy_level 4
# Exit status: 0 while this is so, 1 when it changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6 2>/dev/null
"$folder/venv/bin/python" - "$folder/optimised.onnx" <<'PYTHON'
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

onnxruntime.set_default_logger_severity(4)
rng = np.random.default_rng(0)
q = rng.integers(-127, 128, (256, 64)).astype(np.int8)
scale = np.float32(0.01)
nodes = [
    helper.make_node("DequantizeLinear", ["q", "s"], ["w"]),
    helper.make_node("MatMul", ["x", "w"], ["y"]),
]
info = helper.make_tensor_value_info
graph = helper.make_graph(
    nodes,
    "weights",
    [info("x", TensorProto.FLOAT, [1, 256])],
    [info("y", TensorProto.FLOAT, [1, 64])],
    [numpy_helper.from_array(q, "q"), numpy_helper.from_array(scale, "s")],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
onnx.checker.check_model(model)
file = model.SerializeToString()
x = rng.normal(size=(1, 256)).astype(np.float32)
exact = x.astype(np.float64) @ (q * np.float64(scale))


def off(level, path=""):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = level
    options.optimized_model_filepath = path
    (answer,) = onnxruntime.InferenceSession(file, options).run(None, {"x": x})
    return float(np.abs(answer - exact).max() / np.ptp(exact))


levels = onnxruntime.GraphOptimizationLevel
plain, basic = off(levels.ORT_DISABLE_ALL), off(levels.ORT_ENABLE_BASIC)
default = off(onnxruntime.SessionOptions().graph_optimization_level, sys.argv[1])
print(f"none: {plain:.4%} of the range off; basic: {basic:.4%}; default: {default:.4%}".replace("%", " %"))
made = [(node.op_type, {each.name: each.i for each in node.attribute}) for node in onnx.load(sys.argv[1]).graph.node]
found = [said.get("accuracy_level") for operator, said in made if operator == "MatMulNBits"]
print(f"the default runs {made[-1][0]} with accuracy_level {found[0] if found else None}")
raise SystemExit(0 if max(plain, basic) < 1e-6 and default > 1e-3 and found == [4] else 1)
PYTHON
