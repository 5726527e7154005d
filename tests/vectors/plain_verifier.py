"""A verifier of ZenServe's documents in one file: Python and py_ecc, from the pages alone (docs/vectors.md).

    python plain_verifier.py proof.json key.json [model=HEX] [input=FILE opening=FILE] ...
    python plain_verifier.py receipt.json [issuer=HEX] ...

It takes seconds, and shares no line with the verifier that it agrees with. What is told beside the files has
the names of zenserve-verify's options. Exit code 0: valid; 1: refused.
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
from itertools import pairwise
from pathlib import Path
from typing import Any

import py_ecc.optimized_bls12_381 as bls
from py_ecc.bls.g2_primitives import subgroup_check
from py_ecc.bls.hash_to_curve import hash_to_G1
from py_ecc.bls.point_compression import compress_G1, compress_G2, decompress_G1, decompress_G2

Json = dict[str, Any]
MOST, MANY, R = 2**53 - 1, 2**16, bls.curve_order


class Refused(Exception):  # noqa: N818
    """The document proves nothing: why not."""


RANGES = """
    0000-001F 007F-00A0 00AD 0600-0605 061C 06DD 070F 0890-0891 08E2 1680 180E 2000-200F 2028-202F 205F-206F
    3000 D800-F8FF FDD0-FDEF FEFF FFF0-FFFB FFFE-FFFF 110BD 110CD 13430-1343F 1BCA0-1BCA3 1D173-1D17A
    1FFFE-1FFFF 2FFFE-2FFFF 3FFFE-3FFFF 4FFFE-4FFFF 5FFFE-5FFFF 6FFFE-6FFFF 7FFFE-7FFFF 8FFFE-8FFFF
    9FFFE-9FFFF AFFFE-AFFFF BFFFE-BFFFF CFFFE-CFFFF DFFFE-E00FF E01F0-E0FFF EFFFE-10FFFF
