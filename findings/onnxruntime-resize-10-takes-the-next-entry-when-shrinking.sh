#!/bin/sh
# onnxruntime 1.32.0: the nearest entry of Resize in opset 10 is the one before a place when it enlarges, and the one
# after when it shrinks.
#
# Opset 10 does not say which entry is the nearest, and later ones have an attribute for it. The same network in
# opset 11 with the coordinates of opset 10 (asymmetric) and any one nearest_mode shrinks and enlarges alike. Whoever
# raises the opset of a file has to write "floor" for scales above 1 and "ceil" for those below.
#
# Seen: "by 0.6: [0, 2, 4, 5, 7, 9], which is ceil; by 1.5: [0, 0, 1, 2, 2, 3], which is floor".
# Exit status: 0 while this is so, 1 when it changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check onnx==1.23.2 onnxruntime==1.32.0 numpy
"$folder/venv/bin/python" - <<'PYTHON'
import sys

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator


def resize(x, scale, opset=19, **said):
    info = helper.make_tensor_value_info
    inputs = ["x", "scales"] if opset < 11 else ["x", "", "scales"]
    graph = helper.make_graph(
        [helper.make_node("Resize", inputs, ["y"], **said)],
        "resize",
        [info("x", TensorProto.FLOAT, x.shape)],
        [info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.array([1, 1, 1, scale], np.float32), "scales")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def by_onnxruntime(model, x):
    return onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})[0].ravel()


def by_reference(model, x):
    return ReferenceEvaluator(model).run(None, {"x": x})[0].ravel()


def row(size):
    return np.arange(size, dtype=np.float32).reshape(1, 1, 1, size)


found = {}
for scale in (0.6, 1.5):
    old = by_onnxruntime(resize(row(10), scale, opset=10, mode="nearest"), row(10))
    said = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric"}
    names = [
        name
        for name in ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil")
        if np.array_equal(old, by_onnxruntime(resize(row(10), scale, nearest_mode=name, **said), row(10)))
    ]
    found[scale] = names
    print(f"by {scale}: {old[:6].astype(int).tolist()}, which is {names}")
sys.exit(found != {0.6: ["ceil"], 1.5: ["floor"]})
PYTHON
