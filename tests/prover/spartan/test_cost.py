"""What is foretold of proofs, and what they take."""

from __future__ import annotations

import ctypes
from functools import partial

import pytest

from bench.large import NETS, SCHEMES
from bench.pages.performance import LARGE
from bench.pages.tables import rows
from bench.synthetic import random_statement, random_witness
from tests.prover.test_memory import ROWS, alone, forget_peak, status, system, witness
from zenserve.base.randomness import Secrets
from zenserve.prover.size import Size
from zenserve.prover.spartan import cost
from zenserve.prover.spartan.commitment import Linked, commit
from zenserve.prover.spartan.layout import best_code, rows_for, sizes_of
from zenserve.prover.spartan.proving import prove
from zenserve.verifier.spartan.admission import Commitment, shape_of
from zenserve.verifier.spartan.commitment import SEED_BYTES

THREADS = 2
_MMAP_THRESHOLD = -3


def measured(linked: bool) -> tuple[int, int]:
    """The peak of a proof over what was there before, its commitment made by it, and the formula's."""
    ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, 1 << 18)  # what is freed goes back, as that of large ones does
    circuit = system(segment=linked)
    size, z = Size.of(circuit), witness(circuit, dense=True)
    rows, values = rows_for(ROWS), z[3 : 3 + ROWS]
    make = partial(commit, values, rows.code, rows.tail, bytes(SEED_BYTES))
    with Secrets() as secret:
        root = make(secret=secret, held_bytes=0).root
    _prove_small()  # what is loaded once
    before = forget_peak()
    with Secrets() as secret:
        code, seed = rows.code if linked else best_code(circuit), bytes(SEED_BYTES)
        commitments = [Commitment(root, ROWS, rows.tail)] if linked else []
        shape = shape_of(sizes_of(circuit), code, commitments)
        links = [Linked(each.root, seed) for each in commitments]
        proof = prove(circuit, shape, z, linked=links, threads=THREADS)
    assert 0.9 * len(proof) < cost.proof_bytes(size) < 1.1 * len(proof)
    return status("VmHWM") - before, cost.memory(size)


def _prove_small() -> None:
    circuit = random_statement(8)
    shape = shape_of(sizes_of(circuit), best_code(circuit), [])
    prove(circuit, shape, random_witness(circuit, "network"), threads=THREADS)


@pytest.mark.parametrize("linked", [False, True])
def test_memory_is_what_the_formula_says(linked: bool) -> None:
    taken, formula = alone(measured, linked)
    assert 0.8 * taken < formula < 1.25 * taken


def test_memory_of_large_networks_was_foretold() -> None:
    """By the formula as it was when they were measured: its terms are those of large statements, too. What is
    foretold encodes the weights as it goes: ``first_mb``, which results from before do not have. Later proofs
    have their code words, which are kept."""
    networks = rows(LARGE, "Networks")
    assert {row.name for row in networks} == {f"{net}, {scheme}" for net in NETS for scheme in SCHEMES}
    for row in networks:
        proof, kept = row.more["proof_mb"], row.more["kept_mb"]
        first = row.more.get("first_mb", row.more["foretold_mb"])
        assert 0.9 * proof < row.more["foretold_mb"] < proof + kept, row.name
        assert 0.92 * first < row.more["foretold_mb"] < 1.1 * first, row.name
