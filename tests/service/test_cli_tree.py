"""What holds of every command, whichever it is: the whole tree is walked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import resources
from importlib.metadata import version
from typing import Any

import pytest
import typer

from zenserve.service import cli

RUN_UNTIL_STOPPED = {"serve", "api", "worker", "beat"}
"""They answer nothing, and log."""


def commands(group: Any, *path: str) -> Iterator[tuple[str, Any]]:
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if hasattr(command, "list_commands"):
            yield from commands(command, *path, name)
        else:
            yield " ".join([*path, name]), command


ALL = dict(commands(typer.main.get_command(cli.app)))
ANSWERING = sorted(ALL.keys() - RUN_UNTIL_STOPPED)


def test_the_walk_meets_them_all() -> None:
    assert len(ANSWERING) > 45
    assert {"prove", "commit", "models delete", "keys add", "ceremony powers new", "doctor"} < set(ANSWERING)


@pytest.mark.parametrize("name", [name for name in ANSWERING if name != "verify"])
def test_every_command_answers_in_json_or_with_a_field(name: str) -> None:
    options = {option for parameter in ALL[name].params for option in parameter.opts}
    assert {"--json", "--field"} <= options


@pytest.mark.parametrize("name", sorted(ALL))
def test_every_command_has_both_helps(run: Any, name: str) -> None:
    for option in ("-h", "--help"):
        code, out, _ = run(*name.split(), option)
        assert (code, f" {name} " in out) == (0, True)


def test_options_of_prove_stand_in_sections() -> None:
    sections = {
        name: getattr(each, "rich_help_panel", None) for each in ALL["prove"].params for name in each.opts
    }
    assert sections["--threshold"] == "With --scheme recognition"
    assert sections["--measure"] == sections["--dataset"] == "With --scheme accuracy"
    assert sections["--url"] == "Service"
    loose = {name for name, section in sections.items() if section is None and name.startswith("-")}
    assert loose == {"--scheme", "--challenge", "--system", "--accept-difference"}


def test_the_version(run: Any) -> None:
    assert run("--version") == (0, f"zenserve {version('zenserve')}\n", "")
    assert run("verify", "--version") == (0, f"zenserve verify {version('zenserve')}\n", "")


def test_pages_of_the_dashboard_name_commands_and_options_that_there_are() -> None:
    templates = resources.files("zenserve.service.dashboard").joinpath("templates").iterdir()
    named = [line for each in templates for line in re.findall(r"<code>zenserve ([^<]+)", each.read_text())]
    assert len(named) > 10
    for line in named:
        words = re.sub(r"\{\{.*?\}\}|\"[^\"]*\"", "ID", line).split()
        name = next(" ".join(words[:count]) for count in (3, 2, 1) if " ".join(words[:count]) in ALL)
        options = {option for parameter in ALL[name].params for option in parameter.opts} | {"--help"}
        assert {word for word in words if word.startswith("--")} <= options, line
