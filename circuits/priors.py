"""Networks made models of banks: they say two labels, of what they see, and the answer, to which one
more input, ``prior``, is added.

The two have one step, so that the sum is exact. It is a power of two times that of the network's own sums,
which then need no multiplier, and no clamp, as 16 bits hold whatever they reach: what they are cut to takes
hardly more rows than the sums themselves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from zenserve.circuits.banks import MARGIN, bit_of
from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.types import FloatArray
from zenserve.circuits.networks.files import load_onnx
from zenserve.circuits.quantisation.quantiser import quantise
from zenserve.circuits.quantised.graph import OUTPUT
from zenserve.circuits.quantised.typed import TypedGraph
from zenserve.errors import ModelError
from zenserve.verifier.bank import ANSWER, PRIOR, SEEN

_MIDDLE: Final = 1 << 15
_LIMB: Final = 8
# The first that has DequantizeLinear.
_OPSET: Final = 10
# Its QuantizeLinear has 16 bits in every version.
_MICROSOFT: Final = "com.microsoft"


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


def with_prior(model: bytes, images: FloatArray, bits: int = 8) -> Member:
    """``model``: an ONNX file of one input, whose one output has a number for each class; ``images``
    float64[n, ...]: typical inputs, which say how far the outputs reach. By these it is to be quantised, to
    ``bits``: by others, or to other bits, it is as right, and takes more rows. Raises ``ModelError``
    (``model.inputs``, ``model.outputs``, ``model.shape``, ``model.opset``)."""
    graph = load_onnx(model)
    if graph.input.name == PRIOR:
        raise ModelError("model.inputs", f"the network's input is called {PRIOR}: give it another name")
    logits = graph.run(images)
    if logits.ndim != 2 or logits.shape[1] < 2:
        raise ModelError("model.shape", "a bank's network has a number for each of two classes or more")
    step = _step(graph, images, bits, max(np.abs(logits).max(), 1e-6) / MARGIN)
    file = onnx.load_from_string(model)
    if any(each.version < _OPSET for each in file.opset_import if each.domain in ("", "ai.onnx")):
        raise ModelError("model.opset", f"export the network for operator set {_OPSET} or newer")
    if all(each.domain != _MICROSOFT for each in file.opset_import):
        file.opset_import.append(helper.make_opsetid(_MICROSOFT, 1))
    names = {"step": np.float32(step), "middle": np.uint16(_MIDDLE), "top": np.uint8(MARGIN)}
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


def _step(graph: Graph, images: FloatArray, bits: int, wanted: float) -> float:
    """A power of two times the step of the network's sums: the nearest to ``wanted``, or one of the next two
    where that cuts off a whole limb of range checks, and leaves sums that 16 bits hold with any prior."""
    quantised = quantise(graph, images, bits)
    scale, _ = quantised.scale_of(quantised.outputs[OUTPUT]) or (1.0, 0)
    reach = int(TypedGraph(quantised, "private", "private").outputs[OUTPUT].bound.reach.max())
    held = math.ceil(math.log2(reach / (_MIDDLE - MARGIN)))
    nearest = round(math.log2(wanted / scale))
    return float(np.float32(math.ldexp(scale, max(0, nearest, min(nearest + 2, max(held, _LIMB))))))


def _rounded(name: str, zero: str) -> list[onnx.NodeProto]:
    constants = [f"{PRIOR}.step", f"{PRIOR}.{zero}"]
    return [
        helper.make_node(kind, [read, *constants], [made], domain=_MICROSOFT)
        for kind, read, made in (
            ("QuantizeLinear", name, f"{PRIOR}.{zero}.q"),
            ("DequantizeLinear", f"{PRIOR}.{zero}.q", f"{PRIOR}.{zero}.real"),
        )
    ]
