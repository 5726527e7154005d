"""Proofs as they are handed on, in memory or in a folder, and the verdict on them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from zenserve.circuits.comparison.differences import Difference
from zenserve.circuits.quantisation import Report
from zenserve.errors import naming
from zenserve.onecall.committed import Committed
from zenserve.prover.registry import SYSTEMS
from zenserve.verifier.datasets import LabelledData
from zenserve.verifier.description import Description, Group, as_list
from zenserve.verifier.documents import (
    DocumentKind,
    KeyFile,
    OpeningFile,
    ProofDocument,
    Statement,
    checked,
    read,
)
from zenserve.verifier.expected import Expected
from zenserve.verifier.fields import Document
from zenserve.verifier.judging import Case, Known, Registration, Verification, judge_each
from zenserve.verifier.keys import OpenedKey, opened
from zenserve.verifier.table import TableSchema

PROOF: Final = ("proof.json", "key.json", "circuit.zen")
TABLE: Final = "table.json"
REGISTRATION: Final = ("registration.json", "registration_key.json", "registration_circuit.zen")


@dataclass(frozen=True)
class Keyed:
    """A proof's document, its key, and where that only names its circuit, the file of it."""

    document: ProofDocument
    key: KeyFile
    circuit: bytes | None = field(default=None, repr=False, kw_only=True)


@dataclass(frozen=True)
class Proof(Keyed):
    """A proof with all that judging it takes. Nothing in it is secret but ``committed``, which ``save``
    leaves out.

    ``registration``: the proof that committed weights are of their types. ``report``: what quantisation
    costs, where there were labels. ``committed``: the outputs that it published commitments to, by their
    names, "output" of an only one: for their owner. ``differences``: how far the model, its file and the
    integers were apart, which the prover saw and nothing proves. ``schema``: what the columns and classes of
    the model's table are called, which nothing proves either.
    """

    registration: Keyed | None = None
    report: Report | None = field(default=None, compare=False)
    committed: Mapping[str, Committed] = field(default_factory=dict, repr=False, compare=False)
    differences: tuple[Difference, ...] = field(default=(), compare=False)
    schema: TableSchema | None = field(default=None, compare=False)

    @property
    def statement(self) -> Statement:
        """The statement that is proven: ``claim`` in words, ``values`` as integers."""
        return self.document.statement

    @property
    def shown(self) -> dict[str, float | NDArray[Any]]:
        """The values that the proof shows, by name: a label, a list of labels, outputs or the input in their
        shape, real numbers if the key gives their scale, and the counts of an accuracy."""
        values: Mapping[str, Any] = self.statement.values
        groups = checked(Description, self.key.circuit).public_inputs
        reals = {group.name: _real(group, values[group.name]) for group in groups if group.name in values}
        return reals | {name: counts for name, counts in values.items() if name not in reals}

    @property
    def answer(self) -> dict[str, Any]:
        """The values of ``shown``, with labels by their names in the model's table, and a row that is shown
        by its columns.

        Keys are kinds (``label``, ``values``, ``input``), or names if there are several values of a kind.
        """
        groups = {group.name: group for group in checked(Description, self.key.circuit).public_inputs}
        kinds = Counter(group.kind for name, group in groups.items() if name in self.shown)
        return {
            self._key(groups.get(name), name, kinds): self._called(groups[name], said)
            if name in groups
            else said
            for name, said in self.shown.items()
        }

    @staticmethod
    def _key(group: Group | None, name: str, kinds: Mapping[str, int]) -> str:
        return group.kind if group and kinds[group.kind] == 1 else name

    def _called(self, group: Group, said: float | NDArray[Any]) -> Any:
        if self.schema is None:
            return said
        match group.kind:
            case "label":
                return self.schema.class_name(float(said)) or said
            case "top":
                return [self.schema.class_name(float(each)) or each for each in np.ravel(said)]
            case "input" if self.schema.columns:
                return self.schema.read(said, group.scale)
        return said

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write what ``zenserve-verify`` takes into the folder, which is made: ``proof.json`` and
        ``key.json``; with committed weights ``registration.json`` and ``registration_key.json``, too; of a
        system without a setup the circuits of both, ``circuit.zen`` and ``registration_circuit.zen``; of a
        model of a table ``table.json``, what its columns and classes are called.
        """
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        _write(place, PROOF, self)
        if self.registration:
            _write(place, REGISTRATION, self.registration)
        if self.schema:
            (place / TABLE).write_text(self.schema.to_file())


def _real(group: Group, said: int | list[int]) -> float | NDArray[Any]:
    integers = as_list(said)
    reals = np.reshape(group.real(integers) or integers, group.shape)
    return reals if group.shape else reals.item()


def verify(
    proof: Proof | str | os.PathLike[str],
    *,
    opening: OpeningFile | str | os.PathLike[str] | None = None,
    dataset: tuple[Any, Any] | None = None,
    **expected: Any,
) -> Verification:
    """The verdict on a proof, or on the folder that one was saved in: whether it is ``valid``, and in
    sentences what is verified and what is not.

    ``opening``: what shows the outputs that it commits to (``Committed.opened``), or the file of that.
    ``dataset``: the samples [n, …] and the labels int[n], or targets, that it is to be about.
    ``expected``: what is known from elsewhere, by the fields of ``zenserve.verifier.documents.Expected``:
    ``key``, ``network``, ``model``, ``challenge``, ``at_least`` and others. A folder's key is whoever's who
    filled it:
    compare ``key``, the id of one that you trust. Raises ``FileFormatError``, ``OSError``.
    """
    if not isinstance(proof, Proof):
        proof = _load(Path(proof))
    registration = None
    if beside := proof.registration:
        registration = Registration(beside.document, _opened(beside))
    if opening is not None and not isinstance(opening, OpeningFile):
        opening = _document(OpeningFile, Path(opening))
    data = None
    if dataset is not None:
        data = LabelledData.compared(*dataset, checked(Description, proof.key.circuit).measure)
    known = Known(dataset=data, openings=opening, registration=registration)
    case = Case(proof.document, _opened(proof), checked(Expected, expected), known)
    return judge_each([case])[0]


def _opened(made: Keyed) -> OpenedKey:
    key = opened(made.key, SYSTEMS)
    if made.circuit is not None:
        key.system.take_circuit(made.circuit)
    return key


def _write(folder: Path, names: tuple[str, str, str], made: Keyed) -> None:
    documents: tuple[Document, Document] = made.document, made.key
    *named, circuit = names
    for name, document in zip(named, documents, strict=True):
        (folder / name).write_text(document.model_dump_json(indent=1) + "\n")
    if made.circuit is not None:
        (folder / circuit).write_bytes(made.circuit)


def _load(folder: Path) -> Proof:
    proof, registration = _read(folder, PROOF), None
    if (folder / REGISTRATION[0]).exists():
        registration = _read(folder, REGISTRATION)
    return Proof(proof.document, proof.key, registration, circuit=proof.circuit)


def _read(folder: Path, names: tuple[str, str, str]) -> Keyed:
    document, key, circuit = (folder / name for name in names)
    beside = circuit.read_bytes() if circuit.exists() else None
    return Keyed(_document(ProofDocument, document), _document(KeyFile, key), circuit=beside)


def _document(kind: type[DocumentKind], file: Path) -> DocumentKind:
    with naming(file):
        return read(kind, file.read_bytes())
