"""An owner proves a model's accuracy to a buyer: ``python -m examples.buyer.demo``.

The owner commits to a network first. Then the buyer draws the test images, so that the owner cannot have
chosen a network for them; what the network makes of each stays the owner's secret, the share that it gets
right does not. The images are more than one proof takes: each shard has its own, and hides its count in a
commitment; these add up to one that only the total opens. Then the owner cheats.
Images are MNIST's where they are, else handwritten digits (docs/zoo.md). The last line is for machines.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from examples import tasks
from examples.proving import Scheme, commit, measure
from examples.stage import finish, refused, say, scene
from examples.zoo.data import FOLDER
from zenserve.circuits import compile_accuracy, parameters
from zenserve.prover.groth16 import CommitmentKey
from zenserve.verifier.datasets import LabelledData
from zenserve.verifier.documents import ProofDocument
from zenserve.verifier.expected import Expected
from zenserve.verifier.fields import Values
from zenserve.verifier.judging import Known, Verification, judge

BATCH = 10
SIZE = 25


def main(folder: Path = FOLDER) -> int:
    """Run the demonstration; 0 if everything went as it should."""
    task = tasks.classification(folder)
    network = task.network
    basis = CommitmentKey.generate(max(parameters(network).size, BATCH * (task.images[0].size + 1)))

    with scene(f"The owner commits to {task.name}"):
        model = commit(basis, parameters(network))

    with scene(f"The buyer has seen the commitment, and draws {SIZE} images and a challenge"):
        drawn = np.random.default_rng(secrets.randbits(128)).choice(len(task.labels), SIZE, replace=False)
        data = LabelledData.of(task.images[drawn], task.labels[drawn])
        challenge = secrets.token_hex(16)
    expected = Expected(model=model.commitment.hex(), challenge=challenge)

    with scene(f"The owner makes keys for {BATCH} images, and a proof for each shard"):
        scheme = Scheme.of(compile_accuracy(network, batch=BATCH, weight_privacy="committed"), basis)
        document = measure(scheme, model, data, basis, challenge)
    with scene("The buyer checks the proofs, and that they are about those very images"):
        verified = say(judge(document, scheme.key_file, expected=expected, known=Known(dataset=data)))

    shards, proofs = document.statement.dataset, document.proofs
    assert shards is not None  # noqa: S101  an accuracy has a dataset

    def claim(correct: int, which: Sequence[int]) -> Verification:
        """The same with another total, or other shards."""
        dataset = shards.model_copy(update={"shards": [shards.shards[index] for index in which]})
        values: Values = {"correct": correct, "size": SIZE}
        said = scheme.state(values, {"model": model}, dataset=dataset, challenge=challenge)
        forged = ProofDocument.of(said, [bytes.fromhex(proofs[index]) for index in which])
        return judge(forged, scheme.key_file, expected=expected)

    with scene("Cheating"):
        correct, everything = int(document.statement.values["correct"]), range(len(proofs))  # type: ignore[arg-type]
        found = network.run(network.input.type.quantise(task.images[:500])).argmax(axis=1)
        easy = np.flatnonzero(found == task.labels[:500])[:SIZE]
        flattering = LabelledData.of(task.images[easy], task.labels[easy])
        flattered = measure(scheme, model, flattering, basis, challenge)
        reasons = refused(
            {
                "one more than there are": ("total_mismatch", claim(correct + 1, everything)),
                "the last shard left out": ("shard_missing", claim(correct, everything[:-1])),
                "the first in place of the second": ("shard_repeated", claim(correct, [0, *everything[::2]])),
                "images that the owner picked": (
                    "dataset_mismatch",
                    judge(flattered, scheme.key_file, known=Known(dataset=data)),
                ),
            }
        )
    return finish(verified, reasons)


if __name__ == "__main__":
    raise SystemExit(main())
