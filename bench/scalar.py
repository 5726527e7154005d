"""The yardstick: a circuit built gate by gate, every gate a Python object.

So do general compilers such as Arkworks (ZENO, figure 6.6a): a dot product is a chain of gates, each of which
multiplies by a constant or adds two values, and each makes a new linear combination over Fr. The statement
is that of ``zenserve.circuits.compile_inference`` at level 2 with a private input, with the same gadgets.
Nothing but ``bench.compiler`` and the tests should ever run this.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zenserve.circuits.graphs.node import QuantNode
from zenserve.circuits.graphs.types import Affine, Rescale
from zenserve.circuits.operators.add import QuantAdd
from zenserve.circuits.operators.clip import Requantise
from zenserve.circuits.operators.max_pool import MaxPool
from zenserve.circuits.operators.pad import Pad
from zenserve.circuits.operators.sums import Accumulating, Windowed
from zenserve.circuits.quantised import QuantGraph
from zenserve.kernels import fr
from zenserve.relations.bounds import Bound
from zenserve.relations.functions import slack_factor
from zenserve.relations.integers import IntArray

R = fr.modulus
Terms = list[tuple[int, int]]
# Of one tensor: objects, each a ``Gate``.
Gates = NDArray[Any]


class Gate:
    """A linear combination of variables, pairs (variable, coefficient), and its value. All in Fr."""

    __slots__ = ("terms", "value")

    def __init__(self, terms: Terms, value: int) -> None:
        self.terms = terms
        self.value = value

    def __add__(self, other: Gate) -> Gate:
        return Gate(self.terms + other.terms, (self.value + other.value) % R)

    def __sub__(self, other: Gate) -> Gate:
        return self + other.times(R - 1)

    def times(self, constant: int) -> Gate:
        return Gate(
            [(variable, coefficient * constant % R) for variable, coefficient in self.terms],
            self.value * constant % R,
        )

    @property
    def integer(self) -> int:
        """The value as the integer nearest to 0."""
        return self.value if self.value < R // 2 else self.value - R


class ScalarCircuit:
    """Rows ``a · b = c`` of linear combinations, and the values of all variables, variable 0 being one."""

    def __init__(self) -> None:
        self.values = [1]
        self.rows: list[tuple[Terms, Terms, Terms]] = []
        self.one = Gate([(0, 1)], 1)
        self.zero = Gate([], 0)

    def wire(self, value: int) -> Gate:
        """A new variable."""
        self.values.append(value % R)
        return Gate([(len(self.values) - 1, 1)], value % R)

    def constant(self, value: int) -> Gate:
        return self.one.times(value)

    def enforce(self, a: Gate, b: Gate, c: Gate) -> None:
        self.rows.append((a.terms, b.terms, c.terms))

    def product(self, a: Gate, b: Gate) -> Gate:
        out = self.wire(a.value * b.value)
        self.enforce(a, b, out)
        return out

    def digits(self, gate: Gate, bits: int) -> list[Gate]:
        """The binary digits of a value in [0, 2^bits), the lowest first."""
        digits = [self.wire(gate.value >> place & 1) for place in range(bits)]
        for digit in digits:
            self.enforce(digit, digit, digit)
        self.enforce(self.zero, self.zero, gate - self.number(digits))
        return digits

    def number(self, digits: Sequence[Gate]) -> Gate:
        total = self.zero
        for place, digit in enumerate(digits):
            total = total + digit.times(1 << place)
        return total

    def range_check(self, gate: Gate, bits: int) -> None:
        """As ``zenserve.circuits.r1cs.gadgets.range_check``: no variable for the top digit."""
        low = [self.wire(gate.value >> place & 1) for place in range(bits - 1)]
        for digit in low:
            self.enforce(digit, digit, digit)
        top = gate - self.number(low)
        self.enforce(top, top - self.constant(1 << (bits - 1)), self.zero)

    def first_unsatisfied(self) -> int | None:
        """The first row that the values do not satisfy."""

        def evaluate(terms: Terms) -> int:
            return sum(coefficient * self.values[variable] for variable, coefficient in terms)

        return next(
            (row for row, (a, b, c) in enumerate(self.rows) if (evaluate(a) * evaluate(b) - evaluate(c)) % R),
            None,
        )


def build(qgraph: QuantGraph, q: IntArray) -> tuple[ScalarCircuit, int]:
    """The circuit with its witness for the input ``q``, and the label, the value of variable 1."""
    circuit = ScalarCircuit()
    label = circuit.wire(0)
    tensors = {qgraph.input.name: _objects([circuit.wire(int(value)) for value in q.ravel()], q.shape)}
    for gate in tensors[qgraph.input.name].ravel():
        circuit.range_check(gate, qgraph.input.type.bits)
    for node in qgraph.nodes:
        inputs = [tensors[name] for name in node.inputs]
        tensors[node.name] = _lower(circuit, qgraph, node, inputs)
    logits = tensors[qgraph.output].ravel().tolist()
    _argmax(circuit, logits, label)
    return circuit, circuit.values[1]


def _lower(circuit: ScalarCircuit, qgraph: QuantGraph, node: QuantNode, inputs: list[Gates]) -> Gates:
    if isinstance(node, Accumulating):
        acc = _accumulate(circuit, node, inputs, qgraph.types_of(node))
        if node.rescale is None:
            return acc
        bounds = node.bounds(qgraph.types_of(node), qgraph.shapes_of(node))
        return _rescale(circuit, acc, node.rescale, node.rescale.function.scaled(Bound(*bounds)))
    kind = qgraph.types[node.inputs[0]]
    if isinstance(node, MaxPool):
        assert kind is not None
        return _max_pool(circuit, node, inputs[0], kind)
    if isinstance(node, Pad):
        assert kind is not None
        return _pad(circuit, node, inputs[0], kind)
    moved: Gates = node.move([tensor[np.newaxis] for tensor in inputs], 0)[0]  # type: ignore[attr-defined]
    return moved


def _accumulate(
    circuit: ScalarCircuit, node: Accumulating, inputs: list[Gates], types: list[Affine]
) -> Gates:
    centred = [_centred(circuit, tensor, kind) for tensor, kind in zip(inputs, types, strict=True)]
    if isinstance(node, Windowed):
        return _window_sums(circuit, node, centred[0])
    if isinstance(node, QuantAdd):
        first, *others = (
            [gate.times(factor) for gate in tensor.ravel()]
            for factor, tensor in zip(node.factors, centred, strict=True)
        )
        sums = first
        for terms in others:
            sums = [a + b for a, b in zip(sums, terms, strict=True)]
        return _objects(sums, inputs[0].shape)
    assert isinstance(node, Requantise)
    return centred[0]


def _centred(circuit: ScalarCircuit, tensor: Gates, kind: Affine) -> Gates:
    """``q - z``."""
    if kind.zero_point == 0:
        return tensor
    zero = circuit.constant(-kind.zero_point)
    return _objects([gate + zero for gate in tensor.ravel()], tensor.shape)


def _window_sums(circuit: ScalarCircuit, node: Windowed, x: Gates) -> Gates:
    sliding, weight = node.sliding(x.shape), node.kernel_weight(x.shape)
    offsets, places, taps = (array.tolist() for array in sliding.windows())
    groups = x.reshape(sliding.groups, -1).tolist()
    outputs = len(weight) // sliding.groups
    biases = getattr(node, "bias", np.zeros(len(weight), dtype=np.int64)).tolist()
    sums = []
    for output, (row, bias) in enumerate(zip(weight.reshape(len(weight), -1).tolist(), biases, strict=True)):
        group = groups[output // outputs]
        field, start = [value % R for value in row], circuit.constant(bias)
        for position in range(len(offsets) - 1):
            acc = start
            for pair in range(offsets[position], offsets[position + 1]):
                acc = acc + group[places[pair]].times(field[taps[pair]])
            sums.append(acc)
    return _objects(sums, node.shape(x.shape))


def _rescale(circuit: ScalarCircuit, acc: Gates, rescale: Rescale, scaled: tuple[int, int]) -> Gates:
    """``clamp(floor(T / 2^k), low, high)`` by digits, as ``zenserve.circuits.r1cs.gadgets`` has it."""
    shift = rescale.shift
    magnitude = max(
        (value >> shift if value >= 0 else -(value >> shift) - 1).bit_length() for value in scaled
    )
    lift = circuit.constant(rescale.offset + (1 << (shift + magnitude)))
    multipliers = np.broadcast_to(rescale.multiplier, acc.shape).ravel().tolist()
    out = []
    for gate, multiplier in zip(acc.ravel(), multipliers, strict=True):
        digits = circuit.digits(gate.times(multiplier) + lift, shift + magnitude + 1)
        out.append(_clamp(circuit, digits[shift:-1], digits[-1], rescale.low, rescale.high))
    return _objects(out, acc.shape)


def _clamp(circuit: ScalarCircuit, quotient: list[Gate], sign: Gate, low: int, high: int) -> Gate:
    """``clamp(t, low, high)`` for t = quotient - (1 - sign) 2^m, where the range is that of whole digits;
    two comparisons elsewhere."""
    bits = high.bit_length()
    if low == 0 and high == (1 << bits) - 1:
        above = quotient[bits:]
        count = circuit.one - sign
        for digit in above:
            count = count + digit
        low_digits, excess = circuit.number(quotient[:bits]), sign.times(high)
        multiple = slack_factor(len(above))
        out = circuit.wire(low_digits.value if count.value == 0 else excess.value)
        slack = circuit.wire(multiple // max(1, count.value) * (out - low_digits).integer)
        circuit.enforce(count, out - excess, circuit.zero)
        circuit.enforce(count, slack, (out - low_digits).times(multiple))
        return out
    weight = circuit.constant(1 << len(quotient))
    t = circuit.number(quotient) + sign.times(1 << len(quotient)) - weight
    raised = _maximum(circuit, t, circuit.constant(low), len(quotient) + 1)
    return _maximum(circuit, raised.times(R - 1), circuit.constant(-high), len(quotient) + 1).times(R - 1)


def _maximum(circuit: ScalarCircuit, a: Gate, b: Gate, bits: int) -> Gate:
    """The larger of two values that differ by less than 2^bits."""
    difference = a - b
    digits = circuit.digits(difference + circuit.constant(1 << bits), bits + 1)
    return b + circuit.product(digits[-1], difference)


def _pad(circuit: ScalarCircuit, node: Pad, x: Gates, kind: Affine) -> Gates:
    shape = node.shape(x.shape)
    out = _objects([circuit.constant(kind.zero_point)] * math.prod(shape), shape)
    out[
        tuple(slice(before, before + size) for (before, _), size in zip(node.padding, x.shape, strict=True))
    ] = x
    return out


def _max_pool(circuit: ScalarCircuit, node: MaxPool, x: Gates, kind: Affine) -> Gates:
    channels, down, across = node.shape(x.shape)
    top, left, _, _ = node.padding
    out = []
    for channel, row, column in np.ndindex(channels, down, across):
        first = row * node.stride[0] - top, column * node.stride[1] - left
        rows, columns = (
            slice(max(0, start), start + size) for start, size in zip(first, node.kernel, strict=True)
        )
        largest, *others = x[channel, rows, columns].ravel().tolist()
        for gate in others:
            largest = _maximum(circuit, largest, gate, kind.bits)
        out.append(largest)
    return _objects(out, (channels, down, across))


def _argmax(circuit: ScalarCircuit, logits: list[Gate], label: Gate) -> None:
    """As ``zenserve.circuits.r1cs.gadgets.argmax``; sets the variable of ``label``."""
    values = [gate.integer for gate in logits]
    width = max(1, (2 * max(map(abs, values)) + 1).bit_length())
    winner = values.index(max(values))
    circuit.values[label.terms[0][0]] = winner
    selectors = [circuit.wire(index == winner) for index in range(len(values))]
    largest = circuit.wire(max(values))
    total, chosen = circuit.zero, circuit.zero
    for index, selector in enumerate(selectors):
        circuit.enforce(selector, selector, selector)
        total, chosen = total + selector, chosen + selector.times(index)
    circuit.enforce(circuit.zero, circuit.zero, total - circuit.one)
    circuit.enforce(circuit.zero, circuit.zero, chosen - label)
    later = circuit.zero
    for gate, selector in reversed(list(zip(logits, selectors, strict=True))):
        margin = largest - gate - later
        circuit.digits(margin, width)
        circuit.enforce(selector, margin, circuit.zero)
        later = later + selector


def _objects(gates: list[Gate], shape: tuple[int, ...]) -> Gates:
    array = np.empty(len(gates), dtype=object)
    array[:] = gates
    return array.reshape(shape)
