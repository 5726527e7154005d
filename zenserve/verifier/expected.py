"""The values that a verifier knows from elsewhere, to be compared with those in documents."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator

from zenserve.verifier.fields import Challenge, Commitment, Digest, Document, InputName, Issuer, Time
from zenserve.verifier.schemes import INPUT, OUTPUT

_End = Annotated[float, Field(allow_inf_nan=False)]
Ends = _End | Annotated[dict[InputName, _End], Field(min_length=1)]
"""The bounds that outputs must reach, or stay below: one for the only output, or one for each by name."""


class _Pinned(Document):
    """The values that a verifier knows from elsewhere and that proofs and receipts both contain."""

    model: Commitment | None = Field(
        default=None, description="The commitment to the model.", examples=["8f" * 48]
    )
    network: Digest | None = Field(
        default=None, description="SHA-256 of the network, or of its architecture where weights are hidden."
    )
    after: Time | None = Field(
        default=None,
        description="The document's own time is this, or later.",
        examples=["2026-11-01T00:00:00Z"],
    )
    before: Time | None = Field(
        default=None,
        description="The document's own time is this, or earlier.",
        examples=["2026-12-01T00:00:00Z"],
    )

    @field_validator("before")
    @classmethod
    def _not_empty(cls, before: str | None, info: ValidationInfo) -> str | None:
        after = info.data.get("after")
        if before is not None and after is not None and before < after:
            raise ValueError("this is earlier than after: no time is in between")
        return before

    def spans(self, moment: str) -> bool:
        """Return whether the ``Time`` is neither before ``after`` nor after ``before``."""
        return (self.after or moment) <= moment <= (self.before or moment)


class Expected(_Pinned):
    """The values that a verifier of a proof knows from elsewhere: each is null where none is known."""

    key: Digest | None = Field(default=None, description="The id of the verification key.")
    require: Literal["ceremony"] | None = Field(
        default=None,
        description="The key's file shows that its secrets are of a ceremony, or its system has no secrets.",
        examples=["ceremony"],
    )
    input: Commitment | None = Field(
        default=None, description="The commitment to the input.", examples=["8f" * 48]
    )
    inputs: Annotated[dict[InputName, Commitment], Field(min_length=1)] | None = Field(
        default=None,
        description="Those to several inputs, by their names.",
        examples=[{"image": "8f" * 48}],
    )
    output: Commitment | None = Field(
        default=None, description="The commitment to the output.", examples=["8f" * 48]
    )
    outputs: Annotated[dict[InputName, Commitment], Field(min_length=1)] | None = Field(
        default=None,
        description="Those to several outputs, by their names.",
        examples=[{"scores": "8f" * 48}],
    )
    reference: Commitment | None = Field(
        default=None, description="The commitment to the reference.", examples=["8f" * 48]
    )
    challenge: Challenge | None = Field(
        default=None, description="The text that you gave.", examples=["for Ada"]
    )
    at_least: Ends | None = Field(
        default=None,
        description="The output is shown to be this, or more, in its own units; of several, by their names.",
        examples=[0.5],
    )
    at_most: Ends | None = Field(
        default=None,
        description="The output is shown to be this, or less, in its own units; of several, by their names.",
        examples=[{"score": 0.5}],
    )

    @property
    def commitments(self) -> dict[str, str]:
        """The expected commitments, as statements call them."""
        wanted = {"model": self.model, INPUT: self.input, OUTPUT: self.output, "reference": self.reference}
        wanted |= {f"{INPUT}/{name}": each for name, each in (self.inputs or {}).items()}
        wanted |= {f"{OUTPUT}/{name}": each for name, each in (self.outputs or {}).items()}
        return {name: each for name, each in wanted.items() if each is not None}


class ExpectedReceipt(_Pinned):
    """The values that a verifier of a receipt knows from elsewhere."""

    issuer: Issuer | None = Field(
        default=None, description="The issuer that you trust.", examples=["d7" * 32]
    )


class ExpectedStream(Document):
    """The values that a verifier of a stream knows from elsewhere."""

    head: Digest | None = Field(
        default=None, description="The chain's first link: of bank, rules, challenge and beginning."
    )
    link: Digest | None = Field(default=None, description="The chain's last link: of all that frames say.")
    challenge: Challenge | None = Field(
        default=None,
        description="The text that you gave before the stream began.",
        examples=["for Ada"],
    )
    require: Literal["ceremony"] | None = Field(
        default=None,
        description="The files of all its keys show that their secrets are of a ceremony, or their system has"
        " no secrets.",
        examples=["ceremony"],
    )
