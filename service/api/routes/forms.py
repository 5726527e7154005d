"""Multipart forms, checked more strictly than FastAPI does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Form, Request

from service.api import problems
from zenerrors import RequestError

SHA256 = r"^[0-9a-f]{64}$"
Hash = Annotated[
    str | None,
    Form(pattern=SHA256, description="SHA-256 of an upload, in the file's place."),
]


def fields_as_described(*fields: str) -> Callable[[Request], Awaitable[None]]:
    """A dependency that refuses what would otherwise be passed over: a misspelt ``weight_privacy`` would make
    weights public.
    """

    async def check(request: Request) -> None:
        if wrong := problems.wrong_media_type(request):
            raise wrong
        seen: set[str] = set()
        for name, value in (await request.form()).multi_items():
            if name not in fields:
                problem = f"there is no such field; there are {', '.join(fields)}"
            elif name in seen:
                problem = "this field is given twice"
            elif value == "":
                problem = "this field is empty; give it a value or leave it out"
            else:
                seen.add(name)
                continue
            raise RequestError("request.invalid", f"{name}: {problem}", field=name)

    return check
