"""Questions about a stranger's network that take more memory than the network: asked in the sandbox.

A layer of attention over 4,096 positions is a file of some kilobytes, and 800 MB of bounds. Of a small
network the process of the API answers itself, as the bounds are small, too. Answers are kept: all proofs of
a model ask the same.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, Final

import numpy as np

from zenserve.service import intake
from zenserve.service.encryption import Integers
from zenserve.service.storage.records.resources import Model
from zenserve.service.submissions import sandbox
from zenserve.verifier.recent import Recent

_SMALL_BYTES: Final = 1 << 18
_SMALL_VALUES: Final = 1 << 16
"""Of all tensors of a network together: of each, bounds take some fifty bytes."""

_KEPT: Final = 4096
"""Answers."""

_answers: Final = Recent[tuple[bytes, bytes], bytes](_KEPT)


def ask(tenant_id: str, name: str, quantised: bytes, *arguments: Any, **options: Any) -> Any:
    """The answer of ``intake.ASKED``, as JSON has it. Raises what that raises, and as ``sandbox.run``."""
    question = json.dumps([name, arguments, options], sort_keys=True).encode()
    key = hashlib.sha256(quantised).digest(), question
    answer = _answers.get(key)
    if answer is None:
        if _is_small(quantised):
            answer = intake.ask(quantised, question)
        else:
            answer = sandbox.run(tenant_id, "ask", quantised, question)
        _answers.keep(key, answer)
    return json.loads(answer)


def reference(model: Model, quantised: bytes, image: Any, field: str) -> Integers:
    """``intake.read_reference``. It computes the network, and its answer is secret: it is not kept."""
    if _is_small(quantised):
        return intake.read_reference(quantised, image, field, saturate=model.saturate)
    question = json.dumps(["read_reference", [image, field], {"saturate": model.saturate}]).encode()
    answer = sandbox.run(model.job.tenant_id, "ask", quantised, question)
    return np.array(json.loads(answer), np.int64)


def _is_small(quantised: bytes) -> bool:
    return len(quantised) <= _SMALL_BYTES and intake.values_count(quantised) <= _SMALL_VALUES
