"""A network of two inputs, ids of words and a mask, as encoders of texts take them, and labelled texts."""

from __future__ import annotations

import io

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from zenserve.relations.integers import IntArray

WORDS, LENGTH, CLASSES = 20, 6, 3


def network() -> bytes:
    """``scores``: of the mean of those words that the mask lets through."""
    rng = np.random.default_rng(0)
    weights = {"table": rng.normal(size=(WORDS, 4)), "head": rng.normal(size=(4, CLASSES)), "one": np.ones(1)}
    nodes = [
        helper.make_node("Gather", ["table", "ids"], ["read"], axis=0),
        helper.make_node("Cast", ["mask"], ["kept"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["kept", "last"], ["column"]),
        helper.make_node("Mul", ["read", "column"], ["seen"]),
        helper.make_node("ReduceSum", ["seen", "words"], ["sum"], keepdims=0),
        helper.make_node("ReduceSum", ["kept", "words"], ["count"], keepdims=1),
        helper.make_node("Max", ["count", "one"], ["some"]),
        helper.make_node("Div", ["sum", "some"], ["mean"]),
        helper.make_node("MatMul", ["mean", "head"], ["scores"]),
    ]
    graph = helper.make_graph(
        nodes,
        "texts",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["n", LENGTH]) for name in ("ids", "mask")],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["n", CLASSES])],
        [
            *(numpy_helper.from_array(each.astype(np.float32), name) for name, each in weights.items()),
            *(numpy_helper.from_array(np.array([axis]), name) for name, axis in (("words", 1), ("last", 2))),
        ],
    )
    opsets = [helper.make_opsetid("", 17)]
    return bytes(helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString())


def texts(count: int, seed: int = 1) -> dict[str, IntArray]:
    """``ids`` and ``mask``, int64[count, LENGTH]: texts of one word to all, the first with all words."""
    rng = np.random.default_rng(seed)
    lengths = np.maximum(rng.integers(1, LENGTH + 1, count), [LENGTH] + [1] * (count - 1))
    ids = rng.integers(0, WORDS, (count, LENGTH))
    return {"ids": ids, "mask": (np.arange(LENGTH) < lengths[:, None]).astype(np.int64)}


def scores(given: dict[str, IntArray]) -> NDArray[np.float32]:
    """What onnxruntime makes of the texts, float32[count, CLASSES]."""
    made: NDArray[np.float32] = onnxruntime.InferenceSession(network()).run(None, given)[0]
    return made


def as_npz(**arrays: NDArray[np.generic]) -> bytes:
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **arrays)
    return file.getvalue()
