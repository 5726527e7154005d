"""Tables of docs/gpu.md."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from bench.pages.tables import (
    beside,
    ending,
    floors,
    grouped,
    kernel,
    listed,
    name,
    ours,
    power,
    rows,
    size,
    stem,
)
from bench.report import Cells, Row, duration, figure, more, number, ratio

GPU: Final = "gpu-2026-11-21-h200"
SPARTAN_GPU: Final = "spartan-gpu-2026-11-24-h200"
WITNESSES: Final = "witness-2026-11-23-h200"
DATASET: Final = "witness-dataset-2026-11-28-h200"
SMALLER: Final = "witness-proofs-2026-11-28-h100"
NETWORKS: Final = "networks-2026-11-24-h200"
PRODUCTS: Final = "products-2026-11-28-h200"
CONVOLUTIONS: Final = "convolutions-2026-11-24-h200"
WIDE: Final = "wide-2026-11-23-h200"
BOUNDS: Final = "bounds-2026-11-28-h200"
BOUNDS_POINTS: Final = "bounds-points-2026-11-28-h200"
LINES: Final = "lines-2026-11-28"


def rate(row: Row) -> str:
    return f"{row.more['per_s'] / 1e9:,.4g} G" if "per_s" in row.more else ""


def ceilings() -> str:
    return listed(rows(GPU, "Ceilings"), {"": name, "of": size, "time": figure, "a second": rate})


def gpu_kernels() -> str:
    topics = ("Transforms", "The quotient", "Negacyclic", "Multi-scalar", "Products", "Sparse")
    powers = {"ntt": (16, 20, 24), "negacyclic_ntt_62": (14, 16), "msm_g1": (16, 20, 22), "msm_g2": (16, 20)}

    def is_shown(row: Row) -> bool:
        if kernel(row).startswith("negacyclic_product") or row.more.get("scalars") == "equal":
            return False
        return row.size in [1 << log for log in powers.get(kernel(row), (20,))]

    key = {"kernel": kernel, "size": power, "scalars": more("scalars")}
    peers = {"sppark": "sppark", "V100": "paper_V100", "A100": "paper_A100"}
    asked = {heading: beside(peer) for heading, peer in peers.items()}
    chosen = filter(is_shown, rows(GPU, *topics))
    return grouped(chosen, key, {"time": ours, "floors": floors, **asked})


def gpu_proofs() -> str:
    steps = {
        "setup": "setup",
        "load key": "load_key",
        "proof": "prove",
        "two at once, each": "prove_pipelined",
    }
    chosen = [*rows(GPU, "Groth16"), *rows(GPU, "lenet")]
    chosen = [row for row in chosen if row.name.endswith(tuple(steps.values()))]
    key = {"": stem(*steps.values()), "rows": size}
    timed = {heading: ending(f"_{step}", figure) for heading, step in steps.items()}
    held = {"MB held": ending("_load_key", _held), "kernels": ending("_prove", _in_kernels)}
    return grouped(chosen, key, timed | held)


def dataset() -> str:
    """All shards of many samples."""
    cells: Cells = {
        "by": lambda row: row.more["system"],
        "samples": lambda row: number(row.more["samples"]),
        "proofs": more("shards"),
        "s": lambda row: f"{row.median:.1f}",
        "of that kernels": lambda row: f"{row.more['kernels_s']:.1f}" if "kernels_s" in row.more else "",
    }
    return listed(rows(DATASET, ""), cells)


def witnesses(file: str = WITNESSES) -> str:
    """A proof's witness is made on the card, or by the processor: the proof is made on the card."""
    kinds = {"Witnesses": "a witness", "One after the other": "64 witnesses"}
    others = {"processor": "all cores", "two_threads": "two threads", "alone": "the card, one at a time"}

    def made(row: Row) -> str:
        if row.topic.startswith("Samples"):
            of = f"of {row.more['samples']} samples"
            return f"{row.more['system']} proof {of}, two at once" if "system" in row.more else f"counts {of}"
        return kinds.get(row.topic) or f"{row.more['system']} proof"

    cells: Cells = {
        "card": ours,
        "beside": lambda row: figure(row) if row.peer else "",
        "by": lambda row: others[row.peer] if row.peer else "",
        "beside / card": ratio,
    }
    return grouped(rows(file, ""), {"made": made, "of": kernel}, cells)


