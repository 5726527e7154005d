"""The extension modules, one for each target, and the choice between them."""

from __future__ import annotations

import importlib
from functools import cache
from types import ModuleType


@cache
def available_targets() -> tuple[str, ...]:
    """Names of the targets that this processor can run, fastest first; ``portable`` is always last."""
    processor = extension("portable")
    ifma = ("x86_ifma",) if processor.cpu_has_ifma() else ()
    adx = ("x86_adx",) if processor.cpu_has_adx() else ()
    return (*ifma, *adx, "portable")


@cache
def extension(target: str) -> ModuleType:
    """The extension module of an available target, or of ``emulated`` where that was built."""
    return importlib.import_module(f"kernels._kernels_{target}")
