"""``zenserve proofs``, and the commands that lead to proofs."""

from __future__ import annotations

import math
from collections.abc import Collection
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

import typer

from client.errors import ClientError
from client.resources import Commitment, DryRun, Proof, ProofFields
from service.cli.answers import Answer, written
from service.cli.by_name import named, privacies
from service.cli.precision import AcceptDifference
from service.cli.samples import InputFile, MaybeInputFile, Mean, Reading, Std, taken_by
from service.cli.shared import (
    Labels,
    Limit,
    ModelId,
    OfLabels,
    OfModel,
    OfState,
    Output,
    asking,
    deleted,
    finished,
    in_a_folder,
)
from service.submissions import labels
from verifier.schemes import CommitmentKind, Measure, Norm, PublicOrPrivate, Reveal, Scheme
from zenerrors import RequestError

if TYPE_CHECKING:
    from client import Client
    from client.resources import ProofFields

app = typer.Typer(help="Look at proofs, fetch them, stop them.", no_args_is_help=True)

ProofId = Annotated[str, typer.Argument(metavar="PROOF", help="The proof's id, prf_…")]


@asking
def commit(
    service: Client,
    model_id: ModelId,
    kind: Annotated[CommitmentKind, typer.Argument(help="What the values are to be.")],
    values: InputFile,
    opening: Annotated[
        Path | None, typer.Option(help="Write to this file what opens it. As secret as the values.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Which input it is, of several.")] = None,
    mean: Mean = None,
    std: Std = None,
) -> Commitment:
    """Commit to an input of MODEL, or to a reference: what it makes of an image."""
    given = Reading(mean=mean, std=std).one(values, "values", taken_by(service, model_id))
    commitment = service.create_commitment(model_id, kind, given, name=name)
    if opening:
        written(service.get_commitment_opening(commitment.id), opening)
    return commitment


