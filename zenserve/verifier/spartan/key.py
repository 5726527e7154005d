"""Keys of transparent proofs: which circuit, and under which code. Nobody makes them: everybody can."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

from zenserve.errors import FileFormatError, StatementError
from zenserve.verifier.document import as_list, check_header, from_hex
from zenserve.verifier.spartan import ledger
from zenserve.verifier.spartan.admission import Commitment, Sizes, require_sure, shape_of
from zenserve.verifier.spartan.code import LOG_BLOWUP, Code
from zenserve.verifier.spartan.commitment import Rows
from zenserve.verifier.spartan.field import FR, Field
from zenserve.verifier.spartan.shape import Shape
from zenserve.verifier.system import TRANSPARENT

_HEADER: Final[Mapping[str, str | int]] = {"format": "zenserve transparent key", "version": 2}
_MOST: Final = 1 << 40
DIGEST_BYTES: Final = 32


@dataclass(frozen=True)
class SpartanKey:
    """``circuit``: the constraint system's digest; ``sizes``: its own; ``code``: of proofs; ``tail``: of the
    commitments that segments are linked to, None where none is.
    """

    circuit: bytes
    sizes: Sizes
    code: Code
    tail: int | None
    setup = TRANSPARENT

    @cached_property
    def digest(self) -> bytes:
        text = json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).digest()

    @property
    def statement_digest(self) -> bytes:
        return self.circuit

    @property
    def public(self) -> int:
        return self.sizes.public

    @property
    def linked_sizes(self) -> Sequence[int]:
        return [size for size, linked in self.sizes.segments if linked]

    @property
    def basis(self) -> bytes | None:
        return None if self.tail is None else Rows(self.code, self.tail).identity

    @cached_property
    def shape(self) -> Shape:
        """Of its proofs, with chains of renewals. Raises ``StatementError`` for numbers that make none."""
        linked = [Commitment(b"", size, self.tail or 0) for size in self.linked_sizes]
        shape = shape_of(self.sizes, self.code, linked)
        require_sure([*ledger.terms(shape), *ledger.of_chains(shape)])
        return shape

    def shape_over(self, field: Field) -> Shape:
        """``shape``, computed with by ``field``."""
        if field not in self._shapes:
            self._shapes[field] = replace(self.shape, code=replace(self.shape.code, field=field))
        return self._shapes[field]

    @cached_property
    def _shapes(self) -> dict[Field, Shape]:
        return {}

    def to_json(self) -> dict[str, Any]:
        sizes = self.sizes
        return {
            **_HEADER,
            "setup": self.setup,
            "circuit": self.circuit.hex(),
            "public": sizes.public,
            "challenges": sizes.challenges,
            "segments": [[size, linked] for size, linked in sizes.segments],
            "private": sizes.private,
            "rows": sizes.rows,
            "log_degree": self.code.log_degree,
            "tail": self.tail,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> SpartanKey:
        """The inverse of ``to_json``. Raises ``FileFormatError`` (``file.json``)."""
        check_header(document, "a key", {**_HEADER, "setup": TRANSPARENT})
        numbers = {name: _number(document, name) for name in ("public", "challenges", "private", "rows")}
        log_degree = _number(document, "log_degree")
        code = Code(FR, log_degree, log_degree + LOG_BLOWUP)
        tail = None if document.get("tail") is None else _number(document, "tail")
        sizes = Sizes(segments=tuple(_segments(document)), **numbers)
        key = cls(from_hex(document.get("circuit"), "circuit"), sizes, code, tail)
        fits = len(key.circuit) == DIGEST_BYTES and (tail is None) == (not key.linked_sizes)
        if not fits or key.to_json() != document:
            raise FileFormatError("file.json", "key: a field is unknown, missing or of no use")
        try:
            key.shape  # noqa: B018
        except StatementError as error:
            raise FileFormatError("file.json", f"key: {error}", field=error.field) from error
        return key


def _segments(document: Mapping[str, Any]) -> list[tuple[int, bool]]:
    found = []
    for index, each in enumerate(as_list(document.get("segments"), "segments")):
        if not isinstance(each, list) or len(each) != 2 or type(each[1]) is not bool:
            raise FileFormatError(
                "file.json", "a segment is a size and whether it is linked", field="segments"
            )
        found.append((_natural(each[0], f"segments[{index}]"), each[1]))
    return found


def _number(document: Mapping[str, Any], name: str) -> int:
    return _natural(document.get(name), name)


def _natural(value: Any, field: str) -> int:
    if type(value) is not int or not 0 <= value < _MOST:
        raise FileFormatError("file.json", f"{field} must be a natural number below 2^40", field=field)
    return value
