"""The extension modules, one for each target, and the choice between them."""

from __future__ import annotations

import importlib
from functools import cache
from types import ModuleType


@cache
def available_targets() -> tuple[str, ...]:
    """Names of the targets that this processor can run, fastest first; ``portable`` is always last."""
    adx = ("x86_adx",) if extension("portable").cpu_has_adx() else ()
    return (*adx, "portable")


@cache
def extension(target: str) -> ModuleType:
    """The extension module of a target in ``available_targets()``."""
    return importlib.import_module(f"kernels._kernels_{target}")
