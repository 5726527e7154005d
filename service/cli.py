"""The ``zenserve`` command.

Commands import what is slow to load where they need it, so that each starts as fast as it can.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console
from typer.core import TyperGroup

import client
from client.errors import ClientError
from service import audit_cli, compile_cli, tables_cli, terminal
from service.terminal import REFUSED, TROUBLE
from zenerrors import ZenError

if TYPE_CHECKING:
    from client.api import JobKind


class _CeremonyGroup(TyperGroup):
    """Loads its commands, and the prover with them, when one is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        return self._loaded().list_commands(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return self._loaded().get_command(ctx, cmd_name)

    def _loaded(self) -> TyperGroup:
        from service import ceremony_cli

        return typer.main.get_group(ceremony_cli.app)


app = typer.Typer(
    help="Prove, in zero knowledge, what a neural network computed.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
models = typer.Typer(help="Register networks and look at them.", no_args_is_help=True)
datasets = typer.Typer(help="Add labelled samples to prove accuracy on.", no_args_is_help=True)
proof = typer.Typer(help="Look at proofs and fetch them.", no_args_is_help=True)
key = typer.Typer(help="Fetch verification keys.", no_args_is_help=True)
ceremony = typer.Typer(
    cls=_CeremonyGroup, help="Make keys together, so that nobody can forge proofs.", no_args_is_help=True
)
for name, group in (
    ("models", models),
    ("datasets", datasets),
    ("proof", proof),
    ("key", key),
    ("ceremony", ceremony),
):
    app.add_typer(group, name=name)
app.command("compile")(compile_cli.compile_network)
app.command("tables")(tables_cli.make_tables)
app.command("audit")(audit_cli.audit_key)

out, err = Console(), Console(stderr=True)

Url = Annotated[str, typer.Option(envvar="ZENSERVE_URL", help="Where the service is.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file.")]
Json = Annotated[bool, typer.Option("--json", help="Answer in JSON.")]
File = Annotated[Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False)]
InputFile = Annotated[
    Path, typer.Argument(metavar="INPUT", exists=True, dir_okay=False, help="One input: .npy or JSON.")
]
Name = Annotated[str | None, typer.Option(help="What to call it.", show_default="the file's name")]
ModelId = Annotated[str, typer.Argument(metavar="MODEL", help="The model's id, mdl_…")]
ProofId = Annotated[str, typer.Argument(metavar="PROOF", help="The proof's id, prf_…")]
HERE = "http://127.0.0.1:8000"


def main() -> None:
    """Run the command line: 0 done, 1 a proof or job that is no good, 2 anything else."""
    try:
        app()
    except ZenError as error:
        _complain(f"{error.message} [{error.code}]")
        sys.exit(TROUBLE)
    except (ClientError, OSError) as error:
        _complain(str(error))
        sys.exit(TROUBLE)
    except KeyboardInterrupt:
        sys.exit(130)


@app.command()
def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on.", show_default="127.0.0.1")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.", show_default="8000")] = None,
    data_dir: Annotated[
        Path | None, typer.Option(help="Database, keys and artifacts.", show_default="zenserve-data")
    ] = None,
) -> None:
    """Run the service: the API and a worker. Ctrl-C stops both."""
    from pydantic import ValidationError

    from service.serve import serve as serve_forever
    from service.settings import Settings

    given = {"host": host, "port": port, "data_dir": data_dir}
    try:
        settings = Settings(**{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]
    except ValidationError as error:
        first = error.errors()[0]
        _complain(f"ZENSERVE_{str(first['loc'][0]).upper()}: {first['msg']}")
        raise typer.Exit(TROUBLE) from None
    err.print(f"[bold]ZenServe[/] on http://{settings.host}:{settings.port}  (try /docs; Ctrl-C stops)")
    if settings.host not in ("127.0.0.1", "::1", "localhost"):
        err.print(
            "[bold red]This service asks nobody for a password yet.[/] Whoever reaches this address can use"
            " it, see every proof, and fill the disk. Listen on 127.0.0.1, or put a gateway in front."
        )
    serve_forever(settings)


@models.command("add")
def add_model(
    file: File,
    calibration: Annotated[
        Path, typer.Option(exists=True, dir_okay=False, help="Typical inputs: .npy, or a JSON array.")
    ],
    name: Name = None,
    weight_privacy: Annotated[
        Literal["public", "committed"], typer.Option(help="Whether all may see the weights, or none.")
    ] = "public",
    bits: Annotated[int, typer.Option(min=2, max=8, help="Precision of the quantised network.")] = 8,
    parent: Annotated[str | None, typer.Option(help="The model that this is a new version of.")] = None,
    wait: Annotated[bool, typer.Option(help="Wait until it is registered.")] = True,
    url: Url = HERE,
) -> None:
    """Register the network in an ONNX FILE: commit to it, if its weights are hidden, and make its keys."""
    with client.Client(url) as service:
        model = service.create_model(
            file.read_bytes(),
            calibration.read_bytes(),
            name=name or file.stem,
            weight_privacy=weight_privacy,
            bits=bits,
            parent_id=parent,
        )
        model = _watched(model, "registering", service.follow(model), wait)
    terminal.print_job(out, model)
    _exit_unless_good(model.state)


@models.command("show")
def show_model(model_id: ModelId, as_json: Json = False, url: Url = HERE) -> None:
    """Show a model."""
    with client.Client(url) as service:
        model = service.get_model(model_id)
    if as_json:
        _write(vars(model), None)
    else:
        terminal.print_job(out, model)


@models.command("receipt")
def get_receipt(model_id: ModelId, output: Output = None, url: Url = HERE) -> None:
    """Fetch the signed receipt of a model's registration."""
    with client.Client(url) as service:
        _write(service.get_receipt(model_id), output)


@models.command("registration")
def get_registration(model_id: ModelId, output: Output = None, url: Url = HERE) -> None:
    """Fetch the proof of a model's registration: what it commits to is a network of its architecture."""
    with client.Client(url) as service:
        _write(service.get_registration(model_id), output)


@models.command("architecture")
def get_architecture(
    model_id: ModelId,
    output: Annotated[Path, typer.Option("--output", "-o", help="Write to this file.")],
    url: Url = HERE,
) -> None:
    """Fetch what a model's circuits are compiled from, for zenserve audit: committed weights are blanked."""
    with client.Client(url) as service:
        output.write_bytes(service.get_architecture(model_id))
    _say_written(output)


@datasets.command("add")
def add_dataset(
    model_id: ModelId,
    samples: Annotated[
        Path, typer.Argument(metavar="SAMPLES", exists=True, dir_okay=False, help=".npy, or a JSON array.")
    ],
    labels: Annotated[
        Path, typer.Argument(metavar="LABELS", exists=True, dir_okay=False, help="One class for each.")
    ],
    privacy: Annotated[
        Literal["public", "private"], typer.Option(help="Whether proofs name it by its content's hash.")
    ],
    name: Name = None,
    shard_size: Annotated[
        int | None,
        typer.Option(min=1, help="Samples in one proof.", show_default="what fits the service's memory"),
    ] = None,
    wait: Annotated[bool, typer.Option(help="Wait until it is committed.")] = True,
    url: Url = HERE,
) -> None:
    """Add labelled samples for MODEL, which has to be registered first."""
    with client.Client(url) as service:
        dataset = service.create_dataset(
            model_id,
            samples.read_bytes(),
            labels.read_bytes(),
            privacy=privacy,
            name=name or samples.stem,
            shard_size=shard_size,
        )
        dataset = _watched(dataset, "committing", service.follow(dataset), wait)
    terminal.print_job(out, dataset)
    _exit_unless_good(dataset.state)


@datasets.command("show")
def show_dataset(
    dataset_id: Annotated[str, typer.Argument(metavar="DATASET", help="The dataset's id, dst_…")],
    opening: Annotated[
        Path | None, typer.Option(help="Write to this file what opens its commitments. As secret as it is.")
    ] = None,
    as_json: Json = False,
    url: Url = HERE,
) -> None:
    """Show a dataset."""
    with client.Client(url) as service:
        dataset = service.get_dataset(dataset_id)
        if opening:
            _write(service.get_dataset_opening(dataset_id), opening)
    if as_json:
        _write(vars(dataset), None)
    else:
        terminal.print_job(out, dataset)


@app.command()
def commit(
    model_id: ModelId,
    kind: Annotated[Literal["input", "reference"], typer.Argument(help="What the values are to be.")],
    file: InputFile,
    opening: Annotated[
        Path | None, typer.Option(help="Write to this file what opens it. As secret as the values.")
    ] = None,
    url: Url = HERE,
) -> None:
    """Commit to an input of MODEL, or to a reference: what it makes of an image."""
    with client.Client(url) as service:
        commitment = service.create_commitment(model_id, kind, _numbers(file))
        if opening:
            _write(service.get_commitment_opening(commitment.id), opening)
    terminal.print_commitment(out, commitment)


@app.command()
def prove(
    model_id: ModelId,
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[INPUT]", exists=True, dir_okay=False, help="One input: .npy or JSON."),
    ] = None,
    scheme: Annotated[
        Literal["inference", "recognition", "accuracy"], typer.Option(help="What to prove.")
    ] = "inference",
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
    wait: Annotated[bool, typer.Option(help="Wait for the proof.")] = True,
    output: Output = None,
    url: Url = HERE,
) -> None:
    """Prove what MODEL makes of INPUT, how near that is to a reference, or its accuracy on a dataset."""
    from client.api import succeeded

    committed = reference is not None and reference.startswith("cmt_")
    with client.Client(url) as service:
        job = service.create_proof(
            model_id,
            _numbers(file) if file else None,
            scheme=scheme,
            input_id=input_id,
            input_privacy=input_privacy,
            reveal=reveal,
            top=top,
            reference=_numbers(Path(reference)) if reference and not committed else None,
            reference_id=reference if committed else None,
            threshold=threshold,
            dataset_id=dataset,
            challenge=challenge,
        )
        job = _watched(job, "proving", service.events(job.id), wait)
        terminal.print_job(out, job)
        if output and wait:
            _write(service.get_proof_document(succeeded(job).id), output)
    _exit_unless_good(job.state)


