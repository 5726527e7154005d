"""LSTM, GRU and RNN, unrolled: all steps share their weights, their tables, and the types of what they make.

A step is made of other operators. Its gates are products of one matrix with the input and the state
(``recurrent``); what it keeps of states is a product of gates with those, entry by entry, and a sum of two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple

import numpy as np

from zenserve.circuits.graphs import formula
from zenserve.circuits.graphs.node import Node, dims
from zenserve.circuits.graphs.types import FloatArray, Shape
from zenserve.circuits.onnx.step import Data, Operator, Step, Value
from zenserve.circuits.operators.activation import Activation, number
from zenserve.circuits.operators.add import Add, Sub
from zenserve.circuits.operators.clip import Clip
from zenserve.circuits.operators.concat import Concat
from zenserve.circuits.operators.convolution import Conv
from zenserve.circuits.operators.dense import Dense
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.filled import Filled
from zenserve.circuits.operators.gather import Gather
from zenserve.circuits.operators.matmul import MatMul
from zenserve.circuits.operators.moving import picked
from zenserve.circuits.operators.multiply import Mul
from zenserve.circuits.operators.recurrent import Recurrent
from zenserve.circuits.operators.reshape import Reshape, shaped
from zenserve.relations.integers import IntArray

# Of all sequences and directions together.
_MOST_STEPS: Final = 1 << 10


class _Function(NamedTuple):
    """``formula`` with parameters, alpha and beta, in the places of these; ``defaults`` where there are."""

    formula: str
    parameters: tuple[str, ...] = ()
    defaults: tuple[float, ...] = ()


_FUNCTIONS: Final = {
    "affine": _Function("{alpha} * x + {beta}", ("alpha", "beta")),
    "elu": _Function("elu(x, {alpha})", ("alpha",), (1.0,)),
    "hardsigmoid": _Function("hard_sigmoid(x, {alpha}, {beta})", ("alpha", "beta"), (0.2, 0.5)),
    "leakyrelu": _Function("leaky_relu(x, {alpha})", ("alpha",), (0.01,)),
    "relu": _Function("max(x, 0.0)"),
    "scaledtanh": _Function("{alpha} * tanh({beta} * x)", ("alpha", "beta")),
    "sigmoid": _Function("sigmoid(x)"),
    "softplus": _Function("softplus(x)"),
    "softsign": _Function("softsign(x)"),
    "tanh": _Function("tanh(x)"),
    "thresholdedrelu": _Function("thresholded_relu(x, {alpha})", ("alpha",)),
}
_RELU: Final = _FUNCTIONS["relu"].formula

States = tuple[str, ...]
"""The tensors that a step hands on, [hidden] each: h, and c of an LSTM."""


@dataclass(frozen=True)
class _Direction:
    """A layer in one direction: ``weight`` [gates, hidden, inputs], ``again`` [gates, hidden, hidden] of the
    state before, both ``biases`` [gates, hidden], ``peepholes`` [3, hidden], if there are any.
    ``functions``: formulas of the activations. ``ones``: a tensor of them, where gates are taken from one.
    """

    step: Step
    weight: FloatArray
    again: FloatArray
    biases: tuple[FloatArray, FloatArray]
    peepholes: FloatArray | None
    functions: tuple[str, ...]
    clip: float
    ones: str

    @property
    def hidden(self) -> int:
        return int(self.weight.shape[1])

    def product(self, x: str, h: str, *gates: int) -> str:
        """The sums of these gates, one after the other."""
        weight, again = (each[[*gates]].reshape(-1, each.shape[2]) for each in (self.weight, self.again))
        bias = sum(each[[*gates]].ravel() for each in self.biases)
        return self.step.emit(Recurrent, (x, h), np.hstack([weight, again]), bias)

    def gated(self, sums: str, which: int) -> str:
        """The activation of sums, as far as the clip leaves them."""
        if self.clip:
            sums = self.step.emit(Clip, (sums,), -self.clip, self.clip)
        return self.activated(sums, which)

    def activated(self, tensor: str, which: int) -> str:
        if self.functions[which] == _RELU:
            return self.step.emit(Clip, (tensor,), 0.0, math.inf)
        return self.step.emit(Activation, (tensor,), self.functions[which])

    def parts(self, tensor: str) -> list[str]:
        """The gates that are one after the other."""
        (size,) = self.step.building.shapes[tensor]
        places = np.arange(size).reshape(-1, self.hidden)
        return [self.step.emit(Gather, (tensor,), part) for part in places]

    def rest(self, gate: str) -> str:
        """Emit 1 less the gate, in the gate's type."""
        self.step.building.tied.setdefault(self.ones, gate)
        return self.step.emit(Sub, (self.ones, gate))

    def sums(self, left: Sequence[str], right: Sequence[str]) -> str:
        """The sum of products of vectors, entry by entry, [hidden, 1, 1]: one on the left by one on the
        right."""
        places = np.arange(len(left) * self.hidden).reshape(len(left), -1)
        factors = [
            self.step.emit(Gather, (self.step.emit(Concat, (*vectors,)),), order.copy())
            for vectors, order in ((left, places.T[:, None, :]), (right, places.T[:, :, None]))
        ]
        return self.step.emit(MatMul, (*factors,))

    def flat(self, tensor: str) -> str:
        return self.step.emit(Reshape, (tensor,), (self.hidden,))

    def peeped(self, sums: str, cell: str, which: int) -> str:
        """The sums of a gate, and what it sees of the cell."""
        assert self.peepholes is not None  # noqa: S101  else nothing is seen
        return self.step.emit(Add, (sums, self.scaled(cell, self.peepholes[which], np.zeros(self.hidden))))

    def scaled(self, vector: str, factor: FloatArray, term: FloatArray) -> str:
        """By a factor for each entry, and plus a term."""
        image = self.step.emit(Reshape, (vector,), (self.hidden, 1, 1))
        kernel = factor.reshape(-1, 1, 1, 1)
        return self.flat(self.step.emit(Conv, (image,), kernel, term, groups=self.hidden))


