"""Questions about networks whose bounds are large: no process of the API computes them itself."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from onnx import helper, numpy_helper

from tests.service.support import tiny_calibration, tiny_onnx, work_on
from zenserve.circuits.quantised.typed import TypedGraph
from zenserve.client import Client
from zenserve.errors import StatementError
from zenserve.service import intake
from zenserve.service.runtime import Runtime
from zenserve.service.submissions import asking, sandbox

POSITIONS, WIDTH = 260, 2
"""More values than a process of the API takes, and still read soon."""


def attention_onnx() -> bytes:
    """One head: a network of some kilobytes with tensors of positions times positions."""
    rng = np.random.default_rng(0)
    weights = {name: rng.normal(size=(WIDTH, WIDTH)).astype(np.float32) for name in "qkv"}
    nodes = [helper.make_node("MatMul", ["x", name], [f"{name}x"]) for name in "qkv"]
    nodes += [
        helper.make_node("Transpose", ["kx"], ["kt"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["qx", "kt"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["shares"], axis=-1),
        helper.make_node("MatMul", ["shares", "vx"], ["mixed"]),
        helper.make_node("ReduceMean", ["mixed"], ["y"], axes=[1], keepdims=0),
    ]
    graph = helper.make_graph(
        nodes,
        "attention",
        [helper.make_tensor_value_info("x", 1, [1, POSITIONS, WIDTH])],
        [helper.make_tensor_value_info("y", 1, [1, WIDTH])],
        [numpy_helper.from_array(values, name) for name, values in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return bytes(model.SerializeToString())


def calibration() -> bytes:
    content = io.BytesIO()
    np.save(content, np.random.default_rng(1).normal(size=(2, POSITIONS, WIDTH)).astype(np.float32))
    return content.getvalue()


def test_what_is_large_is_asked_in_the_sandbox(
    api: Client, with_model: Runtime, in_a_child: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the upload to a commitment: bounds are the child's alone. Each question is asked once."""
    asked = list[bytes]()
    run = sandbox.run

    def noted(tenant_id: str, operation: str, *parts: bytes) -> bytes:
        if operation == "ask":
            asked.append(parts[1])
        return run(tenant_id, operation, *parts)

    def here(*given: Any, **how: Any) -> None:
        raise AssertionError("computed in the process of the API")

    monkeypatch.setattr(sandbox, "run", noted)
    monkeypatch.setattr(TypedGraph, "__init__", here)
    model = api.create_model(attention_onnx(), calibration(), weight_privacy="committed")
    assert asked == [], "what is read once more says it"
    quantised = network(with_model, model.id)
    for _ in range(2):
        count = asking.ask("tnt_local", "committed_count", quantised, "committed")
    assert len(asked) == 1
    monkeypatch.undo()
    assert count == intake.committed_count(quantised, "committed")


def network(runtime: Runtime, model_id: str) -> bytes:
    from zenserve.service import encryption
    from zenserve.service.storage.repositories import Models

    with runtime.database.read() as session:
        return encryption.open_network(runtime, Models(session).get(model_id))


def test_what_is_small_is_answered_here(
    api: Client, with_model: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "run", lambda *given: pytest.fail("a child for a tiny network"))
    (model,) = list(api.models())
    quantised = network(with_model, model.id)
    assert asking.ask(
        "tnt_local", "outputs_kept", quantised, "committed", "commitment"
    ) == intake.outputs_kept(quantised, "committed", "commitment")


@pytest.mark.parametrize("small", [False, True])
def test_refusals_are_the_same(
    api: Client, with_model: Runtime, monkeypatch: pytest.MonkeyPatch, small: bool
) -> None:
    """Wherever they come from, and they name no other field."""
    monkeypatch.setattr(asking, "_is_small", lambda quantised: small)
    (model,) = list(api.models())
    quantised = network(with_model, model.id)
    with pytest.raises(StatementError) as refused:
        asking.ask("tnt_local", "check_privacy", quantised, {"nothing": "public"}, "committed")
    with pytest.raises(StatementError) as expected:
        intake.check_privacy(quantised, {"nothing": "public"}, "committed")
    assert (refused.value.code, refused.value.message, refused.value.field) == (
        expected.value.code,
        expected.value.message,
        expected.value.field,
    )


def test_every_question_is_answered_by_a_child_as_here(
    api: Client, with_model: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = api.create_model(tiny_onnx(embeds=True), tiny_calibration(), weight_privacy="committed")
    work_on(with_model, model.id)
    quantised = network(with_model, model.id)
    questions: list[tuple[str, list[Any], dict[str, Any]]] = [
        ("committed_count", ["committed"], {}),
        ("outputs_kept", ["committed", "commitment"], {}),
        ("read_reference", [[0.1, 0.2, 0.3, 0.4], "reference"], {"saturate": False}),
        ("plan_registered", ["committed"], {}),
        ("plan_inference", ["committed", 2], {}),
    ]
    for name, arguments, options in questions:
        answers = []
        for small in (True, False):
            asking._answers.clear()
            monkeypatch.setattr(asking, "_is_small", lambda quantised, small=small: small)
            answers.append(asking.ask("tnt_local", name, quantised, *arguments, **options))
        assert answers[0] == answers[1], name
