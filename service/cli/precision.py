"""Options of commands for the quantisation of networks."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

Measure = Literal["accuracy", "agreement", "values"]


def _bits(value: Any) -> int | Literal["auto"]:
    text = str(value)
    if text == "auto":
        return "auto"
    if not text.isdecimal() or not 1 <= int(text) <= 16:
        raise typer.BadParameter("it must be auto, or from 1 to 16")
    return int(text)


Bits = Annotated[
    Any,
    typer.Option(
        metavar="BITS",
        parser=_bits,
        help="Precision of the quantised network, 1 to 16; auto: as little as --max-loss allows.",
    ),
]
WeightBits = Annotated[
    int | None, typer.Option(min=1, max=16, help="Of weights, where it is another; of one bit they are ±1.")
]
MaxLoss = Annotated[
    float,
    typer.Option(
        min=0, max=100, help="For --bits auto: percent of accuracy, agreement or range that may be lost."
    ),
]
Ranges = Annotated[
    list[str] | None,
    typer.Option(
        "--range",
        metavar="NAME=LEAST:MOST",
        help="Of an input of integers, where it is more than calibration shows, such as tokens=0:29999.",
    ),
]
AcceptDifference = Annotated[
    bool,
    typer.Option(
        "--accept-difference",
        help="Go on although the model, its file and the integers differ beyond tolerance.",
    ),
]
