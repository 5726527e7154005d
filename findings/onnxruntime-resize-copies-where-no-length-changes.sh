#!/bin/sh
# onnxruntime 1.32.0: Resize copies its input where the scales leave every length as it is, although they change
# all places.
#
# A scale of 1.3 makes 3 of 3 entries (3.9, rounded down) and 13 of 10. Of the 10 entries the places are 1.3 apart
# as they should be, i / 1.3: linear, asymmetric, they begin 0, 0.77, 1.54. Of the 3 they should be the same, and
# onnx 1.23.2's reference says so; onnxruntime returns 0, 1, 2, the input.
#
# Seen: "3 by 1.3: onnxruntime [0, 1, 2], reference [0, 0.77, 1.54]; 10 by 1.3: both [0, 0.77, 1.54]".
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


said = {"mode": "linear", "coordinate_transformation_mode": "asymmetric"}
three, ten = resize(row(3), 1.3, **said), resize(row(10), 1.3, **said)
places = np.arange(3) / 1.3
copied, spread = by_onnxruntime(three, row(3)), by_reference(three, row(3))
more = [by_onnxruntime(ten, row(10))[:3], by_reference(ten, row(10))[:3]]
print(
    f"3 by 1.3: onnxruntime {copied.round(2).tolist()}, reference {spread.round(2).tolist()}; "
    f"10 by 1.3: {[each.round(2).tolist() for each in more]}"
)
seen = np.array_equal(copied, [0, 1, 2]) and all(np.allclose(each, places) for each in (spread, *more))
sys.exit(not seen)
PYTHON
