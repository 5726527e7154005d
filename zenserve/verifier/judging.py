"""The judgement on a proof document: whether it is valid, what that says, and what it does not.

Nothing that a document says is believed: its words are made again from the circuit's description, its hash
from its words, and the proofs are held against that hash. A wrong document is refused for the first of these
that fails, under a name of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn, Protocol

from pydantic import Field

from zenserve.errors import TensorError
from zenserve.verifier import words
from zenserve.verifier.description import Description, InputType, as_list
from zenserve.verifier.documents import (
    Dataset,
    KeyFile,
    KeyReference,
    OpeningFile,
    OpeningPart,
    ProofDocument,
    Statement,
)
from zenserve.verifier.expected import Ends, Expected
from zenserve.verifier.fields import Document, Opening, canonical
from zenserve.verifier.keys import OpenedKey, opened
from zenserve.verifier.measures import Targets
from zenserve.verifier.registry import SYSTEMS, Systems
from zenserve.verifier.schemes import INPUT, OUTPUT, kind_of
from zenserve.verifier.system import TRANSPARENT, Claim, Flaw
from zenserve.verifier.verdict import LINK_MISMATCH, OK, SUM_MISMATCH, RefusedError, Verdict, refuse

if TYPE_CHECKING:
    from zenserve.verifier.table import TableSchema

REASONS: Final[dict[str, str]] = {
    "proof_count": "There are more or fewer proofs than the statement takes.",
    "statement_edited": "The statement is not the one whose SHA-256 the file gives: one of them was changed.",
    "system_mismatch": "The statement is of another proof system than the key.",
    "key_mismatch": "The document names another verification key than this one.",
    "setup_mismatch": "Nothing shows that the key's secrets are of a ceremony.",
    "network_mismatch": "The statement names another network than the key's circuit.",
    "values_mismatch": "The statement's values are not such as the key's circuit has.",
    "words_mismatch": "The statement's words are not those for its values under this key.",
    "time_mismatch": "The statement was made, as it says, at another time than the expected one.",
    "challenge_mismatch": "The statement answers another challenge than the expected one.",
    "model_mismatch": "The proof is not about the model of this commitment.",
    "input_mismatch": "The proof is not about this input.",
    "output_mismatch": "Nothing shows that the output is as expected.",
    "reference_mismatch": "The proof is not about the reference of this commitment.",
    "dataset_mismatch": "The proof is not about this dataset.",
    "correct_mismatch": "A shard's count is not the one that its commitment is to.",
    "shard_missing": "The shards are not the whole dataset, or not each has a proof.",
    "shard_repeated": "A shard is counted twice.",
    "registration_mismatch": "The registration is not valid, or another model's.",
    "total_mismatch": "The shards' counts do not add up to the claimed total.",
}
"""Every reason that ``judge`` gives by itself, with a sentence. Others are the proof system's."""


class LabelledData(Protocol):
    """``zenserve.verifier.datasets.LabelledData``: what judging asks of a dataset."""

    @property
    def sha256(self) -> bytes: ...

    @property
    def size(self) -> int: ...

    def in_order(self, names: Sequence[str | None]) -> LabelledData: ...

    def shard_values(
        self, kinds: Sequence[InputType], batch: int, classes: int, target: Targets | None = None
    ) -> Iterator[list[int]]: ...


class Verification(Document):
    """The verdict: ``reason`` is a key of ``REASONS``, or one of the proof system's. ``statement`` is null
    where the proof is not valid.

    ``verified`` and ``not_verified`` say in sentences what a reader may and may not rely on: nothing at all
    where it is not valid.
    """

    valid: bool = Field(description="Whether the proof convinces.", examples=[True])
    reason: str = Field(description="Stable; `ok`, or why it does not convince.", examples=["ok"])
    detail: str = Field(description="The same for people.", examples=["the proof is valid"])
    remedy: str | None = Field(
        description="What to do about a proof that is not valid, where that is more than to distrust it.",
        examples=['The proof answers no challenge. Ask for a proof that answers "for Ada".'],
    )
    named: list[str] = Field(
        description="In sentences, what is shown by the names of a table's classes and columns, which nothing"
        " proves; empty where it is not valid, or no table was given.",
        examples=[['The label is called "approve".']],
    )
    verified: list[str] = Field(
        description="In sentences, what a reader may rely on; empty where it is not valid.",
        examples=[["The label is 7."]],
    )
    not_verified: list[str] = Field(
        description="In sentences, what a reader may not rely on.",
        examples=[["Who made the input, and when."]],
    )
    verification_key: KeyReference = Field(
        description="The key that it was verified with: is it one that you trust?"
    )
    statement: Statement | None = Field(description="What was proven; null where it is not valid.")


