#!/bin/sh
# XGBoost 3.2.0: names of categories that are not plain ASCII are kept cut.
#
# A model that was trained on a DataFrame with categories keeps their names, to find each one's code again in a
# DataFrame that lists them in another order. It counts characters and copies bytes: of "Köln" and "Käln" the last
# byte is lost, and the names after them begin too early. Predictions for the same rows, with the categories in another
# order, are silently wrong; with names of ASCII they are right. Seen with pandas 3.1.1: accuracy 1.0 and then 0.3.
#
# Exits with 0 while this is so.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q xgboost-cpu==3.2.0 pandas==3.1.1 scikit-learn==1.9.1
"$folder/venv/bin/python" - <<'END'
import numpy as np, pandas as pd, xgboost

def accuracies(names):
    rows = pd.DataFrame({"city": pd.Categorical(np.random.default_rng(0).choice(names, 300))})
    right = (rows.city == names[0]).astype(int)
    model = xgboost.XGBClassifier(n_estimators=5, max_depth=2, enable_categorical=True).fit(rows, right)
    other = pd.DataFrame({"city": pd.Categorical(rows.city.astype(str), categories=names)})
    return [float((model.predict(each) == right).mean()) for each in (rows, other)]

plain, beyond = accuracies(["Koeln", "Kaeln", "Bonn"]), accuracies(["Köln", "Käln", "Bonn"])
print("ASCII, own order and another:", plain)
print("not ASCII:                   ", beyond)
assert plain == [1.0, 1.0], plain
assert beyond[0] == 1.0 and beyond[1] < 0.9, beyond
END
