"""``zenserve proofs``, and the commands that lead to proofs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from service.cli import terminal
from service.cli.shared import (
    InputFile,
    Json,
    Limit,
    ModelId,
    OfModel,
    OfState,
    Output,
    asking,
    exit_unless_good,
    finish,
    numbers,
    out,
    show,
    show_list,
    write,
)

if TYPE_CHECKING:
    from client import Client

app = typer.Typer(help="Look at proofs, fetch them, stop them.", no_args_is_help=True)

ProofId = Annotated[str, typer.Argument(metavar="PROOF", help="The proof's id, prf_…")]
Scheme = Literal["inference", "recognition", "accuracy"]


@asking
def commit(
    service: Client,
    model_id: ModelId,
    kind: Annotated[Literal["input", "reference"], typer.Argument(help="What the values are to be.")],
    file: InputFile,
    opening: Annotated[
        Path | None, typer.Option(help="Write to this file what opens it. As secret as the values.")
    ] = None,
) -> None:
    """Commit to an input of MODEL, or to a reference: what it makes of an image."""
    commitment = service.create_commitment(model_id, kind, numbers(file))
    if opening:
        write(service.get_commitment_opening(commitment.id), opening)
    terminal.print_resource(out, commitment)


@asking
def prove(
    service: Client,
    model_id: ModelId,
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[INPUT]", exists=True, dir_okay=False, help="One input: .npy or JSON."),
    ] = None,
    scheme: Annotated[Scheme, typer.Option(help="What to prove.")] = "inference",
    input_id: Annotated[str | None, typer.Option("--input", help="A committed input, cmt_…")] = None,
    input_privacy: Annotated[
        Literal["private", "public"] | None, typer.Option(help="Whether the proof shows the input.")
    ] = None,
    reveal: Annotated[
        Literal["label", "logits", "top"] | None, typer.Option(help="What the proof shows of the output.")
    ] = None,
    top: Annotated[int | None, typer.Option(min=1, help="How many labels, with --reveal top.")] = None,
    reference: Annotated[str | None, typer.Option(help="A committed reference, cmt_…, or an image.")] = None,
    threshold: Annotated[int | None, typer.Option(min=0, help="Largest squared distance of a match.")] = None,
    dataset: Annotated[str | None, typer.Option(help="What the accuracy is on, dst_…")] = None,
    challenge: Annotated[str | None, typer.Option(help="A text to appear in the statement.")] = None,
    priority: Annotated[
        int | None, typer.Option(min=-10, max=10, help="Among your own jobs; more is sooner.")
    ] = None,
    deadline: Annotated[int | None, typer.Option(min=1, help="Give up after as many seconds.")] = None,
    wait: Annotated[bool, typer.Option(help="Wait for the proof.")] = True,
    output: Output = None,
) -> None:
    """Prove what MODEL makes of INPUT, how near that is to a reference, or its accuracy on a dataset."""
    committed = reference is not None and reference.startswith("cmt_")
    job = service.create_proof(
        model_id,
        numbers(file) if file else None,
        scheme=scheme,
        input_id=input_id,
        input_privacy=input_privacy,
        reveal=reveal,
        top=top,
        reference=numbers(Path(reference)) if reference and not committed else None,
        reference_id=reference if committed else None,
        threshold=threshold,
        dataset_id=dataset,
        challenge=challenge,
        priority=priority,
        deadline_seconds=deadline,
    )
    job = finish(job, "proving", service.follow(job), wait=wait)
    exit_unless_good(job.state)
    if output and wait:
        write(service.get_proof_document(job.id), output)


@asking
def cancel(service: Client, proof_id: ProofId) -> None:
    """Cancel a proof that is queued or running."""
    show(service.cancel(proof_id))


app.command("cancel")(cancel)


@app.command("list")
@asking
def list_proofs(
    service: Client,
    state: OfState = None,
    model: OfModel = None,
    scheme: Annotated[Scheme | None, typer.Option(help="Only proofs of this scheme.")] = None,
    limit: Limit = 20,
    as_json: Json = False,
) -> None:
    """List your proofs."""
    chosen: Any = state
    show_list(service.proofs(state=chosen, model_id=model, scheme=scheme), limit, as_json=as_json)


@app.command("show")
@asking
def show_proof(service: Client, proof_id: ProofId, as_json: Json = False) -> None:
    """Show how far a proof is."""
    show(service.get_proof(proof_id), as_json=as_json)


@app.command("get")
@asking
def get_proof(service: Client, proof_id: ProofId, output: Output = None) -> None:
    """Fetch a finished proof, a JSON document to hand on."""
    write(service.get_proof_document(proof_id), output)


@app.command("retry")
@asking
def retry_proof(service: Client, proof_id: ProofId) -> None:
    """Take up again a proof that failed, while its input is still kept."""
    show(service.retry(proof_id))


@app.command("delete")
@asking
def delete_proof(service: Client, proof_id: ProofId) -> None:
    """Delete a proof that is over, and its document with it."""
    service.delete_proof(proof_id)