"""
UNPRINTABLE = [tuple(int(end, 16) for end in (each.split("-") * 2)[:2]) for each in RANGES.split()]


def require(right: object, why: str) -> None:
    if not right:
        raise Refused(why)


# JSON with one reading, and its canonical text (RFC 8785).
def parse(data: bytes) -> Any:
    def once(pairs: list[tuple[str, Any]]) -> Json:
        require(len(dict(pairs)) == len(pairs), "a field is given twice")
        return dict(pairs)

    try:
        value = json.loads(data.decode(), object_pairs_hook=once)
        canonical(value)
    except (ValueError, RecursionError) as error:
        raise Refused(f"it is no JSON: {error}") from None
    return value


def canonical(value: Any, depth: int = 1) -> str:
    require(depth <= 200 or not isinstance(value, dict | list) or not value, "it is nested too deeply")
    if isinstance(value, dict):
        ordered = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(f"{canonical(n)}:{canonical(value[n], depth + 1)}" for n in ordered) + "}"
    if isinstance(value, list):
        return "[" + ",".join(canonical(each, depth + 1) for each in value) + "]"
    if isinstance(value, float):
        return ecmascript(value)
    require(type(value) is not int or abs(value) <= MOST, "an integer is beyond 2^53")
    text = json.dumps(value, ensure_ascii=False)
    text.encode()  # refuses halves of surrogates
    return text


def ecmascript(value: float) -> str:
    """A double as ECMAScript writes it: 0.digits times 10^point, in the fewest digits."""
    require(math.isfinite(value), "a number is none, or beyond doubles")
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
            return isinstance(value, dict) and value.keys() == form.keys() and has(value, form)
        case [each, least, most]:
            listed = isinstance(value, list) and least <= len(value) <= most
            return listed and all(fits(item, each) for item in value)
        case type() | None:
            return isinstance(value, form or type(None))
    return bool(form(value))


def has(value: Any, form: Json) -> bool:
    """Among other fields."""
    return isinstance(value, dict) and all(fits(value.get(name), form[name]) for name in form)


# Of several inputs and outputs, each has its own behind a slash.
OWN = "[A-Za-z0-9_.-]{1,64}"


def by_name(form: Any) -> Callable[[Any], bool]:
    def right(value: Any) -> bool:
        named = (
            isinstance(value, dict)
            and len(value) <= 16
            and fits(list(value), [f"[a-z_]{{1,40}}(/{OWN})?", 0, 16])
        )
        return named and all(fits(each, form) for each in value.values())

    return right


def moment(value: Any) -> bool:
    try:
        return fits(value, r"[0-9-]{10}T[0-9:]{8}Z") and bool(datetime.strptime(value, "%Y-%m-%dT%H:%M:%SZ"))
    except ValueError:
        return False


def is_printable(text: str) -> bool:
    """None of the ranges of the page."""
    return not any(first <= ord(c) <= last for c in text for first, last in UNPRINTABLE)


def question(value: Any) -> bool:
    return fits(value, ".{1,200}") and is_printable(value)


def author(value: Any) -> bool:
    """Of a contribution: a beacon's name, or one that nobody takes for a beacon's."""
    if is_beacon(value):
        return fits(value, r"beacon 2\^([0-9]|1[0-6]) [0-9a-f]{64}")
    disguised = re.search(r"2\^[0-9]+ [0-9a-f]{64}$|\(a beacon\)$", str(value))
    return fits(value, r"\S(.*\S)?") and is_printable(value) and len(value.encode()) <= 80 and not disguised


def is_beacon(name: Any) -> bool:
    return str(name).split(" ")[0].casefold() == "beacon"


def versions(earlier: int, form: Json) -> tuple[Json, Json]:
    """Since version 3 documents name system and scheme."""
    names = {"system": "groth16-bls12-381", "commitment_scheme": "pedersen-tau-bls12-381"}
    return form | {"version": range(earlier, earlier + 1)}, form | names | {"version": range(3, 4)}


def saturating(forms: tuple[Json, ...]) -> tuple[Json, ...]:
    """They may say so; nothing else is said there than true."""
    return *forms, *({**form, "saturates": lambda value: value is True} for form in forms)


def listing(forms: tuple[Json, Json]) -> tuple[Json, ...]:
    """In version 4 they list the models of the same network, under other systems."""
    return *forms, forms[1] | {"version": range(4, 5), "twins": TWINS}


# fmt: off
TEXT, HEX, HASH, HEX48, HEX96 = ".*", "([0-9a-f]{2})*", "[0-9a-f]{64}", "[0-9a-f]{96}", "[0-9a-f]{192}"
ONCE, TWICE, COUNT, NUMBER = range(1, 2), range(2, 3), range(1, MOST + 1), range(-MOST, MOST + 1)
SCHEME = "registration|inference|recognition|accuracy|robustness"
OPENING = {"format": "zenserve opening", "version": ONCE, "curve": "bls12381", "blinding": HASH,
           "quotient": HEX48, "tau_g2": HEX96}
PART = {"commitment": HEX48, "opening": OPENING}
OPENINGS = (
    *versions(1, {"format": "zenserve openings", "kind": "input|reference|dataset",
                  "parts": [(PART, PART | {"values": None}), 1, MANY]}),
    *versions(1, {"format": "zenserve openings", "kind": "output",
                  "parts": [PART | {"values": [NUMBER, 0, math.inf]}, 1, MANY]}))
SHARD = {"size": COUNT, "dataset": HEX48, "correct": HEX48}
OPENED = SHARD | {"opening": (None, OPENING)}
DATASET = {"sha256": (None, HASH), "size": COUNT, "picked_for": (None, HEX48), "blinding": HEX,
           "shards": [(SHARD, OPENED), 1, MANY]}
STATEMENT = saturating(versions(1, {
    "format": "zenserve statement", "scheme": SCHEME, "claim": TEXT, "network": HASH, "made_at": moment,
    "values": by_name((NUMBER, [NUMBER, 0, math.inf])), "commitments": by_name(HEX48),
    "dataset": (None, DATASET), "parent": (None, HEX48), "challenge": (None, question),
    "verification_key": {"id": HASH, "setup": TEXT}, "does_not_say": [TEXT, 0, 32]}))
PROOF = {"format": "zenserve proof", "version": range(2, 4), "statement": STATEMENT, "statement_sha256": HASH,
         "proofs": ["([0-9a-f]{2}){0,2048}", 1, MANY]}
TWINS = [({"system": "groth16-bls12-381", "model_id": TEXT, "commitment": (None, HEX48)},
          {"system": "spartan-bls12-381", "model_id": TEXT, "commitment": (None, HASH)}), 1, 64]
RECEIPT = saturating(listing(versions(1, {
    "format": "zenserve receipt", "model_id": TEXT, "name": TEXT, "commitment": (None, HEX48),
    "parent": (None, {"model_id": TEXT, "commitment": (None, HEX48)}), "registration": (None, HASH),
    "network": HASH, "registered_at": moment, "issuer": HASH, "signature": "[0-9a-f]{128}"})))
CONTRIBUTION = {"name": author, "secrets": [HEX96, 1, MANY], "nonces": [HEX96, 1, MANY],
                "responses": [HASH, 1, MANY]}
TRANSCRIPT = {"format": "zenserve ceremony transcript", "version": ONCE, "origin": HASH,
              "contributions": [CONTRIBUTION, 1, 1024]}
KEY_FILE = versions(2, {"id": HASH, "setup": TEXT, "key": dict, "circuit": dict,
                        "transcript": (None, TRANSCRIPT)})
KEY = {"format": "zenserve verifying key", "version": range(2, 4), "protocol": "groth16", "curve": "bls12381",
       "setup": "development|ceremony|imported", "statement_digest": HASH, "alpha_g1": HEX48, "digest": HASH,
       "beta_g2": HEX96, "gamma_g2": HEX96, "delta_g2": HEX96, "ic": [HEX48, 1, 2**20],
       "challenges": range(MANY), "basis": (None, HEX48), "contributions": [HASH, 0, MANY], "segments": [
           {"size": range(2**32), "knowledge_g2": HEX96, "link_g2": (None, [HEX96, 2, 2])}, 0, 255]}
KEYS = KEY, KEY | {"version": range(4, 5), "challenges": range(2, MANY), "folded": range(1, 2**32)}
INPUT = {"name": (None, OWN), "shape": [COUNT, 0, 16], "zero_point": NUMBER, "bits": range(1, 33),
         "scale": lambda value: type(value) in (int, float) and value > 0}


def of_input(kind: Any) -> bool:
    return has(kind, INPUT)


def of_output(kind: Any) -> bool:
    """What whatever takes it may call otherwise, and words have as real numbers."""
    return of_input(kind) and kind.get("name") is None and kind["scale"] <= 1e290


GROUP = {"name": TEXT, "first": NUMBER, "count": COUNT, "shape": [NUMBER, 0, 16], "minimum": NUMBER,
         "maximum": range(-MOST, R)}
TYPES = {"input": (None, of_input), "inputs": (None, [of_input, 2, 16]),
         "outputs": (None, [lambda each: has(each, {"name": f"output(/{OWN})?", "type": of_output}), 1, 16])}
CIRCUIT = {"scheme": SCHEME, "meaning": TEXT, "network": HASH, "commitments": [TEXT, 0, 16],
           "public_inputs": [dict, 1, MANY], "batch": (None, COUNT), "classes": (None, COUNT),
           "measure": "accuracy|top-k|f1|mse|mae|r2|certified", "top": COUNT, "targets": (None, dict),
           "norm": "inf|2",
           "quantisation": lambda value: has(value, TYPES)}
TARGETS = {"scale": lambda value: type(value) in (int, float) and 0 < value <= 1e140,
           "zero_point": NUMBER, "minimum": NUMBER, "maximum": NUMBER, "error": NUMBER}
TOLD = {"key_id": HASH, "network": HASH, "issuer": HASH, "model": HEX48, "input_commitment": HEX48,
        "output_commitment": HEX48, "reference": HEX48, "challenge": question, "after": moment,
        "before": moment, "require": "ceremony", "at_least": TEXT, "at_most": TEXT}
BOUNDED = ("threshold", "reached"), ("bounds", "interval")
PARTS: dict[str, tuple[list[str], list[list[str]]]] = {
    # of each scheme what can be committed to, and what is shown beside an input and a reference
    "registration": (["model"], [[]]),
    "inference": (
        ["model", "input", "output"],
        [["label"], ["label", "logits"], ["top"], ["values"], *map(list, BOUNDED)],
    ),
    "recognition": (["model", "input", "reference"], [["threshold", "match"]]),
    "accuracy": (["model", "dataset", "correct"], [["size"], ["size", "radius"]]),
    "robustness": (["model", "input"], [["radius", "label"]]),
}
FACTS = {
    "label": "The {of_labels} {label}.",
    "top": "The labels, the likeliest first, are {top}.",
    "logits": "The network's outputs are {logits}.",
    "match": "The input is {not_}within the threshold, {threshold}, of the reference.",
}
FURTHER = ("Anything of inputs further away in AWAY, or changed otherwise, as a picture that is turned; or of"
           " numbers between the steps, which are rounded before the network sees them.")
AWAY = {"inf": "any one entry", "2": "all entries together"}
UNSAID = {
    "registration": "What the network's weights are, or who trained it.",
    "robustness": f"{FURTHER} Nor that the label is right.",
    "further": FURTHER,
    "certified": "That the other samples are labelled wrongly, or can be: it is not certified that they"
                 " cannot. Nor which samples are certified.",
    "parent": "That the model was made from its parent: it names it, and that is all.",
    "model": "That the committed weights are of their types: the proof of the model's registration says"
             " that.",
    "public": "Where the input came from, or who chose it.",
    "private": "Which input it was: only that the prover knows one with this result.",
    "committed": "What the committed input is (its opening says it), where it came from, or who chose it.",
    "output": "What the committed output is: the commitment alone says nothing about it, and only its opening"
              " shows it.",
    "reference": "Whose the committed reference is, or what it was made from.",
    "dataset": "That the samples were picked after the model was committed to: picked_for is the service's"
               " word.",
    "hidden": "What the samples are, or that they are different ones: only who knows the dataset can check"
              " this.",
    "targets": "The errors against targets as they were: each was rounded to the nearest of the outputs'"
               " steps. Nor the error of any one sample.",
    "saturates": "That no number given to the network lay beyond the range of its calibration: such numbers"
                 " count as the range's ends.",
    "network": "That the network is accurate beyond what is claimed, fair or fit for a purpose.",
    "time": "Who made the proof, or when: made_at is the word of whoever made it.",
    "development": "Anything, to someone who distrusts whoever made the keys: this is a development setup by"
                   " a single party, and a party that kept its secret numbers can forge proofs.",
    "ceremony": "Anything, if all contributors to one phase of the key's ceremony kept their secret numbers:"
                " they together can forge proofs. The key names their contributions.",
    "imported": "Anything, to someone who does not know how the key was made: another program made it, and"
                " whoever kept its secret numbers can forge proofs.",
}
# fmt: on


def read(data: bytes, form: Any, what: str, **left_out: Any) -> Json:
    """A document of this form, with the fields that may be left out."""
    value = parse(data)
    document: Json = left_out | (value if isinstance(value, dict) else {})
    if isinstance(document.get("statement"), dict):
        document["statement"] = {"format": "zenserve statement", "version": 3} | document["statement"]
    require(fits(document, form), f"it is no {what}")
    return document


# Points in hex, all of them finite and in their subgroups, and pairings.
ONE = "".join(f"{x:096x}" for x in compress_G2(bls.G2))


@cache
def point(text: str) -> Any:
    """Of G1 in 96 digits, of G2 in 192."""
    z = int(text[:96] or "0", 16), int(text[96:] or "0", 16)
    require(len(text) in (96, 192) and z[0] >> 382 == 0b10, "a point has other flags, or is infinity")
    require(max(z[0] % 2**381, z[1]) < bls.field_modulus, "a coordinate is not below the field's modulus")
    try:
        found: Any = decompress_G1(z[0]) if len(text) == 96 else decompress_G2(z)  # type: ignore[arg-type]
    except ValueError:
        raise Refused("a point is not on the curve") from None
    require(subgroup_check(found), "a point is outside its subgroup")
    return found


def uncompressed(text: str) -> str:
    """x, then y, 64 bytes each, of a point of G1."""
    return "".join(f"{int(coordinate):0128x}" for coordinate in bls.normalize(point(text)))


def combine(*terms: tuple[int, Any]) -> Any:
    """The sum of (scalar, point), in G1."""
    total: Any = bls.Z1
    for scalar, p in terms:
        total = bls.add(total, bls.multiply(p, scalar % R))
    return total


def product_is_one(pairs: list[tuple[int, Any, str]]) -> bool:
    """Of e(P, Q)^scalar for (scalar, P, Q), Q in hex, by which terms are added up."""
    sums: dict[str, list[tuple[int, Any]]] = {}
    for scalar, p, q in pairs:
        sums.setdefault(q, []).append((scalar, p))
    product = bls.FQ12.one()
    for q, terms in sums.items():
        product *= bls.pairing(point(q), combine(*terms), final_exponentiate=False)
    return bls.final_exponentiate(product) == bls.FQ12.one()


def hashed(message: bytes) -> int:
    return int.from_bytes(hashlib.sha512(message).digest(), "big") % R


# Keys and what they mean.
def read_key(data: bytes) -> Json:
    file = read(data, KEY_FILE, "key's file", version=2, transcript=None)
    key, circuit = file["key"], file["circuit"]
    check_key(key)
    # Groth16's keys have the ids from before there were systems.
    require(file["id"] == sha256({"circuit": circuit, "key": key["digest"]}).hex(), "the id is another key's")
    require(file["setup"] == key["setup"], "the file has another setup than the key")
    check_circuit(circuit)
    linked = [segment["size"] for segment in key["segments"] if segment["link_g2"]]
    sizes = [committed_values(circuit, name) for name in circuit["commitments"]]
    require(max((size or 0 for size in sizes), default=0) <= 2**24, "a commitment is to too many values")
    right = len(linked) == len(sizes) and all(a in (None, b) for a, b in zip(sizes, linked, strict=True))
    count = sum(group["count"] for group in circuit["public_inputs"])
    require(right and count == public_count(key), "the circuit does not fit the key")
    if file["transcript"]:
        check_transcript(key, **file["transcript"])
    return file


def public_count(key: Json) -> int:
    folded: int = key.get("folded", 0)
    return len(key["ic"]) - 1 - int(key["challenges"]) + folded


def check_key(key: Json) -> None:
    require(fits(key, KEYS), "the key has fields that are none, or lacks one")
    segments, ic, basis = key["segments"], key["ic"], [key["basis"]] if key["basis"] else []
    links = [segment["link_g2"] or [] for segment in segments]
    require(len(segments) > 0 if key["challenges"] else not any(links), "challenges and links do not fit")
    require(len(ic) > key["challenges"] and bool(basis) == any(links), "parts do not fit")
    require(public_count(key) < 2**32, "the key has too many inputs")
    if "folded" in key:
        require(not links[-1] and segments[-1]["size"] >= key["folded"], "no segment begins with the inputs")
    require(key["contributions"] or key["setup"] != "ceremony", "a ceremony has contributions")
    in_g1 = [key["alpha_g1"], *ic, *basis]
    in_g2 = [key["beta_g2"], key["gamma_g2"], key["delta_g2"]]
    counts = [public_count(key), key["challenges"], len(segments), len(key["contributions"])]
    counts += [key["folded"]] if "folded" in key else []
    parts = [b"ZENSERVE".hex(), struct.pack("<I4s16s", key["version"], b"vkey", key["setup"].encode()).hex()]
    parts += [
        key["statement_digest"],
        struct.pack(f"<{len(counts)}I", *counts).hex(),
        key["alpha_g1"],
        *in_g2,
        *ic,
    ]
    for segment, link in zip(segments, links, strict=True):
        in_g2 += [segment["knowledge_g2"], *link]
        parts += [struct.pack("<2I", segment["size"], bool(link)).hex(), segment["knowledge_g2"], *link]
    data = bytes.fromhex("".join([*parts, *basis, *key["contributions"]]))
    require(hashlib.sha256(data).hexdigest() == key["digest"], "the key's digest is another's")
    # No two points are equal up to their sign, nor are small multiples of points IC.
    points = {each: point(each) for each in in_g1 + in_g2}
    if (key["setup"] == "imported" or key["contributions"]) and key["gamma_g2"] == ONE:
        in_g2.remove(ONE)  # ceremonies have γ so
    own = [bls.normalize(each)[0] for each in (bls.G1, bls.G2, *(points[each] for each in in_g1 + in_g2))]
    multiples = [bls.normalize(combine((k, points[each])))[0] for each in ic for k in (1, 2, 3, 4)]
    distinct = len(set(map(str, own))) == len(own) and len(set(map(str, multiples))) == len(multiples)
    require(distinct, "the key is unsafe: anyone could forge proofs")


def check_circuit(circuit: Json) -> None:
    circuit |= {"measure": "accuracy", "top": 1, "targets": None, "norm": "inf"} | circuit
    require(has(circuit, CIRCUIT), "the description lacks a field")
    kinds = circuit["quantisation"].get("inputs") or [circuit["quantisation"].get("input")]
    given = [name for name in ("input", "inputs") if circuit["quantisation"].get(name)]
    names = [kind.get("name") for kind in kinds if kind]
    right = names == [None] if given == ["input"] else len({*names} - {None}) == len(names) > 1
    require(len(given) == 1 and right, "there is one input without a name, or several with one each")
    results = output_types(circuit)
    names = [each["name"] for each in circuit["quantisation"].get("outputs") or []]
    right = len(results) == len(names) and (len(names) == 1 or "output" not in names)
    require(right, "there is one output without a name, or several with one each")
    for kind in [*kinds, *results.values()]:
        kind["scale"] = float(kind["scale"])
    scheme, groups, commitments = (circuit[name] for name in ("scheme", "public_inputs", "commitments"))
    first = 0
    for group in groups:
        group |= {"minimum": 0, "maximum": R - 1} | group
        require(has(group, GROUP) and group["first"] == first, "a group of public inputs is none")
        sort = group["name"].split("/")[0]
        single = sort in ("statement", "label", "threshold", "match", "size", "radius")
        single = single and not (sort == "label" and scheme == "inference" and circuit.get("batch"))
        require(not (single and group["shape"]), "a single number has a shape")
        first += group["count"]
        scale, zero = group.setdefault("scale", None), group.setdefault("zero_point", 0)
        typed = (scale is None or type(scale) in (int, float)) and type(zero) is int
        require(typed, "a scale or a zero point is no number")
        right = scale is None or (0 < scale <= 1e290 and fits(zero, NUMBER))
        said = sort in ("values", "threshold", "bounds", "radius")
        require(right or not said, "there are no words for a scale")
    inputs = [*input_types(circuit)]
    one = scheme in ("recognition", "robustness") or circuit["measure"] == "certified"
    require(len(inputs) == 1 or not one, "the scheme, or what it measures, is of one input")
    several = {"input": inputs, "output": [*results]}
    outside = [part for name in PARTS[scheme][0] for part in several.get(name, [name])]
    statement, *names = [group["name"] for group in groups]
    given = [name for name in outside if name in names and name.split("/")[0] in ("input", "reference")]
    right = (statement, groups[0]["count"]) == ("statement", 1) and names[: len(given)] == given
    require(right and is_shown(circuit, names[len(given) :]), "it shows what its scheme does not")
    radii = [each for each in groups if each["name"] == "radius"]
    require(radii or circuit["norm"] == "inf", "a norm is of a radius")
    for group in radii:
        more = 0  # the least for which 4^more is no less than the number of entries
        while circuit["norm"] == "2" and 4**more < math.prod(kinds[0]["shape"]):
            more += 1
        far = {
            "minimum": 0,
            "maximum": 2 ** (kinds[0]["bits"] + more) - 1,
            "scale": kinds[0]["scale"],
            "zero_point": 0,
        }
        require(far.items() <= group.items(), "a radius is in no steps of the input, or beyond it")
    for bounds, found in bounded(circuit).values():
        inside = found["minimum"] >= 0 and found["maximum"] <= bounds["count"]
        require(inside, "an output lies beyond all bounds")
    require(commitments == [name for name in outside if name in commitments], "commitments of another scheme")
    require({*results} <= {*commitments}, "outputs that are not committed to have types")
    require(not {*given} & {*commitments}, "what is public is committed to, too")
    if scheme == "accuracy":
        sizes = circuit.get("batch") and circuit.get("classes")
        require(
            sizes and commitments[-2:] == ["dataset", "correct"],
            "an accuracy has a batch, classes, a dataset and a count",
        )
    if scheme == "inference" and (n := circuit.get("batch")):
        shown = [group for group in groups[1:] if group["name"] not in given]
        forms = [(group["name"].split("/")[0], group["shape"], group["count"]) for group in shown]
        right = n > 1 and {*commitments} <= {"model"} and all(form == ("label", [n], n) for form in forms)
        require(right, "a batch shows other than so many labels")
    measured, targets = circuit["measure"] in ("mse", "mae", "r2"), circuit["targets"]
    require(measured == (targets is not None), "errors are measured by targets, and nothing else")
    require(targets is None or has(targets, TARGETS), "targets of no type")
    certified = circuit["measure"] == "certified"
    require(certified == (scheme == "accuracy" and "radius" in names), "what is certified has a radius")


def is_shown(circuit: Json, names: list[str]) -> bool:
    """Of several outputs one after the other, each what goes together; of committed ones nothing."""
    scheme, hidden = circuit["scheme"], {name.partition("/")[2] for name in output_types(circuit)}
    if not any("/" in name for name in names):
        return not names if hidden else names in PARTS[scheme][1]
    outputs: dict[str, list[str]] = {}
    for name in names:
        kind, _, output = name.partition("/")
        outputs.setdefault(output, []).append(kind)
    in_order = [f"{kind}/{output}" for output, kinds in outputs.items() for kind in kinds]
    known = all(kinds in PARTS[scheme][1] for kinds in outputs.values())
    known = known and not hidden & {"", *outputs}
    return scheme == "inference" and known and in_order == names


def bounded(circuit: Json) -> dict[str, tuple[Json, Json]]:
    """Bounds, and of how many of them values are at least that; by the latter's name."""
    groups = circuit["public_inputs"]
    kinds = [group["name"].split("/")[0] for group in groups]
    return {
        groups[i + 1]["name"]: (groups[i], groups[i + 1])
        for i in range(len(groups) - 1)
        if (kinds[i], kinds[i + 1]) in BOUNDED
    }


