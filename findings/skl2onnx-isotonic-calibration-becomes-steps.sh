#!/usr/bin/env bash
# skl2onnx writes CalibratedClassifierCV(method="isotonic") as steps: each score has the probability of one of
# the knots, where scikit-learn interpolates between two.
#
# Versions: skl2onnx 1.20.0, scikit-learn 1.9.1, onnxruntime 1.32.0, onnx 1.23.2, numpy 2.4.6.
# Behaviour: on the rows that it was fitted with hardly anything differs, for these are the knots; on new rows
# the probabilities do. method="sigmoid" is written rightly. No error, no warning.
# Output seen:
#   sigmoid: off by up to 0.0000 on new rows
#   isotonic: off by up to 0.0772 on new rows, 21 of 1000 by more than 0.01
#   distinct probabilities on new rows: 51 in scikit-learn, 13 in the file, of 26 knots
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  skl2onnx==1.20.0 scikit-learn==1.9.1 onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6 2>/dev/null
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import numpy as np
import onnxruntime
from skl2onnx import to_onnx
from sklearn.calibration import CalibratedClassifierCV
from sklearn.naive_bayes import GaussianNB

onnxruntime.set_default_logger_severity(4)
draw = np.random.default_rng(0)
x = draw.normal(size=(300, 2)).astype(np.float32)
y = (x[:, 0] + draw.normal(size=300) > 0).astype(int)
new = draw.normal(size=(1000, 2)).astype(np.float32)
off = {}
for method in ("sigmoid", "isotonic"):
    model = CalibratedClassifierCV(GaussianNB(), method=method, cv=2, ensemble=False).fit(x, y)
    options = {id(model): {"zipmap": False}}
    session = onnxruntime.InferenceSession(to_onnx(model, x[:1], options=options).SerializeToString())
    made = session.run(None, {session.get_inputs()[0].name: new})[1]
    gaps = np.abs(made - model.predict_proba(new)).max(axis=1)
    off[method] = gaps.max()
    more = f", {int((gaps > 0.01).sum())} of {len(new)} by more than 0.01" if method == "isotonic" else ""
    print(f"{method}: off by up to {gaps.max():.4f} on new rows{more}")
knots = model.calibrated_classifiers_[0].calibrators[0]
print(f"distinct probabilities on new rows: {len(np.unique(model.predict_proba(new)[:, 1].round(6)))} in "
      f"scikit-learn, {len(np.unique(made[:, 1].round(6)))} in the file, of {len(knots.y_thresholds_)} knots")
raise SystemExit(not (off["sigmoid"] < 1e-4 and off["isotonic"] > 0.01))
PYTHON
