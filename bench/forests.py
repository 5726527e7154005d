"""Forests of a hundred trees on real tables, private rows, committed models: what a proof costs and loses.

    pip install '.[bench]'
    python -m bench.forests [--only NAME] [--json FILE] [--quick]

Trained on three quarters of tables that scikit-learn has built in; accuracies are of the last quarter, of
floats as of integers, R² where the answer is a number. Trees have six levels. A proof is of one row, its
label or value public; keys, proofs and peaks are measured as in bench.schemes. "rows" are all constraints,
"blocks" say how the trees are cut (docs/trees.md), "bits" are the input's.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets, ensemble
from sklearn.model_selection import train_test_split

from bench.measure import alone, argument_parser
from bench.report import Cells, Report, Row, more, number
from bench.schemes import THREADS, Task, make_basis, make_key, prove
from zenserve.circuits import Graph, QuantGraph, load_onnx, parameters, quantise
from zenserve.circuits.onnx.estimators import export_model
from zenserve.circuits.operators.forest import QuantForest

QUICK: Final = "random forest, wine"


def _boosted(regressor: bool) -> Any:
    import xgboost

    kind = xgboost.XGBRegressor if regressor else xgboost.XGBClassifier
    return kind(n_estimators=100, max_depth=6, n_jobs=1)


MODELS: Final[dict[str, tuple[Callable[[], Any], Callable[..., Any]]]] = {
    "random forest, cancer": (
        lambda: ensemble.RandomForestClassifier(100, max_depth=6, random_state=0),
        datasets.load_breast_cancer,
    ),
    "random forest, digits": (
        lambda: ensemble.RandomForestClassifier(100, max_depth=6, random_state=0),
        datasets.load_digits,
    ),
    "random forest, diabetes": (
        lambda: ensemble.RandomForestRegressor(100, max_depth=6, random_state=0),
        datasets.load_diabetes,
    ),
    "XGBoost, cancer": (lambda: _boosted(False), datasets.load_breast_cancer),
    "XGBoost, diabetes": (lambda: _boosted(True), datasets.load_diabetes),
    QUICK: (
        lambda: ensemble.RandomForestClassifier(10, max_depth=3, random_state=0),
        datasets.load_wine,
    ),
}
# Of others, as they say themselves: what, seconds, and where.
PUBLISHED: Final = (
    ("zkDT: accuracy of one tree of 23 levels, 1,029 nodes, on 5,000 samples", "250", "CCS 2020, abstract"),
    ("Remainder: 128 trees of height 9 on 128 inputs of 64 features", "54", "Modulus Labs, abstract"),
)


class Forest(NamedTuple):
    """A trained forest: floats, integers, and the rows that were held out with what is true of them."""

    graph: Graph
    network: QuantGraph
    rows: NDArray[np.float64]
    truth: NDArray[np.float64]

    def scores(self) -> tuple[float, float]:
        """Of floats and of integers: the share of right labels, or R²."""
        floats = self.graph.run(self.rows).ravel()
        q = self.network.input.type.quantise(self.rows)
        scale, zero = self.network.output_scale or (1.0, 0)
        return self._score(floats), self._score((self.network.run(q).ravel() - zero) * scale)

    def _score(self, said: NDArray[np.floating[Any]]) -> float:
        if self.truth.dtype.kind in "iu":
            return float((np.rint(said) == self.truth).mean())
        return float(1 - ((said - self.truth) ** 2).sum() / ((self.truth - self.truth.mean()) ** 2).sum())


def trained(name: str) -> Forest:
    """What the file says first alone: the label, or the value."""
    model, load = MODELS[name]
    x, y = load(return_X_y=True)
    x = x.astype(np.float32)
    seen, rows, known, truth = train_test_split(x, y, test_size=0.25, random_state=0)
    graph = load_onnx(export_model(model().fit(seen, known), seen))
    first = next(iter(graph.outputs))
    graph = replace(graph, outputs={first: graph.outputs[first]})
    network = quantise(graph, seen.astype(np.float64))
    return Forest(graph, network, rows.astype(np.float64), truth)


def row_of(name: str, repetitions: int) -> Row:
    forest = trained(name)
    floats, integers = forest.scores()
    (node,) = (node for node in forest.network.nodes if isinstance(node, QuantForest))
    kind = forest.network.input.type
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        alone(make_basis, parameters(forest.network).size, path / "basis")
        q = kind.quantise(forest.rows[:1])
        task = Task("inference", forest.network.to_bytes(), q, np.zeros(1, np.int64), repetitions, path)
        (constraints, setup), setup_mb = alone(make_key, task)
        (proving, verifying, size), prove_mb = alone(prove, task)
    said = {
        "trees": node.trees,
        "blocks": f"{len(node.value)} of {node.levels} levels",
        "bits": kind.bits,
        "floats": floats,
        "integers": integers,
        "setup_s": setup,
        "verify_s": verifying.median,
        "proof_bytes": size,
    }
    peak = max(setup_mb, prove_mb)
    return Row.of(name, constraints, proving, threads=THREADS, peak_mb=peak, more=said)


CELLS: Final[Cells] = {
    "model": lambda row: row.name,
    "rows": lambda row: number(row.size),
    "blocks": more("blocks"),
    "bits": more("bits"),
    "floats": lambda row: f"{row.more['floats']:.4f}",
    "integers": lambda row: f"{row.more['integers']:.4f}",
    "prove s": lambda row: f"{row.median:.3g} ({row.spread:.0%})",
    "verify s": lambda row: f"{row.more['verify_s']:.4f}",
    "peak MB": lambda row: f"{row.peak_mb:,.0f}",
    "bytes": more("proof_bytes"),
}


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--only", choices=MODELS, metavar="NAME", help="this model only")
    options = parser.parse_args()
    repetitions = 1 if options.quick else 3
    report = Report("forests", f"{THREADS} threads; median of {repetitions}, in brackets its spread")
    names = [options.only] if options.only else [QUICK] if options.quick else MODELS
    report.show("forests", [row_of(name, repetitions) for name in names], CELLS)
    for what, seconds, source in PUBLISHED:
        report.say(f"{what}: {seconds} s ({source})")
    report.write(options.json)


if __name__ == "__main__":
    main()
