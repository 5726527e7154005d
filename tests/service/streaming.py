"""A bank of two tiny models for a service, streams over it, and what anybody says of their files."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any, Final

import httpx
import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from tests.service.support import work_on
from tests.streams.proving import CLASSES, inputs
from zenserve.circuits.priors import with_prior
from zenserve.client import Client
from zenserve.service.runtime import Runtime
from zenserve.verifier.documents import KeyFile, checked
from zenserve.verifier.keys import opened
from zenserve.verifier.stream import StreamFile, StreamVerification, judge_stream

RULES: Final = {"noise": 20, "patience": 6}
RESTLESS: Final = {"noise": 20, "hazard": 3, "patience": 2}
"""A course that sees a change at once, and goes on to another model after two frames."""


def bank_files() -> list[tuple[bytes, bytes]]:
    """Networks and calibrations of two models, of which the second is less sure, and smaller."""
    exact, rough = np.eye(CLASSES), np.eye(CLASSES) + 0.5 * np.roll(np.eye(CLASSES), 1, axis=1)
    return [_files([np.eye(CLASSES), exact]), _files([rough])]


def add_bank(
    runtime: Runtime, http: httpx.Client, *systems: str, weight_privacy: str = "public"
) -> list[str]:
    """The ids of these models, registered; ``systems``: of each, if it is not to be Groth16."""
    ids = []
    for place, (onnx, calibration) in enumerate(bank_files()):
        files = {"model": onnx, "calibration": calibration}
        said = {"name": "member", "weight_privacy": weight_privacy}
        said |= {"system": systems[place]} if systems else {}
        answer = http.post("/v1/models", files=files, data=said)
        assert answer.status_code == 202, answer.text
        ids.append(str(answer.json()["id"]))
        work_on(runtime, ids[-1])
    return ids


def profile() -> dict[str, Any]:
    x, labels = inputs(range(CLASSES), 10, 0.1)
    return {"samples": x.tolist(), "labels": labels.tolist()}


def open_stream(runtime: Runtime, http: httpx.Client, models: Sequence[str], **options: Any) -> str:
    """The id of one that takes frames."""
    body = {"models": models, "profile": profile(), "rules": RULES, **options}
    answer = http.post("/v1/streams", json=body)
    assert answer.status_code == 202, answer.text
    stream_id = str(answer.json()["id"])
    work_on(runtime, stream_id)
    return stream_id


def frame(label: int) -> list[float]:
    """One that shows this class."""
    values: list[float] = inputs([label], 1, 0.1)[0][0].tolist()
    return values


def add_frame(http: httpx.Client, stream_id: str, number: int, label: int) -> httpx.Response:
    return http.post(f"/v1/streams/{stream_id}/frames", json={"number": number, "input": frame(label)})


def judged(file: Any, key_of: Callable[[str], Any]) -> StreamVerification:
    """The verdict on a stream's file, with the keys that it names."""
    stream = checked(StreamFile, file)
    models = stream.head.bank.models
    ids = [key for model in models for key in (model.verification_key, model.batch_key) if key]
    return judge_stream(stream, {key_id: opened(checked(KeyFile, key_of(key_id))) for key_id in ids})


def add_bank_over(client: Client) -> list[str]:
    """As ``add_bank``, of a service with workers."""
    return [client.wait(client.create_model(*files, weight_privacy="public")).id for files in bank_files()]


def _files(layers: Sequence[NDArray[np.float64]]) -> tuple[bytes, bytes]:
    x = inputs(range(CLASSES), 64, 0.5)[0]
    member = with_prior(_onnx(layers), x)
    calibration = io.BytesIO()
    np.savez(calibration, x=x, prior=member.priors(CLASSES, len(x)))
    return member.onnx, calibration.getvalue()


def _onnx(layers: Sequence[NDArray[np.float64]]) -> bytes:
    """These matrices, with a ReLU between any two."""
    names = ["x", *(f"h{place}" for place in range(1, len(layers))), "scores"]
    nodes = []
    for place in range(len(layers)):
        start = names[place]
        if place:
            nodes.append(helper.make_node("Relu", [start], [f"r{place}"]))
            start = f"r{place}"
        nodes.append(helper.make_node("MatMul", [start, f"w{place}"], [names[place + 1]]))
    graph = helper.make_graph(
        nodes,
        "test",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", CLASSES])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["batch", CLASSES])],
        [numpy_helper.from_array(w.astype(np.float32), f"w{place}") for place, w in enumerate(layers)],
    )
    opsets = [helper.make_opsetid("", 17)]
    return bytes(helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString())
