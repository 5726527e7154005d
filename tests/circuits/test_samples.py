"""Inputs and labels from files of all kinds."""

from __future__ import annotations

import json
import zlib
from io import BytesIO
from pathlib import Path
from struct import pack
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.refusals import refuses
from zenserve.circuits import samples
from zenserve.circuits.samples.pictures import Scaling

ONE = {"x": (2, 2)}
TWO = {"a": (2,), "b": (1, 3)}
VALUES = np.arange(8.0).reshape(2, 2, 2)


def npz(**arrays: Any) -> bytes:
    out = BytesIO()
    np.savez_compressed(out, **arrays)
    return out.getvalue()


def text(*rows: str) -> bytes:
    return "\n".join(rows).encode()


SAME = {
    ".npy": samples.to_npy(VALUES),
    ".npz": npz(x=VALUES),
    ".npz, any name": npz(images=VALUES),
    "JSON": json.dumps(VALUES.tolist()).encode(),
    "JSON by name": json.dumps({"x": VALUES.tolist()}).encode(),
    "EZKL": b'{"input_data": [[0, 1, 2, 3, 4, 5, 6, 7]], "output_data": [[1]]}',
    "EZKL, nested": b'{"input_data": [[[0, 1, 2, 3], [4, 5, 6, 7]]]}',
    "EZKL, more lists than inputs": b'{"input_data": [[0, 1, 2, 3, 4, 5, 6, 7], [1.5]]}',
    "CSV": text("0,1,2,3", "4,5,6,7", ""),
    "CSV with names": text("a,b,c,d", "0, 1, 2, 3", "", "4,5,6,7e0"),
    "CSV of a spreadsheet": b"\xef\xbb\xbf" + text("a;b;c;d", '0;1;2;"3"', "4;5;6;7").replace(b"\n", b"\r\n"),
}


@pytest.mark.parametrize("kind", SAME)
def test_the_same_samples_from_every_kind_of_file(kind: str) -> None:
    read = samples.parse(SAME[kind], ONE, "calibration")
    assert read.labels is None
    np.testing.assert_array_equal(read.inputs["x"], VALUES)


def test_several_inputs_go_by_their_names_or_their_order() -> None:
    a, b = np.arange(4.0).reshape(2, 2), np.arange(6.0).reshape(2, 1, 3)
    for data in (
        npz(b=b, a=a),
        json.dumps({"b": b.tolist(), "a": a.tolist()}).encode(),
        json.dumps({"input_data": [a.ravel().tolist(), b.ravel().tolist()]}).encode(),
        text("0,1,0,1,2", "2,3,3,4,5"),
    ):
        read = samples.parse(data, TWO, "input").inputs
        assert list(read) == ["a", "b"]
        np.testing.assert_array_equal(read["a"], a)
        np.testing.assert_array_equal(read["b"], b)
    assert samples.parse(npz(a=a, b=b), TWO, "input").as_json() == {"a": a.tolist(), "b": b.tolist()}


def test_booleans_are_numbers_and_integers_stay_integers() -> None:
    read = samples.parse(b'{"input_data": [[true, false], [1, 2, 3]]}', TWO, "input").inputs
    assert [array.dtype for array in read.values()] == [np.int64, np.int64]
    assert read["a"].tolist() == [[1, 0]]


LABELLED = {
    "a column called label": (text("a,label,b,c,d", "0,2,1,2,3", "4,0,5,6,7"), None, [2, 0]),
    "a column that is named": (text("a,b,c,d,class", "0,1,2,3,dog", "4,5,6,7,cat"), "class", [1, 0]),
    "values": (text("a,b,c,d,price", "0,1,2,3,0.5", "4,5,6,7,-1"), "price", [0.5, -1]),
    "an array beside": (npz(samples=VALUES, labels=[1, 0]), None, [1, 0]),
}


