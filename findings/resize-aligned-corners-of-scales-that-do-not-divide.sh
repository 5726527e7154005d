#!/bin/sh
# onnx 1.23.2 and onnxruntime 1.32.0 put the entries of a Resize with aligned corners in other places where the scale
# does not divide: onnx's reference, and its own test test_resize_downsample_scales_linear_align_corners, read beyond
# the last corner.
#
# Of 4 entries a scale of 0.6 makes 2. Aligned corners are the first entry and the last: 0 and 3. onnxruntime says so.
# The reference divides by 4 * 0.6 - 1 and not by the length less one: its second entry is at 3 / 1.4 = 2.14, no
# corner. Where the output is given by sizes and not by scales both agree.
#
# Seen: "scale 0.6 of 4: onnxruntime [0, 3], reference [0, 2.14]; scale 0.5: both [0, 3]".
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


said = {"mode": "linear", "coordinate_transformation_mode": "align_corners"}
found = {}
for scale in (0.6, 0.5):
    model = resize(row(4), scale, **said)
    found[scale] = by_onnxruntime(model, row(4)), by_reference(model, row(4))
print("; ".join(
    f"scale {scale} of 4: onnxruntime {one.round(2).tolist()}, reference {other.round(2).tolist()}"
    for scale, (one, other) in found.items()
))
seen = (
    np.allclose(found[0.6][0], [0, 3])
    and np.allclose(found[0.6][1], [0, 3 / 1.4])
    and all(np.allclose(each, [0, 3]) for each in found[0.5])
)
sys.exit(not seen)
PYTHON