@proof.command("show")
def show_proof(proof_id: ProofId, url: Url = HERE) -> None:
    """Show how far a proof is."""
    with client.Client(url) as service:
        terminal.print_job(out, service.get_proof(proof_id))


@proof.command("get")
def get_proof(proof_id: ProofId, output: Output = None, url: Url = HERE) -> None:
    """Fetch a finished proof, a JSON document to hand on."""
    with client.Client(url) as service:
        _write(service.get_proof_document(proof_id), output)


@key.command("get")
def get_key(
    key_id: Annotated[str, typer.Argument(metavar="KEY", help="The key's id, its SHA-256.")],
    output: Output = None,
    url: Url = HERE,
) -> None:
    """Fetch a verification key, and the description of what it proves."""
    with client.Client(url) as service:
        _write(service.get_verification_key(key_id), output)


@app.command()
def cancel(proof_id: ProofId, url: Url = HERE) -> None:
    """Cancel a proof that is queued or running."""
    with client.Client(url) as service:
        terminal.print_job(out, service.cancel(proof_id))


@app.command(
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    add_help_option=False,
)
def verify(context: typer.Context) -> None:
    """Verify a proof or a receipt, here and now: no service is asked. Exit code 0 if valid, 1 if not."""
    from client import command

    raise typer.Exit(command.main(context.args, prog="zenserve verify"))


