"""That inputs keep their label whose differences add up to little: what a key says of the norm, and words."""

from __future__ import annotations

import numpy as np

from tests.circuits.support import random_network
from tests.client.makers import AccuracyMaker, Maker, model_opening, rehashed, robustness
from tests.vectors.certified import BATCH, SAMPLES
from tests.vectors.robustness import RADIUS
from tests.vectors.world import World, renamed
from tests.vectors.writing import Vectors
from zenserve.circuits import compile_robustness
from zenserve.verifier.datasets import LabelledData


def write(vectors: Vectors, world: World) -> None:
    graph, case = random_network(3, (3, 3, 2)), vectors.case
    circuit = compile_robustness(graph, weight_privacy="committed", norm="2")
    maker, model = Maker.of(circuit, world.basis), model_opening(graph, world.basis)
    q, held, key = np.array([100, 120, 90]), {"model": model}, maker.key_file
    honest = robustness(maker, q, RADIUS, held)
    case("balls/valid", "Committed weights, a public input.", honest, key, model=model.commitment.hex())
    lie = honest.statement.values | {"radius": 2 * graph.input.type.top}
    document = robustness(maker, q, RADIUS, held, state=maker.state(lie, held))
    case("balls/further", "Further than any one entry goes.", document, key, "pairing_mismatch")
    unsaid = [each.replace("all entries together", "any one entry") for each in honest.statement.does_not_say]
    document = robustness(maker, q, RADIUS, held, state=rehashed(honest, does_not_say=unsaid).statement)
    case("balls/unsaid", "What boxes are not about.", document, key, "words_mismatch")
    groups = key.circuit["public_inputs"]
    for name, comment, fields in (
        ("other-norm", "Of each entry alone, and so far.", {"norm": "inf"}),
        ("unknown-norm", "Of a norm that there is not.", {"norm": "1"}),
        ("no-radius", "Of no radius.", {"scheme": "registration", "public_inputs": groups[:1]}),
    ):
        changed = renamed(key, circuit=key.circuit | fields)
        case(f"balls/{name}", comment, honest, changed, "file.json")

    counting = AccuracyMaker(graph, world.basis, model, BATCH, "certified", radius=RADIUS, norm="2")
    data = LabelledData.of(graph.input.type.real(SAMPLES), graph.run(SAMPLES).argmax(axis=1))
    document, key = counting.document(data), counting.maker.key_file
    case("balls/certified", "Samples that balls are certified around.", document, key)
