"""PNG and JPEG files as inputs: [channels, height, width] or [height, width, channels], by the network's.

Pillow is imported where it is needed: it is not for what computes.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from zenserve.circuits.samples.table import classes
from zenserve.errors import TensorError

SUFFIXES: Final = (".png", ".jpg", ".jpeg")
_FORMATS: Final = ("PNG", "JPEG")
_MODES: Final = {1: "L", 3: "RGB"}
# What Pillow turns into these without cutting values off: of 8 bits.
_READ: Final = ("1", "L", "LA", "P", "PA", "RGB", "RGBA", "CMYK", "YCbCr")


@dataclass(frozen=True)
class Scaling:
    """Values from 0 to 1 minus ``mean``, divided by ``std``: one number of each, or one for each channel."""

    mean: Sequence[float] = (0.0,)
    std: Sequence[float] = (1.0,)

    def __post_init__(self) -> None:
        if not all(map(math.isfinite, (*self.mean, *self.std))) or min(map(abs, self.std)) == 0:
            raise TensorError("input.not_finite", "mean and std must be finite, and std not 0", field="std")

    def apply(self, pixels: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Of [height, width, channels]. Raises ``TensorError`` for another number of channels."""
        for name, values in (("mean", self.mean), ("std", self.std)):
            if len(values) not in (1, pixels.shape[-1]):
                raise TensorError(
                    "input.shape",
                    f"{name} has {len(values)} numbers; it takes one, or one for each of the input's "
                    f"{pixels.shape[-1]} channels",
                    field=name,
                )
        scaled: NDArray[np.float64] = (pixels / 255 - np.asarray(self.mean)) / np.asarray(self.std)
        return scaled


def read_pictures(
    folder: Path, shape: tuple[int, ...], scaling: Scaling, field: str
) -> tuple[NDArray[np.float64], NDArray[np.int64] | None]:
    """Samples [n, *shape] in the order of their names; of sub-folders the labels, too."""
    files = _in(folder)
    below = {each: _in(each) for each in sorted(folder.iterdir()) if each.is_dir() and each.name[0] != "."}
    below = {each: found for each, found in below.items() if found}
    if files and below:
        raise _unreadable(field, f"{folder} has pictures beside folders of pictures; which are labels?")
    if not files and not below:
        raise _unreadable(field, f"{folder} has no pictures: files that end in {', '.join(SUFFIXES)}")
    names = [each.name for each, found in below.items() for _ in found]
    files = files or [file for found in below.values() for file in found]
    made = np.stack([read_picture(file, shape, scaling, field) for file in files])
    return made, classes(names) if names else None


def read_picture(file: Path, shape: tuple[int, ...], scaling: Scaling, field: str) -> NDArray[np.float64]:
    """One picture of the input's ``shape``, brought to its size and its number of channels."""
    height, width, channels, first = _layout(shape, field)
    values = scaling.apply(_pixels(file, height, width, channels, field))
    return np.moveaxis(values, -1, 0).reshape(shape) if first else values.reshape(shape)


def _pixels(file: Path, height: int, width: int, channels: int, field: str) -> NDArray[np.uint8]:
    """[height, width, channels]. What says that it is larger than Pillow's limit is not decoded."""
    from PIL import Image, UnidentifiedImageError

    with warnings.catch_warnings():
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        try:
            with Image.open(file, formats=_FORMATS) as image:
                if image.mode not in _READ:
                    raise ValueError("its pixels have more than 8 bits a channel; save it with 8")
                made = image.convert("RGBA") if image.mode in ("P", "PA") else image
                made = made.convert(_MODES[channels])
                if made.size != (width, height):
                    made = made.resize((width, height), Image.Resampling.BILINEAR)
                return np.asarray(made, dtype=np.uint8).reshape(height, width, channels)
        except UnidentifiedImageError:
            raise _unreadable(field, f"{file} is neither a PNG nor a JPEG file") from None
        except (Image.DecompressionBombWarning, Image.DecompressionBombError):
            raise _unreadable(field, f"{file} has more than {Image.MAX_IMAGE_PIXELS} pixels") from None
        except (OSError, SyntaxError, ValueError) as error:
            raise _unreadable(field, f"{file} cannot be read: {error}") from None


def _layout(shape: tuple[int, ...], field: str) -> tuple[int, int, int, bool]:
    """Height, width, channels, and whether these come first. One that is (height, width) is grey."""
    match shape:
        case (int(height), int(width)):
            return height, width, 1, True
        case ((1 | 3) as channels, int(height), int(width)):
            return height, width, channels, True
        case (int(height), int(width), (1 | 3) as channels):
            return height, width, channels, False
    raise TensorError(
        "input.shape",
        f"{field}: pictures have one channel or three, and the network's input the shape {list(shape)}; give "
        "arrays instead",
        field=field,
    )


def _in(folder: Path) -> list[Path]:
    files = (each for each in folder.iterdir() if each.suffix.lower() in SUFFIXES and each.is_file())
    return sorted(each for each in files if not each.name.startswith("."))


def _unreadable(field: str, why: str) -> TensorError:
    return TensorError("input.unreadable", f"{field}: {why}", field=field)
