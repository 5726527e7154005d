"""How the examples talk."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from rich.console import Console

from zenserve.verifier.judging import Verification

console = Console(highlight=False)


@contextmanager
def scene(title: str) -> Iterator[None]:
    """A step with a title, and how long it took."""
    console.print(f"[bold]{title}[/]")
    start = time.perf_counter()
    yield
    console.print(f"  [dim]{time.perf_counter() - start:.2f} s[/]\n")


def say(verdict: Verification, *, unsaid: bool = False) -> bool:
    """Print what was verified and, if asked, what was not; whether it is valid."""
    if not verdict.valid:
        console.print(f"  [red]not valid[/]: {verdict.reason}. {verdict.detail}")
    for sentence in verdict.verified:
        console.print(f"  [green]verified[/]: {sentence}")
    for sentence in verdict.not_verified if unsaid else []:
        console.print(f"  [dim]not verified: {sentence}[/]")
    return verdict.valid


def refused(attempts: Mapping[str, tuple[str, Verification]]) -> dict[str, str]:
    """Print the verdict on every attempt at cheating: name -> (the reason it should be refused for, verdict).

    The reasons by name. Raises ``SystemExit`` where one is accepted, or refused for another reason.
    """
    for name, (reason, verdict) in attempts.items():
        if verdict.valid or verdict.reason != reason:
            raise SystemExit(f"{name}: {verdict.reason}, where it should be {reason}")
        console.print(f"  {name}: [green]{reason}[/]. {verdict.detail}")
    return {name: reason for name, (reason, _) in attempts.items()}


def finish(verified: bool, reasons: Mapping[str, str], **more: object) -> int:
    """The last line, for machines; the exit status."""
    summary = {"verified": verified, "refused": sorted(set(reasons.values())), **more}
    print(f"demo: {json.dumps(summary)}", flush=True)
    return 0 if verified else 1