@dataclass(frozen=True)
class Known:
    """The data that the verifier holds beside the document, to be compared with what was proven.

    ``input``: its integers, row-major (``datasets.quantise``), or those of several inputs by their names;
    ``openings``: of the commitments to the inputs, to a private ``dataset``'s shards, or to outputs, whose
    values they contain; ``registration``: of the committed model; ``table``: the names of columns and
    classes.
    """

    input: Sequence[int] | Mapping[str, Sequence[int]] | None = None
    dataset: LabelledData | None = None
    openings: OpeningFile | None = None
    registration: Registration | None = None
    table: TableSchema | None = None

    @property
    def inputs(self) -> dict[str, Sequence[int]]:
        """By what statements call them."""
        if isinstance(self.input, Mapping):
            return {f"{INPUT}/{name}": values for name, values in self.input.items()}
        return {} if self.input is None else {INPUT: self.input}


class Registration(NamedTuple):
    """The proof that a committed model is of its types, and the key that it verifies with."""

    document: ProofDocument
    key: OpenedKey


def judge(
    document: ProofDocument,
    key_file: KeyFile,
    *,
    expected: Expected | None = None,
    known: Known | None = None,
    systems: Systems = SYSTEMS,
) -> Verification:
    """Judge whether ``document`` is valid under the key that the verifier trusts, and return the verdict with
    what it means. ``systems`` check the equations: those of the prover are faster
    (``zenserve.prover.registry``).

    Raises ``FileFormatError`` if ``key_file`` is not a key, or not the key that its id names.
    """
    case = Case(document, opened(key_file, systems), expected or Expected(), known or Known())
    return judge_each([case])[0]


def judge_each(cases: Sequence[Case]) -> list[Verification]:
    """The verdict on each case, as ``judge`` gives it. Proofs under one key are checked together, which takes
    a third of the time; where one of them is wrong, each case by itself.
    """
    answers: dict[int, Verification] = {}
    by_key: dict[tuple[str, bytes], dict[int, list[Claim]]] = {}
    for index, case in enumerate(cases):
        try:
            # Systems may have keys of one digest: what one of them verifies says nothing under another.
            by_key.setdefault((case.key.system.id, case.key.verifying.digest), {})[index] = case.claims()
        except RefusedError as refusal:
            answers[index] = case.refused(refusal)
    for claims in by_key.values():
        key = cases[next(iter(claims))].key
        flaws = key.system.verify_groups(key.verifying, [*claims.values()])
        answers |= {index: cases[index].answer(flaw) for index, flaw in zip(claims, flaws, strict=True)}
    return [answers[index] for index in range(len(cases))]