def _rnn(layer: _Direction, x: str, states: States) -> States:
    (h,) = states
    return (layer.gated(layer.product(x, h, 0), 0),)


def _gru(layer: _Direction, x: str, states: States) -> States:
    (h,) = states
    z, r = layer.parts(layer.gated(layer.product(x, h, 0, 1), 0))
    rest = layer.rest(z)
    if layer.step.attributes.get("linear_before_reset", 0):
        sides = ((x, layer.weight[2], layer.biases[0][2]), (h, layer.again[2], layer.biases[1][2]))
        parts = [layer.step.emit(Dense, (read,), weight, bias) for read, weight, bias in sides]
        sums = layer.sums([layer.ones, r], parts)
    else:
        sums = layer.product(x, layer.step.emit(Mul, (r, h)), 2)
    new = layer.gated(sums, 1)
    return (layer.flat(layer.sums([rest, z], [layer.flat(new), h])),)


def _lstm(layer: _Direction, x: str, states: States) -> States:
    h, c = states
    coupled = layer.step.attributes.get("input_forget", 0)
    sums = layer.product(x, h, *range(2 if coupled else 3))
    if layer.peepholes is None:
        i, o, *f = layer.parts(layer.gated(sums, 0))
    else:
        i, o, *f = layer.parts(sums)
        i, *f = (layer.gated(layer.peeped(each, c, 2 * at), 0) for at, each in enumerate((i, *f)))
    new = layer.gated(layer.product(x, h, 3), 1)
    c = layer.flat(layer.sums([layer.rest(i) if coupled else f[0], i], [c, new]))
    if layer.peepholes is not None:
        o = layer.gated(layer.peeped(o, c, 1), 0)
    return layer.step.emit(Mul, (o, layer.activated(c, 2))), c


Cell = Callable[[_Direction, str, States], States]
"""A step's function of its input and the states before it."""


class _Kind(NamedTuple):
    """``functions``: the activations, where a node does not say."""

    cell: Cell
    gates: int
    states: int
    functions: tuple[str, ...]


class _Run(NamedTuple):
    """One sequence in one direction, and when its steps are, in order."""

    direction: int
    sample: int
    times: range


_FORWARD: Final = {b"forward": (True,), b"reverse": (False,), b"bidirectional": (True, False)}


