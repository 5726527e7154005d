"""Fair shares of the parsers: whoever floods the queue waits for itself."""

from __future__ import annotations

import subprocess
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from tests.patience import until
from zenserve.errors import ResourceError
from zenserve.service.submissions import sandbox
from zenserve.service.submissions.turns import Turns

PLACES, QUEUE = 2, 14


class Crowd:
    """Callers of ``Turns``, each in a thread of its own, that stay inside until they are let go."""

    def __init__(self) -> None:
        self.turns = Turns(PLACES, QUEUE)
        self.inside: list[str] = []
        self._gates: list[threading.Event] = []
        self._threads = ThreadPoolExecutor(64)

    def come(self, tenant_id: str, count: int = 1) -> list[Future[None]]:
        """One after the other, each once the one before is inside, waits, or was sent away."""
        return [self._come(tenant_id) for _ in range(count)]

    def let_go(self) -> None:
        """Whoever came in first leaves."""
        inside, waits = len(self.inside), bool(self.turns._waiting)
        self._gates.pop(0).set()
        until(lambda: not waits or len(self.inside) > inside, "the next one to come in")

    def close(self) -> None:
        while self._gates:
            self.let_go()
        self._threads.shutdown()

    def _come(self, tenant_id: str) -> Future[None]:
        before = self._places_of(tenant_id)
        done = self._threads.submit(self._stay, tenant_id)
        until(lambda: done.done() or self._places_of(tenant_id) > before, "a caller to be in the queue")
        return done

    def _places_of(self, tenant_id: str) -> int:
        waiting = [turn.tenant_id for turn in self.turns._waiting]
        return [*self.inside, *waiting].count(tenant_id)

    def _stay(self, tenant_id: str) -> None:
        with self.turns.turn(tenant_id):
            gate = threading.Event()
            self._gates.append(gate)
            self.inside.append(tenant_id)
            gate.wait()


@pytest.fixture
def crowd() -> Iterator[Crowd]:
    crowd = Crowd()
    yield crowd
    crowd.close()


def sent_away(done: Sequence[Future[Any]]) -> int:
    return sum(each.done() and isinstance(each.exception(), ResourceError) for each in done)


def test_one_tenant_cannot_have_another_sent_away(crowd: Crowd) -> None:
    flood = crowd.come("noisy", 30)
    assert sent_away(flood) == 30 - PLACES - QUEUE
    quiet = crowd.come("quiet", 7)
    assert sent_away(quiet) == 0
    assert sent_away(flood) == 30 - PLACES - QUEUE + 7, "the noisy one makes room, its latest first"
    assert sent_away(crowd.come("quiet")) == 1, "half of the queue each: nobody has more to give"
    assert sent_away(crowd.come("third")) == 0


def test_a_place_is_for_who_has_fewest_then_for_who_waited_longest_for_one(crowd: Crowd) -> None:
    crowd.come("noisy", 8)
    crowd.come("quiet", 2)
    crowd.come("third")
    for _ in range(5):
        crowd.let_go()
    assert crowd.inside == ["noisy", "noisy", "quiet", "third", "noisy", "quiet", "noisy"]


def test_a_place_is_free_again_after_an_error() -> None:
    turns = Turns(places=1, most_waiting=0)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), turns.turn("t"):
            1 / 0  # noqa: B018
    assert turns._inside == Counter()


@pytest.mark.usefixtures("in_a_child")
def test_broken_files_of_one_tenant_do_not_cost_another_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = threading.Event()

    def parser(*_: object, **__: object) -> object:
        opened.wait()
        raise ZeroDivisionError

    monkeypatch.setattr(sandbox, "_turns", Turns(PLACES, QUEUE))
    monkeypatch.setattr(subprocess, "Popen", parser)
    with ThreadPoolExecutor(64) as callers:
        broken = [callers.submit(sandbox.run, "noisy", "read_model") for _ in range(20)]
        until(lambda: sent_away(broken) == 20 - PLACES - QUEUE, "the queue to be full")
        mine = callers.submit(sandbox.run, "quiet", "read_model")
        until(lambda: sent_away(broken) == 21 - PLACES - QUEUE, "room to be made")
        opened.set()
        assert isinstance(mine.exception(), ZeroDivisionError), "it was the parser's turn"
