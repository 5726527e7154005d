"""Descriptions of workers' stages, in plain words."""

from __future__ import annotations

from typing import Final

EXPLAINED: Final = {
    "waiting": "No worker has it: others are before it, or it pauses after a failed attempt.",
    "starting": "A worker has taken the job and begins.",
    "size": "How many samples fit into one proof is worked out.",
    "load model": "The quantised network is opened and read.",
    "compile": "The network becomes a circuit: a list of equations that hold only for its true output.",
    "count": "The network is run on all samples, and what it gets right is counted.",
    "shards": "The proofs of the parts are made, by as many workers as there are.",
    "profile": "Each model of the bank says what it sees of the samples that models are chosen by.",
    "frames": "Frames are handed in, and proven one after the other.",
    "basis": "The points that all commitments are made over are prepared.",
    "lagrange": "Of the keys: the powers of the setup's secret number are prepared. Once for a circuit.",
    "columns": "Of the keys: the equations are evaluated at the secret number. Once for a circuit.",
    "key_g2": "Of the keys: points of the second group. Once for a circuit.",
    "key_g1": "Of the keys: points of the first group. Once for a circuit.",
    "key_links": "Of the keys: what ties proofs to commitments from outside. Once for a circuit.",
    "store": "The keys are stored, for all later proofs.",
    "load key": "The proving key is read from the store.",
    "witness": "The network is run on the input, and every value in between written down.",
    "commit": "The weights, the input or values in between are committed to: fixed, and not shown.",
    "constraints": "The values are put into the equations.",
    "quotient": "Whether all equations hold becomes one polynomial, by fast Fourier transforms.",
    "msm_quotient": "That polynomial becomes one point of the proof: a sum of many multiples of points.",
    "msm_private": "The secret values become another point of the proof.",
    "msm_a": "The left sides of the equations become the proof's point A.",
    "msm_b_g1": "The right sides become point B, in the first group.",
    "msm_b_g2": "The right sides become point B, in the second group, where sums take longer.",
    "setup": "The equations are stored: they are the key, and everybody can make it.",
    "renew": "What is committed to was opened as often as may be: another commitment takes its place.",
    "outer": "That all equations hold becomes one number at a random point, round by round.",
    "inner": "What the equations are at that point becomes one number of the values, likewise.",
    "open": "That number is shown to be of what was committed to, by some columns of it.",
    "compare": "The integers' answer is compared with the float network's.",
    "margins": "How far the label leads within smaller and larger radii, for its owner's page.",
    "self-check": "The proof is verified as anyone would, before it is handed out.",
}
"""By the names that workers report."""
