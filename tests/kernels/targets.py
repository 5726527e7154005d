"""The targets that tests run on."""

from __future__ import annotations

from importlib.util import find_spec

import kernels

TARGETS = (*kernels.available_targets(), *(["emulated"] if find_spec("kernels._kernels_emulated") else []))
