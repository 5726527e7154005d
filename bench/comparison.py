"""Processor seconds that comparing answers (``zenserve.circuits.comparison``) adds to ``zenserve.prove``.

    python -m bench.comparison [--json FILE] [--quick]

Calls with and without the comparisons take turns. A call reads, quantises, makes keys, proves and verifies;
"of" is the comparisons' share of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import Final
from unittest.mock import patch

import zenserve
from bench.measure import arguments, in_turn
from bench.report import Report, Row
from zenserve.circuits import zoo
from zenserve.circuits.comparison.differences import Difference
from zenserve.onecall.networks import Loaded

NETWORKS: Final = ("shallownet-mnist", "lenet-small-cifar", "lenet-face-small-orl")
REPETITIONS: Final = 5
_NONE: Final = Difference("quantisation", "nothing", 0, "", "value", 0.0, 0.0)


def main() -> None:
    options = arguments(__doc__)
    report = Report("comparison")
    report.show("Comparing answers", rows(options.quick))
    report.write(options.json)


def rows(quick: bool) -> Iterator[Row]:
    for name in NETWORKS[:1] if quick else NETWORKS:
        file, samples = zoo.onnx(name), zoo.calibration(name)
        prove = partial(zenserve.prove, file, samples[0], calibration=samples)
        found = in_turn(
            {"": partial(_seconds, prove), "uncompared": partial(_seconds, partial(_uncompared, prove))},
            repetitions=1 if quick else REPETITIONS,
        )
        ours, without = found[""], found["uncompared"]
        more = {"of": f"{1 - (without.ratio or 1):.1%}"}
        yield Row(name, None, ours.median, spread=ours.spread, ratio=without.ratio, more=more)


def _seconds(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def _uncompared(call: Callable[[], object]) -> object:
    with ExitStack() as patches:
        patches.enter_context(patch.object(Loaded, "differences", lambda *_, **__: ()))
        patches.enter_context(patch("zenserve.onecall.proving.compare_integers", lambda *_, **__: _NONE))
        return call()


if __name__ == "__main__":
    main()
