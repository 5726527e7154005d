"""LightGBM on a DataFrame with categories and missing values: one decision is proven."""

import lightgbm
import numpy as np
import pandas as pd

import zenserve

draw = np.random.default_rng(11)
rows = 500
table = pd.DataFrame(
    {
        "plan": pd.Categorical(draw.choice(["basic", "family", "business"], rows)),
        "minutes": draw.gamma(2.0, 120.0, rows),
        "complaints": draw.poisson(0.7, rows).astype(float),
    }
)
leaves = (table["complaints"] > 1) | ((table["plan"] == "basic") & (table["minutes"] < 120))
table.loc[draw.random(rows) < 0.08, "minutes"] = np.nan

model = lightgbm.LGBMClassifier(n_estimators=20, max_depth=4, verbose=-1).fit(table[:400], leaves[:400])

customer = table[450:451]
proof = zenserve.prove(model, customer, calibration=table[:400])
print(proof.answer["label"], model.predict(customer)[0])
assert bool(proof.answer["label"]) == bool(model.predict(customer)[0])
proof.save("proof")