@pytest.mark.parametrize("kind", LABELLED)
def test_labels_come_along(kind: str) -> None:
    data, column, labels = LABELLED[kind]
    read = samples.parse(data, ONE, "calibration", column=column)
    np.testing.assert_array_equal(read.inputs["x"], VALUES)
    assert read.labels is not None
    assert read.labels.tolist() == labels
    again = samples.parse(read.to_npz(), ONE, "calibration")
    assert again.labels is not None
    assert (again.inputs["x"].tolist(), again.labels.tolist()) == (VALUES.tolist(), labels)
    assert again.to_npz() == read.to_npz()


@pytest.mark.parametrize(
    "data",
    [b"[2, 0]", samples.to_npy(np.array([2, 0])), b"2\n0\n", text("label", "2", "0"), npz(labels=[2, 0])],
)
def test_labels_in_a_file_of_their_own(data: bytes) -> None:
    assert samples.parse_labels(data, "labels").tolist() == [2, 0]


REFUSED = {
    "a word": (text("a,b,c,d", "0,1,2,3", "4,5,six,7"), "input.not_numeric", "row 3, column 'c'"),
    "an empty cell": (text("0,1,2,3", "4,,6,7"), "input.not_numeric", "row 2, column 2"),
    "not a number": (text("0,1,2,nan"), "input.not_finite", "row 1, column 4"),
    "a short row": (text("a,b,c,d", "0,1,2"), "input.shape", "row 2 has 3 cells"),
    "another width": (text("a,b,c,label", "0,1,2,3"), "input.shape", "3 values beside the label"),
    "names alone": (text("a,b,c,d"), "input.unreadable", "no row below the line of names"),
    "quotes without end": (text('0,1,2,"3'), "input.unreadable", "line 1"),
    "nothing": (b"", "input.unreadable", "it is empty"),
    "other text": (b"\xff\xfe0,1", "input.unreadable", "CSV"),
    "a ragged list": (b"[[1, 2], [3]]", "input.not_numeric", "rectangular"),
    "null": (b'{"input_data": [[1, 2, 3, null]]}', "input.not_numeric", "x must be"),
    "a broken list": (b"[1, 2", "input.unreadable", "JSON"),
    "three values of four": (b'{"input_data": [[1, 2, 3]]}', "input.shape", "takes 4"),
    "other names": (b'{"y": [1], "z": [2]}', "input.unreadable", "'y', 'z'"),
    "no zip": (b"PK\x03\x04", "input.unreadable", "npz"),
    "a pickle": (npz(x=np.array([{}], dtype=object)), "input.unreadable", "npz"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_wrong_is_named(case: str) -> None:
    data, code, told = REFUSED[case]
    with refuses(code, "calibration", match=told):
        samples.parse(data, ONE, "calibration")


def test_a_cell_is_never_quoted() -> None:
    with refuses("input.not_numeric", "input", match="row 2") as refusal:
        samples.parse(text("1,2,3,4", "5,secret,3,4"), ONE, "input")
    assert "secret" not in refusal.value.message


def test_a_column_that_is_not_there_is_told_with_those_that_are() -> None:
    with refuses("input.unreadable", "calibration", match="'a', 'b'"):
        samples.parse(text("a,b", "1,2"), ONE, "calibration", column="class")


class TestPictures:
    RAMP = np.arange(12, dtype=np.uint8).reshape(2, 2, 3) * 20

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        for label in ("cat", "dog"):
            (tmp_path / label).mkdir()
        Image.fromarray(self.RAMP).save(tmp_path / "dog" / "1.png")
        Image.fromarray(self.RAMP).save(tmp_path / "cat" / "2.PNG", format="PNG")
        Image.fromarray(self.RAMP).save(tmp_path / "cat" / "1.jpeg")
        (tmp_path / "cat" / "notes.txt").write_text("no picture")
        (tmp_path / "cat" / ".1.png").write_text("no picture")
        return tmp_path

    def test_folders_are_labels(self, folder: Path) -> None:
        read = samples.read(folder, {"x": (3, 2, 2)}, "calibration")
        assert read.labels is not None
        assert (read.inputs["x"].shape, read.labels.tolist()) == ((3, 3, 2, 2), [0, 0, 1])
        np.testing.assert_allclose(read.inputs["x"][2], np.moveaxis(self.RAMP, -1, 0) / 255)

    def test_folders_called_by_numbers_are_these(self, folder: Path) -> None:
        (folder / "cat").rename(folder / "10")
        (folder / "dog").rename(folder / "9")
        read = samples.read(folder, {"x": (3, 2, 2)}, "calibration")
        assert read.labels is not None
        assert read.labels.tolist() == [10, 10, 9]

    def test_a_file_or_a_folder_without_folders_has_no_labels(self, folder: Path) -> None:
        for path, size in ((folder / "dog", 1), (folder / "cat", 2), (folder / "dog" / "1.png", 1)):
            read = samples.read(path, {"x": (3, 2, 2)}, "input")
            assert (len(read.inputs["x"]), read.labels) == (size, None)

    @pytest.mark.parametrize("shape", [(2, 2, 3), (3, 2, 2), (2, 2), (1, 2, 2), (3, 4, 4)])
    def test_the_network_says_what_shape_they_take(self, folder: Path, shape: tuple[int, ...]) -> None:
        read = samples.read(folder / "dog" / "1.png", {"x": shape}, "input").inputs["x"][0]
        assert read.shape == shape
        if shape == (2, 2, 3):
            np.testing.assert_allclose(read, self.RAMP / 255)
        grey = (self.RAMP @ [299, 587, 114] / 1000).round() / 255
        if len(read.ravel()) == 4:
            np.testing.assert_allclose(read.reshape(2, 2), grey, atol=0.5 / 255)

    def test_mean_and_standard_deviation_of_each_channel(self, folder: Path) -> None:
        scaling = Scaling([0.5, 0.25, 0], [0.5])
        read = samples.read(folder / "dog" / "1.png", {"x": (3, 2, 2)}, "input", scaling=scaling)
        wanted = (np.moveaxis(self.RAMP, -1, 0) / 255 - np.reshape([0.5, 0.25, 0], (3, 1, 1))) / 0.5
        np.testing.assert_allclose(read.inputs["x"][0], wanted)
        with refuses("input.shape", "mean", match="3 channels"):
            samples.read(
                folder / "dog" / "1.png", {"x": (3, 2, 2)}, "input", scaling=Scaling([0.1, 0.2], [1])
            )
        with refuses("input.not_finite", "std"):
            Scaling([0], [1, 0])

    def test_what_is_no_picture_is_refused(self, folder: Path, tmp_path: Path) -> None:
        file = tmp_path / "it.png"
        whole = (folder / "dog" / "1.png").read_bytes()
        huge = b"IHDR" + pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
        bomb = whole[:8] + pack(">I", 13) + huge + pack(">I", zlib.crc32(huge)) + whole[33:]
        for data, told in (
            (b"GIF89a", "neither a PNG nor a JPEG"),
            (whole[:44], "cannot be read"),
            (bomb, "more than"),
        ):
            file.write_bytes(data)
            with refuses("input.unreadable", "input", match=f"it.png.*{told}"):
                samples.read(file, {"x": (3, 2, 2)}, "input")
        Image.fromarray(np.zeros((2, 2), np.uint16)).save(file)
        with refuses("input.unreadable", "input", match="8 bits"):
            samples.read(file, {"x": (2, 2)}, "input")
        with refuses("input.unreadable", "input", match="beside folders"):
            samples.read(folder, {"x": (3, 2, 2)}, "input")
        (folder / "dog" / "none").mkdir()
        with refuses("input.unreadable", "input", match="no pictures"):
            samples.read(folder / "dog" / "none", {"x": (3, 2, 2)}, "input")
        with refuses("input.shape", "input", match="one channel or three"):
            samples.read(folder / "cat", {"x": (784,)}, "input")
        with refuses("input.unreadable", "input", match="by their names"):
            samples.read(folder / "cat", TWO, "input")
