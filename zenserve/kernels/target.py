"""The extension modules, one for each target, and the choice between them."""

from __future__ import annotations

import importlib
import os
from functools import cache
from types import ModuleType

VARIABLE = "ZENSERVE_KERNELS"


@cache
def available_targets() -> tuple[str, ...]:
    """Names of the targets that this processor can run, fastest first; ``portable`` is always last.

    Where ``ZENSERVE_KERNELS`` names one, it is the first: faster ones are left out. Raises ``ValueError``
    where it names none of them.
    """
    processor = extension("portable")
    ifma = ("x86_ifma",) if processor.cpu_has_ifma() else ()
    adx = ("x86_adx",) if processor.cpu_has_adx() else ()
    targets = (*ifma, *adx, "portable")
    first = os.environ.get(VARIABLE, targets[0])
    if first not in targets:
        raise ValueError(f"{VARIABLE} is {first!r}: this processor runs {', '.join(targets)}")
    return targets[targets.index(first) :]


@cache
def extension(target: str) -> ModuleType:
    """The extension module of an available target, or of ``emulated`` where that was built."""
    return importlib.import_module(f"zenserve.kernels._kernels_{target}")
