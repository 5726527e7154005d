"""TypeScript's own checks and tests, as part of ours."""

from __future__ import annotations

from tests.web.conftest import WEB, Node


def test_types_and_style(node: Node) -> None:
    for tool in (["typescript/bin/tsc"], ["prettier/bin/prettier.cjs", "--check", "."]):
        found = node(str(WEB / "node_modules" / tool[0]), *tool[1:])
        assert found.returncode == 0, found.stdout + found.stderr


def test_its_own_tests(node: Node) -> None:
    found = node("--test", "--test-reporter=tap", "tests/*.test.ts")
    assert found.returncode == 0, found.stdout + found.stderr
