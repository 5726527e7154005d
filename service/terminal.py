"""How the command line shows work and verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape as escape_markup

from client.resources import Commitment, Dataset, Job, Model, Proof

if TYPE_CHECKING:  # each is slow to import, and needed by some commands only
    from rich.progress import Progress

    from client.api import JobKind
    from prover import Progress as StageProgress

REFUSED, TROUBLE = 1, 2
"""Exit codes: something that was to be judged is no good; anything else went wrong."""


def show_progress(console: Console, what: str, changes: Iterable[JobKind]) -> JobKind:
    """A live bar, or one line per stage where nobody watches. The job as it was last seen."""
    bar = _bar(console)
    seen: JobKind | None = None
    with bar:
        task = bar.add_task(what, total=100)
        for job in changes:
            if not console.is_terminal and (seen is None or _where(seen) != _where(job)):
                console.print(f"{what}: {_where(job)}", highlight=False)
            bar.update(task, description=f"{what}  [dim]{_where(job)}[/]", completed=job.percent)
            seen = job
    if seen is None:
        raise ValueError("a job that was never seen")
    return seen


@contextmanager
def show_stages(console: Console, what: str) -> Iterator[StageProgress]:
    """A live bar for a computation here and now; nothing where nobody watches."""
    with _bar(console) as bar:
        task = bar.add_task(what, total=1)
        yield lambda stage, done: bar.update(task, description=f"{what}  [dim]{stage}[/]", completed=done)


def _bar(console: Console) -> Progress:
    from rich.progress import (
        BarColumn,
        Progress,
        SpinnerColumn,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
    )

    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    )


def print_job(console: Console, job: Model | Dataset | Proof) -> None:
    """What a person wants to know of a job."""
    colour = {"succeeded": "green", "failed": "red", "canceled": "yellow"}.get(job.state, "cyan")
    rows = {"id": job.id, "state": f"[{colour}]{job.state}[/]"}
    if not job.is_over and job.stage:
        rows["stage"] = f"{job.stage} ({job.percent:.0f} %)"
    rows |= _about(job)
    if job.timings:
        rows["seconds"] = f"{sum(job.timings.values()):.2f}"
    if job.problem:
        rows["problem"] = _cause(job.problem)
    for failure in job.failures:
        rows[f"attempt {failure['attempt']}"] = _cause(failure)
    _print_rows(console, rows)


def print_commitment(console: Console, commitment: Commitment) -> None:
    _print_rows(console, {name: str(value) for name, value in vars(commitment).items()})


def _about(job: Model | Dataset | Proof) -> dict[str, str]:
    """What is worth telling of each kind."""
    match job:
        case Model():
            rows: dict[str, Any] = {
                "name": escape(job.name),
                "weights": job.weight_privacy,
                "network": job.network,
                "commitment": job.commitment,
                "parent": job.parent_id,
                "constraints": f"{job.description['constraints']['total']:,}" if job.description else None,
                "setup": f"{job.setup} (a single party made the keys)",
                "key": job.verification_key_id,
                "registration": job.registration_key_id,
            }
        case Dataset():
            shards = f"{len(job.shards)} of up to {job.shard_size}" if job.shards else None
            rows = {
                "name": escape(job.name),
                "model": job.model_id,
                "samples": f"{job.size} ({job.privacy})",
                "sha256": job.sha256,
                "shards": shards,
            }
        case Proof():
            values = job.values or {}
            numbers = {name: value for name, value in values.items() if not isinstance(value, list)}
            rows = {
                "scheme": job.scheme,
                **numbers,
                "top": ", ".join(map(str, values.get("top", []))) or None,
                "key": job.verification_key_id,
            }
    return {name: str(value) for name, value in rows.items() if value is not None}


def _print_rows(console: Console, rows: dict[str, str]) -> None:
    for name, value in rows.items():
        console.print(f"[dim]{name:>12}[/]  {value}", highlight=False, soft_wrap=True)


def escape(text: str) -> str:
    """Text from elsewhere, fit to print: its markup is not taken as ours, its control codes do nothing."""
    return escape_markup("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text))


def _cause(problem: dict[str, Any]) -> str:
    return escape(f"{problem['detail']} [{problem['code']}]")


def _where(job: Job) -> str:
    return job.stage or job.state if job.state == "running" else job.state
