"""Streams: how soon and how surely changes of classes are noticed, and what that takes a frame.

    python -m bench.streams [--topics switches frames bank cameras batches film demos] [--json FILE] [--quick]

"switches": synthetic streams whose classes change to others of which none was there before; lengths are
Poisson, lambda minutes of 60 frames in the mean, and a share of labels (5 to 20 %) is of any class. A change
is "found" if it is flagged within ten frames; "false" flags are those that are not within forty of one, for
2,000 frames. "known" is the share of frames at which the classes that are believed are those of the stream,
and no others; "window" the same of the last so many labels, of the size that is best in hindsight. "agree" is
the share of frames, of the first of one stream of each noise, that are flagged or not as if all runs were
kept.

"frames": microseconds a frame, at the beginning of a stream and far into it.

"bank", "cameras" and "batches": of a bank's proofs (``bench.cameras``). "film" and "demos": end to end
(``bench.films``).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

import numpy as np

from bench import cameras, films
from bench.measure import argument_parser, measure
from bench.report import Cells, Report, Row, more
from zenserve.verifier.streams.detector import Detection, Detector

TOPICS: Final = ("switches", "frames", "bank", "cameras", "batches", "film", "demos")
CLASSES: Final = (10, 40)
MINUTES: Final = (2, 4, 8, 16, 32)
NOISE: Final = (0.05, 0.1, 0.15, 0.2)
EACH: Final = 5
"""Streams of each kind: 200 in all."""
CHANGES: Final = 6
SOON: Final = 10
FAR: Final = 40
BEGUN: Final = 1000
"""Frames of a stream in which all runs are kept: what they take grows with their square."""
WINDOWS: Final = (10, 15, 20, 30, 45, 60, 90, 120, 180)


class Stream(NamedTuple):
    """``changes``: their frames; ``classes``: of each frame."""

    labels: list[int]
    changes: list[int]
    classes: list[list[int]]


class Tally(NamedTuple):
    """Of changes: how many, found, and frames until then; flags that are wrong; of frames: how many, and
    those whose classes were known."""

    changes: int
    found: int
    delay: int
    false: int
    frames: int
    known: int


def stream_of(classes: int, minutes: int, noise: float, seed: int) -> Stream:
    """Of two to three classes at a time."""
    rng = np.random.default_rng([classes, minutes, int(100 * noise), seed])
    labels: list[int] = []
    changes: list[int] = []
    true: list[list[int]] = []
    own = np.zeros(0, np.int64)
    for _ in range(CHANGES + 1):
        length = max(SOON, int(rng.poisson(60 * minutes)))
        others = np.setdiff1d(np.arange(classes), own)
        own = rng.choice(others, rng.integers(2, 4), replace=False)
        shares = rng.dirichlet(np.full(own.size, 8.0))
        said = rng.choice(own, length, p=shares)
        wrong = rng.random(length) < noise
        said[wrong] = rng.integers(classes, size=int(wrong.sum()))
        changes.append(len(labels))
        labels += said.tolist()
        true += [sorted(own.tolist())] * length
    return Stream(labels, changes[1:], true)


def followed(stream: Stream, classes: int) -> Tally:
    detector = Detector(Detection(classes))
    flags, known = [], 0
    for frame, label in enumerate(stream.labels):
        if detector.observe(label):
            flags.append(frame)
        known += classes_of(detector.run.counts, classes) == stream.classes[frame]
    firsts = [next((flag - change for flag in flags if flag >= change), SOON) for change in stream.changes]
    found = [first for first in firsts if first < SOON]
    false = sum(all(not 0 <= flag - change < FAR for change in stream.changes) for flag in flags)
    return Tally(len(firsts), len(found), sum(found), false, len(stream.labels), known)


def agreed(stream: Stream, classes: int) -> float:
    """The share of its first frames of which a detector says what one says that keeps all runs."""
    labels = stream.labels[:BEGUN]
    ours, all_runs = Detector(Detection(classes)), Detector(Detection(classes, runs=len(labels)))
    return sum(ours.observe(label) == all_runs.observe(label) for label in labels) / len(labels)


def classes_of(counts: Mapping[int, int], classes: int) -> list[int]:
    """Those with more than half of an even share of the ``n`` labels, and at least ``sqrt(n)`` of them: few
    labels show large shares alone, as those that are wrong are of all classes."""
    total = sum(counts.values())
    return sorted(
        label for label, count in counts.items() if 2 * classes * count > total and count * count >= total
    )


def known_by_window(stream: Stream, classes: int, size: int) -> int:
    """Frames whose classes are those of the last ``size`` labels."""
    counts: Counter[int] = Counter()
    known = 0
    for frame, label in enumerate(stream.labels):
        counts[label] += 1
        if frame >= size:
            counts[stream.labels[frame - size]] -= 1
        known += classes_of(counts, classes) == stream.classes[frame]
    return known


def switches(each: int) -> Iterator[Row]:
    for classes in CLASSES:
        for minutes in MINUTES:
            streams = [stream_of(classes, minutes, noise, seed) for noise in NOISE for seed in range(each)]
            tallies = [followed(stream, classes) for stream in streams]
            ours = Tally(*map(sum, zip(*tallies, strict=True)))
            windows = {
                size: sum(known_by_window(stream, classes, size) for stream in streams) for size in WINDOWS
            }
            alike = [agreed(stream, classes) for stream in streams[::each]]
            best = max(windows, key=windows.__getitem__)
            said = {
                "changes": ours.changes,
                "delay": ours.delay / max(1, ours.found),
                "false": 2000 * ours.false / ours.frames,
                "known": 100 * ours.known / ours.frames,
                "agree": f"{100 * sum(alike) / len(alike):.2f}",
                "window": f"{100 * windows[best] / ours.frames:.1f} ({best} frames)",
            }
            found = 100 * ours.found / ours.changes
            yield Row(f"{classes} classes, {minutes} minutes", ours.frames, found, unit="% found", more=said)


def frames(quick: bool) -> Iterator[Row]:
    """A thousand classes, thirty runs; each figure is of 1,000 frames."""
    rng = random.Random(1)
    for before in (200, 2_000) if quick else (200, 10_000, 1_000_000):
        detector = Detector(Detection(1000))
        for _ in range(before):
            detector.observe(rng.choice((3, 77, 500)))
        timing = measure(_observing(detector, rng))
        yield Row(
            f"after {before:,} frames", before, 1e3 * timing.median, timing.spread, "us a frame", threads=1
        )


def _observing(detector: Detector, rng: random.Random) -> Callable[[], None]:
    def observe() -> None:
        for _ in range(1000):
            detector.observe(rng.choice((3, 77, 500)))

    return observe


SWITCHES: Final[Cells] = {
    "streams": lambda row: row.name,
    "changes": more("changes"),
    "found %": lambda row: f"{row.median:.1f}",
    "delay": lambda row: f"{row.more['delay']:.1f}",
    "false": lambda row: f"{row.more['false']:.2f}",
    "known %": lambda row: f"{row.more['known']:.1f}",
    "window %": more("window"),
    "agree %": more("agree"),
}
FRAMES: Final[Cells] = {
    "stream": lambda row: row.name,
    "µs a frame": lambda row: f"{row.median:.1f} ({row.spread:.0%})",
}


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--topics", nargs="+", choices=TOPICS, default=TOPICS)
    options = parser.parse_args()
    report = Report("streams")
    if "switches" in options.topics:
        report.show("switches", switches(1 if options.quick else EACH), SWITCHES)
    if "frames" in options.topics:
        report.show("frames", frames(options.quick), FRAMES)
    if {"bank", "cameras"} & {*options.topics} and (banks := cameras.banks(options.quick)):
        report.show("bank", cameras.networks(banks), cameras.NETWORKS)
        found = [*cameras.filmed(banks, 1 if options.quick else EACH)]
        report.show("cameras", cameras.streams(banks, found), cameras.STREAMS)
        report.show("skews", cameras.skews(found), cameras.SKEWS)
    if "batches" in options.topics:
        report.show("batches", cameras.batches(options.quick), cameras.TOGETHER)
    if "film" in options.topics:
        report.show("film", films.film(options.quick), films.FILM)
    if "demos" in options.topics:
        report.show("demos", films.demos(), films.DEMOS)
    report.write(options.json)


if __name__ == "__main__":
    main()
