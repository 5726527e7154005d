"""What ``make packages`` makes: the same bytes of the same tree, and a bill of what is locked."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hatchling.build import build_wheel
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "packages" / "client"
PROJECT = tomllib.loads((PACKAGE / "pyproject.toml").read_text())
LOCKED = dict(re.findall(r"^([\w-]+)==(\S+)", (PACKAGE / "requirements.txt").read_text(), re.MULTILINE))
OWNED = ("__init__.py", "client", "codes.py", "errors.py", "py.typed", "verifier")
COMMITTED_AT = "1767225600"


def build(tree: Path, umask: int, environment: dict[str, str]) -> dict[str, bytes]:
    """What is written from a copy of the tree, by its name."""
    for name in ("packages", "scripts", *(f"zenserve/{name}" for name in OWNED)):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copyfile
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        copy(ROOT / name, tree / name)
    subprocess.run(
        [tree / "scripts" / "build_client.sh", "dist"],
        cwd=tree,
        env=os.environ | {"PYTHON": sys.executable, "SOURCE_DATE_EPOCH": COMMITTED_AT} | environment,
        umask=umask,
        check=True,
        capture_output=True,
    )
    return {file.name: file.read_bytes() for file in (tree / "dist").iterdir()}


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("packages")
    build(folder, 0o022, {"TZ": "UTC", "LC_ALL": "C"})
    return folder / "dist"


@pytest.mark.large
def test_the_same_tree_makes_the_same_bytes(dist: Path, tmp_path: Path) -> None:
    elsewhere = {"TZ": "Pacific/Chatham", "LC_ALL": "tr_TR.UTF-8", "PYTHONHASHSEED": "7"}
    again = build(tmp_path / "another" / "folder", 0o077, elsewhere)
    assert again == {file.name: file.read_bytes() for file in dist.iterdir()}
    assert sorted(again) == [
        "zenserve_client-0.1.0-py3-none-any.whl",
        "zenserve_client-0.1.0.cdx.json",
        "zenserve_client-0.1.0.tar.gz",
    ]


def test_the_checkout_makes_the_wheel_of_the_source_distribution(
    dist: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(PACKAGE)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", COMMITTED_AT)
    wheel = build_wheel(str(tmp_path))
    assert (tmp_path / wheel).read_bytes() == (dist / wheel).read_bytes()


def test_pypi_would_take_them(dist: Path) -> None:
    files = [str(file) for file in dist.iterdir() if file.suffix != ".json"]
    command = [sys.executable, "-m", "twine", "check", "--strict", *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.count("PASSED")) == (0, 2), done.stdout


def test_the_bill_lists_what_is_locked_and_nothing_of_the_build(dist: Path) -> None:
    bill = json.loads((dist / "zenserve_client-0.1.0.cdx.json").read_text())
    assert {part["name"]: part["version"] for part in bill["components"]} == LOCKED
    assert all(part["externalReferences"][0]["hashes"] for part in bill["components"])
    assert bill["metadata"]["component"]["name"] == "zenserve-client"
    assert bill["metadata"]["timestamp"] == "2026-01-01T00:00:00+00:00"
    assert "serialNumber" not in bill


def test_the_lock_is_of_what_the_package_asks_for() -> None:
    asked = [Requirement(line) for line in PROJECT["project"]["dependencies"]]
    assert [str(one) for one in asked if not one.specifier.contains(LOCKED[one.name])] == []


def test_it_is_built_with_what_is_here_and_has_the_projects_version_and_licence() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(PROJECT["build-system"]["requires"]) <= set(project["optional-dependencies"]["dev"])
    assert PROJECT["project"]["version"] == project["version"]
    assert (PACKAGE / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_no_file_is_of_both_packages_and_zenserve_brings_the_command() -> None:
    whole = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project, wheel = whole["project"], whole["tool"]["scikit-build"]["wheel"]
    line = (PACKAGE / "hatch_build.py").read_text().partition("OWNED = (")[2].partition(")")[0]
    assert tuple(re.findall(r'"([\w.]+)"', line)) == OWNED
    assert {name.removesuffix("/**") for name in wheel["exclude"]} == {f"zenserve/{name}" for name in OWNED}
    assert not project["scripts"].keys() & PROJECT["project"]["scripts"].keys()
    assert "zenserve-verify" in PROJECT["project"]["scripts"]
    assert project["dependencies"][0] == f"{PROJECT['project']['name']}=={project['version']}"
    assert "./packages/client ." in (ROOT / "Dockerfile").read_text()


def test_the_command_is_installed_here() -> None:
    """By ``make``: an editable install of both."""
    command = Path(sys.executable).with_name("zenserve-verify")
    if not command.exists():
        pytest.skip("installed before zenserve required zenserve-client: make .venv/.installed-dev")
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"zenserve-verify {PROJECT['project']['version']}\n"
