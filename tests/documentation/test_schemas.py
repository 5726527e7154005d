"""The schema of verdicts is the code's; tests/vectors/test_documents.py holds every answer to it."""

from __future__ import annotations

import json
from typing import Any

from tests.documentation import schemas


def test_the_page_is_what_the_code_says() -> None:
    from jsonschema import Draft202012Validator  # slow to load

    assert schemas.PAGE.read_text() == schemas.written()
    Draft202012Validator.check_schema(json.loads(schemas.written()))


def test_it_tells_answers_from_what_is_none() -> None:
    from jsonschema import Draft202012Validator

    schema = Draft202012Validator(json.loads(schemas.PAGE.read_text()))
    error = {"code": "file.json", "message": "no", "field": None}
    assert schema.is_valid({"error": error})
    others: list[Any] = [{}, [], {"valid": True}, {"error": error | {"more": 1}}, {"error": {"code": "x"}}]
    for other in others:
        assert not schema.is_valid(other)
