"""What pages name is there: files, modules and what they hold, other pages, rooms as contracts have them."""

from __future__ import annotations

import re
import tomllib
from dataclasses import fields, is_dataclass
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any, Final

import pytest

from zenserve.codes import MEANINGS

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
WALKS: Final = (ROOT / "docs" / "architecture.md").read_text().split("\n## ")[1:4]
TABLE: Final = re.compile(r"^\| (package|in `[\w/]+/`) \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", re.MULTILINE)

_CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
LAYERS: Final = {
    contract.get("containers", [""])[0].removeprefix("zenserve").removeprefix("."): [
        set(layer.split(" | ")) for layer in contract["layers"]
    ]
    for contract in _CONTRACTS["contracts"]
    if contract["type"] == "layers"
}
"""The rooms in each room, from those that know most. The house itself has the empty name."""
PACKAGES: Final = sorted(chain(*LAYERS[""]))
HOME: Final = ROOT / "zenserve"

_CODE = re.compile(r"`([^`\n]+)`")
_DOTTED = re.compile(r"(?:zenserve|bench|tests|groth16)(?:\.\w+)+")
_NO_MODULE = re.compile(r"\.(md|py|json|so|sqlite)$")
_FILE = re.compile(r"(?<![\w/.])((?:[\w-]+/)+[\w.-]+\.(?:py|json|md|svg|toml|hpp|cpp|yml))\b")
_LINK = re.compile(r"\]\((?!\w+://)([^)#\s]+)\)")


def dotted_names(page: Path) -> list[str]:
    """Those of our own modules, and of what is in them, that begin a piece of code."""
    found = (_DOTTED.match(code) for code in _CODE.findall(page.read_text()))
    names = {match[0] for match in found if match and not _NO_MODULE.search(match[0])}
    return sorted(names - set(MEANINGS))


def resolved(name: str) -> Any:
    """The module or what is in it, None where it cannot be loaded here. Raises ``AttributeError``."""
    parts = re.sub(r"^groth16\b", "zenserve.prover.groth16", name).split(".")
    depth = next(n for n in range(len(parts), 0, -1) if _is_module(".".join(parts[:n])))
    module = ".".join(parts[:depth])
    if parts[:2] == ["zenserve", "gpu"]:  # takes the driver of a card
        text = (ROOT / f"{module.replace('.', '/')}.py").read_text()
        if all(re.search(rf"^(def|class) {part}\b", text, re.MULTILINE) for part in parts[depth:]):
            return None
        raise AttributeError(name)
    found: Any = import_module(module)
    for part in parts[depth:]:
        without_default = is_dataclass(found) and part in {field.name for field in fields(found)}
        found = None if without_default else getattr(found, part)
    return found


def _is_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_a_page_names_is_there(page: Path) -> None:
    for name in dotted_names(page):
        resolved(name)
    text, folders = page.read_text(), {path.name for path in ROOT.iterdir() if path.is_dir()}
    files = [file for file in _FILE.findall(text) if file.partition("/")[0] in folders]
    assert [file for file in files if not (ROOT / file).exists()] == []
    assert [link for link in _LINK.findall(text) if not (page.parent / link).exists()] == []


def test_the_classes_that_pages_name_are_there() -> None:
    files = [file for room in PACKAGES for file in (HOME / room).rglob("*.py")]
    code = "\n".join(file.read_text() for file in [*files, *(ROOT / "web" / "client").glob("*.ts")])
    found = [
        re.fullmatch(r"([A-Z][a-z]\w+)(?:\.\w+)*(?:\(.*\))?", span)
        for page in PAGES
        for span in _CODE.findall(page.read_text())
    ]
    missing = {match[1] for match in found if match} - set(re.findall(r"\w+", code))
    assert missing == {"HttpOnly", "Secure"}  # a cookie's


def test_every_page_can_be_reached_from_the_first() -> None:
    seen, ahead = set[Path](), [ROOT / "README.md"]
    while ahead:
        page = ahead.pop()
        if page.suffix == ".md" and page not in seen:
            seen.add(page)
            ahead += [(page.parent / link).resolve() for link in _LINK.findall(page.read_text())]
    assert set(PAGES) - seen == set()


def test_pages_that_the_code_points_to_are_there() -> None:
    code = [
        file.read_text()
        for room in (*(HOME / package for package in PACKAGES), ROOT / "bench", ROOT / "tests")
        for file in room.rglob("*.py")
    ]
    pointed = set(re.findall(r"\bdocs/[\w/-]+\.md\b", "\n".join(code)))
    assert len(pointed) > 10
    assert {page for page in pointed if not (ROOT / page).exists()} == set()


def test_the_tables_of_rooms_are_the_contracts() -> None:
    tables = {room: rows for page in PAGES for room, rows in TABLE.findall(page.read_text())}
    drawn = {
        re.sub(r"package|in `|/`", "", room).replace("/", "."): names_by_row(rows)
        for room, rows in tables.items()
    }
    assert set(drawn) >= {"", "service", "circuits", "prover", "verifier", "relations"}
    for room, names in drawn.items():
        assert set(chain(*names)) == set(chain(*LAYERS[room])), room
        places = [next(n for n, layer in enumerate(LAYERS[room]) if row & layer) for row in names]
        assert places == sorted(places), room
        assert all(row <= LAYERS[room][place] for row, place in zip(names, places, strict=True)), room


def names_by_row(rows: str) -> list[set[str]]:
    """Those in the first column, where a row is no part of the one above it."""
    cells = [row.split("|")[1] for row in rows.splitlines() if "&ensp;" not in row]
    return [{name.rstrip("/") for name in _CODE.findall(cell)} for cell in cells]


def test_the_parts_of_a_room_of_the_service_are_there() -> None:
    _, rows = next(table for table in TABLE.findall((ROOT / "docs" / "service.md").read_text()))
    room = Path()
    for cell in (row.split("|")[1] for row in rows.splitlines()):
        inside = "&ensp;" in cell
        room = room if inside else ROOT / "service" / _CODE.findall(cell)[0]
        for name in _CODE.findall(cell) if inside else []:
            assert (room / name).is_dir() or (room / f"{name}.py").exists(), cell


def test_the_picture_has_every_room() -> None:
    picture = (ROOT / "docs" / "architecture.svg").read_text()
    assert set(re.findall(r'class="name"[^>]*>(\w+)<', picture)) == set(PACKAGES)
    parts = re.findall(r'<rect class="part".*\n *<text [^>]*>([^<:]+)', picture)
    assert len(parts) > 15
    assert {name for part in parts for name in part.split(", ")} <= set(chain(*chain(*LAYERS.values())))


@pytest.mark.parametrize("walk", WALKS, ids=lambda walk: walk.partition("\n")[0].replace(" ", "-"))
def test_a_walk_names_one_function_a_room(walk: str) -> None:
    steps = re.findall(r"^\| `([\w.]+)` \|", walk, re.MULTILINE)
    assert len(steps) > 5
    rooms = [room_of(step) for step in steps]
    assert [room for room in rooms if rooms.count(room) > 1] == []
    found = {step: resolved(step) for step in steps}
    assert [
        step for step, it in found.items() if not callable(it) and not isinstance(it, cached_property)
    ] == []


def room_of(name: str) -> str:
    """``package`` or ``package.room``, as the page on the house has tables."""
    package, inside, *_ = name.removeprefix("zenserve.").split(".")
    return f"{package}.{inside}" if package in ("service", "circuits", "prover", "verifier") else package
