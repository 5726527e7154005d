"""Public inputs as people read them: pictures, tables, and runs of whole numbers, as texts are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from zenserve.service.dashboard.pictures import Picture
from zenserve.verifier.description import Group, as_list
from zenserve.verifier.schemes import INPUT

_KINDS: Final = {INPUT: "Input", "reference": "Reference"}
_RUN: Final = 200
_PLACES: Final = 20
_ROWS: Final = 12
_COLUMNS: Final = 10


@dataclass(frozen=True)
class PublicInput:
    """``name``: as the statement has it. ``picture``, ``run`` of whole numbers, ``places`` of a list of
    numbers, or ``rows`` of a table: one of them. ``hidden``: how many numbers are left out.
    """

    name: str
    title: str
    shape: Sequence[int]
    picture: Picture | None = None
    run: str = ""
    places: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    hidden: int = 0


def public_inputs(document: Mapping[str, Any], circuit: Mapping[str, Any]) -> Iterator[PublicInput]:
    """Return what a proof's statement shows of the inputs. ``circuit``: the description of its circuit."""
    values = document["statement"]["values"]
    for group in map(Group.model_validate, circuit["public_inputs"]):
        if group.kind in _KINDS and group.name in values:
            yield _shown(group, as_list(values[group.name]))


def _shown(group: Group, integers: Sequence[int]) -> PublicInput:
    title, shape = f"{_KINDS[group.kind]} {group.owner}".strip(), group.shape
    if group.kind == INPUT and (picture := Picture.of(integers, shape, group.maximum)):
        return PublicInput(group.name, title, shape, picture=picture)
    reals = group.real(integers)
    whole = reals is None or (group.scale == 1 and group.zero_point == 0)
    numbers = [str(q) for q in integers] if reals is None or whole else [f"{real:.4g}" for real in reals]
    width = ([side for side in shape if side > 1] or [1])[-1]
    if width < len(numbers):
        lines = [numbers[start : start + width] for start in range(0, len(numbers), width)]
        rows = [line[:_COLUMNS] for line in lines[:_ROWS]]
        return PublicInput(group.name, title, shape, rows=rows, hidden=len(numbers) - sum(map(len, rows)))
    if whole and width > 1:
        return PublicInput(
            group.name, title, shape, run=" ".join(numbers[:_RUN]), hidden=max(0, len(numbers) - _RUN)
        )
    places = numbers[:_PLACES]
    return PublicInput(group.name, title, shape, places=places, hidden=len(numbers) - len(places))
