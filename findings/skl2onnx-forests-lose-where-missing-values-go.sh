#!/bin/sh
# skl2onnx 1.20.0: forests that were trained with missing values send all of these to the right.
#
# scikit-learn's trees keep for each node whether a missing value goes left (`tree_.missing_go_to_left`). The file's
# attribute for that, nodes_missing_value_tracks_true, is 0 for every node. Run by onnxruntime 1.32.0 on the rows that
# the model was trained on, a third of whose entries are missing, labels and probabilities are others.
#
# Seen: "24 nodes send missing values to the left, the file 0; 32 % of the labels differ".
# Exit status: 0 while this is so, 1 when the file says where missing values go.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q skl2onnx==1.20.0 scikit-learn==1.9.1 onnxruntime==1.32.0 'protobuf<7'
"$folder/venv/bin/python" - <<'END'
import numpy as np, onnxruntime
from skl2onnx import to_onnx
from sklearn.ensemble import RandomForestClassifier

rng = np.random.default_rng(0)
rows = rng.normal(size=(400, 3)).astype(np.float32)
right = (rows.sum(axis=1) > 0).astype(int)
rows[rng.random(rows.shape) < 0.3] = np.nan
model = RandomForestClassifier(5, max_depth=4, random_state=0).fit(rows, right)
file = to_onnx(model, rows[:1], options={"zipmap": False})
ours = sum(int(tree.tree_.missing_go_to_left.sum()) for tree in model.estimators_)
name = "nodes_missing_value_tracks_true"
theirs = sum(sum(each.ints) for node in file.graph.node for each in node.attribute if each.name == name)
labels = onnxruntime.InferenceSession(file.SerializeToString()).run(None, {"X": rows})[0]
differ = float((labels != model.predict(rows)).mean())
print(f"{ours} nodes send missing values to the left, the file {theirs}; {differ:.0%} of the labels differ")
assert ours > 0 and theirs == 0 and differ > 0.05
END