@dataclass(frozen=True)
class Case:
    """One document before the judge, and what the verifier holds beside it."""

    document: ProofDocument
    key: OpenedKey
    expected: Expected = field(default_factory=Expected)
    known: Known = field(default_factory=Known)

    @property
    def statement(self) -> Statement:
        return self.document.statement

    @property
    def circuit(self) -> Description:
        return self.key.circuit

    def claims(self) -> list[Claim]:
        """Return the claims that the proofs must show, after a check of words and numbers. Raises
        ``RefusedError`` for the first word or number that is wrong.
        """
        self._check_words()
        self._check_expected()
        shown = self.circuit.public_values(self.statement.values)
        if self.statement.dataset is None:
            return self._claims([({}, shown)])
        self._check_shards(self.statement.dataset)
        return self._claims(
            [
                ({"dataset": shard.dataset, "correct": shard.correct}, [shard.size, *shown])
                for shard in self.statement.dataset.shards
            ]
        )

    def answer(self, flaw: Flaw | None) -> Verification:
        """The answer, given the ``flaw`` of the claims."""
        try:
            if flaw is not None:
                where = f"Shard {flaw.index}: " if self.statement.dataset else ""
                reason, detail = self._named(flaw.verdict)
                refuse(reason, f"{where}{detail}")
            self._check_known()
        except RefusedError as refusal:
            return self.refused(refusal)
        return self._accepted()

    def _check_known(self) -> None:
        for name, values in self.known.inputs.items():
            self._check_input(name, values)
        for name, part in self._opened.items():
            self._check_output(name, part)
        if self.known.dataset is not None:
            self._check_dataset(self.known.dataset)
        if self.known.registration is not None:
            self._check_registration(self.known.registration)

    def refused(self, refusal: RefusedError) -> Verification:
        return Verification(
            valid=False,
            reason=refusal.reason,
            detail=refusal.detail or REASONS[refusal.reason],
            remedy=refusal.remedy,
            named=[],
            verified=[],
            not_verified=[],
            verification_key=self.key.reference,
            statement=None,
        )

    def _accepted(self) -> Verification:
        checked = {*(name for name, value in self.expected if value is not None), *self.expected.commitments}
        given = [*self.known.inputs, *(["dataset"] if self.known.dataset is not None else [])]
        registration = self.known.registration and words.Registered(
            self.known.registration.document.statement, self.known.registration.key.shows_ceremony
        )
        types = self.circuit.quantisation.output_types
        opened = {name: words.opens_to(types[name], part.values or []) for name, part in self._opened.items()}
        table = self.known.table
        seen = words.Seen(checked, given, opened, self.key.shows_ceremony, registration, table)
        return Verification(
            valid=True,
            reason=OK,
            detail="The proof is valid, and it proves what the statement says.",
            remedy=None,
            named=words.called(self.circuit, self.statement.values, table) if table else [],
            verified=words.verified(self.statement, seen),
            not_verified=words.not_verified(self.statement, seen),
            verification_key=self.key.reference,
            statement=self.statement,
        )

    def _check_words(self) -> None:
        said = self.statement
        if self.document.statement_sha256 != said.sha256.hex():
            refuse("statement_edited")
        if said.proof_system.id != self.key.system.id:
            refuse(
                "system_mismatch",
                f"The statement is of {said.proof_system.id}, and the key of {self.key.system.id}.",
            )
        if said.verification_key != self.key.reference:
            refuse("key_mismatch", *self._wrong_key())
        if said.network != self.circuit.network:
            refuse("network_mismatch")
        if said.scheme != self.circuit.scheme:
            refuse("words_mismatch", f"The key is for the scheme {self.circuit.scheme}.")
        try:
            self.circuit.public_values(said.values)
        except ValueError as error:
            refuse("values_mismatch", f"In the statement, {error}.")
        if said.claim != words.claim(self.circuit, said.values):
            refuse("words_mismatch", "The claim is not what the values mean under this key.")
        key, saturates = self.key, bool(said.saturates)
        if said.does_not_say != words.does_not_say(
            key.system, self.circuit, key.verifying.setup, said.dataset, said.parent, saturates=saturates
        ):
            refuse("words_mismatch", "does_not_say is not what a proof under this key leaves open.")
        outside = [name for name in self.circuit.commitments if name not in ("dataset", "correct")]
        if sorted(said.commitments) != sorted(outside):
            refuse("commitment_count", f"The commitments must be {', '.join(outside) or 'none'}.")

    def _wrong_key(self) -> tuple[str, str]:
        """The detail, and the remedy."""
        named, given = self.statement.verification_key.id, self.key.reference.id
        if named == given:
            return (
                "The document names another setup of the key than the key itself.",
                "The ids are the same, and the setups are not. Have both files again from whoever made them.",
            )
        return (
            f"The document names the key {named}, and the one given is {given}. From whom you trust:"
            f" zenserve key get {named} -o key.json",
            f"{_IDS_COMPARED} Give the file of the key that the proof names. {_where_the_key_is(named)} If"
            " you do not know that key, ask somebody whom you trust whether its id is right.",
        )

    def _check_expected(self) -> None:
        wanted, said = self.expected, self.statement
        key, setup = self.key.reference.id, self.key.reference.setup
        if wanted.key not in (None, key):
            refuse(
                "key_mismatch",
                f"The key is {key}, and the expected one {wanted.key}.",
                f"{_IDS_COMPARED} The proof names the key of the file that you gave, and you expect another:"
                " ask for a proof under the key that you expect, and give its file."
                f" {_where_the_key_is(wanted.key)}",
            )
        if wanted.require and not (self.key.shows_ceremony or setup == TRANSPARENT):
            refuse("setup_mismatch", f"The key's setup is {setup}, and its file shows no ceremony.")
        if wanted.network not in (None, said.network):
            refuse(
                "network_mismatch", f"The network is {said.network}, and the expected one {wanted.network}."
            )
        if wanted.challenge not in (None, said.challenge):
            refuse("challenge_mismatch", remedy=_answered(said.challenge, wanted.challenge))
        for name, commitment in wanted.commitments.items():
            if commitment != said.commitments.get(name):
                refuse(
                    f"{kind_of(name)}_mismatch",
                    f"The statement is not about the expected commitment to the {name.replace('/', ' ')}.",
                )
        for name, number in _by_output(wanted.at_least):
            if not self._shows(name, number, math.inf):
                refuse("output_mismatch", _unshown(name, "at least", number))
        for name, number in _by_output(wanted.at_most):
            if not self._shows(name, -math.inf, number):
                refuse("output_mismatch", _unshown(name, "at most", number))
        if not wanted.spans(said.made_at):
            refuse("time_mismatch", f"The statement says that it was made at {said.made_at}.")

    def _shows(self, output: str, low: float, high: float) -> bool:
        """Return whether the statement shows that the output's values lie between ``low`` and ``high``."""
        ends = self.circuit.ends(self.statement.values, output)
        return bool(ends) and all(low <= least and most <= high for least, most in ends)

    def _check_shards(self, dataset: Dataset) -> None:
        """Check that the shards are of samples for this model, that each occurs once, and that their counts
        add up to the claimed totals. Raises ``RefusedError``.
        """
        if dataset.picked_for != self.statement.commitments.get("model"):
            refuse("dataset_mismatch", "The samples were picked for another model.")
        shards, batch = dataset.shards, self.circuit.batch or 0
        full, last = shards[:-1], shards[-1]
        if any(shard.size != batch for shard in full) or last.size > batch:
            refuse("shard_missing", f"Each shard but the last must have {batch} samples.")
        if sum(shard.size for shard in shards) != dataset.size:
            refuse("shard_missing", f"The shards' sizes do not add up to {dataset.size}.")
        if len(self.document.proofs) != len(shards):
            refuse("shard_missing", f"There are {len(self.document.proofs)} proofs for {len(shards)} shards.")
        for name in ("dataset", "correct"):
            if len({getattr(shard, name) for shard in shards}) != len(shards):
                refuse("shard_repeated", f"Two shards have the same commitment {name}.")
        totals = self._totals(dataset)
        counts = [bytes.fromhex(shard.correct) for shard in shards]
        basis, blinding = self.key.verifying.basis or b"", bytes.fromhex(dataset.blinding)
        verdict = self.key.system.commitments.check_sum(basis, counts, totals, blinding)
        if not verdict:
            mismatch = verdict.reason == SUM_MISMATCH
            refuse("total_mismatch" if mismatch else verdict.reason, "" if mismatch else verdict.detail)

    def _totals(self, dataset: Dataset) -> list[int]:
        """Return the claimed totals over all shards, after a check that so many samples can add up to them:
        the sums are then far below the field's order, so none wraps around. Raises ``RefusedError``."""
        values, size = self.statement.values, dataset.size
        totals = [
            (count, total)
            for count in self.circuit.measurement.counts
            for total in as_list(values[count.name])
        ]
        possible = all(size * count.least <= total <= size * count.most for count, total in totals)
        if values["size"] != size or not possible:
            refuse("total_mismatch", "The claimed numbers are not those of the dataset.")
        return [total for _, total in totals]

    def _claims(self, shards: Sequence[tuple[dict[str, str], list[int]]]) -> list[Claim]:
        """``shards``: of each proof the commitments beside those that all have, and what it shows."""
        if len(self.document.proofs) != len(shards):
            refuse("proof_count", f"There must be one proof, not {len(self.document.proofs)}.")
        claims, statement = [], self.statement.scalar
        for proof, (own, shown) in zip(self.document.proofs, shards, strict=True):
            commitments = self.statement.commitments | own
            linked = [bytes.fromhex(commitments[name]) for name in self.circuit.commitments]
            claims.append(Claim([statement, *shown], bytes.fromhex(proof), linked))
        return claims

    def _named(self, verdict: Verdict) -> tuple[str, str]:
        """The verdict's reason and detail; of a link that fails, those of what it is to."""
        if verdict.reason != LINK_MISMATCH or verdict.index is None:
            return verdict.reason, verdict.detail
        reason = f"{kind_of(self.circuit.commitments[verdict.index])}_mismatch"
        return reason, REASONS[reason]

    def _check_input(self, name: str, values: Sequence[int]) -> None:
        kind = self.circuit.quantisation.types.get(name)
        if kind is None:
            refuse("input_mismatch", f"The network has no {name.replace('/', ' ')}.")
        # Commitments do not tell zeros at the end from nothing.
        if len(values) != math.prod(kind.shape):
            refuse("input_mismatch", "The input given is not of the network's shape.")
        match words.privacy(self.circuit, name):
            case "public":
                if self.statement.values[name] != list(values):
                    refuse("input_mismatch", "The public input is another than the one given.")
            case "committed":
                commitment = self.statement.commitments[name]
                part = self._openings("input").get(commitment)
                if part is None:
                    refuse("input_mismatch", "The opening given is not of the statement's commitment.")
                self._check_opening("input", commitment, [*kind.limbs, *values], part.opening)
            case _:
                refuse("input_mismatch", "The input is private: nothing shows which it was.")

    @property
    def _opened(self) -> dict[str, OpeningPart]:
        """The openings of the outputs, by the outputs' names in the statement. Raises ``RefusedError`` if an
        opening is of another commitment."""
        given, commitments = self.known.openings, self.statement.commitments
        if given is None or given.kind != OUTPUT:
            return {}
        parts, types = self._openings(OUTPUT), self.circuit.quantisation.output_types
        found = {name: parts[commitments[name]] for name in types if commitments[name] in parts}
        if len({part.commitment for part in found.values()}) < len(given.parts):
            refuse("output_mismatch", "The opening given is of other commitments than the statement's.")
        return found

    def _check_output(self, name: str, part: OpeningPart) -> None:
        kind, values = self.circuit.quantisation.output_types[name], part.values or []
        if not kind.holds(values):
            refuse("output_mismatch", "The opening given is not of integers of the output's type.")
        self._check_opening(OUTPUT, part.commitment, [*kind.limbs, *values], part.opening)

    def _check_dataset(self, data: LabelledData) -> None:
        dataset, circuit = self.statement.dataset, self.circuit
        if dataset is None:
            refuse("dataset_mismatch", "The proof is about no dataset.")
        kinds = [*circuit.quantisation.types.values()]
        try:
            data = data.in_order([kind.name for kind in kinds])
        except TensorError as error:
            _refuse_unfit(error)
        if dataset.sha256 is not None and dataset.sha256 != data.sha256.hex():
            refuse("dataset_mismatch", f"The given dataset has the SHA-256 {data.sha256.hex()}.")
        if dataset.size != data.size:
            refuse(
                "shard_missing", f"The dataset has {data.size} samples, the proof is about {dataset.size}."
            )
        openings = self._openings("dataset") if dataset.sha256 is None else {}
        try:
            parts = data.shard_values(kinds, circuit.batch or 0, circuit.classes or 0, circuit.targets)
            for index, (shard, values) in enumerate(zip(dataset.shards, parts, strict=True)):
                part = openings.get(shard.dataset)
                opening = shard.opening or (part.opening if part else None)
                if opening is None:
                    refuse("dataset_mismatch", f"No opening was given for the commitment to shard {index}.")
                self._check_opening("dataset", shard.dataset, values, opening)
        except TensorError as error:
            _refuse_unfit(error)

    def _check_registration(self, given: Registration) -> None:
        """Check that the registration is valid and of the model that the proof is about. Its commitment must
        be over the same basis: over another basis it would be to other numbers. Raises ``RefusedError``.
        """
        model, registered = self.statement.commitments.get("model"), given.document.statement
        if model is None or self.statement.scheme == "registration":
            refuse("registration_mismatch", "The proof rests on no registration.")
        if (registered.scheme, registered.network) != ("registration", self.statement.network):
            refuse("registration_mismatch", "What was given is no registration of this architecture.")
        if registered.commitments.get("model") != model:
            refuse("registration_mismatch", "The registration is that of another model.")
        if given.key.system.id != self.key.system.id:
            refuse("registration_mismatch", "The registration is of another proof system.")
        if given.key.verifying.basis != self.key.verifying.basis:
            refuse("registration_mismatch", "The registration's commitment is over another basis.")
        required = Expected(require=self.expected.require)
        verdict = judge_each([Case(given.document, given.key, required)])[0]
        if not verdict.valid:
            refuse("registration_mismatch", f"The registration is not valid: {verdict.detail}")

    def _openings(self, kind: str) -> dict[str, OpeningPart]:
        given = self.known.openings
        if given is None or given.kind != kind:
            refuse(f"{kind}_mismatch", f"To compare it takes the opening of the {kind}'s commitment.")
        if given.proof_system.commitments.id != self.key.system.commitments.id:
            refuse(f"{kind}_mismatch", "The opening given is of another commitment scheme.")
        return {part.commitment: part for part in given.parts}

    def _check_opening(self, kind: str, commitment: str, values: Sequence[int], opening: Opening) -> None:
        basis, scheme = self.key.verifying.basis or b"", self.key.system.commitments
        verdict = scheme.check_opening(basis, bytes.fromhex(commitment), list(values), opening)
        if not verdict:
            refuse(f"{kind}_mismatch", f"The commitment is not to what was given: {verdict.detail}")


def _refuse_unfit(error: TensorError) -> NoReturn:
    refuse("dataset_mismatch", f"The dataset does not fit the network: {error.message}.")


_IDS_COMPARED: Final = "Ids were compared: an id is the SHA-256 of a key and of what it is for."


def _where_the_key_is(key: str | None) -> str:
    return (
        f"A service that has it gives it to everybody: https://SERVICE/v1/verification-keys/{key}, or"
        f" zenserve key get {key} --url https://SERVICE -o key.json. The file may come from anybody, for its"
        " id is computed from it: what you need from somebody whom you trust is the id."
    )


def _answered(challenge: str | None, expected: str | None) -> str:
    answers = "no challenge" if challenge is None else f'"{challenge}"'
    return f'The proof answers {answers}. Ask for a proof that answers "{expected}".'


def _by_output(ends: Ends | None) -> list[tuple[str, float]]:
    """Return the expected bound of each output by name, "" for an only output."""
    return sorted(ends.items()) if isinstance(ends, dict) else [] if ends is None else [("", ends)]


def _unshown(output: str, side: str, number: float) -> str:
    which = f"output {output}" if output else "output"
    return f"Nothing shows that the {which} is {side} {canonical(number).decode()}."
