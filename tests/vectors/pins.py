"""What a verifier knows from elsewhere, right and wrong: of proofs, of how a key was set up, of receipts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.client.makers import MADE_AT, Maker, inference
from tests.prover.ceremony.support import contribute_known, known_powers
from tests.vectors.receipts import ISSUER, STRANGER, fields_of, signed
from tests.vectors.world import CHALLENGE, World, dumped
from tests.vectors.writing import Vectors
from zenserve.prover.groth16 import ceremony
from zenserve.prover.groth16.ceremony import State
from zenserve.prover.groth16.ceremony.initial import required_power

EARLIER, LATER = "2026-11-21T11:59:59Z", "2026-11-21T12:00:01Z"
ZEROS = "0" * 64


def write(vectors: Vectors, world: World) -> None:
    _proofs(vectors, world)
    _setups(vectors, world)
    _receipts(vectors, world)


def _proofs(vectors: Vectors, world: World) -> None:
    w, key = world, world.committed.key_file
    said, other = w.inferred.statement, world.model.commitment.hex()

    def case(name: str, comment: str, reason: str = "ok", **told: Any) -> None:
        vectors.case(f"expected/{name}", comment, w.inferred, key, reason, **told)

    case("key-id", "The key's id.", key_id=key.id)
    case("another-key-id", "Another key's.", "key_mismatch", key_id=w.plain.key_file.id)
    case("network", "Of hidden weights: their architecture.", network=said.network)
    case("another-network", "Another one.", "network_mismatch", network=ZEROS)
    held = said.commitments["input"]
    case("input-commitment", "Of a committed input.", input_commitment=held)
    case("another-input-commitment", "Another one.", "input_mismatch", input_commitment=other)
    case("after", "Made at this very second.", after=MADE_AT)
    case("before", "The same.", before=MADE_AT)
    case("after-it", "A second too early.", "time_mismatch", after=LATER)
    case("before-it", "A second too late.", "time_mismatch", before=EARLIER)
    pins = {"key_id": key.id, "network": said.network, "after": EARLIER, "before": LATER}
    commitments = {"model": other, "input_commitment": held}
    case("all", "All that there is.", challenge=CHALLENGE, **pins, **commitments)
    malformed = {
        "capitals": {"key_id": key.id.upper()},
        "short": {"network": ZEROS[1:]},
        "zone": {"after": "2026-11-21T12:00:00+01:00"},
        "day": {"before": "2026-11-31T12:00:00Z"},
        "no-time": {"after": LATER, "before": EARLIER},
        "setup": {"require": "transparent"},
    }
    for name, told in malformed.items():
        case(f"malformed-{name}", "No verifier can be told that.", "file.json", **told)
    document, plain = w.bare, w.plain.key_file
    network = document.statement.network
    vectors.case("expected/public-network", "Of public weights.", document, plain, network=network)


def _setups(vectors: Vectors, world: World) -> None:
    circuit = world.plain.circuit
    system = circuit.constraint_system
    powers = replace(known_powers(required_power(system)), contributions=1)
    state: State = contribute_known(ceremony.start(system, powers), "Ada", 0)
    maker = Maker(circuit, ceremony.finish(state, system, powers), world.basis)
    document = inference(maker, world.inputs[1], {})
    silent = maker.key_file
    shown = dumped(silent, transcript=state.transcript)

    def case(name: str, comment: str, key: Any, reason: str = "ok", **told: Any) -> None:
        vectors.case(f"setup/{name}", comment, document, key, reason, **told)

    case("ceremony", "The key's file shows its ceremony.", shown)
    case("ceremony-required", "As it must.", shown, require="ceremony")
    case("said", "The file only says that there was one.", silent)
    case("said-required", "It must show it.", silent, "setup_mismatch", require="ceremony")
    comment, key = "One party made the key.", world.plain.key_file
    told: dict[str, Any] = {"require": "ceremony"}
    vectors.case("setup/development-required", comment, world.bare, key, "setup_mismatch", **told)


def _receipts(vectors: Vectors, world: World) -> None:
    fields = fields_of(world)
    good, model, network = signed(fields, ISSUER), fields["commitment"], fields["network"]
    hidden = {"commitment": None, "registration": None, "parent": None}
    public = signed(fields | hidden, ISSUER)

    def case(name: str, comment: str, receipt: Any = good, reason: str = "ok", **told: Any) -> None:
        vectors.case(f"receipt/{name}", comment, receipt, reason=reason, **told)

    pins = {"network": network, "after": MADE_AT, "before": MADE_AT}
    case("all-expected", "All that there is.", model=model, issuer=good["issuer"], **pins)
    for name, value in {**pins, "model": model}.items():
        case(f"expected-{name}", "It alone.", **{name: value})
    case("another-network", "Another one.", good, "network_mismatch", network=ZEROS)
    other = world.held["input"].commitment.hex()
    case("another-model", "Another one.", good, "model_mismatch", model=other)
    case("no-model", "Its weights are public.", public, "model_mismatch", model=model)
    case("after-it", "A second too early.", good, "time_mismatch", after=LATER)
    case("before-it", "A second too late.", good, "time_mismatch", before=EARLIER)
    theirs = signed(fields, STRANGER)
    case(
        "another-issuer",
        "Another's, and all else is right.",
        theirs,
        "issuer_mismatch",
        issuer=good["issuer"],
        **pins,
    )
