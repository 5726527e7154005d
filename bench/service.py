"""The service under load: a real API over HTTP, and its callers in a process of their own, beside it.

    python -m bench.service [--topics TOPIC …] [--json FILE]

verify: one proof of the digits network (weights committed, input private), asked for again and again on kept
connections; also 64 in a request. Before it, what verification takes of this on one thread, next to arkworks
through py_arkworks_bls12381; its floor is what decoding points and pairing them take alone. "CPU ms" is what
all API processes took for a proof. Peak MB is of the largest of them.

submissions: a thousand proofs are asked for by eight callers at once, while a worker proves what came before.
pages: lists of 100,000 proofs, 50 on a page. Both on SQLite, and on PostgreSQL (with Redis) where its
programs are installed.

strangers: what the dearest single requests of callers without a key cost one API process: most are attacks.
streams: `/healthz`, asked ten times a second, beside 700 streams of events. "CPU ms" is for each time, with
all that the streams take meanwhile.

production: one process on PostgreSQL and Redis, on two cores: verifications and submissions by one caller and
by eight, and the 99th percentile of `/healthz` beside them; the processor time of API, database and client.
growth: how far the API's own process grows by uploads, the largest that it takes among them.

first: from `zenserve serve` in an empty folder to the first proof that is verified, under each proof system,
with weights committed: until it answers, the registration with its proof and keys, the proof, the verdict.
"""

from __future__ import annotations

import itertools
import json
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np

from bench import service_production, strangers
from bench.digits import DIGITS
from bench.measure import argument_parser, measure
from bench.report import Report, Row
from bench.service_jobs import pages, streams, submissions
from bench.serving import image, load, registered, running
from zenserve.base.processors import usable_cores
from zenserve.circuits import zoo
from zenserve.client import Client
from zenserve.client.api import succeeded
from zenserve.kernels import WordArray
from zenserve.prover.groth16.native import NATIVE, NativeCurve
from zenserve.service.api.verifier import MOST_TOGETHER
from zenserve.verifier.curve import ARKWORKS, Curve
from zenserve.verifier.documents import KeyFile, ProofDocument, checked
from zenserve.verifier.groth16.system import Groth16Verifier
from zenserve.verifier.judging import Case, judge_each
from zenserve.verifier.keys import opened

Result = TypeVar("Result")


def verify(folder: Path, report: Report, quick: bool) -> list[Row]:
    """Verifications, by one API process and by one for each core."""
    with running(folder, "serve") as server, Client(server.url) as client:
        document, key_file = _proof(client)
    show_verification(report, document, key_file, 1 if quick else 5)
    one = {"proof": document.model_dump(mode="json")}
    duration = 1.0 if quick else 5.0
    loads = []
    for processes in sorted({1, usable_cores()}):
        with running(folder, "api", processes=processes) as server:
            ask = partial(load, server, duration=duration)
            single = json.dumps(one).encode()
            for connections in (1, 8, 16):
                loads.append(ask("verify", "/v1/verify", single, connections=connections))
            many = json.dumps({"proofs": [one] * 64}).encode()
            loads.append(
                ask("in batches of 64", "/v1/verify/batch", many, connections=usable_cores(), items=64)
            )
    return loads


def show_verification(report: Report, document: ProofDocument, key_file: KeyFile, repetitions: int) -> None:
    """What of a verification is not HTTP: one thread, per proof."""

    def cases(curve: Curve[Any, Any], count: int) -> list[Case]:
        return [Case(document, opened(key_file, {Groth16Verifier.id: Groth16Verifier(curve)}))] * count

    rows = []
    for count in (1, MOST_TOGETHER, 64):
        floor = _Unavoidable()
        judge_each(cases(floor, 1))  # the key's points are decoded once
        floor.seconds = 0.0
        measure(partial(judge_each, cases(floor, count)), repetitions=repetitions)
        timing = measure(
            partial(judge_each, cases(NATIVE, count)),
            partial(judge_each, cases(ARKWORKS, count)),
            repetitions=repetitions,
        )
        each = replace(timing, median=timing.median / count)
        name, least = "alone" if count == 1 else "together, each", floor.seconds / count / (1 + repetitions)
        rows.append(Row.of(name, count, each, threads=1, peer="arkworks", floor=least))
    report.show("Verification of a document", rows)


