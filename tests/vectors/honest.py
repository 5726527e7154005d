"""What is valid, and what a verifier is told beside it: right and wrong."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tests.client.makers import Maker, inference, model_opening, registration, rehashed, with_type
from tests.prover.statements import commitment_basis
from tests.vectors.world import CHALLENGE, World, another_of, dumped, renamed, without
from tests.vectors.writing import Vectors
from zenserve.circuits import compile_registration
from zenserve.circuits.operators.dense import QuantDense
from zenserve.verifier.description import InputType
from zenserve.verifier.documents import KeyFile, ProofDocument, checked, named

RECORDED = Path(__file__).parents[1] / "client/vectors/version2.json"
NOTES = {
    "numbers": [1.0, -0.0, 0.1, 1e-5, 1e-6, 1e-7, 1e15, 1e21, 5e-324, 1.7976931348623157e308, 1 / 3],
    "texts": '\u0007\b\t\n\f\r"\\/<\u007f\u2028€ö\U0001f600',
    "\U0001f600": 1,
    "\ufb33": 2,
    "ö": 3,
    "a\r": 4,
    "10": 5,
    "9": 6,
    "": [],
}
"""What canonical JSON writes in its own way. U+1F600 comes before U+FB33: fields are in order of UTF-16."""


def write(vectors: Vectors, world: World) -> None:
    _valid(vectors, world)
    _told(vectors, world)
    _registrations(vectors, world)
    _version_2(vectors)


def _valid(vectors: Vectors, world: World) -> None:
    case, w = vectors.case, world
    case("registration/valid", "Committed weights.", w.registered, w.registrar.key_file)
    child = registration(w.registrar, w.model, parent=w.held["input"].commitment.hex())
    case("registration/parent", "It names the model that it was made from.", child, w.registrar.key_file)
    key = w.committed.key_file
    case("inference/valid", "Committed weights and input; label, logits, a challenge.", w.inferred, key)
    case("inference/public", "A public input, the two likeliest labels.", w.shown, w.public.key_file)
    case("inference/plain", "A proof without segments, of 192 bytes.", w.bare, w.plain.key_file)
    for name, threshold in (("match", 600), ("no-match", 0)):
        document = w.recognised(threshold)
        assert document.statement.values["match"] == (name == "match")
        case(f"recognition/{name}", "A committed reference.", document, w.recogniser.key_file)
    case("inference/another-proof", "Anybody can make it of inference/valid.", another_of(w.inferred), key)
    spaced = json.dumps(dict(reversed(dumped(w.inferred).items())), indent=2).encode()
    case("inference/spaced", "Space, escapes and order of fields mean nothing.", spaced, key)
    brief = {name: dumped(w.bare)[name] for name in ("statement", "statement_sha256", "proofs")}
    brief["statement"] = without(brief["statement"], "format", "version")
    key = without(dumped(w.plain.key_file), "transcript")
    case("inference/left-out", "Fields that may be left out.", brief, key)
    noted = renamed(w.plain.key_file, circuit=w.plain.key_file.circuit | {"notes": NOTES})
    document = w.bare_lie(verification_key={"id": noted["id"], "setup": "development"})
    case("inference/canonical", "A key's id takes RFC 8785 to the letter.", document, noted)


def _told(vectors: Vectors, world: World) -> None:
    case, w, key = vectors.case, world, world.committed.key_file
    model, held = w.model.commitment.hex(), w.held["input"]
    told: dict[str, Any] = {"model": model, "challenge": CHALLENGE}
    case("inference/expected", "Model and challenge are those expected.", w.inferred, key, **told)
    other = held.commitment.hex()
    refused: dict[str, Any] = {"challenge": "Another", "model": other, "reference": other}
    for name, text in refused.items():
        comment, told = f"Another {name} was expected.", {name: text}
        case(f"inference/another-{name}", comment, w.inferred, key, f"{name}_mismatch", **told)
    case("inference/no-model", "There is none.", w.shown, w.public.key_file, "model_mismatch", model=model)
    case(
        "inference/no-challenge",
        "It answers none.",
        w.shown,
        w.public.key_file,
        "challenge_mismatch",
        challenge="Mine",
    )

    real, opening = w.real(0), w.opening(held, 0)
    case("inference/opened", "The input was committed to.", w.inferred, key, input=real, opening=opening)
    wrong: dict[str, tuple[str, Any, Any]] = {
        "input": ("Another input.", w.real(1), opening),
        "opening": ("What opens another commitment.", real, w.opening(held, 0, commitment=model)),
        "quotient": ("It opens to another input.", real, w.opening(w.committed.commit(w.values(1)), 1)),
        "kind": ("It is said to be of another kind.", real, dumped(opening, kind="reference")),
    }
    part = dumped(opening)["parts"][0]
    for name, point in (
        ("blinding", "f" * 64),
        ("tau_g2", key.key["beta_g2"]),
        ("quotient", "c0" + 94 * "0"),
    ):
        parts = [part | {"opening": part["opening"] | {name: point}}]
        wrong[f"opening-{name}"] = (f"The opening's {name} is another.", real, dumped(opening, parts=parts))
    quotient = wrong["quotient"][2].model_dump(mode="json")
    quotient["parts"][0]["commitment"] = held.commitment.hex()
    wrong["quotient"] = (wrong["quotient"][0], real, quotient)
    for name, (comment, given, opens) in wrong.items():
        told = {"input": given, "opening": opens, "compared": name != "kind"}
        case(f"inference/other-{name}", comment, w.inferred, key, "input_mismatch", **told)
    told = {"input": real, "compared": False}
    case("inference/unopened", "No opening was given.", w.inferred, key, "input_mismatch", **told)
    case("inference/private", "Nothing shows it.", w.bare, w.plain.key_file, "input_mismatch", **told)
    case("inference/wrong-shape", "Eight numbers.", w.inferred, key, "input.shape", input=[0] * 8)

    key = w.public.key_file
    case("inference/seen", "The public input is the one given.", w.shown, key, input=w.real(1))
    case("inference/unseen", "It is another one.", w.shown, key, "input_mismatch", input=real)
    kind = checked(InputType, key.circuit["quantisation"]["input"])
    # Quotients end in .5 where they are doubles: these are rounded to even, and clipped.
    q = w.inputs[1].copy()
    q.flat[:4] = [0, 2, 4, kind.bits**2 - 1]
    rounded = kind.scale * (q - kind.zero_point)
    halves = np.array([-9.5 - kind.zero_point, 1.5 - kind.zero_point, 4.5 - kind.zero_point])
    rounded.flat[:3] = kind.scale * halves
    q.flat[:3] = np.clip(np.rint(rounded.flat[:3] / kind.scale) + kind.zero_point, 0, (1 << kind.bits) - 1)
    q.flat[3] = (1 << kind.bits) - 1
    rounded.flat[3] = 1e300
    document = inference(w.public, q, {})
    case("inference/rounded", "To even, and clipped.", document, key, input=rounded.tolist())
    document, key = w.recognised(9), w.recogniser.key_file
    reference = document.statement.commitments["reference"]
    case("recognition/expected", "The reference is the one.", document, key, reference=reference)
    told = {"reference": model}
    case("recognition/another", "It is another one.", document, key, "reference_mismatch", **told)


def _registrations(vectors: Vectors, world: World) -> None:
    case, w, key = vectors.case, world, world.committed.key_file
    told: dict[str, Any]
    last = w.graph.nodes[-1]
    assert isinstance(last, QuantDense)
    weight = last.weight.copy()
    weight[0, 0] ^= 1
    retrained = replace(w.graph, nodes=(*w.graph.nodes[:-1], replace(last, weight=weight)))
    theirs = Maker(compile_registration(retrained), w.registrar.proving_key, w.basis)
    wider = compile_registration(with_type(w.graph, replace(w.graph.input.type, scale=9.0)))
    elsewhere = Maker.of(wider, w.basis)
    own = w.registrar.key_file
    basis = commitment_basis(300, tau=12345)
    # The maker of the inference's key takes a basis of which he knows τ: one point has the same name.
    unrelated = Maker.of(w.registrar.circuit, basis)
    over = registration(unrelated, model_opening(w.graph, basis))
    given: dict[str, tuple[str, ProofDocument, KeyFile, str]] = {
        "valid": ("The committed model's.", w.registered, own, "ok"),
        "edited": (
            "Its claim was changed.",
            rehashed(w.registered, claim="All is well."),
            own,
            "registration_mismatch",
        ),
        "unproven": (
            "Its proof is another's.",
            rehashed(w.registered, made_at="2026-11-22T12:00:00Z"),
            own,
            "registration_mismatch",
        ),
        "none": ("It is no registration.", w.inferred, key, "registration_mismatch"),
        "other-model": (
            "Another model's.",
            registration(theirs, model_opening(retrained, w.basis)),
            own,
            "registration_mismatch",
        ),
        "other-network": (
            "Of another architecture.",
            registration(elsewhere, model_opening(wider.qgraph, w.basis)),
            elsewhere.key_file,
            "registration_mismatch",
        ),
    }
    for name, (comment, document, of, reason) in given.items():
        told = {"registration": document, "registration_key": of}
        case(f"registered/{name}", comment, w.inferred, key, reason, **told)
    # Of the same commitment, which over another basis is to other numbers.
    forged = rehashed(over, commitments=w.registered.statement.commitments)
    told = {"registration": forged, "registration_key": unrelated.key_file}
    case("registered/basis", "Over another basis.", w.inferred, key, "registration_mismatch", **told)
    told = {"registration": w.registered, "registration_key": own}
    for name, document, of in (
        ("needless", w.shown, w.public.key_file),
        ("itself", w.registered, own),
    ):
        comment = "The proof rests on none."
        case(f"registered/{name}", comment, document, of, "registration_mismatch", **told)


def _version_2(vectors: Vectors) -> None:
    recorded = json.loads(RECORDED.read_text())["inference"]
    document, key = recorded["document"], recorded["key"]
    kind = key["circuit"]["quantisation"]["input"]
    real = [kind["scale"] * (q - kind["zero_point"]) for q in recorded["input"]]
    told = {"input": np.reshape(real, kind["shape"]).tolist(), "opening": recorded["openings"]}
    vectors.case("version2/inference", "From before documents named their system.", document, key, **told)
    relabelled = document | {"version": 3}
    vectors.case("version2/relabelled", "Its statement is of version 1.", relabelled, key, "file.json")
    old = checked(ProofDocument, document)
    renewed = dumped(rehashed(old, **named(old.statement.proof_system)), version=3)
    comment = "A statement of version 3, with a proof of the one before."
    vectors.case("version2/named", comment, renewed, key, "pairing_mismatch")
