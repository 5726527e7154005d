#!/bin/sh
# numpy 2.4.6: a list of non-negative integers becomes floats, or unsigned integers, by whether one of them is below 2^63.
#
# All of the lists below fit uint64. numpy gives each integer a type of its own, int64 below 2^63 and uint64 from there on,
# and then the type that both go into: float64, which has no 2^63 + 1. Nothing warns. A reader in another language that
# takes "integers up to 2^64 - 1" for what numpy takes finds other numbers.
#
# Seen: "[2^63 + 1]: uint64, exact; [2^63 + 1, 3]: float64, off by 1; [2^63 + 1, True]: uint64, exact".
# Exit status: 0 while this is so, 1 when it changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np

large = (1 << 63) + 1
found = {}
for name, values in (("[2^63 + 1]", [large]), ("[2^63 + 1, 3]", [large, 3]), ("[2^63 + 1, True]", [large, True])):
    array = np.asarray(values)
    off = abs(int(array[0]) - large)
    found[name] = f"{array.dtype}, {f'off by {off}' if off else 'exact'}"
print("; ".join(f"{name}: {what}" for name, what in found.items()))
raise SystemExit(0 if list(found.values()) == ["uint64, exact", "float64, off by 1", "uint64, exact"] else 1)
PYTHON
