"""A verifier of ZenServe's proofs in one file: Python and py_ecc, from docs/formats.md and docs/groth16.md.

    python plain_verifier.py proof.json key.json [model=HEX] [input=FILE opening=FILE] ...

It takes seconds, and shares no line with the verifier that it agrees with (docs/vectors.md). What is told
beside the files has the names of zenserve-verify's options. Exit code 0: valid; 1: refused. It takes no
receipts, which Ed25519 signs, and no keys' files with a ceremony's transcript: docs/ceremony.md has that.
"""

import hashlib
import json
import math
import re
import secrets
import struct
import sys
from collections.abc import Callable
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from py_ecc.bls.g2_primitives import subgroup_check
from py_ecc.bls.hash_to_curve import hash_to_G1
from py_ecc.bls.point_compression import compress_G1, compress_G2, decompress_G1, decompress_G2
from py_ecc.optimized_bls12_381 import (
    FQ12,
    G1,
    G2,
    Z1,
    add,
    field_modulus,
    final_exponentiate,
    multiply,
    pairing,
)
from py_ecc.optimized_bls12_381 import curve_order as R  # noqa: N812

Json = dict[str, Any]

MOST = 2**53 - 1
ONE = b"".join(x.to_bytes(48, "big") for x in compress_G2(G2))


class Refused(Exception):  # noqa: N818
    """The document proves nothing: why not."""


def require(right: object, why: str) -> None:
    if not right:
        raise Refused(why)


# JSON with one reading, and its canonical text (RFC 8785).
def parse(data: bytes) -> Any:
    def once(pairs: list[tuple[str, Any]]) -> Json:
        require(len(dict(pairs)) == len(pairs), "a field is given twice")
        return dict(pairs)

    def number(text: str) -> float:
        require(math.isfinite(float(text)), "a number is beyond doubles")
        return float(text)

    try:
        value = json.loads(data.decode(), object_pairs_hook=once, parse_float=number, parse_constant=number)
        canonical(value)
    except (ValueError, RecursionError) as error:
        raise Refused(f"it is no JSON: {error}") from None
    return value


def canonical(value: Any) -> str:
    if isinstance(value, dict):
        ordered = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(f"{canonical(name)}:{canonical(value[name])}" for name in ordered) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, float):
        return ecmascript(value)
    require(type(value) is not int or abs(value) <= MOST, "an integer is beyond 2^53")
    text = json.dumps(value, ensure_ascii=False)
    text.encode()  # refuses halves of surrogates
    return text


def ecmascript(value: float) -> str:
    """A double as ECMAScript writes it: 0.digits times 10^point, in the fewest digits."""
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, part = mantissa.partition(".")
    digits = (whole + part).lstrip("0")
    point, digits = int(exponent or 0) + len(digits) - len(part), digits.rstrip("0")
    if not digits:
        return "0"
    if point > 21 or point < -5:
        text = f"{digits[0]}.{digits[1:]}".rstrip(".") + f"e{point - 1:+d}"
    elif point > 0:
        text = f"{digits[:point]:0<{point}}.{digits[point:]}".rstrip(".")
    else:
        text = f"0.{'0' * -point}{digits}"
    return "-" * (value < 0) + text


def sha256(value: Any) -> bytes:
    return hashlib.sha256(canonical(value).encode()).digest()


# The form of documents: a text is a pattern, a range bounds an integer, a tuple has alternatives.
def fits(value: Any, form: Any) -> bool:
    match form:
        case str():
            return isinstance(value, str) and re.fullmatch(form, value, re.DOTALL) is not None
        case range():
            return type(value) is int and value in form
        case tuple():
            return any(fits(value, each) for each in form)
        case dict():
            return isinstance(value, dict) and value.keys() == form.keys() and all(
                fits(value[name], each) for name, each in form.items()
            )  # fmt: skip
        case [each, least, most]:
            return (
                isinstance(value, list)
                and least <= len(value) <= most
                and all(fits(item, each) for item in value)
            )
        case None | int():
            return type(value) is type(form) and value == form
    return bool(form(value))


def by_name(form: Any, most: int) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, dict) and len(value) <= most and all(
        fits(name, "[a-z_]{1,40}") and fits(each, form) for name, each in value.items()
    )  # fmt: skip


