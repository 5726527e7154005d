"""A camera whose owner pays for the cheapest network that is enough.

    python -m examples.camera.demo [--bank cifar|faces] [--batch N]

Starts the service, registers a bank of four networks, opens a stream, and shows it images of CIFAR-10, or
ORL's faces (docs/zoo.md): of two classes, then of two others. Each frame is proven by the network that the
frames before it ask for. The whole stream is verified from one file; then frames are left out and exchanged.
With ``--batch`` so many frames in a row have one proof. The last line is for machines.
"""

from __future__ import annotations

import argparse
import io
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from examples.camera.network import CIFAR, FACES, Bank
from examples.digits.demo import service
from examples.stage import console, finish, scene
from examples.zoo.data import FOLDER, Images, Split, cifar, persons
from zenserve.circuits.graphs.types import FloatArray
from zenserve.circuits.onnx.write import to_onnx
from zenserve.circuits.priors import with_prior
from zenserve.client import Client
from zenserve.client.api import succeeded
from zenserve.relations.integers import IntArray
from zenserve.service.cli.terminal import show_progress
from zenserve.verifier.documents import KeyFile, checked
from zenserve.verifier.keys import OpenedKey, opened
from zenserve.verifier.stream import StreamFile, judge_stream

FRAMES: Final = 16
"""Of each scene."""


class Show(NamedTuple):
    """What a camera is shown, over a bank of these ``members``. ``names``: of the classes; ``scenes``: which
    of them, one scene after the other. ``profiled``: samples of each class; frames are of the others."""

    bank: Bank
    members: tuple[str, ...]
    images: Callable[[Path], Split]
    names: tuple[str, ...]
    scenes: tuple[tuple[str, str], tuple[str, str]]
    profiled: int


SHOWS: Final = {
    CIFAR.name: Show(
        CIFAR,
        ("large", "medium", "small", "tiny"),
        cifar,
        ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"),
        (("deer", "horse"), ("automobile", "ship")),
        25,
    ),
    FACES.name: Show(
        FACES,
        (*FACES.networks,),
        persons,
        tuple(f"person {number}" for number in range(FACES.classes)),
        (("person 4", "person 7"), ("person 12", "person 30")),
        4,
    ),
}


def main(folder: Path = FOLDER, batch: int | None = None, bank: str = CIFAR.name) -> int:
    """Run the demonstration; 0 if everything went as it should."""
    show = SHOWS[bank]
    try:
        data = show.images(folder)
    except FileNotFoundError as missing:
        raise SystemExit(str(missing)) from None
    samples, frames = split(show, data.held_out)
    with tempfile.TemporaryDirectory(prefix="zenserve-demo-") as home, service(Path(home)) as client:
        with scene(f"The owner registers {len(show.members)} networks, and commits to their weights"):
            models = registered(client, show.bank, show.members, data.seen)
        with scene("A stream over this bank: which network is enough for which classes is measured once"):
            stream = open_stream(client, [*models], data.held_out, samples, len(frames), batch)
        with scene(f"{len(frames)} frames"):
            right, seconds = film(client, stream, show, data.held_out, frames, models)
        with scene("Anybody verifies the whole stream, from one file and the networks' keys"):
            file = checked(StreamFile, client.get_stream_file(stream))
            keys = keys_of(client, file)
            verdict = judge_stream(file, keys)
            for sentence in verdict.verified or [verdict.detail]:
                console.print(f"  {sentence}")
        with scene("Cheating"):
            reasons = cheated(file, keys)
    return finish(
        verdict.valid, reasons, frames=len(frames), right=right, by_model=verdict.by_model, **seconds
    )


def split(show: Show, held_out: Images, frames: int = FRAMES) -> tuple[IntArray, IntArray]:
    """Places of the samples to be profiled, of each class equally many, and of the images to be shown, so
    many ``frames`` of each scene."""
    of_class = [np.flatnonzero(held_out.labels == own) for own in range(show.bank.classes)]
    samples = np.concatenate([places[: show.profiled] for places in of_class])
    rng = np.random.default_rng(7)
    shown = [
        rng.choice(of_class[show.names.index(rng.choice(own))][show.profiled :])
        for own in show.scenes
        for _ in range(frames)
    ]
    return samples, np.array(shown)


