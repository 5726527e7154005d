"""The steps of a witness on the device: what formulas say, and what the processor makes of networks."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.circuits.support import R
from tests.circuits.test_steps import INPUTS, READ, Z, integer_steps, operands, run
from tests.gpu.known import device
from zenserve import kernels
from zenserve.circuits.r1cs.resident import ResidentSteps
from zenserve.circuits.r1cs.steps import Product, Quotient, Step, Steps, Sum

WIRES = READ + 40


def written(step: Step, inputs: list[int]) -> Z:
    """What the device makes of one step over integers."""
    resident = ResidentSteps(device, Steps((step,), (), ()), np.arange(WIRES), WIRES)
    z = resident.witness(np.arange(1, READ), np.array(inputs))
    return kernels.fr.to_ints(z[:])


@given(integer_steps(), INPUTS)
@settings(max_examples=60)
def test_steps_over_integers_do_what_their_formulas_say(step: Step, inputs: list[int]) -> None:
    plain = [1, *inputs, *[0] * 40]
    run(step, plain)
    signed = [(value + (1 << 63)) % (1 << 64) - (1 << 63) for value in plain]
    assert written(step, inputs) == [value % R for value in signed]


@given(st.data(), INPUTS)
@settings(max_examples=30)
def test_steps_over_the_field_do_too(data: st.DataObject, inputs: list[int]) -> None:
    """Two that do not wait for each other, and one that waits for both."""
    rows = data.draw(st.integers(1, 9))
    a, b, c, d = (data.draw(operands(rows)) for _ in range(4))
    out = READ + np.arange(3 * rows).reshape(3, rows)
    product = Product("p", out[0], a, data.draw(st.sampled_from([b, -3])), data.draw(st.sampled_from([c, 0])))
    quotient = Quotient("q", out[1], data.draw(st.sampled_from([d, 5, 1])), a)
    steps = product, quotient, Sum("s", out[2], out[0]) if rows % 2 else Product("r", out[2], out[0], out[1])
    plain = [value % R for value in [1, *inputs, *[0] * 3 * rows]]
    order = np.array(data.draw(st.permutations(range(len(plain)))))
    z = kernels.fr.from_ints(plain)[np.argsort(order)]
    array = device.upload(z)
    ResidentSteps(device, Steps((), (), steps), order, len(plain)).post_challenge(array)
    for step in steps:
        run(step, plain, R)
    assert kernels.fr.to_ints(device.download(array)[order]) == plain
