"""The part of a verification key that describes its proofs: the scheme, the types and the public values."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Final, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from zenserve.verifier.fields import (
    MOST_AXES,
    MOST_INTEGER,
    MOST_NAMES,
    Digest,
    InputName,
    Integer,
    Numbers,
    Size,
    Values,
    canonical,
    is_absent,
)
from zenserve.verifier.measures import Count, Measurement, Targets, takes_targets
from zenserve.verifier.points import SCALAR_MODULUS
from zenserve.verifier.schemes import BOUNDED, INPUT, OUTPUT, AnyScheme, Measure, Norm, furthest, kind_of

MOST_SCALE: Final = 1e290
"""Of outputs that words say: times any integer of a document it is a finite number."""
_TYPE_LIMBS: Final = 5
"""Numbers that say of which type the values of a commitment are."""
MOST_COMMITTED: Final = 1 << 24
"""Values of an input or a shard: none of more has a circuit that anybody could prove."""

Interval = tuple[float, float]


class Group(BaseModel):
    """Public inputs of one name: ``count`` of them from ``first``; a plain number where ``shape`` is []."""

    model_config = ConfigDict(frozen=True, strict=True)

    name: str
    first: int
    count: Size
    shape: Numbers
    minimum: int = 0
    maximum: int = SCALAR_MODULUS - 1
    scale: float | None = None
    zero_point: int = 0

    @property
    def kind(self) -> str:
        """The kind of the group's values, without the name of an input or output."""
        return kind_of(self.name)

    @property
    def owner(self) -> str:
        """Of which of several inputs or outputs it is; "" of an only one."""
        return self.name.partition("/")[2]

    def real(self, numbers: Sequence[int]) -> list[float] | None:
        """Return the reals that the integers represent, ``scale (q - zero_point)``; None without a scale."""
        return None if self.scale is None else [self.scale * (q - self.zero_point) for q in numbers]

    @property
    def can_be_said(self) -> bool:
        """True if ``real`` is one finite number in any language: a double above 0 times an exact integer."""
        return self.scale is None or (0 < self.scale <= MOST_SCALE and abs(self.zero_point) <= MOST_INTEGER)

    def numbers(self, value: int | list[int]) -> list[int]:
        """The group's values as a list. Raises ``ValueError`` where they are not of its count and range."""
        if isinstance(value, list) != (self.shape != []):
            raise ValueError(f"values.{self.name} must be {'a list' if self.shape else 'a number'}")
        numbers = as_list(value)
        if len(numbers) != self.count:
            raise ValueError(f"values.{self.name} must have {self.count} numbers, not {len(numbers)}")
        if any(not self.minimum <= number <= self.maximum for number in numbers):
            raise ValueError(f"values.{self.name} must lie in [{self.minimum}, {self.maximum}]")
        if self.kind == "bounds" and any(one >= other for one, other in itertools.pairwise(numbers)):
            raise ValueError(f"values.{self.name} must increase")
        return numbers


def _counted(count: Count) -> Group:
    """Its total over all shards; which there can be is for who knows the samples' number to see."""
    most = (1 << 63) - 1
    shape = [] if count.size is None else [count.size]
    low = 0 if count.least >= 0 else -most
    return Group(name=count.name, first=0, count=count.size or 1, shape=shape, minimum=low, maximum=most)


_SIZE: Final = Count("size", None, 0, 1)


class InputType(BaseModel):
    """The quantisation of a network's input, or of an output that is committed to: ``real = scale (q -
    zero_point)``, 0 <= q < 2^bits. If there are several, each has a name."""

    model_config = ConfigDict(frozen=True, strict=True)

    name: InputName | None = Field(default=None, exclude_if=is_absent)
    shape: Annotated[list[Size], Field(max_length=MOST_AXES, fail_fast=True)]
    scale: float = Field(gt=0, allow_inf_nan=False)
    zero_point: Integer
    bits: int = Field(ge=1, le=32)

    @property
    def limbs(self) -> list[int]:
        """The integers that a commitment to values of this type begins with: the SHA-256 of the type's
        canonical text as five integers of 52 bits, lowest first.
        """
        return _limbs(canonical(self))

    def measures(self, distance: Group, norm: Norm) -> bool:
        """Return whether the group's numbers are distances between inputs of this type."""
        reach = distance.minimum, distance.maximum, distance.scale, distance.zero_point
        return reach == (0, furthest(norm, self.bits, math.prod(self.shape)), self.scale, 0)

    def holds(self, values: Sequence[int]) -> bool:
        """Return whether ``values`` are the integers, row-major, of an input of this type."""
        return len(values) == math.prod(self.shape) and all(0 <= each < 1 << self.bits for each in values)


