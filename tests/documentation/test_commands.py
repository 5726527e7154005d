"""What README and the documents tell people to type is typed, page by page, each in an empty folder.

Fences of ``sh`` and ``python`` are typed as they are written, all of a page in one shell and then in one
program. Those that say ``untyped`` are not, each for a reason that is given here. Others hold answers and
formats.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.servers import free_port

ROOT = Path(__file__).parents[2]
PAGES = {path.stem: path.read_text() for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))}
PATIENCE_SECONDS = 900.0
# They take as long as all others; tests/service, tests/circuits and tests/examples do what they type.
_LONG = (
    "schemes",
    "streams",
    "compiler",
    "ceremony",
    "cli",
    "api",
    "robustness",
    "inputs",
    "onchain",
    "quickstart",
)

UNTYPED = {
    (
        "ceremony",
        "zenserve basis import",
    ): "tests/service/test_key_install.py: powers that others contributed to",
    (
        "ceremony",
        "ID=$(zenserve ceremonies",
    ): "tests/service/test_ceremonies.py: powers that others contributed to",
    ("README", "sudo apt install"): "what .ci/run does in a clean checkout",
    ("gpu", "python -m bench.gpu"): "asks for a GPU",
    ("inputs", "import pandas"): "tests/circuits/test_frames.py types it where pandas is installed",
    ("inputs", "zenserve import"): "asks for pandas, and a service: tests/service/test_import_cli.py",
    ("interoperability", ""): "tests/prover/iden3 does it with snarkjs, which is npm's",
    ("operations", "cp deploy/env.example"): "asks for Docker; tests/service/test_compose.py does it without",
    (
        "operations",
        "zenserve basis import",
    ): "asks for a public ceremony's powers: tests/service/test_basis.py",
    (
        "operations",
        "zenserve tenants add Research",
    ): "asks for a provider: tests/service/test_oidc.py reads it",
    ("operations", "zenserve openings"): "ends the use of what there is: tests/service/test_openings.py",
    ("operations", "python3 -m venv /opt"): "asks for a host of its own: tests/service/test_hosts.py",
    ("operations", "zenserve backup"): "asks for a deployment: tests/service/test_backup.py",
    ("operations", "zenserve restore"): "asks for one that was never used: tests/service/test_backup.py",
    (
        "cli",
        "zenserve import",
    ): "asks for scikit-learn, and a reader's module: tests/service/test_import_cli.py",
    ("kubernetes", "kubectl"): "asks for a cluster: tests/service/test_kubernetes.py renders what it applies",
    (
        "kubernetes",
        "pip install checkov",
    ): "takes 300 MB: tests/service/test_kubernetes.py runs it if it is there",
    ("papers", "zenserve tables"): "takes minutes: tests/service/test_tables_cli.py",
    ("coverage", ""): "asks for a suite: tests/bench/test_coverage.py makes one",
    ("performance", ""): "benchmarks: tests/bench runs each, on small sizes",
    ("spartan", "zenserve verify"): "takes what the page's program makes: tests/zenserve/test_prove.py does",
    ("python", "zenserve verify"): "takes what the page's program makes: tests/zenserve/test_prove.py does",
    ("python", "import torch"): "tests/zenserve/test_prove.py types it where PyTorch is installed",
    (
        "python",
        "from sklearn",
    ): "tests/circuits/test_estimators.py and tests/zenserve/test_classifier.py do it where it is installed",
    ("quickstart", "make install"): "what make test has done here",
    ("quickstart", "export ZENSERVE_URL=https"): "asks for somebody else's service",
    ("releasing", "make packages"): "tests/client/test_packages.py makes them",
    ("releasing", "make wheel"): "takes minutes: tests/wheel/test_wheel.py does it",
    ("releasing", "git tag"): "publishes: tests/wheel/test_wheel.py reads the workflow",
    ("releasing", "pypi-attestations"): "asks for what was published",
    ("releasing", "twine upload"): "asks for an account: tests/client/test_packages.py checks what it sends",
    ("releasing", "rsync"): "asks for a host: tests/documentation/test_site.py makes what it copies",
    ("releasing", "uv pip compile"): "asks an index what is the newest",
    ("schemes", "python -m examples.hospital"): "tests/examples/test_schemes.py runs them",
    (
        "streams",
        "zenserve verify stream.json",
    ): "takes a stream over the bank: tests/service/test_banks_cli.py shows it one frame",
    ("vectors", "python plain_verifier.py"): "tests/vectors/test_plain_verifier.py runs it",
    ("verifying", "sha256sum"): "tests/web/test_verify_page.py makes the page again, and compares",
    ("verifying", "zenserve audit"): "tests/service/test_audit_cli.py: a key of a ceremony that others held",
    ("verifying", "pip install"): "tests/client/test_wheel.py installs the client alone, and verifies",
    ("zoo", "pip install"): "asks for PyTorch, data sets, and hours",
    ("lowbit", "pip install"): "asks for PyTorch, data sets, and a card",
}
"""Blocks that are not typed, by their page and how they begin, and why."""

_FENCE = re.compile(r"^```(\w*)( untyped)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SERVE = re.compile(r"^zenserve serve &.*$", re.MULTILINE)
# Whoever types sees when the service is there: it says so once it has left its token.
_READY = r"\g<0>\nwhile kill -0 $! && ! [ -e $XDG_STATE_HOME/zenserve/8000.token ]; do sleep 0.1; done"
_STOP = "trap 'kill $(jobs -p) 2> /dev/null || true; wait' EXIT\n"


def blocks(page: str, *languages: str, typed: bool = True) -> list[str]:
    return [
        text
        for fence, un, text in _FENCE.findall(PAGES[page])
        if fence in languages and typed is not bool(un)
    ]


def script(page: str) -> str:
    """Its shell, and then its Python."""
    typed = _SERVE.sub(_READY, "\n".join(blocks(page, "sh")))
    program = "\n".join(blocks(page, "python"))
    return f"{_STOP}{typed}\npython - <<'PYTHON'\n{program}\nPYTHON\n"


def type_in(folder: Path, script: str) -> tuple[int, str]:
    """The exit code of a shell that stops at the first command that fails, and all that was said."""
    port = str(free_port())  # several services may run on this machine
    (folder / "examples").symlink_to(ROOT / "examples")
    (folder / ".venv").symlink_to(sys.prefix)
    (folder / ".curlrc").write_text("fail-with-body\n")
    given = {
        "HOME": str(folder),
        "PATH": f"{sys.prefix}/bin:{os.environ['PATH']}",
        "ZENSERVE_CACHE": str(folder.parent / "cache"),  # how fast this machine is, is found out once
        "ZENSERVE_PORT": port,
        "ZENSERVE_URL": f"http://127.0.0.1:{port}",
        "ZENSERVE_THREADS": "1",
        "ZENSERVE_BASIS_POINTS": "4096",
    }
    with (folder / "typed.log").open("w+") as log:
        shell = subprocess.Popen(
            ["/bin/bash", "-eux", "-o", "pipefail", "-c", script.replace("8000", port)],
            cwd=folder,
            env=os.environ | given,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            code = shell.wait(PATIENCE_SECONDS)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(shell.pid, signal.SIGKILL)
        log.seek(0)
        return code, log.read()


def typed_pages() -> Iterator[object]:
    for page in PAGES:
        if blocks(page, "sh", "python"):
            marks = [pytest.mark.program] if "curl " in script(page) else []
            yield pytest.param(page, marks=[*marks, *[pytest.mark.large] * (page in _LONG)])


@pytest.mark.parametrize("page", list(typed_pages()))
def test_a_page_can_be_typed(page: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    text = script(page)
    if "curl " in text:
        request.getfixturevalue("program")("curl")
    code, said = type_in(tmp_path, text)
    assert code == 0, said[-5000:]


def test_what_is_not_typed_has_a_reason() -> None:
    left = [(page, text) for page in PAGES for text in blocks(page, "sh", "python", typed=False)]
    reasons = [_reason(page, text) for page, text in left]
    assert set(reasons) == set(UNTYPED)


def _reason(page: str, text: str) -> tuple[str, str] | None:
    return next(((of, start) for of, start in UNTYPED if page == of and text.startswith(start)), None)


def test_readme_is_short_and_has_no_figure_of_its_own() -> None:
    assert len((ROOT / "README.md").read_bytes()) <= 7000
    figures = re.findall(
        r"^\|.*", PAGES["README"].partition("## How fast\n")[2].partition("\n## ")[0], re.MULTILINE
    )
    assert len(figures) > 2
    assert set(figures) <= set(PAGES["performance"].splitlines())
