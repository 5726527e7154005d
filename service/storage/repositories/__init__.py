"""Queries, by what they are about. Those on jobs are ``zenserve.service.jobs``."""

from zenserve.service.storage.repositories.artifacts import Artifacts
from zenserve.service.storage.repositories.ceremonies import Ceremonies, Contributions
from zenserve.service.storage.repositories.resources import (
    Circuits,
    Commitments,
    Datasets,
    Models,
    Proofs,
    Shards,
    VerificationKeys,
    described,
    key_file,
    stored,
)
from zenserve.service.storage.repositories.streams import Streams

__all__ = [
    "Artifacts",
    "Ceremonies",
    "Circuits",
    "Commitments",
    "Contributions",
    "Datasets",
    "Models",
    "Proofs",
    "Shards",
    "Streams",
    "VerificationKeys",
    "described",
    "key_file",
    "stored",
]