@asking
def prove(
    service: Client,
    model_id: ModelId,
    input_: MaybeInputFile = None,
    system: Annotated[
        str | None, typer.Option(help="The proof system: the model's, or that of a twin of it.")
    ] = None,
    scheme: Annotated[Scheme, typer.Option(help="What to prove.")] = "inference",
    input_id: Annotated[
        str | None,
        typer.Option("--input", help="A committed input, cmt_…; of several NAME=cmt_…,NAME=cmt_…"),
    ] = None,
    input_privacy: Annotated[
        str | None,
        typer.Option(
            metavar="PRIVACY",
            help="Whether the proof shows the input: private or public; of several NAME=public,… as well.",
        ),
    ] = None,
    reveal: Annotated[Reveal | None, typer.Option(help="What the proof shows of the output.")] = None,
    outputs: Annotated[
        str | None,
        typer.Option(metavar="NAME=REVEAL,…", help="Of several outputs, what the proof shows of which."),
    ] = None,
    top: Annotated[
        int | None, typer.Option(min=1, help="How many labels, with --reveal top or --measure top-k.")
    ] = None,
    at_least: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="With --reveal threshold: is it that or more? Or NAME=NUMBER,…"),
    ] = None,
    at_most: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="With --reveal threshold: is it that or less? Or NAME=NUMBER,…"),
    ] = None,
    bounds: Annotated[
        str | None,
        typer.Option(metavar="NUMBER,…", help="With --reveal range: between which? Or NAME=NUMBER:NUMBER,…"),
    ] = None,
    reference: Annotated[str | None, typer.Option(help="A committed reference, cmt_…, or an image.")] = None,
    threshold: Annotated[int | None, typer.Option(min=0, help="Largest squared distance of a match.")] = None,
    radius: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="With robustness, or --measure certified: how far each entry may be changed, in steps.",
        ),
    ] = None,
    norm: Annotated[
        Norm | None,
        typer.Option(help="Of the radius: of each entry, or 2, of all changes, squared and added up. [inf]"),
    ] = None,
    dataset_id: Annotated[
        str | None, typer.Option("--dataset", help="What the accuracy is on, dst_…")
    ] = None,
    measure: Annotated[Measure | None, typer.Option(help="What is measured on the dataset.")] = None,
    challenge: Annotated[str | None, typer.Option(help="A text to appear in the statement.")] = None,
    accept_difference: AcceptDifference = False,
    mean: Mean = None,
    std: Std = None,
    label: Labels = None,
    priority: Annotated[
        int | None, typer.Option(min=-10, max=10, help="Among your own jobs; more is sooner.")
    ] = None,
    deadline_seconds: Annotated[
        int | None, typer.Option("--deadline", min=1, help="Give up after as many seconds.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what it would show and take; nothing is made.")
    ] = False,
    wait: Annotated[bool, typer.Option(help="Wait for the proof.")] = True,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", callback=in_a_folder, dir_okay=False, help="Write the proof to this file."
        ),
    ] = None,
    key_out: Annotated[
        Path | None,
        typer.Option(callback=in_a_folder, dir_okay=False, help="Write the proof's key to this file."),
    ] = None,
    opening: Annotated[
        Path | None,
        typer.Option(
            callback=in_a_folder,
            dir_okay=False,
            help="With a commitment to outputs: write to this file what opens it. As secret as these.",
        ),
    ] = None,
) -> Proof | DryRun:
    """Prove what MODEL makes of INPUT, of all near it, how near that is to a reference, or an accuracy."""
    if not wait and (output or key_out or opening):
        raise RequestError(
            "request.invalid",
            "--no-wait leaves nothing to write: zenserve proofs get, key and opening fetch it later",
        )
    committed = reference is not None and reference.startswith("cmt_")
    reading, shapes = Reading(mean=mean, std=std), taken_by(service, model_id)
    values = reading.one(input_, "input", shapes) if input_ else None
    held = named("input", input_id) if input_id and "=" in input_id else {}
    given = values if isinstance(values, dict) else {}
    inputs: dict[str, Any] = {name: {"id": each} for name, each in held.items()}
    sent = {name: each for name, each in given.items() if name not in held}
    privacy, privacies = _privacies(input_privacy, sent)
    inputs |= {name: {"values": each, "privacy": privacies.get(name, privacy)} for name, each in sent.items()}
    image = Path(reference) if reference and not committed else None
    asked: ProofFields = {
        "system": system,
        "scheme": scheme,
        "input_id": None if inputs else input_id,
        "input_privacy": None if inputs else privacy,
        "inputs": inputs or None,
        "reveal": reveal,
        "outputs": cast(dict[str, Reveal], named("outputs", outputs)) if outputs else None,
        "top": top,
        "at_least": _ends("at_least", at_least) if at_least else None,
        "at_most": _ends("at_most", at_most) if at_most else None,
        "bounds": _bounds(bounds) if bounds else None,
        "reference": reading.one(image, "reference", shapes) if image else None,
        "reference_id": reference if committed else None,
        "threshold": threshold,
        "radius": radius,
        "norm": norm,
        "dataset_id": dataset_id,
        "measure": measure,
        "challenge": challenge,
        "accept_difference": accept_difference or None,
        "labels": labels.read(label) or None,
    }
    values = None if inputs else values
    if dry_run:
        return service.dry_run(model_id, values, **asked)
    job = service.create_proof(
        model_id, values, **asked, priority=priority, deadline_seconds=deadline_seconds
    )
    job = finished(job, "proving", service.follow(job), wait=wait)
    if output:
        written(service.get_proof_document(job.id), output)
    if key_out:
        written(_key_of(service, job), key_out)
    if opening:
        written(_opening_of(service, job), opening)
    return job


def _privacies(
    text: str | None, sent: Collection[str]
) -> tuple[PublicOrPrivate | None, dict[str, PublicOrPrivate]]:
    """Of all inputs, and of those that are named, which are among the ``sent``. Raises ``RequestError``."""
    found = privacies(text, get_args(PublicOrPrivate)) if text else None
    if not isinstance(found, dict):
        return found, {}
    if not {*found} <= {*sent}:
        reason = f"the inputs are {', '.join(sent)}" if sent else "there is one input: give public or private"
        raise RequestError("request.invalid", reason, field="input_privacy")
    return None, found


