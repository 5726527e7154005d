"""The package's modules: the checkout has them two folders up, a source distribution beside this file."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

MODULES = ("client", "verifier", "zenserve/codes.py", "zenserve/errors.py")


class Modules(BuildHookInterface[Any]):
    """Adds the modules to wheels and source distributions.

    An editable install has none: in a checkout they are zenserve's, whose editable install stands beside.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        here = Path(self.root)
        home = here if (here / MODULES[0]).exists() else here.parents[1]
        build_data["force_include"] |= {str(home / name): name for name in MODULES}
