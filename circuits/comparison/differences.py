"""Differences between a model's own answers and what would be proven, in numbers and in words.

    export         the model in memory and the network that its ONNX file holds
    import         onnxruntime, or onnx's reference, and the float network that was read from the file
    quantisation   the float network and the integers

``zenserve.circuits.comparison`` finds them. Nothing of them is proven: they are what whoever proves saw
before.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, NamedTuple

from zenserve.errors import ModelError

Stage = Literal["export", "import", "quantisation"]


class Tolerance(NamedTuple):
    """``value``: the largest error of a value, as a share of the output's range, zero included, over all
    samples. A sample differs where another label is first, or more than 5 % of an output's values are further
    off. ``samples``: the largest share of the samples that may differ. ``few``: how many of several may,
    however few there are. ``strict``: a sample differs, too, where a value that is ten times as far off is so
    on most samples: rounding moves one and then another, another function always the same."""

    value: float
    samples: float
    few: int
    strict: bool


TOLERANCES: Final[Mapping[Stage, Tolerance]] = {
    "export": Tolerance(0.002, 0.02, 0, strict=True),
    "import": Tolerance(0.002, 0.02, 0, strict=True),
    "quantisation": Tolerance(0.05, 0.1, 1, strict=False),
}
_REMEDIES: Final[Mapping[Stage, str]] = {
    "export": "the exporter writes another function than the model computes (docs/onnx.md): export the "
    "model another way, or train it without what the exporter leaves out",
    "import": "export the model with another opset or exporter, or end it before that node",
    "quantisation": "use more bits (bits=12, 16, or auto), or calibrate with samples that are like the input",
}


@dataclass(frozen=True)
class Difference:
    """The distance of one stage from ``reference``, the program or network before it, on so many ``samples``.

    ``output``: the name of the output that is furthest off. ``measure``: whether samples are compared by
    their first labels or by values. ``error``: the largest difference of values, as a share of the output's
    range, or the share of the samples with other labels. ``differing``: the share of the samples beyond the
    tolerance, 1 if the sample to be proven is beyond it. ``node``: the first node at which the two differ,
    None within the tolerance.
    """

    stage: Stage
    reference: str
    samples: int
    output: str
    measure: Literal["label", "value"]
    error: float
    differing: float
    node: str | None = None

    def to_json(self) -> dict[str, Any]:
        """JSON-able."""
        return asdict(self) | {"error": min(self.error, sys.float_info.max)}


def sentence(difference: Mapping[str, Any]) -> str:
    """A difference, as JSON, in words."""
    what = f"beside {difference['reference']}, on {_samples(difference['samples'])}"
    if difference["measure"] == "value":
        return f"{what}: values differ by at most {difference['error']:.3%} of their range"
    another = f"another label for {difference['error']:.2%}" if difference["error"] else "the same label"
    return f"{what}: {another}"


def _samples(count: int) -> str:
    return "one sample" if count == 1 else f"{count} samples"


def require_near(differences: Sequence[Difference]) -> None:
    """``ModelError`` (``model.differs``) for the first of these beyond its stage's tolerance. Where the model
    in memory itself gives the proven answers, other programs' answers to its file are not judged."""
    confirmed = any(each.stage == "export" and each.node is None for each in differences)
    for each in differences:
        if each.node is not None and not (confirmed and each.stage == "import"):
            raise ModelError("model.differs", _refusal(each), field="accept_difference")


def _refusal(difference: Difference) -> str:
    stage, count = difference.stage, _samples(difference.samples)
    whose = {
        "export": f"{difference.reference} and the file that it was exported to",
        "import": f"{difference.reference} and the network that was read",
        "quantisation": "the float network and the integers that would be proven",
    }[stage]
    if difference.measure == "label":
        what = f"give other labels for {difference.differing:.0%} of {count}"
    else:
        what = f"differ by up to {difference.error:.2g} times the range of {difference.output[:80]!r}"
        what += f", beyond the tolerance on {difference.differing:.0%} of {count}"
    return (
        f"{whose} {what}; they part at {difference.node}: {_REMEDIES[stage]}; or accept it "
        "(accept_difference=True, --accept-difference)"
    )
