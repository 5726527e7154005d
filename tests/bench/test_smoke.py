"""The benchmark runs, and writes the rows that others read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bench.cpu import peer_msm
from bench.peers import started
from bench.report import read
from zenserve import kernels
from zenserve.base.processors import usable_cores

ROOT = Path(__file__).parents[2]


@pytest.mark.large
def test_every_row_of_the_cpu_benchmark(tmp_path: Path) -> None:
    output, stand_in = tmp_path / "rows.json", tmp_path / "peer"
    stand_in.write_text(f"#!/bin/sh\nexec {sys.executable} -m tests.bench.stand_in_peer\n")
    stand_in.chmod(0o700)
    command = [sys.executable, "-m", "bench.cpu", "--quick", "--json", str(output)]
    subprocess.run([*command, "--peer", f"stand_in={stand_in}"], cwd=ROOT, check=True, capture_output=True)
    _, rows = read(output)
    assert {row.name for row in rows} >= {
        "fp_product_portable",
        "fr_product_portable",
        "ntt",
        "stand_in_msm_g1",
        "py_arkworks_bls12381_msm_g2",
        "groth16_setup",
        "groth16_prove",
        "stand_in_groth16_prove",
        "digits_public_weights_setup",
        "digits_private_weights_prove",
        "digits_public_weights_verify",
    }
    assert "stand_in_ntt" not in {row.name for row in rows}
    for row in rows:
        assert row.median > 0
        assert 1 <= (row.threads or 0) <= usable_cores()
        assert (row.peer is None) == (row.ratio is None)
        assert row.name.startswith(row.peer or "")
        assert (row.peak_mb is not None) == row.name.startswith(("digits", "groth16"))
    proofs = [row for row in rows if row.name == "groth16_prove"]
    assert {row.more["scalars"] for row in proofs} == {"network", "dense"}
    for row in proofs:
        assert sum(row.more["stages"].values()) == pytest.approx(1)
        assert {"constraints", "quotient", "msm_b_g2"} <= row.more["stages"].keys()


@pytest.mark.parametrize(("group", "threads", "answer"), [("g1", 1, "error no"), ("g2", 2, "")])
def test_a_peer_that_fails_is_named(tmp_path: Path, group: str, threads: int, answer: str) -> None:
    program = tmp_path / "peer"
    program.write_text(f"#!/bin/sh\nread line\necho {answer}\n")
    program.chmod(0o700)
    with (
        started({"broken": str(program)}) as [peer],
        pytest.raises(RuntimeError, match="broken, asked for 'msm"),
    ):
        peer.msm(getattr(kernels, group), 8, threads)


def test_another_sum_stops_the_benchmark(tmp_path: Path) -> None:
    program = tmp_path / "peer"
    program.write_text("#!/bin/sh\nread line\necho 0.5 00\n")
    program.chmod(0o700)
    with (
        started({"wrong": str(program)}) as [peer],
        pytest.raises(AssertionError, match="wrong has another sum"),
    ):
        peer_msm(peer, kernels.g1, 8, 1, b"\1")


def test_every_row_of_the_segments_benchmark(tmp_path: Path) -> None:
    output = tmp_path / "rows.json"
    command = [sys.executable, "-m", "bench.segments", "--quick", "--json", str(output)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    _, rows = read(output)
    proving, verifying = rows[:4], rows[4:]
    assert [row.name for row in proving] == ["convolution_setup", "convolution_prove"] * 2
    names = ["verify_plain", "verify_linked", "verify_linked_batch"]
    assert [(row.name, row.more["scalars"]) for row in verifying] == [
        (name, scalars) for scalars in ("bytes", "random") for name in names
    ]
    assert {row.peer for row in verifying} == {"py_arkworks_bls12381"}
    assert all(row.median > 0 for row in rows)
