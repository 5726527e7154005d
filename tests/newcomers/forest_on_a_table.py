"""A forest decides on a table with words and gaps: one decision and its accuracy are proven."""

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import zenserve

draw = np.random.default_rng(7)
rows = 600
table = pd.DataFrame(
    {
        "city": draw.choice(["Hamburg", "Lyon", "Porto"], rows),
        "income": draw.normal(40_000, 9_000, rows).round(),
        "years": draw.integers(0, 30, rows).astype(float),
    }
)
decision = np.where(
    table["income"] + 800 * table["years"] + 4_000 * (table["city"] == "Porto") > 52_000, "approve", "refuse"
)
table.loc[draw.random(rows) < 0.1, "years"] = np.nan

model = make_pipeline(
    make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["city"]),
        (SimpleImputer(add_indicator=True), ["income", "years"]),
    ),
    RandomForestClassifier(20, max_depth=5, random_state=0),
).fit(table[:400], decision[:400])

proof = zenserve.prove(model, table[400:401], calibration=table[:400])
print(proof.answer["label"], model.predict(table[400:401])[0])
assert proof.answer["label"] == model.predict(table[400:401])[0]
proof.save("proof")

accuracy = zenserve.accuracy(model, table[400:500], decision[400:500], calibration=table[:400])
print(accuracy.answer)
assert accuracy.answer["correct"] == (model.predict(table[400:500]) == decision[400:500]).sum()
accuracy.save("accuracy")
