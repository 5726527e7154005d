"""Tables of docs/coverage.md."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from bench import agreement, conformance, coverage, ezkl_networks, packages
from bench.pages.tables import listed, name, rows, shown, size, table
from bench.report import Cells, Row, more, number
from bench.stages import STAGES

COVERAGE: Final = (
    "coverage-2026-11-23-ezkl",
    "coverage-2026-11-23-pytorch-torchscript",
    "coverage-2026-11-23-pytorch-export",
    "coverage-2026-11-23-estimators",
    "coverage-2026-11-23-jolt-atlas",
)
EZKL_NETWORKS: Final = "ezkl-networks-2026-11-23-epyc"
CONFORMANCE: Final = "conformance-2026-11-29"
SENTENCES: Final = "minilm-2026-11-23-epyc"
PACKAGES: Final = "coverage-2026-11-29-packages"
MAGIKA: Final = "magika-2026-11-23-epyc"


def covered() -> str:
    """Nothing of a stage that no network was to come to."""
    lines = []
    for suite, found in _suites():
        last = max(STAGES.index(row.more["most"]) for row in found)
        tried = {
            name: count for name, count in coverage.counts(found).items() if name not in STAGES[last + 1 :]
        }
        lines.append((suite, *(number(tried.get(name)) for name in coverage.counts([]))))
    return table(lines, ["suite", *coverage.counts([])])


def blockers() -> str:
    return listed(coverage.blockers(row for _, found in _suites() for row in found), coverage.BLOCKERS)


def networks() -> str:
    chosen = [row for _, found in _suites() for row in found]
    return listed(chosen, {"suite": more("suite"), **coverage.CELLS})


def refused() -> str:
    """Networks that onnxruntime does not take, of each suite."""
    chosen = {
        suite: [row.name for row in found if row.more.get("floats") == "onnx.reference"]
        for suite, found in _suites()
    }
    return "; ".join(f"of {suite} {', '.join(names)}" for suite, names in chosen.items() if names) or "none"


def _suites() -> list[tuple[str, list[Row]]]:
    chosen = [row for file in COVERAGE for row in rows(file, "")]
    return [
        (suite, [row for row in chosen if row.topic == suite]) for suite in {row.topic: 0 for row in chosen}
    ]


def sentences() -> str:
    cells: Cells = {
        "": name,
        "parameters": more("parameters"),
        "cosine": lambda row: f"{row.more['cosine']:.4f}",
        "least": lambda row: f"{row.more['least']:.4f}",
        "rows": size,
        "products": more("products"),
        "s": lambda row: f"{row.median:.0f}",
        "peak MB": lambda row: number(row.peak_mb and round(row.peak_mb)),
    }
    return listed([row for row in rows(SENTENCES, "") if "prove_s" not in row.more], cells)


def proven(file: str) -> str:
    """The rows of both proof systems."""
    cells: Cells = {
        "": name,
        "rows": size,
        "registration s": more("registration_s"),
        "setup s": more("setup_s"),
        "prove s": more("prove_s"),
        "verify s": more("verify_s"),
        "proof bytes": more("proof_bytes"),
        "key MB": lambda row: f"{row.more['key_mb']:,.1f}",
        "peak MB": lambda row: number(row.peak_mb and round(row.peak_mb)),
    }
    return listed([row for row in rows(file, "") if "prove_s" in row.more], cells)


def magika() -> str:
    cells: Cells = {
        "": name,
        "kinds": more("kinds"),
        "files": more("files"),
        "agree": lambda row: f"{row.more['agree']:.1%}",
        "sure": lambda row: f"{row.more['sure']:.1%}",
    }
    return listed([row for row in rows(MAGIKA, "") if "agree" in row.more], cells)


def shipped() -> str:
    """How many networks of how many packages come to each stage."""
    found, listed_ = rows(PACKAGES, ""), {each.name: each.package for each in packages.listed()}
    counts = agreement.counts(found)
    tried = {"packages": len({listed_[row.name] for row in found}), **counts}
    return table([tuple(number(count) for count in tried.values())], [*tried])


def conformed() -> str:
    """All tests together, then those of operators of which any is not right."""
    found = rows(CONFORMANCE, "")
    total = Row("all", len(found), 0.0, more=conformance.counts(found))
    others = [row for row in conformance.by_operator(found) if row.more["right"] < (row.size or 0)]
    return listed([total, *others], conformance.CELLS)


def not_conformed() -> str:
    return listed(conformance.refusals(rows(CONFORMANCE, "")), conformance.REFUSALS)


TABLES: Final[dict[str, Callable[[], str]]] = {
    "sentences": sentences,
    "layer": partial(proven, SENTENCES),
    "magika": magika,
    "magika proven": partial(proven, MAGIKA),
    "covered": covered,
    "blockers": blockers,
    "beside ezkl": partial(shown, EZKL_NETWORKS, "", ezkl_networks.CELLS),
    "conformed": conformed,
    "not conformed": not_conformed,
    "networks": networks,
    "refused": refused,
    "shipped": shipped,
    "packages": partial(shown, PACKAGES, "", agreement.CELLS),
}
