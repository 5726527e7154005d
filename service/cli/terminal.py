"""Display of work, resources and verdicts on the command line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape as escape_markup

from zenserve.client.resources import (
    Ceremony,
    Contribution,
    Dataset,
    Delivery,
    DryRun,
    Frame,
    Job,
    Key,
    Model,
    Proof,
    Stream,
    Tenant,
    Webhook,
)
from zenserve.verifier.document import printable
from zenserve.verifier.schemes import INPUT, kind_of

if TYPE_CHECKING:  # each is slow to import, and needed by some commands only
    from rich.progress import Progress

    from zenserve.base.progress import Progress as StageProgress
    from zenserve.client.resources import JobKind

_SETUPS = {
    "development": "development (a single party made the keys)",
    "ceremony": "ceremony (several parties did)",
}
_WEIGHTS = {
    "committed": "committed (hidden; proofs name a commitment to them)",
    "public": "public (whoever has a proof's key sees them)",
}
REFUSED, TROUBLE = 1, 2
"""Exit codes: something that was to be judged is no good; anything else went wrong."""

_SETUP = frozenset({"lagrange", "columns", "key_g1", "key_g2", "key_links", "store"})
"""Stages that make keys: the first proof of a form has them, and no other."""

_COLUMNS: dict[type, list[str]] = {
    Model: ["id", "state", "created_at", "weight_privacy", "version", "name"],
    Dataset: ["id", "state", "created_at", "model_id", "size", "name"],
    Proof: ["id", "state", "created_at", "model_id", "scheme", "label"],
    Stream: ["id", "state", "created_at", "frames", "frames_over", "name"],
    Frame: ["number", "proof_id", "state", "label", "missed", "model_id", "seconds"],
    Ceremony: ["id", "phase", "state", "created_at", "model_id", "name"],
    Webhook: ["id", "created_at", "disabled_at", "url", "events"],
    Delivery: ["id", "state", "created_at", "event", "job_id", "attempts"],
    Tenant: ["id", "max_queued", "max_running", "retention_days", "name"],
    Key: ["id", "tenant_id", "created_at", "expires_at", "revoked_at", "last_used_at", "scopes", "name"],
}


def show_progress(console: Console, what: str, changes: Iterable[JobKind]) -> JobKind:
    """A live bar, or one line per stage where nobody watches. The job as it was last seen."""
    bar = _bar(console)
    seen: JobKind | None = None
    announced = False
    with bar:
        task = bar.add_task(what, total=None, left="")
        for job in changes:
            if not announced and job.stage in _SETUP:
                console.print(_announcement(job), highlight=False)
                announced = True
            if not console.is_terminal and (seen is None or _where(seen) != _where(job)):
                console.print(f"{what}: {_where(job)}", highlight=False)
            bar.update(
                task,
                description=f"{what}  [dim]{_where(job)}[/]",
                total=None if job.overall_percent is None else 100,
                completed=job.overall_percent or 0,
                left=_left(job),
            )
            seen = job
    if seen is None:
        raise ValueError("a job that was never seen")
    return seen


@contextmanager
def show_stages(console: Console, what: str) -> Iterator[StageProgress]:
    """A live bar for a computation here and now; nothing where nobody watches."""
    with _bar(console) as bar:
        task = bar.add_task(what, total=1, left="")
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
        TextColumn("[dim]{task.fields[left]}[/]"),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    )


def print_resource(console: Console, thing: Any) -> None:
    """Print the properties of a resource that a person wants to know."""
    match thing:
        case Job():
            rows = _of_job(thing)
        case DryRun():
            rows = _of_dry_run(thing)
        case _:
            rows = _as_they_are(thing)
    console.print(table_of(rows), highlight=False, soft_wrap=True)


def table_of(rows: Mapping[str, object]) -> str:
    """A line for each name and its value, text of which is markup."""
    width = max([12, *map(len, rows)])
    shown = {name: f"{value:,}" if isinstance(value, int) else value for name, value in rows.items()}
    return "\n".join(f"[dim]{name:>{width}}[/]  {value}" for name, value in shown.items())


def print_list(console: Console, things: Sequence[Any]) -> None:
    """A line for each."""
    if not things:
        console.print("[dim]none[/]")
        return
    names = _COLUMNS[type(things[0])]
    lines = [names, *([_cell(thing, name) for name in names] for thing in things)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for index, line in enumerate(lines):
        text = escape("  ".join(f"{cell:{width}}" for cell, width in zip(line, widths, strict=True)).rstrip())
        console.print(text if index else f"[dim]{text}[/]", highlight=False, soft_wrap=True)


def _cell(thing: Any, name: str) -> str:
    value = getattr(thing, name)
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    if name == "attempts":
        return str(len(value))
    return "" if value is None else ", ".join(value) if isinstance(value, list) else str(value)


def _as_they_are(thing: Any) -> dict[str, str]:
    return {name: escape(_cell(thing, name)) for name, value in vars(thing).items() if value is not None}


def _of_dry_run(tried: DryRun) -> dict[str, str]:
    keys = tried.verification_key_id or f"none yet: setup takes about {tried.setup_seconds:.2g} s more"
    shards = f" for {tried.proofs} proofs" if tried.proofs > 1 else ""
    return {
        **{name: str(value) for name, value in tried.values.items()},
        "constraints": f"{tried.constraints:,}, all of them hold",
        "seconds": f"about {tried.proof_seconds:.2g}{shards}, on the queue {tried.queue}",
        "key": keys,
        "memory": f"{tried.memory_bytes / 1e6:,.0f} MB",
        "proving key": f"{tried.key_bytes / 1e6:,.1f} MB",
        "proof": f"{tried.proof_bytes:,} bytes",
    }


def _of_job(job: Job) -> dict[str, str]:
    colour = {"succeeded": "green", "failed": "red", "canceled": "yellow"}.get(job.state, "cyan")
    rows = {"id": job.id, "state": f"[{colour}]{job.state}[/]"}
    if not job.is_over and job.stage:
        rows["stage"] = f"{job.stage} ({job.percent:.0f} %)"
    if not job.is_over and job.overall_percent is not None:
        rows["in all"] = f"{job.overall_percent:.0f} %  {_left(job)}"
    rows |= _about(job)
    if job.labels:
        rows["labels"] = escape(", ".join(f"{name}={value}" for name, value in job.labels.items()))
    if job.timings:
        rows["seconds"] = f"{sum(job.timings.values()):.2f}"
    if job.problem:
        rows["problem"] = _cause(job.problem)
    for failure in job.failures:
        rows[f"attempt {failure['attempt']}"] = _cause(failure)
    return rows


def _about(job: Job) -> dict[str, str]:
    """Return the rows that are specific to the job's kind."""
    rows: dict[str, Any] = {}
    match job:
        case Model():
            rows = {
                "name": f"{escape(job.name)}@{job.version}",
                "weights": _WEIGHTS[job.weight_privacy],
                "inputs": "beyond the calibration are its ends" if job.saturate else None,
                "network": job.network,
                "commitment": job.commitment,
                "parent": job.parent_id,
                "constraints": f"{job.description['constraints']['total']:,}" if job.description else None,
                "setup": _SETUPS.get(job.setup or "", job.setup),
                "key": job.verification_key_id,
                "registration": job.registration_key_id,
                **_of_report(job.report or {}),
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
        case Stream():
            rows = {
                "name": escape(job.name),
                "models": ", ".join(job.models),
                "frames": f"{job.frames}, of which {job.frames_over} are over, and {job.backlog} may wait",
                "batches": job.batch and f"of {job.batch} frames, which wait {job.batch_seconds} s at most",
                "deadline": job.deadline_seconds and f"{job.deadline_seconds} s",
                "challenge": job.challenge and escape(job.challenge),
                "head": job.head,
                "takes frames": "no more" if job.ended_at else "yes" if job.begun_at else "not yet",
            }
        case Ceremony():
            rows = _of_ceremony(job)
        case Contribution():
            rows = {
                "ceremony": job.ceremony_id,
                "name": escape(job.name) if job.name else None,
                "place": job.place,
                **{f"hash {index}": hash_ for index, hash_ in enumerate(job.hashes or [], start=1)},
            }
        case Proof():
            values = {name: each for name, each in (job.values or {}).items() if kind_of(name) != INPUT}
            rows = {
                "scheme": job.scheme,
                "answer": job.class_name and escape(job.class_name),
                **{
                    name: _first(map(str, each)) if isinstance(each, list) else each
                    for name, each in values.items()
                },
                **{name.replace("/", " "): each for name, each in (job.output_ids or {}).items()},
                "claim": job.claim and escape(job.claim),
                "not proven": job.unproven and escape(job.unproven),
                "difference": job.difference and in_words(job.difference),
                "in floats": _first(f"{each:.4g}" for each in job.logits or job.outputs or []),
                "key": job.verification_key_id,
            }
    return {name: str(value) for name, value in rows.items() if value is not None}


def _first(numbers: Iterable[str]) -> str | None:
    """The first sixteen, and how many there are more."""
    listed = [*numbers]
    more = [f"and {len(listed) - 16:,} more"] * (len(listed) > 16)
    return ", ".join([*listed[:16], *more]) or None


def _of_ceremony(held: Ceremony) -> dict[str, Any]:
    """Return the ceremony's phase, each key's start and state, and the hashes that contributors publish."""
    rows: dict[str, Any] = {
        "name": escape(held.name),
        "model": held.model_id,
        "phase": held.phase,
        "closes with": held.closes_with and f"{escape(held.closes_with)}, hashed 2^{held.rounds} times",
        "powers": f"{held.powers}, by {held.contributors_to_powers or 0} contributors",
        "setup": held.setup and f"{held.setup}, as its keys will say",
        "pending": held.pending,
    }
    for index, circuit in enumerate(held.circuits or [], start=1):
        rows[f"circuit {index}"] = f"{circuit['scheme']}, {circuit['constraints']:,} constraints"
        rows[f"start {index}"] = circuit["start"]
        rows[f"state {index}"] = circuit["state"]
        rows[f"key {index}"] = circuit["verification_key_id"]
    for made in held.contributions or []:
        for index, hash_ in enumerate(made["hashes"], start=1):
            rows[f"hash {made['place']}.{index}"] = f"{hash_}  {escape(made['name'])}"
    return rows


def _of_report(report: dict[str, Any]) -> dict[str, str]:
    """Return the effects of quantisation: the range of each tensor's values and of its integers; errors."""
    rows = {
        f"{escape(each['name'])}": f"{each['low']:.4g} to {each['high']:.4g}, of {each['least']:.4g} to"
        f" {each['greatest']:.4g} in {each['bits']} bits{_of_table(each)}"
        for each in report.get("tensors", [])
    }
    for output in report.get("outputs", []):
        if report.get("accuracy") is None and output["agreement"] is not None:
            rows["answers"] = f"the same in floats and in integers for {output['agreement']:.2%}"
        for name, where in (("float_loss", "floats"), ("loss", "integers")):
            if loss := output.get(name):
                r2 = "" if loss["r2"] is None else f", R² {loss['r2']:.4f}"
                rows[f"errors in {where}"] = (
                    f"MSE {loss['mse']:.4g}, MAE {loss['mae']:.4g}{r2}, beside targets"
                )
    if report.get("accuracy") is not None:
        rows["accuracy"] = (
            f"{report['accuracy']:.2%} in integers, {report['float_accuracy']:.2%} in floats, of"
            f" {report['images']} samples; the same answer for {report['agreement']:.2%}"
        )
    for each in report.get("differences", []):
        rows[each["stage"]] = in_words(each)
    if report.get("warning"):
        rows["warning"] = escape(report["warning"])
    return rows


def in_words(difference: dict[str, Any]) -> str:
    """Return the difference between answers that were compared, as a sentence."""
    from zenserve.circuits.comparison.differences import sentence

    return escape(sentence(difference))


def _of_table(tensor: dict[str, Any]) -> str:
    function = tensor.get("function")
    return f", {escape(function)} to {tensor['rounding']:.2f} steps" if function else ""


def escape(text: str) -> str:
    """Text from elsewhere, fit to print: its markup is not taken as ours, its control codes do nothing."""
    return escape_markup(printable(text))


def _cause(problem: dict[str, Any]) -> str:
    return escape(f"{problem['detail']} [{problem['code']}]")


def _announcement(job: Job) -> str:
    """Why this proof takes longer than the next one will."""
    setup = job.eta_setup_seconds
    return "making keys for this form, once" + (f": about {_duration(setup)}" if setup else "")


def _left(job: Job) -> str:
    """The time that it will still take, as a person says it."""
    if job.is_over or job.eta_seconds is None:
        return ""
    setup = job.eta_setup_seconds
    keys = f", {_duration(setup)} of them for keys" if setup else ""
    return f"about {_duration(job.eta_seconds)} left{keys}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _where(job: Job) -> str:
    return job.stage or job.state if job.state == "running" else job.state
