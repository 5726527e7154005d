"""``zenserve tables``: the papers' tables with counts of our own compiler beside them (docs/papers.md)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.markup import escape

from zenserve.service.cli import terminal
from zenserve.service.cli.answers import Answer, answering, err

if TYPE_CHECKING:
    from zenserve.base.progress import Progress
    from zenserve.circuits.papers.render import Table

Format = Literal["text", "csv"]


@answering
def make_tables(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Tables to make: zen-5.3, bits, ... All unless named."),
    ] = None,
    format_: Annotated[Format, typer.Option("--format", help="How to print them.")] = "text",
    folder: Annotated[
        Path | None,
        typer.Option("--out", file_okay=False, help="Write NAME.txt, .csv and .svg, and tables.md, there."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Small networks and layers only.")] = False,
) -> Answer:
    """Make the tables of the papers anew, our constraints beside theirs."""
    from zenserve.circuits.papers import render

    with terminal.show_stages(err, "counting") as progress:
        tables = _made(names or [], quick, progress)
    document = [render.document(table) for table in tables]
    if folder is None:
        return Answer(document, (escape(_printed(tables, format_).rstrip("\n")),))
    _write(tables, folder, _command(names or [], quick, folder))
    return Answer(document)


def _made(names: list[str], quick: bool, progress: Progress) -> list[Table]:
    from zenserve.circuits.papers import counts
    from zenserve.circuits.papers.tables import ALL, QUICK, chosen, make

    wanted = chosen(names)
    made: list[Table] = []

    def count(network: str, circuit: counts.Circuit) -> counts.Count:
        progress(f"{wanted[len(made)]}: {network}, {circuit.label}", len(made) / len(wanted))
        return counts.count(network, circuit)

    for name in wanted:
        made.append(make(name, QUICK if quick else ALL, count))
    return made


def _printed(tables: list[Table], format_: Format) -> str:
    from zenserve.circuits.papers import render

    show = render.text if format_ == "text" else render.comma_separated
    return "\n".join(map(show, tables))


def _write(tables: list[Table], folder: Path, command: str) -> None:
    from zenserve.circuits.papers import render

    folder.mkdir(parents=True, exist_ok=True)
    files = {"tables.md": render.markdown(tables, command)}
    for table in tables:
        files |= {f"{table.name}.txt": render.text(table), f"{table.name}.csv": render.comma_separated(table)}
        if table.chart is not None:
            files[f"{table.name}.svg"] = table.chart
    for name, content in files.items():
        (folder / name).write_text(content)
    err.print(f"[dim]written to[/] {terminal.escape(str(folder))}: {len(files)} files", soft_wrap=True)


def _command(names: list[str], quick: bool, folder: Path) -> str:
    """Return the command that made the files, for their readers."""
    return " ".join(["zenserve tables", *names, *(["--quick"] if quick else []), f"--out {folder}"])
