"""``zenserve proofs``, and the commands that lead to proofs."""

from __future__ import annotations

import math
from collections.abc import Collection
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

import typer

from zenserve.client.errors import ClientError
from zenserve.client.resources import Commitment, DryRun, Proof, ProofFields
from zenserve.errors import RequestError
from zenserve.service.cli.answers import Answer, written
from zenserve.service.cli.by_name import named, privacies
from zenserve.service.cli.precision import AcceptDifference
from zenserve.service.cli.samples import InputFile, MaybeInputFile, Mean, Reading, Std, taken_by
from zenserve.service.cli.shared import (
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
from zenserve.service.submissions import labels
from zenserve.verifier.schemes import CommitmentKind, Measure, Norm, PublicOrPrivate, Reveal, Scheme

if TYPE_CHECKING:
    from zenserve.client import Client
    from zenserve.client.resources import ProofFields

app = typer.Typer(help="Look at proofs, fetch them, stop them.", no_args_is_help=True)

ProofId = Annotated[str, typer.Argument(metavar="PROOF", help="The proof's id, prf_…")]


@asking
def commit(
    service: Client,
    model_id: ModelId,
    kind: Annotated[
        CommitmentKind, typer.Argument(help="What to commit to: the input, or the embedding of it.")
    ],
    values: InputFile,
    opening: Annotated[
        Path | None,
        typer.Option(help="Write the commitment's opening to this file. As secret as the values."),
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the input, where MODEL has several.")] = None,
    mean: Mean = None,
    std: Std = None,
) -> Commitment:
    """Commit to an input of MODEL, or to the embedding that MODEL makes of a reference image."""
    given = Reading(mean=mean, std=std).one(values, "values", taken_by(service, model_id))
    commitment = service.create_commitment(model_id, kind, given, name=name)
    if opening:
        written(service.get_commitment_opening(commitment.id), opening)
    return commitment


_INPUT, _OUTPUT = "Input", "What the proof shows of the output"
_JOB, _FILES = "Job", "Files to write"


def _option(panel: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, rich_help_panel=panel, **more)


@asking
def prove(
    service: Client,
    model_id: ModelId,
    input_: MaybeInputFile = None,
    scheme: Annotated[Scheme, typer.Option(help="What to prove.")] = "inference",
    challenge: Annotated[
        str | None, typer.Option(help="Text of whoever asks for the proof; the statement repeats it.")
    ] = None,
    system: Annotated[
        str | None, typer.Option(help="Proof system. Default: the model's; another needs a twin.")
    ] = None,
    accept_difference: AcceptDifference = False,
    *,
    fold_inputs: Annotated[
        bool,
        _option(
            _OUTPUT,
            "--fold-inputs",
            help="Fold public inputs into one: spares contracts gas.",
        ),
    ] = False,
    input_privacy: Annotated[
        str | None,
        _option(_INPUT, metavar="PRIVACY", help="private or public; of several inputs NAME=public,…"),
    ] = None,
    input_id: Annotated[
        str | None,
        _option(_INPUT, "--input", help="Committed input, cmt_…; of several inputs NAME=cmt_…,…"),
    ] = None,
    mean: Mean = None,
    std: Std = None,
    reveal: Annotated[
        Reveal | None, _option(_OUTPUT, help="Part of the output. Default: label; values without classes.")
    ] = None,
    outputs: Annotated[
        str | None,
        _option(_OUTPUT, metavar="NAME=REVEAL,…", help="Part of each output, of a network of several."),
    ] = None,
    top: Annotated[
        int | None, _option(_OUTPUT, min=1, help="Number of labels, with --reveal top or --measure top-k.")
    ] = None,
    at_least: Annotated[
        str | None,
        _option(
            _OUTPUT,
            metavar="NUMBER",
            help="Whether the output is at least this, with --reveal threshold. Or NAME=NUMBER,…",
        ),
    ] = None,
    at_most: Annotated[
        str | None,
        _option(
            _OUTPUT,
            metavar="NUMBER",
            help="Whether the output is at most this, with --reveal threshold. Or NAME=NUMBER,…",
        ),
    ] = None,
    bounds: Annotated[
        str | None,
        _option(
            _OUTPUT,
            metavar="NUMBER,…",
            help="Between which bounds the output lies, with --reveal range. Or NAME=NUMBER:NUMBER,…",
        ),
    ] = None,
    reference: Annotated[
        str | None, _option("With --scheme recognition", help="Committed reference, cmt_…, or an image.")
    ] = None,
    threshold: Annotated[
        int | None,
        _option("With --scheme recognition", min=0, help="Largest squared distance that is a match."),
    ] = None,
    radius: Annotated[
        int | None,
        _option(
            "With --scheme robustness, or --measure certified",
            min=0,
            help="Largest change of each entry, in quantisation steps.",
        ),
    ] = None,
    norm: Annotated[
        Norm | None,
        _option(
            "With --scheme robustness, or --measure certified",
            help="What --radius bounds: inf (default) each entry's change, 2 the sum of squared changes.",
        ),
    ] = None,
    dataset_id: Annotated[
        str | None, _option("With --scheme accuracy", "--dataset", help="Dataset, dst_…")
    ] = None,
    measure: Annotated[
        Measure | None,
        _option("With --scheme accuracy", help="Measure. Default: accuracy; mse of a dataset with targets."),
    ] = None,
    dry_run: Annotated[
        bool, _option(_JOB, "--dry-run", help="Show what the proof would show and cost; make nothing.")
    ] = False,
    wait: Annotated[bool, _option(_JOB, help="Wait for the proof.")] = True,
    deadline_seconds: Annotated[
        int | None, _option(_JOB, "--deadline", min=1, help="Seconds after which the proof is given up.")
    ] = None,
    priority: Annotated[
        int | None, _option(_JOB, min=-10, max=10, help="Priority among your own jobs; more is sooner.")
    ] = None,
    label: Labels = None,
    output: Annotated[
        Path | None,
        _option(_FILES, "--output", "-o", callback=in_a_folder, dir_okay=False, help="The proof."),
    ] = None,
    key_out: Annotated[
        Path | None, _option(_FILES, callback=in_a_folder, dir_okay=False, help="The proof's key.")
    ] = None,
    table_out: Annotated[
        Path | None,
        _option(
            _FILES,
            callback=in_a_folder,
            dir_okay=False,
            help="Names of the columns and classes of a table's model, for whoever verifies.",
        ),
    ] = None,
    opening: Annotated[
        Path | None,
        _option(
            _FILES,
            callback=in_a_folder,
            dir_okay=False,
            help="What opens committed outputs (--reveal commitment). As secret as the outputs.",
        ),
    ] = None,
) -> Proof | DryRun:
    """Prove an inference, recognition, robustness or accuracy claim about MODEL."""
    if not wait and (output or key_out or table_out or opening):
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
        "fold_inputs": fold_inputs or None,
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
    if table_out:
        written(_table_of(service, job), table_out)
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
    name: Annotated[
        str | None, typer.Option("--name", help="Only of models of this name, in all versions.")
    ] = None,
    scheme: Annotated[Scheme | None, typer.Option(help="Only proofs of this scheme.")] = None,
    frames: Annotated[bool, typer.Option("--frames", help="Frames of streams, too.")] = False,
    label: OfLabels = None,
    limit: Limit = 20,
) -> list[Proof]:
    """List your proofs."""
    chosen: Any = state
    wanted = labels.read(label)
    proofs = service.proofs(
        state=chosen, model_id=model_id, name=name, scheme=scheme, frames=frames, labels=wanted
    )
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
    """Retry a failed proof, while the service still keeps its input."""
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


def _table_of(service: Client, proof: Proof) -> dict[str, Any]:
    table = service.get_model(proof.model_id).table
    if table is None:
        raise ClientError(f"the model of {proof.id} is of no table: there are no names to write")
    from zenserve.verifier.table import FORMAT  # slow, as numpy is

    return {"format": FORMAT, "version": 1, **table}


def _key_of(service: Client, proof: Proof) -> dict[str, Any]:
    if proof.verification_key_id is None:
        raise ClientError(f"{proof.id} is {proof.state}: which key it takes is known once it is made")
    return service.get_verification_key(proof.verification_key_id)
