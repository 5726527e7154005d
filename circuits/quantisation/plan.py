"""The integer node for each float node, by the graph's structure alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.node import Node
from zenserve.circuits.graphs.rescaling import Clamp
from zenserve.circuits.graphs.types import FloatArray
from zenserve.circuits.quantised.graph import OUTPUT, QuantGraph
from zenserve.errors import ModelError
from zenserve.relations.integers import IntArray

INPUT = "x"
# Of names of inputs and outputs; numbers may follow.
_LONGEST = 48


@dataclass(frozen=True)
class Step:
    """``name`` is what the integer node is called that makes the float tensor ``tensor``: from ``node``, and
    from the ``clip`` after it where nothing else reads what is between the two."""

    name: str
    node: Node
    clip: Node | None
    tensor: str

    @property
    def clamp(self) -> Clamp | None:
        return (self.clip or self.node).clamp

    @property
    def keeps_type(self) -> bool:
        """True if the tensor has the type of the tensors that the node reads."""
        return self.node.keeps_type(self.clip is not None)


def plan(graph: Graph) -> list[Step]:
    """The steps in order. Raises ``ModelError`` (``model.unsupported_operator``) for other nodes."""
    readers = graph.readers
    clips = {node.inputs[0]: node for node in graph.nodes if node.clamp}
    taken: Counter[str] = Counter()
    steps: list[Step] = []
    done: set[str] = set()
    for node in graph.nodes:
        if node.name in done:
            continue
        if not node.called:
            raise ModelError(
                "model.unsupported_operator",
                f"the {node.operator()} {node.name[:80]!r} cannot be quantised; fuse the graph first",
            )
        taken[node.called] += 1
        single = readers[node.name] == 1 and node.name not in graph.declared
        clip = clips.get(node.name) if single and node.adds else None
        tensor = clip.name if clip else node.name
        done.add(tensor)
        steps.append(Step(f"{node.called}{taken[node.called]}", node, clip, tensor))
    return steps


def unscaled(graph: Graph, steps: list[Step]) -> set[str]:
    """The tensors whose sums an output alone reads, through reshapes and transpositions."""
    readers = graph.readers
    made = {step.tensor: step for step in steps}
    found = set()
    for tensor in graph.outputs.values():
        while readers[tensor] == 1 and tensor in made and tensor not in graph.declared:
            step = made[tensor]
            if not step.node.permutes:
                found |= {tensor} if step.node.adds and step.clip is None else set()
                break
            tensor = step.node.inputs[0]
    return found


def input_names(graph: Graph) -> dict[str, str]:
    """Return the inputs' names in the network of integers, by their names here. A single input is
    ``INPUT``."""
    if len(graph.inputs) == 1:
        return {graph.input.name: INPUT}
    return _plain([entry.name for entry in graph.inputs], {step.name for step in plan(graph)})


def quantised_samples(
    qgraph: QuantGraph, names: Mapping[str, str], samples: Mapping[str, FloatArray]
) -> dict[str, IntArray]:
    """The integers of ``samples``, float64[n, *shape] by the float network's inputs, by those of ``qgraph``.
    ``names``: ``input_names``. What is beyond the calibrated range saturates."""
    return {names[name]: qgraph.entries[names[name]].type.quantise(each) for name, each in samples.items()}


def output_names(graph: Graph) -> dict[str, str]:
    """The same of the outputs: one is ``OUTPUT``."""
    return dict.fromkeys(graph.outputs, OUTPUT) if len(graph.outputs) == 1 else _plain(graph.outputs, set())


def _plain(names: Iterable[str], taken: set[str]) -> dict[str, str]:
    """Names of letters, digits and ``_.-`` alone, as like these as can be, and all different."""
    found = dict[str, str]()
    for name in names:
        base = made = re.sub(r"[^A-Za-z0-9_.-]", "_", name)[:_LONGEST] or "_"
        number = 1
        while made in taken:
            number += 1
            made = f"{base}.{number}"
        taken.add(made)
        found[name] = made
    return found
