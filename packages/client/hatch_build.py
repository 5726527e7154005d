"""What of ``zenserve`` this package owns: a checkout has it two folders up, a source distribution beside this
file.
"""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

OWNED = ("__init__.py", "client", "codes.py", "errors.py", "py.typed", "verifier")


class Modules(BuildHookInterface[Any]):
    """Adds the modules to wheels and source distributions.

    An editable install has none: in a checkout they are zenserve's, whose editable install stands beside.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        here = Path(self.root)
        home = here if (here / "zenserve").exists() else here.parents[1]
        build_data["force_include"] |= {str(home / "zenserve" / name): f"zenserve/{name}" for name in OWNED}
