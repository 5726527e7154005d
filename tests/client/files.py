"""The files that a verifier is given."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from zenserve.verifier.datasets import LabelledData
from zenserve.verifier.fields import Document, canonical


def write(folder: Path, **documents: Document) -> None:
    """``{name}.json`` for each."""
    for name, document in documents.items():
        (folder / f"{name}.json").write_bytes(canonical(document))


def write_data(folder: Path, data: LabelledData) -> None:
    np.savez(folder / "data.npz", samples=data.samples, labels=data.labels)
