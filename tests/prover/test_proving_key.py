"""The container, and proving keys in it."""

from __future__ import annotations

import hashlib
import os
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.prover.bad_points import flip
from tests.prover.statements import IDLE_Z, Example, idle_statement
from tests.refusals import refuses
from zenserve.base import container
from zenserve.errors import FileFormatError
from zenserve.kernels import fr, g1
from zenserve.prover import groth16
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.prover.groth16 import ProvingKey
from zenserve.verifier.preamble import PROVING_KEY, VERIFYING_KEY


@pytest.fixture
def saved(example: Example, tmp_path: Path) -> Path:
    path = tmp_path / "key"
    example.key.save(path)
    return path


def refusal(path: Path, data: bytes | None = None, **options: bool) -> FileFormatError:
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(FileFormatError) as error:
        ProvingKey.load(path, **options)
    return error.value


def with_hash(data: bytes) -> bytes:
    """``data`` as a forger would leave it: with the hash put right."""
    return data[:32] + hashlib.sha256(data[:32] + data[64:]).digest() + data[64:]


def test_a_key_survives_its_file(example: Example, saved: Path) -> None:
    loaded = ProvingKey.load(saved)
    assert loaded.verifying_key == example.verifying_key
    for field in fields(ProvingKey)[1:]:
        assert np.array_equal(getattr(loaded, field.name), getattr(example.key, field.name))
    proof = groth16.prove(loaded, example.system, example.witness)
    assert groth16.verify(example.verifying_key, example.public, proof)


def test_a_loaded_key_is_mapped_not_copied(saved: Path) -> None:
    loaded = ProvingKey.load(saved)
    for field in fields(ProvingKey)[1:]:
        array = getattr(loaded, field.name)
        assert not array.flags.owndata
        assert not array.flags.writeable
        assert array.ctypes.data % 64 == 0


def test_equal_keys_have_equal_files(example: Example, saved: Path, tmp_path: Path) -> None:
    ProvingKey.load(saved).save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == saved.read_bytes()


def test_a_key_without_private_variables_or_b(tmp_path: Path) -> None:
    key = groth16.setup(ConstraintSystem(1, 0, ()))
    key.save(tmp_path / "key")
    loaded = ProvingKey.load(tmp_path / "key")
    assert len(loaded.private) == len(loaded.b_columns) == 0


def test_variables_that_no_row_reads_take_no_points(tmp_path: Path) -> None:
    system = idle_statement()
    groth16.setup(system).save(tmp_path / "key")
    key = ProvingKey.load(tmp_path / "key")
    assert key.absent.tolist() == [3, 6, 8]
    assert (len(key.private), len(key.segments), len(key.knowledge)) == (1, 3, 3)
    for points in (key.a, key.b_g1, key.private, key.quotient, key.segments, key.knowledge):
        assert not g1.is_infinity(points).any()
    proof = groth16.prove(key, system, fr.from_ints(IDLE_Z))
    assert groth16.verify(key.verifying_key, [], proof)


def test_keys_need_no_multiples(example: Example, saved: Path) -> None:
    """Those of earlier releases have none."""
    arrays = {field.name: getattr(example.key, field.name) for field in fields(ProvingKey)}
    arrays["verifying_key"] = np.frombuffer(example.verifying_key.to_bytes(), dtype=np.uint8)
    assert len(arrays.pop("quotient_multiples")) == 3 * len(example.key.quotient)
    container.write(saved, PROVING_KEY, arrays)
    loaded = ProvingKey.load(saved)
    assert loaded.quotient_multiples.shape == (0, 2, 6)
    proof = groth16.prove(loaded, example.system, example.witness)
    assert groth16.verify(example.verifying_key, example.public, proof)


@pytest.mark.parametrize("absent", [[3, 6, 9], [6, 3, 8], [1, 6, 8], [6, 7, 8]])
def test_absent_variables_must_fit_the_points(absent: list[int], tmp_path: Path) -> None:
    key = groth16.setup(idle_statement())
    replace(key, absent=columns(*absent)).save(tmp_path / "key")
    assert refusal(tmp_path / "key").code == "file.shape"


def test_truncation_is_noticed_everywhere(saved: Path) -> None:
    data = saved.read_bytes()
    for length in [*range(0, 240), *range(240, len(data), 29), len(data) - 1]:
        assert refusal(saved, data[:length]).code == "file.length"
        assert refusal(saved, data[:length], check_hash=False).code == "file.length"


def test_extension_is_noticed(saved: Path) -> None:
    assert refusal(saved, saved.read_bytes() + b"\0").code == "file.length"


def test_flipped_bits_are_noticed_everywhere(saved: Path) -> None:
    data = saved.read_bytes()
    expected = {"file.magic": 8, "file.version": 4, "file.kind": 4}
    codes: list[str] = [
        refusal(saved, flip(data, position, 1 << position % 8)).code for position in range(32)
    ]
    assert {code: codes.count(code) for code in expected} == expected
    for position in [*range(32, 240), *range(240, len(data), 29)]:
        assert refusal(saved, flip(data, position, 1 << position % 8)).code == "file.hash"


def test_the_hash_may_be_skipped_for_a_file_that_was_checked_before(saved: Path) -> None:
    saved.write_bytes(flip(saved.read_bytes(), -1 % saved.stat().st_size, 1))
    assert isinstance(ProvingKey.load(saved, check_hash=False), ProvingKey)
    assert refusal(saved).code == "file.hash"


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"PK\x03\x04" * 100, bytes(4096)])
def test_foreign_files_are_refused(tmp_path: Path, content: bytes) -> None:
    error = refusal(tmp_path / "file", content)
    assert error.code == ("file.length" if len(content) < 16 else "file.magic")


