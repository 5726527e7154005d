"""The results of a proof, for its page: the answer, the network's outputs, public inputs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from zenserve.circuits import svg
from zenserve.service.dashboard.inputs import PublicInput, public_inputs
from zenserve.verifier.description import Group, as_list
from zenserve.verifier.scales import real_logits
from zenserve.verifier.schemes import BOUNDED, INPUT, OUTPUT, kind_of
from zenserve.verifier.table import TableSchema

_FEW: Final = 8


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
class Table:
    """The displayed values of an output, with its ``name`` where there are several.

    ``logits`` of classes, the largest first; or ``values`` in their order; or, where values are hidden, their
    ``places`` in words.
    """

    name: str
    logits: Sequence[Logit] = ()
    values: Sequence[Logit] = ()
    places: Sequence[str] = ()


@dataclass(frozen=True)
class Result:
    """``answer`` in a few words, ``statement`` as the document has it; ``unproven``: preparation that is not
    proven; ``row``: the cells of a public row."""

    answer: str
    statement: Mapping[str, Any]
    tables: Sequence[Table]
    inputs: Sequence[PublicInput]
    unproven: str | None = None
    row: Mapping[str, Any] = field(default_factory=dict)


def result(
    document: Mapping[str, Any], circuit: Mapping[str, Any], table: Mapping[str, Any] | None = None
) -> Result:
    """Of a proof that succeeded; ``circuit`` is the description that its key has, ``table`` what the columns
    and classes of the model's table are called."""
    statement = document["statement"]
    named = _named_answer(statement["values"], table)
    in_words = _is_in_words(circuit, statement["values"])
    return Result(
        answer=_first_sentence(statement) if in_words else named or _answer(statement),
        statement=statement,
        tables=[*_tables(statement["values"], circuit)],
        inputs=[*public_inputs(document, circuit)],
        unproven=(table or {}).get("unproven"),
        row=_row(statement["values"], circuit, table),
    )


def _named_answer(values: Mapping[str, Any], table: Mapping[str, Any] | None) -> str | None:
    """The class by its name, if nothing else is shown of the outputs."""
    classes = (table or {}).get("classes") or []
    shown = [name for name in values if kind_of(name) not in (INPUT, "statement")]
    if len(shown) != 1 or kind_of(shown[0]) != "label" or not isinstance(values[shown[0]], int):
        return None
    label = values[shown[0]]
    return str(classes[label]) if label < len(classes) else None


def _row(
    values: Mapping[str, Any], circuit: Mapping[str, Any], table: Mapping[str, Any] | None
) -> Mapping[str, Any]:
    """Cells of a public row by the names of columns."""
    if table is None or INPUT not in values:
        return {}
    group = next(g for g in map(Group.model_validate, circuit["public_inputs"]) if g.name == INPUT)
    return TableSchema.parse(json.dumps(table)).read(group.real(as_list(values[INPUT])), group.scale)


def brief(
    scheme: str, values: Mapping[str, Any] | None, claim: str | None, table: Mapping[str, Any] | None = None
) -> str:
    """Return a proof's answer for a list of proofs; of those that take a sentence to say, that sentence.
    ``table``: what the model's classes are called."""
    if values is None or claim is None:
        return "–"
    try:
        return _named_answer(values, table) or _answer(
            {"scheme": scheme, "values": values, "commitments": {}}
        )
    except KeyError:
        return claim.partition(". ")[0]


def margins(course: bytes, radius: int) -> str:
    """A chart of what the worker kept of a certificate within this radius."""
    return svg.descent("radius, steps", "least lead, integers", [json.loads(course)], radius)


def _is_in_words(circuit: Mapping[str, Any], values: Mapping[str, Any]) -> bool:
    """Return whether the answer takes more than a number: a measurement, or the place of a single value."""
    places = (values.get(found) for _, found in BOUNDED.values())
    return "measure" in circuit or any(isinstance(place, int) for place in places)


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
    if scheme == "robustness":
        radius = values["radius"]
        return f"{values['label']}, within {radius:,} {'step' if radius == 1 else 'steps'} too"
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
        return _counted(values["values"], "output")
    if "reached" in values or "interval" in values:
        kind = "reached" if "reached" in values else "interval"
        return f"{_counted(values[kind], 'output')}: {_places(kind, values[kind])}"
    return f"Label {values['label']}"


def _places(kind: str, value: int | list[int]) -> str:
    """Each of a few, and how many of many."""
    places = as_list(value)
    if len(places) <= _FEW:
        return f"{kind} {', '.join(map(str, places))}"
    return f"{sum(places):,} reached" if kind == "reached" else "each in an interval"


def _counted(value: int | list[int], what: str) -> str:
    count = len(as_list(value))
    return f"{count:,} {what}{'s' * (count != 1)}"


def _of_output(name: str, value: int | list[int] | None) -> str:
    """Of one of several; of None a commitment alone."""
    kind, _, output = name.partition("/")
    if value is None:
        return f"{output}: a commitment"
    if kind in ("reached", "interval"):
        return f"{output}: {_places(kind, value)}"
    if kind == "values":
        return f"{output}: {_counted(value, 'value')}"
    shown = ", ".join(map(str, value)) if isinstance(value, list) else value
    return f"{output}: {'label' if kind == 'label' else 'labels'} {shown}"


def _tables(values: Mapping[str, Any], circuit: Mapping[str, Any]) -> Iterator[Table]:
    bounds: Sequence[float] = ()
    for group in map(Group.model_validate, circuit["public_inputs"]):
        if group.name not in values:
            continue
        numbers = as_list(values[group.name])
        reals = group.real(numbers)
        match group.kind:
            case "logits":
                bars = _bars(numbers, reals if group.owner else real_logits(circuit, numbers))
                yield Table(group.owner, logits=sorted(bars, key=lambda bar: -bar.integer))
            case "values":
                yield Table(group.owner, values=_bars(numbers, reals))
            case "threshold" | "bounds":
                bounds = reals or numbers
            case "reached" | "interval":
                yield Table(group.owner, places=[_place(bounds, number) for number in numbers])


def _place(bounds: Sequence[float], place: int) -> str:
    """Of a value that is at least so many of the bounds."""
    above = [f"at least {end:.4g}" for end in bounds[:place][-1:]]
    below = [f"below {end:.4g}" for end in bounds[place : place + 1]]
    return " and ".join([*above, *below])


def _bars(integers: Sequence[int], known: Sequence[float] | None) -> list[Logit]:
    reals: Sequence[float | None] = known or [None] * len(integers)
    lowest, highest = min(0, *integers), max(0, *integers)
    scale = 1000 / (highest - lowest or 1)
    return [
        Logit(label, integer, real, scale * (min(integer, 0) - lowest), scale * abs(integer))
        for label, (integer, real) in enumerate(zip(integers, reals, strict=True))
    ]
