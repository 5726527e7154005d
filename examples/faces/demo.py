"""A face check against a committed reference: ``python -m examples.faces.demo``.

Somebody enrols with a few pictures; what is kept of them is a commitment to their mean embedding. Later they
prove that a new picture is within the threshold of it: a door or a website learns that, and neither the
pictures, nor the embedding, nor the network's weights. Then somebody else tries.
Faces are ORL's where they are, else handwritten digits (docs/zoo.md). The last line is for machines.
"""

from __future__ import annotations

import secrets
from pathlib import Path

import numpy as np

from examples import tasks
from examples.proving import Scheme, commit, recognise
from examples.stage import finish, refused, say, scene
from examples.zoo.data import FOLDER
from zenserve.circuits import compile_recognition, parameters
from zenserve.prover.groth16 import CommitmentKey, Opening
from zenserve.relations.integers import IntArray
from zenserve.verifier.documents import checked
from zenserve.verifier.expected import Expected
from zenserve.verifier.judging import Verification, judge


def main(folder: Path = FOLDER) -> int:
    """Run the demonstration; 0 if everything went as it should."""
    task = tasks.recognition(folder)
    network, threshold = task.network, task.threshold
    photo, stranger = (network.quantise_input(picture) for picture in (task.photo, task.stranger))
    basis = CommitmentKey.generate(parameters(network).size)

    with scene(f"The maker commits to {task.name} and makes keys"):
        model = commit(basis, parameters(network))
        circuit = compile_recognition(network, weight_privacy="committed", reference_privacy="committed")
        scheme = Scheme.of(circuit, basis)

    with scene(f"Enrolment: a commitment to the mean of {len(task.enrolled)} embeddings"):
        reference = mean_embedding(network.run(network.input.type.quantise(task.enrolled)))
        enrolled = commit(basis, reference)
        openings = {"model": model, "reference": enrolled}

    def ask() -> Expected:
        """What the door knows, and a question that nobody has answered yet."""
        names = {name: opening.commitment.hex() for name, opening in openings.items()}
        return checked(Expected, {**names, "challenge": secrets.token_hex(16)})

    with scene("At the door: the same person"):
        asked = ask()
        document = recognise(scheme, photo, reference, threshold, openings, asked.challenge)
        verdict = judge(document, scheme.key_file, expected=asked)
        verified = say(verdict, unsaid=True) and document.statement.values["match"] == 1

    with scene("At the door: somebody else, who says so"):
        honest = recognise(scheme, stranger, reference, threshold, openings, asked.challenge)
        verdict = judge(honest, scheme.key_file, expected=asked)
        verified &= say(verdict) and honest.statement.values["match"] == 0

    def pretend(own: IntArray, opening: Opening) -> Verification:
        """A match claimed by a stranger, proven as far as it goes against the reference ``own``."""
        said = scheme.state({"threshold": threshold, "match": 1}, openings, challenge=asked.challenge)
        witness = circuit.witness(stranger, own, threshold, statement=said.scalar)
        forged = scheme.document(said, witness, openings | {"reference": opening})
        return judge(forged, scheme.key_file, expected=asked)

    with scene("Cheating"):
        own = circuit.embed(stranger)
        reasons = refused(
            {
                "a stranger who claims to match": ("pairing_mismatch", pretend(reference, enrolled)),
                "a reference of their own": ("reference_mismatch", pretend(own, commit(basis, own))),
                "the proof of yesterday": (
                    "challenge_mismatch",
                    judge(document, scheme.key_file, expected=ask()),
                ),
            }
        )
    return finish(verified, reasons)


def mean_embedding(embeddings: IntArray) -> IntArray:
    """int64[width] from int64[n, width]."""
    mean: IntArray = np.rint(embeddings.mean(axis=0)).astype(np.int64)
    return mean


if __name__ == "__main__":
    raise SystemExit(main())