def type_limbs(kinds: Sequence[InputType]) -> list[int]:
    """Return the integers that a commitment to samples begins with: ``InputType.limbs`` of the only input, or
    the same of the list of several types, in their order."""
    if len(kinds) == 1:
        return kinds[0].limbs
    return _limbs(canonical([kind.model_dump(mode="json") for kind in kinds]))


def _limbs(text: bytes) -> list[int]:
    number = int.from_bytes(hashlib.sha256(text).digest(), "big")
    return [number >> shift & (1 << 52) - 1 for shift in range(0, 256, 52)]


class OutputType(BaseModel):
    """Of an output that is committed to: its type, and what statements call it."""

    model_config = ConfigDict(frozen=True, strict=True)

    name: Annotated[str, Field(pattern=f"^{OUTPUT}(/[A-Za-z0-9_.-]{{1,64}})?$")]
    type: InputType

    @field_validator("type")
    @classmethod
    def _can_be_taken_and_said(cls, kind: InputType) -> InputType:
        if kind.name is not None:
            raise ValueError("the type of an output has no name: whatever takes it may call it otherwise")
        if kind.scale > MOST_SCALE:
            raise ValueError(f"the scale must be above 0 and at most {MOST_SCALE:g}")
        return kind


class Quantisation(BaseModel):
    """Of the only input, or of several; and of the ``outputs`` that are committed to."""

    model_config = ConfigDict(frozen=True, strict=True)

    input: InputType | None = None
    inputs: Annotated[list[InputType], Field(min_length=2, max_length=MOST_NAMES, fail_fast=True)] | None = (
        None
    )
    outputs: (
        Annotated[list[OutputType], Field(min_length=1, max_length=MOST_NAMES, fail_fast=True)] | None
    ) = None

    @model_validator(mode="after")
    def _of_one_or_several(self) -> Self:
        kinds = self.inputs or ([self.input] if self.input else [])
        names = [kind.name for kind in kinds]
        named = len({*names} - {None}) == len(names) if self.inputs else names == [None]
        if (self.input is None) == (self.inputs is None) or not named:
            raise ValueError("there is one input without a name, or several with a name each")
        outputs = [each.name for each in self.outputs or []]
        if len({*outputs}) < len(outputs) or (OUTPUT in outputs and len(outputs) > 1):
            raise ValueError("outputs: there is one without a name, or several with a name each")
        return self

    @property
    def types(self) -> dict[str, InputType]:
        """By what statements call the inputs."""
        if self.input is not None:
            return {INPUT: self.input}
        return {f"{INPUT}/{kind.name}": kind for kind in self.inputs or []}

    @property
    def output_types(self) -> dict[str, InputType]:
        """The same of the outputs that are committed to."""
        return {each.name: each.type for each in self.outputs or []}


_PARTS: Final[Mapping[AnyScheme, tuple[tuple[str, ...], Collection[tuple[str, ...]]]]] = {
    "registration": (("model",), [()]),
    "inference": (
        ("model", "input", "output"),
        [("label",), ("label", "logits"), ("top",), ("values",), *BOUNDED.values()],
    ),
    "recognition": (("model", "input", "reference"), [("threshold", "match")]),
    "accuracy": (("model", "dataset", "correct"), [("size",), ("size", "radius")]),
    "robustness": (("model", "input"), [("radius", "label")]),
}
"""Of each scheme what can be committed to, in order, and what it may show beside an input and a reference."""
_SINGLE: Final = ("statement", "label", "threshold", "match", "size", "radius")
"""Groups of which words are made as of one number, also those of one of several outputs."""
_SAID: Final = ("values", "threshold", "bounds", "radius")
"""Groups whose integers words have as real numbers."""


