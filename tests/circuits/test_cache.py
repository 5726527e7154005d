from __future__ import annotations

import os
import threading
from pathlib import Path

import onnx
import pytest

from zenserve.circuits import cache


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ZENSERVE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


KEY = cache.key_of(b"what", b"it depends on")


def test_what_was_saved_is_found_again(folder: Path) -> None:
    assert cache.load(KEY) is None
    cache.save(KEY, {"constraints": 12})
    assert cache.load(KEY) == {"constraints": 12}
    assert [path.name for path in folder.iterdir()] == [f"{KEY}.json"]
    assert folder.stat().st_mode & 0o077 == 0


def test_keys_tell_parts_apart() -> None:
    assert len({cache.key_of(b"ab", b"c"), cache.key_of(b"a", b"bc"), cache.key_of(b"abc")}) == 3


@pytest.mark.parametrize("position", [0, 10, 64, 65, 70, -1])
def test_a_corrupt_entry_is_no_entry_and_is_written_anew(folder: Path, position: int) -> None:
    cache.save(KEY, {"constraints": 12})
    path = folder / f"{KEY}.json"
    whole = path.read_bytes()
    data = bytearray(whole)
    data[position] ^= 0x80
    for damaged in (bytes(data), whole[:position], b""):
        path.write_bytes(damaged)
        assert cache.load(KEY) is None
    cache.save(KEY, {"constraints": 13})
    assert cache.load(KEY) == {"constraints": 13}


def test_the_oldest_entries_go_first_and_reading_keeps_one_young(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = [cache.key_of(bytes([i])) for i in range(4)]
    for age, key in enumerate(keys[:3]):
        cache.save(key, {"text": "x" * 1000})
        os.utime(folder / f"{key}.json", (age, age))
    cache.load(keys[0])
    monkeypatch.setattr(cache, "MOST_BYTES", 3500)
    cache.save(keys[3], {"text": "x" * 1000})
    assert [cache.load(key) is not None for key in keys] == [True, False, True, True]


def test_writers_at_once_leave_a_whole_entry() -> None:
    def write(value: int) -> None:
        for _ in range(20):
            cache.save(KEY, {"value": [value] * 1000})

    writers = [threading.Thread(target=write, args=(value,)) for value in range(4)]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        found = cache.load(KEY)
        assert found is None or len(set(found["value"])) == 1
    assert cache.load(KEY) is not None


def test_a_folder_that_cannot_be_written_to_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("ZENSERVE_CACHE", str(tmp_path / "file" / "cache"))
    cache.save(KEY, {})
    assert cache.load(KEY) is None


def test_a_package_is_known_by_its_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fingerprint = cache.fingerprint.__wrapped__
    version = fingerprint("circuits", "prover")
    assert version == fingerprint("circuits", "prover") != fingerprint("circuits")
    (tmp_path / "circuits").mkdir()
    (tmp_path / "circuits" / "gadgets.py").write_text("ROWS = 3\n")
    monkeypatch.setattr(cache, "_ROOT", tmp_path)
    first = fingerprint("circuits")
    (tmp_path / "circuits" / "gadgets.py").write_text("ROWS = 2\n")
    assert len({version, first, fingerprint("circuits")}) == 3


@pytest.mark.parametrize("length", [5, 200])
def test_a_model_is_known_by_the_files_that_hold_its_tensors_too(tmp_path: Path, length: int) -> None:
    location = f"{'w' * (length - 4)}.bin"
    tensor = onnx.TensorProto(name="w", data_type=onnx.TensorProto.FLOAT, dims=[2])
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=location)
    graph = onnx.GraphProto(initializer=[tensor])
    (tmp_path / "m.onnx").write_bytes(onnx.ModelProto(graph=graph).SerializeToString())

    def key() -> str:
        return cache.key_of(*cache.model_parts(tmp_path / "m.onnx"))

    keys = {key()}
    for content in (b"12345678", b"12345679"):
        (tmp_path / location).write_bytes(content)
        keys.add(key())
    assert len(keys) == 3


def test_a_model_cannot_have_files_read_that_are_not_beside_it(tmp_path: Path) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    (tmp_path / "secret").write_bytes(b"1")
    os.mkfifo(folder / "pipe")
    for location in (b"../secret", b"/dev/zero", b"pipe", b"", b"a\0b"):
        data = b"\x0a\x08location\x12" + bytes([len(location)]) + location
        (folder / "m.onnx").write_bytes(data)
        assert list(cache.model_parts(folder / "m.onnx")) == [data]
