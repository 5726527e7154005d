"""Groth16 with the iden3 tools: circom's circuits and witnesses, snarkjs' keys and proofs, on curve bls12381.

    write_r1cs, read_r1cs      statements as ``.r1cs``
    write_wtns, read_wtns      witnesses as ``.wtns``
    write_zkey, read_zkey      proving keys as ``.zkey``
    write_ptau, read_ptau      powers of tau as ``.ptau``, and who contributed: read_contributors
    export_*, import_*         verifying keys, proofs and public inputs in snarkjs' JSON

For statements without segments: iden3's formats know no others. Every reader is for files from strangers and
raises ``FileFormatError`` with a code ``file.*``. docs/interoperability.md has the commands.
"""

from zenserve.prover.groth16.iden3.ptau import read_contributors, read_ptau, write_ptau
from zenserve.prover.groth16.iden3.r1cs import read_r1cs, write_r1cs
from zenserve.prover.groth16.iden3.snarkjs_json import (
    UNKNOWN_STATEMENT,
    export_proof,
    export_public_inputs,
    export_verifying_key,
    import_proof,
    import_public_inputs,
    import_verifying_key,
)
from zenserve.prover.groth16.iden3.wtns import read_wtns, write_wtns
from zenserve.prover.groth16.iden3.zkey import read_zkey, write_zkey

__all__ = [
    "UNKNOWN_STATEMENT",
    "export_proof",
    "export_public_inputs",
    "export_verifying_key",
    "import_proof",
    "import_public_inputs",
    "import_verifying_key",
    "read_contributors",
    "read_ptau",
    "read_r1cs",
    "read_wtns",
    "read_zkey",
    "write_ptau",
    "write_r1cs",
    "write_wtns",
    "write_zkey",
]
