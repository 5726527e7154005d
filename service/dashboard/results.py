"""What a proof shows, for its page: the answer, the network's outputs, a picture of a public input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from service.dashboard.pictures import Picture
from verifier.documents import Group, as_list
from verifier.scales import real_logits
from verifier.schemes import BOUNDED, INPUT, OUTPUT, kind_of


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
    """``answer`` in a few words, ``statement`` as the document has it; ``logits`` with the largest first,
    ``outputs`` that are of no classes in their order.
    """

    answer: str
    statement: Mapping[str, Any]
    logits: Sequence[Logit]
    outputs: Sequence[Logit]
    picture: Picture | None


def result(document: Mapping[str, Any], circuit: Mapping[str, Any]) -> Result:
    """Of a proof that succeeded; ``circuit`` is the description that its key has."""
    statement = document["statement"]
    values = statement["values"]
    return Result(
        answer=_first_sentence(statement) if _is_in_words(circuit) else _answer(statement),
        statement=statement,
        logits=_logits(values["logits"], circuit) if "logits" in values else [],
        outputs=_outputs(values["values"], circuit) if "values" in values else [],
        picture=picture(document, circuit),
    )


def picture(document: Mapping[str, Any], circuit: Mapping[str, Any]) -> Picture | None:
    """Of the input, where it is public and has the shape of an image."""
    values = document["statement"]["values"].get("input")
    if values is None:
        return None
    group = next(group for group in circuit["public_inputs"] if group["name"] == "input")
    return Picture.of(values, group["shape"], group["maximum"])


def _is_in_words(circuit: Mapping[str, Any]) -> bool:
    """Whether it takes more than a number to say: what was measured, or where an only output lies."""
    return "measure" in circuit or str(circuit.get("reveal")) in BOUNDED


def _first_sentence(statement: Mapping[str, Any]) -> str:
    said: str = statement["claim"].partition(". ")[0]
    return said


def _answer(statement: Mapping[str, Any]) -> str:
    scheme, values = statement["scheme"], statement["values"]
    hidden = [name for name in statement["commitments"] if kind_of(name) == OUTPUT]
    if scheme == "accuracy":
        share = 100 * values["correct"] / values["size"]
        return f"{values['correct']:,} of {values['size']:,} right, {share:.1f} %"
    if scheme == "recognition":
        return f"{'A match' if values['match'] else 'No match'} within {values['threshold']:,}"
    if hidden == [OUTPUT]:
        return "A commitment to the output"
    if several := [*(name for name in values if "/" in name and kind_of(name) != INPUT), *hidden]:
        unsaid = ("logits", "threshold", "bounds")
        return "; ".join(
            _of_output(name, values.get(name)) for name in several if kind_of(name) not in unsaid
        )
    if "top" in values:
        return "Labels " + ", ".join(map(str, values["top"]))
    if "values" in values:
        count = len(values["values"])
        return f"{count:,} output{'s' * (count != 1)}"
    return f"Label {values['label']}"


def _of_output(name: str, value: int | list[int] | None) -> str:
    """Of one of several; of None a commitment alone."""
    kind, _, output = name.partition("/")
    if value is None:
        return f"{output}: a commitment"
    if kind in ("reached", "interval"):
        return f"{output}: {kind} {', '.join(map(str, as_list(value)))}"
    if kind == "values":
        return f"{output}: {len(value) if isinstance(value, list) else 1:,} values"
    shown = ", ".join(map(str, value)) if isinstance(value, list) else value
    return f"{output}: {'label' if kind == 'label' else 'labels'} {shown}"


def _logits(integers: Sequence[int], circuit: Mapping[str, Any]) -> list[Logit]:
    return sorted(_bars(integers, real_logits(circuit, integers)), key=lambda logit: -logit.integer)


def _outputs(integers: Sequence[int], circuit: Mapping[str, Any]) -> list[Logit]:
    """In the units of the words: by the scale that the description gives them."""
    groups = map(Group.model_validate, circuit["public_inputs"])
    return _bars(integers, next(group for group in groups if group.name == "values").real(integers))


def _bars(integers: Sequence[int], known: Sequence[float] | None) -> list[Logit]:
    reals: Sequence[float | None] = known or [None] * len(integers)
    lowest, highest = min(0, *integers), max(0, *integers)
    scale = 1000 / (highest - lowest or 1)
    return [
        Logit(label, integer, real, scale * (min(integer, 0) - lowest), scale * abs(integer))
        for label, (integer, real) in enumerate(zip(integers, reals, strict=True))
    ]
