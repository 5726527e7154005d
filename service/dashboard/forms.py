"""The form for a proof: its fields, by the model's circuit, and its entries, in the API's form."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

from zenserve.errors import RequestError
from zenserve.service.dashboard.pictures import is_picture

Given = Mapping[str, str]
"""The entries of a form, by field."""
_SHOWN: Final = 8
_ENDS = {"at_least": "threshold", "at_most": "threshold", "bounds": "range"}
"""And what shows something of them."""


@dataclass(frozen=True)
class Entry:
    """An input of the network: ``field`` as the API's refusals have it, ``name`` where there are several. Its
    numbers lie from ``low`` to ``high``, and are ``whole``, if the network takes integers."""

    field: str
    name: str
    shape: Sequence[int]
    low: float
    high: float
    whole: bool

    @classmethod
    def of(cls, described: Mapping[str, Any]) -> Self:
        name, scale = described.get("name", ""), described["scale"]
        low, high = (scale * (end - described["zero_point"]) for end in (0, (1 << described["bits"]) - 1))
        return cls(f"inputs.{name}" if name else "input", name, described["shape"], low, high, scale == 1)

    @property
    def drawn(self) -> bool:
        return is_picture(self.shape) and len(self.shape) - self.shape.count(1) == 2

    @property
    def takes(self) -> str:
        shape = f"of the shape {' × '.join(map(str, self.shape))}" if self.shape else "of one number"
        numbers = "whole numbers" if self.whole else "numbers"
        return f"JSON {shape}, {numbers} from {self.low:.4g} to {self.high:.4g}; or a file in its place."

    @property
    def takes_many(self) -> str:
        shape = " × ".join(map(str, ("n", *self.shape)))
        return f"{shape} numbers from {self.low:.4g} to {self.high:.4g}"


@dataclass(frozen=True)
class ProofForm:
    """``outputs``: their names, where there are several; else one without a name. ``columns``: of the model's
    table, if it has one, as ``zenserve.verifier.table`` has them; ``classes``: names of its labels."""

    entries: Sequence[Entry]
    outputs: Sequence[str]
    shown: Mapping[str, str]
    """The part of each output that the default proof reveals."""
    columns: Sequence[Mapping[str, Any]] = ()
    classes: Sequence[str] = ()

    @classmethod
    def of(cls, circuit: Mapping[str, Any], table: Mapping[str, Any] | None = None) -> Self:
        """For the model whose default proof has this circuit."""
        types, outputs = circuit["quantisation"], [*circuit.get("outputs", [""])]
        reveal = circuit["reveal"]
        shown = reveal if isinstance(reveal, Mapping) else {"": reveal}
        columns, classes = ((table or {}).get(name) or () for name in ("columns", "classes"))
        return cls(
            [*map(Entry.of, types.get("inputs") or [types["input"]])], outputs, shown, columns, classes
        )

    @property
    def samples(self) -> str:
        """The contents of a dataset's file, in words."""
        if self.columns:
            names = [str(column["name"]) for column in self.columns]
            shown = ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
            return f"Rows of the table, with the columns {shown}: CSV with a line of names."
        if len(self.entries) == 1:
            return f"{self.entries[0].takes_many}: .npy, .npz, JSON or CSV."
        each = "; ".join(f"{entry.name}, {entry.takes_many}" for entry in self.entries)
        return f".npz or JSON with an array for each input by its name, or CSV with all values: {each}."

    @property
    def schemes(self) -> Sequence[str]:
        """The schemes that can be proven: recognitions and certificates are of one input and one output."""
        of_one = len(self.entries) == len(self.outputs) == 1
        return ["inference", *(["recognition", "robustness"] if of_one else []), "accuracy"]

    @property
    def fields(self) -> Sequence[str]:
        """The names of the form's fields."""
        inputs = [name for entry in self.entries for name in (entry.field, f"{entry.field}.privacy")]
        outputs = [_of(end, output) for output in self.outputs for end in _ENDS]
        of_one = ("input_privacy", "reference", "threshold", "radius", "norm")
        others = (*of_one, "dataset_id", "measure", "top", "challenge", "accept_difference")
        return [*inputs, *map(shows, self.outputs), *outputs, *others]

    @property
    def first(self) -> dict[str, str]:
        """The form's values before anything is entered."""
        return {"scheme": "inference"} | {
            shows(output): self.shown.get(output, "") for output in self.outputs if output
        }

    def asked(self, given: Given, numbers: Callable[..., Any]) -> dict[str, Any]:
        """The fields of a request. ``numbers``: of a field, and of which of several inputs, as they were
        typed or are in its file; None where there are none. Raises ``RequestError`` (``request.invalid``).
        """
        scheme = given.get("scheme") or "inference"
        said = {"scheme": scheme, "challenge": given.get("challenge")}
        if scheme == "accuracy":
            more = {"top-k": ["top"], "certified": ["radius", "norm"]}.get(given.get("measure") or "", [])
            names = ("dataset_id", "measure", *more)
            said |= {name: given.get(name) for name in names}
        else:
            said |= self._inputs(given, numbers) | {"accept_difference": given.get("accept_difference")}
        if scheme == "inference":
            said |= self._outputs(given)
        if scheme == "recognition":
            said |= {"reference": numbers("reference"), "threshold": given.get("threshold")}
        if scheme == "robustness":
            said |= {name: given.get(name) for name in ("radius", "norm")}
        return {name: value for name, value in said.items() if value not in ("", None, {})}

    def _inputs(self, given: Given, numbers: Callable[..., Any]) -> dict[str, Any]:
        if len(self.entries) == 1:
            row = numbers("input")
            row = self._row(given) if row is None else row
            return {"input": row, "input_privacy": given.get("input_privacy")}
        inputs = {}
        for entry in self.entries:
            values = numbers(entry.field, entry.name)
            if not isinstance(values, list):
                raise _invalid(entry.field, "give its numbers, or a file of them")
            inputs[entry.name] = {"values": values, "privacy": given.get(f"{entry.field}.privacy") or None}
        return {"inputs": inputs}

    def _row(self, given: Given) -> dict[str, Any] | None:
        """The cells that were typed or chosen, by the names of columns; what is left empty is missing. None
        where all are."""
        row: dict[str, Any] = {}
        for place, column in enumerate(self.columns):
            typed = given.get(f"column.{place}", "").strip()
            known = column.get("categories")
            if known is not None and typed.isdecimal() and int(typed) < len(known):
                row[column["name"]] = known[int(typed)]
            else:
                row[column["name"]] = None if known is not None or not typed else typed
        return row if any(each is not None for each in row.values()) else None

    def _outputs(self, given: Given) -> dict[str, Any]:
        reveal = {output: given.get(shows(output), "") for output in self.outputs}
        top = {"top": given.get("top")} if "top" in reveal.values() else {}
        ends: dict[str, Any] = {}
        for end, kind in _ENDS.items():
            fields = {output: _of(end, output) for output in self.outputs if reveal[output] == kind}
            told = {output: field for output, field in fields.items() if given.get(field, "").strip()}
            found = {output: _read(field, given[field]) for output, field in told.items()}
            ends[end] = found.get("", found)
        if len(self.outputs) == 1:
            return {"reveal": reveal[""]} | top | ends
        if not any(reveal.values()):
            raise _invalid("outputs", "choose what the proof shows, of one of them at least")
        return {"outputs": {output: each for output, each in reveal.items() if each}} | top | ends


def shows(output: str) -> str:
    """The field that says what is shown of an output."""
    return f"outputs.{output}" if output else "reveal"


def _of(field: str, output: str) -> str:
    return f"{field}.{output}" if output else field


def _read(field: str, text: str) -> float | list[float]:
    try:
        numbers = [float(each) for each in text.replace(",", " ").split()]
    except ValueError:
        raise _invalid(field, "give numbers, such as 0.2, 0.5, 0.8") from None
    return numbers if field.startswith("bounds") else numbers[0]


def _invalid(field: str, reason: str) -> RequestError:
    return RequestError("request.invalid", f"{field}: {reason}", field=field)
