#!/bin/sh
# numpy 2.4.6 (CPython 3.11.7): `np.savez` writes even the smallest array as a ZIP64 file in its local header, and as
# a plain one in the directory.
#
# One would guess that an archive of 300 bytes holds nothing of ZIP64. `np.savez` opens each member with
# `force_zip64=True`: the local header's two sizes are ffffffff, the true ones stand in an extra field 0001, and the version
# needed is 4.5. The directory has the sizes in 32 bits and no extra field, and there is no ZIP64 end record. A reader that
# refuses all of ZIP64 refuses every file of numpy's; one that compares local headers with the directory must look into
# the field. Members that `ZipFile.writestr` writes have neither.
#
# Seen: "local header: sizes ffffffff ffffffff, 20 bytes of extra fields; directory: sizes 152 152, 0 bytes".
# Exit status: 0 while this is so, 1 when it changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import io
import struct

import numpy as np

file = io.BytesIO()
np.savez(file, a=np.arange(3.0))
data = file.getvalue()
packed, size, _, extra = struct.unpack_from("<IIHH", data, 18)
entry = data.index(b"PK\1\2")
listed_packed, listed_size, _, listed_extra = struct.unpack_from("<IIHH", data, entry + 20)
print(
    f"local header: sizes {packed:x} {size:x}, {extra} bytes of extra fields; "
    f"directory: sizes {listed_packed} {listed_size}, {listed_extra} bytes"
)
as_said = (packed, size, extra) == (0xFFFFFFFF, 0xFFFFFFFF, 20) and (listed_size, listed_extra) == (152, 0)
raise SystemExit(0 if as_said and b"PK\6\6" not in data else 1)
PYTHON
