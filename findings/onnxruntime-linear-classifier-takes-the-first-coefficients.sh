#!/usr/bin/env bash
# onnxruntime's LinearClassifier takes the first coefficients of a file that has too many, and says nothing;
# the file is one that its own wheel ships.
#
# Versions: onnxruntime 1.32.0, onnx 1.23.2, numpy 2.x.
# Behaviour: onnxruntime/datasets/logreg_iris.onnx declares an input of two features and three classes, and has
# twelve coefficients: those of a classifier of four features. The session loads and runs it: the six that come
# first, [class, feature] by rows of two, are used as if they were all. onnx's reference evaluator refuses it.
# Output seen:
#   coefficients 12, classes 3, features declared 2
#   onnxruntime is the first six by rows of two: True
#   onnx.reference refuses: True
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check onnxruntime==1.32.0 onnx==1.23.2 2>/dev/null
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import onnx
import onnxruntime
from onnx.reference import ReferenceEvaluator
from onnxruntime.datasets import get_example

model = onnx.load(get_example("logreg_iris.onnx"))
model.ir_version = max(model.ir_version, 3)
said = {each.name: each for each in model.graph.node[0].attribute}
coefficients, intercepts = (np.array(said[name].floats) for name in ("coefficients", "intercepts"))
dimensions = model.graph.input[0].type.tensor_type.shape.dim
x = np.array([[5.1, 3.5], [6.2, 2.9], [5.9, 3.0]], np.float32)
session = onnxruntime.InferenceSession(model.SerializeToString())
_, rows = session.run(None, {session.get_inputs()[0].name: x})
made = np.array([list(row.values()) for row in rows])
scores = 1 / (1 + np.exp(-(x @ coefficients[:6].reshape(3, 2).T + intercepts)))
first = bool(np.allclose(made, scores / scores.sum(axis=1, keepdims=True), atol=1e-5))
try:
    ReferenceEvaluator(model).run(None, {model.graph.input[0].name: x})
    refused = False
except Exception:
    refused = True
print(f"coefficients {len(coefficients)}, classes {len(intercepts)}, features declared {dimensions[1].dim_value}")
print("onnxruntime is the first six by rows of two:", first)
print("onnx.reference refuses:", refused)
raise SystemExit(not (first and refused))
PYTHON
