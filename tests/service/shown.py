"""What proofs show of the digits' network: real statements and descriptions, without the proofs."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from zenserve import circuits
from zenserve.circuits import Circuit, Inference, QuantGraph, Robustness
from zenserve.relations.integers import IntArray
from zenserve.service import intake
from zenserve.service.storage.database import now
from zenserve.verifier.documents import KeyFile, named
from zenserve.verifier.fields import Values, timestamp
from zenserve.verifier.registry import FIRST, SYSTEMS
from zenserve.verifier.words import make_statement

DIGITS = Path(__file__).parents[2] / "examples" / "digits"
FORMS: dict[str, dict[str, Any]] = {
    "label": {},
    "logits": {"reveal": "logits", "input_privacy": "public"},
    "top": {"reveal": "top", "top": 3},
}


@cache
def network() -> QuantGraph:
    onnx, calibration = (DIGITS / name for name in ("digits.onnx", "calibration.npy"))
    return QuantGraph.from_bytes(intake.quantise(onnx.read_bytes(), calibration.read_bytes()))


@cache
def circuit(form: str) -> Inference:
    return circuits.compile_inference(network(), **FORMS[form])


@cache
def described(form: str) -> dict[str, Any]:
    """As a key has it."""
    return circuit(form).describe()


@cache
def certificate() -> Robustness:
    return circuits.compile_robustness(network(), input_privacy="public")


@cache
def _images() -> Any:
    return np.load(DIGITS / "held_out.npz")["images"]


def digit(image: int) -> IntArray:
    """One of the images that the network was not trained with, in integers."""
    return network().input.type.quantise(_images()[image].astype(np.float64))


def statement(form: str, image: int, key_id: str, challenge: str | None) -> dict[str, Any]:
    """Of one of these images."""
    return said_of(circuit(form), circuit(form).values(digit(image)), key_id, challenge)


def said_of(circuit: Circuit, values: Values, key_id: str, challenge: str | None) -> dict[str, Any]:
    """The statement that shows these values."""
    # Its key is not looked at: words need no more of it than the name.
    said = circuit.describe()
    key = KeyFile(**named(SYSTEMS[FIRST]), id=key_id, setup="development", key={}, circuit=said)
    made = make_statement(key, values=values, commitments={}, made_at=timestamp(now()), challenge=challenge)
    return made.model_dump(mode="json")
