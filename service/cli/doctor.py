"""``zenserve doctor``: whether a deployment can do its work."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape

from service.cli.terminal import REFUSED
from zenerrors import RequestError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from service.doctor import Finding

out = Console()
_COLOURS = {"ok": "green", "warn": "yellow", "fail": "red"}


def doctor(as_json: Annotated[bool, typer.Option("--json", help="Answer in JSON.")] = False) -> None:
    """Check the settings, the servers that they name, and this host. Exit code 1 if anything fails."""
    findings = []
    for finding in _findings():
        findings.append(finding)
        if not as_json:
            _show(finding)
    if as_json:
        print(json.dumps([asdict(finding) for finding in findings], indent=2))
    if any(finding.verdict == "fail" for finding in findings):
        raise typer.Exit(REFUSED)


def _findings() -> Iterator[Finding]:
    from service.doctor import Finding, examine
    from service.runtime import Runtime
    from service.settings import Settings

    try:
        settings = Settings.read()
    except RequestError as error:
        yield Finding("settings", "fail", error.message, "correct it in the environment")
        return
    shape = "several hosts" if settings.database_url else f"one host, in {settings.data_dir}"
    if settings.database_url is None and not settings.data_dir.is_dir():
        yield Finding("settings", "fail", f"{shape}: no such directory", "`zenserve serve` makes it")
        return
    yield Finding("settings", "ok", shape)
    runtime = Runtime.open(settings)
    try:
        yield from examine(runtime)
    finally:
        runtime.close()


def _show(finding: Finding) -> None:
    colour = _COLOURS[finding.verdict]
    line = f"[{colour}]{finding.verdict:<4}[/]  {finding.name:<9}  {escape(finding.detail)}"
    out.print(line, highlight=False, soft_wrap=True)
    if finding.remedy:
        out.print(f"{'':17}[dim]{escape(finding.remedy)}[/]", highlight=False, soft_wrap=True)
