"""What is printable is what the page lists, to every verifier, and no version of Unicode's."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from tests.vectors import plain_verifier
from tests.web.conftest import Node
from zenserve.verifier.document import is_printable, printable

PAGE = Path(__file__).parents[2] / "docs" / "formats.md"
ALL = range(sys.maxunicode + 1)
ASK = """
import { isPrintable } from "./verifier/document.ts";
const ranges = [];
for (let c = 0, from = null; c <= 0x110000; c++) {
  const bad = c < 0x110000 && !isPrintable(String.fromCodePoint(c));
  if (bad && from === null) from = c;
  if (!bad && from !== null) ranges.push([from, c - 1]), (from = null);
}
console.log(JSON.stringify(ranges));
"""


def listed() -> list[tuple[int, int]]:
    (paragraph,) = (text for text in PAGE.read_text().split("\n\n") if text.startswith("**Printable**"))
    found = re.findall(r"`([0-9A-F]{4,6})(?:-([0-9A-F]{4,6}))?`", paragraph)
    return [(int(first, 16), int(last or first, 16)) for first, last in found]


def test_python_refuses_what_the_page_lists() -> None:
    ranges = listed()
    assert ranges == sorted(ranges)
    refused = {code for first, last in ranges for code in range(first, last + 1)}
    assert refused == {code for code in ALL if not is_printable(chr(code))}
    assert list(plain_verifier.UNPRINTABLE) == ranges


def test_so_does_typescript(node: Node) -> None:
    answer = node("--input-type=module", "-e", ASK)
    assert answer.returncode == 0, answer.stderr
    assert [tuple(each) for each in json.loads(answer.stdout)] == listed()


def test_whatever_was_printable_to_unicode_14_is() -> None:
    """Documents of before stay readable; and all that directs a terminal is refused by any version."""
    assert all(is_printable(chr(code)) for code in ALL if chr(code).isprintable())
    assert printable("a\x1b[2J\u202eb\n") == "a\ufffd[2J\ufffdb\ufffd"
