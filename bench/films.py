"""Faces proven end to end, by a course and by the full network: topics of ``bench.streams``.

"film": a service, as ``zenserve serve`` starts it, registers the bank of faces (examples/camera) and is
handed two scenes of persons that its profile knows by other pictures; then the first frames once more, over a
bank of the full network alone. Weights are committed, images private. Seconds a frame are from when the first
was handed in until the last was proven; "of a proof" what their jobs took. Both streams are judged. "demos":
the demonstrations, from their start to their end. Both need images (docs/zoo.md).
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np

from bench.cameras import there
from bench.measure import timed
from bench.report import Cells, Row, more
from examples.camera.demo import SHOWS, hand_in, keys_of, open_stream, registered, split
from examples.camera.network import FACES
from examples.digits.demo import service
from examples.zoo.data import FOLDER, Images
from zenserve.base.processors import usable_cores
from zenserve.client import Client
from zenserve.client.resources import Frame
from zenserve.relations.integers import IntArray
from zenserve.verifier.documents import checked
from zenserve.verifier.stream import StreamFile, judge_stream

THREADS: Final = usable_cores()
SCENE: Final = 80
"""Frames of each."""
FIRST: Final = 40


def film(quick: bool) -> Iterator[Row]:
    if FACES not in there():
        return
    show = SHOWS[FACES.name]
    data, scene, first = show.images(FOLDER), SCENE // 10 if quick else SCENE, FIRST // 10 if quick else FIRST
    samples, shown = split(show, data.held_out, scene)
    with TemporaryDirectory() as home, service(Path(home)) as client:
        models = [*registered(client, show.bank, show.members, data.seen)]
        course = _proven(client, models, data.held_out, samples, shown)
        full = _proven(client, models[:1], data.held_out, samples, shown[:first])
    truth = data.held_out.labels[shown]
    own = _row("by the full network", models, full, truth, full)
    yield own
    yield _row("by the course", models, course[:first], truth, full)
    yield _row("by the course", models, course, truth, full)


def _proven(
    client: Client, models: list[str], images: Images, samples: IntArray, shown: IntArray
) -> list[Frame]:
    """A whole stream of these images, which is valid."""
    stream = open_stream(client, models, images, samples, len(shown))
    hand_in(client, stream, images, shown)
    frames = [*client.follow_frames(stream)]
    file = checked(StreamFile, client.get_stream_file(stream))
    verdict = judge_stream(file, keys_of(client, file))
    assert verdict.valid, verdict.detail
    assert not verdict.missed
    return frames


def _row(
    name: str, models: Sequence[str], frames: Sequence[Frame], truth: IntArray, full: Sequence[Frame]
) -> Row:
    right = [each.label == truth[each.number] for each in frames]
    said = {
        "proof": _seconds(frames),
        "proofs": _seconds(full) / _seconds(frames),
        "times": _elapsed(full) / _elapsed(frames),
        "accuracy": 100 * float(np.mean(right)),
        "by": ", ".join(str(sum(each.model_id == model for each in frames)) for model in models),
    }
    return Row(f"faces, {name}", len(frames), _elapsed(frames), threads=THREADS, more=said)


def _seconds(frames: Sequence[Frame]) -> float:
    return sum(each.seconds for each in frames) / len(frames)


def _elapsed(frames: Sequence[Frame]) -> float:
    """Of each, from when the first was handed in until the last was proven."""
    ends = [each.finished_at for each in frames if each.finished_at]
    return (max(ends) - frames[0].created_at).total_seconds() / len(frames)


def demos() -> Iterator[Row]:
    for bank in there():
        command = [sys.executable, "-m", "examples.camera.demo", "--bank", bank.name]
        done, seconds = timed(partial(subprocess.run, command, capture_output=True, text=True, check=True))
        said = json.loads(done.stdout.splitlines()[-1].removeprefix("demo: "))
        by = ", ".join(map(str, said["by_model"]))
        yield Row(f"--bank {bank.name}", said["frames"], seconds, more={"right": said["right"], "by": by})


FILM: Final[Cells] = {
    "stream": lambda row: row.name,
    "frames": lambda row: str(row.size),
    "s a frame": lambda row: f"{row.median:.3f}",
    "times": lambda row: f"{row.more['times']:.1f}",
    "s of a proof": lambda row: f"{row.more['proof']:.3f}",
    "times less": lambda row: f"{row.more['proofs']:.1f}",
    "accuracy %": lambda row: f"{row.more['accuracy']:.1f}",
    "by each network": more("by"),
}
DEMOS: Final[Cells] = {
    "examples.camera.demo": lambda row: row.name,
    "frames": lambda row: str(row.size),
    "right": lambda row: str(row.more["right"]),
    "by each network": more("by"),
    "s": lambda row: f"{row.median:.0f}",
}
