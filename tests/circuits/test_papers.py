"""The papers' tables: their figures, our counts, and how both are shown."""

from __future__ import annotations

import csv
import io
import json
import math
from collections import Counter
from pathlib import Path
from typing import Any, get_args
from xml.etree import ElementTree

import numpy as np
import pytest

from tests.refusals import refuses
from zenserve.circuits import Graph, compile_inference, quantise, zoo
from zenserve.circuits.lowering import Level
from zenserve.circuits.networks.language import tensor
from zenserve.circuits.papers import counts, figures, render, tables, zen
from zenserve.circuits.papers.counts import PRIVATE, PUBLIC, Circuit, Count
from zenserve.circuits.papers.render import Table
from zenserve.circuits.schemes.registration import compile_registration
from zenserve.circuits.zoo.weights import initial

TINY = tables.Scope(("shallownet-mnist",), ("lenet-small-cifar",), ((8, 1),), (256,))


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def _small(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts that tests share, and a smaller network where a table has one of its own."""
    monkeypatch.setenv("ZENSERVE_CACHE", str(cache))
    monkeypatch.setattr(zen, "KERNELS_NETWORK", "lenet-small-cifar")


@pytest.fixture(params=tables.NAMES)
def table(request: pytest.FixtureRequest) -> Table:
    return tables.make(request.param, TINY, counts.count)


def residual() -> Graph:
    """A little of everything: padding, a residual addition, pools of both kinds, dense layers."""
    weights = initial("residual")
    image = tensor("image", 2, 8, 8)
    x = image.conv(weights("a", (3, 2, 3, 3)), padding=1).relu().average_pool(2)
    x = (x + x.conv(weights("b", (3, 3, 3, 3)), padding=1).relu()).max_pool(2)
    return x.flatten().dense(weights("c", (6, 12))).relu().dense(weights("d", (4, 6))).graph()


def small(bits: int = 8) -> Any:
    samples = np.random.default_rng(0).random((8, 2, 8, 8))
    return quantise(residual(), samples, bits=bits)


# The published figures ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", figures.ZEN)
def test_zens_totals_are_sums_up_to_rounding(name: str) -> None:
    paper = figures.ZEN[name]
    assert abs(paper.commitment + paper.level3 - paper.total) <= 2_000
    assert paper.level3 < paper.vanilla
    assert name in zoo.NAMES


def test_zens_kernels_add_up_to_its_network() -> None:
    paper = figures.ZEN[figures.KERNELS_NETWORK]
    assert abs(sum(figures.ZEN_KERNELS["vanilla"]) - paper.vanilla) < 1_000
    # Table 5.9 has 0.4 % less than table 5.3.
    assert 0.995 < sum(figures.ZEN_KERNELS["level 3"]) / paper.level3 < 1
    for kernel in range(len(figures.KERNELS)):
        column = [level[kernel] for level in figures.ZEN_KERNELS.values()]
        assert column == sorted(column, reverse=True)


def test_zens_kernels_are_those_of_the_zoos_network() -> None:
    graph = zoo.network(figures.KERNELS_NETWORK)
    operators = {node.name: node.operator() for node in graph.nodes}
    size = {name: math.prod(shape) for name, shape in graph.shapes.items()}
    pooled = sum(size[name] for name, operator in operators.items() if operator == "AveragePool")
    activated = sum(size[name] for name, operator in operators.items() if operator == "Clip")
    _, _, pool, relu = figures.ZEN_KERNELS["level 3"]
    assert (pool, relu) == (pooled, 3 * activated)


def test_zenos_figures_agree_with_each_other() -> None:
    for ours, theirs in figures.ZENO_SECONDS.values():
        most = max(claim.factor for claim in figures.ZENO_END_TO_END if claim.weights == "public")
        assert theirs / ours <= most
    public = {claim.what: claim.factor for claim in figures.ZENO_CIRCUIT if claim.weights == "public"}
    assert public["least"] < public["mean"] < public["most"]


# Our counts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("circuit", [*PUBLIC, *PRIVATE], ids=lambda c: f"{c.weights}-{c.level}")
@pytest.mark.parametrize("bits", [8, 3])
def test_counts_are_those_of_the_compiled_statement(circuit: Circuit, bits: int) -> None:
    qgraph = small(bits)
    found = counts.count_graph(qgraph, circuit)
    system = compile_inference(
        qgraph, input_privacy="private", weight_privacy=circuit.weights, level=circuit.level
    ).constraint_system
    rows = Counter[str]()
    for block in system.blocks:
        rows[block.name] += block.rows
    assert Counter(found.rows) == rows
    assert found.total() == system.constraints


def test_registrations_are_counted_as_they_are_compiled() -> None:
    qgraph = small()
    found = counts.count_graph(qgraph, counts.REGISTRATION)
    assert found.total() == compile_registration(qgraph).constraint_system.constraints
    assert found.total("weights", "tables") == found.total()
    committed = counts.count_graph(qgraph, Circuit("committed", 5))
    assert committed.total("weights") == 0 < found.total("weights")


def test_digits_that_nobody_reads_are_counted_without_memory_for_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    qgraph = small()
    before = counts.count_graph(qgraph, Circuit("private", 0))
    monkeypatch.setattr(counts, "_UNREAD", 5_000)
    assert counts.count_graph(qgraph, Circuit("private", 0)) == before


@pytest.mark.parametrize("circuit", [*PUBLIC, *PRIVATE], ids=lambda c: f"{c.weights}-{c.level}")
def test_parts_share_out_all_constraints(circuit: Circuit) -> None:
    found = counts.count_graph(small(), circuit)
    assert sum(found.parts.values()) == sum(found.rows.values())
    assert found.inference + found.total("weights") == found.total()
    of_weights = [
        rows
        for name, rows in found.rows.items()
        if any(name.startswith((f"{node}/weight", f"{node}/bias")) for node in found.operators)
    ]
    assert found.total("weights") == sum(of_weights)
    assert (found.total("weights") > 0) == (circuit.weights == "private")
    assert found.total("input") >= (2 * 8 * 8 if circuit.level == 5 else 2 * 8 * 8 * 8)
    assert {part.operator for part in found.parts} <= {*found.operators.values(), ""}


def test_every_kind_is_told_by_the_name_of_its_block() -> None:
    operators = {"conv1": "Conv", "path/conv2": "Conv"}
    names = {
        "conv1/weight/top/lookup": "weights",
        "path/conv2/bias_bits": "weights",
        "conv1/requantise_bits": "rescaling",
        "path/conv2/divide": "rescaling",
        "conv1/remainder/limbs/lookup": "rescaling",
        "conv1/clamp_outside": "clamps",
        "conv1/sign/column1/weighted": "clamps",
        "conv1/lower/top/lookup": "clamps",
        "conv1/between_bits": "sums",
        "conv1/sums/limbs/lookup": "sums",
        "conv1/sum": "products",
        "path/conv2/product/kernels_sum": "products",
        "conv1/term_sign_bits": "products",
        "input/value_bits": "input",
        "output/argmax_one": "output",
        "range8/table": "tables",
        "powers0": "tables",
    }
    for name, kind in names.items():
        found = Count({name: 7}, operators)
        (part,) = found.parts
        assert part.kind == kind
        assert found.total(part.kind) == 7


def test_many_images_share_what_no_image_changes() -> None:
    found = Count({"a/weight_bits": 100, "a/product": 10, "range8/table": 5}, {"a": "Dense"})
    assert found.over(1) == found.total() == 115
    assert found.over(100) == 100 * 10 + 105


def test_counts_come_from_the_cache_until_the_compiler_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZENSERVE_CACHE", str(tmp_path))
    circuit = Circuit("private", 2)
    first = counts.count("shallownet-mnist", circuit)
    monkeypatch.setattr(counts, "lower_inference", None)
    assert counts.count("shallownet-mnist", circuit) == first
    with pytest.raises(TypeError):
        counts.count("shallownet-mnist", Circuit("private", 2, bits=4))
    monkeypatch.setattr("zenserve.circuits.cache.fingerprint", lambda *packages: b"another compiler")
    with pytest.raises(TypeError):
        counts.count("shallownet-mnist", circuit)


def test_swept_layers_have_the_multiplications_they_are_said_to_have() -> None:
    for name, products in ((counts.convolution(8, 1), 8 * 25 * 24 * 24), (counts.dense(256), 100 * 256)):
        found = counts.count(name, Circuit("private", 2))
        assert found.total("products") == products


# The tables ---------------------------------------------------------------------------------------


def test_tables_are_rectangular_and_their_charts_are_svg(table: Table) -> None:
    assert table.rows
    assert all(len(row) == len(table.columns) for row in table.rows)
    assert len(set(table.columns)) == len(table.columns)
    if table.chart is not None:
        assert ElementTree.fromstring(table.chart).tag == "{http://www.w3.org/2000/svg}svg"  # noqa: S314


def test_text_shows_every_cell_whole(table: Table) -> None:
    text = render.text(table)
    assert "…" not in text
    assert table.title in text
    body = text.split("╇")[-1]
    for row in table.rows:
        for cell in row:
            assert (
                f" {cell:,} " in body if isinstance(cell, int) else not isinstance(cell, str) or cell in body
            )


def test_csv_and_json_say_the_same(table: Table) -> None:
    header, *lines = csv.reader(io.StringIO(render.comma_separated(table)))
    assert tuple(header) == table.columns
    rows = json.loads(json.dumps(render.document(table)))["rows"]
    assert len(lines) == len(rows) == len(table.rows)
    for line, row, cells in zip(lines, rows, table.rows, strict=True):
        assert list(row) == header
        for read, said, cell in zip(line, row.values(), cells, strict=True):
            assert read == ("" if said is None else str(said))
            assert said == (pytest.approx(cell, rel=1e-3) if isinstance(cell, float) else cell)


def test_markdown_has_a_line_for_each_row_and_links_to_the_chart(table: Table) -> None:
    document = render.markdown([table], "zenserve tables x")
    lines = [line for line in document.splitlines() if line.startswith("|")]
    assert len(lines) == 2 + len(table.rows)
    assert {line.count("|") for line in lines} == {len(table.columns) + 1}
    assert "zenserve tables x" in document
    assert (f"({table.name}.svg)" in document) == (table.chart is not None)


def test_zens_table_has_both_sides() -> None:
    table = tables.make("zen-5.3", TINY, counts.count)
    paper = figures.ZEN["shallownet-mnist"]
    vanilla, level3, *ours, once = table.rows
    assert vanilla[:3] == ("shallownet-mnist", "ZEN, vanilla", paper.vanilla)
    assert level3[2:6] == (paper.level3, None, paper.commitment, paper.total)
    assert len(ours) == len(PRIVATE)
    for row, circuit in zip(ours, PRIVATE, strict=True):
        _, label, inference, checks, weights, total, of_theirs, over_ours = row
        assert str(label).endswith(circuit.label)
        found = counts.count("shallownet-mnist", circuit)
        assert (inference, weights, total) == (found.inference, found.total("weights"), found.total())
        assert isinstance(checks, int)
        assert 0 < checks < found.inference
        assert of_theirs == found.inference / paper.level3
        assert over_ours == paper.total / found.total()
    rows = counts.count("shallownet-mnist", counts.REGISTRATION).total()
    assert once[1:] == ("ZenServe, registration, once", None, None, rows, rows, None, None)


def test_kernels_and_the_rest_make_up_the_inference() -> None:
    table = tables.make("zen-5.9", TINY, counts.count)
    for row in table.rows:
        *parts, inference, _ = row[1:]
        assert sum(part for part in parts if isinstance(part, int)) == inference


def test_every_level_and_width_has_its_place() -> None:
    levels = [str(level) for level in get_args(Level)]
    for name in ("zen-5.3", "zen-5.9", "zen-conv", "zen-dense", "zeno-networks", "bits"):
        text = render.text(tables.make(name, TINY, counts.count))
        assert all(f"level {level}" in text for level in levels)
    assert tables.make("bits", TINY, counts.count).columns[3:6] == ("8 bits", "4 bits", "2 bits")


def test_unknown_tables_are_refused_and_none_means_all() -> None:
    assert tables.chosen([]) == tables.NAMES
    assert tables.chosen(["bits", "zen-5.4", "bits"]) == ("bits", "zen-5.4")
    with refuses("request.unknown_table", match=r"zen-5\.3"):
        tables.chosen(["zen-5.3", "zen-6.6"])
