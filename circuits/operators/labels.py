"""Classes by their names. Networks say which one by its place: for that stand names that are numbers, and of
names that are words places are all that a circuit has.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zenserve.circuits.graphs.calibration import Interval
from zenserve.circuits.graphs.node import Constants, Node, Written
from zenserve.circuits.graphs.rescaling import exact
from zenserve.circuits.graphs.site import Site
from zenserve.circuits.graphs.types import MOST_COMPARED_BITS, Affine, FloatArray
from zenserve.circuits.onnx.constants import FLOATS, Constant, Element
from zenserve.circuits.onnx.naming import quote
from zenserve.circuits.onnx.step import Data, Operator, Step, Value
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.reshape import shaped
from zenserve.circuits.operators.tabled import Tabled
from zenserve.errors import ModelError
from zenserve.relations.integers import IntArray


@dataclass(frozen=True, eq=False)
class Keyed(Node):
    """Of each whole number in ``keys``, int64[n], the one of ``values``, float64[n], in its place; of others
    ``default``. ``whole``: these are whole numbers, too, and exact."""

    called = "name"

    keys: IntArray = field(repr=False)
    values: FloatArray = field(repr=False)
    default: float
    whole: bool

    @property
    def tells_apart(self) -> bool:
        return True

    @property
    def names(self) -> bool:
        return self.whole

    def run(self, *inputs: FloatArray) -> FloatArray:
        order = np.argsort(self.keys, kind="stable")
        found = np.rint(inputs[0])
        nearest = order[np.searchsorted(self.keys[order], found).clip(0, len(order) - 1)]
        return np.where(self.keys[nearest] == found, self.values[nearest], self.default)

    def quantise(self, site: Site) -> QuantKeyed:
        incoming = site.incoming()
        wanted = self.run(incoming.real(np.arange(incoming.top + 1)))
        if self.whole:
            span = Interval(min(0, wanted.min()), max(0, wanted.max()))
            output = exact(span, site.name, MOST_COMPARED_BITS)
        else:
            output = site.output()
        return QuantKeyed(site.name, site.inputs, output.quantise(wanted), output)

    def written(self, constant: Constants) -> Written:
        raise ModelError(
            "model.unsupported_operator", "names of classes are no ONNX operator of its own domain"
        )


@dataclass(frozen=True, eq=False)
class QuantKeyed(Tabled):
    """``q_y = values[q]``."""

    values: IntArray = field(repr=False)
    output: Affine

    def scales(self) -> dict[str, Any] | None:
        return {"name": self.name, "rescale": {"table": self.values.tolist(), "output": asdict(self.output)}}


def named(step: Step, places: Data, names: Sequence[int]) -> Data:
    """Of places of classes from zero what the file calls these."""
    values = np.array(names, dtype=np.float64)
    if np.array_equal(values, np.arange(len(values))):
        return replace(places, kind=Element.INT64)
    return looked_up(step, places, np.arange(len(values)), values, values[-1], Element.INT64)


def looked_up(step: Step, data: Data, keys: IntArray, values: FloatArray, default: float, kind: int) -> Data:
    """Of each whole number the value beside its key, of others the default, as elements of this kind."""
    step.spend(len(keys))
    if len(keys) != len(values) or not len(keys) or len({*keys.tolist()}) < len(keys):
        raise step.refuse(
            "shape", f"has {len(keys)} keys, which are not all different, or {len(values)} values"
        )
    if not math.isfinite(default) or not np.isfinite(values).all():
        raise step.refuse("unsupported_attribute", "has values that are not finite")
    whole = kind not in FLOATS
    made = step.emit(Keyed, (data.tensor,), keys, values, float(default), whole)
    return replace(data, tensor=made, kind=kind)


def class_names(step: Step) -> list[int]:
    """Of the classes that a node tells apart: numbers as they are, words by their places."""
    said = step.attributes
    numbers: list[int] = said.get("classlabels_ints") or said.get("classlabels_int64s") or []
    words: list[bytes] = said.get("classlabels_strings", [])
    if bool(numbers) == bool(words):
        raise step.refuse("unsupported_attribute", "must name its classes, by integers or by words")
    return numbers or [*range(len(words))]


def extract(step: Step) -> Value | None:
    """Of a vector of constants those in computed places; None of anything else."""
    if step.is_data(0) or not step.is_data(1):
        return None
    constant = step.plain(0)
    if constant.array.ndim > 1 and constant.array.size != constant.array.shape[-1]:
        raise step.refuse("shape", "takes entries in computed places of several rows")
    values = constant.array.ravel().astype(np.float64)
    places = Data(step.floats(1), shape=step.whole(1), kind=Element.INT64)
    if np.array_equal(values, np.arange(len(values))):
        made = replace(places, kind=constant.kind)
    else:
        made = looked_up(step, places, np.arange(len(values)), values, values[-1], constant.kind)
    return shaped(step, made, (1, math.prod(step.whole(1))))


def _zip_map(step: Step) -> Value:
    """The scores of classes beside their names: the scores."""
    names, whole = class_names(step), step.whole()
    if not whole or whole[-1] != len(names):
        raise step.refuse("shape", f"names {len(names)} classes of a tensor of shape {[*whole]}")
    return replace(step.data(), shape=whole)


def _encoded(step: Step) -> Value:
    """LabelEncoder. Keys are whole numbers; words, which come last, are their places."""
    said = step.attributes
    keys = said.get("keys_int64s") or said.get("keys_floats") or []
    if not keys and "keys_tensor" in said:
        keys = said["keys_tensor"].array.ravel().tolist()
    numbers = np.array(keys, np.float64)
    if not keys or not np.array_equal(numbers, np.rint(numbers)):
        raise step.refuse("unsupported_attribute", "must have whole numbers as its keys")
    values, default, kind = _values(step)
    if len(values) != len(keys):
        raise step.refuse("shape", f"has {len(keys)} keys and {len(values)} values")
    data = Data(step.floats(), shape=step.whole())
    return looked_up(step, data, numbers.astype(np.int64), values, default, kind)


def _values(step: Step) -> tuple[FloatArray, float, int]:
    """Return the values of the keys, the value of all other keys, and the kind of the values."""
    said = step.attributes
    if "values_strings" in said:
        places = {word: place for place, word in enumerate(dict.fromkeys(said["values_strings"]))}
        default = places.get(said.get("default_string", b"_Unused"), len(places))
        return np.array([places[word] for word in said["values_strings"]], np.float64), default, Element.INT64
    if "values_int64s" in said:
        return np.array(said["values_int64s"], np.float64), said.get("default_int64", -1), Element.INT64
    if "values_floats" in said:
        return np.array(said["values_floats"], np.float64), said.get("default_float", -0.0), Element.FLOAT
    if "values_tensor" in said:
        values: Constant = said["values_tensor"]
        others = _single(step, said.get("default_tensor"))
        return values.array.ravel().astype(np.float64), others, values.kind
    raise step.refuse("unsupported_attribute", f"has no values for its keys, {quote(step.node.name)}")


def _single(step: Step, default: Constant | None) -> float:
    if default is None:
        return 0.0
    array: NDArray[Any] = default.array
    if array.size != 1:
        raise step.refuse("shape", "has several defaults")
    return float(array.item())


_LABEL_ENCODER = {
    **dict.fromkeys(("default_float",), "f"),
    "default_int64": "i",
    "default_string": "s",
    "default_tensor": "t",
    "keys_floats": "floats",
    "keys_int64s": "ints",
    "keys_tensor": "t",
    "values_floats": "floats",
    "values_int64s": "ints",
    "values_strings": "strings",
    "values_tensor": "t",
}

ENTRY = Entry(
    learned={
        "LabelEncoder": Operator(_encoded, _LABEL_ENCODER, elementwise=True),
        "ZipMap": Operator(_zip_map, {"classlabels_int64s": "ints", "classlabels_strings": "strings"}),
    },
    integers=(QuantKeyed,),
)
