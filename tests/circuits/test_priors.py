"""Networks that are no models of a bank, and what is said of them."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from circuits import load_onnx, quantise
from circuits.banks import form_of
from circuits.graphs.types import FloatArray
from circuits.networks.language import tensor
from circuits.onnx.write import to_onnx
from circuits.priors import with_prior
from tests.refusals import refuses
from verifier.bank import PRIOR

ROWS = np.random.default_rng(0).random((8, 4))


def file(classes: int = 3, name: str = "x") -> bytes:
    return to_onnx(tensor(name, 4).dense(np.eye(classes, 4)).graph())


def of_an_old_opset() -> bytes:
    edited = onnx.load_from_string(file())
    edited.opset_import[0].version = 9
    return bytes(edited.SerializeToString())


def of_two_outputs() -> bytes:
    edited = onnx.load_from_string(file())
    edited.graph.node.append(helper.make_node("Relu", [edited.graph.output[0].name], ["more"]))
    edited.graph.output.append(helper.make_tensor_value_info("more", TensorProto.FLOAT, ["batch", 3]))
    return bytes(edited.SerializeToString())


@pytest.mark.parametrize(
    ("model", "images", "code"),
    [
        (file(name=PRIOR), ROWS, "model.inputs"),
        (file(classes=1), ROWS, "model.shape"),
        (to_onnx(tensor("x", 1, 2, 2).average_pool(1).graph()), ROWS.reshape(8, 1, 2, 2), "model.shape"),
        (of_two_outputs(), ROWS, "model.outputs"),
        (of_an_old_opset(), ROWS, "model.opset"),
    ],
    ids=["an input called prior", "one class", "an image of classes", "two outputs", "an old operator set"],
)
def test_what_cannot_be_a_model_of_a_bank_is_refused(model: bytes, images: FloatArray, code: str) -> None:
    with refuses(code):
        with_prior(model, images)


def test_a_network_without_a_prior_is_in_no_bank() -> None:
    with refuses("model.bank"):
        form_of(quantise(load_onnx(file()), ROWS))
