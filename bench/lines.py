"""Lines of code that the processor and the card share, and of each alone.

    python -m bench.lines [--json FILE]

Counted are lines with code: no blank ones, none of comments or docstrings alone. Of the kernels' headers
those are shared that a CUDA source includes, directly or through others, and the processor's kernels too; of
Python, protocols are. "Transparent proofs" are the kernels that Spartan needs, alone. ZERA's figures are its
thesis' Table 6.1: what is written once, the annotations in it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from bench.measure import arguments
from bench.report import Report, Row

ROOT: Final = Path(__file__).parents[1]
HEADERS: Final = ROOT / "zenserve" / "kernels" / "include"
KERNELS: Final = ROOT / "zenserve" / "kernels" / "bindings.cpp"
SOURCES: Final = ROOT / "gpu" / "source"
TOOLBOX: Final = ("elementwise", "merkle", "ntt", "sparse", "sparse_forms", "sumcheck")
TOOLBOX_CUDA: Final = ("elementwise", "hashing", "ntt", "rows", "scalars", "sparse", "sumcheck")
"""What transparent proofs are made of."""

ZERA: Final = {"zera_shared": 7000, "zera_annotated": 92}
_COMMENT: Final = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def main() -> None:
    options = arguments(__doc__)
    report = Report("lines", hardware="this repository")
    report.show("Kernels, C++ and CUDA", kernels([KERNELS], SOURCES.glob("*.cu")))
    toolbox = [HEADERS / "zen" / f"{name}.hpp" for name in TOOLBOX]
    cuda = [SOURCES / f"{name}.cu" for name in TOOLBOX_CUDA]
    report.show("Transparent proofs, C++ and CUDA", kernels(toolbox, cuda))
    report.show("Host, Python", host())
    report.show("ZERA", (_row(name, count, peer="zera") for name, count in ZERA.items()))
    report.write(options.json)


def kernels(of_processor: Iterable[Path], of_card: Iterable[Path]) -> Iterator[Row]:
    cuda, processor = _reached(of_card), _reached(of_processor)
    # target.hpp includes one of them, by the compiler.
    own = {path for path in (cuda | processor) if path.name.startswith("target_")}
    of_cuda = {path for path in own if path.stem == "target_cuda"}
    shared = (cuda & processor) - own
    yield _row("kernels_shared", sum(map(_of_cpp, shared)))
    yield _row("kernels_cpu", sum(map(_of_cpp, (processor - shared - own) | (own - of_cuda))))
    yield _row("kernels_gpu", sum(map(_of_cpp, (cuda - shared - own) | of_cuda)))


def host() -> Iterator[Row]:
    """``sessions`` of a protocol are of one device each."""
    sessions = {path for path in ROOT.glob("prover/*/sessions/*.py") if path.name != "__init__.py"}
    cpu = {path for path in sessions if path.name == "cpu.py"}
    protocols = {*ROOT.glob("prover/spartan/**/*.py"), *ROOT.glob("prover/groth16/**/*.py")}
    yield _row("host_shared", sum(map(_of_python, protocols - sessions)))
    yield _row("host_cpu", sum(map(_of_python, {*cpu, *ROOT.glob("zenserve/kernels/*.py")})))
    gpu = {*(sessions - cpu), *ROOT.glob("gpu/*.py"), ROOT / "prover" / "backends" / "gpu.py"}
    yield _row("host_gpu", sum(map(_of_python, gpu)))


def _row(name: str, count: int, peer: str | None = None) -> Row:
    return Row(name, None, count, unit="lines", peer=peer)


def _reached(sources: Iterable[Path]) -> set[Path]:
    """The sources, and our headers that they include."""
    found, left = set[Path](), list(sources)
    while left:
        path = left.pop()
        if path not in found:
            found.add(path)
            names = re.findall(r'^#include "(.+)"', path.read_text(), re.MULTILINE)
            places = [each / name for name in names for each in (path.parent, HEADERS, SOURCES)]
            left += [place.resolve() for place in places if place.is_file()]
    return found


def _of_cpp(path: Path) -> int:
    return sum(1 for line in _COMMENT.sub("", path.read_text()).splitlines() if line.strip())


def _of_python(path: Path) -> int:
    """All but blank ones, comments and strings that are statements."""
    tree, text = ast.parse(path.read_text()), path.read_text().splitlines()
    docstrings = {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    return sum(
        1
        for number, line in enumerate(text, 1)
        if number not in docstrings and line.strip() and not line.strip().startswith("#")
    )


if __name__ == "__main__":
    main()
