"""TypeScript's own checks and tests, as part of ours."""

from __future__ import annotations

import pytest

from tests.web.conftest import WEB, Node


def test_types_and_style(node: Node) -> None:
    for tool in (["typescript/bin/tsc"], ["prettier/bin/prettier.cjs", "--check", "."]):
        found = node(str(WEB / "node_modules" / tool[0]), *tool[1:])
        assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.large)])
def test_its_own_tests(node: Node, every: bool) -> None:
    """One vector of each reason for each run of the tests: Python judges them all, and pairs faster."""
    sample = {} if every else {"ONE_OF_EACH": "yes"}
    found = node("--test", "--test-reporter=tap", "tests/*.test.ts", environment=sample)
    assert found.returncode == 0, found.stdout + found.stderr
