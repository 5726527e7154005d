"""QONNX's quantisers, which Brevitas, QKeras and HAWQ write: floats as integers of any number of bits.

Their scales, zero points and bits are taken over as those of QuantizeLinear are. Weights keep their integers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np

from zenserve.circuits.graphs import formula
from zenserve.circuits.graphs.types import MOST_BITS, Declared, FloatArray
from zenserve.circuits.onnx.constants import Constant, Element
from zenserve.circuits.onnx.naming import require_finite, where
from zenserve.circuits.onnx.step import Data, Operator, Step, Value
from zenserve.circuits.operators.activation import Activation
from zenserve.circuits.operators.clip import Clip
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.scale import affine, affine_of

_ROUNDED: Final[Mapping[str, str]] = {
    **dict.fromkeys(("ROUND", "HALF_EVEN"), "round(x)"),
    **dict.fromkeys(("DOWN", "ROUND_TO_ZERO"), "sign(x) * floor(abs(x))"),
    "CEIL": "ceil(x)",
    "FLOOR": "floor(x)",
    "HALF_DOWN": "sign(x) * ceil(abs(x) - 0.5)",
    "HALF_UP": "sign(x) * floor(abs(x) + 0.5)",
    "UP": "sign(x) * ceil(abs(x))",
}
_BIPOLAR: Final = "1.0 - 2.0 * less(x, 0.0)"
_MOST_FLOAT_BITS: Final = 64
_LEAST_INPUT_BITS: Final = 8


class _Quantiser(NamedTuple):
    """``real = scale (q - zero_point)``, q the formula ``text`` of ``x / before + shift``, from ``low`` to
    ``high``. Arrays broadcast to the tensor."""

    before: FloatArray
    shift: FloatArray
    text: str
    low: float
    high: float
    scale: FloatArray
    zero_point: FloatArray

    @property
    def declared(self) -> Declared | None:
        """The type of few bits that has its integers; None where none has, or where channels have several."""
        if self.text == _BIPOLAR:
            return Declared(self.scale, np.zeros(self.scale.shape, np.int64), 2, signed=True)
        zero = np.rint(self.zero_point)
        signed = self.low < 0
        wide = Declared(self.scale, zero.astype(np.int64), MOST_BITS, signed)
        low, high = wide.integers
        if (zero != self.zero_point).any() or not low <= self.low <= self.high <= high or not wide.has_zero:
            return None
        return wide.within(self.low, self.high)

    @property
    def is_whole(self) -> bool:
        """True if there is one scale and one zero point for all entries."""
        return self.before.size == self.shift.size == self.scale.size == self.zero_point.size == 1


def _quant(step: Step) -> Value:
    scale, zero, bits = _scale(step, 1), step.weights(2).array, _bits(step, 3)
    signed, narrow = step.attributes.get("signed", 1), step.attributes.get("narrow", 0)
    if bits == 1 and signed:
        return _made(step, _Quantiser(scale, zero, _BIPOLAR, -1.0, 1.0, scale, zero))
    text = _rounding(step, b"ROUND")
    low, high = _ends(text, bits, signed=signed, narrow=narrow)
    return _made(step, _Quantiser(scale, zero, text, low, high, scale, zero))


def _bipolar(step: Step) -> Value:
    scale, zero = _scale(step, 1), np.zeros(())
    return _made(step, _Quantiser(scale, zero, _BIPOLAR, -1.0, 1.0, scale, zero))


def _trunc(step: Step) -> Value:
    """Of version 1, the scale stays; of version 2 there are another scale and a range."""
    scale, zero, text = _scale(step, 1), step.weights(2).array, _rounding(step, b"FLOOR")
    if step.has(5):
        after, bits = _scale(step, 4), _bits(step, 5)
        by = 2.0 ** np.rint(np.log2(after / scale))
        signed, narrow = step.attributes.get("signed", 1), step.attributes.get("narrow", 0)
        low, high = _ends(text, bits, signed=signed, narrow=narrow)
        ends, zero_point = (low, high), zero / by
    else:
        after, zero_point = scale, zero
        by = np.array(2.0 ** (_bits(step, 3) - _bits(step, 4)))
        ends = -np.inf, np.inf
    if by.size > 1:
        raise step.refuse("quantisation", "truncates channels by several scales; export it with one")
    divided = formula.of(text, f"round(x) / {formula.number(float(by.item()))}")
    return _made(step, _Quantiser(scale, zero, divided, *ends, after, zero_point))


def _made(step: Step, by: _Quantiser) -> Value:
    if not step.is_data(0):
        return _constant(step, by)
    if by.low >= by.high:
        real = np.broadcast_to((by.low - by.zero_point) * by.scale, step.whole())
        return step.folded(real, Element.FLOAT)
    if by.is_whole:
        return Data(_rounded(step, step.floats(), by), kind=Element.FLOAT)
    # Channels of several scales have integers of one type, and are real numbers behind it.
    inside = affine(step, 0, 1 / by.before, by.shift)
    one, none = np.ones(()), np.zeros(())
    whole = by._replace(before=one, shift=none, scale=one, zero_point=none)
    made = Data(_rounded(step, inside.tensor, whole), shape=inside.shape)
    return affine_of(step, made, by.scale, -by.zero_point * by.scale)


def _rounded(step: Step, tensor: str, by: _Quantiser) -> str:
    """Of one scale."""
    declared, building = by.declared, step.building
    if declared and by.text == "round(x)" and any(tensor == entry.name for entry in building.inputs):
        # Inputs reach further than what is left of them, in the same steps.
        bits = max(_LEAST_INPUT_BITS, declared.bits + (not declared.signed))
        wide = Declared(declared.scale, declared.zero_point, bits, signed=True)
        building.declared.setdefault(tensor, wide if wide.has_zero else declared)
    scale, zero = by.scale.item(), by.zero_point.item()
    if by.text == "round(x)" and (declared or np.isfinite([by.low, by.high]).all()):
        made = step.emit(Clip, (tensor,), scale * (by.low - zero), scale * (by.high - zero))
    else:
        before, shift = formula.number(by.before.item()), formula.number(by.shift.item())
        text = formula.of(by.text, f"(x / {before} + {shift})")
        clipped = formula.clipped(text, by.low, by.high)
        text = f"({clipped} - {formula.number(zero)}) * {formula.number(scale)}"
        made = step.emit(Activation, (tensor,), text)
    if declared:
        building.declared[made] = declared
    return made


def _constant(step: Step, by: _Quantiser) -> Constant:
    """In floats of 32 bits, as the file computes."""
    array = step.weights(0).array.astype(np.float32)
    scaled = array / by.before.astype(np.float32) + by.shift.astype(np.float32)
    q = np.clip(formula.evaluate(by.text, scaled.astype(np.float64)), by.low, by.high)
    real = (q - by.zero_point) * by.scale
    require_finite(f"the quantised weight of {where(step.node)}", real)
    step.spend(real.size)
    return Constant(real, Element.FLOAT, *_declared_weight(by, real.ndim))


def _declared_weight(by: _Quantiser, rank: int) -> tuple[Declared | None, int]:
    """The type of weights that have one scale, or one for each channel along an axis; and the axis."""
    declared, axis = by.declared, 0
    if declared and by.text == _BIPOLAR:
        declared = Declared(declared.scale, declared.zero_point, 1, signed=True)
    if declared is None or declared.scale.size == declared.zero_point.size == 1:
        one = declared and Declared(
            declared.scale.reshape(()), declared.zero_point.reshape(()), declared.bits, declared.signed
        )
        return one, axis
    shape = np.broadcast_shapes(declared.scale.shape, declared.zero_point.shape, (1,) * rank)
    wide = [at for at, size in enumerate(shape) if size > 1]
    if len(wide) != 1:
        return None, axis
    scales = np.broadcast_to(declared.scale, shape).ravel()
    zeros = np.broadcast_to(declared.zero_point, shape).ravel()
    return Declared(scales, zeros, declared.bits, declared.signed), wide[0]


def _scale(step: Step, position: int) -> FloatArray:
    scale = step.weights(position).array
    if not (scale > 0).all():
        raise step.refuse("quantisation", "has a scale that is not positive")
    return scale


def _bits(step: Step, position: int) -> float:
    """They need be no whole number."""
    bits = step.number(position, 0)
    if not 0 < bits <= _MOST_FLOAT_BITS:
        raise step.refuse("quantisation", f"quantises to {bits} bits")
    return bits


def _rounding(step: Step, default: bytes) -> str:
    mode = step.attributes.get("rounding_mode", default).decode(errors="replace").upper()
    if mode not in _ROUNDED:
        known = ", ".join(_ROUNDED)
        raise step.refuse("unsupported_attribute", f"has rounding_mode {mode[:20]!r}; there are {known}")
    return _ROUNDED[mode]


def _ends(text: str, bits: float, *, signed: int, narrow: int) -> tuple[float, float]:
    """The least and the largest integer: values are clamped before they are rounded."""
    if signed:
        low, high = -(2.0 ** (bits - 1)) + bool(narrow), 2.0 ** (bits - 1) - 1
    else:
        low, high = 0.0, 2.0**bits - 1 - bool(narrow)
    least, most = formula.evaluate(text, np.array([low, high]))
    return float(least), float(most)


_QUANT = Operator(_quant, {"narrow": "i", "rounding_mode": "s", "signed": "i"}, 4, 4, elementwise=True)

ENTRY = Entry(
    qonnx={
        "BipolarQuant": Operator(_bipolar, {}, 2, 2, elementwise=True),
        "IntQuant": _QUANT,
        "Quant": _QUANT,
        "Trunc": Operator(
            _trunc, {"narrow": "i", "rounding_mode": "s", "signed": "i"}, 5, 6, elementwise=True
        ),
    }
)