def input_types(circuit: Json) -> dict[str, Json]:
    """By what statements call the inputs."""
    several = {f"input/{kind['name']}": kind for kind in circuit["quantisation"].get("inputs") or []}
    return several or {"input": circuit["quantisation"]["input"]}


def output_types(circuit: Json) -> dict[str, Json]:
    """Of those that are committed to, by what statements call them."""
    return {each["name"]: each["type"] for each in circuit["quantisation"].get("outputs") or []}


def committed_values(circuit: Json, name: str) -> int | None:
    """How many there are, where the description says it."""
    if name in ("model", "reference", "correct"):
        return sum(count or 1 for _, count, _, _ in counts_of(circuit)) if name == "correct" else None
    types = input_types(circuit)
    if name == "dataset":
        sample = sum(math.prod(kind["shape"]) for kind in types.values())
        targets = circuit["classes"] if circuit["targets"] else 0
        return 5 + (circuit.get("batch") or 0) * (sample + targets + 1)
    return 5 + math.prod((types | output_types(circuit))[name]["shape"])


def counts_of(circuit: Json) -> list[tuple[str, int | None, int, int]]:
    """Of each its name, how many numbers (None: one, in no list), the least and most that a sample adds."""
    outputs, targets = circuit.get("classes") or 0, circuit["targets"]
    if circuit["measure"] == "f1":
        return [(name, outputs, 0, 1) for name in ("true_positives", "predicted", "actual")]
    if targets is None:
        return [("certified" if circuit["measure"] == "certified" else "correct", None, 0, 1)]
    low, high, error = targets["minimum"], targets["maximum"], targets["error"]
    each: dict[str, list[tuple[str, int | None, int, int]]] = {
        "mse": [("squared_error", None, 0, outputs * error**2)],
        "mae": [("absolute_error", None, 0, outputs * error)],
        "r2": [
            ("squared_error", outputs, 0, error**2),
            ("target_sum", outputs, min(0, low), max(0, high)),
            ("target_square", outputs, 0, max(low**2, high**2)),
        ],
    }
    return each[circuit["measure"]]


