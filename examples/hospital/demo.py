"""A hospital's private image and a private, registered model: ``python -m examples.hospital.demo``.

The maker of a model commits to it and proves its registration. A hospital commits to an image and has it
classified. Whoever reads the proof, an insurer say, learns the label, and that the registered model gave it
to that image; they see neither. Later the hospital opens its image to an auditor. Then somebody cheats.
Images are MNIST's where they are, else handwritten digits (docs/zoo.md). The last line is for machines.
"""

from __future__ import annotations

import secrets
from dataclasses import replace
from pathlib import Path

from examples import tasks
from examples.proving import Scheme, commit, infer, opening_file, register
from examples.stage import finish, refused, say, scene
from examples.zoo.data import FOLDER
from zenserve.circuits import (
    Inference,
    QuantGraph,
    compile_inference,
    compile_registration,
    input_values,
    parameters,
)
from zenserve.circuits.operators.dense import QuantDense
from zenserve.prover.groth16 import CommitmentKey
from zenserve.relations.integers import IntArray
from zenserve.verifier.expected import Expected
from zenserve.verifier.judging import Known, Verification, judge


def main(folder: Path = FOLDER) -> int:
    """Run the demonstration; 0 if everything went as it should."""
    task = tasks.classification(folder)
    network, image = task.network, task.network.quantise_input(task.images[0])
    basis = CommitmentKey.generate(parameters(network).size)

    with scene(f"The maker commits to {task.name}, and proves that the commitment is to such a network"):
        model = commit(basis, parameters(network))
        registration = Scheme.of(compile_registration(network), basis)
        verified = say(judge(register(registration, model), registration.key_file))

    with scene(f"The hospital commits to an image, which shows a {task.labels[0]}, and has it classified"):
        scheme = Scheme.of(compiled(network), basis)
        hidden, challenge = commit(basis, input_values(network, image)), secrets.token_hex(16)
        openings = {"model": model, "input": hidden}
        document = infer(scheme, image, openings, challenge)
        expected = Expected(model=model.commitment.hex(), input=hidden.commitment.hex(), challenge=challenge)
        verified &= say(judge(document, scheme.key_file, expected=expected), unsaid=True)

    opening = opening_file(basis, "input", hidden, input_values(network, image))

    def audit(shown: IntArray) -> Verification:
        known = Known(input=shown.ravel().tolist(), openings=opening)
        return judge(document, scheme.key_file, expected=expected, known=known)

    with scene("The hospital opens its image to an auditor"):
        verified &= say(audit(image))

    def lie(circuit: Inference, q: IntArray, **swapped: IntArray) -> Verification:
        """A statement about the registered model and the committed image, proven with something else."""
        said = scheme.state(circuit.values(q), openings, challenge=challenge)
        others = openings | {name: commit(basis, values) for name, values in swapped.items()}
        forged = Scheme(circuit, scheme.key).document(said, circuit.witness(q, statement=said.scalar), others)
        return judge(forged, scheme.key_file, expected=expected)

    with scene("Cheating"):
        label = int(document.statement.values["label"])  # type: ignore[arg-type]
        relabelled = scheme.state({"label": (label + 1) % network.classes}, openings, challenge=challenge)
        edited = document.model_copy(update={"statement": relabelled})
        rehashed = edited.model_copy(update={"statement_sha256": relabelled.sha256.hex()})
        changed, other = one_weight_changed(network), network.quantise_input(task.images[1])
        asked_anew = expected.model_copy(update={"challenge": secrets.token_hex(16)})
        reasons = refused(
            {
                "another label in the file": ("statement_edited", judge(edited, scheme.key_file)),
                "the same, and the file's hash": ("pairing_mismatch", judge(rehashed, scheme.key_file)),
                "one weight changed": (
                    "model_mismatch",
                    lie(compiled(changed), image, model=parameters(changed)),
                ),
                "another image": (
                    "input_mismatch",
                    lie(scheme.circuit, other, input=input_values(network, other)),
                ),
                "another image for the auditor": ("input_mismatch", audit(other)),
                "an old proof for a new question": (
                    "challenge_mismatch",
                    judge(document, scheme.key_file, expected=asked_anew),
                ),
            }
        )
    return finish(verified, reasons)


def compiled(network: QuantGraph) -> Inference:
    return compile_inference(network, input_privacy="committed", weight_privacy="committed")


def one_weight_changed(network: QuantGraph) -> QuantGraph:
    """The same architecture; the first weight of the last layer is another."""
    last = network.nodes[-1]
    assert isinstance(last, QuantDense)  # noqa: S101  both networks end so
    weight = last.weight.copy()
    weight.flat[0] ^= 1
    return replace(network, nodes=(*network.nodes[:-1], replace(last, weight=weight)))


if __name__ == "__main__":
    raise SystemExit(main())