def moment(value: Any) -> bool:
    try:
        return fits(value, r"[0-9-]{10}T[0-9:]{8}Z") and bool(datetime.strptime(value, "%Y-%m-%dT%H:%M:%SZ"))
    except ValueError:
        return False


def versions(earlier: int, **form: Any) -> tuple[Json, Json]:
    """Since version 3 documents name system and scheme."""
    names = {"system": "groth16-bls12-381", "commitment_scheme": "pedersen-tau-bls12-381"}
    return form | {"version": earlier}, form | names | {"version": 3}


def is_object(value: Any) -> bool:
    return isinstance(value, dict)


def is_question(value: Any) -> bool:
    return fits(value, ".{1,200}") and value.isprintable()


TEXT, HASH, HEX48, HEX96 = ".*", "[0-9a-f]{64}", "[0-9a-f]{96}", "[0-9a-f]{192}"
COUNT, NUMBER = range(1, MOST + 1), range(-MOST, MOST + 1)
MANY = 2**16
SCHEME = "registration|inference|recognition|accuracy"
OPENING = {"format": "zenserve opening", "version": 1, "curve": "bls12381", "blinding": HASH,
           "quotient": HEX48, "tau_g2": HEX96}  # fmt: skip
OPENINGS = versions(1, format="zenserve openings", kind="input|reference|dataset",
                    parts=[{"commitment": HEX48, "opening": OPENING}, 1, MANY])  # fmt: skip
SHARD = {"size": COUNT, "dataset": HEX48, "correct": HEX48}
OPENED = SHARD | {"opening": (None, OPENING)}
DATASET = {"sha256": (None, HASH), "size": COUNT, "picked_for": (None, HEX48), "blinding": "([0-9a-f]{2})*",
           "shards": [(SHARD, OPENED), 1, MANY]}  # fmt: skip
STATEMENT = versions(
    1, format="zenserve statement", scheme=SCHEME, claim=TEXT, network=HASH,
    values=by_name((NUMBER, [NUMBER, 0, math.inf]), 16), commitments=by_name(HEX48, 16),
    dataset=(None, DATASET), parent=(None, HEX48), verification_key={"id": HASH, "setup": TEXT},
    challenge=(None, is_question), made_at=moment, does_not_say=[TEXT, 0, 32],
)  # fmt: skip
PROOF = {"format": "zenserve proof", "version": (2, 3), "statement": STATEMENT, "statement_sha256": HASH,
         "proofs": ["([0-9a-f]{2}){0,2048}", 1, MANY]}  # fmt: skip
KEY_FILE = versions(2, id=HASH, setup=TEXT, key=is_object, circuit=is_object, transcript=None)
KEY = {"format": "zenserve verifying key", "version": 2, "protocol": "groth16", "curve": "bls12381",
       "setup": "development|ceremony|imported", "statement_digest": HASH, "alpha_g1": HEX48, "digest": HASH,
       "beta_g2": HEX96, "gamma_g2": HEX96, "delta_g2": HEX96, "ic": [HEX48, 1, MANY],
       "challenges": range(MANY), "basis": (None, HEX48), "contributions": [HASH, 0, MANY],
       "segments": [{"size": range(2**32), "knowledge_g2": HEX96,
                     "link_g2": (None, [HEX96, 2, 2])}, 0, 255]}  # fmt: skip
INPUT = {"shape": [COUNT, 0, 16], "scale": lambda value: type(value) in (int, float) and value > 0,
         "zero_point": NUMBER, "bits": range(1, 33)}  # fmt: skip
GROUP = {"name": TEXT, "first": NUMBER, "count": COUNT, "shape": [NUMBER, 0, 16], "minimum": NUMBER,
         "maximum": range(-MOST, R)}  # fmt: skip
