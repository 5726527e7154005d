"""The documentation as a static site, of plain Markdown, by MyST: ``make site`` (docs/releasing.md)."""

import tomllib
from pathlib import Path

project = "ZenServe"
version = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]["version"]

extensions = ["myst_parser", "sphinx.ext.githubpages"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
smartquotes = False  # sentences and commands are to be copied as they are
suppress_warnings = ["misc.highlighting_failure"]  # of answers that are cut short with "…"

html_theme = "furo"
html_title = f"ZenServe {version}"
html_copy_source = False
html_show_copyright = False
html_use_index = False
