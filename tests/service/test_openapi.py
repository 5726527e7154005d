"""Requests that Schemathesis makes up from the service's own description: no answer is an accident, and each
is one that the description tells of.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from client import Model
from service.api.access import SCOPES
from service.app import create_app
from service.runtime import Runtime
from tests.service.accounts import add_key, asking_for_keys, bearer, calling
from tests.service.support import heart

EXAMPLES = 5
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


@pytest.fixture
def http(with_model: Runtime) -> Iterator[httpx.Client]:
    runtime = asking_for_keys(with_model, rate_per_minute=1_000_000, verify_per_minute=1_000_000)
    with calling(runtime) as http:
        http.headers.update(bearer(add_key(runtime, *SCOPES)))
        yield http


def test_every_answer_is_described(http: httpx.Client, with_model: Runtime, model: Model) -> None:
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
    @seed(20261121)
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
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
        case.call_and_validate(base_url=str(http.base_url), session=session, checks=CHECKS)

    answers()
