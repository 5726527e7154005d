"""Rows that are made when they are read are the same as rows that are kept."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from zenserve import kernels
from zenserve.circuits import compile_inference, quantise, zoo
from zenserve.circuits.r1cs.tiles import Made, Tile, held_bytes, keep
from zenserve.prover.blocks import ProductBlock


def test_kept_rows_are_the_same_and_made_no_more() -> None:
    qgraph = quantise(zoo.network("lenet-small"), zoo.calibration("lenet-small"))
    circuit, again = (compile_inference(qgraph, weight_privacy="private", level=2) for _ in range(2))
    tiles = [block for block in circuit.constraint_system.blocks if isinstance(block, Tile)]
    sizes = [held_bytes(tile.make()) for tile in tiles]
    assert len(tiles) > 3
    made: list[str] = []

    def counted(tile: Tile, make: Callable[[], Made]) -> Made:
        made.append(tile.name)
        return make()

    for tile in tiles:
        object.__setattr__(tile, "make", partial(counted, tile, tile.make))
    circuit.keep_matrices(sum(sizes[:2]))
    made.clear()
    z = circuit.witness(qgraph.quantise_input(zoo.calibration("lenet-small")[0]))
    expected = again.constraint_system.evaluate(z)
    assert all(
        np.array_equal(*pair) for pair in zip(circuit.constraint_system.evaluate(z), expected, strict=True)
    )
    assert len(made) == len(tiles) - 2
    assert circuit.constraint_system.digest == again.constraint_system.digest


def test_products_are_kept_as_indices() -> None:
    left, right, product = (np.arange(4) + shift for shift in (0, 1, 2))
    tile = Tile("test", 4, lambda: ProductBlock("test", left, right, product))
    keep([tile], 96)
    z = kernels.fr.from_ints(range(8))
    out = np.zeros((3, 4, 4), dtype=np.uint64)
    tile.evaluate(z, (out[0], out[1], out[2]))
    assert kernels.fr.to_ints(out[2]) == [2, 3, 4, 5]
    assert held_bytes(tile.make()) == 96
