"""Endpoints of models, commitments, datasets, proofs and uploads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Literal, TypeVar, Unpack

from zenserve.client.calls import (
    Calls,
    content_of,
    delete,
    get,
    mapping_of,
    new_key,
    pairs,
    patch,
    post,
    post_form,
    wrong_type,
)
from zenserve.client.errors import UnreachableError
from zenserve.client.flows import Flow, Request, Stream, endpoint, listing
from zenserve.client.resources import (
    Commitment,
    ContractCall,
    Dataset,
    DryRun,
    InputFields,
    Model,
    Proof,
    ProofFields,
    State,
    read,
)
from zenserve.verifier.schemes import (
    CommitmentKind,
    Measure,
    Norm,
    PublicOrCommitted,
    PublicOrPrivate,
    Reveal,
    Scheme,
)

T = TypeVar("T")

LARGE_FILE_BYTES: Final = 8 << 20
"""Larger files are uploaded ahead of the request, under their hash: none of them twice."""


class Proving(Calls):
    """Endpoints for models, commitments, datasets and proofs."""

    @endpoint
    def create_model(
        self,
        onnx: bytes,
        calibration: bytes,
        *,
        calibration_labels: bytes | None = None,
        name: str = "unnamed",
        system: str | None = None,
        weight_privacy: PublicOrCommitted | None = None,
        bits: int | Literal["auto"] = 8,
        weight_bits: int | None = None,
        max_loss: float | None = None,
        ranges: Mapping[str, tuple[int, int]] | None = None,
        sizes: Mapping[str, int] | None = None,
        parent_id: str | None = None,
        input_from: str | None = None,
        labels: Mapping[str, str] | None = None,
        require_ceremony: bool | None = None,
        saturate: bool | None = None,
        accept_difference: bool | None = None,
        idempotency_key: str | None = None,
    ) -> Flow[Model]:
        """Register a network. ``weight_privacy``: ``committed``, hidden behind a commitment, unless
        ``public`` is asked for or the network has no weights; the model says which. ``calibration`` are
        typical inputs, a file as docs/inputs.md has them; with ``calibration_labels``, one for each, the
        model's ``report`` has accuracies, too. ``bits``: of tensors and weights, or ``auto`` for as few as a
        loss of ``max_loss`` percent allows. ``parent_id``: the model that this is a new version of.
        ``input_from``: the model whose output is to be its input, of several outputs ``MODEL/NAME``.
        ``system``: the proof system, the service's own choice where none is named. ``labels``: what to find
        it by in lists. ``ranges``: the least and the largest integer of inputs of integers, where that is
        more than calibration shows. ``sizes``: of dimensions that the file only names. ``require_ceremony``:
        use keys of a ceremony alone. ``saturate``: take inputs beyond the calibration as the ends of its
        range, which are refused otherwise. ``accept_difference``: take the network although its file or its
        integers give other answers than its float network, beyond tolerance.
        """
        fields = {
            "name": name,
            "system": system,
            "weight_privacy": weight_privacy,
            "bits": bits,
            "weight_bits": weight_bits,
            "max_loss": max_loss,
            "range": pairs(_ends(ranges), "ranges"),
            "shape": pairs(sizes, "sizes"),
            "parent_id": parent_id,
            "input_from": input_from,
            "label": pairs(labels),
            "require_ceremony": require_ceremony,
            "saturate": saturate,
            "accept_difference": accept_difference,
        }
        files = {"model": onnx, "calibration": calibration}
        if calibration_labels is not None:
            files["calibration_labels"] = calibration_labels
        return self._submit_files(Model, "models", files, fields, idempotency_key)

    @endpoint
    def create_twin(
        self,
        model_id: str,
        system: str,
        *,
        labels: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> Flow[Model]:
        """Register a model's network under another proof system, too: a model of its own, its twin."""
        body = {"system": system, "labels": mapping_of("labels", labels) or None}
        key = idempotency_key or new_key()
        return self._read(Model, post("models", model_id, "twins", body=body, idempotency_key=key))

    @endpoint
    def get_model(self, model_id: str) -> Flow[Model]:
        """A model by its id, or as ``NAME``, ``NAME@VERSION``, ``NAME@latest``, and how far its registration
        is. All that takes a ``model_id`` takes these names: without a version the newest that is registered.
        """
        return self._read(Model, get("models", model_id))

    @listing
    def models(
        self,
        *,
        state: State | None = None,
        name: str | None = None,
        labels: Mapping[str, str] | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
    ) -> Stream[Model]:
        """The tenant's models, the newest first; of one ``name`` all versions; with ``labels``, those that
        have all of them."""
        return self._pages(
            Model,
            "models",
            state=state,
            name=name,
            label=pairs(labels),
            created_after=created_after,
            created_before=created_before,
        )

    @endpoint
    def get_receipt(self, model_id: str) -> Flow[dict[str, Any]]:
        """The service's signed receipt for the registration."""
        return self._json(get("models", model_id, "receipt"))

    @endpoint
    def get_registration(self, model_id: str) -> Flow[dict[str, Any]]:
        """The proof document of the registration of a model with committed weights."""
        return self._json(get("models", model_id, "registration"))

    @endpoint
    def get_architecture(self, model_id: str) -> Flow[bytes]:
        """The network that the model's circuits are compiled from, committed weights and biases blanked."""
        response = yield from self._good(get("models", model_id, "architecture"))
        return response.content

    @endpoint
    def get_report(self, model_id: str) -> Flow[bytes]:
        """The report on the quantisation, with plots: one page of HTML."""
        response = yield from self._good(get("models", model_id, "report"))
        return response.content

    @endpoint
    def change_model(self, model_id: str, *, require_ceremony: bool) -> Flow[Model]:
        """Say whether proofs of a model are made with keys of a ceremony alone."""
        return self._read(Model, patch("models", model_id, body={"require_ceremony": require_ceremony}))

    @endpoint
    def cancel_model(self, model_id: str) -> Flow[Model]:
        """Stop a registration that is queued or running."""
        return self._cancel(Model, model_id)

    @endpoint
    def retry_model(self, model_id: str) -> Flow[Model]:
        """Take a registration up again that failed."""
        return self._retry(Model, model_id)

    @endpoint
    def delete_model(self, model_id: str) -> Flow[None]:
        """Forget a network. Proofs of it that are done stay valid."""
        return self._done(delete("models", model_id))

    @endpoint
    def create_commitment(
        self,
        model_id: str,
        kind: CommitmentKind,
        values: Any,
        *,
        name: str | None = None,
        idempotency_key: str | None = None,
    ) -> Flow[Commitment]:
        """Commit to ``values``, an input of the model, of several that of this ``name``; for kind
        ``reference``, to the embedding of it."""
        body = {"model_id": model_id, "kind": kind, "values": values, "name": name}
        key = idempotency_key or new_key()
        return self._read(Commitment, post("commitments", body=body, idempotency_key=key))

    @endpoint
    def get_commitment(self, commitment_id: str) -> Flow[Commitment]:
        """A commitment, without what it is to."""
        return self._read(Commitment, get("commitments", commitment_id))

    @listing
    def commitments(
        self,
        *,
        model_id: str | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
    ) -> Stream[Commitment]:
        """The tenant's commitments, the newest first."""
        return self._pages(
            Commitment,
            "commitments",
            model_id=model_id,
            created_after=created_after,
            created_before=created_before,
        )

    @endpoint
    def get_commitment_opening(self, commitment_id: str) -> Flow[dict[str, Any]]:
        """The opening of the commitment, for those who know the values. As secret as the values."""
        return self._json(get("commitments", commitment_id, "opening"))

    @endpoint
    def delete_commitment(self, commitment_id: str) -> Flow[None]:
        """Forget the values and what opens the commitment."""
        return self._done(delete("commitments", commitment_id))

    @endpoint
    def create_dataset(
        self,
        model_id: str,
        samples: bytes,
        labels: bytes | None = None,
        *,
        targets: bytes | None = None,
        output: str | None = None,
        privacy: PublicOrPrivate,
        name: str = "unnamed",
        measure: Measure | None = None,
        shard_size: int | None = None,
        job_labels: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> Flow[Dataset]:
        """Add samples for a model: files as docs/inputs.md has them, of several inputs one with an array for
        each. ``labels``: the samples' classes, unless their file has them; or ``targets``, what the network
        should say of them. ``output``: of which of several outputs these are, where more than one could be
        meant. ``shard_size``: samples in one proof, by default as many as fit the service's memory when
        ``measure`` is proven of them, or accuracy, or r2. ``job_labels``: what to find it by in lists, as the
        ``labels`` of models and proofs.
        """
        fields = {
            "model_id": model_id,
            "privacy": privacy,
            "name": name,
            "output": output,
            "measure": measure,
            "shard_size": shard_size,
            "label": pairs(job_labels),
        }
        others = {"labels": labels, "targets": targets}
        files = {"samples": samples} | {name: file for name, file in others.items() if file is not None}
        return self._submit_files(Dataset, "datasets", files, fields, idempotency_key)

    @endpoint
    def get_dataset(self, dataset_id: str) -> Flow[Dataset]:
        """A dataset: its size and its shards' commitments."""
        return self._read(Dataset, get("datasets", dataset_id))

    @listing
    def datasets(
        self,
        *,
        state: State | None = None,
        labels: Mapping[str, str] | None = None,
        model_id: str | None = None,
        name: str | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
    ) -> Stream[Dataset]:
        """The tenant's datasets, the newest first; with ``labels``, those that have all of them;
        ``name``: the dataset's own."""
        return self._pages(
            Dataset,
            "datasets",
            state=state,
            name=name,
            label=pairs(labels),
            model_id=model_id,
            created_after=created_after,
            created_before=created_before,
        )

    @endpoint
    def get_dataset_opening(self, dataset_id: str) -> Flow[dict[str, Any]]:
        """The openings of the shards' commitments, for holders of the dataset. As secret as the dataset."""
        return self._json(get("datasets", dataset_id, "opening"))

    @endpoint
    def cancel_dataset(self, dataset_id: str) -> Flow[Dataset]:
        """Stop committing to a dataset."""
        return self._cancel(Dataset, dataset_id)

    @endpoint
    def retry_dataset(self, dataset_id: str) -> Flow[Dataset]:
        """Take a dataset up again that failed."""
        return self._retry(Dataset, dataset_id)

    @endpoint
    def delete_dataset(self, dataset_id: str) -> Flow[None]:
        """Forget the samples and what opens their commitments. Refused while a job needs them."""
        return self._done(delete("datasets", dataset_id))

    @endpoint
    def create_proof(
        self,
        model_id: str,
        values: Any = None,
        *,
        scheme: Scheme = "inference",
        system: str | None = None,
        input_id: str | None = None,
        input_privacy: PublicOrPrivate | None = None,
        inputs: Mapping[str, InputFields] | None = None,
        reveal: Reveal | None = None,
        outputs: Mapping[str, Reveal] | None = None,
        top: int | None = None,
        at_least: float | Mapping[str, float] | None = None,
        at_most: float | Mapping[str, float] | None = None,
        bounds: Sequence[float] | Mapping[str, Sequence[float]] | None = None,
        reference: Any = None,
        reference_id: str | None = None,
        threshold: int | None = None,
        radius: int | None = None,
        norm: Norm | None = None,
        dataset_id: str | None = None,
        measure: Measure | None = None,
        challenge: str | None = None,
        accept_difference: bool | None = None,
        fold_inputs: bool | None = None,
        labels: Mapping[str, str] | None = None,
        priority: int | None = None,
        deadline_seconds: float | None = None,
        expires_in_days: int | None = None,
        idempotency_key: str | None = None,
    ) -> Flow[Proof]:
        """Ask for a proof about ``values``, a nested list of numbers, or about what other fields name.
        ``system``: the model's own proof system, unless another is named, that a twin of it is of.

        Inference takes ``values`` with ``input_privacy``, or ``input_id``; ``reveal`` and ``top``. Of a
        network of several inputs or outputs it takes ``inputs`` by their names, each with ``values`` and
        ``privacy`` or with the ``id`` of a commitment, and ``outputs``, what is shown of those it names. With
        ``reveal`` ``threshold`` it takes ``at_least`` or ``at_most``, with ``range`` ``bounds``, all in the
        outputs' own units, of several outputs by their names: the values stay hidden.
        Recognition takes the same input, ``threshold``, and ``reference`` or ``reference_id``; robustness,
        too, and ``radius``, how far each entry may be changed, in its integers' steps, or, with ``norm`` "2",
        all of them, squared and added up. Accuracy takes ``dataset_id``, ``measure``, and with ``top-k``
        ``top``, with ``certified`` ``radius`` and ``norm``. Of an input ``accept_difference`` proves the
        integers' answer although the float network's is another. Inference takes ``fold_inputs``, which
        spares contracts gas (docs/onchain.md). All take ``challenge``, a text to appear in
        the statement; ``labels``, what to find it by in lists; ``priority``, -10 to 10; ``deadline_seconds``,
        after which the job is given up; ``expires_in_days``, after which the proof is deleted (docs/api.md).
        """
        body = {
            "model_id": model_id,
            "system": system,
            "scheme": scheme,
            "input": values,
            "input_id": input_id,
            "input_privacy": input_privacy,
            "inputs": inputs,
            "reveal": reveal,
            "outputs": outputs,
            "top": top,
            "at_least": at_least,
            "at_most": at_most,
            "bounds": bounds,
            "reference": reference,
            "reference_id": reference_id,
            "threshold": threshold,
            "radius": radius,
            "norm": norm,
            "dataset_id": dataset_id,
            "measure": measure,
            "challenge": challenge,
            "accept_difference": accept_difference,
            "fold_inputs": fold_inputs,
            "labels": mapping_of("labels", labels) or None,
            "priority": priority,
            "deadline_seconds": deadline_seconds,
            "expires_in_days": expires_in_days,
        }
        return self._read(Proof, post("proofs", body=body, idempotency_key=idempotency_key or new_key()))

    @endpoint
    def dry_run(self, model_id: str, values: Any = None, **fields: Unpack[ProofFields]) -> Flow[DryRun]:
        """Tell what a proof would show and cost, and whether it could be made: ``create_proof`` without
        making anything.

        The service executes the network and checks the witness against every constraint.
        """
        body = {"model_id": model_id, "input": values, **fields}
        return self._read(DryRun, post("proofs", body=body, prefer="dry-run", repeatable=True))

    @endpoint
    def get_proof(self, proof_id: str) -> Flow[Proof]:
        """A proof, and how far it is."""
        return self._read(Proof, get("proofs", proof_id))

    @listing
    def proofs(
        self,
        *,
        state: State | None = None,
        labels: Mapping[str, str] | None = None,
        model_id: str | None = None,
        name: str | None = None,
        scheme: Scheme | None = None,
        frames: bool = False,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
    ) -> Stream[Proof]:
        """The tenant's proofs, the newest first; with ``labels``, those that have all of them; ``name``: of
        models of this name, in all versions; ``frames``: of streams, too."""
        return self._pages(
            Proof,
            "proofs",
            state=state,
            name=name,
            label=pairs(labels),
            model_id=model_id,
            scheme=scheme,
            frames=frames or None,
            created_after=created_after,
            created_before=created_before,
        )

    @listing
    def events(self, proof_id: str) -> Stream[Proof]:
        """The proof as it changes, until it is over, however long that takes."""
        proof = yield from self._read(Proof, get("proofs", proof_id))
        yield from self._follow(proof, float("inf"))

    @endpoint
    def get_proof_document(self, proof_id: str) -> Flow[dict[str, Any]]:
        """The portable proof."""
        return self._json(get("proofs", proof_id, "proof"))

    @endpoint
    def get_calldata(self, proof_id: str) -> Flow[list[ContractCall]]:
        """The calls to the contract of the proof's key: one for each shard."""
        answer = yield from self._json(get("proofs", proof_id, "calldata"))
        return [read(ContractCall, call) for call in answer["calls"]]

    @endpoint
    def cancel(self, proof_id: str) -> Flow[Proof]:
        """Stop a proof that is queued or running. Canceling again is no error."""
        return self._cancel(Proof, proof_id)

    @endpoint
    def retry(self, proof_id: str) -> Flow[Proof]:
        """Take a proof up again that failed, while its input is still kept."""
        return self._retry(Proof, proof_id)

    @endpoint
    def delete_proof(self, proof_id: str) -> Flow[None]:
        """Delete a proof that is over, and its document with it."""
        return self._done(delete("proofs", proof_id))

    @endpoint
    def upload(self, content: bytes) -> Flow[str]:
        """Bring a file, unless the service has it: its SHA-256, by which later requests may name it."""
        return self._upload(content_of("content", content))

    @endpoint
    def delete_upload(self, sha256: str) -> Flow[None]:
        """Forget a file that was brought and not used."""
        return self._done(delete("uploads", sha256))

    @endpoint
    def is_ready(self) -> Flow[bool]:
        """Return whether the service answers and can do its work. One request, without retries."""
        try:
            response = yield Request("GET", "/readyz")
        except UnreachableError:
            return False
        return bool(response.is_success)

    def _submit_files(
        self,
        kind: type[T],
        place: str,
        files: Mapping[str, bytes],
        fields: Mapping[str, Any],
        idempotency_key: str | None,
    ) -> Flow[T]:
        small: dict[str, bytes] = {}
        named: dict[str, str] = {}
        for name, file in files.items():
            content = content_of(name, file)
            if len(content) > LARGE_FILE_BYTES:
                named[f"{name}_sha256"] = yield from self._upload(content)
            else:
                small[name] = content
        form = post_form(place, small, {**fields, **named}, idempotency_key or new_key())
        return (yield from self._read(kind, form))


def _ends(ranges: Mapping[str, tuple[int, int]] | None) -> dict[str, str]:
    """As ``LEAST:MOST``. Raises ``RequestError``."""
    try:
        return {name: f"{least}:{most}" for name, (least, most) in mapping_of("ranges", ranges).items()}
    except (TypeError, ValueError):
        raise wrong_type("ranges", "two integers for each name", ranges) from None