CIRCUIT = {
    "scheme": SCHEME,
    "meaning": TEXT,
    "network": HASH,
    "commitments": [TEXT, 0, 3],
    "public_inputs": [is_object, 1, MANY],
    "quantisation": is_object,
    "batch": (None, COUNT),
    "classes": (None, COUNT),
}
Parts = dict[str, tuple[list[str], list[list[str]]]]
PARTS: Parts = {  # of each scheme what can be committed to, and what is shown beside an input and a reference
    "registration": (["model"], [[]]),
    "inference": (["model", "input"], [["label"], ["label", "logits"], ["top"]]),
    "recognition": (["model", "input", "reference"], [["threshold", "match"]]),
    "accuracy": (["model", "dataset", "correct"], [["size"]]),
}


# Points, all of them finite and in their subgroups, and pairings.
@cache
def g1(data: bytes) -> Any:
    return point(data, 48, decompress_G1)


@cache
def g2(data: bytes) -> Any:
    return point(
        data,
        96,
        lambda z: decompress_G2((z >> 384, z % 2**384)),  # type: ignore[arg-type]
    )


def point(data: bytes, length: int, decompress: Callable[[Any], Any]) -> Any:
    require(len(data) == length and data[0] >> 6 == 0b10, "a point has wrong flags or length, or is infinity")
    x = int.from_bytes(bytes([data[0] & 31]) + data[1:48], "big"), int.from_bytes(data[48:], "big")
    require(max(x) < field_modulus, "a coordinate is not below the field's modulus")
    try:
        found = decompress(int.from_bytes(data, "big"))
    except ValueError:
        raise Refused("a point is not on the curve") from None
    require(subgroup_check(found), "a point is outside its subgroup")
    return found


def encoded(p: Any) -> bytes:
    return int(compress_G1(p)).to_bytes(48, "big")


def combine(*terms: tuple[int, Any]) -> Any:
    """The sum of (scalar, point)."""
    total = Z1
    for scalar, p in terms:
        total = add(total, multiply(p, scalar % R))
    return total


def product_is_one(pairs: list[tuple[int, Any, bytes]]) -> bool:
    """Of e(P, Q)^scalar for (scalar, P, Q), Q as its bytes, by which terms are added up."""
    sums: dict[bytes, list[tuple[int, Any]]] = {}
    for scalar, p, q in pairs:
        sums.setdefault(q, []).append((scalar, p))
    product = FQ12.one()
    for q, terms in sums.items():
        product *= pairing(g2(q), combine(*terms), final_exponentiate=False)
    return final_exponentiate(product) == FQ12.one()


# Keys and what they mean.
def read_key(data: bytes) -> Json:
    """The file, its key and circuit checked."""
    given = parse(data)
    file: Json = {"version": 2, "transcript": None} | (given if is_object(given) else {})
    require(fits(file, KEY_FILE), "it is no key file")
    key, circuit = file["key"], file["circuit"]
    check_key(key)
    # Groth16's keys have the ids from before there were systems.
    require(
        file["id"] == sha256({"circuit": circuit, "key": key["digest"]}).hex(), "the key's id is another's"
    )
    require(file["setup"] == key["setup"], "the file has another setup than the key")
    check_circuit(circuit)
    linked = [segment["size"] for segment in key["segments"] if segment["link_g2"]]
    sizes = [committed_values(circuit, name) for name in circuit["commitments"]]
    count = sum(group["count"] for group in circuit["public_inputs"])
    require(max((size or 0 for size in sizes), default=0) <= 2**24, "a commitment is to too many values")
    right = len(linked) == len(sizes) and all(a in (None, b) for a, b in zip(sizes, linked, strict=True))
    require(right and count == len(key["ic"]) - 1 - key["challenges"], "the circuit does not fit the key")
    return file