def type_limbs(*kinds: Json) -> list[int]:
    """Of one type, or of the list of several."""
    types = [{name: kind[name] for name in INPUT if kind.get(name) is not None} for kind in kinds]
    number = int.from_bytes(sha256(types[0] if len(types) == 1 else types), "big")
    return [number >> shift & 2**52 - 1 for shift in range(0, 256, 52)]


def privacy(circuit: Json, name: str) -> str:
    public = any(group["name"] == name for group in circuit["public_inputs"])
    return "committed" if name in circuit["commitments"] else "public" if public else "private"


# Words and values.
def check_statement(document: Json, file: Json) -> None:
    statement, circuit = document["statement"], file["circuit"]
    scheme, values, dataset = statement["scheme"], statement["values"], statement["dataset"]
    require(bool(dataset) == (scheme == "accuracy"), "accuracies have a dataset, no others")
    require(statement["parent"] is None or scheme == "registration", "only registrations have a parent")
    require("saturates" not in statement or scheme != "registration", "registrations saturate nothing")
    for shard in dataset["shards"] if dataset else []:
        opened = shard.setdefault("opening", None) is not None
        require(opened == (dataset["sha256"] is not None), "public datasets' shards are opened, no others")
    require(sha256(statement).hex() == document["statement_sha256"], "the statement was edited")
    named = {"id": file["id"], "setup": file["setup"]}
    require(statement["verification_key"] == named, "it names another key")
    for name in ("network", "scheme"):
        require(statement[name] == circuit[name], f"the key is of another {name}")
    public_values(circuit, values)
    require(statement["claim"] == claim(circuit, values), "the claim is not what the values mean")
    require(
        statement["does_not_say"] == does_not_say(circuit, file["setup"], statement), "something is unsaid"
    )
    outside = {*circuit["commitments"]} - {"dataset", "correct"}
    require(statement["commitments"].keys() == outside, "the commitments are not those of the circuit")


