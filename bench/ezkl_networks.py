"""Ten of EZKL's example networks beside EZKL, each in turn on the network's own input.

    python -m bench.ezkl_networks --suite DIR --work FOLDER [--only NAME...] [--json FILE]

Both keep the input private, commit to the weights and show the outputs. Ours is ``bench.stages``: keys and a
proof of one inference; what a model pays once, a basis, its commitment and registration, stands apart. EZKL
has the settings of its calibration for resources and powers of tau of its own making; what is made before its
keys is kept in FOLDER, and not timed. A proof is timed from the input: witness and proof. Each side has a
process of its own, whose peak memory is that of keys, proof and verdict. ``error``: the farthest output from
onnxruntime's.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from contextlib import chdir
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx

from bench import coverage
from bench.coverage import Limits
from bench.measure import alone, seconds
from bench.report import Cells, Report, Row, figure, more, number
from bench.stages import STAGES, attempt, outputs
from bench.suite import inputs, members

NETWORKS: Final = (
    "linear_regression",
    "1l_max_pool",
    "1l_conv_transpose",
    "logsumexp",
    "sklearn_mlp",
    "ltsf",
    "2l_relu_sigmoid_conv",
    "4l_relu_conv_fc",
    "3l_relu_conv_fc",
    "accuracy",
)


def prepare(network: Path, folder: Path) -> None:
    """EZKL's files up to what its keys are made from, unless they are there."""
    from bench import ezkl

    if not (folder / "srs").exists():
        folder.mkdir(parents=True, exist_ok=True)
        given = inputs(network)[0]
        with chdir(folder):
            ezkl.compile_network(onnx.load(network), given.values(), ezkl.COMMITTED)


def theirs(folder: Path) -> dict[str, Any]:
    """What EZKL takes, and the outputs that its proof shows."""
    from bench import ezkl

    with chdir(folder):
        setup_s = seconds(ezkl.setup)
        prove_s, verify_s = seconds(ezkl.prove_committed), seconds(ezkl.verify)
        settings, proof = (json.loads(Path(name).read_text()) for name in ("settings.json", "proof.json"))
        key_mb = Path("pk").stat().st_size / (1 << 20)
    shown = proof["pretty_public_inputs"]["rescaled_outputs"]
    return {
        "constraints": settings["num_rows"],
        "log_rows": settings["run_args"]["logrows"],
        "setup_s": setup_s,
        "prove_s": prove_s,
        "verify_s": verify_s,
        "key_mb": key_mb,
        "proof_bytes": len(proof["proof"]),
        "outputs": [float(value) for output in shown for value in output],
    }


def rows(network: Path, work: Path) -> list[Row]:
    """Ours, then EZKL's. Raises ``RuntimeError`` where ours is not proven."""
    name = network.parent.name
    prepare(network, work / name)
    ours = coverage.alone(attempt, network, STAGES[-1], limits=Limits())
    if not ours.get(STAGES[-1]):
        raise RuntimeError(f"{name}: {ours['reason']}")
    peer, peer_mb = alone(theirs, work / name)
    names = [each.name for each in onnx.load(network).graph.output]
    made, _ = outputs(network, [inputs(network)[0]], names)
    expected = np.concatenate([each[0] for each in made.values()])
    peer["error"] = float(np.abs(np.array(peer.pop("outputs")) - expected).max())
    reach = {"network": name, "reach": float(np.abs(expected).max())}
    return [
        _row("ours", reach | ours, ours["peak_mb"]),
        _row(f"ezkl-{version('ezkl')}", reach | peer, peer_mb, peer["prove_s"] / ours["prove_s"]),
    ]


def _row(tool: str, said: dict[str, Any], peak_mb: float, ratio: float | None = None) -> Row:
    said = {name: value for name, value in said.items() if name not in ("seconds", "peak_mb", *STAGES)}
    peer = tool if ratio else None
    size, proof = said.pop("constraints"), said.pop("prove_s")
    return Row(tool, size, proof, peer=peer, ratio=ratio, peak_mb=peak_mb, more=said)


CELLS: Final[Cells] = {
    "network": more("network"),
    "": lambda row: row.name,
    "rows": lambda row: number(row.size),
    "once s": lambda row: f"{row.more['registration_s']:.2f}" if "registration_s" in row.more else "",
    "setup s": lambda row: f"{row.more['setup_s']:.2f}",
    "proof": figure,
    "verify s": lambda row: f"{row.more['verify_s']:.3f}",
    "peak MB": lambda row: number(row.peak_mb and round(row.peak_mb)),
    "key MB": lambda row: f"{row.more['key_mb']:.1f}",
    "proof bytes": lambda row: number(row.more["proof_bytes"]),
    "error": lambda row: f"{row.more['error']:.2g}",
    "of": lambda row: f"{row.more['reach']:.2g}",
    "vs ours": lambda row: f"{row.ratio:.1f}x" if row.ratio else "",
}


def main() -> None:
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--suite", type=Path, required=True, metavar="DIR", help="EZKL's examples/onnx")
    parser.add_argument("--work", type=Path, required=True, metavar="FOLDER", help="for EZKL's files")
    parser.add_argument("--only", nargs="+", choices=NETWORKS, default=NETWORKS, help="these networks")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows to FILE")
    options = parser.parse_args()
    report = Report("ezkl-networks")
    files = {file.parent.name: file for file in members(options.suite)}
    found = [row for name in options.only for row in rows(files[name], options.work)]
    report.show("EZKL's examples", found, CELLS)
    report.write(options.json)


if __name__ == "__main__":
    main()
