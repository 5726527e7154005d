"""Networks by hand: what the methods mean, and where mistakes are noticed."""

from __future__ import annotations

import numpy as np
import pytest

from tests.refusals import refuses
from zenserve.circuits.networks.language import Tensor, concat, tensor
from zenserve.circuits.operators.add import Add
from zenserve.circuits.operators.average_pool import AveragePool
from zenserve.circuits.operators.clip import Clip
from zenserve.circuits.operators.concat import Concat
from zenserve.circuits.operators.convolution import Conv
from zenserve.circuits.operators.dense import Dense
from zenserve.circuits.operators.max_pool import MaxPool
from zenserve.circuits.operators.reshape import Reshape
from zenserve.circuits.operators.transpose import Transpose

RNG = np.random.default_rng(0)


def weight(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape)


def test_a_network_is_what_was_written() -> None:
    image = tensor("image", 3, 8, 8)
    x = image.conv(weight(4, 3, 3, 3), padding=1).relu().average_pool(2)
    y = x.conv(weight(4, 4, 1, 1)).relu()
    x = concat([x + y, x.max_pool(3, 1, padding=1)]).transpose(0, 2, 1).flatten()
    graph = x.dense(weight(5, 128), weight(5)).graph()
    assert [type(node) for node in graph.nodes] == [
        Conv, Clip, AveragePool, Conv, Clip, Add, MaxPool, Concat, Transpose, Reshape, Dense,
    ]  # fmt: skip
    assert (graph.input.name, graph.input.shape) == ("image", (3, 8, 8))
    assert graph.shapes[graph.output] == (5,)
    assert graph.run(RNG.normal(size=(2, 3, 8, 8))).shape == (2, 5)


def test_batch_norms_fold_and_what_nobody_reads_goes() -> None:
    x = tensor("image", 2, 4, 4).conv(weight(3, 2, 2, 2))
    x.relu().average_pool(2)
    offset = weight(3)
    (conv,) = x.scale(weight(3), offset).graph().nodes
    assert isinstance(conv, Conv)
    np.testing.assert_allclose(conv.bias, offset)


def test_a_network_can_go_on_after_its_graph() -> None:
    x = tensor("image", 2).quantised(0.5).dense(weight(3, 2))
    short = x.graph()
    long = x.relu().quantised(0.5).graph()
    assert [type(node) for node in short.nodes] == [Dense]
    assert [type(node) for node in long.nodes] == [Dense, Clip]
    assert short.declared.keys() == {"image"}


def test_the_input_may_have_any_name() -> None:
    x = tensor("conv1", 1, 2, 2).conv(weight(1, 1, 1, 1)).conv(weight(1, 1, 1, 1))
    assert [node.name for node in x.graph().nodes] == ["conv2", "conv3"]


def test_only_tensors_are_added() -> None:
    with pytest.raises(TypeError, match="unsupported operand"):
        tensor("image", 2) + 1  # type: ignore[operator]


def test_shapes_say_themselves() -> None:
    image = tensor("image", 2, 6, 6)
    assert image.shape == (2, 6, 6)
    assert image.conv(weight(4, 1, 3, 3), stride=2, padding=(0, 1, 0, 1), groups=2).shape == (4, 2, 3)
    assert image.global_average_pool().shape == (2,)
    assert image.reshape(4, 18).shape == (4, 18)
    assert image.pad((0, 0), (1, 2), (0, 0)).shape == (2, 9, 6)
    assert repr(image) == "Tensor(name='image', shape=(2, 6, 6))"


@pytest.mark.parametrize(
    ("mistake", "code"),
    [
        (lambda x: x.dense(weight(3, 5)), "model.shape"),
        (lambda x: x.conv(weight(3, 5, 2, 2)), "model.shape"),
        (lambda x: x.conv(weight(3, 2, 7, 7)), "model.shape"),
        (lambda x: x + x.average_pool(2), "model.shape"),
        (lambda x: x + tensor("other", 2, 4, 4), "model.graph"),
        (lambda x: concat([x, x.average_pool(2)]), "model.shape"),
        (lambda x: x.reshape(5), "model.shape"),
        (lambda x: x.transpose(0, 1), "model.shape"),
        (lambda x: x.clip(1, 1), "model.shape"),
        (lambda x: x.conv(np.full((1, 2, 1, 1), np.nan)), "model.not_finite"),
        (lambda x: x.conv(weight(3, 2, 1, 1), bias=weight(2)), "model.shape"),
        (lambda x: x.conv(weight(3, 2, 1, 1), stride=0), "model.shape"),
        (lambda x: x.conv(weight(3, 2, 1, 1), padding=1 << 20), "model.too_large"),
        (lambda x: x.max_pool(2, 0), "model.shape"),
        (lambda x: x.flatten().global_average_pool(), "model.shape"),
        (lambda x: x.pad((0, 1 << 20), (0, 0), (0, 0)), "model.too_large"),
        (lambda x: concat([]), "model.graph"),
        (lambda x: x.flatten().dense(2.0), "model.shape"),
        (lambda x: x.flatten().dense([[1.0], [1.0, 2.0]]), "model.bad_tensor"),
        (lambda x: x.quantised(0.0), "model.quantisation"),
        (lambda x: x.quantised(0.5, zero_point=16, bits=4), "model.quantisation"),
        (lambda x: x.quantised(0.5, bits=17), "model.quantisation"),
    ],
)
def test_mistakes_are_noticed_in_their_line(mistake: object, code: str) -> None:
    with refuses(code):
        mistake(tensor("image", 2, 4, 4))  # type: ignore[operator]


def test_types_can_be_prescribed() -> None:
    image = tensor("image", 2)
    x: Tensor = image.quantised(0.5, 8, bits=4).dense(weight(2, 2)).relu().quantised(0.25, bits=4)
    graph = x.graph()
    assert graph.declared.keys() == {"image", graph.output}
    assert graph.declared["image"].interval == (-4.0, 3.5)
    assert graph.declared[graph.output].interval == (0.0, 3.75)