def _numbers(file: Path) -> Any:
    try:
        if file.suffix == ".npy":
            import numpy as np

            return np.load(file, allow_pickle=False).tolist()
        return json.loads(file.read_bytes())
    except ValueError:
        _complain(f"{file} is neither a .npy file nor JSON")
        raise typer.Exit(TROUBLE) from None


def _complain(text: str) -> None:
    err.print(f"[red]error[/] {terminal.escape(text)}", highlight=False, soft_wrap=True)


def _write(document: dict[str, Any] | list[Any], output: Path | None) -> None:
    text = json.dumps(document, indent=2)
    if output is None:
        print(text)
    else:
        output.write_text(text + "\n")
        _say_written(output)


def _say_written(output: Path) -> None:
    err.print(f"[dim]written to[/] {terminal.escape(str(output))}", highlight=False, soft_wrap=True)


def _exit_unless_good(state: str) -> None:
    if state in ("failed", "canceled"):
        raise typer.Exit(REFUSED)


def _watched(job: JobKind, doing: str, changes: Iterator[JobKind], wait: bool) -> JobKind:
    """The job once it is over, its progress shown meanwhile; as it is, if nobody waits."""
    if not wait:
        return job
    with _going_on(job.id):
        return terminal.show_progress(err, doing, changes)


@contextmanager
def _going_on(job_id: str) -> Iterator[None]:
    """Tell whoever stops waiting that the work has not stopped."""
    try:
        yield
    except KeyboardInterrupt:
        err.print(f"\n{job_id} goes on without you; zenserve cancel {job_id} stops a proof")
        raise
