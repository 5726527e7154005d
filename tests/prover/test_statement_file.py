"""Statements as files: what goes in comes out, and what is no statement stays out."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from tests.prover.statements import R, committed_statement, csr, cubic_statement, satisfied
from tests.refusals import refuses
from zenserve.base import container
from zenserve.errors import FileFormatError, StatementError, ZenError
from zenserve.kernels import fr
from zenserve.prover.blocks import ProductBlock, SparseBlock
from zenserve.prover.constraint_file import _SECTIONS, load_description, load_statement, save_statement
from zenserve.prover.constraint_system import ConstraintSystem, Segment
from zenserve.verifier.preamble import STATEMENT


def through_file(system: ConstraintSystem, path: Path) -> ConstraintSystem:
    save_statement(path, system)
    return load_statement(path)


@pytest.mark.parametrize("system", [cubic_statement(), committed_statement(), ConstraintSystem(0, 0, ())])
def test_a_statement_survives_its_file(system: ConstraintSystem, tmp_path: Path) -> None:
    again = through_file(system, tmp_path / "s")
    assert again.digest == system.digest
    assert again.segments == system.segments
    assert [block.name for block in again.blocks] == [block.name for block in system.blocks]


def test_any_statement_survives(tmp_path: Path) -> None:
    @settings(max_examples=30)
    @given(satisfied())
    def check(case: tuple[ConstraintSystem, list[int]]) -> None:
        system, z = case
        again = through_file(system, tmp_path / "s")
        assert again.digest == system.digest
        values = fr.from_ints(z)
        for ours, theirs in zip(system.evaluate(values), again.evaluate(values), strict=True):
            np.testing.assert_array_equal(ours, theirs)

    check()


def test_names_of_any_language_and_none(tmp_path: Path) -> None:
    one = csr([{0: 1}])
    blocks = tuple(SparseBlock(name, one, one, one) for name in ("", 'a"\n', "Schicht Ω"))
    again = through_file(ConstraintSystem(0, 0, blocks, segments=(Segment("模型", 0),)), tmp_path / "s")
    assert [block.name for block in again.blocks] == ["", 'a"\n', "Schicht Ω"]
    assert again.segments[0].name == "模型"


def arrays_of(system: ConstraintSystem, path: Path) -> dict[str, Any]:
    save_statement(path, system)
    return {name: array.copy() for name, array in container.read(path, STATEMENT, _SECTIONS).items()}


def refused(arrays: dict[str, Any], path: Path, code: str = "file.shape") -> ZenError:
    container.write(path, STATEMENT, arrays)
    with refuses(code) as error:
        load_statement(path)
    return error.value


@pytest.mark.parametrize("section", [*_SECTIONS])
def test_sections_that_are_too_short_or_long_are_refused(section: str, tmp_path: Path) -> None:
    arrays = arrays_of(committed_statement(), tmp_path / "s")
    for other in (arrays[section][:-1], np.concatenate([arrays[section], arrays[section][-1:]])):
        refused(arrays | {section: other}, tmp_path / "s")


@pytest.mark.parametrize(
    ("section", "index", "value"),
    [
        ("counts", 0, 1 << 32),
        ("counts", 2, (1 << 32) - 1),
        ("segments", (0, 1), 2),
        ("shapes", (0, 0), 1 << 40),
        ("shapes", (0, 1), 1 << 63),
        ("shapes", (1, 2), 0),
        ("offsets", 0, 1),
        ("offsets", 1, -1),
        ("offsets", 1, 1 << 40),
        ("columns", 0, 13),
        ("columns", 0, 2**32 - 1),
        ("coefficients", 0, 1),
        ("pool", (0, slice(None)), 255),
    ],
)
def test_numbers_out_of_range_are_refused(section: str, index: Any, value: int, tmp_path: Path) -> None:
    arrays = arrays_of(committed_statement(), tmp_path / "s")
    arrays[section][index] = value
    assert isinstance(refused(arrays, tmp_path / "s"), FileFormatError)


@pytest.mark.parametrize("names", [b"", b"[]", b"{}", b'{"segments": [1], "blocks": []}', b"[" * 10_000])
def test_names_that_are_no_names_are_refused(names: bytes, tmp_path: Path) -> None:
    arrays = arrays_of(cubic_statement(), tmp_path / "s")
    refused(arrays | {"names": np.frombuffer(names, np.uint8)}, tmp_path / "s")


def test_a_check_that_could_be_dodged_is_refused_from_a_file_too(tmp_path: Path) -> None:
    """The products lose their segment: a prover could choose them once the challenge is known."""
    arrays = arrays_of(committed_statement(), tmp_path / "s")
    whole = arrays["segments"].copy()
    arrays["segments"] = whole[:2]
    arrays["counts"] = np.array([1, 1, 5], np.uint64)
    names = b'{"segments": ["model", "input"], "blocks": ["weighted", "product", "sum"]}'
    arrays["names"] = np.frombuffer(names, np.uint8)
    error = refused(arrays, tmp_path / "s", "statement.adaptive")
    assert isinstance(error, StatementError)


def test_a_row_that_reads_what_blinds_a_segment_is_refused(tmp_path: Path) -> None:
    block = ProductBlock("p", np.array([1]), np.array([1]), np.array([1]))
    arrays = arrays_of(ConstraintSystem(1, 0, (block,), segments=(Segment("s", 1),)), tmp_path / "s")
    arrays["columns"][0] = 3
    refused(arrays, tmp_path / "s", "statement.blinding")


def test_large_and_negative_coefficients(tmp_path: Path) -> None:
    values = [-1, -(2**63), R - 1, R - 2, 2**254, 1]
    row = csr([dict(enumerate(values))])
    system = ConstraintSystem(0, len(values) - 1, (SparseBlock("b", row, row, row),))
    again = through_file(system, tmp_path / "s")
    assert again.digest == system.digest
    assert all(0 <= value < R for _, block in again.matrices() for m in block for value in m.pool)


def test_what_a_statement_means_goes_along(tmp_path: Path) -> None:
    path, meaning = tmp_path / "s", {"scheme": "inference", "name": "Ω", "scale": 0.5}
    save_statement(path, cubic_statement(), meaning)
    assert load_description(path) == meaning
    assert load_statement(path).digest == cubic_statement().digest
    save_statement(path, cubic_statement())
    assert load_description(path) is None
    for text in (b"[]", b"1", b"{", b""):
        arrays = arrays_of(cubic_statement(), path) | {"description": np.frombuffer(text, np.uint8)}
        container.write(path, STATEMENT, arrays)
        with pytest.raises(FileFormatError) as refused:
            load_description(path)
        assert refused.value.field == "description"


def test_a_few_bytes_cannot_claim_many_variables(tmp_path: Path) -> None:
    """Such a file of 384 bytes took 1.3 GiB and 18 seconds."""
    path = tmp_path / "s"
    arrays = arrays_of(committed_statement(), path)
    arrays["counts"][2] = 1 << 27
    container.write(path, STATEMENT, arrays)
    tracemalloc.start()
    try:
        with pytest.raises(FileFormatError) as refused:
            load_statement(path)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
    assert (refused.value.code, refused.value.field) == ("file.shape", "counts")
