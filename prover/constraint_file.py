"""Statements as files, so that a ceremony for one can be verified by anyone (docs/ceremony.md).

A file keeps what ``ConstraintSystem.digest`` covers, the names of blocks and segments, not ``layout``;
and what the
statement means, in words of whoever made it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from zenserve.base import container
from zenserve.base.container import Section
from zenserve.errors import FileFormatError
from zenserve.kernels import fr
from zenserve.prover.blocks import Csr, SparseBlock
from zenserve.prover.constraint_system import ConstraintSystem, Segment
from zenserve.verifier.document import parse_json
from zenserve.verifier.preamble import STATEMENT

_SCALAR_BYTES: Final = 32
# Variables that no row reads take no bytes, so a small file may claim many: not more than so many, or than
# there are entries.
_MOST_UNREAD: Final = 1 << 16
_SECTIONS: Final = {
    "counts": Section("<u8"),
    "segments": Section("<u4", (2,)),
    "names": Section("|u1"),
    "shapes": Section("<u8", (3,)),
    "offsets": Section("<i8"),
    "columns": Section("<u4"),
    "coefficients": Section("<u4"),
    "pool": Section("|u1", (_SCALAR_BYTES,)),
    "description": Section("|u1"),
}


def save_statement(
    path: str | os.PathLike[str], system: ConstraintSystem, description: Mapping[str, Any] | None = None
) -> None:
    """Write ``system`` to ``path``, atomically, with what it means, JSON-able.

    Raises ``StatementError`` where its blocks do not fit.
    """
    matrices = [matrix for _, block in system.matrices() for matrix in block]
    pool = b"".join(
        (value % fr.modulus).to_bytes(_SCALAR_BYTES, "little") for matrix in matrices for value in matrix.pool
    )
    counts = [system.public, system.challenges, system.private, system.folded]
    names = {
        "segments": [segment.name for segment in system.segments],
        "blocks": [block.name for block in system.blocks],
    }
    container.write(
        path,
        STATEMENT,
        {
            "counts": np.array(counts if system.folded else counts[:3], np.uint64),
            "segments": np.array([(s.size, s.linked) for s in system.segments], np.uint32).reshape(-1, 2),
            "names": np.frombuffer(json.dumps(names).encode(), np.uint8),
            "shapes": np.array([(m.rows, len(m.columns), len(m.pool)) for m in matrices], np.uint64).reshape(
                -1, 3
            ),
            "offsets": _joined([matrix.offsets for matrix in matrices], np.int64),
            "columns": _joined([matrix.columns for matrix in matrices], np.uint32),
            "coefficients": _joined([matrix.coefficients for matrix in matrices], np.uint32),
            "pool": np.frombuffer(pool, np.uint8).reshape(-1, _SCALAR_BYTES),
            "description": np.frombuffer(json.dumps(description).encode(), np.uint8),
        },
    )


def load_statement(path: str | os.PathLike[str]) -> ConstraintSystem:
    """The statement in the file at ``path``, validated like any other.

    Raises ``FileFormatError`` (``file.*``), ``StatementError`` where blocks do not fit or a check on a
    challenge could be dodged.
    """
    arrays: dict[str, Any] = container.read(path, STATEMENT, _SECTIONS)
    _require("counts", len(arrays["counts"]) in (3, 4) and bool((arrays["counts"] < 1 << 32).all()))
    _require("segments", bool((arrays["segments"][:, 1] <= 1).all()))
    _description(arrays)
    public, challenges, private, *folded = arrays["counts"].tolist()
    _require("counts", (all(folded) and challenges > len(folded)) or not folded)
    segment_names, block_names = _names(arrays["names"].tobytes())
    _require("names", len(segment_names) == len(arrays["segments"]))
    matrices = list(_matrices(arrays))
    _require("shapes", len(matrices) == 3 * len(block_names))
    blocks = tuple(
        SparseBlock(name, *matrices[3 * index : 3 * index + 3]) for index, name in enumerate(block_names)
    )
    segments = tuple(
        Segment(name, size, bool(linked))
        for name, (size, linked) in zip(segment_names, arrays["segments"].tolist(), strict=True)
    )
    variables = 1 + public + challenges + private + sum(segment.size + 1 for segment in segments)
    columns = arrays["columns"]
    _require("counts", variables <= _MOST_UNREAD + len(columns))
    _require("columns", len(columns) == 0 or int(columns.max()) < variables)
    system = ConstraintSystem(public, private, blocks, challenges, segments, folded=sum(folded))
    for _ in system.matrices():
        pass
    return system


def load_description(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """Return the statement's description in the file at ``path``. Raises ``FileFormatError`` (``file.*``)."""
    return _description(container.read(path, STATEMENT, _SECTIONS))


def _description(arrays: dict[str, NDArray[Any]]) -> dict[str, Any] | None:
    text = arrays["description"].tobytes()
    description = _parsed(text)
    _require("description", isinstance(description, dict) or text == b"null")
    return description  # type: ignore[no-any-return]


def _matrices(arrays: dict[str, NDArray[Any]]) -> Iterator[Csr]:
    offsets, columns, coefficients = arrays["offsets"], arrays["columns"], arrays["coefficients"]
    ends = {"offsets": 0, "entries": 0, "pool": 0}

    def take(name: str, section: str, count: int) -> slice:
        start = ends[name]
        ends[name] += count
        _require(section, ends[name] <= len(arrays[section]))
        return slice(start, ends[name])

    for rows, entries, constants in arrays["shapes"].tolist():
        here = offsets[take("offsets", "offsets", rows + 1)]
        part = take("entries", "columns", entries)
        pool = arrays["pool"][take("pool", "pool", constants)]
        _require("offsets", here[0] == 0 and here[-1] == entries and bool((np.diff(here) >= 0).all()))
        _require("coefficients", len(coefficients) == len(columns))
        _require("coefficients", bool((coefficients[part] < constants).all()))
        values = tuple(int.from_bytes(value.tobytes(), "little") for value in pool)
        _require("pool", all(value < fr.modulus for value in values))
        yield Csr(here, columns[part], coefficients[part], values)
    for name, section in (("offsets", "offsets"), ("entries", "columns"), ("pool", "pool")):
        _require(section, ends[name] == len(arrays[section]))


def _names(data: bytes) -> tuple[list[str], list[str]]:
    document = _parsed(data)
    lists = document if isinstance(document, dict) else {}
    return _texts(lists.get("segments")), _texts(lists.get("blocks"))


def _parsed(data: bytes) -> Any:
    try:
        return parse_json(data)
    except ValueError:
        return None


def _texts(names: Any) -> list[str]:
    _require("names", isinstance(names, list) and all(isinstance(name, str) for name in names))
    return list(names)


def _joined(parts: list[NDArray[Any]], dtype: type[np.generic]) -> NDArray[Any]:
    return np.concatenate([np.zeros(0, dtype), *parts])


def _require(section: str, holds: bool) -> None:
    if not holds:
        raise FileFormatError(
            "file.shape", f"{section} does not fit the rest of the statement", field=section
        )
