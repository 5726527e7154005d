"""``zenserve import``, as a user meets it."""

from __future__ import annotations

import json
import pickle
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.circuits.operators.test_learned import CLASSIFIERS, model
from zenserve.circuits import load_onnx
from zenserve.circuits.onnx.described import schema_of
from zenserve.circuits.onnx.message import decode

MODELS = """
class Network:
    __module__ = "keras.models"
    input_shape = (None, 2)
    shift = 0.0

    def __call__(self, batch):
        return batch

    def export(self, file, format, verbose):
        with open(file, "wb") as to:
            to.write(open("made.onnx", "rb").read())

    def predict(self, batch, verbose):
        import onnxruntime
        label, scores = onnxruntime.InferenceSession("made.onnx").run(None, {"x": batch.astype("f")})
        return [label, scores + self.shift]

class Shifted(Network):
    __module__ = "keras.models"
    shift = 0.5

class Rooms:
    network = Network()
    shifted = Shifted()

def trained():
    return Network()
"""


@pytest.fixture
def run(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Of ``zenserve import``, in a folder with a module."""
    monkeypatch.chdir(tmp_path)
    Path("rooms_to_let.py").write_text(MODELS)
    Path("made.onnx").write_bytes(model(*CLASSIFIERS["linear, NONE"], outputs=2))
    np.save("rows.npy", np.zeros((3, 2)))
    return partial(run, "import")


@pytest.mark.parametrize("place", ["rooms_to_let:trained", "rooms_to_let:Rooms.network"])
def test_a_model_becomes_a_file(run: Any, place: str) -> None:
    code, out, err = run(place, "room.onnx", "--input", "rows.npy", "--json")
    assert (code, err) == (0, "")
    said = json.loads(out)
    assert [(each["stage"], each["node"]) for each in said.pop("differences")] == [
        ("export", None),
        ("import", None),
    ]
    assert said == {
        "file": "room.onnx",
        "inputs": {"x": [2]},
        "outputs": {"label": [1], "scores": [3]},
    }
    assert [*load_onnx(Path("room.onnx")).outputs] == ["label", "scores"]


def test_of_its_outputs_some_may_be_kept(run: Any) -> None:
    code, out, _ = run("rooms_to_let:trained", "room.onnx", "--input", "rows.npy", "--output", "scores")
    assert code == 0
    assert out.startswith("room.onnx: x [2], scores [3]\n")
    assert "beside the Network itself, on 3 samples" in out
    assert [*load_onnx(Path("room.onnx")).outputs] == ["scores"]
    code, _, err = run("rooms_to_let:trained", "room.onnx", "--input", "rows.npy", "--output", "other")
    assert code == 2
    assert "those that there are: label, scores" in err


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("rooms_to_let", "is no model: give MODULE:NAME"),
        ("rooms_to_let:none", "no attribute"),
        ("no_rooms:x", "No module"),
    ],
)
def test_what_is_not_there_is_said(run: Any, place: str, words: str) -> None:
    code, _, err = run(place, "room.onnx", "--input", "rows.npy")
    assert code == 2
    assert words in err


def test_a_file_that_is_another_function_than_its_model_is_not_written(run: Any) -> None:
    code, _, err = run("rooms_to_let:Rooms.shifted", "room.onnx", "--input", "rows.npy")
    assert code == 2
    assert "the Shifted itself and the file that it was exported to differ" in err
    assert "[model.differs]" in err
    assert not Path("room.onnx").exists()
    code, _, _ = run("rooms_to_let:Rooms.shifted", "room.onnx", "--input", "rows.npy", "--accept-difference")
    assert code == 0
    assert Path("room.onnx").exists()


MODULES = """
import torch
from torch import nn

class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.scores = nn.Embedding(30, 4), nn.Linear(4, 3)

    def forward(self, ids, mask):
        kept = self.words(ids) * mask.unsqueeze(-1)
        return self.scores(kept.sum(1) / mask.sum(1, keepdim=True))

torch.manual_seed(0)
masked = Masked()
picture = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 3))
whole = nn.Linear(4, 2)
"""


@pytest.mark.large
def test_a_module_s_file_takes_several_inputs_and_any_number_of_rows(run: Any) -> None:
    pytest.importorskip("torch", reason="PyTorch exports modules")
    pytest.importorskip("onnxscript", reason="PyTorch's exporter takes it")
    Path("modules.py").write_text(MODULES)
    rng = np.random.default_rng(0)
    ids, mask = rng.integers(0, 30, (5, 6)), np.ones((5, 6), np.float32)
    mask[:, 4:] = 0
    np.save("ids.npy", ids)
    np.save("mask.npy", mask)
    np.savez("both.npz", mask=mask, ids=ids)  # by the names of the module's parameters
    code, out, err = run("modules:masked", "masked.onnx", "--input", "both.npz", "--json")
    assert code == 0, err
    assert json.loads(out)["inputs"] == {"ids": [6], "mask": [6]}
    batch = decode(Path("masked.onnx").read_bytes()).graph.input[0].type.tensor_type.shape.dim[0]
    assert batch.dim_param
    np.save("pictures.npy", rng.random((3, 1, 4, 4), np.float32))
    code, out, err = run("modules:picture", "picture.onnx", "--input", "pictures.npy", "--json")
    assert code == 0, err
    assert json.loads(out)["inputs"] == {"input": [1, 4, 4]}
    assert json.loads(out)["differences"][0]["samples"] == 3
    np.save("row.npy", rng.random(4, np.float32))
    assert run("modules:whole", "whole.onnx", "--input", "row.npy")[0] == 0, "a row without a batch"
    assert run("modules:masked", "x.onnx", "--input", "ids.npy", "--input", "mask.npy")[0] == 0


def test_a_folder_with_an_onnx_file_is_copied_with_the_names_that_it_has(run: Any) -> None:
    folder = Path("sentiment")
    folder.mkdir()
    (folder / "model.onnx").write_bytes(Path("made.onnx").read_bytes())
    (folder / "config.json").write_text(json.dumps({"id2label": {"0": "no", "1": "so", "2": "yes"}}))
    code, out, err = run(folder, "named.onnx", "--json")
    assert code == 0, err
    assert json.loads(out) == {"file": "named.onnx", "table": {"classes": ["no", "so", "yes"]}}
    schema = schema_of(Path("named.onnx"), load_onnx(Path("named.onnx")))
    assert schema is not None
    assert schema.classes == ("no", "so", "yes")
    assert "--input" in run("rooms_to_let:trained", "room.onnx")[2]


def test_an_estimator_that_mlflow_saved_is_loaded_where_it_is_asked_for(run: Any) -> None:
    pytest.importorskip("yaml", reason="an MLmodel file is YAML")
    pytest.importorskip("skl2onnx", reason="scikit-learn's models are exported by it")
    pytest.importorskip("pandas", reason="rows with names are a table of pandas'")
    from sklearn.linear_model import LogisticRegression

    rows = np.random.default_rng(0).normal(size=(20, 2))
    fitted = LogisticRegression().fit(rows, rows[:, 0] > 0)
    folder = Path("saved")
    folder.mkdir()
    (folder / "model.pkl").write_bytes(pickle.dumps(fitted))
    example = {"columns": ["age", "income"], "data": rows.tolist()}
    (folder / "input_example.json").write_text(json.dumps(example))
    (folder / "MLmodel").write_text(
        "flavors: {sklearn: {pickled_model: model.pkl}}\n"
        "saved_input_example_info: {artifact_path: input_example.json}\n"
    )
    code, out, err = run(folder, "saved.onnx", "--json")
    assert code == 0, err
    assert [each["name"] for each in json.loads(out)["table"]["columns"]] == ["age", "income"]