def check_key(key: Json) -> None:
    require(fits(key, KEY), "the key has fields that are none, or lacks one")
    segments, raw = key["segments"], bytes.fromhex
    links = [segment["link_g2"] or [] for segment in segments]
    require(len(segments) > 0 if key["challenges"] else not any(links), "challenges and links do not fit")
    require(
        len(key["ic"]) > key["challenges"] and (key["basis"] is not None) == any(links), "parts do not fit"
    )
    require(key["contributions"] or key["setup"] != "ceremony", "a ceremony has contributions")
    counts = (
        len(key["ic"]) - 1 - key["challenges"],
        key["challenges"],
        len(segments),
        len(key["contributions"]),
    )
    parts = [b"ZENSERVE" + struct.pack("<I4s", 2, b"vkey") + key["setup"].encode().ljust(16, b"\0")]
    parts += [raw(key["statement_digest"]), struct.pack("<4I", *counts)]
    parts += [raw(key[name]) for name in ("alpha_g1", "beta_g2", "gamma_g2", "delta_g2")] + list(
        map(raw, key["ic"])
    )
    for segment, link in zip(segments, links, strict=True):
        parts += [
            struct.pack("<2I", segment["size"], bool(link)),
            raw(segment["knowledge_g2"]),
            *map(raw, link),
        ]
    parts += [raw(key["basis"] or ""), *map(raw, key["contributions"])]
    require(hashlib.sha256(b"".join(parts)).hexdigest() == key["digest"], "the key's digest is another's")
    # No two points are equal up to their sign, nor are small multiples of points IC.
    in_g1 = [raw(each) for each in (key["alpha_g1"], *key["ic"], key["basis"]) if each]
    in_g2 = [raw(key[name]) for name in ("beta_g2", "gamma_g2", "delta_g2")]
    in_g2 += map(raw, [*(segment["knowledge_g2"] for segment in segments), *flat(links)])
    for decode, points in ((g1, in_g1), (g2, in_g2)):
        for each in points:
            decode(each)
    if (key["setup"] == "imported" or key["contributions"]) and in_g2[1] == ONE:
        del in_g2[1]  # ceremonies have γ so
    multiples = [encoded(combine((k, g1(raw(each))))) for each in key["ic"] for k in (1, 2, 3, 4)]
    for points in ([encoded(G1), ONE, *in_g1, *in_g2], multiples):
        signless = {bytes([each[0] & 31]) + each[1:] for each in points}
        require(len(signless) == len(points), "the key is unsafe: anyone could forge proofs")


def check_circuit(circuit: Json) -> None:
    require(fits({name: circuit.get(name) for name in CIRCUIT}, CIRCUIT), "the circuit lacks a field")
    kind: Any = circuit["quantisation"].get("input")
    require(
        is_object(kind) and fits({name: kind.get(name) for name in INPUT}, INPUT), "the input has no type"
    )
    kind["scale"] = float(kind["scale"])
    scheme, groups, commitments = (circuit[name] for name in ("scheme", "public_inputs", "commitments"))
    first = 0
    for group in groups:
        group |= {"minimum": 0, "maximum": R - 1} | group
        right = fits({name: group.get(name) for name in GROUP}, GROUP) and group["first"] == first
        single = group.get("name") in ("statement", "label", "threshold", "match", "size")
        require(right and not (single and group["shape"]), "a group of public inputs is none")
        first += group["count"]
    outside, shown = PARTS[scheme]
    statement, *names = [group["name"] for group in groups]
    given = [name for name in ("input", "reference") if name in outside and name in names]
    require(
        (statement, groups[0]["count"]) == ("statement", 1), "the first public input is not the statement"
    )
    require(
        names[: len(given)] == given and names[len(given) :] in shown, "it shows what its scheme does not"
    )
    require(commitments == [name for name in outside if name in commitments], "commitments of another scheme")
    require(not {*given} & {*commitments}, "what is public is committed to, too")
    if scheme == "accuracy":
        right = circuit.get("batch") and circuit.get("classes") and commitments[-2:] == ["dataset", "correct"]
        require(right, "an accuracy has a batch, classes, a dataset and a count")


def committed_values(circuit: Json, name: str) -> int | None:
    """How many there are, where the description says it."""
    sample = math.prod(circuit["quantisation"]["input"]["shape"])
    shard = 5 + (circuit.get("batch") or 0) * (sample + 1)
    return {"input": 5 + sample, "dataset": shard, "correct": 1}.get(name)


def type_limbs(circuit: Json) -> list[int]:
    kind = circuit["quantisation"]["input"]
    number = int.from_bytes(sha256({name: kind[name] for name in INPUT}), "big")
    return [number >> shift & 2**52 - 1 for shift in range(0, 256, 52)]


