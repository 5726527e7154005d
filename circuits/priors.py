"""Networks made models of banks: they say two labels, of what they see, and the answer, to which one
more input, ``prior``, is added. All have 8 bits and one step, so that the sum is exact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from circuits.banks import MARGIN, bit_of
from circuits.graphs.types import FloatArray
from circuits.networks.files import load_onnx
from verifier.bank import ANSWER, PRIOR, SEEN
from zenerrors import ModelError

_MIDDLE: Final = 128
# The first that has QuantizeLinear.
_OPSET: Final = 10


@dataclass(frozen=True)
class Member:
    """A network with a prior: ``step`` is what one integer of its outputs, and of its prior, is worth."""

    onnx: bytes
    step: float

    @property
    def bit(self) -> int:
        """256 times the steps that double the odds, of outputs that are logits."""
        return bit_of(self.step)

    def priors(self, classes: int, samples: int) -> FloatArray:
        """Of a calibration: float64[samples, classes], as far as priors reach."""
        return np.tile(np.linspace(-MARGIN * self.step, 0, classes), (samples, 1))


def with_prior(model: bytes, images: FloatArray) -> Member:
    """``model``: an ONNX file of one input, whose one output has a number for each class; ``images``
    float64[n, ...]: typical inputs, which say how far the outputs reach. Raises ``ModelError``
    (``model.inputs``, ``model.outputs``, ``model.shape``, ``model.opset``)."""
    graph = load_onnx(model)
    if graph.input.name == PRIOR:
        raise ModelError("model.inputs", f"the network's input is called {PRIOR}: give it another name")
    logits = graph.run(images)
    if logits.ndim != 2 or logits.shape[1] < 2:
        raise ModelError("model.shape", "a bank's network has a number for each of two classes or more")
    step = float(np.float32(max(np.abs(logits).max(), 1e-6) / (_MIDDLE - 1)))
    file = onnx.load_from_string(model)
    if any(each.version < _OPSET for each in file.opset_import if each.domain in ("", "ai.onnx")):
        raise ModelError("model.opset", f"export the network for operator set {_OPSET} or newer")
    names = {"step": np.float32(step), "middle": np.uint8(_MIDDLE), "top": np.uint8(MARGIN)}
    file.graph.initializer.extend(
        numpy_helper.from_array(np.asarray(value), f"{PRIOR}.{name}") for name, value in names.items()
    )
    shape = ["batch", logits.shape[1]]
    (end,) = file.graph.output
    terms = [*_rounded(end.name, "middle"), *_rounded(PRIOR, "top")]
    outputs = [terms[1].output[0], terms[3].output[0]]
    seen = helper.make_node("Identity", outputs[:1], [SEEN])
    file.graph.node.extend([*terms, seen, helper.make_node("Add", outputs, [ANSWER])])
    file.graph.input.append(helper.make_tensor_value_info(PRIOR, TensorProto.FLOAT, shape))
    del file.graph.output[:]
    file.graph.output.extend(
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in (SEEN, ANSWER)
    )
    return Member(bytes(file.SerializeToString()), step)


def _rounded(name: str, zero: str) -> list[onnx.NodeProto]:
    constants = [f"{PRIOR}.step", f"{PRIOR}.{zero}"]
    return [
        helper.make_node("QuantizeLinear", [name, *constants], [f"{PRIOR}.{zero}.q"]),
        helper.make_node("DequantizeLinear", [f"{PRIOR}.{zero}.q", *constants], [f"{PRIOR}.{zero}.real"]),
    ]
