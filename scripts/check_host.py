"""Says what this host lacks before anything is installed: ``python3 scripts/check_host.py``.

Runs under the Python that is to make the virtual environment, whatever its age, so it keeps to old syntax.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile

OLDEST = (3, 11)
PROGRAM = """#include <bit>
using Words = unsigned __attribute__((vector_size(16)));
int main() { return std::popcount(__builtin_shufflevector(Words{}, Words{}, 0, 1, 2, 3)[0]); }
"""  # C++20, and the vector extension as GCC has it since 12


def missing():
    """Pairs of what is missing and what to install on Debian or Ubuntu."""
    version = ".".join(map(str, OLDEST))
    if sys.version_info < OLDEST:
        found = "{}.{}".format(*sys.version_info[:2])
        yield f"Python {version} or newer (this is {found}; try PYTHON=...)", "python3"
        return
    if not (importlib.util.find_spec("venv") and importlib.util.find_spec("ensurepip")):
        yield "Python's venv and ensurepip modules", "python3-venv"
    if not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")):
        yield "Python's C headers (Python.h)", "python3-dev"
    if not shutil.which("g++"):
        yield "a C++ compiler (g++)", "g++"
    elif not compiles_cpp20():
        yield "a C++ compiler with C++20 (g++ 12 or newer)", "g++"
    if not shutil.which("make"):
        yield "make", "make"


def compiles_cpp20():
    """Whether g++ compiles and links a program of C++20."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["g++", "-std=c++20", "-x", "c++", "-", "-o", os.path.join(folder, "program")]
        return subprocess.run(command, input=PROGRAM.encode(), capture_output=True).returncode == 0  # noqa: S603


def main():
    """Exit code 0 if nothing is missing."""
    gaps = list(missing())
    for what, _ in gaps:
        print(f"missing: {what}", file=sys.stderr)
    if gaps:
        packages = " ".join(sorted({package for _, package in gaps}))
        print(f"On Debian or Ubuntu: sudo apt install {packages}", file=sys.stderr)
    return 1 if gaps else 0


if __name__ == "__main__":
    sys.exit(main())
