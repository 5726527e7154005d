"""Google's Magika, which says of a file what it is, in integers, and proven of bytes that stay private.

    pip download --no-deps magika==1.0.3 && unzip magika-*.whl
    python -m bench.magika magika/models/standard_v3_3 --files DIR... [--only NAME...] [--json FILE]

Of each kind of file, by the ends of names, that DIR has four of, eight at most are taken, in the order of
their hashes: the network is quantised on the first two of each, and its labels of the others compared with
onnxruntime's. Bytes are chosen as the package chooses them.

    W8A12   weights of 8 bits, each channel's of its own scale, tensors of 12, rows' statistics and the
            squares that they are of 16
    W8A8    the same of 8

"sure" is of files alone whose label has a probability above one half; of others the package says no more
than whether they are text. And by its id each proof system: W8A12, its weights committed, the bytes of a file
private, the label shown: the registration, a proof, and zenserve-verify, under keys of a development setup
where it takes any.
"""

from __future__ import annotations

import hashlib
import json
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterator
from functools import partial
from math import prod
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.coverage import Limits, alone
from bench.report import Report
from bench.sentences import row
from bench.stages import Findings, outputs, prove, require_shown
from zenserve.circuits import QuantGraph, compile_inference, load_onnx, parameters
from zenserve.circuits.graphs.site import Settings
from zenserve.circuits.quantisation.plan import plan
from zenserve.circuits.quantisation.quantiser import Calibrated
from zenserve.prover.registry import SYSTEMS
from zenserve.relations.integers import IntArray

_MODEL: Final = "model.onnx"
_WEIGHT_BITS: Final = 8
_BITS: Final = 12
_FINE_BITS: Final = 16
# Entries of a tensor that has statistics of rows.
_FEW: Final = 512
_OUTPUT: Final = "target_label"
_SURE: Final = 0.5
# Of each kind: files that there must be, that are taken, and that calibrate.
_LEAST: Final = 4
_MOST: Final = 8
_CALIBRATE: Final = 2
_LONGEST: Final = 1 << 22
_AT_ONCE: Final = 8
_LIMITS: Final = Limits(seconds=3 * 600)


class Files(NamedTuple):
    """What the network reads of each, int64[n, 2048]. ``kinds``: how many there are."""

    calibration: IntArray
    others: IntArray
    kinds: int


def agreement(model: Path, files: Files, bits: int) -> Iterator[Findings]:
    qgraph = _quantised(model, files, bits)
    fed = [{"bytes": each[np.newaxis].astype(np.int32)} for each in files.others]
    theirs = outputs(model, fed, [_OUTPUT])[0][_OUTPUT]
    agree, sure = _labels(qgraph, files.others) == theirs.argmax(axis=1), theirs.max(axis=1) > _SURE
    yield {
        "files": len(files.others),
        "kinds": files.kinds,
        "parameters": int(parameters(qgraph).size),
        "agree": float(agree.mean()),
        "sure": float(agree[sure].mean()),
    }


def proven(model: Path, files: Files, system: str) -> Iterator[Findings]:
    qgraph = _quantised(model, files, _BITS)
    circuit, q = compile_inference(qgraph, weight_privacy="committed"), qgraph.quantise_input(files.others[0])
    require_shown(circuit, q)
    yield {"constraints": circuit.constraint_system.constraints}
    yield prove(circuit, q, system)


def _quantised(model: Path, files: Files, bits: int) -> QuantGraph:
    calibrated = Calibrated.by(load_onnx(model), files.calibration)
    fine = dict.fromkeys(_statistics(calibrated), (_FINE_BITS, _WEIGHT_BITS))
    return calibrated.quantised(Settings(bits, _WEIGHT_BITS, "min-max", per_channel=True), fine)


def _statistics(calibrated: Calibrated) -> set[str]:
    """The integer nodes of few entries, and those of squares."""
    steps = {step.name: step for step in plan(calibrated.graph)}
    named = {name for slot in calibrated.slots if not slot.weights for name in slot.names} & steps.keys()
    few = {name for name in named if prod(calibrated.graph.shapes[steps[name].tensor]) <= _FEW}
    return few | {name for name in named if getattr(steps[name].node, "function", "") == "x * x"}


def _labels(qgraph: QuantGraph, files: IntArray) -> NDArray[np.int64]:
    parts = (files[start : start + _AT_ONCE] for start in range(0, len(files), _AT_ONCE))
    return np.concatenate([qgraph.run(part).argmax(axis=1) for part in parts])


def read(folder: Path, places: list[Path]) -> Files:
    """``folder``: the package's, of the model. Raises ``OSError``."""
    said = json.loads((folder / "config.min.json").read_text())
    kinds: dict[str, dict[bytes, bytes]] = {}
    for file in (file for place in places for file in place.rglob("*.?*")):
        if file.is_file() and said["min_file_size_for_dl"] <= file.stat().st_size < _LONGEST:
            content = file.read_bytes()
            kinds.setdefault(file.suffix, {})[hashlib.sha256(content).digest()] = content
    taken = [
        [seen(content, said) for _, content in sorted(each.items())[:_MOST]]
        for _, each in sorted(kinds.items())
        if len(each) >= _LEAST
    ]
    first = [content for each in taken for content in each[:_CALIBRATE]]
    return Files(np.array(first), np.array([one for each in taken for one in each[_CALIBRATE:]]), len(taken))


def seen(content: bytes, said: dict[str, int]) -> list[int]:
    """What the network sees of a file: the first bytes behind blanks, the last before them, and what fills
    up. ``said``: by the package."""
    begin, end, blank = said["beg_size"], said["end_size"], said["padding_token"]
    first = [*content[: said["block_size"]].lstrip()[:begin]]
    last = [*content[-said["block_size"] :].rstrip()[-end:]]
    return [*first, *[blank] * (begin - len(first)), *[blank] * (end - len(last)), *last]


def main() -> None:
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="MODEL", help="the package's folder of the model")
    parser.add_argument("--files", type=Path, nargs="+", required=True, metavar="DIR", help="where files are")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these rows")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows to FILE")
    options = parser.parse_args()
    report, model = Report("magika", "Magika"), options.folder / _MODEL
    files = read(options.folder, options.files)
    tried: dict[str, Callable[[], Findings]] = {
        f"W8A{bits}": partial(alone, agreement, model, files, bits, limits=_LIMITS) for bits in (_BITS, 8)
    }
    tried |= {system: partial(alone, proven, model, files, system, limits=_LIMITS) for system in SYSTEMS}
    rows = [row(name, attempt()) for name, attempt in tried.items() if name in (options.only or tried)]
    report.show("magika", rows)
    report.write(options.json)


if __name__ == "__main__":
    main()
