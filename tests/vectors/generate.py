"""Writes documents/: those of every scheme, valid and invalid, with the verdict on each (docs/vectors.md).

    python -m tests.vectors.generate

Seeded: the same bytes each time. Where a statement lies, its proof is made for the lie wherever a prover
could, so that nothing but the check in question stands between the document and a verdict that it is valid.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.vectors import (
    accuracy,
    balls,
    ceremonies,
    certified,
    files,
    handing,
    honest,
    intervals,
    measures,
    outputs,
    pins,
    receipts,
    robustness,
    saturating,
    several,
    several_accuracy,
    statements,
    transparent,
    transparent_accuracy,
)
from tests.vectors.cases import FOLDER
from tests.vectors.world import World
from tests.vectors.writing import Vectors, seeded

SEED = 20261122


def write(folder: Path = FOLDER) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    vectors, world = Vectors(folder), World()
    with seeded(SEED):
        parts = (honest, statements, accuracy, files, receipts, pins, ceremonies, outputs, several, measures)
        more = intervals, transparent, saturating, handing, robustness, certified, balls, transparent_accuracy
        for part in (*parts, *more):
            part.write(vectors, world)
    # Of a seed of its own: what comes later leaves all before as it is.
    with seeded(SEED + 1):
        several_accuracy.write(vectors, World())
    vectors.write_index("python -m tests.vectors.generate")


if __name__ == "__main__":
    write()