def claim(circuit: Json, values: Json) -> str:
    shown = {name: ", ".join(map(str, v)) if isinstance(v, list) else v for name, v in values.items()}
    shown["not_"] = "" if values.get("match") == 1 else "not "
    several = circuit["scheme"] == "inference" and circuit.get("batch")
    shown["of_labels"] = "labels, in turn, are" if several else "label is"
    facts = [fact.format(**shown) for name, fact in FACTS.items() if name in values]
    if circuit["scheme"] == "accuracy":
        facts = [measured(circuit, values, values["size"])]
    for group in circuit["public_inputs"]:
        kind, _, output = group["name"].partition("/")
        if pair := bounded(circuit).get(group["name"]):
            fact = places(pair[0], values[pair[0]["name"]], values[group["name"]])
        elif kind == "radius":
            said, steps = in_units(group, [values["radius"]])
            fact = f"The radius is {said[0]}, {steps}."
        elif kind == "values":
            fact = outputs(group, values[group["name"]])
        elif kind in ("label", "top", "logits") and output:
            fact = FACTS[kind].format(**shown | {kind: shown.get(group["name"])})
        else:
            continue
        facts.append(f"Of the output {output}: {fact}" if output else fact)
    return " ".join([*facts, circuit["meaning"]])


def measured(circuit: Json, values: Json, size: int) -> str:
    first, *others = [values[name] for name, *_ in counts_of(circuit)]
    match circuit["measure"]:
        case "accuracy":
            return f"The network gets {first} of {size} labels right."
        case "top-k":
            top = circuit["top"]
            return f"For {first} of {size} samples the label is among the network's {top} likeliest."
        case "certified":
            text = f"At least {first} of {size} samples are labelled rightly,"
            return f"{text} and so is every input within the radius of them."
        case "f1":
            counts = zip(first, *others, strict=True)
            shares = {
                index: [(2 * both, said + there), (both, said), (both, there)]
                for index, (both, said, there) in enumerate(counts)
                if said + there
            }
            mean = in_places([own[0] for own in shares.values()])
            text = f"Over {size} samples the network's F1 is {mean}, the mean of {len(shares)} classes."
            if len(first) > 16:
                return text
            each = [f"{index}: {', '.join(in_places([x]) for x in own)}" for index, own in shares.items()]
            return f"{text} F1, precision and recall by class, rounded down: {'; '.join(each)}."
        case "r2":
            spreads = [size * square - total**2 for total, square in zip(*others, strict=True)]
            text = f"The network's R² over {size} samples is"
            if min(spreads) <= 0:
                return f"{text} none: the targets of an output are all the same."
            mean = in_places(
                [(each - size * error, each) for error, each in zip(first, spreads, strict=True)]
            )
            return f"{text} {mean}, rounded down."
    scale = float(circuit["targets"]["scale"])
    kind, factor = ("squared", scale * scale) if circuit["measure"] == "mse" else ("absolute", scale)
    mean = ecmascript(factor * (first / size / circuit["classes"]))
    text = f"The network's mean {kind} error over {size} samples is {mean}"
    return f"{text}, for outputs and targets in steps of {ecmascript(scale)}."