class _Unavoidable(NativeCurve):
    """Notes what it takes to decode points and to pair them."""

    seconds = 0.0

    def decode_g1(self, data: bytes) -> WordArray:
        return self._timed(super().decode_g1, data)

    def decode_g2(self, data: bytes) -> WordArray:
        return self._timed(super().decode_g2, data)

    def products_agree(self, left: Any, right: Any) -> bool:
        return self._timed(super().products_agree, left, right)

    def _timed(self, work: Callable[..., Result], *arguments: object) -> Result:
        start = time.perf_counter()
        result = work(*arguments)
        self.seconds += time.perf_counter() - start
        return result


def unknown_callers(folder: Path, _report: Report, _quick: bool) -> list[Row]:
    """Requests without a key, to a service that asks for one."""
    with running(folder, "serve") as server, Client(server.url) as client:
        both = [_proof(client, system) for system in ("groth16", "spartan")]
    groth16, spartan = (
        strangers.Asked(document.model_dump(mode="json"), key_file.model_dump(mode="json"))
        for document, key_file in both
    )
    return strangers.strangers(folder, groth16, spartan)


def _proof(client: Client, system: str = "groth16") -> tuple[ProofDocument, KeyFile]:
    model = registered(client, system)
    proof = succeeded(client.wait(client.create_proof(model.id, image(), challenge="bench")))
    document = checked(ProofDocument, client.get_proof_document(proof.id))
    key_id = document.statement.verification_key.id
    return document, checked(KeyFile, client.get_verification_key(key_id))


def first(folder: Path, _report: Report, quick: bool) -> list[Row]:
    """What a newcomer waits for, and what of that is the setup of keys."""
    networks = {"digits": _digits} | ({} if quick else {"lenet-small": _lenet})
    return [
        _first(folder / f"{name}-{system}", name, system, *given())
        for name, given in networks.items()
        for system in ("groth16", "spartan")
    ]


def _digits() -> tuple[bytes, bytes, list[Any]]:
    return (DIGITS / "digits.onnx").read_bytes(), (DIGITS / "calibration.npy").read_bytes(), image()


def _lenet() -> tuple[bytes, bytes, list[Any]]:
    """Of noise: what it is about changes nothing of what it takes."""
    network = "lenet-small-cifar"
    (shape,) = zoo.network(network).entries.values()
    images = np.random.default_rng(1).random((8, *shape), dtype=np.float32)
    np.save(file := BytesIO(), images)
    return zoo.onnx(network), file.getvalue(), images[0].tolist()


def _first(folder: Path, name: str, system: str, onnx: bytes, calibration: bytes, values: list[Any]) -> Row:
    folder.mkdir()
    times = [time.perf_counter()]
    with running(folder, "serve") as server, Client(server.url) as client:
        times.append(time.perf_counter())
        made = client.create_model(onnx, calibration, name=name, system=system, weight_privacy="committed")
        model = succeeded(client.wait(made))
        times.append(time.perf_counter())
        proof = succeeded(client.wait(client.create_proof(model.id, values)))
        times.append(time.perf_counter())
        document = client.get_proof_document(proof.id)
        if not client.verify(document).valid:
            raise SystemExit(f"{name}: a proof of {system} is not valid")
        times.append(time.perf_counter())
    parts = zip(("start", "register", "prove", "verify"), itertools.pairwise(times), strict=True)
    taken = {f"{part}_s": end - start for part, (start, end) in parts}
    more = {"system": system, **taken, "proof_kb": len(document["proofs"][0]) / 2 / 1024}
    return Row(name, None, times[-1] - times[0], more=more)


TOPICS: Final[dict[str, Callable[[Path, Report, bool], list[Row]]]] = {
    "verify": verify,
    "submissions": submissions,
    "pages": pages,
    "strangers": unknown_callers,
    "streams": streams,
    "first": first,
    "production": service_production.under_load,
    "growth": service_production.growth,
}


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--topics", nargs="+", choices=TOPICS, default=list(TOPICS))
    options = parser.parse_args()
    report = Report("service", "size = connections")
    for topic in options.topics:
        with tempfile.TemporaryDirectory(prefix="zenserve-bench-") as folder:
            report.show(topic, TOPICS[topic](Path(folder), report, options.quick))
    report.write(options.json)


if __name__ == "__main__":
    main()