def values(images: Images, places: IntArray) -> Any:
    """Pixels from 0 to 1, as precise as their integers are."""
    return (images.pixels[places] / 255).round(4).tolist()


def registered(client: Client, bank: Bank, names: Sequence[str], seen: Images) -> dict[str, str]:
    """The names of these networks, by their ids as models of a bank."""
    images = seen.pixels[:64] / 255
    return {_register(client, bank, name, images): name for name in names}


def _register(client: Client, bank: Bank, name: str, images: FloatArray) -> str:
    member = with_prior(to_onnx(bank.network(name)), images)
    calibration = io.BytesIO()
    np.savez(calibration, image=images, prior=member.priors(bank.classes, len(images)))
    model = client.create_model(
        member.onnx, calibration.getvalue(), name=name, weight_privacy="committed", saturate=True
    )
    return str(succeeded(show_progress(console, name, client.follow(model))).id)


def open_stream(
    client: Client,
    models: list[str],
    images: Images,
    samples: IntArray,
    backlog: int,
    batch: int | None = None,
) -> str:
    """The id of a stream that takes frames; ``samples``: the places of those of ``images`` that are
    profiled."""
    profile = values(images, samples), images.labels[samples].tolist()
    rules = {"batch": batch} if batch else None
    stream = client.create_stream(models, *profile, backlog=backlog, rules=rules)
    return client.begun(stream.id).id


def hand_in(client: Client, stream: str, images: Images, frames: IntArray) -> None:
    """Show these images to the camera, which then is off."""
    for number, place in enumerate(frames):
        client.add_frame(stream, number, values(images, place))
    client.end_stream(stream)


def film(
    client: Client,
    stream: str,
    show: Show,
    images: Images,
    frames: IntArray,
    models: Mapping[str, str],
) -> tuple[int, dict[str, float]]:
    """Show the camera these images. How many answers are right, and the seconds of each network's proofs."""
    hand_in(client, stream, images, frames)
    right, seconds = 0, dict.fromkeys(models.values(), 0.0)
    for frame in client.follow_frames(stream):
        truth, name = images.labels[frames[frame.number]], models[frame.model_id or ""]
        right += int(frame.label == truth)
        seconds[name] += frame.seconds
        said, answer = show.names[truth], show.names[frame.label or 0]
        proof = "" if frame.batch is None else f"  with the proof from {frame.batch} on"
        console.print(f"  {frame.number:3d}  {said:<11}{answer:<11}{name:<8}{frame.seconds:6.2f} s{proof}")
    return right, {name: round(each, 2) for name, each in seconds.items()}


def keys_of(client: Client, file: StreamFile) -> dict[str, OpenedKey]:
    """The verification keys of a stream's models, by their ids."""
    keys = [key for each in file.head.bank.models for key in (each.verification_key, each.batch_key)]
    ids = [key for key in keys if key is not None]
    return {each: opened(checked(KeyFile, client.get_verification_key(each))) for each in ids}


def cheated(file: StreamFile, keys: Mapping[str, OpenedKey]) -> dict[str, str]:
    """The reasons for which changed streams are refused, by what was changed."""
    proofs = file.frames
    changes = {
        "a proof left out": [*proofs[:3], *proofs[4:]],
        "two proofs exchanged": [proofs[1], proofs[0], *proofs[2:]],
    }
    reasons = {}
    for what, changed in changes.items():
        verdict = judge_stream(file.model_copy(update={"frames": changed}), keys)
        if verdict.valid:
            raise SystemExit(f"{what}: accepted")
        console.print(f"  {what}: [green]{verdict.reason}[/]. {verdict.detail}")
        reasons[what] = verdict.reason
    return reasons


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bank", choices=SHOWS, default=CIFAR.name, help="of which networks")
    parser.add_argument("--batch", type=int, help="frames in a row that have one proof")
    options = parser.parse_args()
    raise SystemExit(main(batch=options.batch, bank=options.bank))
