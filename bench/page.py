"""What the page that verifies takes in Chromium, and its size.

    python -m bench.page [--json FILE] [--quick]

The file is opened anew each time, without a network. A figure is from the drop of the files to the verdict:
they are sorted, a worker is started, the key is decoded, the proofs are verified. The network has 14 weights,
and those of the stream's bank 16, which makes no difference to who verifies.
"""

from __future__ import annotations

import gzip
import json
import statistics
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from bench.measure import arguments
from bench.report import Report, Row
from tests.browsers import FLAGS
from tests.circuits.quantised import networks
from tests.programs import find
from tests.streams.proving import Stage, inputs
from tests.vectors.world import BATCH, World
from zenserve.service.api import pages
from zenserve.verifier.datasets import LabelledData

SHARDS: Final = 100
FRAMES: Final = 1000
"""Of a stream whose classes change every hundredth."""
REPETITIONS: Final = 5
PAGE: Final = Path(pages.__file__).parent / "verify.html"
# Settles with the milliseconds until there is a verdict, or with what is shown in its place.
DROP: Final = """(texts) => new Promise((done) => {
  const transfer = new DataTransfer();
  for (const [name, text] of Object.entries(texts)) transfer.items.add(new File([text], name));
  const began = performance.now();
  new MutationObserver(() => {
    const card = document.querySelector("#answer .card, #trouble .card");
    if (card) done(card.matches(".good") ? performance.now() - began : card.textContent);
  }).observe(document.querySelector("main"), { childList: true, subtree: true });
  dispatchEvent(new DragEvent("drop", { dataTransfer: transfer }));
})"""

Files = Mapping[str, str]


def documents() -> dict[str, Files]:
    """Of each case the files that are dropped."""
    world = World()
    assessor = world.assessor
    q = networks.inputs(world.graph, SHARDS * BATCH, 7)
    data = LabelledData.of(world.graph.input.type.real(q), world.graph.run(q).argmax(axis=1))
    parts = assessor.parts(data)
    total = sum(part.counts[0] for part in parts)
    accuracy = assessor.prove(assessor.state(assessor.dataset(parts, data.sha256), total), parts)
    assessed = {"proof": accuracy.model_dump_json(), "key": assessor.maker.key_file.model_dump_json()}
    samples = {"samples": json.dumps(data.samples.tolist()), "labels": json.dumps(data.labels.tolist())}
    inferred = {
        "proof": world.inferred.model_dump_json(),
        "key": world.committed.key_file.model_dump_json(),
    }
    registered = {
        "registration": world.registered.model_dump_json(),
        "registration's key": world.registrar.key_file.model_dump_json(),
    }
    return {
        "inference": inferred,
        "inference with the model's registration": inferred | registered,
        f"accuracy of {SHARDS} shards": assessed,
        f"accuracy of {SHARDS} shards with its dataset": assessed | samples,
        f"stream of {FRAMES:,} frames": stream(),
    }


def stream() -> Files:
    """By a bank of two committed models, of inputs that stay private."""
    turns = [inputs(classes, 50, 0.1)[0] for classes in ([0, 1], [2, 3])] * (FRAMES // 200)
    with TemporaryDirectory() as folder:
        stage = Stage.of(Path(folder), "committed")
        made = stage.proven(chain(*turns))
    keys = {model.key.id: model.key.model_dump_json() for model in stage.models}
    return {"stream": made.model_dump_json(), **keys}


@contextmanager
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        flags = [f"--{flag}" for flag in FLAGS]
        browser = started.chromium.launch(executable_path=find("chromium"), args=flags)
        yield browser
        browser.close()


def milliseconds(browser: Any, files: Files) -> float:
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.set_default_timeout(120_000)
    page.goto(PAGE.as_uri())
    taken = page.evaluate(DROP, dict(files))
    context.close()
    assert isinstance(taken, float | int), taken
    return taken


def main() -> None:
    options = arguments(__doc__)
    report = Report("page")
    content = PAGE.read_bytes()
    sizes = {PAGE.name: content, f"{PAGE.name}, gzip": gzip.compress(content, 9)}
    report.show("size", [Row(name, None, len(data), unit="bytes") for name, data in sizes.items()])
    rows = []
    with chromium() as browser:
        version = browser.version
        for name, files in documents().items():
            times = [milliseconds(browser, files) for _ in range(2 if options.quick else REPETITIONS)]
            median = statistics.median(times)
            spread = (max(times) - min(times)) / median
            size = sum(map(len, files.values()))
            rows.append(Row(name, size, median / 1000, spread, more={"Chromium": version}))
    report.show("from the drop of the files to the verdict; size = their bytes", rows)
    report.write(options.json)


if __name__ == "__main__":
    main()
