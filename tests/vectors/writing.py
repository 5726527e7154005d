"""Files and cases, as they are written; and randomness that is the same each time."""

from __future__ import annotations

import json
import random
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from tests.vectors.cases import HEADER, Json, judged
from zenserve.base import randomness
from zenserve.verifier.fields import Document, canonical
from zenserve.verifier.preamble import MAGIC


class Stream:
    """Bytes drawn from a seed, where ``zenserve.base.randomness`` reads those of the operating system."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)

    def readinto(self, buffer: memoryview) -> int:
        buffer.cast("B")[:] = self._draw.randbytes(buffer.nbytes)
        return buffer.nbytes


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Within, keys, blinding factors and proofs are the same each time: fit for vectors, and nothing else."""
    stream = Stream(seed)

    def token_bytes(count: int) -> bytes:
        data = bytearray(count)
        stream.readinto(memoryview(data))
        return bytes(data)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(secrets, "token_bytes", token_bytes)
        patch.setattr(randomness, "open", lambda *_, **__: nullcontext(stream), raising=False)
        yield


class Vectors:
    """``files``: by their names in the folder. What is there already is not there twice."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cases: list[Json] = []

    def file(self, name: str, content: Document | bytes | Any) -> str:
        """The name of the file of this content, which is this one where it is new."""
        data = content if isinstance(content, bytes) else canonical(content) + b"\n"
        same = [path for path in self.folder.rglob("*.*") if path.read_bytes() == data]
        suffix = "zen" if data.startswith(MAGIC) else "json"
        path = same[0] if same else self.folder / f"{name}.{suffix}"
        if not same:
            assert not path.exists(), name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(data)
        return str(path.relative_to(self.folder))

    def case(
        self,
        name: str,
        comment: str,
        document: Document | bytes | Any,
        key: Document | bytes | Any = None,
        reason: str = "ok",
        *,
        compared: bool = True,
        **told: Any,
    ) -> None:
        """``told``: what a verifier is told, by options of ``zenserve-verify``; documents become files.
        ``compared``: whether that has anything to compare them with.
        """
        case: Json = {
            "name": name,
            "comment": comment,
            "document": self.file(name, document),
            "key": None if key is None else self.file(f"{name}-key", key),
            "told": {
                option: value if isinstance(value, str) else self.file(f"{name}-{option}", value)
                for option, value in told.items()
            },
        }
        found = judged(case, self.folder)
        assert found.reason == reason, (name, found)
        unread = reason.startswith(("file.", "input.")) or not compared
        exit_code = 2 if unread else 0 if found.valid else 1
        self.cases.append(case | vars(found) | {"exit": exit_code})

    def write_index(self, generator: str) -> None:
        index = HEADER | {"generator": generator, "cases": self.cases}
        (self.folder / "index.json").write_text(json.dumps(index, indent=1, ensure_ascii=False) + "\n")
