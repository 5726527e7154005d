"""Proofs as they are handed on, in memory or in a folder, and the verdict on them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from circuits.quantisation import Report
from prover.registry import SYSTEMS
from verifier.documents import (
    Description,
    Document,
    DocumentKind,
    Expected,
    KeyFile,
    ProofDocument,
    Statement,
    checked,
    read,
)
from verifier.judging import Case, Known, Registration, Verification, judge_each
from verifier.keys import opened
from zenerrors import naming

PROOF: Final = ("proof.json", "key.json")
REGISTRATION: Final = ("registration.json", "registration_key.json")


@dataclass(frozen=True)
class Keyed:
    """A proof's document, and its key."""

    document: ProofDocument
    key: KeyFile


@dataclass(frozen=True)
class Proof(Keyed):
    """A proof with all that judging it takes. Nothing in it is secret.

    ``registration``: the proof that committed weights are of their types. ``report``: what quantisation
    costs, where there were labels.
    """

    registration: Keyed | None = None
    report: Report | None = field(default=None, compare=False)

    @property
    def statement(self) -> Statement:
        """What is proven: ``claim`` in words, ``values`` as integers."""
        return self.document.statement

    @property
    def shown(self) -> dict[str, int | NDArray[Any]]:
        """What the proof shows by name: a label, a list of labels, and outputs or the input in their shape,
        real numbers where the key says their scale.
        """
        values: Mapping[str, Any] = self.statement.values
        groups = checked(Description, self.key.circuit).public_inputs
        return {
            group.name: np.reshape(group.real(values[group.name]) or values[group.name], group.shape)
            if group.shape
            else values[group.name]
            for group in groups
            if group.name in values
        }

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write what ``zenserve-verify`` takes into the folder, which is made: ``proof.json`` and
        ``key.json``; with committed weights ``registration.json`` and ``registration_key.json``, too.
        """
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        _write(place, PROOF, self)
        if self.registration:
            _write(place, REGISTRATION, self.registration)


def verify(proof: Proof | str | os.PathLike[str], **expected: str) -> Verification:
    """The verdict on a proof, or on the folder that one was saved in: whether it is ``valid``, and in
    sentences what is verified and what is not.

    ``expected``: what is known from elsewhere, by the fields of ``verifier.documents.Expected``: ``key``,
    ``network``, ``model``, ``challenge`` and others. A folder's key is whoever's who filled it: compare
    ``key``, the id of one that you trust. Raises ``FileFormatError``, ``OSError``.
    """
    if not isinstance(proof, Proof):
        proof = _load(Path(proof))
    registration = None
    if beside := proof.registration:
        registration = Registration(beside.document, opened(beside.key, SYSTEMS))
    known = Known(registration=registration)
    case = Case(proof.document, opened(proof.key, SYSTEMS), checked(Expected, expected), known)
    return judge_each([case])[0]


def _write(folder: Path, names: tuple[str, str], made: Keyed) -> None:
    documents: tuple[Document, Document] = made.document, made.key
    for name, document in zip(names, documents, strict=True):
        (folder / name).write_text(document.model_dump_json(indent=1) + "\n")


def _load(folder: Path) -> Proof:
    proof, registration = _read(folder, PROOF), None
    if (folder / REGISTRATION[0]).exists():
        registration = _read(folder, REGISTRATION)
    return Proof(proof.document, proof.key, registration)


def _read(folder: Path, names: tuple[str, str]) -> Keyed:
    document, key = (folder / name for name in names)
    return Keyed(_document(ProofDocument, document), _document(KeyFile, key))


def _document(kind: type[DocumentKind], file: Path) -> DocumentKind:
    with naming(file):
        return read(kind, file.read_bytes())
