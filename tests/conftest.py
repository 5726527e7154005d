"""Tests look into how the processor makes keys and proofs; those in tests/gpu choose the GPU themselves.

Several processes of tests share the cores, where the threads of a BLAS would spend their time on waiting.
"""

import os

os.environ.setdefault("ZENSERVE_BACKEND", "cpu")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

pytest_plugins = ["tests.servers"]
