"""Loaded by every Python process that has this folder on its path: real workers meet with ``ACCIDENT``."""

import os
import sys

if "service.worker" in sys.orig_argv:
    from tests.faults.accident import prepare

    prepare(os.environ["ACCIDENT"])
