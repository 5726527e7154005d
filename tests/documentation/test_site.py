"""``make site`` makes pages that hold together, show every document, and load nothing from elsewhere."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.programs import Find

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
LOADED = {"audio", "embed", "iframe", "img", "link", "object", "script", "source", "track", "video"}
"""Elements whose address a browser fetches by itself."""

pytestmark = pytest.mark.large
"""Sphinx takes half a minute; that links lead somewhere, test_names.py asks, too."""


class Page(HTMLParser):
    """``loaded`` and ``linked``: the addresses on it; ``names``: what an anchor may point to; ``listed``: the
    pages of its navigation.
    """

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.linked: list[str] = []
        self.listed: list[str] = []
        self.names = {""}
        self.feed(file.read_text())

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        self.names.add(given.get("id", ""))
        addresses = [given[name] for name in ("href", "src", "data") if name in given]
        (self.loaded if tag in LOADED else self.linked).extend(addresses)
        if "reference internal" in given.get("class", "") and "#" not in given.get("href", "#"):
            self.listed.append(given["href"])


def build(tree: Path, site: Path) -> str:
    """As the Makefile has it written, elsewhere; what is complained of."""
    makefile = (ROOT / "Makefile").read_text()
    (command,) = re.findall(r"^\t\$\(BIN\)/python (-m sphinx .*)$", makefile, re.MULTILINE)
    arguments = [part.replace("build/site", str(site)) for part in command.split()]
    done = subprocess.run([sys.executable, *arguments], cwd=tree, capture_output=True, text=True, check=False)
    assert (done.returncode != 0) == bool(done.stderr)
    return done.stderr


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "site"
    assert build(ROOT, folder) == ""
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {file: Page(file) for file in site.rglob("*.html")}


def test_every_document_is_in_the_navigation(site: Path, pages: dict[Path, Page]) -> None:
    documents = {file.relative_to(DOCS).with_suffix(".html") for file in DOCS.rglob("*.md")}
    listed = {Path(address) for address in pages[site / "index.html"].listed}
    assert documents - listed == {Path("index.html")}
    assert len(documents) > 30


def test_pages_load_nothing_from_elsewhere(site: Path, pages: dict[Path, Page]) -> None:
    loaded = [address for page in pages.values() for address in page.loaded]
    styles = "\n".join(file.read_text() for file in site.rglob("*.css"))
    loaded += re.findall(r"(?:url\(|@import)\s*['\"]?([^'\")]+)", styles)
    assert len(loaded) > 100
    assert [each for each in loaded if urlsplit(each).netloc] == []


def test_links_inside_lead_somewhere(pages: dict[Path, Page]) -> None:
    broken = [
        (file.name, address)
        for file, page in pages.items()
        for address in (*page.loaded, *page.linked)
        if not urlsplit(address).scheme and not leads_somewhere(file, address, pages)
    ]
    assert broken == []


def leads_somewhere(file: Path, address: str, pages: dict[Path, Page]) -> bool:
    parts = urlsplit(address)
    target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
    if target in pages:
        return unquote(parts.fragment) in pages[target].names
    return target.is_file()


def test_what_pages_show_is_there(site: Path) -> None:
    """Drawings and pictures; files of the tree to which pages link."""
    images = {file.name for file in (site / "_images").iterdir()}
    assert images >= {"architecture.svg", "circuit-computation.svg", "verify-valid.png", "zen-5.3.svg"}
    assert {file.name for file in (site / "_downloads").rglob("*.ipynb")} == {"schemes.ipynb"}


@pytest.mark.parametrize("link", ["glossary.md", "index.md#nowhere"])
def test_a_link_that_leads_nowhere_is_an_error(tmp_path: Path, link: str) -> None:
    (tmp_path / "docs").mkdir()
    for name in ("pyproject.toml", "docs/conf.py"):
        shutil.copyfile(ROOT / name, tmp_path / name)
    (tmp_path / "docs/index.md").write_text(f"# A page\n[Read on]({link})\n")
    assert "xref_missing" in build(tmp_path, tmp_path / "site")


def test_search_asks_nobody(site: Path, program: Find) -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium, asked = program("chromium"), list[str]()
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"], timeout=120_000)
        page = browser.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{site.as_uri()}/search.html?q=transcript")
        page.wait_for_selector("#search-results a[href^='ceremony.html']")
        browser.close()
    assert asked
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
