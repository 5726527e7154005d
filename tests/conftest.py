"""Tests look into how the processor makes keys and proofs; those in tests/gpu choose the GPU themselves."""

import os

os.environ.setdefault("ZENSERVE_BACKEND", "cpu")

pytest_plugins = ["tests.servers"]
