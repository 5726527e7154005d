"""The second phase of a trusted setup, by any number of contributors (docs/ceremony.md).

    state = start(statement, powers)
    state = contribute(state, "name")        each contributor in turn, on a machine of their own
    state = add_beacon(state, beacon)        anyone, with public randomness
    state = load_next(file, before)          whoever keeps the state: a contribution that came, verified
    verify(state, statement, powers)         anyone
    key = finish(state, statement, powers)

The rooms: ``state`` (what is passed on, and its file), ``initial`` (where it starts), ``origin`` (whether it
started there), ``chain`` (shares and the proofs that their owners know them), ``contribution``,
``increment``, ``verification``, ``finish``.
"""

from zenserve.prover.groth16.ceremony.chain import Contribution
from zenserve.prover.groth16.ceremony.contribution import add_beacon, contribute
from zenserve.prover.groth16.ceremony.finish import finish, fixed_fields, require_powers, verifying_key
from zenserve.prover.groth16.ceremony.increment import load_next
from zenserve.prover.groth16.ceremony.initial import start
from zenserve.prover.groth16.ceremony.state import State
from zenserve.prover.groth16.ceremony.verification import check, verify
from zenserve.verifier.beacon import Beacon

__all__ = [
    "Beacon",
    "Contribution",
    "State",
    "add_beacon",
    "check",
    "contribute",
    "finish",
    "fixed_fields",
    "load_next",
    "require_powers",
    "start",
    "verify",
    "verifying_key",
]
