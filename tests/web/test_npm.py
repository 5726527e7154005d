"""What ``make packages`` makes for npm: the same bytes of the same tree, for strangers to install and use."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path
from typing import Any, Final

import pytest

from tests.web.conftest import WEB, Node

ROOT: Final = WEB.parent
PACKAGE: Final[dict[str, Any]] = json.loads((WEB / "package.json").read_text())
ARCHIVE: Final = f"zenserve-client-{PACKAGE['version']}.tgz"
FENCES: Final = [
    fence
    for page in (ROOT / "docs" / "api.md", ROOT / "packages" / "npm" / "README.md")
    for fence in re.findall(r"^```ts\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
]
"""What the pages say in TypeScript."""
INFERENCE: Final = ROOT / "tests" / "vectors" / "documents" / "inference"
_NPM: Final = str(Path(sys.prefix) / "bin" / "npm")

STRICT: Final = {
    "strict": True,
    "target": "ES2022",
    "noEmit": True,
    "types": [],
    "lib": ["ES2023", "DOM", "DOM.Iterable"],
}
SCRIPT: Final = """\
import { readFileSync } from "node:fs";
import { Client } from "zenserve-client/client";
import { verify, ZenError } from "zenserve-client/verifier";

const [document, key] = process.argv.slice(2).map((file) => readFileSync(file));
const { valid, reason } = await verify({ document, key });
const refused = (error) => error instanceof ZenError && error.code;
const refusal = await verify({ document: key, key }).catch(refused);
const zenserve = new Client({ baseUrl: "http://127.0.0.1:1", retrySeconds: 0 });
console.log(JSON.stringify([valid, reason, refusal, await zenserve.isReady()]));
"""
TYPED: Final = """\
import { Client, verifyLocally, type Proof } from "zenserve-client/client";
import { verify, type Verification } from "zenserve-client/verifier";

export async function prove(zenserve: Client, key: Uint8Array): Promise<[Proof, readonly string[]]> {
  const proof = await zenserve.wait(await zenserve.createProof({ model_id: "mdl_1", input: [1] }));
  const document = await zenserve.getProofDocument(proof.id);
  const verdict = await verifyLocally(document, key, { expected: { challenge: "lunch" } });
  // @ts-expect-error: the model is missing
  await zenserve.createProof({ input: [1] });
  await verify({ document: JSON.parse("{}"), key: { id: "00" }, input: [[0.5]] });
  // @ts-expect-error: it was not awaited
  await verify({ document: Promise.resolve(document), key });
  const sure = (found: Verification): readonly string[] => found.verified;
  return [proof, "statement" in verdict ? sure(verdict) : []];
}
"""


def build(tree: Path, umask: int, environment: dict[str, str]) -> dict[str, bytes]:
    """What is written from a copy of the tree, by its name."""
    for name in ("packages", "scripts", "web"):
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("node_modules"))
    shutil.copyfile(ROOT / "LICENSE", tree / "LICENSE")
    (tree / "web" / "node_modules").symlink_to(WEB / "node_modules")
    subprocess.run(
        [tree / "scripts" / "build_npm.sh", "dist"],
        cwd=tree,
        env=os.environ | {"PYTHON": sys.executable, "SOURCE_DATE_EPOCH": "1767225600"} | environment,
        umask=umask,
        check=True,
        capture_output=True,
    )
    return {file.name: file.read_bytes() for file in (tree / "dist").iterdir()}


@pytest.fixture(scope="module")
def dist(node: Node, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("packages")
    build(folder, 0o022, {"TZ": "UTC", "LC_ALL": "C"})
    return folder / "dist"


@pytest.mark.large
def test_the_same_tree_makes_the_same_bytes(dist: Path, tmp_path: Path) -> None:
    elsewhere = {"TZ": "Pacific/Chatham", "LC_ALL": "tr_TR.UTF-8"}
    again = build(tmp_path / "another" / "folder", 0o077, elsewhere)
    assert again == {file.name: file.read_bytes() for file in dist.iterdir()}
    assert sorted(again) == [ARCHIVE, f"{ARCHIVE}.cdx.json"]


def test_it_has_what_is_used_and_runs_nothing_when_it_is_installed(dist: Path) -> None:
    with tarfile.open(dist / ARCHIVE) as archive:
        names = set(archive.getnames())
    assert {"package/LICENSE", "package/README.md", "package/package.json"} < names
    rooms = {name.rsplit(".", 2 if name.endswith(".d.ts") else 1)[0] for name in names if "/dist/" in name}
    sources = {
        f"package/dist/{file.relative_to(WEB).with_suffix('')}"
        for room in ("client", "verifier")
        for file in (WEB / room).rglob("*.ts")
    }
    assert rooms == sources
    assert not PACKAGE["scripts"].keys() & {"preinstall", "install", "postinstall", "prepare"}
    assert all(f"package/{entry.removeprefix('./')}" in names for entry in PACKAGE["exports"].values())


def test_the_bill_lists_what_is_locked_and_nothing_of_the_build(dist: Path) -> None:
    bill = json.loads((dist / f"{ARCHIVE}.cdx.json").read_text())
    assert {part["name"]: part["version"] for part in bill["components"]} == PACKAGE["dependencies"]
    assert all(part["hashes"] for part in bill["components"])
    assert bill["metadata"]["component"]["name"] == PACKAGE["name"]
    assert bill["metadata"]["timestamp"] == "2026-01-01T00:00:00.000Z"
    assert "serialNumber" not in bill


@pytest.mark.large
def test_a_stranger_installs_it_and_uses_it(dist: Path, node: Node, tmp_path: Path) -> None:
    """Without a network: what it depends on is taken from here."""
    here = {name: f"file:{WEB / 'node_modules' / name}" for name in PACKAGE["dependencies"]}
    wanted = here | {PACKAGE["name"]: f"file:{dist / ARCHIVE}"}
    (tmp_path / "package.json").write_text(json.dumps({"type": "module", "dependencies": wanted}))
    install = [_NPM, "install", "--offline", "--no-audit", "--no-fund"]
    subprocess.run(install, cwd=tmp_path, check=True, capture_output=True)
    (tmp_path / "typed.ts").write_text(TYPED)
    options = STRICT | {"module": "nodenext", "moduleResolution": "nodenext"}
    (tmp_path / "tsconfig.json").write_text(json.dumps({"compilerOptions": options}))
    checked = node(str(WEB / "node_modules/typescript/bin/tsc"), "-p", str(tmp_path))
    assert checked.returncode == 0, checked.stdout
    for index, fence in enumerate(FENCES):
        (tmp_path / f"fence-{index}.ts").write_text(fence)
    bundled = {"module": "esnext", "moduleResolution": "bundler"}
    named = bundled | {"types": ["node"], "typeRoots": [str(WEB / "node_modules" / "@types")]}
    files = [f"fence-{index}.ts" for index in range(len(FENCES))]
    (tmp_path / "tsconfig.json").write_text(json.dumps({"compilerOptions": STRICT | named, "files": files}))
    checked = node(str(WEB / "node_modules/typescript/bin/tsc"), "-p", str(tmp_path))
    assert checked.returncode == 0, checked.stdout
    (tmp_path / "use.js").write_text(SCRIPT)
    used = node(
        str(tmp_path / "use.js"), *(str(INFERENCE / name) for name in ("valid.json", "valid-key.json"))
    )
    assert json.loads(used.stdout) == [True, "ok", "file.json", False], used.stderr


def test_it_has_the_projects_version_and_licence() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert (PACKAGE["version"], PACKAGE["license"]) == (project["version"], project["license"])
