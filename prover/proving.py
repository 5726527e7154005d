"""The Groth16 prover (ePrint 2016/260, section 3.2).

Not constant-time in the witness: timings are for the owner of the witness only. Arrays that hold values
derived from it are zeroed before the call returns or raises; the witness itself belongs to the caller.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from kernels import FrArray, Group, fr, g1, g2
from prover import qap
from prover.progress import Progress, silent
from prover.proof import Proof
from prover.proving_key import Points, ProvingKey
from prover.randomness import Secrets, random_elements
from prover.statement import Statement
from zenerrors import StatementError


def prove(
    proving_key: ProvingKey,
    statement: Statement,
    witness: FrArray,
    *,
    threads: int = 1,
    progress: Progress | None = None,
) -> Proof:
    """A proof that ``witness`` (uint64[variables, 4], Montgomery, z[0] = 1) satisfies ``statement``.

    Every call draws fresh blinding factors: two proofs of one witness share no group element.
    Stages: "constraints", "quotient", "msm_quotient", "msm_private", "msm_a", "msm_b_g1", "msm_b_g2".

    Peak memory beside key, statement and witness, for n rows (a power of two) and v variables, in bytes:
    96 n up to the quotient, and 96 a row of the largest block while blocks are evaluated; then 32 n + 64 v
    and what one multi-scalar multiplication takes.

    Raises ``StatementError``: ``statement.key_mismatch`` where the key was made for another statement,
    ``statement.witness_shape``, ``statement.witness_constant``, ``statement.unsatisfied`` (the message names
    the first row that fails); and what ``progress`` raises.
    """
    report = progress or silent
    if proving_key.statement_digest != statement.digest:
        raise StatementError(
            "statement.key_mismatch",
            "the proving key was made for another statement: run setup for this one, or load its own key",
            field="proving_key",
        )
    with Secrets() as secret:
        h = _quotient(statement, witness, secret, threads, report)
        msm = partial(g1.msm, threads=threads)
        private = witness[1 + statement.public :]
        in_a = secret(witness[proving_key.a_columns])
        in_b = secret(witness[proving_key.b_columns])
        sum_h = secret(msm(proving_key.quotient, h, progress=partial(report, "msm_quotient")))
        sum_private = secret(msm(proving_key.private, private, progress=partial(report, "msm_private")))
        sum_a = secret(msm(proving_key.a, in_a, progress=partial(report, "msm_a")))
        sum_b_g1 = secret(msm(proving_key.b_g1, in_b, progress=partial(report, "msm_b_g1")))
        sum_b_g2 = secret(
            g2.msm(proving_key.b_g2, in_b, threads=threads, progress=partial(report, "msm_b_g2"))
        )
        return _blind(proving_key, sum_a, sum_b_g1, sum_b_g2, secret(g1.add(sum_private, sum_h)))


def _quotient(
    statement: Statement, witness: FrArray, keep: Secrets, threads: int, report: Progress
) -> FrArray:
    """−2 h on the odd coset, registered with ``keep``, once every constraint is known to hold."""
    log_size = qap.log_domain_size(statement)
    report("constraints", 0.0)
    a, b, c = statement.evaluate(witness, threads, length=1 << log_size)
    keep(a)
    with Secrets() as secret:
        secret(b)
        secret(c)
        _check_satisfied(statement, witness, a, b, c)
        instance = 1 + statement.public
        a[statement.constraints :][:instance] = witness[:instance]
        report("constraints", 1.0)
        qap.quotient(a, b, c, log_size, threads, report)
    return a


def _check_satisfied(statement: Statement, witness: FrArray, a: FrArray, b: FrArray, c: FrArray) -> None:
    if not np.array_equal(witness[0], qap.element(1)):
        raise StatementError(
            "statement.witness_constant", "the witness must begin with the constant 1", field="witness"
        )
    row = qap.first_unsatisfied(a, b, c)
    if row is not None:
        raise StatementError(
            "statement.unsatisfied",
            f"the witness does not satisfy constraint {statement.row_name(row)}",
            field="witness",
        )


def _blind(key: ProvingKey, sum_a: Points, sum_b_g1: Points, sum_b_g2: Points, sum_c: Points) -> Proof:
    """A = α + Σ z_j A_j + rδ, B = β + Σ z_j B_j + sδ, C = Σ private + h + sA + rB − rsδ, r and s fresh."""
    one = qap.element(1)
    with Secrets() as secret:

        def combine(group: Group, points: list[Points], *scalars: FrArray) -> Points:
            return group.msm(secret(np.concatenate(points)), secret(np.stack(scalars)))[None]

        r, s = secret(random_elements(2))
        a = combine(g1, [key.alpha_g1, sum_a[None], key.delta_g1], one, one, r)
        b = combine(g2, [key.beta_g2, sum_b_g2[None], key.delta_g2], one, one, s)
        b_g1 = secret(combine(g1, [key.beta_g1, sum_b_g1[None], key.delta_g1], one, one, s))
        minus_rs = secret(fr.neg(secret(fr.mul(r, s))))
        c = combine(g1, [sum_c[None], a, b_g1, key.delta_g1], one, s, r, minus_rs)
    return Proof(g1.compress(a), g2.compress(b), g1.compress(c))
