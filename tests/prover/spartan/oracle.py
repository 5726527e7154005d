"""The random oracle in the hands of who simulates: challenges that are known before anything is said."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from unittest.mock import patch

from blake3 import blake3

from zenserve.verifier.spartan.transcript import ASKING, CHALLENGE, Transcript


@contextmanager
def foreseen(seed: int = 0) -> Iterator[list[bytes]]:
    """Challenges follow from this number below 256, and from nothing that is said. What the answers to all
    that is asked meanwhile are made of, in order."""
    real, states = Transcript.absorb, list[bytes]()

    def absorb(self: Transcript, label: str, data: bytes) -> None:
        if label == ASKING:
            real(self, label, data + bytes([seed]))

    def draw(self: Transcript, label: str, length: int) -> bytes:
        self.absorb(ASKING, label.encode())
        states.append(self.state)
        return self.draw_again(length)

    with patch.multiple(Transcript, absorb=absorb, draw=draw):
        yield states


@contextmanager
def programmed(answers: Mapping[bytes, bytes]) -> Iterator[None]:
    """Where it is asked at one of these states, it answers as at the other one."""

    def draw_again(self: Transcript, length: int) -> bytes:
        state = answers.get(self.state, self.state)
        return blake3(state, derive_key_context=CHALLENGE).digest(length=length)

    with patch.object(Transcript, "draw_again", draw_again):
        yield


def program(states: Sequence[bytes], ask: Callable[[], object]) -> dict[bytes, bytes]:
    """For ``programmed``: whoever asks is answered as at these states, one after the other."""
    answers, following = dict[bytes, bytes](), iter(states)

    def draw(self: Transcript, label: str, length: int) -> bytes:
        self.absorb(ASKING, label.encode())
        answers[self.state] = next(following)
        return self.draw_again(length)

    with programmed(answers), patch.object(Transcript, "draw", draw):
        ask()
    return answers
