"""What a proof shows, for its page: the answer, the network's outputs, a picture of a public input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from service.dashboard.pictures import Picture
from verifier.scales import real_logits


@dataclass(frozen=True)
class Logit:
    """An output of the network: the integer that is proven, and what it stands for. ``left``, ``width``: of
    its bar from zero, on a scale of a thousand.
    """

    label: int
    integer: int
    real: float | None
    left: float
    width: float


@dataclass(frozen=True)
class Result:
    """``answer`` in a few words, ``statement`` as the document has it; ``logits`` with the largest first."""

    answer: str
    statement: Mapping[str, Any]
    logits: Sequence[Logit]
    picture: Picture | None


def result(document: Mapping[str, Any], circuit: Mapping[str, Any]) -> Result:
    """Of a proof that succeeded; ``circuit`` is the description that its key has."""
    statement = document["statement"]
    values = statement["values"]
    return Result(
        answer=_answer(statement["scheme"], values),
        statement=statement,
        logits=_logits(values["logits"], circuit) if "logits" in values else [],
        picture=picture(document, circuit),
    )


def picture(document: Mapping[str, Any], circuit: Mapping[str, Any]) -> Picture | None:
    """Of the input, where it is public and has the shape of an image."""
    values = document["statement"]["values"].get("input")
    if values is None:
        return None
    group = next(group for group in circuit["public_inputs"] if group["name"] == "input")
    return Picture.of(values, group["shape"], group["maximum"])


def _answer(scheme: str, values: Mapping[str, Any]) -> str:
    if scheme == "accuracy":
        share = 100 * values["correct"] / values["size"]
        return f"{values['correct']:,} of {values['size']:,} right, {share:.1f} %"
    if scheme == "recognition":
        return f"{'A match' if values['match'] else 'No match'} within {values['threshold']:,}"
    if "top" in values:
        return "Labels " + ", ".join(map(str, values["top"]))
    return f"Label {values['label']}"


def _logits(integers: Sequence[int], circuit: Mapping[str, Any]) -> list[Logit]:
    reals: Sequence[float | None] = real_logits(circuit, integers) or [None] * len(integers)
    lowest, highest = min(0, *integers), max(0, *integers)
    scale = 1000 / (highest - lowest or 1)
    logits = [
        Logit(label, integer, real, scale * (min(integer, 0) - lowest), scale * abs(integer))
        for label, (integer, real) in enumerate(zip(integers, reals, strict=True))
    ]
    return sorted(logits, key=lambda logit: -logit.integer)
