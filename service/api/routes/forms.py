"""Multipart forms, checked more strictly than FastAPI does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Depends, Form, Request
from pydantic import Field

from zenserve.errors import RequestError
from zenserve.service.api import problems
from zenserve.service.api.routes.dependencies import LabelPair
from zenserve.service.submissions import labels, named

SHA256 = r"^[0-9a-f]{64}$"
Hash = Annotated[
    str | None,
    Form(pattern=SHA256, description="SHA-256 of an upload, in the file's place."),
]
_REPEATABLE = ("label", "shape", "range")


async def _labels(
    label: Annotated[
        list[LabelPair] | None,
        Form(
            description="A name and a value to find it by, `name=value`; 16 at most.", examples=[["run=17"]]
        ),
    ] = None,
) -> dict[str, str]:
    return labels.read(label)


JobLabels = Annotated[dict[str, str], Depends(_labels)]
"""Of the form's fields ``label``."""


async def _sizes(
    shape: Annotated[
        list[Annotated[str, Field(json_schema_extra={"pattern": named.SIZE})]] | None,
        Form(
            description="The size of a dimension that the file only names, `name=size`; one field for each.",
            examples=[["tokens=128"]],
        ),
    ] = None,
) -> dict[str, int]:
    return named.sizes(shape)


Sizes = Annotated[dict[str, int], Depends(_sizes)]
"""Of the form's fields ``shape``."""


async def _ranges(
    ends: Annotated[
        list[Annotated[str, Field(json_schema_extra={"pattern": named.RANGE})]] | None,
        Form(
            alias="range",
            description="The least and the largest integer of an input, `name=least:most`, where that is more"
            " than calibration shows; one field for each.",
            examples=[["tokens=0:29999"]],
        ),
    ] = None,
) -> dict[str, tuple[int, int]]:
    return named.ranges(ends)


Ranges = Annotated[dict[str, tuple[int, int]], Depends(_ranges)]
"""Of the form's fields ``range``."""


def fields_as_described(*fields: str) -> Callable[[Request], Awaitable[None]]:
    """A dependency that refuses unknown fields: a misspelt ``require_ceremony`` must not let keys of a single
    party pass."""

    async def check(request: Request) -> None:
        if wrong := problems.wrong_media_type(request):
            raise wrong
        seen: set[str] = set()
        for name, value in (await request.form()).multi_items():
            if name not in fields:
                problem = f"there is no such field; there are {', '.join(fields)}"
            elif name in seen and name not in _REPEATABLE:
                problem = "this field is given twice"
            elif value == "":
                problem = "this field is empty; give it a value or leave it out"
            else:
                seen.add(name)
                continue
            raise RequestError("request.invalid", f"{name}: {problem}", field=name)

    return check
