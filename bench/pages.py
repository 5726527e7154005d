"""docs/performance.md, docs/gpu.md, docs/coverage.md, docs/lowbit.md: the templates beside this file, with
tables of bench/results.

    python -m bench.pages

A template's line ``{{ name }}`` becomes the table of that name, ``{{ on FILE }}`` the hardware of results.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from bench import cameras, coverage, ezkl_networks, large, spartan, streams
from bench.report import Cells, Row, duration, figure, lines_of, more, number, numeric, ratio, read
from bench.schemes import CELLS, of_paper
from bench.stages import STAGES

ROOT: Final = Path(__file__).parents[1]
RESULTS: Final = ROOT / "bench" / "results"
TEMPLATES: Final = ROOT / "bench" / "templates"

CPU: Final = "cpu-2026-11-21-xeon-avx512"
GPU: Final = "gpu-2026-11-21-h200"
SPARTAN_GPU: Final = "spartan-gpu-2026-11-23-h200"
WITNESSES: Final = "witness-2026-11-23-h200"
PRODUCTS: Final = "products-2026-11-23-h200"
WIDE: Final = "wide-2026-11-23-h200"
BOUNDS: Final = "bounds-2026-11-23-h200"
LINES: Final = "lines-2026-11-23"
COMPILER: Final = "compiler-2026-11-23-epyc"
SHARING: Final = "sharing-2026-11-21-epyc-milan"
SCHEMES: Final = "schemes-2026-11-21-epyc-milan"
SCHEMES_AVX512: Final = "schemes-2026-11-21-xeon-avx512"
SPARTAN: Final = "spartan-2026-11-23-epyc"
SPARTAN_AVX2: Final = "spartan-2026-11-23-epyc-avx2"
LARGE: Final = "large-2026-11-23-epyc"
CAMERAS: Final = "streams-2026-11-23-epyc"
SERVICE: Final = "service-2026-11-22-epyc-avx512"
SERVICE_BUSY: Final = "service-2026-11-22-epyc-busy"
COVERAGE: Final = (
    "coverage-2026-11-23-ezkl",
    "coverage-2026-11-23-pytorch-torchscript",
    "coverage-2026-11-23-pytorch-export",
    "coverage-2026-11-23-estimators",
    "coverage-2026-11-23-jolt-atlas",
)
EZKL_NETWORKS: Final = "ezkl-networks-2026-11-23-epyc"
SENTENCES: Final = "minilm-2026-11-23-epyc"
LOWBIT: Final = "lowbit-2026-11-23-epyc"
LOWBIT_224: Final = "lowbit-224-2026-11-23-epyc"
MAGIKA: Final = "magika-2026-11-23-epyc"
DEAREST: Final = 8


def rows(file: str, *topics: str) -> list[Row]:
    """Those of topics that begin so."""
    return [row for row in read(RESULTS / f"{file}.json")[1] if row.topic.startswith(topics)]


def table(lines: Sequence[tuple[str, ...]], headings: Sequence[str]) -> str:
    rules = ["--:" if numeric(cells) else "---" for cells in zip(*lines, strict=True)]
    return "\n".join(f"| {' | '.join(line)} |" for line in (headings, rules, *lines))


def listed(chosen: Sequence[Row], cells: Cells) -> str:
    """A line a row."""
    headings, lines = lines_of(chosen, cells)
    return table(lines, headings)


def grouped(chosen: Iterable[Row], key: Cells, cells: Cells) -> str:
    """A line for all rows of one key, whose other cells are each what one of the rows says."""
    lines: dict[tuple[str, ...], dict[str, str]] = {}
    for row in chosen:
        line = lines.setdefault(tuple(cell(row) for cell in key.values()), {})
        for heading, cell in cells.items():
            line[heading] = line.get(heading) or cell(row)
    return table([(*place, *line.values()) for place, line in lines.items()], [*key, *cells])


def name(row: Row) -> str:
    return row.name


def size(row: Row) -> str:
    return number(row.size)


def power(row: Row) -> str:
    """The size as a power of two."""
    return f"2^{row.size.bit_length() - 1}" if row.size and row.size > 1 else ""


def threads(row: Row) -> str:
    return number(row.threads)


def ours(row: Row) -> str:
    return "" if row.peer else figure(row)


def floors(row: Row) -> str:
    return f"{row.median / row.floor:.2f}x" if row.floor else ""


def megabytes(row: Row) -> str:
    return number(row.peak_mb and round(row.peak_mb))


def beside(peer: str) -> Callable[[Row], str]:
    return lambda row: ratio(row) if row.peer == peer else ""


def ending(suffix: str, cell: Callable[[Row], str]) -> Callable[[Row], str]:
    """The cell, of rows whose name ends so."""
    return lambda row: cell(row) if row.name.endswith(suffix) else ""


def stem(*suffixes: str) -> Callable[[Row], str]:
    """The name without what its rows differ in."""
    pattern = re.compile(f"_({'|'.join(suffixes)})$")
    return lambda row: pattern.sub("", row.name)


def kernel(row: Row) -> str:
    return row.name.removeprefix(f"{row.peer}_").removesuffix("_x86_ifma")


def stage(part: str) -> Callable[[Row], str]:
    return lambda row: f"{row.more['stages'][part]:.0%}"


def cpu_kernels() -> str:
    powers = {"msm_g1": (16, 20), "msm_g2": (18,), "ntt": (16, 20)}

    def is_shown(row: Row) -> bool:
        return row.size in [1 << log for log in powers.get(kernel(row), (0,))]

    chosen = filter(is_shown, rows(CPU, "Field", "NTT", "MSM"))
    key = {"kernel": kernel, "size": power, "threads": threads, "scalars": more("scalars")}
    peers = {"blst": "blst", "mcl": "mcl", "gnark-crypto": "gnark", "arkworks": "py_arkworks_bls12381"}
    asked = {heading: beside(peer) for heading, peer in peers.items()}
    return grouped(chosen, key, {"ours": ours, "vs floor": floors, **asked})


def cpu_proofs() -> str:
    proofs = [row for row in rows(CPU, "Groth16") if row.name == "groth16_prove"]
    parts = list(proofs[0].more["stages"])
    foretold = {"peak MB": megabytes, "foretold": lambda row: number(round(row.more["formula_mb"]))}
    columns = {"rows": power, "threads": threads, "witness": more("scalars"), "proof": figure, **foretold}
    return listed(proofs, columns | {part.replace("msm_", "Σ "): stage(part) for part in parts})


def digits() -> str:
    key = {"": stem("setup", "prove", "verify"), "constraints": size, "threads": threads}
    steps = {step: ending(f"_{step}", figure) for step in ("setup", "prove", "verify")}
    return grouped(rows(CPU, "Digits"), key, steps)


def segments() -> str:
    said = {"": name, "inputs": more("scalars"), "size": size, "threads": threads, "time": figure}
    chosen = rows("segments-2026-11-21-epyc-milan", "")
    return listed(chosen, {**said, "arkworks": ratio, "peak MB": megabytes})


def estimates() -> str:
    chosen = rows("estimates-2026-11-22-epyc", "")
    whole = [row for row in chosen if row.more["stage"] in ("setup", "proof")]
    said = {"circuit": name, "constraints": size, "": more("stage"), "foretold s": more("foretold_s")}
    return listed(whole, {**said, "taken": figure, "ratio": ratio})


def counts() -> str:
    said = {
        "circuit": name,
        "constraints": lambda row: number(row.median),
        "a unit": more("a_unit"),
        "units": size,
    }
    chosen = rows("counts-2026-11-21", "")
    return listed(chosen, {**said, "committed": more("committed"), "soundness, bits": more("soundness_bits")})


def gates() -> str:
    said = {"circuit": name, "constraints": size, "ours": figure, "spread": _spread}
    return listed(rows(COMPILER, "Circuit"), {**said, "gate by gate": ratio})


def _spread(row: Row) -> str:
    return f"{row.spread:.0%}"


def compiled() -> str:
    steps = ("compile", "cached", "execute", "witness")
    key = {"network": stem(*(f"committed_{step}" for step in steps)), "constraints": size}
    cells = {step: ending(f"_{step}", figure) for step in steps}
    return grouped(
        rows(COMPILER, "The zoo, input private, weights committed"), key, {**cells, "peak MB": megabytes}
    )


def pools() -> str:
    key = {"circuit": stem("apply", "make"), "entries": size}
    counted = {"distinct": more("distinct"), "pooled": more("pooled"), "MB": more("mb_pooled")}
    timed = {step: ending(f"_{step}", ratio) for step in ("apply", "make")}
    chosen = [*rows(SHARING, "Coefficients"), *rows(SHARING, "A z")]
    return grouped(chosen, key, {**counted, "MB without": more("mb_single"), **timed})


def shared() -> str:
    steps = ("images", "proved", "build", "evaluate", "proof", "kept")
    key = {"circuit": stem(*steps)}
    timed = {step: ending(f"_{step}", ratio) for step in ("images", "proved", "evaluate", "proof")}
    built = {"build": ending("_build", figure), "kept, bytes": ending("_kept", size)}
    return grouped([*rows(SHARING, "100 images"), *rows(SHARING, "Matrices")], key, {**timed, **built})


def equal_weights() -> str:
    key = {"layer": stem("sums")}
    cells = {"products": ending("_sums", size), "ours": ending("_sums", figure), "vs cache": ratio}
    return grouped(rows(SHARING, "Sums"), key, cells)


def schemes() -> str:
    """Ours, with the proof's time under AVX-512, and under each network ZEN's own figures."""
    fast = {(row.topic, row.name): f"{row.median:.3g}" for row in rows(SCHEMES_AVX512, "")}
    of_zen = [
        (f"{row.topic}, {line[0]}", *line[1:])
        for row in _first(rows(SCHEMES, ""))
        for line in of_paper(row.topic)
    ]
    cells = {
        **CELLS,
        "scheme": lambda row: f"{row.topic}, {row.name}",
        "prove s": lambda row: f"{row.median:.3g}",
        "peak MB": megabytes,
        "AVX-512": lambda row: fast.get((row.topic, row.name), ""),
        "vs ours": ratio,
    }
    headings, lines = lines_of(rows(SCHEMES, ""), cells)
    return table([*lines, *((*line, "", "") for line in of_zen if "inference" in line[0])], headings)


def without_setup(name: str) -> str:
    return listed(rows(name, ""), {**spartan.CELLS, "prove s": lambda row: f"{row.median:.3g}"})


def shown(file: str, topic: str, cells: Cells) -> str:
    """As the benchmark itself shows it."""
    return listed(rows(file, topic), cells)


def _first(chosen: Iterable[Row]) -> list[Row]:
    """One of each topic."""
    return list({row.topic: row for row in chosen}.values())


def documents() -> str:
    said = {"": name, "proofs": size, "each": figure, "arkworks": ratio, "vs floor": floors}
    return listed(rows(SERVICE, "Verification"), said)


def loads(file: str, *topics: str) -> str:
    said = {"": name, "processes": more("processes"), "connections": size, "per s": more("per_s")}
    taken = {"p50": figure, "p99 ms": more("p99_ms"), "CPU ms": more("cpu_ms"), "peak MB": megabytes}
    return listed(rows(file, *topics), said | taken)


def strangers() -> str:
    dearest = sorted(rows(SERVICE_BUSY, "strangers"), key=lambda row: row.median, reverse=True)[:DEAREST]
    said = {"request": name, "path": more("path"), "KB": more("kb"), "status": more("status")}
    return listed(dearest, {**said, "CPU": figure, "MB": lambda row: number(round(row.more["mb"]))})


def ezkl() -> str:
    said = {"": name, "threads": threads, "proof": figure, "beside": lambda row: row.peer or ""}
    chosen = rows("ezkl-2026-11-21-epyc-milan", "")
    return listed(chosen, {**said, "ratio": ratio, "peak MB": megabytes})


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


def witnesses() -> str:
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
    return grouped(rows(WITNESSES, ""), {"made": made, "of": kernel}, cells)


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
    return grouped(rows(PRODUCTS, ""), {"rows, columns, depth": lambda row: row.topic, "": kernel}, cells)


def bounds_speed() -> str:
    """Ours, and each peer's time with its ratio."""
    key: Cells = {
        "layers": lambda row: row.name.split(" ")[0],
        "of": lambda row: row.name.split(", ")[1],
    }
    cells: Cells = {
        "ours": _by("launched", "zenserve"),
        "PyTorch, float32": _by("torch_float32"),
        "float64": _by("torch_float64"),
        "ten halvings": _by("torch_float32_halvings"),
        "auto_LiRPA, CROWN": _by("auto_LiRPA"),
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


def bounds_tightness() -> str:
    said = {
        "of the port's, at least": "least_of_port",
        "margins by forms differ by": "largest_difference",
        "CROWN-IBP's radius": "crown_ibp_radius",
        "words where ours is no less": "no_less",
    }
    cells: Cells = {"radius": _plain, **{heading: more(of) for heading, of in said.items()}}
    return grouped(rows(BOUNDS, "Tightness"), {"": kernel, "words": size}, cells)


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


def low_bits_accuracy() -> str:
    cells: Cells = {"images": size, "floats": lambda row: f"{row.more['floats']:.1f} %"}
    by_bits = _by_bits(lambda row: f"{row.median:.1f} %", "w4a4", "w2a2", "w1a2")
    return grouped(rows(LOWBIT, "Accuracy"), {"network": _architecture}, {**cells, **by_bits})


def low_bits_constraints() -> str:
    """Each with its part of the 8-bit network's."""

    def part(row: Row) -> str:
        return f"{number(row.size)} ({1 / row.ratio:.2f})" if row.ratio else number(row.size)

    key = {"network": _architecture, "weights": more("weights")}
    return grouped(rows(LOWBIT, "Constraints"), key, _by_bits(part, "w8a8", "w4a4", "w2a2", "w1a2"))


def _architecture(row: Row) -> str:
    return row.name.rpartition("-")[0]


def _by_bits(cell: Callable[[Row], str], *names: str) -> Cells:
    return {bits: ending(f"-{bits}", cell) for bits in names}


def low_bits_proofs() -> str:
    cells: Cells = {
        "": name,
        "system": more("system"),
        "rows": size,
        "setup s": more("setup_s"),
        "prove s": lambda row: number(row.median),
        "verify s": more("verify_s"),
        "proof bytes": more("proof_bytes"),
        "peak MB": megabytes,
    }
    return listed(rows(LOWBIT, "Proofs"), cells)


def low_bits_witnesses() -> str:
    cells: Cells = {
        "": name,
        "rows": size,
        "execute s": more("execute_s"),
        "compile s": more("compile_s"),
        "witness s": lambda row: number(row.median),
        "check s": more("check_s"),
        "peak MB": megabytes,
    }
    return listed(rows(LOWBIT_224, "At 224"), cells)


TABLES: Final[dict[str, Callable[[], str]]] = {
    "sentences": sentences,
    "layer": partial(proven, SENTENCES),
    "magika": magika,
    "magika proven": partial(proven, MAGIKA),
    "low bits' accuracy": low_bits_accuracy,
    "low bits' constraints": low_bits_constraints,
    "low bits' proofs": low_bits_proofs,
    "low bits' witnesses": low_bits_witnesses,
    "cpu kernels": cpu_kernels,
    "cpu proofs": cpu_proofs,
    "digits": digits,
    "segments": segments,
    "estimates": estimates,
    "counts": counts,
    "gates": gates,
    "compiled": compiled,
    "pools": pools,
    "shared": shared,
    "equal weights": equal_weights,
    "schemes": schemes,
    "spartan": partial(without_setup, SPARTAN),
    "spartan avx2": partial(without_setup, SPARTAN_AVX2),
    "large networks": partial(shown, LARGE, "Networks", large.CELLS),
    "renewals": partial(shown, LARGE, "Renewals", large.RENEWAL_CELLS),
    "switches": partial(shown, CAMERAS, "switches", streams.SWITCHES),
    "detector": partial(shown, CAMERAS, "frames", streams.FRAMES),
    "bank": partial(shown, CAMERAS, "bank", cameras.NETWORKS),
    "filmed": partial(shown, CAMERAS, "cameras", cameras.STREAMS),
    "batches": partial(shown, CAMERAS, "batches", cameras.TOGETHER),
    "documents": documents,
    "loads": partial(loads, SERVICE, "verify", "submissions", "pages"),
    "streams": partial(loads, SERVICE_BUSY, "streams"),
    "strangers": strangers,
    "ezkl": ezkl,
    "covered": covered,
    "blockers": blockers,
    "beside ezkl": partial(shown, EZKL_NETWORKS, "", ezkl_networks.CELLS),
    "networks": networks,
    "refused": refused,
    "ceilings": ceilings,
    "gpu kernels": gpu_kernels,
    "gpu proofs": gpu_proofs,
    "witnesses": witnesses,
    "spartan kernels": spartan_kernels,
    "spartan proofs": spartan_proofs,
    "few bits": few_bits,
    "bounds speed": bounds_speed,
    "bounds tightness": bounds_tightness,
    "wide integers": wide_integers,
    "wide floats": wide_floats,
    "challenges": challenges,
    "ways": ways,
    "lines": lines,
}


def page(template: Path) -> str:
    """The page of a template; ``KeyError`` for a table that there is not."""

    def filled(found: re.Match[str]) -> str:
        what = found[1]
        if what.startswith("on "):
            return read(RESULTS / f"{what.removeprefix('on ')}.json")[0]
        return TABLES[what]()

    return re.sub(r"\{\{ (.+?) \}\}", filled, template.read_text())


def main() -> None:
    for template in sorted(TEMPLATES.glob("*.md")):
        (ROOT / "docs" / template.name).write_text(page(template))


if __name__ == "__main__":
    main()
