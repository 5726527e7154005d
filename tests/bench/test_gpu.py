"""The GPU's benchmarks run, emulated where there is no device, and write the rows that others read."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bench.report import read
from tests.circuits.quantised import networks
from tests.gpu.emulator.place import EMULATED  # before anything of gpu is imported
from zenserve.prover import backends


@pytest.mark.large
def test_every_row_of_the_gpu_benchmark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bench import gpu

    if EMULATED:
        monkeypatch.setattr(backends, "_missing_gpu", lambda _: None)
    monkeypatch.setenv(backends.VARIABLE, "auto")  # what it sets lasts for this test
    output, stand_in = tmp_path / "rows.json", tmp_path / "peer"
    stand_in.write_text(f"#!/bin/sh\nexec {sys.executable} -m tests.bench.stand_in_peer\n")
    stand_in.chmod(0o700)
    gpu.main(["--quick", "--json", str(output), "--peer", f"stand_in={stand_in}"])
    _, rows = read(output)
    assert {row.name for row in rows} >= {
        *("fr_products", "fp_products", "fp2_products", "copy", "upload", "launch", "ntt", "quotient"),
        *("negacyclic_ntt_30", "negacyclic_ntt_62", "negacyclic_product_62", "msm_g1", "msm_g2"),
        *("stand_in_msm_g1", "stand_in_msm_g2", "fixed_base_g1", "fixed_base_g2", "sparse_product"),
        *("groth16_setup", "groth16_load_key", "groth16_prove", "groth16_prove_pipelined"),
    }
    assert {row.more["scalars"] for row in rows if row.name == "msm_g1"} == {"random", "network", "equal"}
    for row in rows:
        assert row.median > 0
        assert (row.peer is None) == (row.ratio is None)
        assert (row.floor is None) == ("bytes" not in row.more)
    [proof] = [row for row in rows if row.name == "groth16_prove"]
    assert sum(proof.more["stages"].values()) == pytest.approx(1)


@pytest.mark.large
def test_every_row_of_the_benchmark_of_convolutions(tmp_path: Path) -> None:
    """Networks take minutes to compile, emulated."""
    from bench import convolutions

    output = tmp_path / "rows.json"
    convolutions.main(["--quick", "--topics", "kernels", "fused", "--json", str(output)])
    _, rows = read(output)
    assert [(row.name, row.peer) for row in rows if row.peer in (None, "parts")] == [
        *((name, None) for name in ("w1a1", "w1a2", "w2a2", "w1a4", "w1a2")),
        ("parts_w1a2", "parts"),
    ]


@pytest.mark.large
def test_every_row_of_the_benchmark_of_witnesses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a network that is even smaller, and under the system whose keys take the least."""
    from bench import gpu_witness

    if EMULATED:
        monkeypatch.setattr(backends, "_missing_gpu", lambda _: None)
    monkeypatch.setenv(backends.VARIABLE, "auto")
    graph = networks.of_kinds(2, "conv", "max", shape=(2, 3, 3), most_bits=3)
    monkeypatch.setattr(gpu_witness, "_graph", lambda _: graph)
    monkeypatch.setattr(gpu_witness, "SYSTEMS", ("spartan",))
    for name in ("_floats", "_halves"):
        monkeypatch.setattr(gpu_witness, name, lambda *_: None)
    monkeypatch.setattr(gpu_witness, "FEWER", 150)
    monkeypatch.setattr(gpu_witness, "IN_TURN", 2)
    output = tmp_path / "rows.json"
    gpu_witness.main(["--quick", "--json", str(output)])
    _, rows = read(output)
    assert [(row.topic, row.peer) for row in rows] == [
        (title, peer)
        for title, *beside in (
            ("Witnesses", "processor"),
            ("One after the other", "two_threads"),
            ("Samples of an accuracy", "processor"),
            ("Samples of an accuracy", "alone"),
            ("All samples of a dataset",),
            ("Outputs of samples", "two_threads"),
            ("From an input to a proof", "processor"),
        )
        for peer in (None, *beside)
    ]
    assert rows[0].more["kernels"].keys() >= {"slide", "add_up", "digits", "inverse"}


@pytest.mark.large
def test_every_row_of_spartan_on_a_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bench import gpu_spartan

    if EMULATED:
        monkeypatch.setattr(backends, "_missing_gpu", lambda _: None)
    monkeypatch.setenv(backends.VARIABLE, "auto")  # what it sets lasts for this test
    output = tmp_path / "rows.json"
    gpu_spartan.main(["--quick", "--json", str(output)])
    _, rows = read(output)
    proofs = {row.name: row for row in rows if row.topic.startswith("Proofs")}
    assert set(proofs) == {"spartan_load", "spartan_alone", "spartan_prove", "groth16_prove"}
    assert {row.name for row in rows if row not in proofs.values()} >= {
        "ntt_batch",
        "merkle",
        "sumcheck_r1cs",
    }
    for row in rows:
        assert row.median > 0
        assert (row.peer is None) == (row.ratio is None)
