"""The service gives each vector that a request can express its verdict (docs/vectors.md)."""

from __future__ import annotations

import json
from typing import Final

import httpx

from tests.service.support import serving
from tests.vectors.cases import FOLDER, PINS, Json, Outcome, pin, read_index
from zenserve.service.runtime import Runtime

FILES: Final = {"registration", "registration_key"}
CASES: Final = [
    case for case in read_index() if case["key"] and case["told"].keys() <= {*PINS, *FILES} - {"issuer"}
]
NO_REQUEST: Final = {"request.invalid", "request.invalid_json"}
"""What a reader of files calls ``file.json``."""


def body(case: Json) -> bytes:
    """As it is in the files, whatever that is."""
    files = {"proof": case["document"], "verification_key": case["key"]}
    files |= {name: case["told"][name] for name in FILES & case["told"].keys()}
    parts = {name: (FOLDER / file).read_bytes() for name, file in files.items()}
    expected = {PINS[name]: pin(name, text) for name, text in case["told"].items() if name in PINS}
    parts["expected"] = json.dumps(expected).encode()
    return b"{" + b",".join(b'"%s":%s' % (name.encode(), part) for name, part in parts.items()) + b"}"


def test_each_vector_gets_its_verdict(runtime: Runtime) -> None:
    headers = {"Content-Type": "application/json"}
    with serving(runtime) as url, httpx.Client(base_url=url, headers=headers) as http:
        answers = [http.post("/v1/verify", content=body(case)) for case in CASES]
    assert len(answers) > 250
    for case, answer in zip(CASES, answers, strict=True):
        said = answer.json()
        if "valid" in said:
            assert Outcome.of(said) == Outcome.of(case), case["name"]
        else:
            code = "file.json" if said["code"] in NO_REQUEST else said["code"]
            assert (code, answer.status_code in (400, 422)) == (case["reason"], True), (case["name"], said)
