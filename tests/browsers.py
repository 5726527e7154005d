"""Chromium, without a window, for tests of pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.patience import until
from tests.programs import Find

FLAGS = ("no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking")


@pytest.fixture(scope="module")
def browser(program: Find) -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    flags = [f"--{flag}" for flag in FLAGS]
    chromium = program("chromium")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=flags, timeout=120_000)
        yield browser
        browser.close()


def wait_until(page: Any, expression: str, argument: object = None) -> None:
    """Waits until a page's expression is true, asked from outside.

    The page's own waiting evaluates text, which its Content-Security-Policy forbids.
    """
    until(lambda: page.evaluate(expression, argument), expression)
