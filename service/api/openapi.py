"""The API's description, fit to generate a client from: names, headers and examples.

What fields are for and how they look, their models say. From those examples come the ones of whole bodies.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final, cast

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from zenserve.service.api import problems

Json = dict[str, Any]

_EVENTS: Final = """\
event: progress
data: {"id": "prf_5d1f…", "state": "running", "stage": "msm_a", "percent": 62.5, …}
id: 7

event: end
data: {"id": "prf_5d1f…", "state": "succeeded", "label": 7, …}
id: 9
"""
_HEADERS: Final[dict[str, tuple[str, str]]] = {
    "X-Request-ID": ("Names the request in the service's log: yours, if you sent one.", "req_5f0c1d2e"),
    "RateLimit-Policy": ("How many requests you may make in how many seconds.", '"key";q=600;w=60'),
    "RateLimit": ("How many are left, and in how many seconds it is all of them.", '"key";r=599;t=1'),
    "Retry-After": ("Seconds after which to try again.", "10"),
    "WWW-Authenticate": ("How to say who you are.", "Bearer"),
    "Location": ("Where the new thing is.", "/v1/proofs/prf_5d1f0c"),
    "Preference-Applied": ("What was heeded of `Prefer`.", "wait=10"),
    "ETag": ("Of this content: send it as `If-None-Match`.", '"5d1f0c"'),
    "Cache-Control": ("How long it may be kept.", "no-store"),
}
_BY_STATUS: Final = {"401": ["WWW-Authenticate"], "429": ["Retry-After"], "503": ["Retry-After"]}
_IDS: Final = {
    "model_id": "mdl_5d1f0c",
    "commitment_id": "cmt_5d1f0c",
    "dataset_id": "dst_5d1f0c",
    "proof_id": "prf_5d1f0c",
    "tenant_id": "tnt_5d1f0c",
    "webhook_id": "whk_5d1f0c",
    "delivery_id": "msg_5d1f0c",
    "key_id": "key_5d1f0c",
    "ceremony_id": "cer_5d1f0c",
    "contribution_id": "ctb_5d1f0c",
    "stream_id": "str_5d1f0c",
}
_QUEUED: Final[Json] = {
    "state": "queued",
    "stage": None,
    "revision": 0,
    "percent": 0.0,
    "overall_percent": None,
    "eta_seconds": None,
    "eta_setup_seconds": None,
    "attempt": 0,
    "started_at": None,
    "finished_at": None,
    "timings": {},
}
"""The fields in which a job that was just submitted differs from one that is over."""
_FORMATS: Final = {"date-time": "2026-11-22T10:00:00Z", "binary": "…"}


def operation_id(route: APIRoute) -> str:
    """``createProof`` for ``create_proof``: what generated clients call it, so it never changes."""
    first, *others = route.name.split("_")
    return first + "".join(map(str.capitalize, others))


def headers(*names: str) -> Json:
    """Return the entry of an operation's ``responses`` for an answer with these headers."""
    return {"headers": {name: {"$ref": f"#/components/headers/{name}"} for name in names}}


def describe(app: FastAPI) -> Json:
    """The description of the application, OpenAPI 3.1."""
    document = get_openapi(
        title=app.title,
        version=app.version,
        description=app.description,
        license_info=app.license_info,
        routes=app.routes,
        webhooks=app.webhooks.routes,
    )
    components = document["components"]
    components["schemas"]["Problem"] = problems.Problem.model_json_schema()
    components["headers"] = {
        name: {"description": text, "schema": {"type": "string"}, "example": example}
        for name, (text, example) in _HEADERS.items()
    }
    for path, operation in _operations(document):
        if path.startswith("/v1/"):
            _add_headers(operation)
        for parameter in operation.get("parameters", ()):
            fit = example(parameter["schema"], components["schemas"])
            parameter.setdefault("example", fit or _IDS.get(parameter["name"]))
        for status, body in _bodies(operation):
            if "schema" in body:
                fit = example(body["schema"], components["schemas"])
                body.setdefault("example", fit | _QUEUED if status == "202" and "percent" in fit else fit)
    # FastAPI describes event streams in words of OpenAPI 3.2, under the heading of 3.1. Without a schema
    # it is right by both: 3.1 applies one to the stream, 3.2 to each event.
    for path, operation in _operations(document):
        if path.endswith("/events"):
            operation["responses"]["200"]["content"]["text/event-stream"] = {"example": _EVENTS}
    return _renamed(document)


def example(schema: Json, schemas: Json) -> Any:
    """Something that fits: what the schema gives as an example, or else its parts do. None where nothing
    does; parts that may be left out then are.
    """
    if "$ref" in schema:
        return example(schemas[schema["$ref"].rpartition("/")[2]], schemas)
    for word in ("examples", "enum"):
        if word in schema:
            return schema[word][0]
    for word in ("const", "default"):
        if schema.get(word) is not None:
            return schema[word]
    if choices := [each for each in schema.get("anyOf", ()) if each.get("type") != "null"]:
        return example(choices[0], schemas)
    match schema.get("type"):
        case "object":
            needed = schema.get("required", ())
            parts = {name: example(each, schemas) for name, each in schema.get("properties", {}).items()}
            return {name: part for name, part in parts.items() if part is not None or name in needed}
        case "array":
            return [example(schema["items"], schemas)]
        case "boolean":
            return False
    return _FORMATS.get(schema.get("format", ""))


def _renamed(document: Json) -> Json:
    """Without the names that FastAPI and pydantic make up for lists and forms."""
    text = re.sub(r"\bListing_(\w+?)_(?=\")", r"\1Listing", json.dumps(document))
    renamed: Json = json.loads(re.sub(r"\bBody_(\w+)", r"\1Form", text))
    return renamed


def _operations(document: Json) -> Iterator[tuple[str, Json]]:
    for part in ("paths", "webhooks"):
        for path, methods in document.get(part, {}).items():
            for operation in methods.values():
                yield path, operation


def _bodies(operation: Json) -> Iterator[tuple[str, Json]]:
    """Of the request and of each answer, with its status."""
    for status, part in [("", operation.get("requestBody", {})), *operation["responses"].items()]:
        for body in part.get("content", {}).values():
            yield status, body


def _add_headers(operation: Json) -> None:
    """Document the headers that all answers have, and those that go with a status."""
    for status, answer in operation["responses"].items():
        names = ["X-Request-ID", "RateLimit-Policy", "RateLimit", *_BY_STATUS.get(status, ())]
        answer["headers"] = cast(Json, headers(*names)["headers"]) | answer.get("headers", {})
