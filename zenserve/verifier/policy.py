"""Policies: what a verifier always wants compared, kept in a file and reviewed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from zenserve.verifier.documents import read
from zenserve.verifier.expected import Expected, ExpectedReceipt, ExpectedStream


def _is_beneath(name: str) -> str:
    if any(part in ("", ".", "..") for part in name.split("/")) or {*"\\:\0"} & {*name}:
        raise ValueError("a file in the policy's folder or beneath, such as keys/digits.json")
    return name


File = Annotated[str, AfterValidator(_is_beneath)]


class Policy(Expected, ExpectedReceipt, ExpectedStream):
    """The values known from elsewhere for proofs, receipts and streams; files by their paths from the
    policy's folder.

    ``key_file``: the verification key's; ``registration`` and ``registration_key``: the committed model's.
    """

    format: Literal["zenserve policy"]
    version: Annotated[int, Field(ge=1, le=1)]
    key_file: File | None = None
    registration: File | None = None
    registration_key: File | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if (self.registration is None) != (self.registration_key is None):
            raise ValueError("registration and registration_key go together")
        if all(value is None for name, value in self if name not in ("format", "version")):
            raise ValueError("a policy that compares nothing")
        return self


def load(file: Path) -> dict[str, Any]:
    """Return the values that the policy in ``file`` sets, by field. Raises ``FileFormatError``
    (``file.json``), ``OSError``."""
    policy = read(Policy, file.read_bytes())
    said = {name: value for name, value in policy if value is not None and name not in ("format", "version")}
    files = {"key_file", "registration", "registration_key"} & said.keys()
    return said | {name: file.parent / said[name] for name in files}