class Description(BaseModel):
    """The part of a circuit's description (``Circuit.describe``) that verification reads; the rest is for
    people.

    ``commitments``: the linked segments in order. ``batch``: the number of inferences of one proof if there
    are several, of which it then shows labels alone. For accuracies, ``batch``: the samples that fit a shard;
    ``classes``: the number of the network's outputs, and the label that it never gives; ``measure``, with
    ``top`` for ``top-k``; and ``targets``, for measures that use targets. ``norm``: the norm that a radius is
    measured in.
    """

    model_config = ConfigDict(frozen=True, strict=True)

    scheme: AnyScheme
    meaning: str
    network: Digest
    commitments: list[str] = Field(fail_fast=True)
    public_inputs: list[Group] = Field(min_length=1, fail_fast=True)
    quantisation: Quantisation
    batch: Size | None = None
    classes: Size | None = None
    measure: Measure = "accuracy"
    top: Size = 1
    targets: Targets | None = None
    norm: Norm = "inf"

    @model_validator(mode="after")
    def _fits(self) -> Self:
        """Of its scheme, so that there are words for it, and a value for each public input."""
        first = 0
        for group in self.public_inputs:
            if group.first != first:
                raise ValueError(f"public_inputs: {group.name} begins at {group.first}, not {first}")
            first += group.count
            if group.shape and group.kind in _SINGLE and not (group.kind == "label" and self._inferences):
                raise ValueError(f"public_inputs: {group.name} is one number, no list")
            if group.kind in _SAID and not group.can_be_said:
                raise ValueError(f"public_inputs: the scale must be above 0 and at most {MOST_SCALE:g}")
        if self.public_inputs[0].name != "statement" or self.public_inputs[0].count != 1:
            raise ValueError("public_inputs: the first must be the statement")
        inputs = [*self.quantisation.types]
        if len(inputs) > 1 and (self.scheme in ("recognition", "robustness") or self.measure == "certified"):
            raise ValueError("quantisation: recognitions and certificates are of one input")
        several = {INPUT: inputs, OUTPUT: [*self.quantisation.output_types]}
        outside = [part for name in _PARTS[self.scheme][0] for part in several.get(name, [name])]
        names = [group.name for group in self.public_inputs[1:]]
        given = [name for name in outside if name in names and kind_of(name) in (INPUT, "reference")]
        if names[: len(given)] != given or not self._is_shown(names[len(given) :]):
            raise ValueError(f"public_inputs: the scheme {self.scheme} does not show {', '.join(names)}")
        kinds = self.quantisation.types.values()
        radii = [each for each in self.public_inputs if each.kind == "radius"]
        if self.norm != "inf" and not radii:
            raise ValueError("norm: it is of a radius, and there is none")
        if not all(kind.measures(each, self.norm) for each in radii for kind in kinds):
            raise ValueError(
                "public_inputs: radius must be in steps of the input, and no further than it goes"
            )
        for bounds, found in self.bounded:
            if found.minimum < 0 or found.maximum > bounds.count:
                raise ValueError(f"public_inputs: {found.name} must lie in [0, {bounds.count}]")
        if self.commitments != [name for name in outside if name in self.commitments]:
            raise ValueError(f"commitments: the scheme {self.scheme} has {', '.join(outside)}, in this order")
        if not {*self.quantisation.output_types} <= {*self.commitments}:
            raise ValueError("quantisation: outputs are those that are committed to")
        if both := set(given).intersection(self.commitments):
            raise ValueError(f"commitments: {both.pop()} is public, too")
        if any((self.committed_values(name) or 0) > MOST_COMMITTED for name in self.commitments):
            raise ValueError(f"commitments: one is to more than {MOST_COMMITTED} values")
        if self.scheme == "accuracy" and (
            self.batch is None or self.classes is None or not {"dataset", "correct"} <= {*self.commitments}
        ):
            raise ValueError("an accuracy has batch, classes, a dataset and a count")
        if self._inferences is not None and not self._is_of_several(self.public_inputs[1 + len(given) :]):
            raise ValueError("batch: of two inferences or more, with so many labels of each output")
        if takes_targets(self.measure) != (self.targets is not None):
            raise ValueError("targets: measures of errors have them, and no others")
        if (self.measure == "certified") != (self.scheme == "accuracy" and "radius" in names):
            raise ValueError("measure: what is certified, and nothing else, has a radius")
        return self

    @property
    def _inferences(self) -> int | None:
        """The number of inferences of one proof if there are several, else None."""
        return self.batch if self.scheme == "inference" else None

    def _is_of_several(self, shown: Sequence[Group]) -> bool:
        """Return whether ``shown`` is what a batch shows of its outputs: one list of ``batch`` labels for
        each, and no commitment but that to the model."""
        wanted = "label", [self.batch], self.batch
        lists = all((group.kind, group.shape, group.count) == wanted for group in shown)
        return (self.batch or 0) > 1 and lists and {*self.commitments} <= {"model"}

    @property
    def bounded(self) -> list[tuple[Group, Group]]:
        """Of each output that is shown to lie somewhere its bounds, and of how many of them it is at least
        that."""
        following = itertools.pairwise(self.public_inputs)
        return [pair for pair in following if (pair[0].kind, pair[1].kind) in BOUNDED.values()]

    def ends(self, values: Values, output: str) -> list[Interval]:
        """Between what the values of an output, "" of an only one, are shown to lie, in its own units. Empty
        where nothing is shown, or no scale is known."""
        for group in self.public_inputs:
            if (group.kind, group.owner) == ("values", output):
                return [(each, each) for each in group.real(group.numbers(values[group.name])) or []]
        for bounds, found in self.bounded:
            if found.owner == output:
                integers = bounds.numbers(values[bounds.name])
                above = bounds.real(integers)
                below = bounds.real([each - 1 for each in integers])
                if above is None or below is None:
                    return []
                lows, highs = [-math.inf, *above], [*below, math.inf]
                return [(lows[place], highs[place]) for place in found.numbers(values[found.name])]
        return []

    @property
    def measurement(self) -> Measurement:
        """The measurement of an accuracy circuit."""
        return Measurement(self.measure, self.top, self.classes or 0, self.targets)

    def _is_shown(self, names: Sequence[str]) -> bool:
        """Return whether the scheme may show these groups: for each output a permitted combination, the
        outputs one after the other, and nothing of the outputs that are committed to."""
        shown = _PARTS[self.scheme][1]
        committed = {name.partition("/")[2] for name in self.quantisation.output_types}
        if not any("/" in name for name in names):
            return not names if committed else tuple(names) in shown
        outputs: dict[str, list[str]] = {}
        for name in names:
            kind, _, output = name.partition("/")
            outputs.setdefault(output, []).append(kind)
        in_order = [f"{kind}/{output}" for output, kinds in outputs.items() for kind in kinds]
        known = all(tuple(kinds) in shown for kinds in outputs.values())
        known = known and "" not in committed and committed.isdisjoint(outputs)
        return self.scheme == "inference" and known and in_order == [*names]

    def committed_values(self, name: str) -> int | None:
        """Return the number of values that the commitment ``name`` is to; None if that is not described."""
        if name == "correct":
            return sum(count.size or 1 for count in self.measurement.counts)
        if name == "dataset":
            sample = sum(math.prod(kind.shape) for kind in self.quantisation.types.values())
            targets = (self.classes or 0) if self.targets else 0
            return _TYPE_LIMBS + (self.batch or 0) * (sample + targets + 1)
        kind = (self.quantisation.types | self.quantisation.output_types).get(name)
        return None if kind is None else _TYPE_LIMBS + math.prod(kind.shape)

    def public_values(self, values: Values) -> list[int]:
        """The public inputs after ``statement``, canonical, in order. Of an accuracy those that come after
        ``size``, of which each shard has its own.

        Raises ``ValueError`` where ``values`` has other names or numbers than the circuit: -1 and r - 1 are
        one field element, and one of them only is what the circuit means.
        """
        shown, totals = {group.name: group for group in self.public_inputs[1:]}, dict[str, Group]()
        if self.scheme == "accuracy":
            totals = {count.name: _counted(count) for count in (*self.measurement.counts, _SIZE)}
        shown = totals | {name: group for name, group in shown.items() if name not in totals}
        if values.keys() != shown.keys():
            raise ValueError(f"values must be {', '.join(shown) or 'empty'}")
        numbers = {name: group.numbers(values[name]) for name, group in shown.items()}
        own = (each for name in shown if name not in totals for each in numbers[name])
        return [number % SCALAR_MODULUS for number in own]


def as_list(numbers: int | list[int]) -> list[int]:
    """Of a statement's values, which may be a plain number."""
    return numbers if isinstance(numbers, list) else [numbers]
