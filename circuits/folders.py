"""Folders that Hugging Face's libraries and MLflow save: a model, and what its inputs and classes are called.

Nothing in a folder is run here. A model that Python pickled is named for ``zenserve import``, which runs it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from zenserve.errors import ModelError, TensorError
from zenserve.verifier.table import Column, TableSchema

TOKENISED: Final = "tokenisation by tokenizer.json is not proven: the proof is about the token ids"
_ONNX: Final = ("model.onnx", "onnx/model.onnx")
_NUMBERS: Final = frozenset({"boolean", "integer", "long", "float", "double"})
Encoder = Callable[[Any], dict[str, NDArray[np.int64]]]


@dataclass(frozen=True)
class ModelFolder:
    """``onnx``: the file that has the network; or ``pickled``, that Python has to load. ``schema``: names of
    columns and classes. ``tokenizer``: of the texts that the model takes. ``example``: typical rows."""

    path: Path
    onnx: Path | None
    pickled: Path | None
    schema: TableSchema | None
    tokenizer: Path | None = None
    example: Path | None = None

    @property
    def network(self) -> Path:
        """The ONNX file. Raises ``ModelError`` (``model.export``) where there is none."""
        if self.onnx is None:
            held = f"{self.pickled.name}, which runs code when it is loaded" if self.pickled else "none"
            raise ModelError(
                "model.export",
                f"{self.path} has no ONNX file ({' or '.join(_ONNX)}) but {held}: if you trust it, write one"
                f" with zenserve import {self.path} model.onnx --input rows.npy",
            )
        return self.onnx

    def encoder(self, names: Iterable[str], texts: Iterable[str]) -> Encoder:
        """Return the function that encodes a text, or a list of texts, as inputs [n, tokens] of these
        ``names``, all padded to the length of the longest of ``texts``. Raises ``ModelError``,
        ``TensorError``."""
        if self.tokenizer is None:
            raise TensorError(
                "input.not_numeric", f"a text takes a tokenizer.json in {self.path}", field="input"
            )
        try:
            from tokenizers import Tokenizer
        except ImportError:
            reason = "texts take the package tokenizers: pip install tokenizers, or give token ids"
            raise ModelError("model.no_exporter", reason) from None
        tokenizer = Tokenizer.from_file(str(self.tokenizer))
        wanted = [*names]
        length = max(len(each.ids) for each in tokenizer.encode_batch([*texts]))
        tokenizer.enable_truncation(length)
        padding = tokenizer.padding or {}
        tokenizer.enable_padding(**(padding | {"length": length}))

        def encode(given: Any) -> dict[str, NDArray[np.int64]]:
            made = tokenizer.encode_batch([given] if isinstance(given, str) else [*given])
            of_each = {
                "input_ids": [each.ids for each in made],
                "attention_mask": [each.attention_mask for each in made],
                "token_type_ids": [each.type_ids for each in made],
            }
            if unknown := set(wanted) - set(of_each):
                raise TensorError(
                    "input.names", f"no text makes the input {min(unknown)}: give arrays", field="input"
                )
            return {name: np.array(of_each[name], np.int64) for name in wanted}

        return encode


def texts_in(given: Any) -> list[str]:
    """The texts, of one or of a list of them; none of anything else."""
    if isinstance(given, str):
        return [given]
    is_list = isinstance(given, list) or getattr(getattr(given, "dtype", None), "kind", "") in ("U", "O")
    return [*map(str, given)] if is_list and len(given) and all(isinstance(x, str) for x in given) else []


def open_folder(path: Path) -> ModelFolder:
    """Raises ``ModelError`` (``model.unknown``, ``model.unreadable``)."""
    if (path / "MLmodel").is_file():
        return _of_mlflow(path)
    if (path / "config.json").is_file():
        return _of_hugging_face(path)
    reason = f"{path} is a folder with neither an MLmodel file (MLflow) nor a config.json (Hugging Face)"
    raise ModelError("model.unknown", reason)


def _of_hugging_face(path: Path) -> ModelFolder:
    config = _json(path / "config.json")
    tokenizer = path / "tokenizer.json"
    names = config.get("id2label") or {}
    try:
        classes = tuple(str(names[str(place)]) for place in range(len(names))) or None
    except KeyError:
        raise ModelError("model.unreadable", "config.json: id2label must number the classes from 0") from None
    unproven = TOKENISED if tokenizer.is_file() else None
    schema = TableSchema(classes=classes, unproven=unproven) if classes or unproven else None
    onnx = next((path / name for name in _ONNX if (path / name).is_file()), None)
    return ModelFolder(path, onnx, None, schema, tokenizer if tokenizer.is_file() else None)


def _of_mlflow(path: Path) -> ModelFolder:
    try:
        import yaml
    except ImportError:
        reason = "an MLmodel file takes the package PyYAML: pip install pyyaml"
        raise ModelError("model.no_exporter", reason) from None
    try:
        said = yaml.safe_load((path / "MLmodel").read_text())
        flavors: Mapping[str, Any] = said["flavors"]
        inputs = json.loads((said.get("signature") or {}).get("inputs") or "[]")
        example = (said.get("saved_input_example_info") or {}).get("artifact_path")
    except (yaml.YAMLError, KeyError, TypeError, AttributeError, ValueError):
        raise ModelError("model.unreadable", f"{path}/MLmodel is no description of a model") from None
    onnx, pickled = None, None
    if "onnx" in flavors:
        onnx = _inside(path, flavors["onnx"].get("data", "model.onnx"))
    elif "sklearn" in flavors:
        pickled = _inside(path, flavors["sklearn"].get("pickled_model", "model.pkl"))
    elif "pytorch" in flavors:
        pickled = _inside(path, f"{flavors['pytorch'].get('model_data', 'data')}/model.pth")
    else:
        known = ", ".join(map(str, flavors)) or "none"
        reason = f"{path}/MLmodel has the flavours {known}; onnx, sklearn and pytorch are read"
        raise ModelError("model.unknown", reason)
    rows = _inside(path, example) if example else None
    return ModelFolder(path, onnx, pickled, _of_signature(inputs), example=rows)


def _of_signature(inputs: Sequence[Mapping[str, Any]]) -> TableSchema | None:
    """The columns of a signature that has names of numbers alone."""
    if not inputs or not all(each.get("name") and each.get("type") in _NUMBERS for each in inputs):
        return None
    return TableSchema(columns=tuple(Column(name=str(each["name"])) for each in inputs))


def _inside(path: Path, name: str) -> Path:
    """A file of the folder. Raises ``ModelError`` for one that is not there, or elsewhere."""
    found = (path / name).resolve()
    if not found.is_relative_to(path.resolve()) or not found.exists():
        raise ModelError("model.unreadable", f"{path} has no {name}")
    return found


def _json(file: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(file.read_text())
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ModelError("model.unreadable", f"{file} is no JSON object")
    return found
