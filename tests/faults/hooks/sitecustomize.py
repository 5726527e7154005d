"""Loaded by every Python process that has this folder on its path: real workers meet with ``ACCIDENT``."""

import os
import sys

if "zenserve.service.worker" in sys.orig_argv:
    from tests.faults.accident import prepare

    prepare(os.environ["ACCIDENT"])
    os.nice = lambda _: 0  # beside other tests a nice worker would hardly ever have its turn
