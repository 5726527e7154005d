#!/bin/sh
# onnx 1.23.2: the Indices that `onnx.reference` gives for MaxPool name other entries than the largest where
# windows overlap.
#
# MaxPool's second output says where in the input each largest value was, so x.flat[indices] is the first output.
# With a stride as large as the kernel that holds. With a smaller stride the values are right and the indices are
# not: entries of the input at the indices are less than the values beside them. onnxruntime 1.32.0 is right in both.
#
# Seen: "stride 2: 4 of 4 indices name the value; stride 1: 4 of 9".
# Exit status: 0 while this is so, 1 when it changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check onnx==1.23.2 onnxruntime==1.32.0 numpy
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import onnxruntime
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator


def named(stride):
    """How many indices name the value that they are given for, by the evaluator and by onnxruntime."""
    x = np.random.default_rng(0).normal(size=(1, 1, 4, 4)).astype(np.float32)
    node = helper.make_node("MaxPool", ["x"], ["y", "i"], kernel_shape=[2, 2], strides=[stride, stride])
    info = helper.make_tensor_value_info
    outputs = [info("y", TensorProto.FLOAT, None), info("i", TensorProto.INT64, None)]
    graph = helper.make_graph([node], "pool", [info("x", TensorProto.FLOAT, x.shape)], outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    values, indices = ReferenceEvaluator(model).run(None, {"x": x})
    expected, places = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})
    np.testing.assert_array_equal(values, expected)
    np.testing.assert_array_equal(x.flat[places.ravel()], expected.ravel())
    return int((x.flat[indices.ravel()] == values.ravel()).sum()), values.size


(apart, some), (overlapping, all_) = named(2), named(1)
print(f"stride 2: {apart} of {some} indices name the value; stride 1: {overlapping} of {all_}")
raise SystemExit(0 if apart == some and overlapping < all_ else 1)
PYTHON
