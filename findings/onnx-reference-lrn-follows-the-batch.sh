#!/bin/sh
# onnx 1.23.2: `onnx.reference` normalises only as many channels of LRN as there are samples.
#
# The loop over channels of its LRN counts to the first dimension of the input, the batch. Of one image with five
# channels the first alone is normalised, all others are divided by bias ** beta, 1 by default: they come back as
# they were. The same image in a batch of five is normalised whole, so its answer depends on the batch it is in.
# onnxruntime 1.32.0, and the formula in the operator's specification, normalise all channels of every image.
#
# Seen: "one image: 1 of 5 channels right; the same image in a batch of five: 5 of 5".
# Exit status: 0 while this is so, 1 when the evaluator is right, or wrong in another way.
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

CHANNELS = 5


def answers(x):
    node = helper.make_node("LRN", ["x"], ["y"], size=3, alpha=1.0)
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        [node], "lrn", [info("x", TensorProto.FLOAT, x.shape)], [info("y", TensorProto.FLOAT, x.shape)]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (runtime,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})
    (reference,) = ReferenceEvaluator(model).run(None, {"x": x})
    squares = np.pad(x.astype(float) ** 2, ((0, 0), (1, 1), (0, 0), (0, 0)))
    sums = squares[:, :-2] + squares[:, 1:-1] + squares[:, 2:]
    np.testing.assert_allclose(runtime, x / (1 + sums / 3) ** 0.75, rtol=1e-5)
    return runtime[0], reference[0]


def right(x):
    runtime, reference = answers(x)
    return [bool(np.allclose(runtime[at], reference[at], rtol=1e-5)) for at in range(CHANNELS)]


image = np.random.default_rng(0).normal(size=(1, CHANNELS, 2, 2)).astype(np.float32)
alone, together = right(image), right(np.repeat(image, CHANNELS, axis=0))
print(f"one image: {sum(alone)} of {CHANNELS} channels right; the same image in a batch of five: {sum(together)} of {CHANNELS}")
raise SystemExit(0 if alone == [True] + [False] * 4 and all(together) else 1)
PYTHON
