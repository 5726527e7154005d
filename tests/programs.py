"""Programs that not every machine has: where they are, and what to install where they are not.

A test that asks for one which is not there is skipped; how many were is said at the end. ``pytest
--without-programs`` runs these tests alone, as on a machine that has none.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

DEBIAN = {
    "buildah": "buildah",
    "chromium": "chromium",
    "curl": "curl",
    "initdb": "postgresql",
    "libfaketimeMT.so.1": "libfaketime",
    "nginx": "nginx",
    "npm": "npm",
    "openssl": "openssl",
    "pg_dump": "postgresql",
    "postgres": "postgresql",
    "psql": "postgresql-client",
    "redis-server": "redis-server",
    "setpriv": "util-linux",
    "systemd-analyze": "systemd",
}
_OUTSIDE_PATH = ("postgresql/*/bin", "*/faketime")
_MISSING = "is not installed: apt-get install "

Find = Callable[[str], str]


def find(name: str) -> str:
    """Where the program is, of the newest version; raises ``FileNotFoundError`` that says what to install."""
    if found := shutil.which(name):
        return found
    there = [path for folder in _OUTSIDE_PATH for path in Path("/usr/lib").glob(f"{folder}/{name}")]
    if not there:
        return hidden(name)
    return str(max(there))


def hidden(name: str) -> str:
    """As ``find`` where the program is not there."""
    raise FileNotFoundError(f"{name} {_MISSING}{DEBIAN[name]}")


@pytest.fixture(scope="session")
def program(pytestconfig: pytest.Config) -> Find:
    """``find`` that skips the test where the program is not there."""
    look = _look(pytestconfig)

    def find_or_skip(name: str) -> str:
        try:
            return look(name)
        except FileNotFoundError as missing:
            pytest.skip(str(missing))

    return find_or_skip


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--without-programs", action="store_true", help="run the tests that ask for programs, and hide those"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "program: asks for a program, though none of its fixtures tells")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("without_programs"):
        config.hook.pytest_deselected(items=[item for item in items if not _asks(item)])
        items[:] = filter(_asks, items)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    skipped = terminalreporter.getreports("skipped")
    if count := sum(_MISSING in str(report.longrepr) for report in skipped):
        packages = " ".join(sorted(set(_packages(_look(config)))))
        terminalreporter.write_line(f"{count} tests skipped for want of programs: apt-get install {packages}")


def _look(config: pytest.Config) -> Find:
    return hidden if config.getoption("without_programs") else find


def _asks(item: pytest.Item) -> bool:
    return bool(item.get_closest_marker("program")) or "program" in getattr(item, "fixturenames", ())


def _packages(look: Find) -> Iterator[str]:
    """Those with the programs that are not there."""
    for name, package in DEBIAN.items():
        try:
            look(name)
        except FileNotFoundError:
            yield package
