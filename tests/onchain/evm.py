"""An EVM from npm (web/tests/evm.ts)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from tempfile import NamedTemporaryFile
from typing import Final

from tests.web.conftest import Node

MOST_CALL_GAS: Final = 14_000_000


@dataclass(frozen=True)
class Step:
    """Deploys a contract, ``file:name``, or calls the one that step ``to`` made. ``data``: arguments or
    calldata in hex, in which {N} is the address that step N made; ``measured``: a view whose gas matters;
    ``gas``: what the caller gives."""

    to: str | int
    data: str = ""
    sender: str = "22" * 20
    value: int = 0
    measured: bool = False
    gas: int = MOST_CALL_GAS


@dataclass(frozen=True)
class Answer:
    """``gained``: what the caller has more than before."""

    returned: str
    error: str | None
    gas: int
    created: str
    bytes: int
    gained: int

    @property
    def valid(self) -> bool | None:
        """Of a call that answers yes or no; None where it reverted."""
        return None if self.error else int(self.returned, 16) == 1

    @property
    def outcome(self) -> str:
        """true, false, or the name of the error."""
        return self.error or str(self.valid).lower()


def in_evm(
    node: Node, sources: Mapping[str, str], steps: Sequence[Step], hardfork: str = "prague"
) -> list[Answer]:
    """What each step answered."""
    named = [asdict(step) | {"from": step.sender} for step in steps]
    with NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({"sources": sources, "hardfork": hardfork, "steps": named}, file)
        file.flush()
        done = node("tests/evm.ts", file.name)
    assert done.returncode == 0, done.stderr
    return [Answer(**each) for each in json.loads(done.stdout)]
