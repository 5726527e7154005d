"""``zenserve streams``."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from zenserve.client.errors import ApiError
from zenserve.client.resources import Frame, Stream
from zenserve.errors import RequestError
from zenserve.service.cli.answers import Answer, written
from zenserve.service.cli.samples import FILES, LabelColumn, LabelFile, Mean, Reading, Std, taken_by
from zenserve.service.cli.shared import Labels, Limit, OfLabels, OfState, Output, asking, deleted, finished
from zenserve.service.submissions import labels as job_labels
from zenserve.verifier.schemes import PublicOrPrivate

if TYPE_CHECKING:
    from zenserve.circuits.samples import Samples
    from zenserve.client import Client

app = typer.Typer(help="Prove what a camera sees, frame after frame.", no_args_is_help=True)

StreamId = Annotated[str, typer.Argument(metavar="STREAM", help="The stream's id, str_…")]


@app.command("open")
@asking
def open_stream(
    service: Client,
    models: Annotated[
        list[str], typer.Argument(metavar="MODEL…", help="The bank, the most accurate one first: mdl_…")
    ],
    *,
    profile: Annotated[Path, typer.Option(exists=True, help=f"Samples by which models are chosen: {FILES}")],
    labels: LabelFile = None,
    label_column: LabelColumn = None,
    mean: Mean = None,
    std: Std = None,
    name: Annotated[str, typer.Option(help="What to call it.")] = "unnamed",
    challenge: Annotated[str | None, typer.Option(help="A text that its chain begins with.")] = None,
    input_privacy: Annotated[PublicOrPrivate, typer.Option(help="Whether proofs show frames.")] = "private",
    deadline: Annotated[
        int | None, typer.Option(min=1, help="Seconds after which a frame is missed.", show_default="none")
    ] = None,
    backlog: Annotated[int, typer.Option(min=1, help="How many frames may wait.")] = 16,
    batch: Annotated[
        int | None, typer.Option(min=2, help="Prove so many frames at a time.", show_default="none")
    ] = None,
    batch_seconds: Annotated[
        int | None, typer.Option(min=1, help="How long they wait for each other.", show_default="10")
    ] = None,
    label: Labels = None,
    wait: Annotated[bool, typer.Option(help="Wait until it takes frames.")] = True,
) -> Stream:
    """Open a stream over a bank of registered models."""
    from zenserve.circuits import samples

    given = _samples(service, models[0], profile, Reading(label_column, mean, std), "profile")
    right = given.labels
    if labels is not None:
        right = samples.parse_labels(labels.read_bytes(), "labels", column=label_column)
    if right is None:
        raise RequestError(
            "request.invalid", "profile: the file has no labels; give --labels", field="profile"
        )
    stream = service.create_stream(
        models,
        samples.to_npz(_frames(given)),
        right.tolist(),
        name=name,
        challenge=challenge,
        input_privacy=input_privacy,
        deadline_seconds=deadline,
        backlog=backlog,
        rules={"batch": batch} if batch else None,
        batch_seconds=batch_seconds,
        job_labels=job_labels.read(label),
    )
    return finished(stream, "opening", _until_begun(service.follow(stream)), wait=wait)


@app.command("add")
@asking
def add_frames(
    service: Client,
    stream_id: StreamId,
    frames: Annotated[Path, typer.Argument(metavar="FRAMES", exists=True, help=FILES)],
    *,
    mean: Mean = None,
    std: Std = None,
    end: Annotated[bool, typer.Option(help="Take no more after these.")] = False,
) -> Stream:
    """Hand in frames, one after the other, waiting where the backlog is full."""
    stream = service.get_stream(stream_id)
    given = _samples(service, stream.models[0], frames, Reading(None, mean, std), "frames")
    for number, values in enumerate(_frames(given), stream.frames):
        _hand_in(service, stream_id, number, values.tolist())
    return service.end_stream(stream_id) if end else service.get_stream(stream_id)


@app.command("list")
@asking
def list_streams(
    service: Client, state: OfState = None, label: OfLabels = None, limit: Limit = 20
) -> list[Stream]:
    """List your streams."""
    chosen: Any = state
    return list(islice(service.streams(state=chosen, labels=job_labels.read(label)), limit))


@app.command("show")
@asking
def show_stream(service: Client, stream_id: StreamId) -> Stream:
    """Show a stream."""
    return service.get_stream(stream_id)


@app.command("frames")
@asking
def list_frames(service: Client, stream_id: StreamId, limit: Limit = 20) -> list[Frame]:
    """List a stream's frames."""
    return list(islice(service.frames(stream_id), limit))


@app.command("file")
@asking
def get_file(service: Client, stream_id: StreamId, output: Output = None) -> Any:
    """Fetch the whole stream as one file, as far as its frames are over: zenserve-verify judges it."""
    return written(service.get_stream_file(stream_id), output)


@app.command("end")
@asking
def end_stream(service: Client, stream_id: StreamId) -> Stream:
    """Take no more frames; those that there are will be proven."""
    return service.end_stream(stream_id)


@app.command("cancel")
@asking
def cancel_stream(service: Client, stream_id: StreamId) -> Stream:
    """Stop a stream: frames that are not proven yet are missed."""
    return service.cancel_stream(stream_id)


@app.command("retry")
@asking
def retry_stream(service: Client, stream_id: StreamId) -> Stream:
    """Make the keys of a stream's bank once more, after that failed."""
    return service.retry_stream(stream_id)


@app.command("delete")
@asking
def delete_stream(service: Client, stream_id: StreamId) -> Answer:
    """Forget a stream that is over, with the proofs of its frames."""
    service.delete_stream(stream_id)
    return deleted(stream_id)


def _samples(service: Client, model_id: str, path: Path, reading: Reading, field: str) -> Samples:
    """Of the input that a bank's models have beside the prior."""
    from zenserve.verifier.bank import PRIOR

    shapes = {name: shape for name, shape in taken_by(service, model_id)().shapes.items() if name != PRIOR}
    return reading.samples(path, field, shapes)


def _frames(given: Samples) -> Any:
    (values,) = given.inputs.values()
    return values


def _hand_in(service: Client, stream_id: str, number: int, values: Any) -> None:
    while True:
        try:
            service.add_frame(stream_id, number, values)
        except ApiError as refusal:
            if refusal.code != "quota.frames":
                raise
            time.sleep(refusal.retry_after or 1.0)
        else:
            return


def _until_begun(changes: Iterator[Stream]) -> Iterator[Stream]:
    for seen in changes:
        yield seen
        if seen.begun_at is not None:
            return
