#!/usr/bin/env bash
# onnxruntime's Sigmoid of float32 is not monotone below -15, and 0 from -18 on.
#
# Versions: onnxruntime 1.32.0, onnx 1.23.2, numpy 2.x; CPUExecutionProvider, x86-64.
# Behaviour: the rational approximation ends in a sum with 0.5, so that small results are multiples of 2^-25.
# Detectors whose probabilities are far from any threshold (text, faces) return that grid, not their scores:
# sigmoid(-17) = 8.94e-08 is above sigmoid(-16) = 5.96e-08, and sigmoid(-14) is 7 % off. Ranking by such
# scores, or taking their logarithm, gives another order than the logits have.
# Output seen:
#   x   -14 -16 -17 -18
#   ort [7.7486038e-07 5.9604645e-08 8.9406967e-08 0.0000000e+00]
#   exact [8.31528028e-07 1.12535162e-07 4.13993755e-08 1.52299795e-08]
#   falls from -17 to -16: True; zero at -18: True
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check onnxruntime==1.32.0 onnx==1.23.2 2>/dev/null
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import onnxruntime
from onnx import TensorProto, helper

x = np.array([-14, -16, -17, -18], np.float32)
ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xy"]
graph = helper.make_graph([helper.make_node("Sigmoid", ["x"], ["y"])], "g", ends[:1], ends[1:])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
(made,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})
exact = 1 / (1 + np.exp(-x.astype(np.float64)))
falls, zero = bool(made[2] > made[1]), bool(made[3] == 0)
print("x  ", *x.astype(int))
print("ort", made)
print("exact", exact)
print(f"falls from -17 to -16: {falls}; zero at -18: {zero}")
raise SystemExit(not (falls and zero))
PYTHON
