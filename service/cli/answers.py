"""Output of commands: each returns its answer, which is printed here for a person or for a program.

So ``--json`` and ``--field`` are options of every command. Progress and notes go to standard error: standard
output has the answer alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass
from datetime import datetime
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any, Final, get_type_hints

import typer
from rich.console import Console, RenderableType

from zenserve.errors import ModelError, RequestError, ZenError, in_words
from zenserve.service.cli import terminal
from zenserve.service.cli.terminal import REFUSED

out, err = Console(), Console(stderr=True)
_ONE_PARTYS_POWERS: Final = (
    "nobody contributed to these powers of tau: whoever drew them can forge proofs, however many contribute"
    " now. The keys will say development, and `finish` refuses to make them without --development. For"
    " production start again from powers that several people contributed to (docs/ceremony.md)."
)

_PANEL = "Answer"
Json = Annotated[bool, typer.Option("--json", rich_help_panel=_PANEL, help="Answer in JSON.")]
Development = Annotated[
    bool,
    typer.Option(
        "--development",
        help="Make keys although nobody contributed to the powers of tau. Such keys say `development`.",
    ),
]
"""Of what finishes a ceremony."""
Field = Annotated[
    str | None,
    typer.Option(
        "--field", metavar="NAME", rich_help_panel=_PANEL, help="Answer with this field alone, such as id."
    ),
]


@dataclass(frozen=True)
class Answer:
    """An answer that a person reads otherwise than a program: ``text`` is shown, ``document`` is JSON."""

    document: Any
    text: tuple[RenderableType, ...] = ()


class RefusedError(Exception):
    """Ends a command with exit code 1, once ``answer`` is printed: what was to be judged is no good."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer


def answering(command: Callable[..., Any]) -> Callable[..., None]:
    """A command that returns its answer: a resource, a list of them, a JSON document or an ``Answer``.

    An error that has a ``field`` is noted with what the caller typed for it: the option, and its file.
    """

    def run(context: typer.Context, *, as_json: bool, field: str | None, **given: Any) -> None:
        try:
            answer, code = command(**given), 0
        except RefusedError as refused:
            answer, code = refused.answer, REFUSED
        except Exception as error:
            if place := _typed(context, error):
                error.add_note(place)
            raise
        _print(answer, as_json, field)
        raise typer.Exit(code)

    options = {"context": (typer.Context, Parameter.empty), "as_json": (Json, False), "field": (Field, None)}
    return with_options(run, command, options)


def with_options(
    run: Callable[..., Any],
    command: Callable[..., Any],
    options: Mapping[str, tuple[Any, Any]],
    *,
    given: int = 0,
) -> Callable[..., Any]:
    """``run`` as a command with the parameters of ``command``, without the first ones that are ``given``, and
    with ``options``: by name an annotation and a default.
    """
    hints = get_type_hints(command, localns={"Client": object}, include_extras=True)
    parameters = [
        each.replace(annotation=hints[each.name], kind=Parameter.KEYWORD_ONLY)
        for each in [*signature(command).parameters.values()][given:]
    ] + [
        Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hint)
        for name, (hint, default) in options.items()
    ]
    made = wraps(command)(run)
    made.__annotations__ = {each.name: each.annotation for each in parameters}
    made.__signature__ = signature(command).replace(parameters=parameters)  # type: ignore[attr-defined]
    return made


def no_good(error: ZenError, verdict: str, words: str) -> Answer:
    """The answer of a judgement that ends in ``error``: ``verdict`` is false, which is told in ``words``."""
    text = f"[bold red]{words}[/]  {terminal.escape(in_words(error))}"
    return Answer({verdict: False, "reason": error.code, "detail": error.message}, (text,))


def written(document: Any, output: Path | None) -> Any:
    """The answer of a command that fetches a document, or bytes: itself, or that it is in the file now."""
    if output is None:
        return document
    if isinstance(document, bytes):
        output.write_bytes(document)
    else:
        output.write_text(_json(document) + "\n")
    return said_written(output)


def said_written(output: Path, *text: str, **facts: Any) -> Answer:
    """The answer of a command that wrote to a file, which a person is told in any case."""
    err.print(f"[dim]written to[/] {terminal.escape(str(output))}", highlight=False, soft_wrap=True)
    return Answer({"file": str(output), **facts}, text)


def note_powers(contributors: int | None) -> None:
    """Say before a step of a ceremony what keys from powers of tau without ``contributors`` are."""
    if contributors == 0:
        err.print(f"[yellow]note[/] {_ONE_PARTYS_POWERS}", highlight=False, soft_wrap=True)


def _typed(context: typer.Context, error: Exception) -> str | None:
    """Return the option or argument that the caller typed for the field at fault, with its file.

    None if the command has no such parameter.
    """
    field = getattr(error, "field", None) or ("model" if isinstance(error, ModelError) else "")
    name = field.partition(".")[0]
    names = {name, "input"} if name == "inputs" else {name}  # one file has all of them
    for parameter in context.command.params:
        value = context.params.get(parameter.name)
        if parameter.name.rstrip("_") in names:
            option = parameter.opts[0]
            hint = option if option.startswith("-") else parameter.metavar or parameter.name
            return f"{value} ({hint})" if isinstance(value, Path) else hint
    return None


def _print(answer: Any, as_json: bool, field: str | None) -> None:
    document = answer.document if isinstance(answer, Answer) else _plain(answer)
    if field is not None:
        for each in document if isinstance(document, list) else [document]:
            print(_field(each, field))
    elif as_json:
        print(_json(document))
    elif isinstance(answer, Answer):
        for part in answer.text:
            out.print(part, highlight=False, soft_wrap=isinstance(part, str))
    elif isinstance(answer, list):
        terminal.print_list(out, answer)
    elif is_dataclass(answer):
        terminal.print_resource(out, answer)
    else:
        print(_json(document))


def _plain(answer: Any) -> Any:
    if isinstance(answer, list):
        return [_plain(each) for each in answer]
    return vars(answer) if is_dataclass(answer) else answer


def _field(document: Any, name: str) -> str:
    """Raises ``RequestError`` for one that is not there: a script is not to go on with nothing."""
    if not isinstance(document, dict) or name not in document:
        names = f"; it has {', '.join(document)}" if isinstance(document, dict) else ""
        raise RequestError("request.invalid", f"the answer has no field {name}{names}", field="field")
    value = document[name]
    if value is None:
        raise RequestError("request.invalid", f"the answer has no {name}: it is null", field="field")
    return value if isinstance(value, str) else _json(value)


def _json(document: Any) -> str:
    return json.dumps(document, indent=2, default=datetime.isoformat)
