"""Several inferences in one circuit: each as if it were alone, and none in another's place."""

from __future__ import annotations

import json
from typing import Any, Final

import numpy as np
import pytest

from tests.circuits.support import challenged, extremes, first_violation, insisting, random_network
from tests.refusals import refuses
from zenserve.circuits import Inference, compile_inference
from zenserve.verifier.description import Description, as_list
from zenserve.verifier.documents import checked
from zenserve.verifier.schemes import Privacy
from zenserve.verifier.words import claim

BATCH: Final = 3
NETWORK: Final = random_network(7)
INPUTS: Final = np.stack(extremes(NETWORK, np.random.default_rng(3))[-BATCH:])


def compiled(weights: Privacy = "committed", inputs: Privacy = "private", batch: int = BATCH) -> Inference:
    return compile_inference(
        NETWORK, input_privacy=inputs, weight_privacy=weights, reveal="label", batch=batch
    )


@pytest.mark.parametrize("weights", ["public", "committed"])
@pytest.mark.parametrize("inputs", ["public", "private"])
def test_each_has_the_label_that_it_has_alone(weights: Privacy, inputs: Privacy) -> None:
    circuit, alone = compiled(weights, inputs), compiled(weights, inputs, batch=1)
    labels = [alone.values(q)["label"] for q in INPUTS]
    assert len({*map(str, labels)}) > 1
    assert circuit.values(INPUTS)["label"] == labels
    z = challenged(circuit.program, circuit.assign(INPUTS))
    assert first_violation(circuit.constraint_system, z) is None
    assert circuit.constraint_system.constraints == circuit.plan.rows
    shown = circuit.public_inputs(INPUTS, statement=5)
    assert z[1 : 1 + len(shown)] == [0, *shown[1:]]


def test_no_other_labels_and_no_other_order_has_a_proof() -> None:
    circuit = compiled()
    right = np.array(circuit.values(INPUTS)["label"])
    given = {"input": INPUTS.ravel()}
    for lie in (np.roll(right, 1), right[::-1], *(right + step for step in np.eye(BATCH, dtype=np.int64))):
        if (lie != right).any():
            z = insisting(circuit, given, {"label": lie})
            assert first_violation(circuit.constraint_system, challenged(circuit.program, z)) is not None


def test_what_it_says_is_of_all_of_them() -> None:
    circuit = compiled("public")
    description = checked(Description, described(circuit))
    values = circuit.values(INPUTS)
    labels = as_list(values["label"])
    said = claim(description, values)
    assert said.startswith(f"The labels, in turn, are {', '.join(map(str, labels))}. The prover knows")
    assert "So it is for 3 samples" in said
    with pytest.raises(ValueError, match="must have 3 numbers, not 2"):
        description.public_values({"label": labels[:2]})


@pytest.mark.parametrize(
    "change",
    [
        {"batch": 1},
        {"batch": 2},
        {"batch": None},
        {"commitments": ["input"]},
        {"count": 4},
        {"shape": []},
        {"shape": [1, 3]},
        {"name": "top"},
        {"scheme": "robustness"},
    ],
)
def test_a_description_of_a_batch_that_is_none_is_refused(change: dict[str, Any]) -> None:
    wrong = described(compiled("public"))
    shown = wrong["public_inputs"][-1]
    for name, value in change.items():
        (shown if name in shown else wrong)[name] = value
    with refuses("file.json"):
        checked(Description, wrong)


@pytest.mark.parametrize(
    "options",
    [
        {"batch": 0},
        {"reveal": "logits"},
        {"reveal": "commitment"},
        {"input_privacy": "committed"},
        {"level": 4},
    ],
)
def test_what_batches_have_not_is_refused(options: dict[str, Any]) -> None:
    with refuses("statement.batch"):
        asked: dict[str, Any] = {"batch": BATCH, "reveal": "label"} | options
        compile_inference(NETWORK, **asked)


def test_inputs_of_another_number_are_refused() -> None:
    with refuses("input.shape"):
        compiled().values(INPUTS[:2])


def described(circuit: Inference) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(circuit.describe()))
    return found
