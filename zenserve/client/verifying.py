"""Endpoints of verification, and verification without any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from zenserve.client.calls import Calls, get, post
from zenserve.client.errors import ApiError
from zenserve.client.flows import Flow, Stream, endpoint, listing
from zenserve.client.resources import Issuer, Verification, read

if TYPE_CHECKING:
    from zenserve.verifier import judging as verification


class Verifying(Calls):
    """Endpoints for verification, by the service or on this machine."""

    @endpoint
    def get_verification_key(self, key_id: str) -> Flow[dict[str, Any]]:
        """The key file: the key, and what it proves."""
        return self._json(get("verification-keys", key_id))

    @endpoint
    def get_architecture_of_key(self, key_id: str) -> Flow[bytes]:
        """The network that the key's circuit is compiled from, committed weights and biases blanked, for
        ``zenserve audit``. No account is needed."""
        response = yield from self._good(get("verification-keys", key_id, "architecture"))
        return response.content

    @endpoint
    def get_contract_of_key(self, key_id: str) -> Flow[str]:
        """The Solidity source of a contract that verifies proofs under the key. No account is needed."""
        response = yield from self._good(get("verification-keys", key_id, "contract"))
        return response.text

    @endpoint
    def get_circuit_of_key(self, key_id: str) -> Flow[bytes]:
        """The file of the circuit of a key without a setup, by which its proofs are judged: for
        `zenserve-verify`'s ``--circuit``. No account is needed."""
        response = yield from self._good(get("verification-keys", key_id, "circuit"))
        return response.content

    @listing
    def issuers(self) -> Stream[Issuer]:
        """The keys that the service signs receipts with, or did."""
        return self._pages(Issuer, "issuers")

    @endpoint
    def verify(
        self,
        document: dict[str, Any],
        key: dict[str, Any] | None = None,
        *,
        expected: Mapping[str, Any] | None = None,
        registration: dict[str, Any] | None = None,
        registration_key: dict[str, Any] | None = None,
    ) -> Flow[Verification]:
        """The service's verdict on a proof document, under the key file ``key`` or the key that it names.

        ``expected``: what you know from elsewhere, by the names of ``zenserve.verifier.documents.Expected``:
        your ``challenge``, commitments of ``model``, ``input`` and ``reference`` in hex, and so on;
        ``registration``: the proof document of the model's registration, under its own key file or the key
        that it names. Who does not trust the service uses ``verify_locally``.
        """
        body = {
            **{"proof": document, "verification_key": key, "expected": expected},
            **{"registration": registration, "registration_key": registration_key},
        }
        return self._read(Verification, post("verify", body=body, repeatable=True))

    @endpoint
    def verify_batch(
        self,
        documents: Sequence[dict[str, Any]],
        key: dict[str, Any] | None = None,
        *,
        expected: Mapping[str, Any] | None = None,
    ) -> Flow[list[Verification | ApiError]]:
        """The service's verdicts on up to 64 proof documents, in order, as ``verify`` would give them; for
        one that is malformed, the error that ``verify`` would raise. Many under one key take less time.

        ``expected``: of each of them.
        """
        told = {name: value for name, value in (("verification_key", key), ("expected", expected)) if value}
        items = [{"proof": document} | told for document in documents]
        answer = yield from self._json(post("verify", "batch", body={"proofs": items}, repeatable=True))
        return [
            read(Verification, each) if "valid" in each else ApiError(each["status"], each)
            for each in answer["verdicts"]
        ]

    def verify_locally(
        self,
        document: dict[str, Any],
        key: dict[str, Any],
        *,
        expected: Mapping[str, Any] | None = None,
        registration: tuple[dict[str, Any], dict[str, Any]] | None = None,
        opening: dict[str, Any] | None = None,
    ) -> verification.Verification:
        """Your own verdict, here and now, under a key file that you trust:
        ``zenserve.verifier.judging.judge``.

        ``registration``: the model's, and the key file that you trust for it. ``opening``: what shows the
        outputs that the proof commits to. No service is asked. Raises ``FileFormatError`` for what is no
        proof, no key or no opening.
        """
        from zenserve.verifier.documents import KeyFile, OpeningFile, ProofDocument, checked
        from zenserve.verifier.expected import Expected
        from zenserve.verifier.judging import Known, Registration, judge
        from zenserve.verifier.keys import opened

        known = Known(openings=checked(OpeningFile, opening) if opening else None)
        if registration is not None:
            proof, its_key = registration
            beside = Registration(checked(ProofDocument, proof), opened(checked(KeyFile, its_key)))
            known = replace(known, registration=beside)
        return judge(
            checked(ProofDocument, document),
            checked(KeyFile, key),
            expected=checked(Expected, expected or {}),
            known=known,
        )
