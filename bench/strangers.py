"""What the dearest single requests of strangers cost an API process: processor seconds and memory.

Bodies of nothing but faults, deep nests, huge numbers, keys and batches as large as are read and larger,
wrong proofs of both systems, chains of renewals, long headers, forms and files without a login. One after
the other, to one process.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import httpx

from bench.report import Row
from bench.serving import Server, running
from zenserve.kernels import fr, g1
from zenserve.prover.groth16 import VerifyingKey
from zenserve.service.api import effort
from zenserve.service.api.body_limit import JSON_BYTES, LOGIN_BYTES, STRANGERS_BYTES, STRANGERS_VALUES
from zenserve.service.api.routes.verification import MOST_ITEMS
from zenserve.service.api.schemas import VerifyRequest
from zenserve.verifier.documents import ProofDocument, checked
from zenserve.verifier.groth16.system import Groth16Verifier
from zenserve.verifier.keys import key_file as file_of
from zenserve.verifier.points import G1_BYTES
from zenserve.verifier.words import make_statement

Json = dict[str, Any]
ASKS_FOR_KEYS: Final = {"ZENSERVE_AUTH": "keys"}
_FORM: Final = {"Content-Type": "application/x-www-form-urlencoded"}
_JSON: Final = {"Content-Type": "application/json"}


@dataclass(frozen=True)
class Attack:
    name: str
    path: str = "/v1/verify"
    body: bytes | None = None
    headers: dict[str, str] = field(default_factory=lambda: dict(_JSON))


class Asked(NamedTuple):
    """A proof that the server's keys verify, and the key that it is under."""

    document: Json
    key: Json


def costs(server: Server, groth16: Asked, spartan: Asked) -> list[Row]:
    """What each attack costs this server, which nobody else asks anything, in order: processor seconds.

    "mb": the most memory while a request was served, above that of the process before all of them.
    """
    with httpx.Client(base_url=server.url, timeout=None) as http:  # noqa: S113  on however slow a machine
        for path in ("/healthz", "/openapi.json", "/docs"):
            http.get(path)
        http.post("/v1/verify", json={"proof": groth16.document})
        idle = server.memory_mb()
        return [_cost(server, http, attack, idle) for attack in attacks(groth16, spartan)]


def _cost(server: Server, http: httpx.Client, attack: Attack, idle: float) -> Row:
    server.forget_peak()
    before = server.cpu_seconds()
    method, content = ("GET", None) if attack.body is None else ("POST", attack.body)
    answer = http.request(method, attack.path, content=content, headers=attack.headers)
    http.get("/healthz")  # what goes on after the answer counts, too
    more = {
        "path": attack.path.partition("?")[0][:40],
        "kb": len(attack.body or b"") / 1024,
        "status": answer.status_code,
        "mb": server.peak_mb() - idle,
    }
    return Row(attack.name, None, server.cpu_seconds() - before, more=more)


def attacks(groth16: Asked, spartan: Asked) -> Iterator[Attack]:
    yield from _faults()
    yield from _verifications(*groth16)
    yield from _transparent(*spartan)
    yield from _others()


