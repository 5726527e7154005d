"""Pipelines over a table with names, words and gaps: what is read gives their own answers."""

from __future__ import annotations

import warnings
from typing import Any, Final

import numpy as np
import pytest

from tests.circuits import tables
from tests.documentation.test_commands import blocks
from tests.refusals import refuses
from zenserve.circuits.comparison import gaps
from zenserve.circuits.comparison.differences import require_near
from zenserve.circuits.comparison.files import Exported, compare_source
from zenserve.circuits.comparison.integers import compare_integers
from zenserve.circuits.networks.files import load_onnx
from zenserve.circuits.onnx.estimators import export_tabular
from zenserve.circuits.tuning import tune

ensemble: Any = pytest.importorskip("sklearn.ensemble", reason="scikit-learn is not installed")
pytest.importorskip("skl2onnx", reason="skl2onnx is not installed: pip install skl2onnx")

SAMPLE: Final = ("forest with flags", "forest that takes gaps", "logistic with flags", "components")
UNPROVEN: Final = {"bins before a logistic one", "polynomials"}


def names() -> list[Any]:
    return [
        name if name in SAMPLE else pytest.param(name, marks=pytest.mark.large) for name in tables.PIPELINES
    ]


def fitted(name: str) -> Any:
    model, target = tables.PIPELINES[name]()
    rows = tables.table()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(rows, target(rows))


@pytest.mark.parametrize("name", names())
def test_a_pipeline_gives_its_own_answers(name: str) -> None:
    model, rows = fitted(name), tables.table()
    made = export_tabular(model, rows)
    assert bool(made.schema.unproven) == (name in UNPROVEN)
    graph, fresh = load_onnx(made.file), tables.table(120, seed=1)
    entries = made.encode(fresh, "input")
    samples = {graph.input.name: entries}
    compared = gaps.chosen(graph, samples)
    require_near(compare_source(made.file, {}, Exported.of_table(made), compared, own=False))
    whole = load_onnx(made.file, whole=True)
    answers = Exported.of_table(made).answers(made.file, samples)
    found = whole.run_all(samples, {*whole.outputs.values()})
    shared = [each for each in whole.outputs if each in answers]
    assert shared
    for output in shared:
        ours = found[whole.outputs[output]].reshape(len(entries), -1)
        theirs = answers[output].reshape(len(entries), -1).astype(float)
        reach = max(np.abs(theirs).max(), 1e-9)
        assert np.mean(np.abs(ours - theirs) > 1e-4 * reach) < 0.01, output
    typical = {graph.input.name: made.encode(rows, "calibration")}
    ends = {graph.input.name: made.schema.spread(typical[graph.input.name])}
    qgraph = tune(graph, typical, ends=ends, bits=12).qgraph
    require_near([compare_integers(graph, qgraph, compared, own=False)])


def test_the_page_on_tables_can_be_typed(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = (each for each in blocks("inputs", "python", typed=False) if "import pandas" in each)
    exec(compile(block, "inputs.md", "exec"), {})  # noqa: S102
    assert capsys.readouterr().out == "{'label': 'yes'}\n"


def boosted(rows: Any) -> Any:
    made = rows.drop(columns="note")
    return made.astype(dict.fromkeys(tables.WORDS, "category"))


def test_lightgbm_on_a_table_gives_its_own_answers_for_gaps_and_words() -> None:
    lightgbm = pytest.importorskip("lightgbm", reason="LightGBM is not installed: pip install lightgbm")
    rows, fresh = tables.table(), boosted(tables.table(60, seed=1))
    model = lightgbm.LGBMClassifier(n_estimators=8, verbose=-1).fit(boosted(rows), tables.decisions(rows))
    # Words of a CSV file have no type of categories.
    made = export_tabular(model, rows.drop(columns="note"))
    assert made.schema.classes == ("approve", "decline")
    graph = load_onnx(made.file, whole=True)
    found = graph.run_all({graph.input.name: made.encode(fresh, "input")}, {graph.outputs["probabilities"]})
    ours = found[graph.outputs["probabilities"]].reshape(len(fresh), -1)
    assert np.allclose(ours, model.predict_proba(fresh), atol=1e-6)


def test_what_no_circuit_has_is_refused_and_no_cell_is_quoted() -> None:
    rows = tables.table()
    voting = ensemble.VotingClassifier([("one", fitted("logistic"))]).fit(rows, tables.decisions(rows))
    with refuses("model.export", match=r"make_pipeline\(preparation, VotingClassifier\(\[…\]\)\)"):
        export_tabular(voting, rows)
    made = export_tabular(fitted("tree"), rows)
    with refuses("input.out_of_range", match="row 2, column 'city'.*4 categories|column 'city'"):
        made.schema.model_copy(
            update={"columns": tuple(c.model_copy(update={"unknown": None}) for c in made.schema.columns)}
        ).encode(rows.assign(city="Bremen"))