def _unrolled(step: Step, kind: _Kind) -> Sequence[Value]:
    """Y, and for each state what the last steps leave of it."""
    inputs = _in_order(step, _places(step.whole()))
    runs, directions = _runs(step, *inputs.shape[:2])
    vector = shaped(step, Data(step.floats(), shape=step.whole()), (1, inputs.size)).tensor
    layers = [_direction(step, kind, inputs.shape[2], at, directions, vector) for at in range(directions)]
    firsts: dict[int, tuple[Node, ...]] = {}
    shown, last = dict[Shape, str](), dict[Shape, States]()
    for direction, sample, times in runs:
        layer = layers[direction]
        states = begun = tuple(
            _initial(layer, 5 + at, (directions, inputs.shape[1]), (direction, sample), vector)
            for at in range(kind.states)
        )
        for time in times:
            x = step.emit(Gather, (vector,), inputs[time, sample].copy())
            start = len(step.building.nodes)
            states = kind.cell(layer, x, states)
            made = step.building.nodes[start:]
            step.building.tie(firsts.setdefault(direction, made), made)
            if time == times[0]:
                step.building.tied.update(zip(begun, states, strict=True))
            shown[time, direction, sample] = states[0]
        last[direction, sample] = states
    hidden = layers[0].hidden
    ends = [{at: states[which] for at, states in last.items()} for which in range(kind.states)]
    shapes = [(len(inputs), directions, inputs.shape[1]), *[(directions, inputs.shape[1])] * kind.states]
    return [_joined(step, made, shape, hidden) for made, shape in zip([shown, *ends], shapes, strict=True)]


def _places(shape: Shape) -> IntArray:
    return np.arange(math.prod(shape)).reshape(shape)


def _in_order(step: Step, places: IntArray) -> IntArray:
    """[steps, sequences, ..] of X and [directions, sequences, ..] of states, and back: layout 1 has sequences
    in front."""
    if places.ndim != 3:
        raise step.refuse("shape", f"reads shape [{dims(places.shape)}] where it takes three axes")
    return places.swapaxes(0, 1) if _by_sequence(step) else places


def _by_sequence(step: Step) -> bool:
    return bool(step.attributes.get("layout", 0))


def _runs(step: Step, length: int, count: int) -> tuple[list[_Run], int]:
    """All sequences in all directions, and how many of these there are."""
    said = step.attributes.get("direction", b"forward")
    if said not in _FORWARD:
        raise step.refuse("unsupported_attribute", f"has direction {said[:20]!r}")
    lengths = [length] * count
    if step.has(4):
        if step.is_data(4):
            raise step.refuse(
                "unsupported_operator",
                "computes the lengths of its sequences from the network's input; export it for one length",
            )
        if not step.is_whole(4):
            raise step.refuse("tensor_type", "needs the lengths of its sequences as integers")
        lengths = step.plain(4).array.ravel().tolist()
    if len(lengths) != count or not all(1 <= each <= length for each in lengths):
        raise step.refuse("shape", f"has {count} sequences of 1 to {length} steps, and other lengths")
    steps = len(_FORWARD[said]) * sum(lengths)
    if steps > _MOST_STEPS:
        raise step.refuse("shape", f"has {steps} steps, of all sequences together; at most {_MOST_STEPS}")
    runs = [
        _Run(direction, sample, range(size) if forward else range(size - 1, -1, -1))
        for direction, forward in enumerate(_FORWARD[said])
        for sample, size in enumerate(lengths)
    ]
    return runs, len(_FORWARD[said])


def _direction(step: Step, kind: _Kind, inputs: int, at: int, directions: int, vector: str) -> _Direction:
    hidden = step.weights(2).array.shape[-1:]
    size = hidden[0] if hidden else 0
    if size < 1 or step.attributes.get("hidden_size", size) != size:
        raise step.refuse("shape", f"has weights of {size} hidden entries, and another hidden_size")
    rows = kind.gates * size

    def weights(position: int, *shape: int) -> FloatArray:
        array = step.weights(position).array if step.has(position) else np.zeros((directions, *shape))
        if array.shape != (directions, *shape):
            raise step.refuse("shape", f"has input {position} of shape {[*array.shape]}")
        found: FloatArray = array[at]
        return found

    biases = weights(3, 2 * rows).reshape(2, kind.gates, size)
    clip = float(step.attributes.get("clip", 0.0))
    if not 0 <= clip < math.inf:
        raise step.refuse("unsupported_attribute", f"has clip={clip}")
    return _Direction(
        step,
        weights(1, rows, inputs).reshape(kind.gates, size, inputs),
        weights(2, rows, size).reshape(kind.gates, size, size),
        (biases[0], biases[1]),
        weights(7, 3 * size).reshape(3, size) if step.has(7) else None,
        _functions(step, kind, directions)[at],
        clip,
        step.emit(Filled, (vector,), (size,), 1.0),
    )