def networks() -> str:
    """Outputs of samples, by the card and by others."""
    peers = {
        "two threads": "two_threads",
        "onnxruntime, floats, two threads": "onnxruntime",
        "PyTorch, halves, the card": "pytorch",
    }

    def alone(row: Row) -> str:
        return "" if row.peer else duration(row.more["launched_s"])

    def rate(row: Row) -> str:
        return f"{row.size / row.median:,.0f}" if row.size and not row.peer else ""

    cells: Cells = {
        "card": ours,
        "without the way": alone,
        "a second": rate,
        **{heading: _by_peer(peer) for heading, peer in peers.items()},
    }
    return grouped(rows(NETWORKS, "Outputs"), {"network": kernel, "samples": size}, cells)


def _by_peer(peer: str) -> Callable[[Row], str]:
    """Its time and ratio."""
    return lambda row: f"{figure(row)}, {ratio(row)}" if row.peer == peer else ""


def spartan_kernels() -> str:
    chosen = rows(SPARTAN_GPU, "Transforms", "Hashes", "Sum-checks")
    cells = {"time": ours, "floors": floors, "ZERA": lambda row: figure(row) if row.peer else ""}
    return grouped(chosen, {"kernel": kernel, "size": size}, {**cells, "ZERA / ours": beside("zera")})


def spartan_proofs() -> str:
    cells = {
        "Spartan alone": lambda row: figure(row) if row.name == "spartan_alone" else "",
        "in turn": lambda row: ours(row) if row.name == "spartan_prove" else "",
        "kernels": _in_kernels,
        "bytes": more("proof_bytes"),
        "MB held": lambda row: _held(row) if row.name == "spartan_load" else "",
        "Groth16": lambda row: figure(row) if row.name == "groth16_prove" else "",
        "Groth16 / Spartan": beside("groth16"),
    }
    return grouped(rows(SPARTAN_GPU, "Proofs"), {"rows": power}, cells)


def few_bits() -> str:
    """Products of integers of few bits, by shapes and widths."""
    cells = {
        "made of": more("plan"),
        "time": ours,
        "cuBLASLt": lambda row: figure(row) if row.peer == "cublaslt" else "",
        "cuBLASLt / ours": beside("cublaslt"),
        "APNN-TC / ours": beside("apnn"),
    }
    timed = [row for row in rows(PRODUCTS, "") if not row.topic.startswith("Ways")]
    return grouped(timed, {"rows, columns, depth": lambda row: row.topic, "": kernel}, cells)


def ways_of_bytes() -> str:
    """The fastest way to make products of bytes with few rows, and how the others compare."""
    ways = {
        "by warps": "direct, bytes, depth by 1, 3 groups",
        "one group": "large, bytes, depth by 1, 1 groups",
        "depth by 2": "large, bytes, depth by 2, 1 groups",
        "by 4": "large, bytes, depth by 4, 1 groups",
        "by 8": "large, bytes, depth by 8, 1 groups",
        "three groups": "large, bytes, depth by 1, 3 groups",
        "depth by 4": "large, bytes, depth by 4, 3 groups",
    }
    shape: Cells = {"rows, columns, depth": lambda row: row.topic.removeprefix("Ways, ")}
    cells: Cells = {heading: partial(_by_way, way) for heading, way in ways.items()}
    return listed([row for row in rows(PRODUCTS, "Ways") if not row.peer], {**shape, **cells})


def _by_way(way: str, row: Row) -> str:
    return duration(row.more["ways"][way])


