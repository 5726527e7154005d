"""Verification for strangers: a few proofs at a time, and no longer a queue than anyone would wait in.

Whoever waits is taken along: proofs under one key are checked together, which takes a third of the time.
Verdicts are never kept, keys are: what is behind their id never changes.
"""

from __future__ import annotations

from asyncio import wrap_future
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache
from threading import Lock
from typing import Final, NamedTuple

from zenserve.errors import ResourceError
from zenserve.prover.registry import SYSTEMS
from zenserve.service import proving_keys
from zenserve.service.api import effort
from zenserve.service.api.problems import NO_DATABASE
from zenserve.service.api.schemas import VerifyRequest
from zenserve.service.runtime import Runtime
from zenserve.service.storage.records.resources import Circuit
from zenserve.service.storage.repositories import Circuits, VerificationKeys
from zenserve.verifier.documents import KeyFile, ProofDocument
from zenserve.verifier.judging import Case, Known, Registration, Verification, judge_each
from zenserve.verifier.keys import OpenedKey, opened

MOST_WAITING: Final = 128
"""Verifications that wait, of all callers: whoever comes then is sent away at once."""
MOST_TOGETHER: Final = 8
"""Verifications that are done together, at most. One that is wrong has all of them done once more, each
alone: where there are such, fewer are taken.
"""
_KEYS: Final = 32

Answer = Verification | Exception
"""An error that is no ``ZenError`` is one that nobody foresaw."""


class _Submission(NamedTuple):
    requests: Sequence[VerifyRequest]
    answers: Future[list[Answer]]

    @property
    def size(self) -> int:
        """In verifications, which is in time."""
        return effort.verifications(self.requests)


class Verifier:
    """Each API process has one."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        threads = max(1, runtime.settings.threads // runtime.settings.processes)
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="verifier")
        self._lock, self._loading = Lock(), Lock()
        self._waiting: deque[_Submission] = deque()
        self._together = MOST_TOGETHER
        self._key = lru_cache(maxsize=_KEYS)(self._read_key)

    async def judge(self, requests: Sequence[VerifyRequest]) -> list[Answer]:
        """For each request the verdict, or the error that it earns.

        Raises ``ResourceError`` (``resource.busy``) where too many wait.
        """
        parts = [
            _Submission(requests[start : start + MOST_TOGETHER], Future())
            for start in range(0, len(requests), MOST_TOGETHER)
        ]
        with self._lock:
            if sum(earlier.size for earlier in self._waiting) >= MOST_WAITING:
                raise ResourceError("resource.busy", "too many proofs wait to be verified; try again soon")
            self._waiting += parts
        # One call for each. Where an earlier call took one along, its own finds another, or none.
        for _ in parts:
            self._threads.submit(self._answer_next)
        return [answer for part in parts for answer in await wrap_future(part.answers)]

    def by_circuits(self, requests: Sequence[VerifyRequest]) -> effort.ByCircuits:
        """Estimate the work of judging and loading, in points, for the circuits that judge these requests."""
        judging, loading = 0, dict[str, int]()
        for request in requests:
            for document, given in _documents(request):
                if not document.statement.proof_system.judges_by_circuits:
                    continue
                with suppress(Exception):  # is said when it is judged, and to whoever sent the key alone
                    key = self._opened(document, given)
                    size = key.system.circuit_bytes(key.verifying)  # also under a key of the stranger's own
                    if size is None and (circuit := self._circuit(key)):
                        size = circuit.proving_key_bytes
                        loading[circuit.proving_key] = effort.loading(size)
                    judging += effort.judging(size or 0, len(document.proofs))
        return effort.ByCircuits(judging, sum(loading.values()))

    def _answer_next(self) -> None:
        taken: list[_Submission] = []
        with self._lock:
            free = self._together
            while self._waiting and (not taken or self._waiting[0].size <= free):
                taken.append(self._waiting.popleft())
                free -= taken[-1].size
        self._answer([each for each in taken if each.answers.set_running_or_notify_cancel()])

    def _answer(self, submissions: Sequence[_Submission]) -> None:
        requests = [request for each in submissions for request in each.requests]
        try:
            answers = self._judge(requests)
        except Exception as error:  # the database's
            if len(submissions) == 1:
                submissions[0].answers.set_exception(error)
                return
            for each in submissions:
                self._answer([each])
            return
        wrong = any(isinstance(answer, Verification) and not answer.valid for answer in answers)
        self._together = self._together // 2 or 1 if wrong else min(self._together + 1, MOST_TOGETHER)
        remaining = iter(answers)
        for each in submissions:
            each.answers.set_result([next(remaining) for _ in each.requests])

    def _judge(self, requests: Sequence[VerifyRequest]) -> list[Answer]:
        cases = [self._case(request) for request in requests]
        verdicts = iter(_verdicts([case for case in cases if isinstance(case, Case)]))
        return [next(verdicts) if isinstance(case, Case) else case for case in cases]

    def _case(self, request: VerifyRequest) -> Case | Exception:
        try:
            (proof, key), *registrations = (
                (document, self._key_of(document, given)) for document, given in _documents(request)
            )
            known = Known(registration=Registration(*registrations[0])) if registrations else Known()
            return Case(proof, key, request.expected, known)
        except NO_DATABASE:
            raise
        except Exception as error:  # of a stranger's key: for whoever sent it, not for those beside it
            return error

    def _key_of(self, document: ProofDocument, given: KeyFile | str | None) -> OpenedKey:
        key = self._opened(document, given)
        if key.system.circuit_bytes(key.verifying) is None:
            with self._loading:  # one after the other: who waited has what another loaded
                proving_keys.load_circuit(self._runtime, key)
        return key

    def _opened(self, document: ProofDocument, given: KeyFile | str | None) -> OpenedKey:
        """The key that was given, or by its id; else the one that the document names."""
        if isinstance(given, KeyFile):
            return opened(given, SYSTEMS)
        return self._key(given or document.statement.verification_key.id)

    def _circuit(self, key: OpenedKey) -> Circuit | None:
        """Return the stored circuit of the key, if there is one.

        Where a proof system judges by circuits, its proving keys contain them.
        """
        with self._runtime.database.read() as session:
            return Circuits(session).of_key(key.reference.id)

    def _read_key(self, key_id: str) -> OpenedKey:
        with self._runtime.database.read() as session:
            return opened(VerificationKeys(session).get(key_id), SYSTEMS)


def _documents(request: VerifyRequest) -> Iterator[tuple[ProofDocument, KeyFile | str | None]]:
    """The proof, and the registration if one is given, each with the key that is."""
    yield request.proof, request.verification_key or request.verification_key_id
    if request.registration is not None:
        yield request.registration, request.registration_key


def _verdicts(cases: Sequence[Case]) -> list[Answer]:
    try:
        return [*judge_each(cases)]
    except Exception as error:
        # It is for the one whose document brings it about, not for those beside it.
        return [error] if len(cases) == 1 else [answer for case in cases for answer in _verdicts([case])]
