"""The schemes, what they are about and what they may show: one name for each, for all who speak of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final, Literal

Scheme = Literal["inference", "recognition", "accuracy", "robustness"]
"""What a proof that somebody asks for claims."""
AnyScheme = Literal["registration", Scheme]
"""What any proof does, that of a registration too."""
Privacy = Literal["public", "private", "committed"]
"""Of what a circuit takes. What is committed is private, and the same in every proof that links to the
commitment.
"""
PublicOrPrivate = Literal["public", "private"]
PublicOrCommitted = Literal["public", "committed"]
CommitmentKind = Literal["input", "reference"]
"""What is committed to for later proofs to take."""
HeldKind = Literal["input", "reference", "output"]
"""And what a proof commits to."""
Reveal = Literal["label", "logits", "top", "values", "threshold", "range", "commitment"]
"""What an inference shows of its output: the label, beside it all logits, a few labels in order, or all
values, which need not be of classes; or of each value, which stays hidden, on which side of a threshold or
between which bounds it lies; or nothing but a commitment to it.
"""
BOUNDED: Final[Mapping[str, tuple[str, str]]] = {
    "threshold": ("threshold", "reached"),
    "range": ("bounds", "interval"),
}
"""What statements call the public bounds, in increasing order, and of how many of them each value is at least
that.
"""
Measure = Literal["accuracy", "top-k", "f1", "mse", "mae", "r2", "certified"]
"""What an accuracy counts or adds up over samples (``zenserve.verifier.measures``): labels that are right, or
among the likeliest; of each class how often it is said, is there, and both; errors of values, squared or
absolute; labels that are right, and the same for every input within a radius.
"""
Norm = Literal["inf", "2"]
"""What a radius is of: of the largest difference of an entry, or of all differences, squared and added up."""
Compared = Literal["labels", "targets"]
"""What a dataset has beside samples."""
INPUT: Final = "input"
"""What statements call an input: of several, each has its name behind it (``called``)."""
OUTPUT: Final = "output"
"""The same of an output that is committed to."""


def furthest(norm: Norm, bits: int, entries: int) -> int:
    """The largest radius around an input of so many entries in [0, 2^bits): no input lies further away. Of
    the norm "2", ``2^(bits + h) - 1`` for the least h that has ``4^h >= entries``."""
    more = (entries - 1).bit_length() + 1 >> 1 if norm == "2" else 0
    return (1 << bits + more) - 1


def called(kind: str, name: str, among: Collection[Any]) -> str:
    """What a statement calls an input, or what it shows of an output: ``kind``, of several ``kind/name``."""
    return kind if len(among) == 1 else f"{kind}/{name}"


def kind_of(name: str) -> str:
    """The ``kind`` of what is ``called`` so."""
    return name.partition("/")[0]
