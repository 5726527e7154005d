"""Tables of docs/robustness.md."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from bench.pages.tables import grouped, listed, megabytes, rows, size
from bench.report import Cells, Row, more, number

CERTIFICATE: Final = "robustness-certificate-2026-11-28-epyc"
BALLS: Final = "robustness-balls-2026-11-28-epyc"
CURVED: Final = "robustness-tables-2026-11-28-epyc"
IMAGES: Final = "robustness-images-2026-11-28-epyc"
IMAGE_PROOFS: Final = "robustness-image-proofs-2026-11-28-epyc"
INTEGERS: Final = "robustness-integers-2026-11-28-epyc"
NETWORKS: Final = "robustness-networks-2026-11-28-epyc"
ACCURACY: Final = "robustness-accuracy-2026-11-28-epyc"

BOXES: Final = "certified, boxes"


def certified(chosen: Iterable[Row], key: Cells, columns: Cells) -> str:
    """Shares of what was tried, by radius: a column for each way."""
    return grouped([row for row in chosen if row.unit == "%"], key, columns)


def by(method: str, name: str | None = None) -> Callable[[Row], str]:
    def cell(row: Row) -> str:
        named = row.name == name if name else row.name != BOXES
        return number(row.median) if named and row.more["method"] == method else ""

    return cell


STEPS: Final[Cells] = {"steps": size}


def boxes() -> str:
    columns = {"certificates": by("circuit"), "CROWN": by("crown"), "CROWN-IBP": by("crown-ibp")}
    return certified(rows(CERTIFICATE, "Certificates"), STEPS, {**columns, "intervals": by("ibp")})


def balls() -> str:
    columns: Cells = {
        "certificates of balls": by("circuit"),
        "of boxes": by("circuit", BOXES),
        "CROWN, balls, integers": by("crown"),
        "CROWN-IBP, balls, integers": by("crown-ibp"),
    }
    return certified(rows(BALLS, "Certificates"), STEPS, columns)


def curved() -> str:
    columns: Cells = {
        "certificates": by("circuit"),
        "CROWN, integers": by("crown, integers"),
        "CROWN, floats": by("crown, floats"),
        "intervals, floats": by("ibp, floats"),
    }
    return certified(rows(CURVED, "Certificates"), STEPS, columns)


def curved_constraints() -> str:
    """Of the same circuit for all images."""
    (count,) = {row.more.get("constraints") for row in rows(CURVED, "Certificates")} - {None}
    return number(count)


def images() -> str:
    norms = {"inf": "boxes", "2": "balls"}
    key: Cells = {
        "network": lambda row: row.name,
        "within": lambda row: norms[row.more["norm"]],
        "steps": size,
    }
    columns: Cells = {
        "right, %": lambda row: f"{row.more['right']:.1f}",
        "images": more("images"),
        "certificates, %": by("circuit"),
        "CROWN-IBP, %": by("crown-ibp"),
        "constraints": lambda row: number(row.more.get("constraints")),
    }
    return certified(rows(IMAGES, "Certificates"), key, columns)


def proofs(file: str) -> str:
    cells: Cells = {
        "weights": more("weights"),
        "proof system": lambda row: f"`{row.name.rpartition(', ')[2]}`",
        "constraints": size,
        "of an inference": lambda row: number(row.more["inference_constraints"]),
        "a proof, s": lambda row: f"{row.median:.2f}",
        "beside an inference's": lambda row: f"{row.more['times_inference']:.1f}",
        "a verdict, ms": lambda row: f"{1000 * row.more['judge_seconds']:.1f}",
        "bytes": lambda row: number(row.more["proof_bytes"]),
    }
    return listed([row for row in rows(file, "Certificates") if "weights" in row.more], cells)


def image_proofs() -> str:
    cells: Cells = {
        "network": lambda row: row.name.removesuffix(", " + ", ".join(row.name.split(", ")[-2:])),
        "proof system": lambda row: f"`{row.name.rpartition(', ')[2]}`",
        "steps": more("radius"),
        "constraints": size,
        "of an inference": lambda row: number(row.more["inference_constraints"]),
        "keys, s": lambda row: f"{row.more['setup_seconds']:.1f}",
        "a proof, s": lambda row: f"{row.median:.1f}",
        "beside an inference's": lambda row: f"{row.more['times_inference']:.1f}",
        "a verdict, ms": lambda row: f"{1000 * row.more['judge_seconds']:.1f}",
        "bytes": lambda row: number(row.more["proof_bytes"]),
    }
    return listed(rows(IMAGE_PROOFS, "Proofs"), cells)


def networks() -> str:
    tried = rows(NETWORKS, "Networks")
    return f"{sum(row.median == 1 for row in tried)} of {len(tried)}"


def right() -> str:
    (row,) = (row for row in rows(INTEGERS, "Certified") if row.more["method"] == "executed")
    return f"{row.median:.1f}"


def integers() -> str:
    """Of the robust network's integers."""

    def share(method: str) -> Callable[[Row], str]:
        return lambda row: f"{row.median:.1f}" if row.more["method"] == method else ""

    columns: Cells = {"CROWN": share("crown"), "CROWN-IBP": share("crown-ibp"), "intervals": share("ibp")}
    return grouped([row for row in rows(INTEGERS, "Certified") if row.size], STEPS, columns)


def accuracies() -> str:
    def part(place: int) -> Callable[[Row], str]:
        return lambda row: row.name.split(", ")[place]

    cells: Cells = {
        "weights": part(2),
        "proof system": lambda row: f"`{part(3)(row)}`",
        "certified": more("certified"),
        "constraints a shard": size,
        "a sample": lambda row: number(round(row.more["constraints_per_sample"])),
        "keys, s": lambda row: f"{row.more['setup_seconds']:.1f}",
        "all proofs, s": lambda row: f"{row.median:.0f}",
        "peak MB": megabytes,
        "all verified, s": lambda row: f"{row.more['verify_seconds']:.2g}",
        "bytes": lambda row: number(row.more["proof_bytes"]),
    }
    return listed([row for row in rows(ACCURACY, "Certified") if "shards" in row.more], cells)


TABLES: Final[dict[str, Callable[[], str]]] = {
    "boxes": boxes,
    "proofs": partial(proofs, CERTIFICATE),
    "balls": balls,
    "proofs of balls": partial(proofs, BALLS),
    "curved": curved,
    "curved constraints": curved_constraints,
    "images": images,
    "image proofs": image_proofs,
    "integers": integers,
    "right": right,
    "networks": networks,
    "accuracies": accuracies,
}