def _ends(field: str, text: str) -> float | dict[str, float]:
    """Of ``NUMBER`` or ``NAME=NUMBER,NAME=NUMBER``. Raises ``RequestError``."""
    if "=" in text:
        return {name: _number(field, number) for name, number in named(field, text).items()}
    return _number(field, text)


def _bounds(text: str) -> list[float] | dict[str, list[float]]:
    """Of ``NUMBER,NUMBER`` or ``NAME=NUMBER:NUMBER,NAME=NUMBER:NUMBER``. Raises ``RequestError``."""
    if "=" in text:
        own = named("bounds", text)
        return {name: [_number("bounds", each) for each in ends.split(":")] for name, ends in own.items()}
    return [_number("bounds", each) for each in text.split(",")]


def _number(field: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        reason = f"--{field.replace('_', '-')}: {text[:20]!r} is no number"
        raise RequestError("request.invalid", reason, field=field)
    return number


@asking
def cancel(service: Client, proof_id: ProofId) -> Proof:
    """Cancel a proof that is queued or running."""
    return service.cancel(proof_id)


app.command("cancel")(cancel)


@app.command("list")
@asking
def list_proofs(
    service: Client,
    state: OfState = None,
    model_id: OfModel = None,
    scheme: Annotated[Scheme | None, typer.Option(help="Only proofs of this scheme.")] = None,
    frames: Annotated[bool, typer.Option("--frames", help="Frames of streams, too.")] = False,
    label: OfLabels = None,
    limit: Limit = 20,
) -> list[Proof]:
    """List your proofs."""
    chosen: Any = state
    wanted = labels.read(label)
    proofs = service.proofs(state=chosen, model_id=model_id, scheme=scheme, frames=frames, labels=wanted)
    return list(islice(proofs, limit))


@app.command("show")
@asking
def show_proof(service: Client, proof_id: ProofId) -> Proof:
    """Show how far a proof is."""
    return service.get_proof(proof_id)


@app.command("get")
@asking
def get_proof(service: Client, proof_id: ProofId, output: Output = None) -> Any:
    """Fetch a finished proof, a JSON document to hand on."""
    return written(service.get_proof_document(proof_id), output)


@app.command("key")
@asking
def get_key(service: Client, proof_id: ProofId, output: Output = None) -> Any:
    """Fetch the verification key of a finished proof. Verifiers have it from whom they trust."""
    return written(_key_of(service, service.get_proof(proof_id)), output)


@app.command("opening")
@asking
def get_opening(service: Client, proof_id: ProofId, output: Output = None) -> Any:
    """Fetch what opens the outputs that a finished proof commits to. As secret as these."""
    return written(_opening_of(service, service.get_proof(proof_id)), output)


@app.command("retry")
@asking
def retry_proof(service: Client, proof_id: ProofId) -> Proof:
    """Take up again a proof that failed, while its input is still kept."""
    return service.retry(proof_id)


@app.command("delete")
@asking
def delete_proof(service: Client, proof_id: ProofId) -> Answer:
    """Delete a proof that is over, and its document with it."""
    service.delete_proof(proof_id)
    return deleted(proof_id)


def _opening_of(service: Client, proof: Proof) -> dict[str, Any]:
    """One file for all outputs."""
    if not proof.output_ids:
        raise ClientError(f"{proof.id} is {proof.state}, and commits to no output")
    first, *others = (service.get_commitment_opening(each) for each in proof.output_ids.values())
    return first | {"parts": [part for file in (first, *others) for part in file["parts"]]}


def _key_of(service: Client, proof: Proof) -> dict[str, Any]:
    if proof.verification_key_id is None:
        raise ClientError(f"{proof.id} is {proof.state}: which key it takes is known once it is made")
    return service.get_verification_key(proof.verification_key_id)
