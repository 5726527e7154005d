#!/bin/sh
# onnx 1.23.2: `onnx.reference` shows capped scores where Attention is asked for the raw ones.
#
# qk_matmul_output_mode=0, the default, is "raw QK matmul result", and mode 1 is "after softcap". With a softcap the
# evaluator's fourth output is the same in both modes: 2 tanh(s / 2) of scores s. onnxruntime 1.32.0 shows s and
# 2 tanh(s / 2). The first output, Y, is the same everywhere.
#
# Seen: "mode 0: onnxruntime raw, reference capped; mode 1: both capped".
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
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator


def shown(mode, x):
    info = helper.make_tensor_value_info
    said = {"softcap": 2.0, "qk_matmul_output_mode": mode}
    graph = helper.make_graph(
        [helper.make_node("Attention", ["q", "k", "v"], ["y", "", "", "s"], **said)],
        "attention",
        [info(name, TensorProto.FLOAT, each.shape) for name, each in x.items()],
        [info("s", TensorProto.FLOAT, None)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)
    runtime = onnxruntime.InferenceSession(model.SerializeToString()).run(None, x)[0]
    return {"onnxruntime": runtime, "reference": ReferenceEvaluator(model).run(None, x)[0]}


rng = np.random.default_rng(0)
x = {name: 2 * rng.normal(size=(1, 1, 2, 4)).astype(np.float32) for name in "qkv"}
raw = x["q"] @ x["k"].swapaxes(-1, -2) / 2
known = {"raw": raw, "capped": 2 * np.tanh(raw / 2)}
found = {
    (mode, whose): [name for name, each in known.items() if np.allclose(made, each, atol=1e-5)]
    for mode in (0, 1)
    for whose, made in shown(mode, x).items()
}
print("; ".join(f"mode {mode}, {whose}: {names}" for (mode, whose), names in found.items()))
sys.exit(
    found
    != {
        (0, "onnxruntime"): ["raw"],
        (0, "reference"): ["capped"],
        (1, "onnxruntime"): ["capped"],
        (1, "reference"): ["capped"],
    }
)
PYTHON
