"""That inputs near one keep its label: what a statement shows of it, and what a prover could say instead."""

from __future__ import annotations

import numpy as np

from tests.circuits.support import random_network
from tests.client.makers import Maker, model_opening, rehashed, robustness
from tests.vectors.world import World, renamed
from tests.vectors.writing import Vectors
from zenserve.circuits import compile_robustness

RADIUS = 2


def write(vectors: Vectors, world: World) -> None:
    graph = random_network(3, (3, 3, 2))
    circuit = compile_robustness(graph, weight_privacy="committed")
    maker, model = Maker.of(circuit, world.basis), model_opening(graph, world.basis)
    q, held, key = np.array([100, 120, 90]), {"model": model}, maker.key_file
    honest = robustness(maker, q, RADIUS, held)
    real, case = graph.input.type.real(q).tolist(), vectors.case
    own = model.commitment.hex()
    case("robustness/valid", "Committed weights, a public input.", honest, key)
    case("robustness/expected", "The model and the input are those.", honest, key, model=own, input=real)
    near = [real[0] + graph.input.type.scale, *real[1:]]
    case("robustness/near", "A step from it is another.", honest, key, "input_mismatch", input=near)
    values, said = honest.statement.values, honest.statement
    lies = {
        "further": ("A larger radius, and so it is proven.", values | {"radius": RADIUS + 1}),
        "other-label": ("The other label.", values | {"label": 1 - int(str(values["label"]))}),
    }
    for name, (comment, lie) in lies.items():
        document = robustness(maker, q, RADIUS, held, state=maker.state(lie, held))
        case(f"robustness/{name}", comment, document, key, "pairing_mismatch")
        edited = rehashed(honest, values=lie)
        case(f"robustness/{name}-alone", "Its words are as before.", edited, key, "words_mismatch")
    beyond = rehashed(honest, values=values | {"radius": graph.input.type.top + 1})
    case("robustness/beyond", "Beyond the input's integers.", beyond, key, "values_mismatch")
    unsaid = [each for each in said.does_not_say if "further away" not in each]
    document = robustness(maker, q, RADIUS, held, state=rehashed(honest, does_not_say=unsaid).statement)
    case("robustness/unsaid", "What it is not about is left out.", document, key, "words_mismatch")
    groups = key.circuit["public_inputs"]
    place = next(index for index, group in enumerate(groups) if group["name"] == "radius")
    for name, comment, changes in (
        ("no-step", "A radius in steps of nothing.", {"scale": 0.0}),
        ("listed", "A radius for each entry.", {"shape": [1]}),
        ("other-step", "In steps that are not the input's.", {"scale": 2 * graph.input.type.scale}),
        ("further-range", "Beyond the input's integers.", {"maximum": 2 * graph.input.type.top + 1}),
        ("below-range", "Below nothing.", {"minimum": -1}),
        ("shifted", "Of another zero.", {"zero_point": 1}),
    ):
        changed = [*groups[:place], groups[place] | changes, *groups[place + 1 :]]
        circuit_ = key.circuit | {"public_inputs": changed}
        case(f"robustness/{name}", comment, honest, renamed(key, circuit=circuit_), "file.json")
