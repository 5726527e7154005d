"""requirements/ locks what pyproject.toml asks for, and the image has the versions that CI tests."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
# Extras that ask for another one have its packages beside theirs.
EXTRAS = {
    name: [one for one in asked if not one.startswith("zenserve[")]
    for name, asked in PROJECT["project"]["optional-dependencies"].items()
}
# Of zenserve-client what it asks for: it is of this checkout.
CLIENT = tomllib.loads((ROOT / "packages" / "client" / "pyproject.toml").read_text())
RUN = [*PROJECT["project"]["dependencies"][1:], *CLIENT["project"]["dependencies"]]
ASKED = {
    "dev": [*RUN, *chain(*(EXTRAS[name] for name in ("service", "reference", "dev", "production", "gpu")))],
    "production": [*RUN, *EXTRAS["service"], *EXTRAS["production"]],
    "gpu": EXTRAS["gpu"],
    "build": [*PROJECT["build-system"]["requires"], *CLIENT["build-system"]["requires"]],
}


def locked(name: str) -> dict[str, str]:
    """Versions by package; each has hashes."""
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    entries = re.findall(r"^([\w.-]+)==(\S+).*(?:\\\n    --hash=sha256:[0-9a-f]{64} ?)+$", text, re.MULTILINE)
    assert len(entries) == len(re.findall(r"^\w", text, re.MULTILINE))
    return dict(entries)


@pytest.mark.parametrize("name", ASKED)
def test_what_is_asked_for_is_locked(name: str) -> None:
    asked, found = map(Requirement, ASKED[name]), locked(name)
    assert [str(one) for one in asked if not one.specifier.contains(found[one.name])] == [], "scripts/lock.sh"


@pytest.mark.parametrize("name", ["production", "gpu"])
def test_the_image_has_the_versions_that_ci_tests(name: str) -> None:
    assert locked(name).items() <= locked("dev").items()


def test_nothing_says_that_zenserve_is_on_pypi_before_it_is() -> None:
    """Whoever registers the name first would be installed (docs/releasing.md)."""
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("asks git for the files")
    told = r"pip install( -[^ ]+)* ['\"]?zenserve(\[|['\"` ]|$)"
    command = [git, "grep", "-nE", told, "--", ".", ":!CHANGELOG.md", ":!docs/releasing.md"]
    found = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    assert found.stdout == ""
