"""A camera whose owner pays for the cheapest network that is enough.

    python -m examples.camera.demo [--batch N]

Starts the service, registers a bank of four networks, opens a stream, and shows it images of CIFAR-10
(docs/zoo.md): of two classes, then of two others. Each frame is proven by the network that the frames before
it ask for. The whole stream is verified from one file; then frames are left out and exchanged.
With ``--batch`` so many frames in a row have one proof. The last line is for machines.
"""

from __future__ import annotations

import argparse
import io
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from circuits.graphs.types import FloatArray
from circuits.onnx.write import to_onnx
from circuits.priors import with_prior
from client import Client
from client.api import succeeded
from examples.camera.network import CIFAR
from examples.digits.demo import service
from examples.stage import console, finish, scene
from examples.zoo.data import FOLDER, Images, cifar
from relations.integers import IntArray
from service.cli.terminal import show_progress
from verifier.documents import KeyFile, checked
from verifier.keys import OpenedKey, opened
from verifier.stream import StreamFile, judge_stream

BANK: Final = ("full", "medium", "small", "tiny")
SCENES: Final = (("cat", "dog"), ("ship", "truck"))
FRAMES: Final = 16
"""Of each scene."""
NAMES: Final = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
PROFILED: Final = 25
"""Samples of each class."""


def main(folder: Path = FOLDER, batch: int | None = None) -> int:
    """Run the demonstration; 0 if everything went as it should."""
    data = cifar(folder)
    samples, frames = split(data.held_out)
    with tempfile.TemporaryDirectory(prefix="zenserve-demo-") as home, service(Path(home)) as client:
        with scene(f"The camera's owner registers {len(BANK)} networks, and commits to their weights"):
            models = {register(client, name, data.seen.pixels[:64] / 255): name for name in BANK}
        with scene("A stream over this bank: which network is enough for which classes is measured once"):
            stream = client.create_stream(
                [*models],
                values(data.held_out, samples),
                data.held_out.labels[samples].tolist(),
                backlog=len(frames),
                rules={"batch": batch} if batch else None,
            )
            client.begun(stream.id)
        with scene(f"{len(frames)} frames"):
            right, seconds = film(client, stream.id, data.held_out, frames, models)
        with scene("Anybody verifies the whole stream, from one file and the networks' keys"):
            file = checked(StreamFile, client.get_stream_file(stream.id))
            keys = keys_of(client, file)
            verdict = judge_stream(file, keys)
            for sentence in verdict.verified or [verdict.detail]:
                console.print(f"  {sentence}")
        with scene("Cheating"):
            reasons = cheated(file, keys)
    return finish(
        verdict.valid, reasons, frames=len(frames), right=right, by_model=verdict.by_model, **seconds
    )


def split(held_out: Images) -> tuple[IntArray, IntArray]:
    """Places of the samples to be profiled, of each class equally many, and of the images to be shown."""
    of_class = [np.flatnonzero(held_out.labels == own) for own in range(CIFAR.classes)]
    samples = np.concatenate([places[:PROFILED] for places in of_class])
    rng = np.random.default_rng(7)
    shown = [
        rng.choice(of_class[NAMES.index(rng.choice(own))][PROFILED:]) for own in SCENES for _ in range(FRAMES)
    ]
    return samples, np.array(shown)


def values(images: Images, places: IntArray) -> Any:
    """Pixels from 0 to 1, as precise as their integers are."""
    return (images.pixels[places] / 255).round(4).tolist()


def register(client: Client, name: str, images: FloatArray) -> str:
    """The id of the network as a model of a bank."""
    member = with_prior(to_onnx(CIFAR.network(name)), images)
    calibration = io.BytesIO()
    np.savez(calibration, image=images, prior=member.priors(CIFAR.classes, len(images)))
    model = client.create_model(member.onnx, calibration.getvalue(), name=name, weight_privacy="committed")
    return str(succeeded(show_progress(console, name, client.follow(model))).id)


def film(
    client: Client, stream: str, images: Images, frames: IntArray, models: Mapping[str, str]
) -> tuple[int, dict[str, float]]:
    """Show the camera these images. How many answers are right, and the seconds of each network's proofs."""
    for number, place in enumerate(frames):
        client.add_frame(stream, number, values(images, place))
    client.end_stream(stream)
    right, seconds = 0, dict.fromkeys(models.values(), 0.0)
    for frame in client.follow_frames(stream):
        truth, name = images.labels[frames[frame.number]], models[frame.model_id or ""]
        right += int(frame.label == truth)
        seconds[name] += frame.seconds
        answer = NAMES[frame.label or 0]
        proof = "" if frame.batch is None else f"  with the proof from {frame.batch} on"
        console.print(
            f"  {frame.number:3d}  {NAMES[truth]:<11}{answer:<11}{name:<8}{frame.seconds:6.2f} s{proof}"
        )
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
    parser.add_argument("--batch", type=int, help="frames in a row that have one proof")
    raise SystemExit(main(batch=parser.parse_args().batch))
