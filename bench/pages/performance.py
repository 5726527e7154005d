"""Tables of docs/performance.md."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from bench import cameras, films, large, spartan, streams
from bench.pages.tables import (
    beside,
    ending,
    floors,
    grouped,
    kernel,
    listed,
    megabytes,
    name,
    ours,
    power,
    rows,
    shown,
    size,
    stem,
    table,
    threads,
)
from bench.report import Cells, Row, figure, lines_of, more, number, ratio
from bench.schemes import CELLS, of_paper

CPU: Final = "cpu-2026-11-21-xeon-avx512"
PROOFS_AVX2: Final = "proofs-2026-11-24-epyc-avx2"
PROOFS_MULTIPLES: Final = "proofs-2026-11-28-epyc-avx2"
COMPILER: Final = "compiler-2026-11-23-epyc"
SHARING: Final = "sharing-2026-11-21-epyc-milan"
SCHEMES: Final = "schemes-2026-11-21-epyc-milan"
SCHEMES_AVX512: Final = "schemes-2026-11-21-xeon-avx512"
SPARTAN: Final = "spartan-2026-11-24-epyc"
SPARTAN_AVX2: Final = "spartan-2026-11-24-epyc-avx2"
SPARTAN_AVX2_SINCE: Final = "spartan-2026-11-28-epyc-avx2"
LARGE: Final = "large-2026-11-23-epyc"
CAMERAS: Final = "streams-2026-11-28-epyc"
FILM: Final = "streams-film-2026-11-28-epyc"
PAGE: Final = "page-2026-11-28-epyc"
SERVICE: Final = "service-2026-11-22-epyc-avx512"
PRODUCTION: Final = "service-production-2026-11-30-epyc"
SERVICE_BUSY: Final = "service-2026-11-22-epyc-busy"
FIRST: Final = "first-2026-11-28-epyc"
DEAREST: Final = 8


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


def proofs_beside_gnark(file: str) -> str:
    proofs = [row for row in rows(file, "Groth16") if row.name.endswith("groth16_prove")]
    key = {"rows": power, "threads": threads, "witness": more("scalars")}
    without = {"without multiples": beside("without_multiples")} if file == PROOFS_MULTIPLES else {}
    cells: Cells = {"ours": ours, **without, "gnark": beside("gnark"), "peak MB": megabytes}
    return grouped(proofs, key, cells)


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


def page() -> str:
    said = {"files": name, "bytes": size, "time": figure, "spread": _spread, "Chromium": more("Chromium")}
    return listed(rows(PAGE, "from the drop"), said)


def page_size() -> str:
    return listed(rows(PAGE, "size"), {"file": name, "bytes": lambda row: number(int(row.median))})


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
    """Without columns of what an earlier run did not measure."""
    found = rows(name, "")
    cells = {head: cell for head, cell in spartan.CELLS.items() if any(map(cell, found))}
    return listed(found, {**cells, "prove s": lambda row: f"{row.median:.3g}"})


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


def production() -> str:
    said = {"": name, "connections": size, "per s": more("per_s"), "p99 ms": more("p99_ms")}
    taken = {"API": more("cpu_ms"), "database": more("database_cpu_ms"), "caller": more("client_cpu_ms")}
    beside = {"/healthz p99 ms": more("healthz_p99_ms")}
    return listed(rows(PRODUCTION, "production"), said | taken | beside)


def growth() -> str:
    said = {
        "upload": name,
        "bytes": size,
        "answer": more("code"),
        "at its peak": figure,
        "left, MB": more("left_mb"),
    }
    return listed(rows(PRODUCTION, "growth"), said)


def strangers() -> str:
    dearest = sorted(rows(SERVICE_BUSY, "strangers"), key=lambda row: row.median, reverse=True)[:DEAREST]
    said = {"request": name, "path": more("path"), "KB": more("kb"), "status": more("status")}
    return listed(dearest, {**said, "CPU": figure, "MB": lambda row: number(round(row.more["mb"]))})


def first() -> str:
    said = {"": name, "system": more("system"), "in all": figure, "until it answers, s": more("start_s")}
    said |= {"registration s": more("register_s"), "proof s": more("prove_s"), "verdict s": more("verify_s")}
    return listed(rows(FIRST, "first"), said | {"proof KB": more("proof_kb")})


def ezkl() -> str:
    said = {"": name, "threads": threads, "proof": figure, "beside": lambda row: row.peer or ""}
    chosen = rows("ezkl-2026-11-21-epyc-milan", "")
    return listed(chosen, {**said, "ratio": ratio, "peak MB": megabytes})


TABLES: Final[dict[str, Callable[[], str]]] = {
    "cpu kernels": cpu_kernels,
    "cpu proofs": cpu_proofs,
    "proofs beside gnark": partial(proofs_beside_gnark, PROOFS_AVX2),
    "proofs with multiples": partial(proofs_beside_gnark, PROOFS_MULTIPLES),
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
    "spartan avx2 since": partial(without_setup, SPARTAN_AVX2_SINCE),
    "large networks": partial(shown, LARGE, "Networks", large.CELLS),
    "renewals": partial(shown, LARGE, "Renewals", large.RENEWAL_CELLS),
    "switches": partial(shown, CAMERAS, "switches", streams.SWITCHES),
    "detector": partial(shown, CAMERAS, "frames", streams.FRAMES),
    "bank": partial(shown, CAMERAS, "bank", cameras.NETWORKS),
    "filmed": partial(shown, CAMERAS, "cameras", cameras.STREAMS),
    "skews": partial(shown, CAMERAS, "skews", cameras.SKEWS),
    "film": partial(shown, FILM, "film", films.FILM),
    "batches": partial(shown, CAMERAS, "batches", cameras.TOGETHER),
    "page": page,
    "page size": page_size,
    "documents": documents,
    "loads": partial(loads, SERVICE, "verify", "submissions", "pages"),
    "streams": partial(loads, SERVICE_BUSY, "streams"),
    "production": production,
    "growth": growth,
    "strangers": strangers,
    "first": first,
    "ezkl": ezkl,
}