# Words.
FACTS = {
    "label": "The label is {label}.",
    "top": "The labels, the likeliest first, are {top}.",
    "logits": "The network's outputs are {logits}.",
    "match": "The input is {not_}within the threshold, {threshold}, of the reference.",
    "correct": "The network gets {correct} of {size} labels right.",
}
UNSAID = {
    "registration": "What the network's weights are, or who trained it.",
    "parent": "That the model was made from its parent: it names it, and that is all.",
    "model": "That the committed weights are of their types: the proof of the model's registration says"
    " that.",
    "public": "Where the input came from, or who chose it.",
    "private": "Which input it was: only that the prover knows one with this result.",
    "committed": "What the committed input is (its opening says it), where it came from, or who chose it.",
    "reference": "Whose the committed reference is, or what it was made from.",
    "dataset": "That the samples were picked after the model was committed to: picked_for is the service's"
    " word.",
    "hidden": "What the samples are, or that they are different ones: only who knows the dataset can check"
    " this.",
    "network": "That the network is accurate beyond what is claimed, fair or fit for a purpose.",
    "time": "Who made the proof, or when: made_at is the word of whoever made it.",
    "development": "Anything, to someone who distrusts whoever made the keys: this is a development setup by"
    " a single party, and a party that kept its secret numbers can forge proofs.",
    "ceremony": "Anything, if all contributors to one phase of the key's ceremony kept their secret numbers:"
    " they together can forge proofs. The key names their contributions.",
    "imported": "Anything, to someone who does not know how the key was made: another program made it, and"
    " whoever kept its secret numbers can forge proofs.",
}


def claim(circuit: Json, values: Json) -> str:
    shown = {name: ", ".join(map(str, v)) if isinstance(v, list) else v for name, v in values.items()}
    shown["not_"] = "" if values.get("match") == 1 else "not "
    return " ".join(
        [*(fact.format(**shown) for name, fact in FACTS.items() if name in values), circuit["meaning"]]
    )


def does_not_say(circuit: Json, setup: str, statement: Json) -> list[str]:
    scheme, commitments, dataset = circuit["scheme"], circuit["commitments"], statement["dataset"]
    said = {
        "registration": scheme == "registration",
        "parent": statement["parent"],
        "model": scheme != "registration" and "model" in commitments,
        input_privacy(circuit): scheme in ("inference", "recognition"),
        "reference": "reference" in commitments,
        "dataset": dataset,
        "hidden": dataset and dataset["sha256"] is None,
    }
    return [UNSAID[name] for name in (*(name for name in said if said[name]), "network", "time", setup)]


def input_privacy(circuit: Json) -> str:
    public = any(group["name"] == "input" for group in circuit["public_inputs"])
    return "committed" if "input" in circuit["commitments"] else "public" if public else "private"


def public_values(circuit: Json, values: Json) -> list[int]:
    """The public inputs after the statement; of accuracies, whose shards have their own, none."""
    groups = {group["name"]: group for group in circuit["public_inputs"][1:]}
    if circuit["scheme"] == "accuracy":
        groups = {
            name: {"count": 1, "shape": [], "minimum": 0, "maximum": MOST} for name in ("correct", "size")
        }
    require(values.keys() == groups.keys(), "the values are not those of the circuit")
    for name, group in groups.items():
        numbers = values[name] if group["shape"] else [values[name]]
        require(isinstance(numbers, list) and len(numbers) == group["count"], f"{name} has another form")
        inside = all(type(n) is int and group["minimum"] <= n <= group["maximum"] for n in numbers)
        require(inside, f"{name} is out of its range")
    shown = [values[name] for name in groups]
    return [] if circuit["scheme"] == "accuracy" else [number % R for number in flat(shown)]


