"""The description of the API: fit to generate a client from, and true. Schemathesis makes requests up from
it: no answer is an accident, and each is one that the description tells of.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import requests
from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.service.accounts import add_key, asking_for_keys, bearer, calling
from tests.service.support import heart
from zenserve.client import Model
from zenserve.service.access.principal import SCOPES
from zenserve.service.app import create_app
from zenserve.service.runtime import Runtime

if TYPE_CHECKING:
    import schemathesis

EXAMPLES = 3

NAMES = {
    *("createModel", "listModels", "getModel", "cancelModel", "retryModel", "deleteModel", "followModel"),
    *("getReceipt", "getRegistration", "getArchitecture"),
    *("createCommitment", "listCommitments", "getCommitment", "getCommitmentOpening", "deleteCommitment"),
    *("createDataset", "listDatasets", "getDataset", "cancelDataset", "retryDataset", "deleteDataset"),
    *("followDataset", "getDatasetOpening"),
    *("createProof", "listProofs", "getProof", "cancelProof", "retryProof", "deleteProof", "followProof"),
    *("getProofDocument", "putUpload", "headUpload", "deleteUpload"),
    *("verifyProof", "verifyBatch", "getVerificationKey", "changeModel"),
    *("openCeremony", "listCeremonies", "getCeremony", "followCeremony", "cancelCeremony", "deleteCeremony"),
    *("getCeremonyFile", "createContribution", "getContribution", "cancelContribution"),
    *("closeCeremony", "finishCeremony"),
    *("createStream", "listStreams", "getStream", "cancelStream", "retryStream", "followStream", "endStream"),
    *("deleteStream", "createFrame", "listFrames", "getStreamFile"),
    *("createKey", "listKeys", "revokeKey", "createTenant", "listTenants", "changeTenant", "listAudit"),
    *("createWebhook", "listWebhooks", "getWebhook", "deleteWebhook", "testWebhook", "listDeliveries"),
    *("redeliverMessage", "jobOver", "whoami", "getHealth", "getReadiness", "getVersion", "getMetrics"),
}
"""Methods of generated clients: none of them ever goes, or comes to mean something else."""


@pytest.fixture
def document(runtime: Runtime) -> dict[str, Any]:
    return create_app(runtime).openapi()


def operations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for part in ("paths", "webhooks"):
        for path, methods in document[part].items():
            for method, operation in methods.items():
                yield f"{method} {path}", operation


def bodies(operation: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for part in (operation.get("requestBody", {}), *operation["responses"].values()):
        yield from part.get("content", {}).values()


def test_operations_have_names_that_stay(document: dict[str, Any]) -> None:
    names = [operation["operationId"] for _, operation in operations(document)]
    assert len(names) == len(set(names))
    assert set(names) >= NAMES
    assert all(name.isidentifier() and name[0].islower() and "_" not in name for name in names)
    assert not any("_" in name for name in document["components"]["schemas"])


def test_nothing_is_left_undescribed(document: dict[str, Any]) -> None:
    for name, schema in document["components"]["schemas"].items():
        for field, described in schema.get("properties", {}).items():
            assert described.get("description"), f"{name}.{field}"
    for place, operation in operations(document):
        assert operation["summary"], place
        assert operation["description"], place
        for parameter in operation.get("parameters", ()):
            assert parameter.get("description"), f"{place}: {parameter['name']}"
            assert parameter.get("example") is not None, f"{place}: {parameter['name']}"
    for scheme in document["components"]["securitySchemes"].values():
        assert scheme["description"]


def test_every_body_has_an_example_that_fits_it(document: dict[str, Any]) -> None:
    from jsonschema import Draft202012Validator  # slow to load

    parts = {"components": document["components"]}
    for place, operation in operations(document):
        for body in bodies(operation):
            wrong = Draft202012Validator(parts | body.get("schema", {})).iter_errors(body["example"])
            assert [f"{place}: {error.json_path} {error.message}" for error in wrong] == []


def test_answers_are_described_with_their_headers(document: dict[str, Any]) -> None:
    made = document["paths"]["/v1/proofs"]["post"]["responses"]
    assert {"201", "202", "507"} <= made.keys()
    for status in ("201", "202"):
        assert {"Location", "Preference-Applied", "RateLimit", "X-Request-ID"} <= made[status][
            "headers"
        ].keys()
    assert made["202"]["content"]["application/json"]["example"]["state"] == "queued"
    assert "Retry-After" in made["429"]["headers"]
    assert "WWW-Authenticate" in made["401"]["headers"]


@pytest.fixture
def http(with_model: Runtime) -> Iterator[httpx.Client]:
    runtime = asking_for_keys(with_model, rate_per_minute=1_000_000, verify_per_minute=1_000_000)
    with calling(runtime) as http:
        http.headers.update(bearer(add_key(runtime, *SCOPES)))
        yield http


def test_every_answer_is_described(http: httpx.Client, with_model: Runtime, model: Model) -> None:
    import schemathesis  # slow to load
    from schemathesis.core.result import Ok

    described = schemathesis.openapi.from_dict(create_app(with_model).openapi())
    operations = [result.ok() for result in described.get_all_operations() if isinstance(result, Ok)]
    assert len(operations) > 40
    with requests.Session() as session, heart(with_model) as heartbeat:
        session.headers.update(http.headers)
        heartbeat.tick()
        for operation in operations:
            if not operation.path.endswith("/events"):  # streams go on until their job is over
                _try(http, session, operation, model.id)


def _try(
    http: httpx.Client,
    session: requests.Session,
    operation: schemathesis.APIOperation[Any, Any, Any, Any],
    model_id: str,
) -> None:
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi import checks

    described = (
        checks.status_code_conformance,
        checks.content_type_conformance,
        checks.response_schema_conformance,
    )

    @seed(20261121)
    @settings(
        max_examples=EXAMPLES,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy())
    def answers(case: schemathesis.Case[Any]) -> None:
        if isinstance(case.body, dict) and "model_id" in case.body:
            case.body["model_id"] = model_id
        if "model_id" in case.path_parameters and case.method != "DELETE":
            case.path_parameters["model_id"] = model_id
        case.call_and_validate(
            base_url=str(http.base_url), session=session, checks=[not_a_server_error, *described]
        )

    answers()
