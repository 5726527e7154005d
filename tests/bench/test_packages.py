"""Networks that packages ship: the list, what is drawn for each, and how far each agrees with onnxruntime."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import onnx
import pytest

from bench import packages, suite
from bench.agreement import STAGES, agree, counts
from bench.report import Row

# Of two inputs, one of which is a rate; its batch varies.
TEXT = """
<ir_version: 8, opset_import: ["" : 17]>
agraph (float[batch, 3] x, int64 rate) => (float[batch, 2] y) <float[3, 2] w = {0.5, -1, 0.25, 2, -0.5, 1}> {
    p = MatMul (x, w)
    t = Cast <to = 1> (rate)
    z = Mul (p, t)
    y = Sigmoid (z)
}
"""
LINE = "small shop==1.0 shop/data/small.onnx 1x3:-1..1 -:2..2"


def network(text: str = TEXT) -> bytes:
    return bytes(onnx.parser.parse_model(text).SerializeToString())


def shop(folder: Path, file: str, content: bytes, more: dict[str, bytes] | None = None) -> Path:
    """The archive of a package with this file: a wheel, or what npm packs."""
    held = {file: content, "shop/readme.txt": b"", **(more or {})}
    if file.startswith("package/"):
        archive = folder / "shop-1.0.tgz"
        with tarfile.open(archive, "w:gz") as tar:
            for name, each in held.items():
                said = tarfile.TarInfo(name)
                said.size = len(each)
                tar.addfile(said, io.BytesIO(each))
        return archive
    archive = folder / "shop-1.0-py3-none-any.whl"
    with ZipFile(archive, "w") as wheel:
        for name, each in held.items():
            wheel.writestr(name, each)
    return archive


def test_the_list_names_each_network_once_and_pins_its_package() -> None:
    listed = packages.listed()
    assert len({each.name for each in listed}) == len(listed) >= 52
    assert len({(each.package, each.file) for each in listed}) == len(listed)
    shops = {each.package for each in listed}
    assert len(shops) >= 30
    assert all("==" in each or "@" in each[1:] for each in shops)
    assert all(drawn.least <= drawn.largest for each in listed for drawn in each.inputs)


@pytest.mark.parametrize("kind", ["", "picture", "sound", "page"])
def test_numbers_are_of_their_range(kind: str) -> None:
    drawn, rng = packages.Drawn((2, 40, 60), -3.0, 5.0, kind), np.random.default_rng(0)
    floats = drawn.draw(np.dtype(np.float32), rng)
    assert floats.shape == (2, 40, 60)
    assert floats.dtype == np.dtype(np.float32)
    assert -3.2 <= floats.min() < floats.max() <= 5.2
    whole = drawn.draw(np.dtype(np.int64), rng)
    assert {*np.unique(whole).tolist()} <= {*range(-3, 6)}


@pytest.mark.parametrize("file", ["shop/data/small.onnx", "package/small.onnx", "shop/data/small.onnx.gz"])
def test_a_network_is_copied_out_of_its_archive(tmp_path: Path, file: str) -> None:
    content = gzip.compress(network()) if file.endswith(".gz") else network()
    beside = {} if file.endswith(".gz") else {f"{file}.data": b"weights"}
    archive = shop(tmp_path, file, content, beside)
    each = packages.Listed.parse(LINE.replace("shop/data/small.onnx", file))
    packages.write(each, archive, tmp_path / "packages")
    folder = tmp_path / "packages" / "small"
    assert (folder / "small.onnx").read_bytes() == network()
    assert (folder / "small.onnx.data").exists() == bool(beside)
    given, source = suite.inputs(folder / "small.onnx")
    assert source == "input.npz"
    assert {name: x.shape for name, x in given.items()} == {"x": (1, 3), "rate": ()}
    assert suite.sizes(folder / "small.onnx", given) == {"rate": 2}
    more = suite.calibration(folder / "small.onnx") or {}
    assert {name: x.shape for name, x in more.items()} == {"x": (3, 1, 3), "rate": (3,)}


def test_an_archive_without_the_file_is_none(tmp_path: Path) -> None:
    archive = shop(tmp_path, "shop/data/other.onnx", network())
    with pytest.raises(KeyError):
        packages.write(packages.Listed.parse(LINE), archive, tmp_path / "packages")


def test_networks_agree_stage_by_stage(tmp_path: Path) -> None:
    packages.write(packages.Listed.parse(LINE), shop(tmp_path, "shop/data/small.onnx", network()), tmp_path)
    found: dict[str, object] = {}
    for each in agree(tmp_path / "small" / "small.onnx", STAGES[-1]):
        found |= each
    assert [found[stage] for stage in STAGES] == [True] * 4
    assert float(str(found["float_error"])) < 1e-5
    assert found["near"] == 1.0


def test_what_does_not_load_says_why(tmp_path: Path) -> None:
    file = network(TEXT.replace("Sigmoid", "Bernoulli"))
    packages.write(packages.Listed.parse(LINE), shop(tmp_path, "shop/data/small.onnx", file), tmp_path)
    (found,) = agree(tmp_path / "small" / "small.onnx", STAGES[-1])
    assert found["blockers"] == ["Bernoulli"]
    row = Row("small", None, 0.0, more=dict.fromkeys(STAGES, False) | found)
    assert counts([row]) == {"networks": 1, **dict.fromkeys(STAGES, 0)}