def _faults() -> Iterator[Attack]:
    """Of each kind as many as are read, and more."""
    most = STRANGERS_VALUES - 100
    for size in (most // 2, most, 10 * most):
        yield Attack("values that are no numbers", body=_filled(size, "statement.values.a", '""'))
    yield Attack("sentences that are none", body=_filled(most, "statement.does_not_say", "0"))
    yield Attack("shards of nothing", body=_filled(most // 2, "statement.dataset.shards", "{}"))
    fields = dict.fromkeys(map(str, range(most)), 0)
    yield Attack("unknown fields", body=_compact(fields))
    yield Attack("lists", body=_filled(most // 2, "statement.a", "[]"))
    yield Attack("lists, too many", body=_filled(most, "statement.a", "[]"))
    yield Attack("objects", body=_filled(most // 2, "statement.a", '{"":0}'))
    yield Attack("numbers of 4,000 digits", body=_filled(500, "statement.values.a", "9" * 4000))
    yield Attack("text", body=_filled(1, "statement.claim", json.dumps("é" * (STRANGERS_BYTES // 7))))
    yield Attack("a deep nest", body=b"[" * most)
    item = json.loads(_filled(most // 65, "statement.values.a", '""'))
    yield Attack("64 items of faults", "/v1/verify/batch", _compact({"proofs": [item] * 64}))


def _verifications(document: Json, key: Json) -> Iterator[Attack]:
    good = {"proof": document}
    wrong = {"proof": _wrong(document)}
    yield Attack("a good proof", body=json.dumps(good).encode())
    yield Attack("a wrong proof", body=json.dumps(wrong).encode())
    yield Attack("64 good proofs", "/v1/verify/batch", json.dumps({"proofs": [good] * 64}).encode())
    yield Attack("64 wrong proofs", "/v1/verify/batch", json.dumps({"proofs": [wrong] * 64}).encode())
    usual = effort.points(VerifyRequest.model_validate({"proof": document, "verification_key": key}))
    point = key["key"]["alpha_g1"]
    segment = {"size": 1, "knowledge_g2": 2 * point, "link_g2": [2 * point, 2 * point]}
    linked = good | {"verification_key": key | {"key": key["key"] | {"segments": [segment] * 255}}}
    yield Attack("a key of 255 links", body=json.dumps(linked).encode())
    yield Attack("8 keys of 255 links", "/v1/verify/batch", json.dumps({"proofs": [linked] * 8}).encode())
    room = effort.MOST_POINTS // 8 - usual
    many = [good | {"verification_key": _with_points(key, room, index)} for index in range(8)]
    yield Attack("8 keys, all that is read", "/v1/verify/batch", json.dumps({"proofs": many}).encode())
    # Each public value counts as well, beside the point that it is for.
    inputs = (effort.MOST_POINTS - usual) * 5 // 6 - 5
    large_key, forged = widened(document, key, inputs)
    large = {"proof": forged, "verification_key": large_key}
    yield Attack("a key of thousands of inputs", body=json.dumps(large).encode())


def _transparent(document: Json, key: Json) -> Iterator[Attack]:
    """The circuit is in memory once the first of these has been answered."""
    good = bytes.fromhex(document["proofs"][0])

    def asked(proof: bytes, **more: Json) -> Json:
        return {"proof": document | {"proofs": [proof.hex()]}, **more}

    wrong = asked(good[:-1] + bytes([good[-1] ^ 1]))
    points = effort.points(VerifyRequest.model_validate(asked(good)))
    most = min(effort.MOST_POINTS // points, STRANGERS_BYTES // len(_compact(asked(good))))
    yield Attack("a good transparent proof", body=_compact(asked(good)))
    yield Attack("a wrong transparent proof", body=_compact(wrong))
    yield Attack("a transparent proof with a byte more", body=_compact(asked(good + b"\0")))
    for name, each in (("good", asked(good)), ("wrong", wrong)):
        many = _compact({"proofs": [each] * most})
        yield Attack(f"{name} transparent proofs, all that is read", "/v1/verify/batch", many)
    padded = asked(good + bytes(STRANGERS_BYTES // 2 - len(good) - (1 << 12)))
    yield Attack("a transparent proof with 4 MB more", body=_compact(padded))
    chain = b"\4" + 4 * (bytes(32) + (1 << 19).to_bytes(4, "little") + bytes(1 << 19))
    yield Attack("a chain of renewals that are none", body=_compact(asked(chain + good)))
    long_rows = key["key"] | {"private": 1 << 35, "rows": 1 << 35, "log_degree": 30}
    keys = [key | {"key": long_rows | {"challenges": index}} for index in range(MOST_ITEMS)]
    keyed = [asked(good[:4096], verification_key=each) for each in keys]
    yield Attack("64 keys of the longest rows", "/v1/verify/batch", _compact({"proofs": keyed}))
    segments = key["key"] | {"segments": [[1, False]] * (STRANGERS_VALUES // 3 - 200)}
    split = asked(good[:4096], verification_key=key | {"key": segments})
    yield Attack("a key of tens of thousands of segments", body=_compact(split))


def _others() -> Iterator[Attack]:
    for path in ("/healthz", "/readyz", "/version", "/metrics", "/docs", "/verify", "/openapi.json"):
        yield Attack("", path)
    yield Attack("a long name", f"/v1/verification-keys/{'a' * 8000}")
    yield Attack("a long query", f"/v1/verification-keys/x?{'a=1&' * 4000}")
    yield Attack("long headers", "/healthz", headers={"Cookie": "a=b;" * 5000})
    fields = b"&".join(b"a%d=%s" % (index, b"1" * 60) for index in range(900))[: LOGIN_BYTES - 1]
    yield Attack("a login of many fields", "/admin/login", fields, _FORM)
    yield Attack("a form without a login", "/admin/logout", b"a" * JSON_BYTES, _FORM)
    yield Attack("files without a key", "/v1/models", b"a" * JSON_BYTES)
    yield Attack("an input without a key", "/v1/proofs", b"a" * JSON_BYTES)


def _filled(count: int, place: str, item: str) -> bytes:
    """A request with so many of ``item`` in the list at this place of its proof."""
    names = ["proof", *place.split(".")]
    head = "".join(f'{{"{name}":' for name in names)
    return (head + "[" + ",".join([item] * count) + "]" + "}" * len(names)).encode()


def _compact(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _wrong(document: Json) -> Json:
    """Of another time, and said so everywhere but in the proof itself."""
    statement = checked(
        ProofDocument, document | {"statement": document["statement"] | {"made_at": "2026-01-01T00:00:00Z"}}
    ).statement
    proofs = [bytes.fromhex(proof) for proof in document["proofs"]]
    return ProofDocument.of(statement, proofs).model_dump(mode="json")


def _with_points(key: Json, count: int, index: int) -> Json:
    ic = [*key["key"]["ic"], *(point.hex() for point in _points(count, 2 + count * index))]
    return key | {"key": key["key"] | {"ic": ic}}


def _points(count: int, first: int) -> list[bytes]:
    # Far from 0: multiples of the generator by small numbers are in proportion, which keys refuse.
    exponents = range((1 << 64) + first, (1 << 64) + first + count)
    points = g1.compress(g1.fixed_base(g1.generator, fr.from_ints(exponents)))
    return [points[start : start + G1_BYTES] for start in range(0, len(points), G1_BYTES)]


def widened(document: Json, key: Json, inputs: int) -> tuple[Json, Json]:
    """The key of a circuit that has so many public inputs more, and a wrong proof under it."""
    real = VerifyingKey.from_json(key["key"])
    split = 1 + real.public
    large = replace(real, ic=(*real.ic[:split], *_points(inputs, 2), *real.ic[split:]))
    group = {
        **{"name": "logits", "first": real.public, "count": inputs, "shape": [inputs]},
        **{"minimum": 0, "maximum": 255},
    }
    circuit = key["circuit"] | {"public_inputs": [*key["circuit"]["public_inputs"], group]}
    key_file = file_of(Groth16Verifier(), large, circuit)
    statement = make_statement(
        key_file,
        values={**document["statement"]["values"], "logits": [7] * inputs},
        commitments=document["statement"]["commitments"],
        made_at=document["statement"]["made_at"],
    )
    forged = ProofDocument.of(statement, [bytes.fromhex(proof) for proof in document["proofs"]])
    return key_file.model_dump(mode="json"), forged.model_dump(mode="json")


def strangers(folder: Path, groth16: Asked, spartan: Asked) -> list[Row]:
    """``folder``: that of a service which made the proofs."""
    with running(folder, "api", settings=ASKS_FOR_KEYS) as server:
        return costs(server, groth16, spartan)