def convolutions() -> str:
    """Of few bits, by images, channels and widths."""
    cells = {
        "made by": more("plan"),
        "time": ours,
        "cuDNN": lambda row: figure(row) if row.peer == "cudnn_half" else "",
        "cuDNN / ours": beside("cudnn_half"),
        "bytes / ours": beside("im2col"),
        "their product alone / ours": beside("int8_product"),
    }
    key: Cells = {"images, channels": _behind_colon, "": kernel}
    return grouped(rows(CONVOLUTIONS, "kernels"), key, cells)


def fused_convolutions() -> str:
    cells = {"time": ours, "its parts / ours": beside("parts")}
    return grouped(rows(CONVOLUTIONS, "fused"), {"images, channels": _behind_colon}, cells)


def convolved_networks() -> str:
    cells = {
        "time": lambda row: "" if row.name.endswith("_rate") else ours(row),
        "images a second": ending("_rate", lambda row: number(round(row.median))),
        "APNN-TC / ours": beside("apnn"),
    }
    return grouped(rows(CONVOLUTIONS, "networks"), {"images": size}, cells)


def _behind_colon(row: Row) -> str:
    return row.topic.partition(": ")[2]


def bounds_speed() -> str:
    """Ours, and each peer's time with its ratio."""
    key: Cells = {
        "layers": lambda row: row.name.split(" ")[0],
        "of": lambda row: row.name.split(", ")[1],
    }
    cells: Cells = {
        "ours": _by("zenserve"),
        "not recorded": _by("launched"),
        "Shi et al., float32": _by("shi_float32"),
        "our forms, float32": _by("torch_float32"),
        "float64": _by("torch_float64"),
        "radius": lambda row: number(row.more.get("radius")),
        "Faith, an A100": lambda row: f"{row.more['faith_s']:g} s" if "faith_s" in row.more else "",
    }
    return grouped(rows(BOUNDS, "Speed"), key, cells)


def _by(*names: str) -> Callable[[Row], str]:
    def cell(row: Row) -> str:
        if row.peer not in names:
            return ""
        return f"{figure(row)}, {row.ratio:.2f}x" if row.ratio else figure(row)

    return cell


def bounds_operators() -> str:
    """PyTorch's time with its ratio, and Faith's ratio."""
    key: Cells = {"operator": lambda row: row.name.split(", ")[0], "words": size}
    cells: Cells = {
        "ours": _by("zenserve"),
        "PyTorch": _by("torch_eager"),
        "torch.compile": _by("torch_compile"),
        "Faith, an A100": lambda row: f"{row.more['faith']:g}x" if "faith" in row.more else "",
    }
    return grouped(rows(BOUNDS, "Operators"), key, cells)


def bounds_compiled() -> str:
    """Both ports' time with its ratio, as they are and compiled."""
    cells: Cells = {
        "ours": _by("zenserve"),
        "Shi et al.": _by("shi_eager"),
        "compiled": _by("shi_compile"),
        "our forms": _by("own_eager"),
        "compiled ": _by("own_compile"),
    }
    return grouped(rows(BOUNDS, "Compiled"), {"of": lambda row: row.name.split(", ")[1]}, cells)


def bounds_tightness() -> str:
    said = {
        "of our port's, at least": "least_of_port",
        "Shi et al.'s radius": "shi_radius",
        "forms differ by, in widths": "largest_difference",
    }
    cells: Cells = {"radius": _plain, **{heading: more(of) for heading, of in said.items()}}
    return grouped(rows(BOUNDS, "Tightness"), {"": kernel, "words": size}, cells)


def bounds_points() -> str:
    """Of regions, and by how much the least margin of any point is above its bound."""
    said = ("regions", "certified", "violations")
    cells: Cells = {"points": size, **{each: more(each) for each in said}, "above": _plain}
    return listed(rows(BOUNDS_POINTS, "Points"), {"": kernel, **cells})


def _plain(row: Row) -> str:
    return number(row.median)


def wide_integers() -> str:
    """Products of integers of 16 and 32 bits, by sizes."""
    cells = {
        "made of": more("plan"),
        "time": _of_split,
        "TOPS": _tera,
        "and splitting": ending("_with_splitting", ours),
        "cuBLAS' float64 / ours": beside("dgemm"),
        "CuPy's int64 / ours": beside("cupy"),
    }
    return grouped(rows(WIDE, "int"), {"numbers, rows, columns, depth": lambda row: row.topic}, cells)


