"""The schemes, what they are about and what they may show: one name for each, for all who speak of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final, Literal

Scheme = Literal["inference", "recognition", "accuracy", "robustness"]
"""The claim of a proof that a user requests."""
AnyScheme = Literal["registration", Scheme]
"""The claim of any proof, that of a registration included."""
Privacy = Literal["public", "private", "committed"]
"""Of what a circuit takes. What is committed is private, and the same in every proof that links to the
commitment.
"""
PublicOrPrivate = Literal["public", "private"]
PublicOrCommitted = Literal["public", "committed"]
CommitmentKind = Literal["input", "reference"]
"""The kinds of values that are committed to beforehand for later proofs to use."""
HeldKind = Literal["input", "reference", "output"]
"""And what a proof commits to."""
Reveal = Literal["label", "logits", "top", "values", "threshold", "range", "commitment"]
"""The part of its output that an inference shows: the label, the label and all logits, the likeliest labels
in order, or all values, which need not be of classes; for each value, which stays hidden, its side of a
threshold or the bounds between which it lies; or only a commitment to the output.
"""
BOUNDED: Final[Mapping[str, tuple[str, str]]] = {
    "threshold": ("threshold", "reached"),
    "range": ("bounds", "interval"),
}
"""The names in statements of the public bounds, in increasing order, and of the number of bounds that each
value reaches.
"""
Measure = Literal["accuracy", "top-k", "f1", "mse", "mae", "r2", "certified"]
"""The measure that an accuracy counts or adds up over samples (``zenserve.verifier.measures``): correct
labels, or labels among the likeliest; for each class the true positives, the predictions and the occurrences;
errors of values, squared or absolute; or correct labels that stay correct for every input within a radius.
"""
Norm = Literal["inf", "2"]
"""The norm of a radius: "inf", the largest difference of an entry; "2", the sum of squared differences."""
Compared = Literal["labels", "targets"]
"""The values of a dataset beside its samples."""
INPUT: Final = "input"
"""The name of an input in statements; if there are several, each has its own name appended (``called``)."""
OUTPUT: Final = "output"
"""The same of an output that is committed to."""


def furthest(norm: Norm, bits: int, entries: int) -> int:
    """The largest radius around an input of so many entries in [0, 2^bits): no input lies further away. Of
    the norm "2", ``2^(bits + h) - 1`` for the least h that has ``4^h >= entries``."""
    more = (entries - 1).bit_length() + 1 >> 1 if norm == "2" else 0
    return (1 << bits + more) - 1


def called(kind: str, name: str, among: Collection[Any]) -> str:
    """Return a statement's name for an input, or for what it shows of an output: ``kind``, or ``kind/name``
    if there are several."""
    return kind if len(among) == 1 else f"{kind}/{name}"


def kind_of(name: str) -> str:
    """The ``kind`` of what is ``called`` so."""
    return name.partition("/")[0]
