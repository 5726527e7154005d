"""The client-only wheel: verifies without the native kernels, and without numpy but for datasets."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
from hatchling.build import build_wheel

from tests.client import files
from tests.client.makers import AccuracyMaker
from zenserve.verifier.datasets import LabelledData
from zenserve.verifier.documents import ProofDocument, Receipt

HERE = Path(__file__).parents[2] / "packages" / "client"

# What installed packages this interpreter has, but not the project itself: that comes from the wheel alone.
VERIFY = """
import sys
sys.path[:0] = sys.argv[1:3]
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.removeprefix("zenserve.").partition(".")[0] in ("kernels", "base", "prover", "circuits",
        "service"):
            raise ImportError(name)
sys.meta_path.insert(0, Absent())
import zenserve.verifier.command
assert zenserve.verifier.__file__.startswith(sys.argv[1])
code = zenserve.verifier.command.main(sys.argv[3:])
print("numpy" in sys.modules)
sys.exit(code)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(HERE)
        name = build_wheel(str(folder))
    zipfile.ZipFile(folder / name).extractall(folder / "site")
    return folder / "site"


def run(installed: Path, folder: Path, *arguments: str) -> tuple[int, bool]:
    """The exit code, and whether numpy was loaded."""
    packages = sysconfig.get_path("purelib")
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-B", "-c", VERIFY, str(installed), packages, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()[-1] == "True"


def test_the_wheel_verifies(
    installed: Path,
    tmp_path: Path,
    assessor: AccuracyMaker,
    assessed: ProofDocument,
    receipt: Receipt,
    data: LabelledData,
) -> None:
    swapped = assessed.model_copy(update={"proofs": assessed.proofs[::-1]})
    files.write(tmp_path, proof=assessed, swapped=swapped, key=assessor.maker.key_file, receipt=receipt)
    files.write_data(tmp_path, data)
    assert run(installed, tmp_path, "proof.json", "--key", "key.json") == (0, False)
    assert run(installed, tmp_path, "swapped.json", "--key", "key.json") == (1, False)
    assert run(installed, tmp_path, "receipt.json") == (0, False)
    assert run(installed, tmp_path, "proof.json", "--key", "key.json", "--dataset", "data.npz") == (0, True)


def test_the_first_program_of_its_page_runs(
    installed: Path, tmp_path: Path, assessor: AccuracyMaker, assessed: ProofDocument
) -> None:
    files.write(tmp_path, proof=assessed, key=assessor.maker.key_file)
    program = (HERE / "README.md").read_text().split("```python\n")[1].partition("```")[0]
    done = subprocess.run(
        [sys.executable, "-I", "-B", "-c", f"import sys; sys.path.insert(0, {str(installed)!r})\n{program}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "True ok\n"


def test_nothing_else_is_in_the_wheel(installed: Path) -> None:
    found = {
        "/".join(file.relative_to(installed).parts[:2]) for file in installed.rglob("*") if file.is_file()
    }
    assert {name for name in found if ".dist-info/" not in name} == {
        "zenserve/__init__.py",
        "zenserve/client",
        "zenserve/codes.py",
        "zenserve/errors.py",
        "zenserve/py.typed",
        "zenserve/verifier",
    }
    assert {
        file.suffix for file in installed.rglob("*.*") if file.is_file() and "dist-info" not in str(file)
    } == {".py", ".typed"}