def wide_floats() -> str:
    """Products of floats, by sizes, and how far they and cuBLAS' are from float64's."""
    cells = {
        "time": _of_split,
        "TFLOPS": _tera,
        "and splitting": ending("_with_splitting", ours),
        "cuBLAS": lambda row: figure(row) if row.peer == "sgemm" else "",
        "cuBLAS / ours": beside("sgemm"),
        "our error": _more_if("error", "{:.1e}"),
        "cuBLAS' error": _more_if("peer_error", "{:.1e}"),
    }
    return grouped(rows(WIDE, "float32"), {"rows, columns, depth": lambda row: row.topic}, cells)


def challenges() -> str:
    """r^T W X, and r^T W."""
    shown = {
        "weights_at_challenges": "r^T W X",
        "rows_combine_weights_at_challenges": "r^T W X, by the kernel of elements",
        "fr_weights_at_challenges": "as many products of elements, nothing else",
        "row_at_challenges": "r^T W",
    }
    cells = {
        "": lambda row: shown[row.name],
        "time": figure,
        "/ ours": lambda row: ratio(row) if row.peer else "",
    }
    return listed(rows(WIDE, "r^T"), cells)


def ways() -> str:
    """Products of layers as they are planned, and the fastest way to make them."""
    cells = {
        "bits": lambda row: row.name.split("_")[1],
        "planned": more("plan"),
        "time": figure,
        "foretold": lambda row: duration(row.more["foretold"]),
        "fastest": more("fastest"),
        "fastest / planned": lambda row: f"{min(row.more['ways'].values()) / row.median:.2f}x",
    }
    planned = [row for row in rows(WIDE, "Plans") if not row.peer]
    return listed(planned, {"rows, columns, depth": more("shape"), **cells})


def _of_split(row: Row) -> str:
    """Our time, where splitting is none of it."""
    return "" if row.name.endswith("_with_splitting") else ours(row)


def _tera(row: Row) -> str:
    """10^12 operations a second, of the same."""
    return f"{row.more['operations'] / row.median / 1e12:.0f}" if _of_split(row) else ""


def _more_if(what: str, how: str) -> Callable[[Row], str]:
    return lambda row: how.format(row.more[what]) if what in row.more else ""


def lines() -> str:
    """Of the kernels, of the host, and of ZERA."""
    key = {"": lambda row: row.topic}
    parts = {"for both": "shared", "processor alone": "cpu", "card alone": "gpu", "annotated": "annotated"}
    counted = {heading: ending(f"_{part}", _count) for heading, part in parts.items()}
    return grouped(rows(LINES, ""), key, counted)


def _count(row: Row) -> str:
    return number(round(row.median))


def _held(row: Row) -> str:
    return number(round(row.more["memory_mb"]))


def _in_kernels(row: Row) -> str:
    return duration(sum(row.more["kernels"].values())) if "kernels" in row.more else ""


TABLES: Final[dict[str, Callable[[], str]]] = {
    "ceilings": ceilings,
    "gpu kernels": gpu_kernels,
    "gpu proofs": gpu_proofs,
    "witnesses": witnesses,
    "dataset": dataset,
    "smaller card": partial(witnesses, SMALLER),
    "networks": networks,
    "spartan kernels": spartan_kernels,
    "spartan proofs": spartan_proofs,
    "few bits": few_bits,
    "ways of bytes": ways_of_bytes,
    "convolutions": convolutions,
    "fused convolutions": fused_convolutions,
    "convolved networks": convolved_networks,
    "bounds speed": bounds_speed,
    "bounds points": bounds_points,
    "bounds tightness": bounds_tightness,
    "bounds operators": bounds_operators,
    "bounds compiled": bounds_compiled,
    "wide integers": wide_integers,
    "wide floats": wide_floats,
    "challenges": challenges,
    "ways": ways,
    "lines": lines,
}