# Proofs, sums and openings.
def check_proof(key: Json, inputs: list[int], proof: bytes, commitments: list[bytes]) -> None:
    raw, segments = bytes.fromhex, key["segments"]
    m, linked = len(segments), [index for index, segment in enumerate(segments) if segment["link_g2"]]
    header = b"ZENSERVE" + struct.pack("<I4s", 1, b"prof") + bytes([m, len(linked)]) if m else b""
    sizes = [48, 96, 48] + [48] * (2 * m + len(linked))
    require(
        proof.startswith(header) and len(proof) == len(header) + sum(sizes), "the proof has another shape"
    )
    parts, start = [], len(header)
    for size in sizes:
        parts.append(proof[start : start + size])
        start += size
    d = parts[3 : 3 + m]
    a, c, *points = map(g1, [parts[0], *parts[2:]])
    cms = list(map(g1, commitments))
    message = b"zenserve challenge 1" + raw(key["digest"])
    for part in ([value.to_bytes(32, "big") for value in inputs], d, commitments):
        message += struct.pack(">I", len(part)) + b"".join(part)
    hashes = [hashlib.sha512(message + struct.pack(">I", j)).digest() for j in range(key["challenges"])]
    scalars = [1, *inputs, *(int.from_bytes(each, "big") % R for each in hashes)]
    gamma = raw(key["gamma_g2"])
    pairs = [
        (1, a, parts[1]),
        (-1, g1(raw(key["alpha_g1"])), raw(key["beta_g2"])),
        (-1, c, raw(key["delta_g2"])),
    ]
    pairs += [(-x, g1(raw(ic)), gamma) for x, ic in zip(scalars, key["ic"], strict=True)]
    for segment, d_s, knowledge in zip(segments, points[:m], points[m : 2 * m], strict=True):
        weight = secrets.randbits(128)
        pairs += [(-1, d_s, gamma), (weight, knowledge, ONE), (-weight, d_s, raw(segment["knowledge_g2"]))]
    for index, link, cm in zip(linked, points[2 * m :], cms, strict=True):
        weight, (k_1, k_2) = secrets.randbits(128), map(raw, segments[index]["link_g2"])
        pairs += [(weight, link, ONE), (-weight, points[index], k_1), (-weight, cm, k_2)]
    require(product_is_one(pairs), "the proof does not prove this statement")


@cache
def second_generator() -> Any:
    return hash_to_G1(b"H", b"ZENSERVE-V1-COMMITMENT_BLS12381G1_XMD:SHA-256_SSWU_RO_", hashlib.sha256)  # type: ignore[arg-type]


def blinding_factor(text: str) -> int:
    value = int(text or "0", 16)
    require(len(text) == 64 and value < R, "a blinding factor is no integer of 32 bytes below r")
    return value


def check_opening(basis: str, commitment: str, values: list[int], opening: Any) -> None:
    u_1, cm, rho = bytes.fromhex(basis), bytes.fromhex(commitment), blinding_factor(opening["blinding"])
    tau, quotient = bytes.fromhex(opening["tau_g2"]), bytes.fromhex(opening["quotient"])
    pi = Z1 if quotient == b"\xc0" + bytes(47) else g1(quotient)
    require(product_is_one([(1, g1(u_1), ONE), (-1, G1, tau)]), "the opening is over another basis")
    scalars = [value % R for value in values]
    message = b"zenserve opening 1" + u_1 + cm + rho.to_bytes(32, "big") + struct.pack(">Q", len(values))
    message += b"".join(value.to_bytes(32, "big") for value in scalars)
    z = int.from_bytes(hashlib.sha512(message).digest(), "big") % R
    at_z = sum(value * pow(z, i, R) for i, value in enumerate(scalars))
    left = combine((1, g1(cm)), (-rho, second_generator()), (-at_z, G1), (z, pi))
    require(product_is_one([(1, left, ONE), (-1, pi, tau)]), "the commitment is to other values")


# The judgement.
def verify(proof_file: bytes, key_file: bytes, **told: Any) -> Json:
    """What is proven: the statement. ``told``: texts, and the bytes of files. Raises ``Refused``."""
    document, file = completed(parse(proof_file)), read_key(key_file)
    require(fits(document, PROOF), "it is no proof of ZenServe")
    statement: Json = document["statement"]
    require((document["version"] == 3) == (statement["version"] == 3), "the statement is of another version")
    key, circuit, dataset = file["key"], file["circuit"], statement["dataset"]
    check_words(document, file)
    check_expected(statement, file, told)
    shards = (
        check_shards(document, circuit) if dataset else [({}, public_values(circuit, statement["values"]))]
    )
    require(len(document["proofs"]) == len(shards), "there are more or fewer proofs than there should be")
    scalar = int.from_bytes(sha256(statement)[:31], "big")
    for proof, (own, shown) in zip(document["proofs"], shards, strict=True):
        commitments = statement["commitments"] | own
        linked = [bytes.fromhex(commitments[name]) for name in circuit["commitments"]]
        check_proof(key, [scalar, *shown], bytes.fromhex(proof), linked)
    check_told(statement, file, told)
    return statement


