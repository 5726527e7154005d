"""``zenserve doctor``: whether a deployment can do its work."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from zenserve.errors import RequestError
from zenserve.service.cli import deployment
from zenserve.service.cli.answers import Answer, RefusedError, answering
from zenserve.service.cli.terminal import escape

if TYPE_CHECKING:
    from collections.abc import Iterator

    from zenserve.service.doctor import Finding

_COLOURS = {"ok": "green", "warn": "yellow", "fail": "red"}


@answering
def doctor(
    deep: Annotated[
        bool, typer.Option("--deep", help="Read all artifacts of the store against their digests.")
    ] = False,
) -> Answer:
    """Check the settings, the servers that they name, and this host. Exit code 1 if anything fails."""
    findings = list(_findings(deep))
    answer = Answer([asdict(finding) for finding in findings], tuple(map(_line, findings)))
    if any(finding.verdict == "fail" for finding in findings):
        raise RefusedError(answer)
    return answer


def _findings(deep: bool) -> Iterator[Finding]:
    from zenserve.service.doctor import Finding, examine
    from zenserve.service.runtime import Runtime
    from zenserve.service.settings import Settings

    try:
        settings = Settings.read()
    except RequestError as error:
        yield Finding("settings", "fail", error.message, "correct it in the environment")
        return
    shape = "several hosts" if settings.database_url else f"one host, in {settings.data_dir}"
    try:
        deployment.require(settings)
    except RequestError as error:
        yield Finding("settings", "fail", error.message, "run this where the service runs")
        return
    yield Finding("settings", "ok", shape)
    runtime = Runtime.open(settings)
    try:
        yield from examine(runtime, deep=deep)
    finally:
        runtime.close()


def _line(finding: Finding) -> str:
    colour = _COLOURS[finding.verdict]
    line = f"[{colour}]{finding.verdict:<4}[/]  {finding.name:<9}  {escape(finding.detail)}"
    return f"{line}\n{'':17}[dim]{escape(finding.remedy)}[/]" if finding.remedy else line
