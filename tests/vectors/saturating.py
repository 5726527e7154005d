"""Of models that take numbers beyond their calibration: statements and receipts say so, or not."""

from __future__ import annotations

from tests.client.makers import inference, registration, rehashed
from tests.vectors.receipts import ISSUER, fields_of, signed
from tests.vectors.world import World, stated
from tests.vectors.writing import Vectors


def write(vectors: Vectors, world: World) -> None:
    _statements(vectors, world)
    _receipts(vectors, world)


def _statements(vectors: Vectors, world: World) -> None:
    key, case = world.plain.key_file, vectors.case
    honest, silent = inference(world.plain, world.inputs[1], {}, saturates=True), world.bare
    case("saturates/valid", "The statement says so, in words too.", honest, key)
    words, none = honest.statement.does_not_say, silent.statement.does_not_say
    lie = world.bare_lie(saturates=True, does_not_say=none)
    case("saturates/unsaid", "Its words do not, and so it is proven.", lie, key, "words_mismatch")
    lie = world.bare_lie(does_not_say=words)
    case("saturates/words-alone", "Only its words do, and so it is proven.", lie, key, "words_mismatch")
    said = rehashed(silent, saturates=True, does_not_say=words)
    case("saturates/later", "It says so since it was proven.", said, key, "pairing_mismatch")
    for name, value in (("false", False), ("null", None), ("number", 1)):
        document = stated(honest, saturates=value)
        case(f"saturates/{name}", "What is not so is not there.", document, key, "file.json")
    document = stated(registration(world.registrar, world.model), saturates=True)
    comment = "A registration takes no numbers."
    case("saturates/registration", comment, document, world.registrar.key_file, "file.json")


def _receipts(vectors: Vectors, world: World) -> None:
    good = signed(fields_of(world) | {"saturates": True}, ISSUER)
    vectors.case("saturates/receipt", "The receipt says so.", good)
    left_out = {name: value for name, value in good.items() if name != "saturates"}
    vectors.case("saturates/receipt-left-out", "No more.", left_out, reason="signature_mismatch")
    denied = signed(fields_of(world) | {"saturates": False}, ISSUER)
    vectors.case("saturates/receipt-false", "What is not so is not there.", denied, reason="file.json")
