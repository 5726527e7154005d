#!/usr/bin/env bash
# skl2onnx writes OneVsRestClassifier(SVC()) with the scores of each machine negated: the file's label is the
# class that is least likely, so it is right on hardly any row.
#
# Versions: skl2onnx 1.20.0, scikit-learn 1.9.1, onnxruntime 1.32.0, onnx 1.23.2, numpy 2.4.6.
# Behaviour: the file of a plain SVC has the right label but its two score columns in the other order;
# OneVsRestClassifier's converter reads the second column as the score of its class. No error, no warning. The
# same classifier over LogisticRegression is written rightly.
# Output seen:
#   SVC: labels right on 150 of 150 rows, argmax of its scores on 0
#   OneVsRestClassifier(LogisticRegression): right on 150 of 150 rows
#   OneVsRestClassifier(SVC): right on 0 of 150 rows, as scikit-learn: 100.0 % accurate, the file: 0.0 %
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
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

onnxruntime.set_default_logger_severity(4)
x, y = make_blobs(150, n_features=4, centers=3, random_state=0, cluster_std=0.5)
x = x.astype(np.float32)


def file_says(model):
    session = onnxruntime.InferenceSession(to_onnx(model, x[:1]).SerializeToString())
    return session.run(None, {session.get_inputs()[0].name: x})


two = SVC().fit(x, y > 0)
label, scores = file_says(two)
scores = np.array([[*each.values()] for each in scores]) if isinstance(scores, list) else scores
right = int((label == two.predict(x)).sum())
ranked = int((scores.argmax(axis=1) == two.predict(x)).sum())
print(f"SVC: labels right on {right} of {len(x)} rows, argmax of its scores on {ranked}")
linear = OneVsRestClassifier(LogisticRegression()).fit(x, y)
linear_right = int((file_says(linear)[0] == linear.predict(x)).sum())
print(f"OneVsRestClassifier(LogisticRegression): right on {linear_right} of {len(x)} rows")
machines = OneVsRestClassifier(SVC()).fit(x, y)
made = file_says(machines)[0]
same = int((made == machines.predict(x)).sum())
print(
    f"OneVsRestClassifier(SVC): right on {same} of {len(x)} rows, as scikit-learn: "
    f"{100 * machines.score(x, y):.1f} % accurate, the file: {100 * (made == y).mean():.1f} %"
)
raise SystemExit(not (right == len(x) and ranked == 0 and linear_right == len(x) and same == 0))
PYTHON