def in_places(shares: list[tuple[int, int]]) -> str:
    """The mean of the shares, in four places, rounded down."""
    parts = [10**6 * part // whole if whole else 0 for part, whole in shares]
    found = sum(parts) // max(1, len(parts)) // 100
    return f"{'-' * (found < 0)}{abs(found) // 10**4}.{abs(found) % 10**4:04}"


def outputs(group: Json, values: Any) -> str:
    """In their own units, if these are known; the first eight of more than sixteen."""
    numbers = values if group["shape"] else [values]
    begin = "outputs are" if len(numbers) <= 16 else f"{len(numbers)} outputs begin with"
    said = numbers if len(numbers) <= 16 else numbers[:8]
    reals, steps = in_units(group, said)
    return f"The network's {begin} {', '.join(reals)}, {steps}."


def places(bounds: Json, ends: Any, found: Any) -> str:
    """Between which bounds outputs lie."""
    ends, found = flat([ends]), flat([found])
    (own, steps), (before, _) = in_units(bounds, ends), in_units(bounds, [end - 1 for end in ends])
    said = []
    for i in found if len(found) <= 16 else found[:8]:
        above = f"at least {own[i - 1]}" if i > 0 else ""
        below = f"below {own[i]} (at most {before[i]})" if i < len(ends) else ""
        said.append(" and ".join(filter(None, (above, below))))
    begin = "outputs are, in turn," if len(found) <= 16 else f"{len(found)} outputs begin with"
    return f"The network's {begin if len(found) > 1 else 'output is'} {'; '.join(said)}, {steps}."


def in_units(group: Json, integers: list[int]) -> tuple[list[str], str]:
    """As real numbers, and their steps; where no scale is known, as they are."""
    if group["scale"] is None:
        return [*map(str, integers)], "integers that have no one scale"
    scale = float(group["scale"])
    reals = [ecmascript(scale * (q - group["zero_point"])) for q in integers]
    return reals, f"in steps of {ecmascript(scale)}"


def does_not_say(circuit: Json, setup: str, statement: Json) -> list[str]:
    scheme, commitments, dataset = circuit["scheme"], circuit["commitments"], statement["dataset"]
    certified = circuit["measure"] == "certified"
    said = {
        "registration": scheme == "registration",
        "parent": statement["parent"],
        "model": scheme != "registration" and "model" in commitments,
        "input": scheme in ("inference", "recognition", "robustness"),
        "robustness": scheme == "robustness",
        "further": certified,
        "certified": certified,
        "output": output_types(circuit),
        "reference": "reference" in commitments,
        "dataset": dataset,
        "hidden": dataset and dataset["sha256"] is None,
        "targets": circuit["targets"],
        "saturates": statement.get("saturates"),
    }
    unsaid = []
    for name in (*(name for name in said if said[name]), "network", "time", setup):
        unsaid += inputs_unsaid(circuit) if name == "input" else [UNSAID[name]]
    return [each.replace("AWAY", AWAY[circuit["norm"]]) for each in unsaid]


def inputs_unsaid(circuit: Json) -> list[str]:
    unsaid = {name: UNSAID[privacy(circuit, name)] for name in input_types(circuit)}
    return [
        said if name == "input" else f"Of the {name.replace('/', ' ')}: {said}"
        for name, said in unsaid.items()
    ]


def public_values(circuit: Json, values: Json) -> list[int]:
    """The public inputs after the statement; of accuracies those after the size, which shards have of their
    own."""
    groups = {group["name"]: group for group in circuit["public_inputs"][1:]}
    totals: Json = {}
    if circuit["scheme"] == "accuracy":
        totals = {
            name: {"count": n or 1, "shape": [n] if n else [], "minimum": -MOST * (low < 0), "maximum": MOST}
            for name, n, low, _ in [*counts_of(circuit), ("size", None, 0, 1)]
        }
    groups |= totals
    require(values.keys() == groups.keys(), "the values are not those of the circuit")
    shown: list[int] = []
    for name, group in groups.items():
        numbers = values[name] if group["shape"] else [values[name]]
        require(isinstance(numbers, list) and len(numbers) == group["count"], f"{name} has another form")
        inside = all(type(n) is int and group["minimum"] <= n <= group["maximum"] for n in numbers)
        require(inside, f"{name} is out of its range")
        increase = all(one < other for one, other in pairwise(numbers))
        require(increase or name.split("/")[0] != "bounds", "bounds do not increase")
        shown += [number % R for number in numbers if name not in totals]
    return shown


# Proofs.
def judge(data: bytes, file: Json, told: Json) -> tuple[Json, Json]:
    document = read(data, PROOF, "proof of ZenServe", format="zenserve proof", version=3)
    statement, circuit = document["statement"], file["circuit"]
    require((document["version"] == 3) == (statement["version"] == 3), "the statement is of another version")
    check_statement(document, file)
    check_expected(statement, file, told)
    public = public_values(circuit, statement["values"])
    shards: list[tuple[Json, list[int]]] = [({}, public)]
    if statement["dataset"]:
        shards = [(own, [size, *public]) for own, size in shards_of(statement, file)]
    require(len(document["proofs"]) == len(shards), "there are more or fewer proofs than there should be")
    scalar = int.from_bytes(sha256(statement)[:31], "big")
    for proof, (own, shown) in zip(document["proofs"], shards, strict=True):
        commitments = statement["commitments"] | own
        check_proof(
            file["key"], [scalar, *shown], proof, [commitments[name] for name in circuit["commitments"]]
        )
    return statement, file


def drawn(key: Json, inputs: list[str], segments: list[str], commitments: list[str]) -> list[int]:
    """The challenges. Keys of version 2 have them by SHA-512 over points as they are written; of 4 one
    more, the value at the first challenge of the polynomial whose coefficients are the folded inputs."""
    old = key["version"] == 2
    form = str if old else uncompressed
    message = f"{(b'zenserve challenge 1' if old else b'zenserve challenge 2').hex()}{key['digest']}"
    for part in (inputs, [*map(form, segments)], [*map(form, commitments)]):
        message += f"{len(part):08x}" + "".join(part)
    messages = [bytes.fromhex(f"{message}{j:08x}") for j in range(key["challenges"] - ("folded" in key))]
    if old:
        return [hashed(each) for each in messages]
    halves = ([hashlib.sha256(each + bytes([half])).digest() for half in (0, 1)] for each in messages)
    found = [int.from_bytes(first + second, "big") % R for first, second in halves]
    if "folded" in key:
        coefficients = [int(each, 16) for each in inputs[-key["folded"] :]]
        found.append(sum(x * pow(found[0], i, R) for i, x in enumerate(coefficients)) % R)
    return found


def check_proof(key: Json, inputs: list[int], proof: str, commitments: list[str]) -> None:
    segments = key["segments"]
    m, linked = len(segments), [index for index, segment in enumerate(segments) if segment["link_g2"]]
    header = (b"ZENSERVE" + struct.pack("<I4s2B", 1, b"prof", m, len(linked))).hex() if m else ""
    sizes, parts, start = [96, 192, 96] + [96] * (2 * m + len(linked)), [], len(header)
    for size in sizes:
        parts.append(proof[start : start + size])
        start += size
    require(proof.startswith(header) and len(proof) == start, "the proof has another shape")
    (a, b, c), d, knowledge, links = parts[:3], parts[3 : 3 + m], parts[3 + m : 3 + 2 * m], parts[3 + 2 * m :]
    challenges = drawn(key, [f"{value:064x}" for value in inputs], d, commitments)
    pairs = [(1, point(a), b), (-1, point(key["alpha_g1"]), key["beta_g2"]), (-1, point(c), key["delta_g2"])]
    pairs += [(-1, point(d_s), key["gamma_g2"]) for d_s in d]
    shown = inputs[: len(inputs) - key.get("folded", 0)]
    for x, ic in zip([1, *shown, *challenges], key["ic"], strict=True):
        pairs.append((-x, point(ic), key["gamma_g2"]))
    for segment, d_s, known in zip(segments, d, knowledge, strict=True):
        weight = secrets.randbits(128)
        pairs += [(weight, point(known), ONE), (-weight, point(d_s), segment["knowledge_g2"])]
    for index, link, cm in zip(linked, links, commitments, strict=True):
        weight, (k_1, k_2) = secrets.randbits(128), segments[index]["link_g2"]
        pairs += [(weight, point(link), ONE), (-weight, point(d[index]), k_1), (-weight, point(cm), k_2)]
    require(product_is_one(pairs), "the proof does not prove this statement")


def shards_of(statement: Json, file: Json) -> list[tuple[Json, int]]:
    """Of each proof its own commitments, and of how many samples it is."""
    circuit, batch = file["circuit"], file["circuit"]["batch"]
    dataset, values = statement["dataset"], statement["values"]
    shards, model = dataset["shards"], statement["commitments"].get("model")
    require(dataset["picked_for"] == model, "it was picked for another model")
    *full, last = [shard["size"] for shard in shards]
    right = all(size == batch for size in full) and last <= batch and sum(full) + last == dataset["size"]
    require(right, "shards are not full, or more or fewer than the dataset")
    for name in ("dataset", "correct"):
        require(len({shard[name] for shard in shards}) == len(shards), "a shard is counted twice")
    size, totals = dataset["size"], list[int]()
    for name, count, least, most in counts_of(circuit):
        numbers = values[name] if count else [values[name]]
        right = all(size * least <= number <= size * most for number in numbers)
        require(right and values["size"] == size, "the numbers are not the dataset's")
        totals += numbers
    total = combine(*((1, point(shard["correct"])) for shard in shards))
    if len(totals) == 1:
        opened = (-totals[0], bls.G1), (-blinding_factor(dataset["blinding"]), second_generator())
        require(bls.is_inf(combine((1, total), *opened)), "the counts do not add up to the total")
    else:
        digits, cm = dataset["blinding"], f"{compress_G1(total):096x}"
        opening = {"blinding": digits[:64], "quotient": digits[64:160], "tau_g2": digits[160:]}
        check_opening(file["key"]["basis"], cm, totals, opening)
    return [({name: shard[name] for name in ("dataset", "correct")}, shard["size"]) for shard in shards]


def blinding_factor(text: str) -> int:
    value = int(text or "0", 16)
    require(len(text) == 64 and value < R, "a blinding factor is no integer of 32 bytes below r")
    return value


@cache
def second_generator() -> Any:
    tag = b"ZENSERVE-V1-COMMITMENT_BLS12381G1_XMD:SHA-256_SSWU_RO_"
    return hash_to_G1(b"H", tag, hashlib.sha256)  # type: ignore[arg-type]


# What the verifier knows beside: all above is what a proof and its key take.
def verify(document: bytes, key_file: bytes | None = None, **told: Any) -> list[str]:
    """What is proven, and what is not. ``told``: texts, and the bytes of files. Raises ``Refused``."""
    if key_file is None:
        return judge_receipt(document, told)
    statement, file = judge(document, read_key(key_file), told)
    check_told(statement, file, told)
    return [statement["claim"], *statement["does_not_say"]]


def check_expected(statement: Json, file: Json, told: Json) -> None:
    commitments = statement["commitments"]
    own = {name: commitments.get(name) for name in ("model", "reference")}
    own |= {f"{name}_commitment": commitments.get(name) for name in ("input", "output")}
    own |= {"key_id": file["id"]}
    own |= {name: statement[name] for name in ("challenge", "network")}
    compare(own, told, statement["made_at"])
    for name, sign in {"at_least": 1, "at_most": -1}.items():
        for output, number in ends_by_output(told.get(name)).items():
            ends = shown_ends(file["circuit"], statement["values"], output)
            least = [sign * pair[sign < 0] for pair in ends]
            require(least and min(least) >= sign * number, f"no output is shown to be {name} that")
    shown = file["setup"] == "ceremony" and file["transcript"]
    require(shown or "require" not in told, "nothing shows that the key is of a ceremony")


def ends_by_output(text: str | None) -> dict[str, float]:
    """Of ``NUMBER``, or ``NAME=NUMBER,NAME=NUMBER``."""
    parts = [part.rpartition("=") for part in text.split(",")] if text else []
    try:
        return {name: float(number) for name, _, number in parts}
    except ValueError as error:
        raise Refused(f"what an output is to reach is no number: {error}") from None


def shown_ends(circuit: Json, values: Json, output: str) -> list[tuple[float, float]]:
    """Between what an output's values are shown to lie."""
    for group in circuit["public_inputs"][1:]:
        kind, _, own = group["name"].partition("/")
        pair = bounded(circuit).get(group["name"], (group, group))
        if own != output or pair[0]["scale"] is None or not (kind == "values" or pair[0] is not group):
            continue
        scale, zero = float(pair[0]["scale"]), pair[0]["zero_point"]
        said = flat([values[group["name"]]])
        if kind == "values":
            return [(scale * (q - zero), scale * (q - zero)) for q in said]
        ends = flat([values[pair[0]["name"]]])
        lows = [-math.inf, *(scale * (q - zero) for q in ends)]
        highs = [*(scale * (q - 1 - zero) for q in ends), math.inf]
        return [(lows[place], highs[place]) for place in said]
    return []


def compare(own: Json, told: Json, made_at: str) -> None:
    """What is there with what the verifier expects."""
    require(
        all(fits(told[name], TOLD[name]) for name in TOLD.keys() & told.keys()),
        "no verifier can be told that",
    )
    for name in own.keys() & told.keys():
        require(own[name] == told[name], f"it is about another {name}")
    after, before = (told.get(name, made_at) for name in ("after", "before"))
    require(after <= made_at <= before, "it was made at another time")


def check_told(statement: Json, file: Json, told: Json) -> None:
    """The input, the dataset, the registration that the verifier has."""
    openings: Json = {}
    if "opening" in told:
        given = read(told["opening"], OPENINGS, "opening", format="zenserve openings", version=3)
        if given["kind"] == "output":
            check_outputs(statement, file, given["parts"])
        else:
            require(given["kind"] == ("input" if "input" in told else "dataset"), "it opens something else")
            openings = {part["commitment"]: part["opening"] for part in given["parts"]}
    if "input" in told:
        check_input(statement, file, parse(told["input"]), openings)
    if "dataset" in told:
        check_dataset(statement, file, parse(told["dataset"]), parse(told["labels"]), openings)
    if "registration" in told:
        model = statement["commitments"].get("model")
        require(model and statement["scheme"] != "registration", "it rests on no registration")
        wanted = {"model": model} | {name: told[name] for name in told if name == "require"}
        registered, its = judge(told["registration"], read_key(told["registration_key"]), wanted)
        right = (registered["scheme"], registered["network"]) == ("registration", statement["network"])
        same = its["key"]["basis"] == file["key"]["basis"]
        require(right and same, "the registration is of another network or basis")


def check_input(statement: Json, file: Json, values: Any, openings: Json) -> None:
    circuit, types = file["circuit"], input_types(file["circuit"])
    several = "input" not in types
    require(isinstance(values, dict) == several and values != {}, "several inputs are given by their names")
    given = {f"input/{name}": each for name, each in values.items()} if several else {"input": values}
    require(given.keys() <= types.keys(), "the network has no such input")
    for name, each in given.items():
        numbers = quantised(each, types[name])
        if privacy(circuit, name) == "public":
            require(statement["values"][name] == numbers, "the public input is another")
            continue
        commitment = statement["commitments"].get(name)
        require(commitment in openings, "the input is private, or what opens it was not given")
        values = type_limbs(types[name]) + numbers
        check_opening(file["key"]["basis"], commitment, values, openings[commitment])


def check_outputs(statement: Json, file: Json, parts: list[Json]) -> None:
    types, commitments = output_types(file["circuit"]), statement["commitments"]
    require(len({part["commitment"] for part in parts}) == len(parts), "it opens one commitment twice")
    for part in parts:
        names = [name for name in types if commitments[name] == part["commitment"]]
        require(names, "it opens another commitment")
        for kind in (types[name] for name in names):
            right = len(part["values"]) == math.prod(kind["shape"])
            require(
                right and fits(part["values"], [range(2 ** kind["bits"]), 0, math.inf]), "it is of no type"
            )
            values = type_limbs(kind) + part["values"]
            check_opening(file["key"]["basis"], part["commitment"], values, part["opening"])


def check_dataset(statement: Json, file: Json, samples: Any, labels: Any, openings: Json) -> None:
    circuit, dataset = file["circuit"], statement["dataset"]
    require(dataset, "it is about no dataset")
    target, classes = circuit["targets"], circuit["classes"]
    kinds = {kind.get("name"): kind for kind in input_types(circuit).values()}
    inputs: dict[Any, Any] = samples if isinstance(samples, dict) else {None: samples}
    # Of several inputs a file may have more: what is none of them is not read.
    require({*kinds} <= {*inputs}, "samples are of each input by its name")
    inputs, size = {name: inputs[name] for name in kinds}, len(labels) if isinstance(labels, list) else 0
    right = size and all(isinstance(each, list) and len(each) == size for each in inputs.values())
    require(right, "there are as many as samples")
    targets: list[list[int]] = []
    require(dataset["sha256"] in (None, dataset_hash(inputs, labels, target)), "the dataset is another")
    if target:
        targets = [[round(t / target["scale"]) + target["zero_point"] for t in flat([own])] for own in labels]
        labels, filler = [0] * size, 1
        inside = all(target["minimum"] <= t <= target["maximum"] for t in flat(targets))
        require(inside and {len(own) for own in targets} == {classes}, "targets are beyond any type")
    else:
        filler = classes
        require(fits(labels, [range(classes), 1, math.inf]), "labels are none of the network's")
    require(dataset["size"] == size, "the dataset is of another size")
    for index, shard in enumerate(dataset["shards"]):
        part = slice(index * circuit["batch"], (index + 1) * circuit["batch"])
        opening = shard["opening"] or openings.get(shard["dataset"])
        require(opening, "the opening of a shard was not given")
        values, missing = type_limbs(*kinds.values()), circuit["batch"] - len(labels[part])
        for name, kind in kinds.items():
            values += flat([quantised(sample, kind) for sample in inputs[name][part]])
            values += [0] * (missing * math.prod(kind["shape"]))
        values += flat(targets[part]) + [target["minimum"]] * (missing * classes) if target else []
        values += labels[part] + [filler] * missing
        check_opening(file["key"]["basis"], shard["dataset"], values, opening)


def check_opening(u_1: str, cm: str, values: list[int], opening: Any) -> None:
    rho, tau, quotient = blinding_factor(opening["blinding"]), opening["tau_g2"], opening["quotient"]
    pi = bls.Z1 if quotient == "c0" + "00" * 47 else point(quotient)
    require(product_is_one([(1, point(u_1), ONE), (-1, bls.G1, tau)]), "the opening is over another basis")
    scalars = [value % R for value in values]
    message = f"{u_1}{cm}{opening['blinding']}{len(values):016x}" + "".join(f"{v:064x}" for v in scalars)
    z = hashed(b"zenserve opening 1" + bytes.fromhex(message))
    at_z = sum(value * pow(z, i, R) for i, value in enumerate(scalars))
    left = combine((1, point(cm)), (-rho, second_generator()), (-at_z, bls.G1), (z, pi))
    require(product_is_one([(1, left, ONE), (-1, pi, tau)]), "the commitment is to other values")


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


def quantised(values: Any, kind: Json) -> list[int]:
    """Rounded to even, clipped."""
    shape = shape_of(values)
    require(kind["shape"] in (shape, [1, *shape]) or [1, *kind["shape"]] == shape, "it is of another shape")
    nearest = [max(-1e18, min(1e18, float(value) / kind["scale"])) for value in flat(values)]
    return [max(0, min(2 ** kind["bits"] - 1, round(value) + kind["zero_point"])) for value in nearest]


def dataset_hash(inputs: dict[Any, Any], labels: Any, targets: object) -> str:
    """Of samples, by their inputs, with labels, or with targets in their place."""
    numbers, others = flat([*inputs.values()]), flat(labels)
    shapes = {name: shape_of(each) for name, each in inputs.items()}
    second = [len(labels), len(others) // len(labels)] if targets else [len(labels)]
    require(targets or fits(labels, [range(2**63), 1, math.inf]), "labels are none")
    if None in inputs:
        lines = [json.dumps(each) for each in ([*shapes.values(), second] if targets else shapes.values())]
        header = "\n".join([f"zenserve dataset {2 if targets else 1}", *lines, ""])
    else:
        described: Json = {"inputs": [{"name": name, "shape": each} for name, each in shapes.items()]}
        described["targets" if targets else "labels"] = second
        header = f"zenserve dataset 3\n{canonical(described)}\n"
    packed = struct.pack(f"<{len(numbers)}d{len(others)}{'d' if targets else 'q'}", *numbers, *others)
    return hashlib.sha256(header.encode() + packed).hexdigest()


# Ceremonies of keys.
def check_transcript(key: Json, origin: str, contributions: list[Json], **_: Any) -> None:
    """That δ, σ and k are what contributors who knew their shares made of one, one and zero."""
    multiplied = [key["delta_g2"], *(segment["knowledge_g2"] for segment in key["segments"])]
    ends = multiplied + [each for segment in key["segments"] for each in segment["link_g2"] or []]
    now = [bls.G2] * len(multiplied) + [bls.Z2] * (len(ends) - len(multiplied))
    *people, last = [is_beacon(each["name"]) for each in contributions]
    require(not any(people) and (people or not last), "a beacon is the last, after people")
    require(len(people) < 1023 or last, "the last place is a beacon's")
    previous, hashes = bytes.fromhex(origin), []
    earlier = [[each] for each in now]
    for each in contributions:
        rows = [each[part] for part in ("secrets", "nonces", "responses")]
        require([len(row) for row in rows] == [len(ends)] * 3, "a contribution is to other secrets")
        name = each["name"].encode()
        message = previous + struct.pack(">I", len(name)) + name + struct.pack(">I", len(ends))
        message += bytes.fromhex("".join(each["secrets"] + each["nonces"]))
        c, before = hashed(b"zenserve contribution 1" + message), now
        now, nonces = [point(secret) for secret in rows[0]], [point(nonce) for nonce in rows[1]]
        for i, s in enumerate(int(response, 16) for response in rows[2]):
            base, change = before[i], now[i]
            if i >= len(multiplied):
                base, change = bls.G2, bls.add(now[i], bls.neg(before[i]))
            answer = bls.add(nonces[i], bls.multiply(change, c))
            require(s < R and bls.eq(bls.multiply(base, s), answer), "a share is not shown to be known")
            if is_beacon(each["name"]):
                share = bls.multiply(base, beacon_share(each["name"], previous, i))
                require(bls.eq(nonces[i], base) and bls.eq(change, share), "a share is not the beacon's")
            require(not any(bls.eq(now[i], known) for known in earlier[i]), "a secret is what it was before")
            earlier[i].append(now[i])
        message += bytes.fromhex("".join(each["responses"]))
        previous = hashlib.sha256(b"zenserve contribution hash 1" + message).digest()
        hashes.append(previous.hex())
    right = hashes == key["contributions"] and ends == each["secrets"] and key["gamma_g2"] == ONE
    require(right, "the transcript is another key's")


@cache
def beacon_share(name: str, previous: bytes, index: int) -> int:
    rounds, value = re.findall("[0-9a-f]+", name.split("^")[1])
    iterated = bytes.fromhex(value)
    for _ in range(2 ** int(rounds)):
        iterated = hashlib.sha256(iterated).digest()
    return hashed(b"zenserve beacon 1" + iterated + previous + struct.pack(">I", index))


# Receipts: Ed25519, RFC 8032.
P25519, ORDER = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D25519 = -121665 * pow(121666, -1, P25519) % P25519
BASE = "5866666666666666666666666666666666666666666666666666666666666666"
Affine = tuple[int, int]


def judge_receipt(data: bytes, told: Json) -> list[str]:
    receipt = read(data, RECEIPT, "receipt", format="zenserve receipt", version=3)
    issuer, signature = bytes.fromhex(receipt["issuer"]), bytes.fromhex(receipt["signature"])
    a, s = ed_point(issuer), int.from_bytes(signature[32:], "little")
    require(ed_multiply(8, a) != (0, 1), "anybody can sign under the issuer's key")
    message = canonical({name: value for name, value in receipt.items() if name != "signature"}).encode()
    k = int.from_bytes(hashlib.sha512(signature[:32] + issuer + message).digest(), "little")
    x, y = ed_add(ed_multiply(s, ed_point(bytes.fromhex(BASE))), ed_multiply(k % ORDER, (-a[0], a[1])))
    right = (y | (x & 1) << 255).to_bytes(32, "little") == signature[:32] and s < ORDER
    require(right, "the issuer did not sign it")
    own = {"issuer": receipt["issuer"], "network": receipt["network"], "model": receipt["commitment"]}
    compare(own, told, receipt["registered_at"])
    signed = f"{receipt['issuer']} signed that {receipt['model_id']} was registered"
    twins = [f"{each['model_id']}, of {each['system']}, is the same" for each in receipt.get("twins", [])]
    unsaid = ["That both commitments are to the same weights."] if twins and receipt["commitment"] else []
    return [signed, *twins, *unsaid, "Anything, by more than the issuer's word."]


def ed_point(data: bytes) -> Affine:
    number = int.from_bytes(data, "little")
    y, sign = number % 2**255, number >> 255
    require(y < P25519, "a coordinate is not below the field's modulus")
    square = (y * y - 1) * pow(D25519 * y * y + 1, -1, P25519) % P25519
    x = pow(square, (P25519 + 3) // 8, P25519)
    if x * x % P25519 != square:
        x = x * pow(2, (P25519 - 1) // 4, P25519) % P25519
    require(x * x % P25519 == square, "a point is not on the curve")
    return (x if x & 1 == sign else P25519 - x), y


def ed_add(p: Affine, q: Affine) -> Affine:
    (x_1, y_1), (x_2, y_2) = p, q
    product = D25519 * x_1 * x_2 * y_1 * y_2
    x = (x_1 * y_2 + x_2 * y_1) * pow(1 + product, -1, P25519)
    return x % P25519, (y_1 * y_2 + x_1 * x_2) * pow(1 - product, -1, P25519) % P25519


def ed_multiply(scalar: int, p: Affine) -> Affine:
    total = (0, 1)
    for bit in f"{scalar:b}":
        total = ed_add(total, total)
        total = ed_add(total, p) if bit == "1" else total
    return total


def main(document: str, *arguments: str) -> int:
    key = [each for each in arguments[:1] if "=" not in each]
    told: Json = dict(each.split("=", 1) for each in arguments[len(key) :])
    files = {name: told[name] if name in TOLD else Path(told[name]).read_bytes() for name in told}
    try:
        proven, *not_said = verify(
            Path(document).read_bytes(), *(Path(each).read_bytes() for each in key), **files
        )
    except Refused as refusal:
        print(f"NOT valid: {refusal}")
        return 1
    print(f"valid: {proven}", *not_said, sep="\n  not: ")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
