"""Folders of Hugging Face's libraries and of MLflow: what they name, and what is made of texts."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import zenserve
from tests.refusals import refuses
from tests.service.support import tiny_onnx
from zenserve.circuits.folders import TOKENISED, open_folder

WORDS = ("[PAD]", "good", "bad", "film")


def classifier() -> bytes:
    """The sum of the words' scores: the first class for bad, the second for good."""
    scores = np.array([[0, 0], [0, 1], [1, 0], [0, 0]], np.float32)
    nodes = [
        helper.make_node("Gather", ["scores", "input_ids"], ["each"]),
        helper.make_node("Unsqueeze", ["attention_mask", "last"], ["column"]),
        helper.make_node("Cast", ["column"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["each", "mask"], ["kept"]),
        helper.make_node("ReduceSum", ["kept", "middle"], ["logits"], keepdims=0),
    ]
    shape = ["batch", "sequence"]
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, shape)
        for name in ("input_ids", "attention_mask")
    ]
    output = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 2])
    held = [
        numpy_helper.from_array(scores, "scores"),
        numpy_helper.from_array(np.array([2]), "last"),
        numpy_helper.from_array(np.array([1]), "middle"),
    ]
    graph = helper.make_graph(nodes, "words", inputs, [output], held)
    return bytes(
        helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8
        ).SerializeToString()
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tokenizers = pytest.importorskip("tokenizers", reason="texts take Hugging Face's tokenizers")
    vocabulary = {word: place for place, word in enumerate(WORDS)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="film"))  # noqa: S106
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "config.json").write_text(json.dumps({"id2label": {"0": "NEGATIVE", "1": "POSITIVE"}}))
    (tmp_path / "model.onnx").write_bytes(classifier())
    return tmp_path


def test_a_text_is_proven_and_its_class_has_a_name(folder: Path, tmp_path: Path) -> None:
    typical = ["good film", "bad bad film", "good good good good", "film film film bad"]
    proof = zenserve.prove(folder, "good film", calibration=typical, weight_privacy="public")
    assert (proof.shown, proof.answer) == ({"label": 1}, {"label": "POSITIVE"})
    assert proof.schema is not None
    assert proof.schema.unproven == TOKENISED
    proof.save(tmp_path / "proof")
    assert "not proven" in (tmp_path / "proof" / "table.json").read_text()


def test_what_a_folder_lacks_is_named(tmp_path: Path) -> None:
    with refuses("model.unknown", match="MLmodel"):
        open_folder(tmp_path)
    (tmp_path / "config.json").write_text('{"id2label": {"0": "no"}}')
    with refuses("model.export", match="zenserve import"):
        zenserve.prove(tmp_path, np.zeros(4))
    (tmp_path / "model.onnx").write_bytes(tiny_onnx())
    with refuses("input.not_numeric", "input", match=r"tokenizer\.json"):
        zenserve.prove(tmp_path, "a text")
    (tmp_path / "config.json").write_text('{"id2label": {"1": "no"}}')
    with refuses("model.unreadable", match="id2label"):
        open_folder(tmp_path)


MLMODEL = """
flavors:
  {flavor}
signature:
  inputs: '[{{"name": "age", "type": "double"}}, {{"name": "income", "type": "double"}},
    {{"name": "debts", "type": "long"}}, {{"name": "years", "type": "long"}}]'
"""


def test_a_folder_of_mlflow_s_names_the_columns_of_its_signature(tmp_path: Path) -> None:
    pytest.importorskip("yaml", reason="an MLmodel file is YAML")
    (tmp_path / "MLmodel").write_text(MLMODEL.format(flavor="onnx: {data: model.onnx}"))
    (tmp_path / "model.onnx").write_bytes(tiny_onnx())
    row = {"age": 0.1, "income": 0.2, "debts": 0.3, "years": 0.4}
    proof = zenserve.prove(tmp_path, row, weight_privacy="public", input_privacy="public")
    assert proof.answer["input"].keys() == row.keys()
    with refuses("input.names", match="'income'"):
        zenserve.prove(tmp_path, {"age": 0.1})


def test_a_pickle_in_a_folder_is_not_loaded(tmp_path: Path) -> None:
    pytest.importorskip("yaml", reason="an MLmodel file is YAML")

    class Loaded:
        def __reduce__(self) -> tuple[object, ...]:
            return pytest.fail, ("it was unpickled",)

    (tmp_path / "model.pkl").write_bytes(pickle.dumps(Loaded()))
    for flavor, code in (
        ("sklearn: {pickled_model: model.pkl}", "model.export"),
        ("sklearn: {pickled_model: ../model.pkl}", "model.unreadable"),
        ("spacy: {}", "model.unknown"),
    ):
        (tmp_path / "MLmodel").write_text(MLMODEL.format(flavor=flavor))
        with refuses(code):
            zenserve.prove(tmp_path, np.zeros(4))
