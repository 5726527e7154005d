"""The first hour of three people, from the built wheels in an empty environment to a friend's verdict."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, Final

import pytest

from tests.newcomers.conftest import ROOT, Environment, run
from tests.web.test_verify_page import FILE

HERE: Final = Path(__file__).parent
PEOPLE: Final = {
    "forest_on_a_table": ("pandas", "scikit-learn", "skl2onnx"),
    "boosted_dataframe": ("pandas", "lightgbm", "scikit-learn"),  # which LGBMClassifier asks for
    "text_classifier": ("torch==2.13.0", "onnxscript"),
}
JUDGE: Final = """\
import { readFileSync } from "node:fs";
import { verify } from "zenserve-client/verifier";
const [document, key] = process.argv.slice(2).map((file) => readFileSync(file));
const { valid, reason } = await verify({ document, key });
console.log(JSON.stringify([valid, reason]));
"""

pytestmark = pytest.mark.large


@pytest.fixture(scope="session")
def friend(environment: Environment) -> Path:
    """A machine with the verifier alone."""
    return environment("zenserve-client")


@pytest.mark.parametrize("person", PEOPLE)
def test_an_own_model_is_proven_and_a_friend_verifies_it(
    person: str, environment: Environment, friend: Path, browser: Any, tmp_path: Path
) -> None:
    programs = environment("zenserve", *PEOPLE[person])
    shutil.copy(HERE / f"{person}.py", tmp_path / "hour.py")
    run([programs / "python", "hour.py"], tmp_path)
    files = [tmp_path / "proof" / name for name in ("proof.json", "key.json")]
    names = [table] if (table := tmp_path / "proof" / "table.json").exists() else []
    for verifier in (programs / "zenserve-verify", friend / "zenserve-verify"):
        command: list[str | Path] = [verifier, files[0], "--key", files[1]]
        said = run([*command, "--table", *names] if names else command, tmp_path)
        assert said.startswith("valid")
        assert ("The label is called" in said) is (person == "forest_on_a_table")
    assert json.loads(_in_node(files, tmp_path)) == [True, "ok"]
    word, first = _in_a_browser(browser, [*files, *names])
    assert word == "Valid"
    assert ("The label is called" in first) is (person == "forest_on_a_table")


def _in_node(files: list[Path], folder: Path) -> str:
    """The verdict of the package for npm, as somebody else installs it."""
    run([ROOT / "scripts" / "build_npm.sh", folder / "npm"], ROOT)
    (archive,) = (folder / "npm").glob("*.tgz")
    npm, node = (ROOT / ".venv" / "bin" / name for name in ("npm", "node"))
    (folder / "package.json").write_text('{"type": "module"}')
    run([npm, "install", "--no-audit", "--no-fund", archive], folder)
    (folder / "judge.js").write_text(JUDGE)
    return run([node, "judge.js", *files], folder)


def _in_a_browser(browser: Any, files: list[Path]) -> list[str]:
    """The heading of the card on the page that verifies, opened as a file: a word, and a sentence."""
    page = browser.new_context(offline=True).new_page()
    page.goto(FILE.as_uri())
    page.set_input_files("#choose", [str(file) for file in files])
    page.wait_for_selector("#answer .good, #answer .bad, #trouble .card")
    return [str(line) for line in page.inner_text("#answer h2, #trouble h2").split("\n")]