def check_expected(statement: Json, file: Json, told: Json) -> None:
    commitments, made_at = statement["commitments"], statement["made_at"]
    own = {name: commitments.get(name) for name in ("model", "reference")}
    own |= {"input_commitment": commitments.get("input"), "key_id": file["id"]}
    own |= {name: statement[name] for name in ("challenge", "network")}
    for name in own.keys() & told.keys():
        require(own[name] == told[name], f"it is about another {name}")
    after, before = (told.get(name, made_at) for name in ("after", "before"))
    require(moment(after) and moment(before) and after <= made_at <= before, "it was made at another time")
    require("require" not in told, "what ceremonies show is not verified here")


def completed(document: Any) -> Any:
    """With the fields that may be left out."""
    document = {"format": "zenserve proof", "version": 3} | (document if is_object(document) else {})
    if is_object(document.get("statement")):
        document["statement"] = {"format": "zenserve statement", "version": 3} | document["statement"]
    return document


def check_words(document: Json, file: Json) -> None:
    statement, circuit = document["statement"], file["circuit"]
    dataset, parent = statement["dataset"], statement["parent"]
    require(
        (dataset is not None) == (statement["scheme"] == "accuracy"), "accuracies have a dataset, no others"
    )
    require(parent is None or statement["scheme"] == "registration", "only registrations have a parent")
    shards = dataset["shards"] if dataset else []
    for shard in shards:
        shard.setdefault("opening", None)
    opened = all((shard["opening"] is None) == (dataset["sha256"] is None) for shard in shards)
    require(opened, "the shards of public datasets, and no others, have openings")
    require(sha256(statement).hex() == document["statement_sha256"], "the statement was edited")
    require(
        statement["verification_key"] == {"id": file["id"], "setup": file["setup"]}, "it names another key"
    )
    for name in ("network", "scheme"):
        require(statement[name] == circuit[name], f"the key is of another {name}")
    public_values(circuit, statement["values"])
    require(
        statement["claim"] == claim(circuit, statement["values"]), "the claim is not what the values mean"
    )
    require(
        statement["does_not_say"] == does_not_say(circuit, file["setup"], statement), "something is unsaid"
    )
    outside = {*circuit["commitments"]} - {"dataset", "correct"}
    require(statement["commitments"].keys() == outside, "the commitments are not those of the circuit")


def check_shards(document: Json, circuit: Json) -> list[tuple[Json, list[int]]]:
    """Of each proof its own commitments, and what it shows."""
    statement, dataset = document["statement"], document["statement"]["dataset"]
    shards, batch, values = dataset["shards"], circuit["batch"], statement["values"]
    require(dataset["picked_for"] == statement["commitments"].get("model"), "it was picked for another model")
    *full, last = [shard["size"] for shard in shards]
    right = all(size == batch for size in full) and last <= batch and sum(full) + last == dataset["size"]
    require(right, "shards are not full, or more or fewer than the dataset")
    for name in ("dataset", "correct"):
        require(len({shard[name] for shard in shards}) == len(shards), "a shard is counted twice")
    require(values["size"] == dataset["size"] >= values["correct"], "the numbers are not the dataset's")
    counts = [(1, g1(bytes.fromhex(shard["correct"]))) for shard in shards]
    opened = (-values["correct"], G1), (-blinding_factor(dataset["blinding"]), second_generator())
    require(combine(*counts, *opened)[2] == 0, "the counts do not add up to the total")
    return [({name: shard[name] for name in ("dataset", "correct")}, [shard["size"]]) for shard in shards]


