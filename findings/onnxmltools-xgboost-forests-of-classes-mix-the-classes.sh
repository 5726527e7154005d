#!/usr/bin/env bash
# onnxmltools gives tree t of an XGBoost classifier to class t modulo the number of classes. A round of a random
# forest (num_parallel_tree > 1, XGBRFClassifier) has several trees of one class after the other: the file adds
# them to other classes.
#
# Versions: onnxmltools 1.16.0, xgboost 3.2.0, scikit-learn 1.9.1, onnxruntime 1.32.0, onnx 1.23.2, numpy 2.4.6.
# Behaviour: XGBoost's own model says in tree_info which class each tree is of (0 … 0 1 … 1 2 … 2); the
# converter does not look at it. No error, no warning, probabilities that add up to 1.
# Output seen:
#   XGBClassifier: label right on 178 of 178 rows
#   tree_info: trees of class 0, 1, 2 from tree 0 32 64 on
#   XGBRFClassifier: label right on 65 of 178 rows, probabilities off by up to 0.57
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check onnxmltools==1.16.0 xgboost==3.2.0 \
  scikit-learn==1.9.1 skl2onnx==1.20.0 onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6 2>/dev/null
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import json

import numpy as np
import onnxmltools
import onnxruntime
from onnxmltools.convert.common.data_types import FloatTensorType
from sklearn.datasets import load_wine
from xgboost import XGBClassifier, XGBRFClassifier

onnxruntime.set_default_logger_severity(4)
x, y = load_wine(return_X_y=True)
x = x.astype(np.float32)
same = {}
for kind, trees in ((XGBClassifier, 4), (XGBRFClassifier, 32)):
    model = kind(n_estimators=trees, max_depth=3, random_state=0).fit(x, y)
    if kind is XGBRFClassifier:
        saved = json.loads(bytes(model.get_booster().save_raw("json")))
        classes = saved["learner"]["gradient_booster"]["model"]["tree_info"]
        print("tree_info: trees of class 0, 1, 2 from tree", *(classes.index(each) for each in range(3)), "on")
    file = onnxmltools.convert_xgboost(model, initial_types=[("x", FloatTensorType([None, x.shape[1]]))])
    label, scores = onnxruntime.InferenceSession(file.SerializeToString()).run(None, {"x": x})
    same[kind] = int((label == model.predict(x)).sum())
    off = np.abs(scores - model.predict_proba(x)).max()
    told = f", probabilities off by up to {off:.2f}" if kind is XGBRFClassifier else ""
    print(f"{kind.__name__}: label right on {same[kind]} of {len(x)} rows{told}")
raise SystemExit(not (same[XGBClassifier] == len(x) and same[XGBRFClassifier] < 0.6 * len(x)))
PYTHON