def _functions(step: Step, kind: _Kind, directions: int) -> list[tuple[str, ...]]:
    """The formulas of the activations of each direction. Numbers go to those that take some, in order."""
    count = len(kind.functions)
    said = step.attributes.get("activations")
    names = [name.decode(errors="replace") for name in said] if said else [*kind.functions] * directions
    if len(names) != directions * count:
        raise step.refuse("unsupported_attribute", f"names {len(names)} activations, not {count} a direction")
    given = {
        name: [number(step, value) for value in step.attributes.get(f"activation_{name}", ())]
        for name in ("alpha", "beta")
    }
    formulas = []
    for name in names:
        function = _FUNCTIONS.get(name.lower())
        if function is None:
            raise step.refuse("unsupported_attribute", f"has the activation {name[:20]!r}")
        values = dict(zip(function.parameters, map(formula.number, function.defaults), strict=False))
        values |= {each: given[each].pop(0) for each in function.parameters if given[each]}
        if len(values) < len(function.parameters):
            raise step.refuse("unsupported_attribute", f"has no alpha or beta for {name[:20]!r}")
        formulas.append(function.formula.format(**values))
    return [tuple(formulas[at * count : (at + 1) * count]) for at in range(directions)]


def _initial(layer: _Direction, position: int, shape: Shape, at: tuple[int, int], vector: str) -> str:
    """A state before the first step: zero where the input is left out."""
    step, hidden = layer.step, layer.hidden
    places = _in_order(step, np.zeros((1, 1, hidden), np.int64))
    if step.has(position):
        places = _in_order(step, _places(step.whole(position)))
        if places.shape != (*shape, hidden):
            raise step.refuse("shape", f"has states of shape {[*step.whole(position)]}")
        if step.is_data(position):
            data = Data(step.floats(position), shape=step.whole(position))
            return step.emit(Gather, (shaped(step, data, (1, places.size)).tensor,), places[at].copy())
    zeros = step.emit(Filled, (vector,), (hidden,), 0.0)
    values = step.weights(position).array.ravel()[places[at]] if step.has(position) else np.zeros(hidden)
    return layer.scaled(zeros, np.ones(hidden), values) if values.any() else zeros


def _joined(step: Step, made: Mapping[Shape, str], shape: Shape, hidden: int) -> Data:
    """The tensors at their places in [*shape, hidden], zeros in all others."""
    places = np.full((*shape, hidden), -1)
    for index, at in enumerate(made):
        places[at] = np.arange(index * hidden, (index + 1) * hidden)
    if _by_sequence(step):
        places = np.moveaxis(places, -2, 0)
    return picked(step, places, [Data(tensor, shape=(1, hidden)) for tensor in made.values()])


_RNN: Final = _Kind(_rnn, 1, 1, ("Tanh",))
_GRU: Final = _Kind(_gru, 3, 1, ("Sigmoid", "Tanh"))
_LSTM: Final = _Kind(_lstm, 4, 2, ("Sigmoid", "Tanh", "Tanh"))
_ATTRIBUTES: Final = {
    "activation_alpha": "floats",
    "activation_beta": "floats",
    "activations": "strings",
    "clip": "f",
    "direction": "s",
    "hidden_size": "i",
    "layout": "i",
}

ENTRY = Entry(
    onnx={
        "GRU": Operator(partial(_unrolled, kind=_GRU), {**_ATTRIBUTES, "linear_before_reset": "i"}, 3, 6),
        "LSTM": Operator(partial(_unrolled, kind=_LSTM), {**_ATTRIBUTES, "input_forget": "i"}, 3, 8),
        "RNN": Operator(partial(_unrolled, kind=_RNN), _ATTRIBUTES, 3, 6),
    },
)
