"""Models of other libraries than PyTorch, written as ONNX by the exporters that these have. No library is
needed here: a model says by its class which one it is of, and that one is there.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from circuits.onnx.export import export_torch
from zenerrors import ModelError

# As skl2onnx's converters for trees name them; it writes isolation forests in no newer one.
_SETS: Final = {"": 18, "ai.onnx.ml": 3}


def export_model(model: Any, *examples: Any) -> bytes:
    """A model as the bytes of an ONNX file: a ``torch.nn.Module``, an estimator or a pipeline of
    scikit-learn's, a model or a booster of XGBoost's or LightGBM's, a model of CatBoost's or of Keras'.

    ``examples``: what it takes, one input each, tensors or arrays; of estimators one row, or several. Raises
    ``ModelError``: ``model.no_exporter``, ``model.no_pytorch`` where a package is missing, and
    ``model.export`` where ``model`` is of none of these, or its exporter does not take it.
    """
    for kind in type(model).__mro__:
        package = kind.__module__.partition(".")[0]
        if package == "torch":
            return export_torch(model, *examples)
        if package in _EXPORTERS:
            return _exported(_EXPORTERS[package], model, examples)
    raise ModelError(
        "model.export",
        f"a {type(model).__name__} is no ONNX file and no model of PyTorch's, Keras', scikit-learn's, "
        "XGBoost's, LightGBM's or CatBoost's",
    )


def _exported(exporter: Callable[[Any, NDArray[Any]], bytes], model: Any, examples: tuple[Any, ...]) -> bytes:
    if len(examples) != 1:
        raise ModelError("model.export", f"a {type(model).__name__} takes one input, not {len(examples)}")
    rows = np.asarray(examples[0])
    said = StringIO()
    try:
        with warnings.catch_warnings(), redirect_stdout(said), redirect_stderr(said):
            warnings.simplefilter("ignore")
            return exporter(model, rows)
    except ImportError as missing:
        raise ModelError(
            "model.no_exporter",
            f"{missing.name} is not installed: pip install 'zenserve[estimators]', or export the file "
            "elsewhere",
        ) from None
    except Exception as refusal:  # whatever a model and an exporter may raise
        reason = (str(refusal.__cause__ or refusal).strip().splitlines() or [type(refusal).__name__])[0]
        raise ModelError(
            "model.export", f"no exporter takes the {type(model).__name__}: {reason[:200]}"
        ) from refusal


def _row(rows: NDArray[Any]) -> NDArray[np.float32]:
    """One row [1, features]."""
    return rows.reshape(-1, rows.shape[-1])[:1].astype(np.float32)


def _sklearn(model: Any, rows: NDArray[Any]) -> bytes:
    """What is in a pipeline may be of XGBoost's or LightGBM's."""
    from skl2onnx import to_onnx

    _let_pipelines_have_trees()
    steps = getattr(model, "steps", None)
    parts = [part for _, part in steps] if steps else [model]
    # Neighbours take a loop, unless distances may be an operator of onnxruntime's.
    options: Any = {type(part): {"optim": "cdist"} for part in parts if "Neighbors" in type(part).__name__}
    # At the end of a pipeline its converter asks for an option that it refuses, unless another is named.
    options |= {type(parts[-1]): {"raw_scores": True}} if type(parts[-1]).__name__ == "LinearSVC" else {}
    return _bytes(to_onnx(model, _row(rows), target_opset=_SETS, options=options or None))


def _let_pipelines_have_trees() -> None:
    """XGBoost's and LightGBM's models in scikit-learn's pipelines, if there may be any."""
    from skl2onnx import update_registered_converter
    from skl2onnx.common import shape_calculator

    for package, file in (("lightgbm", "LightGbm"), ("xgboost", "XGBoost")):
        if package not in sys.modules:
            continue
        converters = import_module(f"onnxmltools.convert.{package}.operator_converters.{file}")
        convert, prefix = (
            getattr(converters, f"convert_{package}"),
            "LGBM" if package == "lightgbm" else "XGB",
        )
        for kind, shapes, options in (
            ("Classifier", shape_calculator.calculate_linear_classifier_output_shapes, _OF_CLASSES),
            ("Regressor", shape_calculator.calculate_linear_regressor_output_shapes, None),
        ):
            model = getattr(sys.modules[package], f"{prefix}{kind}")
            update_registered_converter(model, f"{prefix}{kind}", shapes, convert, options=options)


def _trees(name: str) -> Callable[[Any, NDArray[Any]], bytes]:
    """XGBoost's and LightGBM's own models and boosters."""

    def exporter(model: Any, rows: NDArray[Any]) -> bytes:
        import onnxmltools
        from onnxmltools.convert.common.data_types import FloatTensorType

        kinds = [("x", FloatTensorType([None, rows.shape[-1]]))]
        return _bytes(getattr(onnxmltools, f"convert_{name}")(model, initial_types=kinds))

    return exporter


def _catboost(model: Any, rows: NDArray[Any]) -> bytes:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "model.onnx"
        model.save_model(str(file), format="onnx")
        return file.read_bytes()


def _keras(model: Any, rows: NDArray[Any]) -> bytes:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "model.onnx"
        batch = rows if rows.ndim == len(model.input_shape) else rows[np.newaxis]
        model(batch[:1])  # its exporter takes what has been called
        model.export(str(file), format="onnx", verbose=False)
        return file.read_bytes()


def _bytes(model: Any) -> bytes:
    return bytes(model.SerializeToString())


# Of converters of classifiers, as skl2onnx asks for them.
_OF_CLASSES: Final = {"nocl": [True, False], "zipmap": [True, False, "columns"]}
_EXPORTERS: Final[Mapping[str, Callable[[Any, NDArray[Any]], bytes]]] = {
    "catboost": _catboost,
    "keras": _keras,
    "lightgbm": _trees("lightgbm"),
    "sklearn": _sklearn,
    "xgboost": _trees("xgboost"),
}