def check_told(statement: Json, file: Json, told: Json) -> None:
    """The input, the dataset, the registration that the verifier has."""
    key, circuit, dataset = file["key"], file["circuit"], statement["dataset"]
    openings = {}
    if "opening" in told:
        given = parse(told["opening"])
        kind = "input" if "input" in told else "dataset"
        require(
            is_object(given) and fits(given, OPENINGS) and given["kind"] == kind, f"no opening of the {kind}"
        )
        openings = {part["commitment"]: part["opening"] for part in given["parts"]}
    if "input" in told:
        numbers = quantised(parse(told["input"]), circuit)
        if input_privacy(circuit) == "public":
            require(statement["values"]["input"] == numbers, "the public input is another")
        else:
            commitment = statement["commitments"].get("input")
            require(commitment in openings, "the input is private, or what opens it was not given")
            check_opening(key["basis"], commitment, type_limbs(circuit) + numbers, openings[commitment])
    if "dataset" in told:
        require(dataset, "it is about no dataset")
        samples, labels = parse(told["dataset"]), parse(told["labels"])
        require(fits(labels, [range(2**63), 1, math.inf]) and len(labels) == len(samples), "labels are none")
        require(dataset["sha256"] in (None, dataset_hash(samples, labels)), "the dataset is another")
        require(
            dataset["size"] == len(labels) and max(labels) < circuit["classes"], "of another size or network"
        )
        for index, shard in enumerate(dataset["shards"]):
            part = slice(index * circuit["batch"], (index + 1) * circuit["batch"])
            opening = shard["opening"] or openings.get(shard["dataset"])
            require(opening, "the opening of a shard was not given")
            values = flat([quantised(sample, circuit) for sample in samples[part]])
            missing = circuit["batch"] - len(labels[part])
            values += [0] * (missing * math.prod(circuit["quantisation"]["input"]["shape"]))
            values = type_limbs(circuit) + values + labels[part] + [circuit["classes"]] * missing
            check_opening(key["basis"], shard["dataset"], values, opening)
    if "registration" in told:
        model = statement["commitments"].get("model")
        require(model and statement["scheme"] != "registration", "it rests on no registration")
        registered = verify(told["registration"], told["registration_key"], model=model)
        right = (registered["scheme"], registered["network"]) == ("registration", statement["network"])
        basis = json.loads(told["registration_key"])["key"]["basis"]
        require(right and basis == key["basis"], "the registration is of another network or basis")


def shape_of(values: Any) -> list[int]:
    """Of nested lists of finite numbers."""
    if not isinstance(values, list):
        require(type(values) in (int, float), "a number is none")
        return []
    shapes = [shape_of(value) for value in values]
    require(shapes and all(shape == shapes[0] for shape in shapes), "rows are of unequal length")
    return [len(values), *shapes[0]]


def flat(values: Any) -> list[Any]:
    return [each for value in values for each in flat(value)] if isinstance(values, list) else [values]


def quantised(values: Any, circuit: Json) -> list[int]:
    """Rounded to even, clipped."""
    kind, shape = circuit["quantisation"]["input"], shape_of(values)
    require(kind["shape"] in (shape, [1, *shape]) or [1, *kind["shape"]] == shape, "it is of another shape")
    nearest = [max(-1e18, min(1e18, float(value) / kind["scale"])) for value in flat(values)]
    return [max(0, min(2 ** kind["bits"] - 1, round(value) + kind["zero_point"])) for value in nearest]


def dataset_hash(samples: Any, labels: list[int]) -> str:
    header = b"zenserve dataset 1\n" + json.dumps(shape_of(samples)).encode() + b"\n"
    numbers = flat(samples)
    return hashlib.sha256(
        header + struct.pack(f"<{len(numbers)}d{len(labels)}q", *numbers, *labels)
    ).hexdigest()


def main(document: str, key: str, *options: str) -> int:
    told = dict(option.split("=", 1) for option in options)
    named = ("input", "dataset", "labels", "opening", "registration", "registration_key")
    files = {name: Path(text).read_bytes() if name in named else text for name, text in told.items()}
    try:
        statement = verify(Path(document).read_bytes(), Path(key).read_bytes(), **files)
    except Refused as refusal:
        print(f"NOT valid: {refusal}")
        return 1
    print(f"valid: {statement['claim']}", *statement["does_not_say"], sep="\n  not: ")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