def test_a_verifying_key_is_no_proving_key(example: Example, saved: Path) -> None:
    with refuses("file.kind"):
        groth16.VerifyingKey.from_bytes(saved.read_bytes())
    assert refusal(saved, example.verifying_key.to_bytes()).code == "file.kind"


def test_a_missing_file_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        ProvingKey.load(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"a_columns"', b'"b_columns"'),
        (b'"b_g1"', b'"a_g1"'),
        (b"{", b"["),
        (b'"beta_g1": 1', b'"beta_g1":-1'),
        (b'"beta_g1": 1', b'"beta_g1":1.'),
        (b'"beta_g1": 1', b'"beta_g1": 9'),
        (b'"quotient": 8', b'"quotient": 7'),
        (b'"quotient": 8', b'"quotient":99'),
        (b'"verifying_key"', b'"verifying_kez"'),
    ],
)
def test_a_header_that_lies_is_refused_even_with_a_right_hash(saved: Path, old: bytes, new: bytes) -> None:
    prefix, rest = saved.read_bytes()[:64], saved.read_bytes()[64:]
    assert old in rest
    assert len(old) == len(new)
    error = refusal(saved, with_hash(prefix + rest.replace(old, new, 1)))
    assert error.code == "file.header"


@pytest.mark.parametrize("length", [0, 1, 2**20 + 1, 2**63])
def test_an_implausible_header_length_is_refused(saved: Path, length: int) -> None:
    data = saved.read_bytes()
    changed = with_hash(data[:16] + length.to_bytes(8, "little") + data[24:])
    assert refusal(saved, changed).code == "file.header"


def test_a_header_of_brackets_is_refused(saved: Path) -> None:
    header = b"[" * (1 << 19)
    sizes = len(header).to_bytes(8, "little") + (64 + len(header)).to_bytes(8, "little")
    data = saved.read_bytes()[:16] + sizes + bytes(32) + header
    assert refusal(saved, with_hash(data)).code == "file.header"


def columns(*values: int) -> Any:
    return np.array(values, dtype=np.uint32)


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("beta_g1", lambda key: np.concatenate([key.beta_g1, key.beta_g1])),
        ("delta_g1", lambda key: key.delta_g1[:0]),
        ("a_columns", lambda key: key.a_columns[:-1]),
        ("a_columns", lambda key: key.a_columns[::-1]),
        ("a_columns", lambda key: columns(*key.a_columns[:-1], 6)),
        ("a_columns", lambda key: columns(*key.a_columns[:-1], key.a_columns[-2])),
        ("b_columns", lambda key: columns(*key.b_columns, 5)),
        ("quotient", lambda key: key.quotient[:-1]),
        ("quotient", lambda key: key.quotient[:2]),
        ("quotient", lambda key: key.quotient[:0]),
        ("quotient_multiples", lambda key: key.quotient),
    ],
)
def test_shapes_that_do_not_fit_are_refused(
    example: Example, tmp_path: Path, field: str, change: Any
) -> None:
    replace(example.key, **{field: change(example.key)}).save(tmp_path / "key")
    error = refusal(tmp_path / "key")
    assert (error.code, error.field) == ("file.shape", field)


def test_a_bad_verifying_key_inside_is_refused(example: Example, tmp_path: Path) -> None:
    arrays = {field.name: getattr(example.key, field.name) for field in fields(ProvingKey)}
    inner = example.verifying_key.to_bytes()
    arrays["verifying_key"] = np.frombuffer(inner[:80] + bytes(48) + inner[128:], dtype=np.uint8)
    container.write(tmp_path / "key", PROVING_KEY, arrays)
    assert refusal(tmp_path / "key").code == "file.point_encoding"


def test_saving_is_atomic(example: Example, saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = saved.read_bytes()

    def fail(*_: object) -> None:
        raise OSError("disk full")

    for name in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, fail)
            with pytest.raises(OSError, match="disk full"):
                groth16.setup(example.system).save(saved)
        assert saved.read_bytes() == before
        assert os.listdir(saved.parent) == [saved.name]


def test_saving_over_a_key_in_use_leaves_it_whole(example: Example, saved: Path) -> None:
    in_use = ProvingKey.load(saved)
    groth16.setup(example.system).save(saved)
    proof = groth16.prove(in_use, example.system, example.witness)
    assert groth16.verify(example.verifying_key, example.public, proof)
    assert ProvingKey.load(saved).verifying_key != example.verifying_key


def test_sections_keep_order_type_and_shape(tmp_path: Path) -> None:
    arrays: dict[str, NDArray[Any]] = {
        "empty": np.zeros((0, 3), dtype=np.uint64),
        "bytes": np.arange(7, dtype=np.uint8),
        "grid": np.arange(12, dtype=np.uint32).reshape(2, 2, 3),
    }
    sections = {
        "empty": container.Section("<u8", (3,)),
        "bytes": container.Section("|u1"),
        "grid": container.Section("<u4", (2, 3)),
    }
    container.write(tmp_path / "file", VERIFYING_KEY, arrays)
    read = container.read(tmp_path / "file", VERIFYING_KEY, sections)
    assert list(read) == list(arrays)
    for name, array in arrays.items():
        assert read[name].dtype == array.dtype
        assert np.array_equal(read[name], array)
