"""Writes docs/schemas/verdict.json: what ``zenserve-verify --json`` answers, as a JSON Schema.

python -m tests.documentation.schemas
"""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from zenserve.verifier.command import Trouble, Verdict

PAGE = Path(__file__).parents[2] / "docs/schemas/verdict.json"


def written() -> str:
    answers: TypeAdapter[Verdict | Trouble] = TypeAdapter(Verdict | Trouble)
    schema = {
        "$schema": GenerateJsonSchema.schema_dialect,
        "title": "What zenserve-verify --json answers",
        **answers.json_schema(mode="serialization"),
    }
    return json.dumps(schema, indent=2) + "\n"


if __name__ == "__main__":
    PAGE.write_text(written())
